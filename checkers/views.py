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

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from symlayout.errors import AssumptionError
from symlayout.expr import Fact, Symbol
from symlayout.facts import Facts

from . import smt
from .claim import Claim, Proof, Query
from .trial_sizes import Sizes, all_sizes

VIEWS = 48  # with up to five assumptions, every part of them
WHOLE = 5
SOLVER_VIEWS = 4  # a solver is asked with few of them,
SHORT = smt.RLIMIT // 8  # and given less work


def views(given: tuple[Fact, ...], symbols: Iterable[Symbol]) -> Iterator[tuple[Fact, ...]]:
    """Parts of the assumptions, in their order, the likely ones first; none of them all."""
    seen = {given}
    for part in itertools.islice(_parts(given, set(symbols)), 4 * VIEWS):
        if part not in seen and len(seen) <= VIEWS:
            seen.add(part)
            yield part


def _parts(given: tuple[Fact, ...], symbols: set[Symbol]) -> Iterator[tuple[Fact, ...]]:
    """Those about the claim's own symbols, none, orders or divisors alone; then all but few, and few."""
    yield tuple(f for f in given if symbols.issuperset(f.symbols))
    yield ()
    yield tuple(f for f in given if f.relation != "%")
    yield tuple(f for f in given if f.relation == "%")
    for k in range(1, len(given)):
        yield given[:-k]
        yield given[k:]
    sizes = range(len(given) - 1, 0, -1) if len(given) <= WHOLE else (len(given) - 1, 1, 2, len(given) - 2)
    for k in sizes:
        yield from itertools.combinations(given, k)


def _weaker(claim: Claim, symbols: Iterable[Symbol]) -> Iterator[tuple[Claim, Facts]]:
    """The claim under each part of its assumptions, with the facts that this part is."""
    for given in views(claim.given, symbols):
        weaker = replace(claim, given=given)
        try:
            yield weaker, Facts.about(weaker.parameters(), given=given)
        except AssumptionError:
            continue


def own_symbols(claim: Claim) -> tuple[Symbol, ...]:
    """The symbols of a claim without those that only its assumptions are about."""
    return Facts.about(claim.parameters()).symbols


def certified(claim: Claim, prove: Callable[[Claim, Facts], Proof | None]) -> tuple[Proof, Facts] | None:
    """A proof by algebra under some assumptions, with these."""
    for weaker, facts in _weaker(claim, own_symbols(claim)):
        proof = prove(weaker, facts)
        if proof is not None:
            return proof, facts
    return None


def few_sizes(claim: Claim) -> list[Sizes] | None:
    """All sizes that the assumptions about a claim's own symbols leave, where they are few."""
    symbols = own_symbols(claim)
    given = tuple(f for f in claim.given if set(symbols).issuperset(f.symbols))
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
