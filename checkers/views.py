"""Fewer assumptions than are given: what is proved under some of them is proved under all.

A search for a proof is led astray by what a claim has no need of: a divisibility puts another name in place of a
size, a bound adds a row that is tried first. So proofs are also sought under parts of the assumptions, and a claim
that some of them prove stays proved under any others.

    >>> from symlayout import dims
    >>> M, N, ld = dims("M N ld")
    >>> [[str(f) for f in view] for view in views((ld >= M, N.multiple_of(8)), (M, ld))]
    [['ld >= M'], [], ['N % 8 == 0']]
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TypeAlias

from symlayout.errors import AssumptionError
from symlayout.expr import Fact, Symbol
from symlayout.facts import Facts
from symlayout.meter import attempt

from . import smt
from .claim import Claim, Proof, Query
from .trial_sizes import Sizes, all_sizes
from .trusted.certificate_json import poly, rows_used

VIEWS = 48  # with up to five assumptions, every part of them
WHOLE = 5
SOLVER_VIEWS = 4  # a solver is asked with few of them,
SHORT = smt.RLIMIT // 8  # and given less work
QUICK = 600  # steps in which most proofs under all assumptions end,
LEAST = 4000  # that all get at least once none has not sufficed,
LONG = 30_000  # that none gets, and each part after the other methods
NO_END = 1 << 60

Found: TypeAlias = "tuple[Proof, Facts]"


def views(given: tuple[Fact, ...], symbols: Iterable[Symbol]) -> Iterator[tuple[Fact, ...]]:
    """Parts of the assumptions, in their order, the likely ones first; none of them all."""
    seen = {given}
    for part in itertools.islice(_parts(given, set(symbols)), 4 * VIEWS):
        if part not in seen and len(seen) <= VIEWS:
            seen.add(part)
            yield part


def _parts(given: tuple[Fact, ...], symbols: set[Symbol]) -> Iterator[tuple[Fact, ...]]:
    """Facts about the claim's own symbols, none, orders or divisors alone; then all but one, but few, and few."""
    yield about(given, symbols)
    yield ()
    orders = tuple(f for f in given if f.relation != "%")
    yield orders
    yield tuple(f for f in given if f.relation == "%")
    for facts in (orders, given):
        yield from itertools.combinations(facts, max(0, len(facts) - 1))
    for k in range(1, len(given)):
        yield given[:-k]
        yield given[k:]
    sizes = range(len(given) - 1, 0, -1) if len(given) <= WHOLE else (len(given) - 1, 1, 2, len(given) - 2)
    for k in sizes:
        yield from itertools.combinations(given, k)


