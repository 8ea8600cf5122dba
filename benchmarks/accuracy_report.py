"""The report of a round: errors of each class, ranks, regret and baselines, from predictions and measurements.

>>> kendall([1, 2, 3, 4], [10, 20, 40, 30])
0.667
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .accuracy_baselines import nearest

Row = Mapping[str, Any]
SCHEDULES = 8  # of the same work, from which on they are a space to choose from
HARD = 0.15  # points that the roofline misses by more are those that tell


@dataclass(frozen=True)
class Point:
    """A point that was measured: its class, the median, and what was predicted (None where that was refused)."""

    group: str
    work: str
    measured: float
    predicted: float | None
    range: tuple[float, float] | None
    roofline: float
    nearest: float | None

    @property
    def error(self) -> float:
        """The signed relative error; a refusal counts as one of 100 %."""
        return -1.0 if self.predicted is None else self.predicted / self.measured - 1


def kendall(x: Sequence[float], y: Sequence[float]) -> float:
    """Kendall's tau: pairs in the same order less those in the other, of all pairs."""
    first, second = np.triu_indices(len(x), 1)
    same = np.equal(*(np.sign(np.subtract(*np.asarray(v, float)[[first, second]])) for v in (x, y)))
    return round(float(2 * same.sum() - len(same)) / max(1, len(same)), 3)


def points(predictions: Sequence[Row], measurements: Sequence[Row], calibration: Sequence[Row] = ()) -> list[Point]:
    """The points of a round that were measured; those that could not be are left out.

    Raises ValueError for a measurement of another kernel than the one that was predicted.
    """
    found = []
    by_number = {r["point"]: r for r in measurements}
    for p in predictions:
        m = by_number.get(p.get("point"))
        if m is None or "error" in m:
            continue
        if m["digest"] != p["digest"]:
            raise ValueError(f"expected the kernel {p['digest'][:12]} at point {p['point']}, got {m['digest'][:12]}")
        near = nearest(p, calibration, p.get("launch_s", 0.0), m["moved_bytes"], m["flops"]) if calibration else None
        around = (p["p10_s"], p["p90_s"]) if "p10_s" in p else None
        median = statistics.median(m["warm_s"])
        work = f"{p['family']} {p['dims']} {p['cache']}"
        found.append(Point(p["group"], work, median, p.get("seconds"), around, p["roofline_s"], near))
    return found


def report(predictions: Sequence[Row], measurements: Sequence[Row], calibration: Sequence[Row] = ()) -> str:
    """The table of a round."""
    head = predictions[0]
    every = points(predictions[1:], measurements, calibration)
    lines = [
        f"{len(every)} of {head['points']} points measured; machine {head['machine']} {head['numbers']}, "
        f"seed {head['seed']}",
        "class          points refused   bias  mean |e|  worst   tau   in range  width  roofline nearest  ratio",
    ]
    groups = list(dict.fromkeys(p.group for p in every))
    lines += [_line(g, [p for p in every if p.group == g]) for g in groups]
    lines.append(_line("all", every))
    return "\n".join([*lines, *map(str, spaces(every))])


def _line(name: str, mine: list[Point]) -> str:
    told = summary(mine)
    shown = {k: "   -  " if v is None else f"{v:6.1%}" for k, v in told.items()}
    tau = kendall([p.predicted or 0 for p in mine if p.predicted], [p.measured for p in mine if p.predicted])
    return (
        f"{name:15} {len(mine):5} {sum(p.predicted is None for p in mine):7} {shown['bias']:>6}   {shown['mean']} "
        f"{shown['worst']} {tau:5.2f}     {shown['inside']} {shown['width']}    {shown['roofline']}  "
        f"{shown['nearest']} {shown['ratio']}"
    )


def summary(mine: Sequence[Point]) -> dict[str, float | None]:
    """Errors of some points, refusals aside but for *mean_with_refusals*; parts, not percent.

    *ratio* is the mean error on points that the roofline misses by over 15 %, as a part of the better baseline's there.
    """
    answered = [p for p in mine if p.predicted is not None]
    errors = [p.error for p in answered]
    ranged = [(p, p.range) for p in answered if p.range]
    hard = [p for p in answered if abs(p.roofline / p.measured - 1) > HARD]
    near = [p for p in mine if p.nearest is not None]
    return {
        "bias": _mean(errors),
        "mean": _mean([abs(e) for e in errors]),
        "mean_with_refusals": _mean([abs(p.error) for p in mine]),
        "worst": max((abs(e) for e in errors), default=None),
        "inside": _mean([float(low <= p.measured <= high) for p, (low, high) in ranged]),
        "width": statistics.median([(high - low) / (p.predicted or 1) for p, (low, high) in ranged])
        if ranged
        else None,
        "roofline": _mean([abs(p.roofline / p.measured - 1) for p in mine]),
        "nearest": _mean([abs((p.nearest or 0) / p.measured - 1) for p in near]),
        "ratio": _ratio(hard),
    }


def _ratio(hard: Sequence[Point]) -> float | None:
    if not hard:
        return None
    others = [_mean([abs(p.roofline / p.measured - 1) for p in hard])]
    others.append(_mean([abs(p.nearest / p.measured - 1) for p in hard if p.nearest is not None]))
    return (_mean([abs(p.error) for p in hard]) or 0) / min(x for x in others if x)


def _mean(values: Sequence[float]) -> float | None:
    return statistics.fmean(values) if values else None


@dataclass(frozen=True)
class Space:
    """Schedules of the same work: what the predicted best loses, and the best of the predicted eight; parts."""

    work: str
    schedules: int
    spread: float
    tau: float
    regret: float
    regret_of_eight: float

    def __str__(self) -> str:
        return (
            f"{self.work}: {self.schedules} schedules, worst {self.spread:.1f} times the best, tau {self.tau:.2f}, "
            f"regret {self.regret:.1%}, of the best of the predicted eight {self.regret_of_eight:.1%}"
        )


def spaces(every: Sequence[Point]) -> Iterator[Space]:
    """Works that were measured with several schedules."""
    for work in dict.fromkeys(p.work for p in every):
        mine = sorted((p for p in every if p.work == work and p.predicted), key=lambda p: p.predicted or 0.0)
        if len(mine) < SCHEDULES:
            continue
        times = [p.measured for p in mine]
        best, tau = min(times), kendall([p.predicted or 0.0 for p in mine], times)
        yield Space(work, len(mine), max(times) / best, tau, times[0] / best - 1, min(times[:8]) / best - 1)
