"""The sweep of generated copies of DRAM in a row of launches, by what is under way: do the halves of the chip part?

>>> next(together(132))
Together(row_bytes=256, slots=1, bytes=311951360)
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from .lab import KIB, Lab, Row
from .launches import nanoseconds

BOX_BYTES, MOST_ROWS = 16 * KIB, 256  # of boxes; those of rows of 32 bytes are smaller, and twice as many
ROW_BYTES = (256, 128, 64, 32)
SLOTS = (1, 2, 3, 4, 6)  # of 16 KB
COLUMNS = 8704  # 16-bit elements of a row of the tensors: 17 KB, no power of two
HEIGHT = 2240  # rows that the copies have a multiple of
TIMES, OTHERS = 4, (1, 2, 6, 8, 12)  # multiples
FEW, DEEP = 3, 6  # slots that keep the halves together, and that do not
LAUNCHES, REPEATS = 20, 7


@dataclass(frozen=True)
class Together:
    """A copy of so many *bytes*, read and written, by a CTA on each SM: rows of boxes, and *slots* of 16 KB."""

    row_bytes: int
    slots: int
    bytes: int


def moved(times: int) -> int:
    """The bytes that a copy reads and writes."""
    return 2 * 2 * COLUMNS * HEIGHT * times


def together(sms: int) -> Iterator[Together]:
    """By rows of boxes and by slots; by length."""
    del sms
    for row_bytes, slots in itertools.product(ROW_BYTES, SLOTS):
        yield Together(row_bytes, slots, moved(TIMES))
    for times, slots in itertools.product(OTHERS, (FEW, DEEP)):
        yield Together(ROW_BYTES[0], slots, moved(times))


def kernel_of(point: Together, sms: int) -> Any:
    """The kernel of a point."""
    from symlayout import dims, kernels

    M, N = dims("M N", multiple_of=8)
    rows = min(MOST_ROWS, BOX_BYTES // point.row_bytes)
    slots = point.slots * BOX_BYTES // (rows * point.row_bytes)
    return kernels.tma_copy(M, N, dtype="bf16", tile=(rows, point.row_bytes // 2), slots=slots, blocks=sms)


def rows_of_together(lab: Lab, point: Together, repeats: int) -> Row:
    """The row of a point: nanoseconds of a launch among others, which copy the same tensors."""
    from gpu.running import Generated

    del repeats
    kernel = kernel_of(point, lab.sms)
    bound = kernel.bind(M=point.bytes // (4 * COLUMNS), N=COLUMNS)
    launch = Generated(kernel).prepare(bound, {"src": lab.src, "dst": lab.dst}, lab.device)
    found = [nanoseconds(lab, launch, LAUNCHES) for _ in range(REPEATS)]
    return {"id": "M53", "kernel": "together", **asdict(point), "sms": lab.sms, "text": kernel.digest[:16], "ns": found}


__all__ = ["COLUMNS", "Together", "kernel_of", "rows_of_together", "together"]
