"""Bytes that several SMs load: requests that L2 answers together, and lines that lie in both of its halves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..fitting import Fitted, level
from .rows import LOAD, Row, rate, those

LARGE = 32768  # bytes of the chunks of M21 that tell which CTAs are answered together
REACHES, PARTS = range(2, 33), np.arange(0.3, 1.0, 0.02)  # that are tried
FAR = (33, 66)  # CTAs from one to the next that are in no GPC together
FULL = 0.95  # of the best rate of passes
WHOLE_GRID = 120  # CTAs: with fewer, a GPC has none or some


def _answered(row: Row, reach: int, part: float) -> float:
    """The part of the requests of a row of M21 that L2 answers if those of *reach* CTAs in a row are merged."""
    cta, apart = np.arange(row["grid"]), row["apart"]
    every = row["share"] * apart
    chunk = cta // every * apart + cta % every % apart
    _, which, alike = np.unique(chunk * len(cta) + cta // reach, return_inverse=True, return_counts=True)
    return float(np.mean(1 - part * (1 - 1 / alike[which])))


def _merging(rows: Sequence[Row]) -> tuple[int, float, float, int]:
    """(CTAs in a row whose requests are merged, the part of these, what that leaves over of rates, points)."""
    shared = [r for r in those(rows, id="M21", bytes=LARGE) if r["grid"] >= WHOLE_GRID]
    rates = np.array([rate(r) for r in shared])
    apart = level([rate(r) for r in those(shared, share=2, apart=FAR)]).value
    tried = []
    for reach in REACHES:
        for part in PARTS:
            told = np.minimum(rates.max(), [apart / _answered(r, reach, part) for r in shared])
            tried.append((float(np.sqrt(np.mean((told / rates - 1) ** 2))), reach, float(part)))
    left, reach, part = min(tried)
    return reach, part, left, len(rates)


def l2_reach(rows: Sequence[Row]) -> Fitted:
    """CTAs in a row of the grid whose requests for the same bytes L2 answers together."""
    reach, _, left, points = _merging(rows)
    return Fitted(float(reach), left, points)


def l2_merged(rows: Sequence[Row]) -> Fitted:
    """The part of their requests for the same bytes that L2 answers together."""
    _, part, left, points = _merging(rows)
    return Fitted(part, left, points)


def l2_shared(rows: Sequence[Row]) -> Fitted:
    """What L2 holds of bytes that SMs of both its halves load, as a part of what it holds of others.

    That is of passes in which all SMs load the same, and in which each byte is loaded by one SM, always the same.
    """
    passes = those(rows, id="M41", mode=LOAD)
    most = max(r["sms"] for r in passes)
    (both, unsure), (one, less_sure) = _held(those(passes, share=most)), _held(those(passes, share=None))
    return Fitted(both / one, max(unsure, less_sure), len(passes))


def _held(passes: Sequence[Row]) -> tuple[float, float]:
    """(bytes up to which passes find all again, half of a step of the footprint as a part of that).

    It is between the last footprint that passes at full rate and the next.
    """
    best = max(map(rate, passes))
    held = max(float(r["footprint"]) for r in passes if rate(r) > FULL * best)
    more = min(float(r["footprint"]) for r in passes if r["footprint"] > held)
    return (held + more) / 2, (more - held) / (more + held)


__all__ = ["l2_merged", "l2_reach", "l2_shared"]