class Searches:
    """The searches for a proof of one claim by algebra, each under a part of its assumptions; none ends twice.

    All of the assumptions and parts of them each get a share of the steps spent before, so facts that mislead one
    search cost little. What has not ended goes on after the other methods.
    """

    def __init__(self, claim: Claim, prove: Callable[[Claim, Facts], Proof | None], opaque: bool) -> None:
        self.claim, self.prove = claim, prove
        self.opaque = opaque  # whether a proof may rest on assumptions that no row of its certificate shows
        self.spent = 0  # steps
        self.ended: dict[tuple[Fact, ...], Found | None] = {}
        self.tried: dict[tuple[Fact, ...], int] = {}  # in how many steps

    def under(self, given: tuple[Fact, ...], steps: int = NO_END) -> Found | None:
        """The proof under these facts, with them; None where there is none, or none within the steps."""
        if given not in self.ended and steps > self.tried.get(given, 0):
            weaker = replace(self.claim, given=given)
            try:
                facts = Facts.about(weaker.parameters(), given=given)
            except AssumptionError:
                self.ended[given] = None
                return None
            found, took = attempt(functools.partial(self.prove, weaker, facts), steps)
            self.tried[given] = max(steps, took)
            self.spent += took
            for proof in found:
                self.ended[given] = None if proof is None else (proof, facts)
        return self.ended.get(given)

    def first(self) -> Found | None:
        """A proof under no assumption, where a proof under all would not tell those it needs; else under all, if quick.

        Quotients are resolved under all assumptions, which no certificate names: only a proof without them shows that
        they are not needed. What is resolved is kept for other claims, but not where the steps have ended before.
        """
        return self.under((), LONG) if self.opaque else self.under(self.claim.given, QUICK)

    def fewer(self) -> Found | None:
        """A proof under all assumptions or some, none of them in much more steps than the others."""
        given = self.claim.given
        found = None if self.opaque else self._within(QUICK, 2 * QUICK, self._likely) or self.under((), LONG)
        while not found and given not in self.ended:
            found = self.under(given, max((4 if self.opaque else 2) * self.spent, LEAST))
            share = 4 if self.opaque or given in self.ended else 1  # what ends has not gone astray: a solver is quicker
            found = found or self._within(self.spent // 16, self.spent // share)
        return found

    def _within(self, each: int, total: int, parts: tuple[tuple[Fact, ...], ...] = ()) -> Found | None:
        """A proof under one of these parts, or of all, within some steps for each and in total."""
        end = self.spent + total
        tries = (self.under(p, max(QUICK, each)) for p in parts or self._parts if self.spent < end)
        return next(filter(None, tries), None)

    def rest(self) -> Found | None:
        """A proof under some of the assumptions, however long."""
        return self._within(LONG, NO_END) or self._within(NO_END, NO_END)

    def unneeded(self, found: Found, in_time: Callable[[Callable[[], Found | None]], Found | None]) -> list[Fact]:
        """Assumptions that the proof does not need: its certificate, or another, does not use them.

        They are left out together, not each alone: of two facts that say the same, one is needed.
        """
        proof, facts = found
        if any(getattr(x, "obligations", ()) for x in self.claim.subjects()):  # these may need what the proof does not
            return []
        out = [f for f in dict.fromkeys(self.claim.given) if f not in facts.given]
        used = list(rows_used(proof.certificate)) if proof.certificate is not None else []
        told = set(map(str, facts.given))
        provided = [r.poly for r in facts.rows if r.label not in told]  # by ranges, and by facts that are needed
        rowed: list[Fact] = []  # no sum has a row of theirs, which tells something of a proof that is not opaque,
        others: list[Fact] = []  # and these have no row
        for f in dict.fromkeys(facts.given):
            label = str(f)
            rows = [r.poly for r in facts.rows if r.label == label]
            if any(poly(p) in used and p not in provided for p in rows):
                provided += rows
            elif rows and proof.certificate is not None and not self.opaque:
                out.append(f)
            else:
                (rowed if rows else others).append(f)
        steps = max(LEAST, self.spent)
        for some in ([*rowed, *others], rowed, *([f] for f in (*rowed, *others))):
            rest = tuple(g for g in self.claim.given if g not in out and g not in some)
            search = functools.partial(self.under, rest, steps)
            if any(f not in out for f in some) and in_time(search) is not None:
                out += some
        return out

    @property
    def _likely(self) -> tuple[tuple[Fact, ...], ...]:
        """Facts about the claim's own symbols, and orders."""
        given = self.claim.given
        return about(given, own_symbols(self.claim)), tuple(f for f in given if f.relation != "%")

    @functools.cached_property
    def _parts(self) -> tuple[tuple[Fact, ...], ...]:
        return tuple(views(self.claim.given, own_symbols(self.claim)))


def about(given: Iterable[Fact], symbols: Iterable[Symbol]) -> tuple[Fact, ...]:
    """Facts about these symbols alone."""
    return tuple(f for f in given if set(symbols).issuperset(f.symbols))


def own_symbols(claim: Claim) -> tuple[Symbol, ...]:
    """The symbols of a claim without those that only its assumptions are about."""
    return Facts.about(claim.parameters()).symbols


def few_sizes(claim: Claim) -> list[Sizes] | None:
    """All sizes that the assumptions about a claim's own symbols leave, where they are few."""
    symbols = own_symbols(claim)
    given = about(claim.given, symbols)
    return all_sizes(symbols, Facts.about(symbols, given=given)) if given != claim.given else None


def solved(claim: Claim, queries: Iterable[Query], ranges: Iterable[Fact], solver_ms: int) -> str:
    """The solver that finds every violation impossible under some assumptions, or nothing."""
    every, always = list(queries), list(ranges)
    for given in itertools.islice(views(claim.given, own_symbols(claim)), SOLVER_VIEWS):
        asked = (smt.satisfiable([*always, *given, *q], solver_ms, SHORT) for q in every)
        answers = list(itertools.takewhile(lambda a: a.status == "unsat", asked))
        if len(answers) == len(every):
            return " and ".join(dict.fromkeys(a.solver for a in answers))
    return ""
