"""Launches: how long an empty one takes, how CTAs begin and follow one another, and what code does beside."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from symlayout.banks import LANES

from ..fitting import Fitted, level, line
from .rows import Row, Rule, each, mid, scaled, those

SHIFT = 4  # cycles of a product or a shift, whose result is waited for (M1)
ALIKE, APART = 3, 20  # nanoseconds by which times of a step differ at most, and those of two at least
ADDRESS = 4  # instructions of an address in M38: the sign, a sum of 64 bits, and what makes an index of it


def launch(rows: Sequence[Row]) -> Fitted:
    """Nanoseconds of an empty launch of one CTA in a stream."""
    return level([mid(r, "ns") for r in those(rows, id="M18", kernel="nothing", grid=1)])


def launch_drain(rows: Sequence[Row]) -> Fitted:
    """What a launch of one CTA that writes takes longer than an empty one, beyond the time that it stays."""
    [stay], [empty] = (
        those(rows, id="M18", kernel=k, grid=1, block=32, waves=None, shared=0) for k in ("stay", "nothing")
    )
    return level([mid(stay, "ns") - stay["stay_ns"] - mid(empty, "ns") - _leaving(rows)])


def _leaving(rows: Sequence[Row]) -> float:
    """Nanoseconds of the code of a CTA that stays, after that: it reads two special registers, one on a condition."""
    cycles = 2 * constant_read(rows).value + 2 * branch(rows).value
    return cycles / mid(those(rows, op="constants")[0], "ghz")


def constant_read(rows: Sequence[Row]) -> Fitted:
    """Cycles of a load from constant memory: of a chain, less the shift that makes an address."""
    return scaled(each(rows, op="constants"), 1, SHIFT)


def branch(rows: Sequence[Row]) -> Fitted:
    """Cycles of a branch: half of what a body costs that is entered on a condition, and at whose end lanes join."""
    return scaled(each(rows, op="entered"), 2, each(rows, op="bodies").value)


def index_interval(rows: Sequence[Row]) -> Fitted:
    """Cycles of an instruction that computes a 64-bit address: half of one chain's, since code runs two at once."""
    return scaled(each(rows, op="addresses"), 2 * ADDRESS)


def launch_step(rows: Sequence[Row]) -> Fitted:
    """Nanoseconds from one time to the next at which launches of a stream end, those that stay a little longer among
    them. Raises ValueError where they have fewer than two.
    """
    spins, found = those(rows, id="M47", kernel="spin"), []
    for grid, mode in sorted({(r["grid"], r["mode"]) for r in spins}):
        times = sorted((r["spin"], mid(r, "ns")) for r in those(spins, grid=grid, mode=mode))
        same = sorted(a for (_, a), (_, b) in pairwise(times) if abs(a - b) <= ALIKE)
        if not same or same[-1] - same[0] <= APART:
            raise ValueError(f"expected launches that end at two times at least, got {len(times)} of them")
        levels = np.split(same, 1 + np.flatnonzero(np.diff(same) > APART))
        found += np.diff([float(np.median(x)) for x in levels]).tolist()
    return level(found)


def dispatch(key: int) -> Rule:
    """Nanoseconds until one more CTA has begun, and one more warp: of CTAs that all have room, until the last ends."""

    def rule(rows: Sequence[Row]) -> Fitted:
        some = [r for r in those(rows, id="M18", kernel="stay", waves=1, shared=0) if "cycles" in r]
        until = np.array([mid(r, "ns") - mid(r) / r["ghz"] for r in some])
        counts = np.array([(r["grid"] - 1, (r["grid"] - 1) * -(-r["block"] // LANES)) for r in some])
        each, *_ = np.linalg.lstsq(counts, until, rcond=None)
        left = float(np.sqrt(np.mean((counts @ each / until - 1) ** 2)))
        return Fitted(float(each[key]), left, len(some))

    return rule


def cta_retire(rows: Sequence[Row]) -> Fitted:
    """Nanoseconds of one more CTA of an empty launch, where an SM has room for many: they begin faster."""
    some = [r for r in those(rows, kernel="nothing", shared=0) if r["grid"] >= 4000]
    return line([r["grid"] for r in some], [mid(r, "ns") for r in some])


def cta_turnover(rows: Sequence[Row]) -> Fitted:
    """From the end of a CTA to the begin of the next in its place, where an SM has room for one."""
    found = []
    for r in those(rows, id="M18", kernel="stay", at_once=1, waves=(4, 10)):
        [first] = those(rows, id="M18", kernel="stay", at_once=1, waves=1, stay_ns=r["stay_ns"], block=r["block"])
        found.append((mid(r, "ns") - mid(first, "ns")) / (r["waves"] - 1) - r["stay_ns"] - _leaving(rows))
    return level(found)
