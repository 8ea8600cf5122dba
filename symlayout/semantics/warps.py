"""Operations of a whole warp: shuffles, and reductions over registers and lanes.

>>> partners("bfly", np.arange(4), 1, lanes=4).tolist(), partners("up", np.arange(4), 1, lanes=4).tolist()
([1, 0, 3, 2], [0, 0, 1, 2])
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..atoms import MemorySpace
from ..errors import LayoutError
from ..ops import WARP, Reduce, Ref, Shuffle
from .maps import MapFunction, map_function

if TYPE_CHECKING:
    from .agent import Agent

Array = np.ndarray[Any, Any]
WORD_BYTES = 4  # of one shuffle


def shuffle(agent: Agent, op: Shuffle) -> None:
    """Registers of another lane. Raises LayoutError unless all lanes of a warp are here, and for a lane past 31."""
    _expect_warps(agent, op)
    kind = agent.tensor(op.src, MemorySpace.REGISTER).dtype
    to = agent.tensor(op.dst, MemorySpace.REGISTER).dtype
    if to != kind or op.count * kind.bits % (8 * WORD_BYTES):
        raise LayoutError(
            f"expected whole words of {8 * WORD_BYTES} bits of one type, got {op.count} elements of {kind} and {to}"
        )
    lane = agent.values(op.lane)
    if lane.min() < 0 or lane.max() >= WARP:
        raise LayoutError(f"expected a lane or distance of 0 .. {WARP - 1}, got {lane.min()} .. {lane.max()}")
    data, codes = agent.load(op.src, op.count * kind.bytes)
    mine = np.arange(len(lane))
    at = mine // WARP * WARP + partners(op.mode, mine % WARP, lane)
    agent.store(op.dst, data[at], codes[at])


def partners(mode: str, mine: Array, lane: Any, lanes: int = WARP) -> Array:
    """The lane that each lane reads from; up and down stay where they would leave the warp (PTX ISA, shfl.sync)."""
    other: Array = {"idx": 0 * mine + lane, "up": mine - lane, "down": mine + lane, "bfly": mine ^ lane}[mode]
    return np.where((other >= 0) & (other < lanes), other, mine)


def reduce(agent: Agent, op: Reduce) -> None:
    """The fold of each thread's elements, then of neighbouring lanes; each step is rounded to the registers' type."""
    if op.lanes > 1:
        _expect_warps(agent, op)
    kind = agent.tensor(op.src, MemorySpace.REGISTER).dtype
    if agent.tensor(op.dst, MemorySpace.REGISTER).dtype != kind:
        raise LayoutError(f"expected a register of {kind} for the result of {op}, got {op.dst}")
    row = map_function(op.function)
    data, codes = agent.load(op.src, op.count * kind.bytes)
    values = np.ascontiguousarray(data).view(kind.numpy())
    poison = codes.max(axis=1)
    found = values[:, :1]
    for i in range(1, op.count):
        found = _joined(row, kind, found, values[:, i : i + 1])
    mine = np.arange(len(found))
    distance = op.lanes // 2
    while distance:
        other = mine ^ distance
        found, poison = _joined(row, kind, found, found[other]), np.maximum(poison, poison[other])
        distance //= 2
    result = np.ascontiguousarray(found).view(np.uint8)
    agent.store(Ref(op.dst.tensor, op.dst.offset), result, np.repeat(poison[:, None], kind.bytes, axis=1))


def _joined(row: MapFunction, kind: Any, a: Array, b: Array) -> Array:
    return row.result([(kind, a), (kind, b)], kind, 1)


def _expect_warps(agent: Agent, op: Any) -> None:
    """Raise LayoutError unless all lanes of every warp that is here are here."""
    warps, lanes = np.unique(agent.active // WARP, return_counts=True)
    if (lanes != WARP).any():
        part = int(np.flatnonzero(lanes != WARP)[0])
        raise LayoutError(f"expected all {WARP} lanes of a warp at {op}, got {lanes[part]} of warp {warps[part]}")
