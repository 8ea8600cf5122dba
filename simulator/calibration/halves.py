"""How far launches in a row that copy let the SMs of one half of the chip come ahead (M48)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..fitting import Fitted, level
from ..halves import ahead_of
from .memory import l2_bytes
from .rings import LONG, TOGETHER, moved, part, rings, together
from .rows import Row, mid

APART = 0.9  # of the time: half of the CTAs have ended before
DEEP = 5  # slots of 16 KB of each SM: more change nothing
SHARES, TIMES = np.arange(0.2, 0.8, 0.01), np.arange(30_000, 300_000, 2_500)  # that are tried; of ns


class _Ahead(NamedTuple):
    moved: float  # bytes of a launch
    ahead: float  # of one half when it has ended
    rate: float  # of the other from then on, in a nanosecond


def _ahead(rows: Sequence[Row]) -> list[_Ahead]:
    """What launches tell whose loads are deep enough: until half of the CTAs have ended, DRAM was busy for both."""
    first, each = together(rows)
    found = []
    for r in rings(rows):
        if r["slots"] * r["per_sm"] >= DEEP and part(r) < APART:
            ahead = moved(r) - (mid(r, "half") - first) / each
            found.append(_Ahead(moved(r), ahead, ahead / (mid(r, "ns") - mid(r, "half"))))
    return found


def dram_even_latency(rows: Sequence[Row]) -> Fitted:
    """Nanoseconds of a load by what is under way: between those of rings that end together and of those that do not."""
    each = together(rows)[1]

    def latency(r: Row) -> float:
        return 2 * each * float(r["bytes"] * r["slots"] * r["grid"])

    long = [r for r in rings(rows) if moved(r) > LONG]
    few = max([latency(r) for r in long if part(r) > TOGETHER])
    many = min([latency(r) for r in long if part(r) < APART])
    return Fitted((few + many) / 2, (many - few) / (many + few), len(long))


def _growth(rows: Sequence[Row]) -> tuple[Fitted, Fitted]:
    """(the part by which one half gets more at first, nanoseconds in which that falls), by the bytes that are ahead."""
    found, each, held = _ahead(rows), together(rows)[1], l2_bytes(rows).value
    if len({x.moved for x in found}) < 3:
        raise ValueError("expected copies of three lengths at least, got fewer")
    moved, ahead = np.array([x.moved for x in found]), np.array([x.ahead for x in found])
    best, value = np.inf, (0.0, 0.0)
    for share in SHARES:
        for time in TIMES:
            told = np.array([ahead_of(x, share, time / each, held) for x in sorted(set(moved))])
            left = float(np.sqrt(np.mean((told[np.searchsorted(sorted(set(moved)), moved)] / ahead - 1) ** 2)))
            if left < best:
                best, value = left, (float(share), float(time))
    for got, tried in zip(value, (SHARES, TIMES), strict=True):
        if got in (tried[0], tried[-1]):
            raise ValueError(f"expected a best between {tried[0]:g} and {tried[-1]:g}, got an end of what is tried")
    return Fitted(value[0], best, len(found)), Fitted(value[1], best, len(found))


def dram_ahead(rows: Sequence[Row]) -> Fitted:
    """The part by which DRAM moves more for one half of the SMs at first."""
    return _growth(rows)[0]


def dram_ahead_time(rows: Sequence[Row]) -> Fitted:
    """Nanoseconds in which that falls to a third."""
    return _growth(rows)[1]


def dram_half(rows: Sequence[Row]) -> Fitted:
    """The part of its rate for all SMs that DRAM has for those of one half alone."""
    each = together(rows)[1]
    return level([x.rate * each for x in _ahead(rows) if x.moved > LONG / 2])
