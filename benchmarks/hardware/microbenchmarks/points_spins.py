"""The sweep of launches in a row that stay a little longer each: in which steps a launch of a stream ends.

>>> len(list(spins(132)))
256
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from .lab import Lab, Row, u32
from .launches import GAPS, nanoseconds

NOTHING, COPIES = 0, 3  # what a CTA does beside staying
LONGEST, STEP = 4096, 64  # cycles
SHAPES = ((False, 32), (True, 256))  # whether all SMs have a CTA, and of how many threads
LAUNCHES = 200  # in a row


@dataclass(frozen=True)
class Spin:
    """Launches whose CTAs stay for *spin* cycles; with mode ``COPIES`` each thread then copies one word."""

    grid: int
    block: int
    mode: int
    spin: int


def spins(sms: int) -> Iterator[Spin]:
    """One CTA, and one of each SM, by how long they stay."""
    for (full, block), mode, at in itertools.product(SHAPES, (NOTHING, COPIES), range(0, LONGEST, STEP)):
        yield Spin(sms if full else 1, block, mode, at)


def rows_of_spins(lab: Lab, point: Spin, repeats: int) -> Row:
    """The row of a point: nanoseconds of a launch among others."""
    del repeats
    args = lab.out, u32(point.spin), u32(point.mode)
    prepared = lab.modules["prologue"].prepare("spin", point.grid, point.block, args, shared=0)
    ns = [nanoseconds(lab, prepared, LAUNCHES) for _ in range(GAPS)]
    return {"id": "M47", "kernel": "spin", **asdict(point), "ns": ns}


__all__ = ["Spin", "rows_of_spins", "spins"]
