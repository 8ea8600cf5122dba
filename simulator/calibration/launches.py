"""Launches: how long an empty one takes, and how CTAs begin and follow one another."""

from __future__ import annotations

from collections.abc import Sequence

from ..fitting import Fitted, level, line
from .rows import Row, mid, scaled, those


def launch(rows: Sequence[Row]) -> Fitted:
    """Nanoseconds of an empty launch of one CTA in a stream."""
    return level([mid(r, "ns") for r in those(rows, kernel="nothing", grid=1)])


def launch_drain(rows: Sequence[Row]) -> Fitted:
    """What a launch of one CTA that writes takes longer than an empty one, beyond the time that it stays."""
    [stay], [empty] = (those(rows, kernel=k, grid=1, block=32, waves=None, shared=0) for k in ("stay", "nothing"))
    return scaled(level(stay["ns"]), 1, stay["stay_ns"] + mid(empty, "ns"))


def cta_dispatch(rows: Sequence[Row]) -> Fitted:
    """Nanoseconds of one more CTA of an empty launch, where an SM has room for many."""
    some = [r for r in those(rows, kernel="nothing", shared=0) if r["grid"] >= 4000]
    return line([r["grid"] for r in some], [mid(r, "ns") for r in some])


def cta_turnover(rows: Sequence[Row]) -> Fitted:
    """From the end of a CTA to the begin of the next in its place, where an SM has room for one."""
    found = []
    for r in those(rows, kernel="stay", at_once=1, waves=(4, 10)):
        [first] = those(rows, kernel="stay", at_once=1, waves=1, stay_ns=r["stay_ns"], block=r["block"])
        found.append((mid(r, "ns") - mid(first, "ns")) / (r["waves"] - 1) - r["stay_ns"])
    return level(found)
