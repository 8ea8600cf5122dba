"""The divisors of a claim: // and % mean nothing where one may be below 1, so each is shown to be at least that.

A predicate guards what comes after it in its own map, and a fact may rest on those before it.
"""

from __future__ import annotations

import functools
from typing import Any

from symlayout.address_map import AddressMap
from symlayout.expr import Expr, Fact, PowerOfTwo, Quotient, Symbol, at_least
from symlayout.facts import Facts, opaque_atoms
from symlayout.meter import attempt

from . import smt
from .algebra.subject_form import expressions
from .claim import Claim
from .repairs.conditions import simplest

BY_RANGES = 1000  # steps in which ranges alone tell most divisors that need no fact


class Divisors:
    """The check of every divisor in a claim about some symbols; *lemmas* are those that a solver had to show."""

    def __init__(self, claim: Claim, symbols: tuple[Symbol, ...], solver_ms: int) -> None:
        self.claim, self.symbols, self.solver_ms = claim, symbols, solver_ms
        self.lemmas: list[str] = []

    def complaint(self) -> str:
        """The first symbolic divisor that may be below 1; // and % mean nothing there."""
        given: list[Fact] = []
        for f in self.claim.given:  # a fact may rest on those before it
            complaint = self._among([f], given)
            if complaint:
                return complaint
            given.append(f)
        ranges = [e for s in self.symbols for e in (s.lower, s.upper)]
        maps = [x for x in self.claim.parameters() if isinstance(x, AddressMap)]
        others = [x for x in self.claim.parameters() if not isinstance(x, AddressMap)]
        complaint = self._among([*ranges, *others, *(x.extents for x in maps)], given)
        for x in maps:  # a predicate guards what comes after it, in its own map
            guards = list(given)
            for f in x.valid:
                complaint = complaint or self._among([f], guards)
                guards.append(f)
            complaint = complaint or self._among([x.offset], guards)
            for d, n in zip(x.divisors, x.guards, strict=True):  # also those that have cancelled
                complaint = complaint or self._below_one(d, f"the code of {x}", [*given, *x.valid[:n]])
        return complaint

    def _among(self, parts: list[Any], known: list[Fact]) -> str:
        """A complaint about a divisor in *parts* that the facts known do not keep at 1 or more."""
        for a in opaque_atoms(*(e for x in parts for e in expressions(x))):
            if not isinstance(a, Quotient | PowerOfTwo):
                continue
            d = a.args[1] if isinstance(a, Quotient) else a
            complaint = self._below_one(d, str(a), known)
            if complaint:
                return complaint
        return ""

    def _below_one(self, d: Any, where: str, known: list[Fact]) -> str:
        """A complaint about one divisor, unless the facts known keep it at 1 or more."""
        if (type(d) is int and d >= 1) or at_least_1(d, tuple(known)):
            return ""
        lemma = f"{d} >= 1 [{smt.version()}]"
        if lemma in self.lemmas:
            return ""
        facts = Facts.about(d, given=known)
        if smt.satisfiable([*facts.ranges, *known, Fact(-d, ">=")], self.solver_ms).status != "unsat":
            if isinstance(d, PowerOfTwo):
                count = d.args[0]
                cure = f"; add the fact {simplest(at_least(count, 0))}" if isinstance(count, Expr) else ""
                return f"expected to shift by at least 0 bits, got {count} in {where}{cure}"
            cure = f"; add the fact {simplest(at_least(d, 1))}" if isinstance(d, Expr) else ""
            return f"expected a divisor of at least 1, got {d} in {where}{cure}"
        self.lemmas.append(lemma)
        return ""


@functools.lru_cache(maxsize=1 << 10)
def at_least_1(d: Any, known: tuple[Fact, ...]) -> bool:
    """Whether algebra shows that a divisor is at least 1: by ranges alone, if quick, or by facts too."""
    if known and True in attempt(functools.partial(at_least_1, d, ()), BY_RANGES)[0]:
        return True
    return Facts.about(d, given=known).le(1, d) is True
