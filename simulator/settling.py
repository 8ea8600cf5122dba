"""What depends on what was before, such that it settles: a steady state repeats to the picosecond (``recurrence``).

>>> whole(1499.0), whole(1501.0)
(1000, 2000)
>>> held(0.5, 0.55, 0.08), held(0.5, 0.72, 0.08)
(0.5, 0.6)
>>> coarse(np.array([0.0, 1e-6, 50.1, 99.9, 100.0])).tolist()
[0.0, 1.5625, 50.0, 100.0, 100.0]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .engine import NS

if TYPE_CHECKING:
    from .points import Array

GRID = 4  # a held value is rounded to a fourth of the step, so that a run has few different values
GRAIN = 64  # numbers are rounded to a 64th of the largest

__all__ = ["coarse", "held", "whole"]


def whole(wait: float) -> int:
    """A wait in whole nanoseconds."""
    return NS * round(wait / NS)


def held(value: float, seen: float, step: float) -> float:
    """The *value* as long as what is *seen* is within a step of it, else about half way there: in parts of a step.

    Where waits make iterations longer, and so make themselves shorter, a mean that is followed all the way alternates.
    """
    if abs(seen - value) <= step:
        return value
    grid = step / GRID
    return grid * (round(value / grid) + int((seen - value) / 2 / grid))


def coarse(each: Array) -> Array:
    """Numbers in steps of a 64th of the largest, those above 0 as one at least: few that differ by little."""
    unit = each.max(initial=0) / GRAIN
    return np.where(each > 0, np.maximum(np.rint(each / unit), 1) * unit, 0.0) if unit else each
