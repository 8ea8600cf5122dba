"""CTAs that find nothing to do, and wait for a place: they pass one after another through places that are left.

>>> idle = Idle(busy=12, clusters=528, places=132)
>>> idle.over(1_170_000, each=400_000), Idle(busy=132, clusters=133, places=132).over(9_000_000, each=400_000)
(1670000, 9003030)
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Idle"]


@dataclass(frozen=True)
class Idle:
    """How many clusters of a grid move something, of how many, and how many run at once."""

    busy: int
    clusters: int
    places: int

    def over(self, time: int, each: int) -> int:
        """When all are over, if those that move something are over at *time*, and each idle one takes *each*.

        Places are never empty before the end, so they share what there is.
        """
        waves = -(-self.busy // self.places)
        work = self.busy * time / waves + (self.clusters - self.busy) * each
        return max(time, round(work / self.places))
