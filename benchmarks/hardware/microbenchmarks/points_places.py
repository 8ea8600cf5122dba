"""The sweep of places: on which SM each CTA of a grid lies, where an SM has place for one or several.

>>> len(list(places(132)))
124
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from .lab import KIB, Lab, Point, Row, u64

STAY_NS = 30_000  # for which all CTAs that have a place stay
SHARED = {1: 200, 2: 110, 3: 70, 4: 54, 8: 26}  # KB of a CTA by how many an SM has place for
GRIDS = (8, 33, 66, 100, 132, 140, 165, 200, 232, 264, 300, 330, 396, 462, 528, 792)
LAUNCHES = 3
CLUSTERS = (1, 2)


@dataclass(frozen=True)
class Place:
    """Launches of so many CTAs, in clusters, that all stay for a while; an SM has place for some at once."""

    grid: int
    at_once: int
    cluster: int


def places(sms: int) -> Iterator[Place]:
    """Grids up to half more than have a place, each with clusters of one CTA and of two."""
    for at_once, grid, cluster in itertools.product(SHARED, GRIDS, CLUSTERS):
        if 2 * grid <= 3 * sms * at_once and grid % cluster == 0:
            yield Place(grid, at_once, cluster)


def rows_of_places(lab: Lab, place: Place, repeats: int) -> Row:
    """The row of a grid: the SMs of its CTAs in order, launch by launch."""
    del repeats
    shared, cluster = SHARED[place.at_once] * KIB, place.cluster if place.cluster > 1 else 0
    point = Point("M49", "memory", "stay", place.grid, 64, lambda *_: [u64(STAY_NS)], shared=shared, cluster=cluster)
    seen = [lab.stamps(point, k)["sm"].tolist() for k in range(LAUNCHES)]
    return {"id": "M49", "kernel": "stay", **asdict(place), "seen": seen}


__all__ = ["Place", "places", "rows_of_places"]
