"""Accesses of the threads that run one program together: what lies between two that meet in shared memory.

Every path from an access is followed until all threads that touch the tensor are ordered after it. An access that
comes earlier, to bytes that may be the same, misses an order. Whether it certainly does is seen in a run at some
sizes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from symlayout.kernel.sites import Site
from symlayout.ops import WaitGroup

from ..clocks.decided import clocks
from .footprints import KINDS, Touched
from .in_shared import InShared
from .needs import Progress, begin, lacking, needs_fence, perhaps, remaining, surely
from .rules import Order
from .runs_at_sizes import EVENTS, FURTHER, STARTS, Event, told
from .shared_accesses import Access, parallel, whole_warps
from .ways import TooMany, Way

STAGES = ("", "barrier", "fence", "done")


@dataclass(eq=False)
class Pair:
    """Two accesses to a tensor, in this order; the order missing between them on a path, and how they meet there."""

    a: Access
    b: Access
    lacks: str = ""
    how: str = "apart"

    @property
    def where(self) -> str:
        return f"{self.a}, then {self.b}"

    @property
    def rule(self) -> str:
        if self.a.kind == "write" and self.b.kind == "read":
            if self.b.proxy == "async":
                return "generic_write_async_read"
            return "copied_then_read" if self.a.group else "written_then_read"
        if self.a.kind == "write":
            return "overwritten_after_write"
        return {"bulk": "store_source_reuse", "wgmma": "operand_reuse"}.get(self.a.group, "overwritten_after_read")

    @property
    def by(self) -> str:
        fence = ["fence async"] if needs_fence(self.a, self.b) else []
        done = [f"commit and wait_group {self.a.group}"] if self.a.group else []
        return f"{', '.join((*done, *fence, 'a barrier'))} on every way on which they meet"

    @property
    def missing(self) -> str:
        if self.lacks == "done" and self.a.group == "bulk":
            return f"no commit bulk and wait_group.read bulk 0 before {self.b}; add them after {self.a}"
        if self.lacks == "done":
            g = self.a.group
            return f"no commit {g} and wait_group {g} that ends its group before {self.b}; add them after {self.a}"
        if self.lacks == "fence":
            by = "add it there, by the threads that write, before the barrier"
            return f"no fence async after {self.a}; {by}"
        if needs_fence(self.a, self.b):
            return f"no barrier of the writers between fence async and {self.b}; add it there"
        after = f"wait_group {self.a.group}" if self.a.group else str(self.a)
        return f"no barrier between {after} and {self.b}; add it there"


class Shared(InShared):
    """The orders in the shared memory of a kernel, roles that run side by side aside."""

    def orders(self) -> Iterator[Order]:
        for a in self.every:
            yield from self._of(a)
            if a.group == "cp.async":
                yield self._awaited(a)

    def _of(self, a: Access) -> Iterator[Order]:
        if a.kind == "write":
            yield from self._itself(a)
        pairs = {b: Pair(a, b) for b in self.every if self._related(a, b)}
        if not pairs:
            return
        try:
            self._follow(a, pairs)
        except TooMany as e:
            yield Order("written_then_read", str(a), beyond=str(e))
            return
        for pair in pairs.values():
            if not pair.lacks:
                yield Order(pair.rule, pair.where, by=pair.by)
                continue
            seen = self._seen(pair)
            if seen is None:
                open_ = f"whether this is so for {pair.where}: {pair.missing}"
                yield Order(pair.rule, pair.where, beyond=open_, pair=(a.site, pair.b.site, a.tensor))
            else:
                seen_pair, story = seen
                yield Order(pair.rule, pair.where, missing=f"{seen_pair.missing}; {story}")

    def _related(self, a: Access, b: Access) -> bool:
        """Whether the two can come in this order, one of them writes, and they may touch the same bytes."""
        if a.tensor != b.tensor or "write" not in (a.kind, b.kind) or parallel(a.site, b.site):
            return False
        common = any(x is y for x in a.site.loops for y in b.site.loops)
        if not common and not a.site.places < b.site.places:
            return False
        return self.footprints.anyhow(a, b) != "apart"

    def _itself(self, a: Access) -> Iterator[Order]:
        """A check that concurrent writes of threads go to different bytes."""
        how = self.footprints.clash(a)
        if how != "apart":
            yield Order(
                "overwritten_after_write", str(a), beyond=f"whether threads of {a} write the same bytes at once"
            )

    # -- every way ----------------------------------------------------------------------------------

    def _follow(self, a: Access, pairs: dict[Access, Pair]) -> None:
        here: dict[Any, list[Pair]] = {}
        for pair in pairs.values():
            here.setdefault(pair.b.site.places, []).append(pair)
        fenced = any(needs_fence(a, b) for b in pairs)
        relevant = frozenset(w for b in pairs for w in b.team.warps)
        private = all(KINDS.index(self.footprints.anyhow(a, b)) <= KINDS.index("in a warp") for b in pairs)
        most = 1 + max(
            (s.op.pending for s in self.ways.every if isinstance(s.op, WaitGroup) and s.op.group == a.group), default=0
        )

        def at(p: Progress, s: Site, way: Way) -> Progress | None:
            for pair in here.get(s.places, ()):
                self._meet(pair, p, way)
            after = surely(p, s, a, most, self.meetings)
            met, warp = (after.met_fenced, after.warp_fenced) if fenced else (after.met, after.warp)
            return None if relevant <= met or (private and warp) else after

        self.ways.walk(a.site, a.team.warps, begin(a), at)

    def _meet(self, pair: Pair, p: Progress, way: Way) -> None:
        if STAGES.index(lacking(p, pair.a, pair.b, "unknown")) <= STAGES.index(pair.lacks):
            return
        how = self.footprints.meeting(pair.a, pair.b, way)
        lacks = lacking(p, pair.a, pair.b, how)
        if STAGES.index(lacks) > STAGES.index(pair.lacks) and way.possible(pair.a.site):
            pair.lacks, pair.how = lacks, how

    def _awaited(self, a: Access) -> Order:
        """A check that a copy is over when the CTA ends."""
        left: list[Way] = []
        most = 1 + max((s.op.pending for s in self.ways.every if isinstance(s.op, WaitGroup)), default=0)

        def at(p: Progress, s: Site, _: Way) -> Progress | None:
            after = surely(p, s, a, most, self.meetings)
            return None if after.done else after

        def end(_: Progress, way: Way) -> None:
            if way.possible(a.site):
                left.append(way)

        try:
            self.ways.walk(a.site, a.team.warps, begin(a), at, end)
        except TooMany as e:
            return Order("copy_awaited", str(a), beyond=str(e))
        if not left:
            return Order("copy_awaited", str(a), by="commit and wait_group cp.async on every way")
        if clocks(self.kernel, self.kernel.given).landing_awaited(a.site):
            return Order("copy_awaited", str(a), by="symbolic clocks")
        story = self._left_over(a)
        if story:
            what = "no commit and wait_group cp.async ends it before the CTA ends; add wait_group cp.async 0"
            return Order("copy_awaited", str(a), missing=f"{what}; {story}")
        return Order("copy_awaited", str(a), beyond=f"whether {a} is awaited before the CTA ends")

    # -- runs at sizes ------------------------------------------------------------------------------

    def _seen(self, pair: Pair) -> tuple[Pair, str] | None:
        """The order that is certainly missing in a run at some sizes, and where."""
        for sizes, events in self.runs.of(pair.a.team.warps):
            starts = [i for i, e in enumerate(events) if e.site is pair.a.site][:STARTS]
            for i in starts:
                found = self._from(pair, events, i)
                if found is not None:
                    lacks, how, e, n = found
                    return Pair(
                        pair.a, pair.b, lacks, how
                    ), f"{told(sizes, events[i], e)}, element {n} of {pair.a.tensor}"
        return None

    def _from(self, pair: Pair, events: list[Event], i: int) -> tuple[str, str, Event, int] | None:
        a, b = pair.a, pair.b
        first = self.runs.touched(a, events[i])
        if first is None:
            return None
        p = begin(a)
        for e in events[i + 1 : i + 1 + FURTHER]:
            if e.site is b.site and lacking(p, a, b, "unknown"):
                second = self.runs.touched(b, e)
                mine = first.by(remaining(p, a)) if p.others else first
                how = "apart" if second is None else self.footprints.in_step(_surely_meet(p, pair, mine, second))
                lacks = lacking(p, a, b, how)
                if lacks and second is not None:
                    return lacks, how, e, mine.shared(second)
            p = perhaps(p, e.site, a, b)
        return None

    def _left_over(self, a: Access) -> str:
        """A run that ends with a copy under way."""
        for sizes, events in self.runs.of(a.team.warps):
            if len(events) >= EVENTS:
                continue
            for i in [i for i, e in enumerate(events) if e.site is a.site][-STARTS:]:
                found = self.runs.touched(a, events[i])
                p = begin(a)
                for e in events[i + 1 :]:
                    p = perhaps(p, e.site, a, a)
                if found is None or p.done or p.arrived:
                    continue
                mine = found.by(remaining(p, a)) if p.others else found
                if len(mine.elements) and (not p.spared or mine.several(mine)):
                    return told(sizes, events[i])
        return ""


def _surely_meet(p: Progress, pair: Pair, first: Touched, second: Touched) -> str:
    """The certain meeting of two executions, whichever lanes were elected on the path."""
    how = first.meets(second)
    if how == "in a warp" and whole_warps(pair.a.site.op) and whole_warps(pair.b.site.op):
        return "apart"  # which lane moves what is not said
    return "apart" if p.spared and not first.several(second) else how
