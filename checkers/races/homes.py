"""Who has an element: one thread alone touches it, or threads of one CTA do in the same iteration of their loops.

Where two operations touch ``far + near``, with the same *far* by blocks, loops and lanes and numbers for *near*, both
stay in a home ``far + k`` of some numbers k. If no two homes share an element (``Injective``), then an element says at
which blocks, loops and lanes it is touched, whichever of the two operations it is.

>>> from symlayout import dim
>>> from symlayout.facts import Facts
>>> from symlayout.kernels import vector_copy
>>> from checkers.coverage.store_sites import stores
>>> N = dim("N")
>>> whole, rest = stores(vector_copy(N), "dst")
>>> home = home_of(whole, rest, (N,), lanes=True, loops=False)
>>> print(home.elements)
(block_x,thread,[k_0]) -> [k_0] + 512*block_x + 4*thread for block_x < ceil(N/512), thread < 128, [k_0] < 4
>>> home.apart(())
True
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from symlayout.address_map import AddressMap
from symlayout.errors import SymlayoutError
from symlayout.expr import Fact, Int, Symbol, by_symbols, digit, substitute, terms_of
from symlayout.facts import Facts, symbols_in
from symlayout.kernel.clusters import is_block, is_rank

from ..certified import certified
from ..claim import TooLarge
from ..claims.injective import Injective
from ..coverage.cells import CELLS
from ..coverage.elements import shown
from ..coverage.store_sites import Open, Store, listed

ITERATIONS = 8  # of loops that are written out
POINTS = 1 << 16  # of homes without sizes that are enumerated


@dataclass(frozen=True)
class Home:
    """The elements that two operations touch in a tensor, as a map; *whole* if it has all their loops."""

    elements: AddressMap
    whole: bool

    def apart(self, given: tuple[Fact, ...]) -> bool:
        """Whether no two homes share an element, for all sizes."""
        return _injective(self.elements, given)


@functools.lru_cache(maxsize=1 << 8)
def _injective(elements: AddressMap, given: tuple[Fact, ...]) -> bool:
    claim = Injective(elements, given=given)
    if elements.static and math.prod(n for n in elements.extents if type(n) is int) <= POINTS:
        try:
            return claim.counterexample() is None
        except (TooLarge, ZeroDivisionError):
            return False
    try:
        return certified(claim, Facts.about(claim.parameters(), given=given)) is not None
    except SymlayoutError:
        return False


def home_of(a: Store, b: Store, dims: tuple[Symbol, ...], *, lanes: bool, loops: bool) -> Home:
    """The home of two operations: by blocks and loops, and with *lanes* by those; *loops* of numbers are far too.

    Raises Open where they have none in common.
    """
    first, second = _Half(a, lanes, loops), _Half(b, lanes, loops)
    moved = _turned(second, first)
    far = tuple(substitute(e, moved) for e in second.far)
    if far != first.far or _identities(first) != _identities(second):
        raise Open(f"how {b.site} lies to {a.site}: from {listed(first.far)} and from {listed(far)} on")
    lows = [min(x) for x in zip(first.low, second.low, strict=True)]
    ends = [(low, max(x)) for low, *x in zip(lows, first.high, second.high, strict=True)]
    k = [digit(f"k_{d}", high - low) if high - low > 1 else 0 for d, (low, high) in enumerate(ends)]
    rows = [*first.rows, *((s, high - low) for s, (low, high) in zip(k, ends, strict=True) if isinstance(s, Symbol))]
    at = tuple(f + low + x for f, (low, _), x in zip(first.far, ends, k, strict=True))
    known = {s for s, _ in rows} | set(dims)
    common = [f for f in first.facts if f in {g.subs(moved) for g in second.facts} and symbols_in((f,)) <= known]
    elements = AddressMap(
        tuple(s for s, _ in rows), tuple(n for _, n in rows), at if len(at) > 1 else at[0], tuple(common)
    )
    return Home(elements, first.whole and second.whole)


class _Half:
    """A store cut in two: what is far, and between which numbers what is near lies."""

    def __init__(self, s: Store, lanes: bool, loops: bool) -> None:
        self.store = s
        self.facts = tuple(dict.fromkeys((*s.reached, *s.chosen, *s.guards)))
        own: list[tuple[Symbol, Int]] = [row for row in s.lanes if is_rank(row[0])]
        own += [row for row in s.steps if is_block(row[0])]
        others = [row for row in s.lanes if row not in own] if lanes else []
        far_loops = [row for row in s.steps if row not in own and (loops or type(row[1]) is not int)]
        used = {x for e in s.start for x in symbols_in((e,))}
        self.identity = [*own, *others]
        self.far_loops = [row for row in far_loops if row[0] in used]
        near = {i for i, _ in (*s.steps, *s.lanes)} - {i for i, _ in (*self.identity, *self.far_loops)}
        halves = [_cut(e, near) for e in s.start]
        self.far = tuple(f for f, _ in halves)
        self.low, self.high = self._reach(tuple(n for _, n in halves), near)
        self.whole = {i for i, _ in s.steps} <= {i for i, _ in (*self.identity, *self.far_loops)}

    @property
    def rows(self) -> list[tuple[Symbol, Int]]:
        return [*self.identity, *self.far_loops]

    def _reach(self, near: tuple[Any, ...], inside: set[Symbol]) -> tuple[list[int], list[int]]:
        """(first, end) of the near part, in each dimension."""
        used = symbols_in(near)
        rows = [(i, n) for i, n in (*self.store.steps, *self.store.lanes) if i in used]
        extents = [n for _, n in rows if type(n) is int]
        if len(extents) != len(rows) or math.prod(extents) > CELLS:
            raise Open(f"how far {self.store.site} reaches: {listed(near)}")
        chosen = tuple(f for f in self.store.chosen if symbols_in((f,)) <= {i for i, _ in rows})
        at = near if len(near) > 1 else near[0]
        _, values = AddressMap(tuple(i for i, _ in rows), tuple(extents), at, chosen).table()
        if not len(values):
            raise Open(f"who executes {self.store.site}")
        low, high = values.min(axis=0), values.max(axis=0)
        return [int(x) for x in low], [int(x) + w for x, w in zip(high, self.store.width, strict=True)]


def _identities(h: _Half) -> list[tuple[str, Any]]:
    return [(i.name, n) for i, n in h.identity]


def _cut(e: Any, near: set[Symbol]) -> tuple[Any, Any]:
    """(far, near) of a sum; numbers are near."""
    rest, far, mixed = by_symbols(e, near)
    if mixed != 0:
        raise Open(f"what {mixed} is by the one and by the other of its indices")
    return far, rest


def _turned(b: _Half, a: _Half) -> dict[Any, Any]:
    """The loops of one operation in those of another, one after the other."""
    if len(a.far_loops) != len(b.far_loops):
        raise Open(f"how the loops of {b.store.site} go with those of {a.store.site}")
    moved: dict[Any, Any] = {}
    for (i, n), (j, m) in zip(a.far_loops, b.far_loops, strict=True):
        if substitute(m, moved) != n:
            raise Open(f"how the loops of {b.store.site} go with those of {a.store.site}: {m} iterations, and {n}")
        if i is not j:
            moved[j] = i
    return moved


# -- elements that are never the same -------------------------------------------------------------------


def never_meet(a: Store, b: Store, given: tuple[Fact, ...]) -> str:
    """Why two operations, at any executions, touch no element in common; "" where that is not seen."""
    for x, y, v, w in zip(a.start, b.start, a.width, b.width, strict=True):
        g = math.gcd(*(c for e in (x, y) for m, c in terms_of(e).items() if m))
        gap = terms_of(y).get((), 0) - terms_of(x).get((), 0)
        if (gap % g >= v and -gap % g >= w) if g else not -w < gap < v:
            return f"their elements differ by {gap % g if g else gap} modulo {g}" if g else "at other places"
    moved = {i: digit(f"{i.name}__b", n) for i, n in (*b.steps, *b.lanes)}
    known = [*a.reached, *a.chosen, *a.guards, *(f.subs(moved) for f in (*b.reached, *b.chosen, *b.guards))]
    for x, y, v, w in zip(a.start, b.start, a.width, b.width, strict=True):
        there = substitute(y, moved)
        for first, n, second in ((x, v, there), (there, w, x)):
            if shown(Fact(second - first - n, ">="), known, given) is not None:
                return "one begins behind the other"
    return ""


def unrolled(s: Store) -> tuple[Store, ...]:
    """A store with its loops of numbers unrolled; itself if they have more than ITERATIONS iterations."""
    loops = [(i, n) for i, n in s.steps if type(n) is int and not is_block(i)]
    if math.prod(n for _, n in loops) > ITERATIONS:
        return (s,)
    kept = tuple(row for row in s.steps if row not in loops)
    every = (
        dict(zip((i for i, _ in loops), at, strict=True)) for at in itertools.product(*(range(n) for _, n in loops))
    )
    return tuple(_at(s, kept, put) for put in every)


def _at(s: Store, steps: tuple[tuple[Symbol, Int], ...], put: dict[Any, Any]) -> Store:
    chosen, reached, guards = (tuple(f.subs(put) for f in fs) for fs in (s.chosen, s.reached, s.guards))
    start = tuple(substitute(e, put) for e in s.start)
    return replace(s, start=start, steps=steps, chosen=chosen, reached=reached, guards=guards)


def ways(stores: Sequence[Store]) -> tuple[tuple[bool, bool], ...]:
    """(lanes, loops) by which homes are tried, those of threads first."""
    numbers = any(type(n) is int and not is_block(i) for s in stores for i, n in s.steps)
    return tuple((lanes, loops) for lanes in (True, False) for loops in ((True, False) if numbers else (True,)))
