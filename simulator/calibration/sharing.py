"""What SMs have in common: ways to L2, bytes that several load, and lines that lie in both halves of L2."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..fitting import Fitted, level
from ..gpcs import TPC, answered, gpcs_of, neighbours
from ..machine import H200
from ..sorting import alike
from .rows import LOAD, Row, mid, rate, those

if TYPE_CHECKING:
    from ..points import Array

Alike = Callable[[Row, int], "Array"]  # how many of the requests of a row are for the same bytes, by who is near

LARGE = 32768  # bytes of the chunks of M21 that tell which CTAs are answered together
REACHES, PARTS = range(2, 19), np.arange(0.1, 1.0, 0.02)  # that are tried
FAR = (33, 66)  # CTAs from one to the next that are in no GPC together
PAIR, SHARES = 2, (2, 4, 8)  # CTAs of a cluster of M42, and how many load the same
NEAR = tuple(range(2, 9))  # CTAs from one to the next that are in two clusters, and in no place together
FULL = 0.95  # of the best rate of passes
WHOLE_GRID = 120  # CTAs: with fewer, a GPC has none or some
MANY_OF_GPC, MANY_SLOTS, ROW_BYTES = 12, 4, 128  # SMs that take in more than a GPC does; slots of rings; of M45


def _chunks(row: Row) -> tuple[Array, Array]:
    """(the CTAs of a row of M21 or M42, the chunk that each loads)."""
    cta, apart = np.arange(row["grid"]), row["apart"]
    every = row["share"] * apart
    return cta, cta // every * apart + cta % every % apart


def _alike(row: Row, reach: int) -> Array:
    """How many of the requests of a row of M21 are for the same bytes, if *reach* CTAs in a row of a GPC are alike."""
    cta, chunk = _chunks(row)
    near = neighbours(gpcs_of(H200, 1, row["grid"]), reach)  # M44 has no rows of an H100: it is taken to be alike
    return alike(chunk * len(cta) + near)


def _alike_of_clusters(row: Row, reach: int) -> Array:
    """The same of a row of M42, if *reach* clusters in a row of a GPC are alike."""
    _, chunk = _chunks(row)
    near = np.repeat(neighbours(gpcs_of(H200, PAIR, row["grid"] // PAIR), reach), PAIR)
    return alike(chunk * (int(near.max()) + 1) + near)


def _merging(rows: Sequence[Row], apart: Sequence[Row], same: Alike, reaches: Iterable[int]) -> tuple[Fitted, Fitted]:
    """(how far requests are answered together, the part of these) by rates: those *apart* are hardly."""
    if not apart:
        raise ValueError("expected rows of requests that are answered one by one, got none")
    rates, few = np.array([rate(r) for r in rows]), np.array([rate(r) for r in apart])
    found = []
    for reach in reaches:
        of_l2, alone = (
            np.array([[answered(n, p).mean() for n in numbers] for p in PARTS])
            for numbers in ([same(r, reach) for r in x] for x in (rows, apart))
        )
        each = np.median(few * alone, axis=1)[:, None]  # the rate of requests one by one
        left = np.sqrt(np.mean((np.minimum(rates.max(), each / of_l2) / rates - 1) ** 2, axis=1))
        found.append((float(left.min()), reach, float(PARTS[left.argmin()])))
    least, reach, part = min(found)
    return Fitted(float(reach), least, len(rates)), Fitted(part, least, len(rates))


def _alone(rows: Sequence[Row]) -> tuple[Fitted, Fitted]:
    shared = [r for r in those(rows, id="M21", bytes=LARGE) if r["grid"] >= WHOLE_GRID]
    return _merging(shared, those(shared, share=2, apart=FAR), _alike, REACHES)


def l2_reach(rows: Sequence[Row]) -> Fitted:
    """CTAs in a row of a GPC whose requests for the same bytes L2 answers together."""
    return _alone(rows)[0]


def l2_merged(rows: Sequence[Row]) -> Fitted:
    """The part of their requests for the same bytes that L2 answers together."""
    return _alone(rows)[1]


def l2_cluster_merged(rows: Sequence[Row]) -> Fitted:
    """The part of the requests of clusters of a GPC for the same bytes that L2 answers together."""
    every = [r for r in those(rows, id="M42", kernel="ring", share=SHARES) if r["grid"] >= WHOLE_GRID]
    shared = [r for r in every if r["apart"] >= PAIR]  # CTAs of one cluster are answered as neighbours are
    return _merging(shared, those(shared, share=2, apart=NEAR), _alike_of_clusters, [WHOLE_GRID])[1]


# -- ways to GPCs --------------------------------------------------------------------------------------------


def gpc_rate(rows: Sequence[Row]) -> Fitted:
    """Bytes of a nanosecond that many SMs of a GPC load from L2, each its own."""
    found = [r for r in those(rows, id="M44", chosen="pairs", mode=LOAD, bytes=LARGE) if len(r["sms"]) >= MANY_OF_GPC]
    return level([r["bytes"] * r["trips"] * r["ghz"] * sum(1 / x for x in r["each"]) for r in found])


def first_tpcs(rows: Sequence[Row]) -> Fitted:
    """The TPCs of which a small grid takes both SMs."""
    least = min(those(rows, id="M44", chosen="grid", cluster=1), key=lambda r: int(r["count"]))
    both = len(least["sms"]) - len({sm // TPC for sm in least["sms"]})
    return Fitted(float(both), 0.0, 1)


def l2_outside_rate(rows: Sequence[Row]) -> Fitted:
    """Bytes of a nanosecond of the rows of boxes that lie outside of their tensor, where all SMs load such boxes."""
    rings = those(rows, id="M45", slots=MANY_SLOTS, grid=max(r["grid"] for r in rows))
    whole = {r["rows_a"]: mid(r) for r in rings if r["inside"] == r["rows_a"]}
    some = [r for r in rings if r["rows_a"] // 4 <= r["inside"] < r["rows_a"] - 8]
    outside = [(r["rows_a"] - r["inside"]) * ROW_BYTES * r["trips"] * r["grid"] for r in some]
    return level([n * r["ghz"] / (mid(r) - whole[r["rows_a"]]) for n, r in zip(outside, some, strict=True)])


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


__all__ = [
    *("first_tpcs", "gpc_rate", "l2_cluster_merged", "l2_merged"),
    *("l2_outside_rate", "l2_reach", "l2_shared"),
]
