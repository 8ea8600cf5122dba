"""Rings of all SMs that copy boxes along rows of DRAM, and keep their CTAs (M40, M48): those that are served alike."""

from __future__ import annotations

from collections.abc import Sequence

from ..fitting import level, line
from .rows import COPY, Row, mid, those

ALONG = 0  # the way of tiles along rows of both tensors
PITCH = 65536  # bytes of a row of these tensors
TOGETHER = 0.93  # of the time: half of the CTAs have not ended before
TIMES = "ns", "half", "quarter"
FIRST = 5  # launches, after which half of the SMs is as far ahead as it will be
LONG = 400e6  # bytes of a launch that L2 is a small part of


def rings(rows: Sequence[Row]) -> list[Row]:
    """Their rows, without the first launches of each."""
    found = those(rows, kernel="ways", mode=COPY, way=ALONG, pitch=PITCH)
    found = [r for r in found if r["grid"] == r["sms"] * r["per_sm"]]
    most = max([r["sms"] for r in found], default=0)
    return [{**r, **{k: r[k][FIRST:] or r[k] for k in TIMES}} for r in found if r["sms"] == most]


def moved(row: Row) -> float:
    """Bytes that are read and written."""
    return 2.0 * row["bytes"] * row["trips"] * row["grid"]


def part(row: Row) -> float:
    """The part of the time after which half of the CTAs have ended."""
    return mid(row, "half") / mid(row, "ns")


def together(rows: Sequence[Row]) -> tuple[float, float]:
    """(nanoseconds before anything comes, those of a byte) of all SMs while they are served alike."""
    alike = [r for r in rings(rows) if part(r) > TOGETHER and moved(r) > LONG]
    slots = min(((mid(r, "ns") / moved(r), r["slots"]) for r in alike), default=(0.0, 0))[1]
    found = those(alike, slots=slots)
    if len({moved(r) for r in found}) < 2:
        return 0.0, level([mid(r, "ns") / moved(r) for r in found]).value
    fit = line([moved(r) for r in found], [mid(r, "ns") for r in found])
    return fit.intercept, fit.slope
