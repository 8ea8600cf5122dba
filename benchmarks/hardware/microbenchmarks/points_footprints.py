"""The sweep of launches in a row over a footprint: what a launch finds in L2 of the one before.

>>> len(list(footprints(132)))
294
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from .lab import KIB, Lab, Row, u32, u64
from .launches import GAPS, nanoseconds
from .points_rings import MIB

LOADS, COPIES = 1, 3
CHUNK = 16 * KIB  # bytes of rings, which have three of them under way
SLOTS, THREADS, VECTOR = 3, 256, 16
SIZES = (8, 16, 24, 28, 32, 36, 38, 40, 42, 44, 46, 48, 50, 52, 54, 56, 60, 64, 80, 96, 128)  # MiB, of all tensors
LAUNCHES = 100  # in a row; each takes up to 50 microseconds


@dataclass(frozen=True)
class Footprint:
    """Launches that all move the same bytes: by rings, whose CTAs have each their own chunks, or by threads."""

    kernel: str
    mode: int
    per_sm: int
    bytes: int

    @property
    def of_each(self) -> int:
        """The bytes of each of its tensors."""
        return self.bytes // (2 if self.mode == COPIES else 1)


def footprints(sms: int) -> Iterator[Footprint]:
    """Loads and copies of rings and of threads, by CTAs of an SM and footprint."""
    del sms
    cases = *itertools.product(("ring",), (1, 2, 4)), *itertools.product(("stream",), (1, 2, 4, 8))
    for (kernel, per_sm), mode, size in itertools.product(cases, (LOADS, COPIES), SIZES):
        yield Footprint(kernel, mode, per_sm, size * MIB)


def rows_of_footprints(lab: Lab, point: Footprint, repeats: int) -> Row:
    """The row of a point: nanoseconds of a launch among others that move the same bytes."""
    del repeats
    grid = lab.sms * point.per_sm
    if point.kernel == "ring":
        trips = max(1, point.of_each // (CHUNK * grid))
        moved = trips * grid * CHUNK
        numbers: list[Any] = [
            u32(CHUNK),
            u32(SLOTS),
            u32(trips),
            u64(0),
            u64(trips * grid),
            u32(point.mode),
            u32(1),
            u32(1),
        ]
        args, block, file = [lab.out, lab.src, lab.dst, *numbers], 64, "ring"
        shared = SLOTS * (CHUNK + 16)
    else:
        vectors = point.of_each // VECTOR
        moved = vectors * VECTOR
        args = [lab.out, lab.src, lab.dst, u64(0), u64(vectors), u64(vectors), u32(point.mode)]
        block, file, shared = THREADS, "memory", 0
    prepared = lab.modules[file].prepare(point.kernel, grid, block, args, shared=shared)
    ns = [nanoseconds(lab, prepared, LAUNCHES) for _ in range(GAPS)]
    of_all = moved * (2 if point.mode == COPIES else 1)
    return {"id": "M46", **asdict(point), "moved": of_all, "ns": ns}


__all__ = ["Footprint", "footprints", "rows_of_footprints"]
