"""Fewer assumptions than are given: what is proved under some of them is proved under all.

A search for a proof is led astray by what a claim has no need of: a divisibility puts another name in place of a size,
a bound adds a row that is tried first. So proofs are also sought under parts of the assumptions, and a claim that some
of them prove stays proved whatever is assumed besides.

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
from .sizes import Sizes, all_sizes

VIEWS = 48  # with up to five assumptions, every part of them
WHOLE = 5
SOLVER_VIEWS = 4  # a solver is asked with few of them,
SHORT = smt.RLIMIT // 8  # and given less work
FEW = 12  # parts that are tried while the search under all assumptions is long, each in a share of its steps
ROUNDS = ((300, 400, 0), (1500, 6000, 300))  # steps without an assumption, under all, then under each of a few parts
LEAST = 3000  # steps that parts get at least, once the search under all has ended
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
    """Those about the claim's own symbols, none, orders or divisors alone; then all but few, and few."""
    yield about(given, symbols)
    yield ()
    yield tuple(f for f in given if f.relation != "%")
    yield tuple(f for f in given if f.relation == "%")
    yield from itertools.combinations(given, len(given) - 1)
    for k in range(2, len(given)):
        yield given[:-k]
        yield given[k:]
    sizes = range(len(given) - 1, 0, -1) if len(given) <= WHOLE else (len(given) - 1, 1, 2, len(given) - 2)
    for k in sizes:
        yield from itertools.combinations(given, k)


class Searches:
    """The searches for a proof of one claim by algebra, each under a part of its assumptions; none ends twice.

    They go on in rounds with limits that grow, so that one which facts lead astray costs little beside one that ends.
    """

    def __init__(self, claim: Claim, prove: Callable[[Claim, Facts], Proof | None]) -> None:
        self.claim, self.prove = claim, prove
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
            self.tried[given] = steps
            found, took = attempt(functools.partial(self.prove, weaker, facts), steps)
            self.spent += took
            for proof in found:
                self.ended[given] = None if proof is None else (proof, facts)
        return self.ended.get(given)

    def quick(self) -> Found | None:
        """A proof that takes few steps: from no assumptions, from those about the claim's own symbols, from all."""
        return self._first(self._in_round(ROUNDS[0]))

    def first(self) -> Found | None:
        """A proof from all assumptions, or from none or parts while the search under all is long."""
        return self._first(self._in_round(ROUNDS[1])) or self.under(self.claim.given)

    @property
    def over(self) -> bool:
        """Whether the search under all assumptions has ended."""
        return self.claim.given in self.ended

    def _in_round(self, steps: tuple[int, int, int]) -> Iterator[tuple[tuple[Fact, ...], int]]:
        """The parts, each with its steps in this round, until the search under all assumptions has ended."""
        every, (alone, all_, few) = self.claim.given, steps
        if self.over:
            return
        yield (), alone
        yield about(every, own_symbols(self.claim)), all_
        yield every, all_
        for part in self._parts[:FEW] if few else ():
            if self.over:
                return
            yield part, few

    def fewer(self) -> Found | None:
        """A proof from some of the assumptions, in no more steps than were spent before."""
        each = max(self.spent, LEAST)
        end = self.spent + 2 * each
        return self._first((part, min(each, end - self.spent)) for part in self._parts if self.spent < end)

    def rest(self) -> Found | None:
        """A proof from some of the assumptions, however long."""
        return self._first((part, steps) for steps in (30_000, NO_END) for part in self._parts)

    def _first(self, tries: Iterable[tuple[tuple[Fact, ...], int]]) -> Found | None:
        """The first proof under some facts within some steps."""
        return next(filter(None, (self.under(given, steps) for given, steps in tries)), None)

    @functools.cached_property
    def _parts(self) -> tuple[tuple[Fact, ...], ...]:
        return tuple(views(self.claim.given, own_symbols(self.claim)))


def about(given: Iterable[Fact], symbols: Iterable[Symbol]) -> tuple[Fact, ...]:
    """Those that are about these symbols alone."""
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
