"""Stores cut in two: tiles, by blocks and loops, and the cells of a tile, by lanes, which are numbers.

>>> from symlayout import dim
>>> from symlayout.kernels import vector_copy
>>> from checkers.coverage.store_sites import stores
>>> tile = Tile([Cut.of(s) for s in stores(vector_copy(dim("N")), "dst")])
>>> print(tile)
each of 512 cells of a tile (512) belongs to one lane of a store
>>> [stores for stores, cells in tile.groups()]
[[0, 1]]
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from symlayout.address_map import AddressMap
from symlayout.expr import Fact, Int, Symbol, by_symbols, digit, substitute
from symlayout.facts import symbols_in
from symlayout.kernel.clusters import is_block

from .store_sites import Open, Store, listed
from .whole_tiles import Short

CELLS = 1 << 18  # of a tile and of each store that are enumerated; beyond it the claim is left open

Array: TypeAlias = "np.ndarray[Any, Any]"


@dataclass(frozen=True)
class Cut:
    """A store whose boxes start at ``far``, by steps, plus ``near``, by lanes; numbers are near.

    The facts are those of the store, in the indices of its steps here.
    """

    store: Store
    steps: tuple[tuple[Symbol, Int], ...]
    lanes: tuple[tuple[Symbol, int], ...]
    far: tuple[Any, ...]
    near: tuple[Any, ...]
    reached: tuple[Fact, ...]
    guards: tuple[Fact, ...]

    @classmethod
    def of(cls, s: Store, loops: bool = True) -> Cut:
        """With *loops*, loops with a number as trip count go with the lanes, unless a condition ends them.

        Raises Open for a sum with a term of both.
        """
        kept = symbols_in(s.reached) | {i for i, _ in s.steps if is_block(i)}
        inner = [(i, n) for i, n in s.steps if loops and type(n) is int and i not in kept]
        steps = tuple(row for row in s.steps if row not in inner)
        lanes = (*inner, *s.lanes)
        halves = [_halves(e, {i for i, _ in lanes}) for e in s.start]
        return cls(s, steps, lanes, tuple(f for f, _ in halves), tuple(n for _, n in halves), s.reached, s.guards)

    def by_steps_of(self, base: Cut) -> Cut:
        """The same in the steps of another store. Raises Open where the two take other tiles at the same step."""
        if [n for _, n in self.steps] != [n for _, n in base.steps]:
            raise Open(f"how the steps of {self.store.site} go with those of {base.store.site}")
        env = {i: j for (i, _), (j, _) in zip(self.steps, base.steps, strict=True) if i is not j}
        far = tuple(substitute(e, env) for e in self.far)
        reached, guards = (tuple(f.subs(env) for f in fs) for fs in (self.reached, self.guards))
        if far != base.far or set(reached) != set(base.reached):
            raise Open(f"how {self.store.site} goes with {base.store.site}: other tiles at the same step")
        return replace(self, steps=base.steps, far=far, reached=reached, guards=guards)

    def numbered(self, short: Short) -> Cut | None:
        """The same with numbers of tiles for its rasters; None where a condition has something else of them."""
        guards = [short.put(f, self.far) for f in self.guards]
        if None in guards:
            return None
        return replace(self, far=short.coordinate, guards=tuple(f for f in guards if f is not None))


def _halves(e: Any, lanes: set[Symbol]) -> tuple[Any, Any]:
    """(what is by steps, what is by lanes) of a sum."""
    near, far, mixed = by_symbols(e, lanes)
    if mixed != 0:
        raise Open(f"which cell of a tile it is at {mixed}: that is by lanes and by blocks or sizes")
    return far, near


@dataclass(frozen=True)
class Held:
    """The cells that a store has: for each of its lanes' indices the value at each cell, and whether it is there."""

    here: Array
    columns: dict[Symbol, Array]


