"""The numbers of a machine from rows of microbenchmarks: for each, which rows say it, and how.

>>> NUMBERS["mbarrier_arrive"].unit, NUMBERS["dram_rate"].rows
('cycles', 'M4')

A rule takes the rows of its microbenchmark and gives a fit; what it leaves over is shown, and looked at for patterns.
Cycles are those of the SM clock, nanoseconds those of the device's own timer.
"""

from __future__ import annotations

from .numbers import NUMBERS, Source
from .rows import Row, Rule

__all__ = ["NUMBERS", "Row", "Rule", "Source"]
