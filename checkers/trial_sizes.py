"""Sizes at which a claim is tried on numbers: small ones in order of their sum, or all where they are few.

>>> from symlayout import dims
>>> from symlayout.facts import Facts
>>> M, ld = dims("M ld")
>>> facts = Facts.about(M, ld, given=[ld >= M + 1])
>>> [tuple(env.values()) for env in itertools.islice(small_sizes(facts.symbols, facts), 3)]
[(1, 2), (1, 3), (1, 4)]
"""

from __future__ import annotations

import heapq
import itertools
import math
import random
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from symlayout.errors import ExpressionError
from symlayout.expr import Fact, Symbol, evaluate, symbols_of, terms_of
from symlayout.expr.compiled import holds
from symlayout.facts import Facts
from symlayout.meter import step

Sizes: TypeAlias = "dict[Symbol, int]"

LEAST = 4000  # assignments yielded before giving up
PATIENCE = 1500  # values set without reaching a further one
ABOUT = (1, 2, 4, 8, 16, 64)
OFTEN = 100  # evaluations from which on it pays to compile an expression
TO_THE_LAST = 40  # up to which sizes every value of one or two symbols is tried


def small_sizes(symbols: tuple[Symbol, ...], facts: Facts, hints: tuple[int, ...] = ()) -> Iterator[Sizes]:
    """Admissible values of the symbols in order of their sum: 1, 2, 3, and each hint with its neighbours.

    A symbol bounded below by others is tried at that bound and just above it. Nothing is built ahead.
    """
    return _Tried(symbols, facts, hints).least_first()