class Tile:
    """The cells of a tile, in units that all boxes are made of, and which lane of each store has each of them.

    Raises Open where two lanes of a store have one cell, or a store begins before its tile.
    """

    def __init__(self, cuts: Sequence[Cut]) -> None:
        self.cuts = cuts
        tables = [_table(c) for c in cuts]
        widths = np.array([c.store.width for c in cuts])
        starts = np.concatenate([at for _, at in tables])
        if starts.min() < 0:
            raise Open(f"where a tile begins: {-starts.min()} elements before a multiple of it")
        self.unit = tuple(int(np.gcd.reduce([*widths[:, d], *starts[:, d]])) for d in range(widths.shape[1]))
        ends = np.stack([(at + c.store.width).max(axis=0) for (_, at), c in zip(tables, cuts, strict=True)])
        self.extents = tuple(int(n) for n in ends.max(axis=0))
        self.cells = tuple(n // u for n, u in zip(self.extents, self.unit, strict=True))
        _expect_few(math.prod(self.cells), "cells of a tile")
        self.held = [self._held(i, *table) for i, table in enumerate(tables)]

    def of(self, cuts: Sequence[Cut]) -> Tile:
        """The same cells of stores that are cut otherwise by steps, and alike by lanes."""
        out = copy.copy(self)
        out.cuts = cuts
        return out

    def __str__(self) -> str:
        return f"each of {math.prod(self.cells)} cells of a tile {listed(self.extents)} belongs to one lane of a store"

    def parts(self, i: int) -> list[Any]:
        """For each dimension of the boxes of a store the index of a cell in them; 0 where there is but one."""
        counts = [n // u for n, u in zip(self.cuts[i].store.width, self.unit, strict=True)]
        return [digit(f"part_{i}_{d}", n) if n > 1 else 0 for d, n in enumerate(counts)]

    def element(self, i: int) -> list[Any]:
        """The coordinates of an element that a store writes: by steps, lanes, the cell of a box and in that."""
        c = self.cuts[i]
        within = [digit(f"within_{d}", u) if u > 1 else 0 for d, u in enumerate(self.unit)]
        rows = zip(c.far, c.near, self.unit, self.parts(i), within, strict=True)
        return [far + near + u * part + w for far, near, u, part, w in rows]

    def groups(self) -> Iterator[tuple[list[int], Array]]:
        """(stores, cells) for each set of stores that share cells. Raises Open for a cell that has none."""
        here = np.stack([h.here for h in self.held], axis=1)
        if not here.any(axis=1).all():
            raise Open(f"what stores {self._at(int(np.argmin(here.any(axis=1))))} of a tile {listed(self.extents)}")
        for kind in np.unique(here, axis=0):
            yield [int(i) for i in np.flatnonzero(kind)], np.flatnonzero((here == kind).all(axis=1))

    def _at(self, cell: int) -> str:
        return listed(tuple(int(x) * u for x, u in zip(np.unravel_index(cell, self.cells), self.unit, strict=True)))

    def _held(self, i: int, lanes: Array, starts: Array) -> Held:
        c, parts = self.cuts[i], self.parts(i)
        boxes = [range(n // u) for n, u in zip(c.store.width, self.unit, strict=True)]
        inside = np.stack([x.ravel() for x in np.meshgrid(*boxes, indexing="ij")], axis=1)  # the cells of a box
        _expect_few(len(starts) * len(inside), f"cells that {c.store.site} writes")
        at = ((starts // self.unit)[:, None, :] + inside[None, :, :]).reshape(-1, len(boxes))
        cell = np.ravel_multi_index(tuple(at.T), self.cells)
        times = np.bincount(cell, minlength=math.prod(self.cells))
        if times.max() > 1:
            where = self._at(int(times.argmax()))
            raise Open(
                f"that one lane of {c.store.site} stores {where} of a tile {listed(self.extents)}: {times.max()} do"
            )
        moving = [d for d, p in enumerate(parts) if type(p) is not int]
        rows = np.concatenate([lanes.repeat(len(inside), axis=0), np.tile(inside[:, moving], (len(starts), 1))], axis=1)
        values = np.full((len(times), rows.shape[1]), -1)
        values[cell] = rows
        names = [*(s for s, _ in c.lanes), *(parts[d] for d in moving)]
        return Held(times > 0, {s: values[:, k] for k, s in enumerate(names)})


def _table(c: Cut) -> tuple[Array, Array]:
    """(values of the lanes, starts) by number."""
    _expect_few(math.prod(n for _, n in c.lanes), f"lanes of {c.store.site}")
    symbols, extents = tuple(s for s, _ in c.lanes), tuple(n for _, n in c.lanes)
    lanes, starts = AddressMap(symbols, extents, c.near, c.store.chosen).table()
    if not len(starts):
        raise Open(f"who executes {c.store.site}")
    return lanes.astype(np.int64), starts.astype(np.int64)


def _expect_few(n: int, what: str) -> None:
    if n > CELLS:
        raise Open(f"who stores which cell: {n} {what} are more than the {CELLS} that are enumerated")
