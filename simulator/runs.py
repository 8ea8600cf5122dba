"""How the bytes of copies lie in memory: the rows of boxes, runs of bytes in DRAM, and what is outside of a tensor.

>>> from simulator.program import Programs
>>> from symlayout.kernels import tma_copy
>>> walk = Programs(tma_copy(64, 96, tile=(16, 32), dtype="f32", blocks=2).bind()).requests([(0,)])
>>> loads = [part for _, part in walk.keyed() if part.row.unit is Unit.TMA_LOAD]
>>> [rows_of(part).tolist() for part in loads]
[[16.0, 16.0, 16.0, 16.0, 16.0, 16.0]]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .cache import Cache
from .footprints import Moved
from .sorting import among
from .steps import Part
from .timing_classes import Unit

if TYPE_CHECKING:
    from .points import Array

READS = (Unit.LOAD, Unit.CP_ASYNC, Unit.TMA_LOAD)
KEYS, BITS = 44, 62  # bits of an address in a tensor, and of a number that a time and an address fit
READ_RUN, LONE_RUN = 128, 256  # bytes from which on a run costs DRAM nothing more (M6, rows of boxes)

__all__ = [
    "READS",
    "Runs",
    "Unit",
    "fetch_factor",
    "outside_bytes",
    "outside_rows",
    "rows_of",
    "run_lengths",
    "runs_of",
    "straight",
]


def rows_of(part: Part) -> Array:
    """The rows of boxes that each execution of a copy moves, where they have bytes inside of their tensor."""
    assert part.moved is not None
    assert part.moved.run_bytes is not None
    return np.asarray(part.columns["bytes"] / np.maximum(part.moved.run_bytes, 1))


def outside_bytes(part: Part) -> Any:
    """The bytes of boxes that lie outside of their tensor, which arrive as zeros."""
    assert part.moved is not None
    return np.maximum(0, part.moved.shared_bytes - part.moved.bytes) if part.row.unit is Unit.TMA_LOAD else 0


def outside_rows(part: Part) -> Any:
    """The rows of boxes that lie outside of their tensor."""
    assert part.moved is not None
    return np.maximum(0.0, part.moved.served - rows_of(part)) if part.row.unit is Unit.TMA_LOAD else 0.0


def fetch_factor(part: Part) -> Any:
    """What L2 takes from DRAM for each execution of a load, as a multiple of its bytes."""
    assert part.moved is not None
    assert part.moved.run_bytes is not None
    if part.row.unit not in READS or not part.moved.fetched:
        return 1.0
    return np.maximum(1.0, part.moved.fetched / np.maximum(part.moved.run_bytes, 1))


def run_lengths(parts: list[Part]) -> list[Any]:
    """How many bytes lie together that each part moves with others: boxes side by side go out one after another."""
    lengths = []
    for part in parts:
        assert part.moved is not None
        alike = [x.moved for x in parts if x.scope is part.scope and x.row is part.row and x.moved is not None]
        every = [x for x in alike if x.tensor == part.moved.tensor]
        lengths.append(_length(part.moved, every) if len(every) > 1 else part.moved.run_bytes)
    return lengths


def straight(parts: list[Part]) -> list[bool]:
    """Whether each part leaves its bytes where others took them from in their tensor, or takes those: it is a copy."""
    return [any(_opposite(part, other) for other in parts) for part in parts]


def _opposite(one: Part, other: Part) -> bool:
    """Whether one loads, and the other stores, the bytes of the same places, each in its tensor."""
    if (one.row.unit in READS) == (other.row.unit in READS):
        return False
    if one.moved is None or one.moved.at is None or other.moved is None or other.moved.at is None:
        return False
    return np.array_equal(one.cta, other.cta) and np.array_equal(one.moved.at, other.moved.at)


def _length(one: Moved, every: list[Moved]) -> Any:
    """The bytes of a row of a box and of those that lie before and behind it."""
    assert one.at is not None
    assert one.run_bytes is not None
    first, end = one.at, one.at + one.run_bytes
    rows = [(x.at, x.run_bytes) for x in every if x.at is not None and x.run_bytes is not None and len(x.at)]
    rows.sort(key=lambda row: int(row[0][0]))
    for at, nbytes in rows:
        end = np.where(at == end, end + nbytes, end)
    for at, nbytes in reversed(rows):
        first = np.where(at + nbytes == first, at, first)
    return end - first


@dataclass(frozen=True, eq=False)
class Runs:
    """How the bytes of each execution of a copy lie in DRAM, and which of them are moved at about the time."""

    length: Any  # bytes that lie together
    together: Array  # runs of so many bytes
    alone: Array  # whether nobody moves what lies behind them
    straight: bool  # whether what lies side by side is side by side in the other tensor as well

    def lost(self, cache: Cache, part: Part) -> Array:
        """Bytes of time that DRAM loses by runs that are short: fewer where what lies behind is moved as well.

        Of these a part is *parted* from what lies behind. The others cost nothing where both tensors have them side by
        side (M53).
        """
        reads = part.row.unit in READS
        lone = (cache.lone_read if reads else cache.lone_write) / (LONE_RUN - READ_RUN)
        alone = np.where(self.alone, 1.0, cache.parted) * np.maximum(0, LONE_RUN - self.length) * lone * self.together
        if self.straight:
            return np.asarray(alone)
        if reads:
            return np.asarray(np.maximum(alone, np.where(self.length < READ_RUN, cache.read_run * self.together, 0.0)))
        return np.asarray(np.maximum(alone, cache.write_run * self._written(cache, part)))

    def _written(self, cache: Cache, part: Part) -> Array:
        """The short runs that are written: those of boxes side by side are one, but for halves that part."""
        assert part.moved is not None
        assert part.moved.run_bytes is not None
        assert part.moved.runs is not None
        run_bytes, runs = part.moved.run_bytes, part.moved.runs
        beside = np.where(self.length < LONE_RUN, self.together, 0.0)
        of_boxes = np.where(run_bytes < LONE_RUN, runs * np.minimum(1.0, run_bytes / READ_RUN), 0.0)
        return np.asarray(beside + cache.apart * np.maximum(0.0, of_boxes - beside))


def runs_of(part: Part, length: Any, time: Array, straight: bool) -> Runs | None:
    """How the bytes of a part lie in DRAM; None where none of its runs is short."""
    moved = part.moved
    assert moved is not None
    assert moved.run_bytes is not None
    assert moved.runs is not None
    assert moved.at is not None
    apart = moved.run_bytes != moved.pitch  # rows that fill their tensor lie together
    fetched = part.row.unit in READS and moved.fetched >= LONE_RUN
    if fetched or not (apart & (moved.run_bytes < LONE_RUN)).any():
        return None
    here = _together(time, moved.at, int(np.max(length, initial=0)))
    alone = np.broadcast_to(apart & (length < LONE_RUN), len(here)).copy()
    alone[:-1] &= (part.cta[1:] != part.cta[:-1]) | (moved.at[1:] != (moved.at + length)[:-1])  # nor this CTA next
    alone[alone] = ~among((here + length)[alone], here)
    together = moved.runs * moved.run_bytes / np.maximum(length, 1)  # rows of all boxes side by side
    return Runs(length, together, alone, straight)


def _together(time: Array, at: Array, most: int) -> Array:
    """A number for each time and place, such that places up to *most* bytes apart at a time are as far apart in it."""
    span = int(at.max(initial=0)) + most + 1
    if int(time.max(initial=0)) * span < 1 << BITS:
        return np.asarray(time * span + at)
    _, step = np.unique(time, return_inverse=True)
    return np.asarray((step.reshape(-1) << KEYS) + at)