def about_equal(symbols: tuple[Symbol, ...], facts: Facts) -> Iterator[Sizes]:
    """A few admissible assignments with symbols of similar size: not the least, but found early.

    >>> from symlayout import dims
    >>> A, B, C = dims("A B C")
    >>> facts = Facts.about(A, B, C, given=[A * C >= 8, B >= A + 2])
    >>> next(tuple(env.values()) for env in about_equal(facts.symbols, facts))
    (4, 6, 4)
    """
    lows = {s: _lower_bounds(s, facts) for s in symbols}
    order = _bounded_last(symbols, lows)
    whole = {
        s: math.lcm(s.multiple, *(f.modulus for f in facts.given if f.relation == "%" and f.expr is s)) for s in symbols
    }
    for size in ABOUT:
        step(len(order))
        env: Sizes = {}
        for s in order:
            known = [v for low in lows[s] if all(t in env for t in symbols_of(low)) for v in _at(low, env)]
            env[s] = -(-max(size, *known, 1) // whole[s]) * whole[s]
        if admitted(facts, env):
            yield {s: env[s] for s in symbols}


def moved(fact: Fact, sizes: Iterable[Sizes]) -> Iterator[Sizes]:
    """Some sizes with one of those that a fact is about moved: where they meet it, some may not."""
    for env in sizes:
        for s in fact.symbols:
            for v in dict.fromkeys((env[s] - 1, env[s] + 1, 1)):
                if 1 <= v != env[s]:
                    yield {**env, s: v}


def drawn_sizes(symbols: tuple[Symbol, ...], facts: Facts, hints: tuple[int, ...] = ()) -> Iterator[Sizes]:
    """The same values in other combinations, the same ones each time: large next to small."""
    return _Tried(symbols, facts, hints).drawn()


def every_small_size(symbols: tuple[Symbol, ...], facts: Facts) -> Iterator[Sizes]:
    """All admissible values 1 .. 40 of one or two symbols, in order of their sum; nothing for more symbols."""
    if 1 <= len(symbols) <= 2:
        boxes = itertools.product(range(1, TO_THE_LAST + 1), repeat=len(symbols))
        for values in sorted(boxes, key=lambda values: (sum(values), values)):
            env = dict(zip(symbols, values, strict=True))
            if admitted(facts, env):
                yield env


def admitted(facts: Facts, env: Sizes) -> bool:
    """Whether sizes meet the assumptions; where these shift too far to tell, a search passes the sizes over."""
    try:
        return facts.admits(env)
    except OverflowError:
        return False


def all_sizes(symbols: tuple[Symbol, ...], facts: Facts, limit: int = 256) -> list[Sizes] | None:
    """Every admissible assignment, where the ranges leave at most *limit* candidates; else None."""
    boxes = []
    total = 1
    for s in symbols:
        low, high = s.lower, s.upper
        for f in facts.given:
            t = terms_of(f.expr)
            if f.relation == ">=" and len(t) == 2 and t.get((s,)) in (1, -1) and () in t:
                low, high = (max(low, -t[()]), high) if t[(s,)] == 1 and type(low) is int else (low, high)
                high = min(high, t[()]) if t[(s,)] == -1 and type(high) is int else high
        if type(low) is not int or type(high) is not int:
            return None
        total *= max(0, high - low + 1)
        if total > limit:
            return None
        boxes.append(range(low, high + 1))
    envs = (dict(zip(symbols, values, strict=True)) for values in itertools.product(*boxes))
    try:
        return [env for env in envs if facts.admits(env)]
    except OverflowError:  # a shift that is too large to evaluate
        return None


class _Tried:
    """The values to try for each symbol, in an order in which what bounds one comes before it."""

    def __init__(self, symbols: tuple[Symbol, ...], facts: Facts, hints: tuple[int, ...]) -> None:
        near = {1, 2, 3, 4, 5, *(h + e for h in hints for e in (-1, 0, 1)), *(2 * h + 1 for h in hints)}
        self.symbols = symbols
        self.lows = {s: _lower_bounds(s, facts) for s in symbols}
        self.order = _bounded_last(symbols, self.lows)
        self.near = [sorted({*near, *_residues(s, facts)}) for s in self.order]
        place = {s: i for i, s in enumerate(self.order)}
        self.checks: list[list[_Check]] = [[] for _ in self.order]
        self.possible = True
        for f in (*facts.ranges, *facts.given):
            if not f.symbols:
                self.possible = self.possible and bool(f.value)
            elif f in facts.given or len(f.symbols) > 1:  # the values tried lie in ranges that are numbers
                self.checks[max(place[s] for s in f.symbols)].append(_Check(f))
        self.fixed = [self._known(i) for i in range(len(self.order))]
        self.left = [self._left(i) for i in range(len(self.order))]
        self.rest = [0] * (len(self.order) + 1)  # at least what the symbols from here on add to the sum
        least: Sizes = {}
        for i, s in enumerate(self.order):
            least[s] = min(self.fixed[i] or self._alone(i, self._growing(i, least), least), default=1)
        for i in reversed(range(len(self.order))):
            self.rest[i] = self.rest[i + 1] + least[self.order[i]]

    def _known(self, i: int) -> list[int] | None:
        """The values of a symbol whose bounds are numbers."""
        lows = self.lows[self.order[i]]
        return None if any(map(symbols_of, lows)) else self._alone(i, lows, {})

    def _left(self, i: int) -> list[_Check]:
        """What to ask once a symbol has a value: known values meet the facts about it alone."""
        return [c for c in self.checks[i] if self.fixed[i] is None or c.fact.symbols != (self.order[i],)]

    def _growing(self, i: int, least: Sizes) -> list[Any]:
        """The bounds of a symbol from below that only grow with the others."""
        lows = (low for low in self.lows[self.order[i]] if set(symbols_of(low)) <= least.keys())
        return [low for low in lows if all(c >= 0 for m, c in terms_of(low).items() if m)]

    def _alone(self, i: int, lows: list[Any], env: Sizes) -> list[int]:
        """The values of a symbol without those that a fact about it alone excludes."""
        s = self.order[i]
        alone = [check for check in self.checks[i] if check.fact.symbols == (s,)]
        return [v for v in _options(s, self.near[i], lows, env) if all(check({s: v}) for check in alone)]

    def least_first(self) -> Iterator[Sizes]:
        """Assignments in order of their sum, then of their values."""
        found = self._by_sum() if self.possible else iter(())
        for _, same in itertools.groupby(itertools.islice(found, LEAST), key=lambda env: sum(env.values())):
            rows = sorted([env[s] for s in self.symbols] for env in same)
            yield from (dict(zip(self.symbols, row, strict=True)) for row in rows)

    def _by_sum(self) -> Iterator[Sizes]:
        """Best first: the assignment of some symbols whose sum, with the least values of the others, is least."""
        ties = itertools.count()
        heap: list[tuple[int, int, Sizes, list[int], int]] = []

        def push(env: Sizes, spent: int, options: list[int], k: int) -> None:
            i = len(env)
            while k < len(options):
                grown = {**env, self.order[i]: options[k]}
                if all(check(grown) for check in self.left[i]):
                    at_least = spent + options[k] + self.rest[i + 1]
                    heapq.heappush(heap, (at_least, next(ties), grown, options, k))
                    return
                k += 1

        if not self.order:
            yield {}
        else:
            push({}, 0, self._values(0, {}), 0)
        patience = PATIENCE
        while heap and patience:
            step(len(self.order))
            patience -= 1
            _, _, env, options, k = heapq.heappop(heap)
            i, spent = len(env) - 1, sum(env.values())
            push({s: env[s] for s in self.order[:i]}, spent - options[k], options, k + 1)
            if i + 1 == len(self.order):
                patience = PATIENCE
                yield env
            else:
                push(env, spent, self._values(i + 1, env), 0)

    def drawn(self) -> Iterator[Sizes]:
        """Assignments drawn at random, always the same."""
        r = random.Random(len(self.order))
        for _ in range(LEAST if self.possible else 0):
            env: Sizes = {}
            step(len(self.order))
            for i, s in enumerate(self.order):
                options = self._values(i, env)
                if not options:
                    break
                env[s] = r.choice(options)
                if not all(check(env) for check in self.left[i]):
                    break
            else:
                yield {s: env[s] for s in self.symbols}

    def _values(self, i: int, env: Sizes) -> list[int]:
        known = self.fixed[i]
        return _options(self.order[i], self.near[i], self.lows[self.order[i]], env) if known is None else known


class _Check:
    """Whether a fact holds at sizes; one that is asked often is asked as a function made for it."""

    def __init__(self, fact: Fact) -> None:
        self.fact, self._asked = fact, 0

    def __call__(self, env: Mapping[Symbol, int]) -> bool:
        self._asked += 1
        try:
            if self._asked < OFTEN:
                return self.fact.at(env)
            return bool(holds(self.fact, {s.name: env[s] for s in self.fact.symbols}))
        except (ExpressionError, ZeroDivisionError):
            return False


def _residues(s: Symbol, facts: Facts) -> list[int]:
    """Values around the moduli of the congruences given about a symbol: all residues of small ones."""
    moduli = [f.modulus for f in facts.given if f.relation == "%" and s in f.symbols]
    if not moduli:
        return []
    whole = math.lcm(*moduli)
    near = range(1, 2 * whole + 1) if whole <= 48 else ()
    return [*near, *(k * m for m in {whole, *moduli} for k in (1, 2, 3))]


def _lower_bounds(s: Symbol, facts: Facts) -> list[Any]:
    """Lower bounds of a symbol: its own range and the facts given about it."""
    own = [s.lower] if s.lower is not None else []
    for f in facts.given:
        if f.relation in (">=", "==") and terms_of(f.expr).get((s,)) == 1:
            own.append(s - f.expr)
    return own


def _bounded_last(symbols: tuple[Symbol, ...], lows: Mapping[Symbol, list[Any]]) -> list[Symbol]:
    """Symbols so that what bounds one comes before it, as far as that goes, and soon before it."""
    out: list[Symbol] = []
    todo = list(symbols)
    while todo:
        free = [s for s in todo if not any(t in todo and t is not s for low in lows[s] for t in symbols_of(low))]
        bounded = [s for s in free if any(symbols_of(low) for low in lows[s])]
        s = (bounded or free or todo)[0]
        todo.remove(s)
        out.append(s)
    return out


def _at(low: Any, env: Mapping[Symbol, int]) -> list[int]:
    """The value of a bound, or nothing where it divides by less than 1."""
    try:
        return [evaluate(low, env)]
    except (ZeroDivisionError, ExpressionError):
        return []


def _options(s: Symbol, near: list[int], lows: list[Any], env: Mapping[Symbol, int]) -> list[int]:
    """Values to try for a symbol: candidates, their multiples where it has a divisor, and its lower bounds."""
    known = [v for low in lows if all(t in env for t in symbols_of(low)) for v in _at(low, env)]
    low = max(known, default=None)
    high = s.upper if type(s.upper) is int else None
    tried = {c * s.multiple for c in near if c > 0} | {c for c in near if c % s.multiple == 0}
    if low is not None:
        first = -(-low // s.multiple) * s.multiple
        tried |= {first, first + s.multiple, first + 2 * s.multiple}
    return sorted(v for v in tried if (low is None or v >= low) and (high is None or v <= high))
