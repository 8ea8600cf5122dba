"""Jitter: loads of DRAM take now more and now less time, so who comes for one at about the time it lands waits longer.

>>> from .engine import NS
>>> [longer(gap * NS, 300 * NS, 900 * NS) // NS for gap in (-1200, -300, 0, 300, 1200)]
[0, 32, 128, 32, 0]

An iteration that works beside a load ends with the later of the two. Where both are over at the same time on average,
the later one is later than that by 0.4 standard deviations of what the load takes; where one always is the later, by
nothing. A run has each load at its average time, and adds the rest here.

Rings that do nothing between two waits wait for each load as a whole: what they tell of DRAM has it.
"""

from __future__ import annotations

from math import erf, exp, pi, sqrt

from .engine import NS

STEP = 32 * NS  # that waits and spreads are rounded to: a steady state repeats (``recurrence``)
REACH = 3  # standard deviations, beyond which one of the two always is the later
MOST = 1000 * NS  # standard deviation: those of halves of the chip that part are larger, but of one half are not (M55)

__all__ = ["MOST", "longer", "spread"]


def spread(time: int, part: float) -> int:
    """The standard deviation of a load that takes such a time, where it is such a part of it."""
    return min(MOST, STEP * round(part * time / STEP))


def longer(gap: int, deviation: int, worked: int) -> int:
    """What the later of a load and who needs it is later than the later of their averages, which are a *gap* apart.

    He was at work for so long since he waited last, if at all.
    """
    if not deviation or abs(gap) > REACH * deviation:
        return 0
    away = abs(gap) / deviation
    mean = exp(-away * away / 2) / sqrt(2 * pi) - away * (1 - erf(away / sqrt(2))) / 2
    return STEP * round(mean * min(deviation, worked) / STEP)
