"""The places of SMs: each runs clusters one after another, a CTA on each of some SMs, as long as there are any."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

import numpy as np

from .engine import Signal, Steps
from .lockstep import Lockstep
from .points import Array
from .resource import Pipe
from .sm import Course, Cta, Sm
from .values import Memories
from .warp import Warps

Cluster = tuple[Course, ...]
Mark = Callable[[Lockstep | None], None]  # called where an iteration or a cluster begins: see ``recurrence``


class Clusters:
    """Clusters that wait for a place, in order; so many are taken.

    *numbers* has one for each, the same for those that do the same.
    """

    def __init__(self, rows: Sequence[Cluster]) -> None:
        self.rows, self.taken = rows, 0
        known: dict[tuple[int, ...], int] = {}
        keys = (tuple(id(c.teams) for c in cluster) for cluster in rows)
        self.numbers: Array = np.array([known.setdefault(k, len(known)) for k in keys], dtype=np.int64)

    def take(self) -> Cluster | None:
        """The next one, or None."""
        self.taken += 1
        return self.rows[self.taken - 1] if self.taken <= len(self.rows) else None


class Place:
    """One place on some SMs.

    Each cluster is dispatched before and retired after, with those of the SMs that these stand for: all in *intervals*.
    *key* is the number of the group of SMs, and that of the place on them.
    """

    def __init__(
        self,
        key: tuple[int, int],
        sms: list[Sm],
        clusters: Clusters,
        pipes: tuple[Pipe, Pipe],
        intervals: tuple[int, int],
        memories: Memories | None = None,
    ) -> None:
        self.key, self.sms, self.clusters, self.memories = key, sms, clusters, memories
        (self.dispatch, self.retire), self.intervals = pipes, intervals
        self.mark: Mark | None = None
        self.stage = ""
        self.running = 0
        self.ctas: list[Cta] = []
        self.teams: list[Warps] = []
        self.over = Signal("")

    def run(self) -> Steps:
        """All clusters that it gets."""
        engine, turnover, retired = self.sms[0].engine, self.sms[0].turnover, 0
        while (courses := self.clusters.take()) is not None:
            if retired:
                self.stage = "turnover"
                yield max(turnover, retired - engine.now)
            self.stage = "dispatch"
            yield self._middle(self.dispatch, self.intervals[0]) - engine.now
            self._start(courses)
            self.stage = "full"
            if self.mark is not None:
                self.mark(None)
            yield self.over
            retired = self._middle(self.retire, self.intervals[1])
        self.stage, self.ctas, self.teams = "empty", [], []

    def _middle(self, pipe: Pipe, interval: int) -> int:
        """When a pipe is through with the cluster, on average over those that it stands for."""
        start, last = pipe.take(interval)
        return start + round(self.sms[0].mean * (last - start))

    def _start(self, courses: Cluster) -> None:
        """Start the teams of the CTAs of a cluster."""
        cluster: list[Cta] = []
        before: Sequence[Cta | None] = self.ctas or [None] * len(self.sms)
        of_each = enumerate(zip(self.sms, courses, before, strict=True))
        cluster += [sm.cta(c.name, k, cluster, old) for k, (sm, c, old) in of_each]
        if self.memories is not None:
            for cta, follow in zip(cluster, self.memories.cluster([c.block for c in courses]), strict=True):
                cta.follow = follow
        self.over = Signal("")  # its warps say what they wait for
        self.ctas, self.teams = cluster, []
        for cta, c in zip(cluster, courses, strict=True):
            for k, team in enumerate(c.teams):
                follower = cta.follow.teams[k] if cta.follow else None
                self.teams.append(Warps((*self.key, cta.rank, k), cta, team, self._ended, follower, self.mark))
        self.running = len(self.teams)
        for warps in self.teams:
            cta = warps.cta
            cta.sm.engine.start(warps.name, warps.run(), warps)

    def _ended(self) -> None:
        self.running -= 1
        if not self.running:
            self.over.fire(self.sms[0].engine)

    def state(self) -> Hashable:
        """How far it is."""
        return self.stage, self.running, self.over.state
