"""How one iteration of generated transpositions differs from the next, and how far their CTAs end apart (M55)."""

from __future__ import annotations

from collections.abc import Sequence

from ..fitting import Fitted, level, line
from .rows import Row, mid, those

ALONE = {"id": "M55", "kernel": "ends", "slots": 1}  # one tile under way: loads, products and stores come by turns


def dram_jitter(rows: Sequence[Row]) -> Fitted:
    """The standard deviation of what loads of DRAM take, as a part of it."""
    return level([mid(r, "spread") / mid(r, "load") for r in those(rows, **ALONE)])


def dram_skew(rows: Sequence[Row]) -> Fitted:
    """The part of the time by which the last CTA ends behind those of as many iterations, by one over their root."""
    found = those(rows, **ALONE)
    return line([r["iterations"] ** -0.5 for r in found], [mid(r, "last") / mid(r, "first") - 1 for r in found])


__all__ = ["dram_jitter", "dram_skew"]
