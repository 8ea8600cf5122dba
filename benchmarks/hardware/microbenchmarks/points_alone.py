"""The sweep of generated copies and transpositions by one CTA out of L2: what an iteration takes of an SM alone.

>>> next(alone(132))
Alone(family='tma_transpose', dtype='bf16', rows=32, columns=32, swizzle=0, slots=1)
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from .lab import Lab, Row
from .launches import nanoseconds

TILES = ((32, 32), (64, 64), (128, 64), (64, 128), (128, 128))
SWIZZLES = (0, 32, 64, 128)
BOXES = (
    *(("bf16", 1, 256), ("bf16", 8, 64), ("bf16", 128, 8), ("bf16", 64, 64), ("f32", 16, 16), ("f32", 8, 256)),
    *(("f32", 64, 64), ("f32", 64, 128)),
)
CHUNKS = (128, 512, 2048, 4096)  # words
SLOTS = (1, 3)
MOST_BYTES = 200 << 10  # of shared memory
FEW, MANY = 16, 80  # iterations
ACROSS = 8  # boxes side by side
LAUNCHES, REPEATS = 30, 7


@dataclass(frozen=True)
class Alone:
    """A family with tiles of *rows* and *columns*, or chunks of one row, and a ring of *slots*."""

    family: str
    dtype: str
    rows: int
    columns: int
    swizzle: int
    slots: int

    def sizes(self, tiles: int) -> Mapping[str, int]:
        """Those of so many iterations: tiles of a transposition one below the other, boxes ``ACROSS`` side by side."""
        match self.family:
            case "tma_transpose":
                return {"M": tiles * self.rows, "N": self.columns}
            case "tma_copy":
                return {"M": tiles // ACROSS * self.rows, "N": ACROSS * self.columns}
            case _:
                return {"N": tiles * self.columns}


def alone(sms: int) -> Iterator[Alone]:
    """Transpositions by tile, swizzle and slots; copies by boxes and by chunks."""
    del sms
    for dtype, tile, swizzle, slots in itertools.product(("bf16", "f32"), TILES, SWIZZLES, SLOTS):
        nbytes = tile[0] * tile[1] * (2 if dtype == "bf16" else 4)
        if (1 + slots) * nbytes <= MOST_BYTES:
            yield Alone("tma_transpose", dtype, *tile, swizzle, slots)
    for (dtype, rows, columns), slots in itertools.product(BOXES, SLOTS):
        yield Alone("tma_copy", dtype, rows, columns, 0, slots)
    for words, slots in itertools.product(CHUNKS, SLOTS):
        yield Alone("bulk_copy", "f32", 1, words, 0, slots)


def kernel_of(point: Alone) -> Any:
    """The kernel of a point, by one CTA."""
    from symlayout import dims, kernels

    M, N = dims("M N", multiple_of=8)
    tile = point.rows, point.columns
    match point.family:
        case "tma_transpose":
            options = {"tile": tile, "swizzle": point.swizzle, "stages": point.slots, "dtype": point.dtype}
            return kernels.tma_transpose(M, N, blocks=1, **options)
        case "tma_copy":
            return kernels.tma_copy(dims("M")[0], N, dtype=point.dtype, tile=tile, slots=point.slots, blocks=1)
        case _:
            return kernels.bulk_copy(N, chunk=point.columns, slots=point.slots, blocks=1)


def rows_of_alone(lab: Lab, point: Alone, repeats: int) -> Row:
    """The row of a point: nanoseconds of a launch among others, of few iterations and of many."""
    from gpu.running import Generated

    del repeats
    kernel = kernel_of(point)
    code, found = Generated(kernel), {}
    for what, tiles in (("few", FEW), ("many", MANY)):
        launch = code.prepare(kernel.bind(**point.sizes(tiles)), {"src": lab.src, "dst": lab.dst}, lab.device)
        found[f"{what}_ns"] = [nanoseconds(lab, launch, LAUNCHES) for _ in range(REPEATS)]
    told = {"few": FEW, "many": MANY, "text": kernel.digest[:16]}
    return {"id": "M52", "kernel": "alone", **asdict(point), **told, **found}


__all__ = ["Alone", "alone", "kernel_of", "rows_of_alone"]
