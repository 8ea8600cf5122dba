"""The range of a predicted time, from the uncertainties of the machine's numbers.

>>> from simulator import H200
>>> found = time_range(lambda m: m.ps("dram_latency", 4) + m.ps("alu_latency"), H200)
>>> print(found)
773 .. 855 ns
>>> print(found.effects[0])
model -6.2 % .. +6.2 %

Each number is somewhere in its range, all places alike, whatever the others are. What a number does to the time is
found by running again with it at the slow end of its range, and, where that matters, half way there and at the fast
end; in between the effect is taken as linear, and effects of several numbers add up. A time never falls as a number
gets slower, so groups of numbers are tried together first, and only the groups that matter are split (sequential
bifurcation: Bettonvil and Kleijnen 1997). A group that is not split moves as one, which makes the range wider.

Numbers that begin with ``model`` stand for what the model leaves out, of all kernels or of those with some operations:
they multiply the time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from .engine import NS
from .machine import RATES, TIMES, Machine, Number

MODEL = "model"
ENERGIES = ("pJ/B", "pJ/FLOP")
WHOLE = ("bytes", "count")
GROUPS = (RATES, (*WHOLE, "part", "GHz"), ("W", *ENERGIES), ("ns",), ("cycles",))  # by unit, what is tried together
# Units and numbers; of all others less is slower. Runs are in bytes that DRAM could move in the time that they cost.
RUNS = ("dram_run_bytes", "dram_read_run_bytes", "dram_lone_run_bytes", "dram_lone_read_bytes")
MORE_IS_SLOWER = (*TIMES, *ENERGIES, "power_static", *RUNS, "dram_queue_bytes", "dram_jitter", "dram_skew")
MATTERS = 0.004  # of the time: a group that does less is not split, and does as much at the fast end
BENDS = 0.05  # of the time: an effect of more is looked at half way too
MAX_RUNS = 16
SPLIT_RUNS = 6  # of two halves: at both ends and half way
DRAWS = 4096
SEED = 0


@dataclass(frozen=True)
class Effect:
    """What the uncertainty of some numbers does to the time: parts of it, at the fast end and at the slow end.

    *half* is the effect half way to the slow end.
    """

    names: tuple[str, ...]
    fast: float
    slow: float
    half: float

    @property
    def about(self) -> str:
        """The numbers in a few words."""
        return self.names[0] + (f" and {len(self.names) - 1} more" if len(self.names) > 1 else "")

    def __str__(self) -> str:
        return f"{self.about} {100 * self.fast:+.1f} % .. {100 * self.slow:+.1f} %"


@dataclass(frozen=True)
class Range:
    """The times below which one and nine of ten lie, in picoseconds, and the effects that make them, largest first."""

    p10_ps: int
    p90_ps: int
    effects: tuple[Effect, ...] = ()

    def __str__(self) -> str:
        return f"{self.p10_ps / NS:.0f} .. {self.p90_ps / NS:.0f} ns"


def time_range(
    time_of: Callable[[Machine], int],
    machine: Machine,
    base: int | None = None,
    most: int = MAX_RUNS,
    gaps: Sequence[str] = (MODEL,),
    step: str = "",
) -> Range:
    """The range of a time, in picoseconds, that a machine determines, from at most so many runs.

    *base* is the time of the machine as it is, where that is known; *gaps* are what the model leaves out of a kernel.
    Times come in steps of the number *step*, so a time is off by up to half of it.

    >>> from simulator import H200
    >>> found = time_range(lambda m: m.ps("launch"), H200.replacing(launch=1000, model=1))
    >>> found.p90_ps - found.p10_ps
    0
    """
    base = time_of(machine) if base is None else base
    uncertain = [n for n in machine.numbers.values() if n.uncertainty and not n.name.startswith(MODEL)]
    runs = _Runs(time_of, machine, base, most)
    todo = [g for units in GROUPS if (g := [n for n in uncertain if n.unit in units])]
    effects = []
    tried = [(runs.slow(g), g) for g in todo]
    while tried:
        tried.sort(key=lambda x: x[0])
        effect, group = tried.pop()
        if effect >= MATTERS and len(group) > 1 and runs.left >= SPLIT_RUNS:
            half = len(group) // 2
            tried += [(runs.slow(part), part) for part in (group[:half], group[half:])]
        elif effect > 0:
            effects.append(Effect(tuple(n.name for n in group), *runs.others(group, effect)))
    for gap in gaps:
        if gap in machine.numbers:
            u = machine[gap].uncertainty
            effects.append(Effect((gap,), -u, u, u / 2))
    if step in machine.numbers:
        end = machine.ps(step) / 2 / max(base, 1)
        effects.append(Effect((step,), -end, end, end / 2))
    effects.sort(key=lambda e: (-e.slow, e.names))
    return Range(*_quantiles(base, effects), tuple(effects))


class _Runs:
    """Times with some numbers at an end of their ranges, as parts of the usual time; at most a number of runs."""

    def __init__(self, time_of: Callable[[Machine], int], machine: Machine, base: int, most: int) -> None:
        self.time_of, self.machine, self.base = time_of, machine, max(base, 1)
        self.left = most

    def slow(self, group: list[Number]) -> float:
        """The effect at the slow end."""
        return max(0.0, self._at(group, 1))

    def others(self, group: list[Number], slow: float) -> tuple[float, float, float]:
        """The effects at the fast end, at the slow end, and half way to it."""
        fast = min(0.0, self._at(group, -1)) if slow >= MATTERS and self.left else -slow
        half = min(slow, max(0.0, self._at(group, 0.5))) if slow >= BENDS and self.left else slow / 2
        return fast, slow, half

    def _at(self, group: list[Number], end: float) -> float:
        self.left -= 1
        return self.time_of(self.machine.replacing(**{n.name: _end(n, end) for n in group})) / self.base - 1


def _end(n: Number, end: float) -> float:
    """The value of a number at the slow end (1) or the fast end (-1) of its range: more of a time, less of a rate."""
    sign = end if n.unit in MORE_IS_SLOWER or n.name in MORE_IS_SLOWER else -end
    value = n.value * (1 + sign * n.uncertainty)
    return max(1, round(value)) if n.unit in WHOLE else min(1.0, value) if n.unit == "part" else value


def _quantiles(base: int, effects: list[Effect]) -> tuple[int, int]:
    """The tenth and the ninetieth percentile of the sum of all effects."""
    draw = np.random.default_rng(SEED).uniform(-1, 1, (len(effects), DRAWS))
    total = np.zeros(DRAWS)
    for e, z in zip(effects, draw, strict=True):
        total += np.interp(z, (-1, 0, 0.5, 1), (e.fast, 0, e.half, e.slow))
    low, high = np.percentile(total, (10, 90))
    return round(base * (1 + low)), round(base * (1 + high))
