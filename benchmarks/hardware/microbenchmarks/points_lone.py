"""The sweep of one load under way, in generated copies by few CTAs: chunks and boxes of rows, from L2 and from DRAM.

>>> next(lone(132))
Lone(rows=0, row_bytes=512, dram=False)
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from .lab import KIB, Lab, Row
from .launches import nanoseconds
from .points_rings import MIB

CTAS = 8
CHUNKS = (512, KIB, 2 * KIB, 4 * KIB, 8 * KIB, 16 * KIB, 32 * KIB)
BOXES = (
    *((16, 256), (32, 128), (64, 64), (128, 32), (8, 512), (32, 256), (64, 128), (128, 64)),
    *((16, 1024), (64, 256), (128, 128)),
)
COLUMNS = 2048  # words of a row of the tensor
FOOTPRINTS = {False: (MIB, 2 * MIB), True: (96 * MIB, 192 * MIB)}  # of the source: in L2 as is the target, and in DRAM
LAUNCHES, REPEATS = {False: 50, True: 6}, 5


@dataclass(frozen=True)
class Lone:
    """A box of so many *rows* of so many bytes, or a chunk of bytes in a row for none."""

    rows: int
    row_bytes: int
    dram: bool


def lone(sms: int) -> Iterator[Lone]:
    """Chunks by their bytes, boxes by rows, from L2 and from DRAM."""
    del sms
    for (rows, row_bytes), dram in itertools.product(((*((0, n) for n in CHUNKS), *BOXES)), (False, True)):
        yield Lone(rows, row_bytes, dram)


def rows_of_lone(lab: Lab, point: Lone, repeats: int) -> Row:
    """The row of a point: nanoseconds of a launch among others, over a footprint and over twice as much."""
    from gpu.running import Generated
    from symlayout import dims, kernels

    del repeats
    M, N = dims("M N", multiple_of=8)
    words = point.row_bytes // 4
    if point.rows:
        kernel: Any = kernels.tma_copy(M, N, dtype="f32", tile=(point.rows, words), slots=1, blocks=CTAS)
    else:
        kernel = kernels.bulk_copy(N, chunk=words, slots=1, blocks=CTAS)
    code, found = Generated(kernel), {}
    few, many = FOOTPRINTS[point.dram]
    for what, footprint in (("few", few), ("many", many)):
        sizes = {"M": footprint // 4 // COLUMNS, "N": COLUMNS} if point.rows else {"N": footprint // 4}
        launch = code.prepare(kernel.bind(**sizes), {"src": lab.src, "dst": lab.dst}, lab.device)
        found[f"{what}_ns"] = [nanoseconds(lab, launch, LAUNCHES[point.dram]) for _ in range(REPEATS)]
    each = CTAS * point.row_bytes * max(1, point.rows)
    told = {"few": few // each, "many": many // each, "text": kernel.digest[:16]}
    return {"id": "M51", "kernel": "lone", **asdict(point), "ctas": CTAS, **told, **found}


__all__ = ["Lone", "lone", "rows_of_lone"]
