"""Shown facts about a ring in one CTA: facts at the site of an operation, and numbers of operations before it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from symlayout.expr import Fact, Symbol
from symlayout.facts import Facts
from symlayout.kernel.clusters import Cta
from symlayout.kernel.counting import Counter
from symlayout.kernel.sites import Site, sites
from symlayout.ops import Op

from ..algebra.cases import shown
from .recognised import RingParts


class Open(Exception):
    """A hypothesis of the protocol that is not shown."""


@dataclass
class Known:
    """State that the readings of the CTAs of a cluster share: facts at sites of operations, goals that are shown."""

    facts: dict[Any, Facts] = field(default_factory=dict)
    goals: set[Any] = field(default_factory=set)


class Shown:
    """*shown* and *certificates* collect the facts about the ring of a CTA; *known* is shared by many."""

    def __init__(self, cta: Cta, ring: RingParts, given: tuple[Fact, ...], known: Known | None = None) -> None:
        self.cta, self.kernel, self.ring, self.given = cta, cta.kernel, ring, given
        self.every = list(sites(self.kernel))
        self.certificates: list[Any] = []
        self.shown: list[str] = []
        self.known = Known() if known is None else known

    def facts(self, site: Site | None) -> Facts:
        """Facts at the site of an operation: sizes, block, the loops around it, and their conditions."""
        loops = tuple(loop.index for loop in site.loops) if site else ()
        conditions = site.conditions if site else ()
        threads = tuple(sorted(_thread_symbols(site.op), key=str)) if site else ()
        key = loops, conditions, threads
        if key not in self.known.facts:
            subjects = (*self.kernel.dims, *self.kernel.block, *loops, *threads)
            self.known.facts[key] = Facts.about(subjects, given=(*self.given, *conditions))
        return self.known.facts[key]

    def need(self, fact: Fact, site: Site | None, why: str) -> None:
        """Show a fact where an operation stands, or leave *why* open."""
        goals = (Fact(fact.expr, ">="), Fact(-fact.expr, ">=")) if fact.relation == "==" else (fact,)
        facts = self.facts(site)
        for goal in goals:
            key = goal.expr, id(facts)
            if key not in self.known.goals:
                found = shown(goal.expr, facts)
                if found is None:
                    where = (f", at {site}" if site else "") + (f", in {self.cta}" if self.cta.size > 1 else "")
                    raise Open(f"{why}: {fact}{where}")
                self.known.goals.add(key)
                self.certificates += found

    def before(self, site: Site, wanted: Callable[[Op], bool]) -> Any:
        """The number of operations of the same role before one."""
        mine = {id(s.op) for s in self.every if s.role == site.role and wanted(s.op)}
        return Counter(self.kernel, self.facts(site)).before(site, lambda op: id(op) in mine)

    def total(self, role: str, wanted: Callable[[Op], bool]) -> Any:
        mine = {id(s.op) for s in self.every if s.role == role and wanted(s.op)}
        return Counter(self.kernel, self.facts(None)).total(lambda op: id(op) in mine)


def _thread_symbols(op: Op) -> set[Symbol]:
    found = set()
    for r in (*op.sources, *op.targets):
        found |= {s for s in getattr(r.offset, "symbols", ()) if s.name == "thread"}
    return found
