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
from .refuter import Refuter
from .trial_sizes import Sizes, about_equal, admitted, all_sizes, moved
from .trusted.certificate_json import poly, rows_used

VIEWS = 48  # with up to five assumptions, every part of them
WHOLE = 5  # since the parts of n assumptions are 2^n
SOLVER_VIEWS = 4  # a solver is asked with few of them,
SHORT = smt.RLIMIT // 8  # and given less work
QUICK = 800  # steps in which most proofs under all assumptions end,
GLIMPSE = 150  # and of a claim with quotients, which is then proved again without those that it may not need,
LEAST = 4000  # that all get at least once the needed ones have not sufficed,
LONG = 30_000  # that the needed ones get, and each part after the other methods
NO_END = 1 << 60  # steps that no search reaches: its own limits end it
POINTS = 4000  # looked at to tell that a claim needs some facts,
MISSES, OPAQUE_MISSES = 2, 1  # and sizes without a fact at which it was tried and has not failed

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
        self.needed: tuple[Fact, ...] = ()  # those without which the claim is known to fail

    def under(self, given: tuple[Fact, ...], steps: int = NO_END) -> Found | None:
        """The proof under these facts, with them; None where there is none, or none within the steps.

        A search that was cut off begins anew only where it may go on for twice as long.
        """
        longer = steps >= 2 * self.tried.get(given, 0)
        if given not in self.ended and longer and set(given).issuperset(self.needed):
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
        """A proof under all assumptions, if quick; None if there is no layout without them.

        Quotients are resolved under all assumptions, which no certificate names: only a proof without them shows that
        they are not needed. What is resolved is kept for the other claims of a kernel, but not where the steps have
        ended before.
        """
        if not self.claim.subjects():
            return self.under((), LONG)
        quick = GLIMPSE if self.opaque else QUICK
        return self.under(self._own, quick if self._own else LONG)

    def fewer(self) -> Found | None:
        """A proof under all assumptions or some, none of them in much more steps than the others."""
        given = self.claim.given
        found = None if self.opaque else self._within(QUICK, QUICK, (self._orders,))
        if not found:
            self.needed = self._known_to_be_needed() if self.claim.subjects() else ()
            if self.needed == given:
                return self.under(given)
            found = self.under(self.needed, LONG)
        while not found and given not in self.ended:
            times = 4 if self.opaque else 2
            steps = max(times * self.spent, LEAST)
            found = self.under(self._own, steps) or self.under(given, steps)
            found = found or self.under(self.needed, times * self.spent)
            share = 4 if self.opaque or given in self.ended else 1  # what ends has not gone astray: a solver is quicker
            found = found or self._within(self.spent // 16, self.spent // share)
        return found

    def _known_to_be_needed(self) -> tuple[Fact, ...]:
        """Assumptions that no proof does without: the claim fails at some sizes that meet the others.

        Such sizes are sought near some that meet all, with one of them moved.
        """
        given = self.claim.given
        facts = Facts.about(self.claim.parameters(), given=given)
        refuter = Refuter(self.claim, facts, POINTS)
        small = [*itertools.islice(about_equal(facts.symbols, facts), 3)]
        needed: list[Fact] = []
        for f in self._own:
            misses = OPAQUE_MISSES if self.opaque else MISSES
            rest = Facts.about(facts.symbols, given=[g for g in given if g != f])
            for env in moved(f, [*small[1:], *small[:1]]):  # at the least sizes many claims hold without facts
                if misses and admitted(rest, env) and not admitted(facts, env):
                    before = len(refuter.tried)
                    if refuter.among([env]) is not None:
                        needed.append(f)
                        break
                    misses -= len(refuter.tried) - before
        return tuple(needed)

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

    @functools.cached_property
    def _own(self) -> tuple[Fact, ...]:
        """Facts about the claim's own symbols alone: of the others few proofs have need."""
        return about(self.claim.given, Facts.about(self.claim.concerns()).symbols)

    @property
    def _orders(self) -> tuple[Fact, ...]:
        return tuple(f for f in self._own if f.relation != "%")

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


def solved(
    claim: Claim, queries: Iterable[Query], ranges: Iterable[Fact], solver_ms: int, most: int = SOLVER_VIEWS
) -> str:
    """The solver that finds every violation impossible under one of the first parts of the assumptions, or nothing."""
    every, always = list(queries), list(ranges)
    own = own_symbols(claim)
    for given in itertools.islice(views(claim.given, own), most):
        met = {*own, *(s for f in given for s in f.symbols)}
        known = [*(f for f in always if met.issuperset(f.symbols)), *given]
        asked = (smt.satisfiable([*known, *q], solver_ms, SHORT) for q in every)
        answers = list(itertools.takewhile(lambda a: a.status == "unsat", asked))
        if len(answers) == len(every):
            return " and ".join(dict.fromkeys(a.solver for a in answers))
    return ""
