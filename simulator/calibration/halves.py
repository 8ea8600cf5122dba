"""How far launches in a row that copy let the SMs of one half of the chip come ahead (M48)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from ..fitting import Fitted, level
from ..halves import ahead_of
from .memory import MIB, dram_latency, l2_bytes
from .rings import LONG, TOGETHER, moved, part, rings, together
from .rows import COPY, Row, mid, those

APART = 0.9  # of the time: half of the CTAs have ended before
DEEP = 5  # slots of 16 KB of each SM: more change nothing
SHARES, TIMES = np.arange(0.2, 0.9, 0.01), np.arange(30_000, 300_000, 2_500)  # that are tried; of ns
KIB = 1024
FEW = 3  # slots of 16 KB of each SM that keep the halves together
LONGER = 250e6  # bytes of launches of which L2 is a small part
WHOLE_ROWS = 256  # bytes, from which on rows side by side cost nothing (M53)
TURN = {"kernel": "ring", "mode": COPY, "slots": 1, "per_sm": 1, "bytes": 16 * KIB, "footprint": 16 * MIB}


class _Ahead(NamedTuple):
    moved: float  # bytes of a launch
    ahead: float  # of one half when half of its CTAs have ended


def _ahead(rows: Sequence[Row]) -> list[_Ahead]:
    """What launches tell whose loads are deep enough: until a quarter of the CTAs have ended, DRAM was busy for all."""
    first, each = together(rows)
    return [
        _Ahead(moved(r), moved(r) - (mid(r, "quarter") - first) / each)
        for r in rings(rows)
        if r["slots"] * r["per_sm"] >= DEEP and part(r) < APART
    ]


def dram_even_wait(rows: Sequence[Row]) -> Fitted:
    """Nanoseconds that loads of rings wait for DRAM whose CTAs just end together.

    That is what a ring of one slot out of L2 does not take, nor the latency of DRAM.
    """
    each = together(rows)[1]

    def latency(r: Row) -> float:
        return 2 * each * float(r["bytes"] * r["slots"] * r["grid"])

    long = [r for r in rings(rows) if moved(r) > LONG]
    few = max([latency(r) for r in long if part(r) > TOGETHER])
    many = min([latency(r) for r in long if part(r) < APART])
    most = max(r["sms"] for r in long)
    [turn] = [mid(r, "ns") / r["trips"] for r in those(rows, **TURN, grid=most)]
    return Fitted(few - turn - dram_latency(rows).value, (many - few) / (many + few), len(long))


def _growth(rows: Sequence[Row]) -> tuple[Fitted, Fitted]:
    """(the part by which one half gets more at first, nanoseconds in which that falls), by the bytes that are ahead."""
    found = tuple(_ahead(rows))
    if len({x.moved for x in found}) < 3:
        raise ValueError("expected copies of three lengths at least, got fewer")
    best, *value = _best(found, together(rows)[1], l2_bytes(rows).value)
    for got, tried in zip(value, (SHARES, TIMES), strict=True):
        if got in (tried[0], tried[-1]):
            raise ValueError(f"expected a best between {tried[0]:g} and {tried[-1]:g}, got an end of what is tried")
    return Fitted(value[0], best, len(found)), Fitted(value[1], best, len(found))


@cache  # three numbers need it
def _best(found: tuple[_Ahead, ...], each: float, held: float) -> tuple[float, float, float]:
    """(what is left over, the share, the time) of the best of those that are tried."""
    lengths = sorted({x.moved for x in found})
    moved, ahead = np.array([x.moved for x in found]), np.array([x.ahead for x in found])
    best = (np.inf, 0.0, 0.0)
    for share in SHARES:
        for time in TIMES:
            told = np.array([ahead_of(x, share, time / each, held) for x in lengths])
            left = float(np.sqrt(np.mean((told[np.searchsorted(lengths, moved)] / ahead - 1) ** 2)))
            best = min(best, (left, float(share), float(time)))
    return best


def dram_ahead(rows: Sequence[Row]) -> Fitted:
    """The part by which DRAM moves more for one half of the SMs at first."""
    return _growth(rows)[0]


def dram_ahead_time(rows: Sequence[Row]) -> Fitted:
    """Nanoseconds in which that falls to a third."""
    return _growth(rows)[1]


def dram_half(rows: Sequence[Row]) -> Fitted:
    """The part of its rate for all SMs that DRAM has for those of one half, when the other is through.

    By what launches in a row take longer that have twice as much under way as those whose halves end together.
    """
    each, held = together(rows)[1], l2_bytes(rows).value
    share, time = (fit.value for fit in _growth(rows))
    found = those(rows, kernel="together", row_bytes=WHOLE_ROWS)
    few, deep = ({r["bytes"]: mid(r, "ns") for r in those(found, slots=n)} for n in (FEW, 2 * FEW))
    longer = {n: (deep[n] - ns) / each / ahead_of(n, share, time / each, held) for n, ns in few.items() if n > LONGER}
    return level([1 / (1 + more) for more in longer.values()])
