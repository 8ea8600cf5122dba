"""Bytes that several SMs load: requests that L2 answers together, and lines that lie in both of its halves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..fitting import Fitted, level
from ..sharers import by_lot
from ..sorting import alike
from .rows import LOAD, Row, rate, those

if TYPE_CHECKING:
    from ..points import Array

Again = Callable[[Row, int], float]  # the part of the requests of a row that are others' again, by who is near

LARGE = 32768  # bytes of the chunks of M21 that tell which CTAs are answered together
REACHES, PARTS = range(2, 33), np.arange(0.3, 1.0, 0.02)  # that are tried
FAR = (33, 66)  # CTAs from one to the next that are in no GPC together
PAIR, SHARES = 2, (2, 4, 8)  # CTAs of a cluster of M42, and how many load the same
NEAR = tuple(range(2, 9))  # CTAs from one to the next that are in two clusters, and in no place together
FULL = 0.95  # of the best rate of passes
WHOLE_GRID = 120  # CTAs: with fewer, a GPC has none or some


def _chunks(row: Row) -> tuple[Array, Array]:
    """(the CTAs of a row of M21 or M42, the chunk that each loads)."""
    cta, apart = np.arange(row["grid"]), row["apart"]
    every = row["share"] * apart
    return cta, cta // every * apart + cta % every % apart


def _again(row: Row, reach: int) -> float:
    """The part of the requests of a row of M21 that are others' again, if *reach* CTAs in a row are alike."""
    cta, chunk = _chunks(row)
    return float(np.mean(1 - 1 / alike(chunk * len(cta) + cta // reach)))


def _again_of_clusters(row: Row, lots: int) -> float:
    """The same of a row of M42, if each cluster is at one of *lots* places, where all are answered together."""
    cta, chunk = _chunks(row)
    return float(np.mean(1 - 1 / by_lot(chunk, cta // PAIR, lots)))


def _merging(rows: Sequence[Row], apart: float, again: Again) -> tuple[Fitted, Fitted]:
    """(how far requests are answered together, the part of these) by rates: *apart* is that of requests one by one."""
    rates = np.array([rate(r) for r in rows])
    found = []
    for reach in REACHES:
        answered = 1 - PARTS[:, None] * np.array([again(r, reach) for r in rows])
        left = np.sqrt(np.mean((np.minimum(rates.max(), apart / answered) / rates - 1) ** 2, axis=1))
        found.append((float(left.min()), reach, float(PARTS[left.argmin()])))
    least, reach, part = min(found)
    return Fitted(float(reach), least, len(rates)), Fitted(part, least, len(rates))


def _alone(rows: Sequence[Row]) -> tuple[Fitted, Fitted]:
    shared = [r for r in those(rows, id="M21", bytes=LARGE) if r["grid"] >= WHOLE_GRID]
    return _merging(shared, level([rate(r) for r in those(shared, share=2, apart=FAR)]).value, _again)


def _of_clusters(rows: Sequence[Row]) -> tuple[Fitted, Fitted]:
    shared = [r for r in those(rows, id="M42", kernel="ring", share=SHARES) if r["grid"] >= WHOLE_GRID]
    return _merging(shared, level([rate(r) for r in those(shared, share=2, apart=NEAR)]).value, _again_of_clusters)


def l2_reach(rows: Sequence[Row]) -> Fitted:
    """CTAs in a row of the grid whose requests for the same bytes L2 answers together."""
    return _alone(rows)[0]


def l2_merged(rows: Sequence[Row]) -> Fitted:
    """The part of their requests for the same bytes that L2 answers together."""
    return _alone(rows)[1]


def l2_cluster_places(rows: Sequence[Row]) -> Fitted:
    """At how many places clusters are answered: those of so many in a row of the grid at different ones."""
    return _of_clusters(rows)[0]


def l2_cluster_merged(rows: Sequence[Row]) -> Fitted:
    """The part of the requests at one place for the same bytes that L2 answers together."""
    return _of_clusters(rows)[1]


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


__all__ = ["l2_cluster_merged", "l2_cluster_places", "l2_merged", "l2_reach", "l2_shared"]
