"""Bulk copies: consecutive elements of a global tensor land in a tile of shared memory, or go from it to another.

How many is an expression, such as min(chunk, N - start): an element is there where its number is below each argument.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from symlayout.ops import Copy, Ref

from ..bulk_sizes import arguments, elements_moved
from .contents import WIDTH, Guarded, Loaded, Numbers, Words
from .places import elements, met, own_shared, starts
from .state import Guard, Open, State, Team
from .tensor_boxes import fills, singles
from .value_walk import Walk


def load(walk: Walk, state: State, op: Copy) -> None:
    """Elements land in the tile of the use at hand, in this CTA or in those of a mask."""
    if not isinstance(op.src, Ref) or not isinstance(op.dst, Ref):
        raise Open(f"a load from {op.src} to {op.dst}")
    for tile in fills(walk, state, op):
        _land(walk, state, op, op.src, op.dst, tile)


def _land(walk: Walk, state: State, op: Copy, src: Ref, dst: Ref, tile: Words) -> None:
    source = state.kernel.tensor(src.tensor)
    if src.tensor in walk.written:
        raise Open(f"{src.tensor} is read and written")
    start = state.uniform(walk.tiles.slot(state, op, dst.tensor, dst.offset))
    n, guards = _moved(state, op, src, dst, len(tile.ids) - start)
    if start < 0 or tile.ids[start : start + n].any():
        raise Open(f"a place that is filled twice in one use: {op}")
    [(_, at, deltas)] = elements(state, src, n)
    number = state.origins.number(Loaded(source.name, at, source.dtype))
    guarded = state.origins.number(Guarded(number, tuple(g.condition for g in guards))) if guards else number
    words = Words.of(guarded, n)
    if len(at) + len(guards) > WIDTH:
        raise Open(f"values under {len(guards)} conditions, more than are followed at once")
    words.deltas[:, : len(at)] = deltas[0]
    for i, g in enumerate(guards):
        words.deltas[:, len(at) + i] = g.deltas
    tile.put(slice(start, start + n), words)


def store(walk: Walk, state: State, op: Copy) -> None:
    """Elements of a tile go to consecutive ones of a global tensor."""
    if not isinstance(op.src, Ref) or not isinstance(op.dst, Ref):
        raise Open(f"a store from {op.src} to {op.dst}")
    tensor = state.kernel.tensor(op.src.tensor)
    for team in singles(state):
        with state.inside(team=team):
            ring = op.src.tensor in walk.ring_of
            tile = walk.tiles.filled(state, op, tensor.name) if ring else own_shared(walk, state, tensor)
            start = int(starts(walk, state, op, tensor, op.src)[0])
            n, guards = _moved(state, op, op.src, op.dst, len(tile.ids) - start)
            if start < 0:
                raise Open(f"{op.src} is outside: element {start}")
            if walk.checking:
                with state.inside(team=Team(np.arange(n)), guards=guards):  # one element for each thread
                    words = met(state, tile[start : start + n].reshape(n, 1)).reshape(1, n)
                for _, at, deltas in elements(state, op.dst, n):
                    walk.stored(state, op, op.dst.tensor, at, deltas, words)


def _moved(state: State, op: Copy, src: Ref, dst: Ref, room: int) -> tuple[int, tuple[Guard, ...]]:
    """(a number of elements, when each of them is moved: the conditions around, and that it is among those)."""
    bits = [state.kernel.tensor(r.tensor).dtype.bits for r in (src, dst)]
    moved = elements_moved(state.kernel, op, src)
    if bits[0] != bits[1] or moved is None:
        raise Open(f"how many elements are moved by {op}")
    limits = [state.normal(state.here(x)) for x in arguments(moved)]
    n = min((x for x in limits if type(x) is int), default=room)
    if n > room or not any(state.facts.le(x, room) is True for x in limits):
        raise Open(f"whether {op} stays in its tile")
    each = -np.arange(n)
    mine = tuple(Guard(x - 1, each, each) for x in limits if type(x) is not int)
    return n, (*mine, *(Guard(g.condition, found, found) for g in state.guards for found in (_alike(state, g, n),)))


def _alike(state: State, g: Guard, n: int) -> Numbers:
    """The delta of the one thread that is here, for each of n elements."""
    found: Any = np.unique(g.deltas[state.team.threads])
    if len(found) != 1:
        raise Open("a bulk copy under conditions that differ among threads")
    return np.full(n, found[0], np.int64)
