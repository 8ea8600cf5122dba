"""The sweep of generated copies in L2 whose boxes lie in part outside of their tensor: what rows there cost.

>>> next(outside(132))
Outside(words=8, slots=2, per_sm=1, inside=128)
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from .lab import Lab, Row
from .launches import nanoseconds

ROWS = 128  # of a box
WORDS = (8, 32, 64, 128)  # of a row
RINGS = ((2, 1), (3, 2))  # slots, and CTAs of an SM
INSIDE = (ROWS, 96, 64, 8)  # rows
BYTES = 1 << 16  # about so many of each CTA, of all rows
LAUNCHES, REPEATS = 40, 7


@dataclass(frozen=True)
class Outside:
    """Boxes of rows of so many *words*, of which so many rows are *inside*; rings of *slots*, CTAs of an SM."""

    words: int
    slots: int
    per_sm: int
    inside: int

    def sizes(self, sms: int) -> Mapping[str, int]:
        """One row of boxes, as many of each CTA."""
        boxes = max(2, BYTES // (4 * ROWS * self.words))
        return {"M": self.inside, "N": self.words * self.per_sm * sms * boxes}


def outside(sms: int) -> Iterator[Outside]:
    """By the bytes of rows, by rings, and by the rows inside."""
    del sms
    for words, (slots, per_sm), inside in itertools.product(WORDS, RINGS, INSIDE):
        yield Outside(words, slots, per_sm, inside)


def kernel_of(point: Outside, sms: int) -> Any:
    """The kernel of a point."""
    from symlayout import dims, kernels

    [M], [N] = dims("M"), dims("N", multiple_of=8)
    return kernels.tma_copy(M, N, tile=(ROWS, point.words), slots=point.slots, blocks=sms * point.per_sm)


def rows_of_outside(lab: Lab, point: Outside, repeats: int) -> Row:
    """The row of a point: nanoseconds of a launch among others."""
    from gpu.running import Generated

    del repeats
    kernel = kernel_of(point, lab.sms)
    bound = kernel.bind(**point.sizes(lab.sms))
    launch = Generated(kernel).prepare(bound, {"src": lab.src, "dst": lab.dst}, lab.device)
    found = [nanoseconds(lab, launch, LAUNCHES) for _ in range(REPEATS)]
    return {"id": "M54", "kernel": "outside", **asdict(point), "sms": lab.sms, "text": kernel.digest[:16], "ns": found}


__all__ = ["Outside", "kernel_of", "outside", "rows_of_outside"]
