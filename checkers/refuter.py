"""Sizes at which a claim fails: small ones in order of their sum, large ones at the ends of ranges, then bisected."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from symlayout.answers.report import Witness
from symlayout.errors import SymlayoutError
from symlayout.expr import Symbol
from symlayout.facts import Facts
from symlayout.meter import step

from .claim import Claim, TooLarge
from .trial_sizes import Sizes, admitted, drawn_sizes, every_small_size, small_sizes

SMALL_POINTS = 20_000  # a small size is skipped beyond this many points
REFUTER_POINTS = 400_000  # points tried over all small sizes together
REFUTER_SIZES = 600  # assignments of small sizes that are tried
GLANCE_SIZES, GLANCE_POINTS = 8, 4000
DRAWN_SIZES = 200  # random assignments after the small ones, since some failures need uneven sizes
DOUBLED_POINTS = 1 << 20  # coordinates of a claim at a doubled size; a larger one is not evaluated
BIND = 20  # steps that a claim at sizes counts for


@dataclass(frozen=True)
class Failure:
    """Sizes at which a claim fails, with its counterexample there and how they were found."""

    witness: Witness
    sizes: Sizes
    method: str


def tried(bound: Claim) -> Witness | None:
    """The counterexample of a claim on numbers, or None if it has none or cannot be evaluated."""
    try:
        return bound.counterexample()
    except (TooLarge, ZeroDivisionError, OverflowError, MemoryError):
        return None


class Refuter:
    """The search for a failure of one claim; ``checked`` says how far it came."""

    def __init__(self, claim: Claim, facts: Facts, points: int) -> None:
        self.claim, self.facts, self.left = claim, facts, points
        self.checked = ""
        self.tried: set[tuple[int, ...]] = set()
        self.last: Sizes = {}

    def bound(self, env: Sizes) -> Claim | None:
        """The claim at these sizes; None if there is no such layout, such as an extent of 0."""
        step(BIND)
        try:
            return self.claim.bind(env)
        except (SymlayoutError, ZeroDivisionError):
            return None

    # -- small sizes --------------------------------------------------------------------------------

    def glance(self, every: bool = False) -> Failure | None:
        """The first few sizes, before algebra is asked: what is false about a map mostly fails there."""
        maps = any(hasattr(x, "extents") for x in self.claim.subjects())
        return self._first(self._small(), GLANCE_SIZES, GLANCE_POINTS) if maps != every else None

    def small(self) -> Failure | None:
        """Enumerate at small admissible sizes, in order of their sum: the first failure is minimal."""
        return self._first(self._small(), REFUTER_SIZES, self.left)

    def among(self, sizes: Iterable[Sizes]) -> Failure | None:
        """The first failure at some sizes that the caller knows to be admissible."""
        return self._first(sizes, REFUTER_SIZES, self.left)

    def _small(self) -> Iterator[Sizes]:
        chosen = self.claim.trials(self.facts)
        return small_sizes(self.facts.symbols, self.facts, self.claim.hints()) if chosen is None else chosen

    def more(self) -> Failure | None:
        """The search after all methods are open: all sizes to 40 of one or two symbols, and random uneven ones."""
        if self.claim.trials(self.facts) is not None:
            return None
        symbols, hints = self.facts.symbols, self.claim.hints()
        every = every_small_size(symbols, self.facts)
        drawn = itertools.islice(drawn_sizes(symbols, self.facts, hints), DRAWN_SIZES)
        return self._first(itertools.chain(every, drawn), len(self.tried) + 2000, self.left)

    def _first(self, sizes: Iterable[Sizes], limit: int, points: int) -> Failure | None:
        """The first of some sizes that fails, within a number of sizes and of points."""
        for env in sizes:
            key = tuple(env[s] for s in self.facts.symbols)
            bound = self.bound(env) if key not in self.tried else None
            if bound is None or (n := bound.points()) > SMALL_POINTS:
                continue
            points -= n + 50
            if points < 0 or len(self.tried) >= limit:
                break
            self.tried.add(key)
            self.last = max(self.last, env, key=lambda e: sum(e.values()))
            witness = tried(bound)
            if witness is not None:
                return Failure(witness, env, "small sizes")
        if self.last:
            shown = ", ".join(f"{s} = {v}" for s, v in self.last.items())
            self.checked = f"no failure at {len(self.tried)} small sizes, the last of them {shown}"
        return None

    # -- large sizes --------------------------------------------------------------------------------

    def large(self) -> Failure | None:
        """One size at its upper end, the others at their lower: the place of overflows; then bisect."""
        found: list[tuple[int, Sizes, Witness]] = []
        lows = next(small_sizes(self.facts.symbols, self.facts, ()), None)
        if lows is None:
            return None
        for s in self.facts.symbols:
            found += self._doubled(lows, s)
        for grown in [] if found else [*((s,) for s in self.facts.symbols), self.facts.symbols]:
            env = dict(lows)
            for s in grown:
                if type(s.upper) is int:
                    env[s] = s.upper // s.multiple * s.multiple
            if env == lows or not self._fails(env):
                continue
            for s in grown:
                env[s] = self._least(env, s, lows[s])
            witness = self._fails(env)
            if witness:
                found.append((sum(env.values()), env, witness))
        if not found:
            return None
        _, env, witness = min(found, key=lambda f: f[0])
        return Failure(witness, env, "corners of large sizes")

    def _doubled(self, lows: Sizes, s: Symbol) -> list[tuple[int, Sizes, Witness]]:
        """One size doubled as long as enumeration takes it, then bisected."""
        env = dict(lows)
        for _ in range(40):  # the points need not depend on this size
            env = {**env, s: 2 * env[s]}
            bound = self.bound(env) if env[s] > 0 and admitted(self.facts, env) else None
            if bound is None or not hasattr(bound, "limits") or bound.points() > DOUBLED_POINTS:
                return []
            if bound.points() > SMALL_POINTS and self._fails(env):
                env[s] = self._least(env, s, env[s] // 2)
                witness = self._fails(env)
                return [(sum(env.values()), env, witness)] if witness else []
        return []

    def _fails(self, env: Sizes) -> Witness | None:
        if not admitted(self.facts, env):
            return None
        bound = self.bound(env)
        if bound is None or bound.points() <= SMALL_POINTS or not hasattr(bound, "limits"):
            return None
        return tried(bound)

    def _least(self, env: Sizes, s: Symbol, low: int) -> int:
        """The least value of *s* that still fails, by bisection; every step is tried, none is assumed."""
        good, bad = low, env[s]
        while bad - good > s.multiple:
            middle = (good + bad) // 2 // s.multiple * s.multiple
            if middle <= good:
                break
            if self._fails({**env, s: middle}):
                bad = middle
            else:
                good = middle
        return bad
