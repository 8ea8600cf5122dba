"""One lane of a warp gives a slot back for the others: what they have read of it comes before.

mbarrier.arrive is a release by the thread that executes it (PTX ISA, mbarrier.arrive). It covers that thread's
earlier accesses, and those of other threads only if they synchronised with it at a barrier. An election tells
nothing, nor do shuffles. So a barrier of the warp must come between the reads of other lanes and the arrival. For
reads by wgmma the wait_group of the arriving lane is enough, since a wgmma is one operation of all threads that issue
it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from symlayout.atoms import Completion
from symlayout.kernel import CONVERGED_WARPS, Kernel
from symlayout.kernel.sites import Site, Team, everyone
from symlayout.ops import WARP, Arrive, Barrier, ClusterBarrier, ClusterWait, ExpectTx, Op, Slot, Wait, WarpBarrier

from ..rings.recognised import RingParts
from .barriers import Meeting, number_of
from .rules import Order
from .runs_at_sizes import Event, Runs, active, told
from .ways import TooMany, Way

RULE = "lanes_met"
MEETINGS = (WarpBarrier, Barrier, ClusterBarrier)


@dataclass(frozen=True, eq=False)
class Lanes:
    """The orders between the reads of a ring's slots and the lanes that give these back."""

    kernel: Kernel
    meetings: Mapping[int, Meeting]
    runs: Runs
    late: Callable[[RingParts, Site], bool]  # whether a barrier of the warp is between the next wait and an arrival

    def orders(self, s: Site, over: Site, arrive: Site, ring: RingParts) -> Iterator[Order]:
        """A check that a read *s*, over at *over*, comes before an arrival; nothing if its own threads arrive."""
        team = arrive.team
        if team is not None and s.team is not None and team.includes(s.team):
            return
        where, warps = f"{s}, then {arrive}", everyone(s).warps
        waited = over.team.includes(team) if over.team is not None and team is not None else None
        if s.op.completion is Completion.WGMMA and waited:
            yield Order(RULE, where, by=f"{over} by the thread that arrives")
        elif self._always(over, arrive, warps):
            yield Order(RULE, where, by="a barrier of all its lanes on every way")
        elif self.kernel.converged_warps and everyone(arrive).warps >= warps:
            yield Order(RULE, where, by=CONVERGED_WARPS)
        elif over is s and everyone(arrive).warps >= warps and self.late(ring, arrive):
            yield Order(RULE, where, by="a warp barrier after the next wait")
        else:
            yield self._lacking(s, arrive, ring, where)

    def _always(self, over: Site, arrive: Site, readers: frozenset[int]) -> bool:
        """Whether lanes meet on every way from the end of a read to an arrival."""
        givers, unmet = everyone(arrive).warps, list[Way]()

        def at(p: str, x: Site, way: Way) -> str | None:
            if x is arrive and way.possible(over):
                unmet.append(way)
            return None if x is arrive or self._meet(x, readers, givers) else p

        try:
            self.runs.ways.walk(over, readers | givers, "", at)
        except TooMany:
            return False
        return not unmet

    def _meet(self, x: Site, readers: frozenset[int], givers: frozenset[int]) -> bool:
        """Whether all lanes that read meet those that arrive at an operation."""
        if not isinstance(x.op, MEETINGS) or x.team is None:
            return False
        if x.team.lanes != WARP or not x.team.warps >= readers | givers:
            return False
        if readers <= givers:
            return True  # each warp for itself
        return not isinstance(x.op, WarpBarrier) and self.meetings[number_of(x.op)].sound

    # -- missing orders -------------------------------------------------------------------------------

    def unwaited(self, s: Site, wanted: Callable[[Op], bool]) -> str:
        """A run in which some lanes have waited and another goes on whom nothing tells of that; "" for none."""
        teams = {x.team for x in self.runs.ways.every if wanted(x.op) and x.role == s.role}
        if len(teams) != 1 or None in teams or self.kernel.converged_warps:
            return ""
        for sizes, events in self.runs.of(everyone(s).warps):
            last = -1
            for i, e in enumerate(events):
                last = i if wanted(e.site.op) else last
                if e.site is s and last >= 0 and not _perhaps(events[last + 1 : i], events[last].site):
                    lane = self._other(e, events[last])
                    if lane:
                        repair = "let all lanes wait that go on"
                        return f"{lane} has not waited at {events[last].site}; {repair}; {told(sizes, events[last], e)}"
        return ""

    def _other(self, e: Event, wait: Event) -> str:
        """A lane that executes one operation and not the other, in words; "" where there need be none."""
        (mine, first, elected), (theirs, base, one) = (active(x.site, x.env, self.kernel.threads) for x in (e, wait))
        left = {int(t) + first for t in mine} - {int(t) + base for t in theirs}
        if not left or (elected and one):
            return ""
        which = "another lane than the elected one" if one else f"lane {max(left) % WARP}"
        return f"{which} of warp {max(left) // WARP}"

    def _lacking(self, s: Site, arrive: Site, ring: RingParts, where: str) -> Order:
        seen = self._seen(s, arrive, ring)
        if seen:
            repair = f"add a warp barrier (warp_sync) before {arrive}, or state converged_warps"
            return Order(RULE, where, missing=f"{seen[0]}, and nothing orders the two; {repair}; {seen[1]}")
        return Order(RULE, where, beyond=f"whether a barrier of the warp is always between {s} and {arrive}")

    def _seen(self, s: Site, arrive: Site, ring: RingParts) -> tuple[str, str] | None:
        """(the two lanes that are not ordered, where) in a run at some sizes in which the slot is filled again."""
        for sizes, events in self.runs.of(everyone(s).warps):
            uses = sum(e.site.op.waits_for(ring.full) for e in events)
            for i, j, use in _given_back(events, s, arrive, ring):
                lanes = self._lanes(events[i], arrive)
                if use + ring.slots < uses and lanes and not _perhaps(events[i + 1 : j], arrive):
                    return lanes, told(sizes, events[i], events[j])
        return None

    def _lanes(self, read: Event, arrive: Site) -> str:
        """A lane that reads and another of its warp that arrives, in words; "" where they may be one."""
        team, (threads, first, elected) = arrive.team, active(read.site, read.env, self.kernel.threads)
        if team is None or team.lanes == WARP or not self._alone(arrive, team):
            return ""
        for w in sorted(team.warps):
            mine = {int(t) + first for t in threads if (t + first) // WARP == w}
            left = mine if elected or not team.chosen else mine - arrive.candidates
            if left:
                reader = "the elected lane" if elected else f"lane {max(left) % WARP}"
                giver = (
                    f"lane {min(arrive.candidates) % WARP}" if team.chosen else "another, which an election may take,"
                )
                return f"{reader} of warp {w} reads at {read.site}, {giver} arrives at {arrive}"
        return ""

    def _alone(self, arrive: Site, team: Team) -> bool:
        """Whether nothing but such an arrival gives slots back, so that a lane that reads does not do so itself."""
        name = _slot(arrive).barrier
        every = [x for x in self.runs.ways.every if isinstance(x.op, Arrive) and x.op.barrier.barrier == name]
        return all(x.role != arrive.role or x.team == team for x in every)


def _given_back(events: list[Event], s: Site, arrive: Site, ring: RingParts) -> Iterator[tuple[int, int, int]]:
    """(a read, the arrival that gives back what it reads, the number of the use), as places in a run."""
    waits, arrivals, reads = 0, 0, dict[int, int]()
    for i, e in enumerate(events):
        if e.site.op.waits_for(ring.full):
            waits += 1
        elif e.site is s:
            reads[waits - 1] = i
        elif isinstance(e.site.op, Arrive) and e.site.op.barrier.barrier == ring.empty:
            if e.site is arrive and arrivals in reads:
                yield reads[arrivals], i, arrivals
            arrivals += e.site.op.peer == arrive.op.peer  # type: ignore[attr-defined]  # of several CTAs one


def _perhaps(between: list[Event], arrive: Site) -> bool:
    """Whether lanes may meet between two events: at a barrier of more than one, or one waits for what another tells."""
    alone = [e.site.team is not None and e.site.team.lanes == 1 for e in between]
    tell = [isinstance(e.site.op, Arrive | ExpectTx) and e.site.team != arrive.team for e in between]
    first = tell.index(True) if True in tell else len(tell)
    if any(isinstance(e.site.op, (*MEETINGS, ClusterWait)) and not one for e, one in zip(between, alone, strict=True)):
        return True
    return any(isinstance(e.site.op, Wait) for e in between[first:])


def _slot(s: Site) -> Slot:
    assert isinstance(s.op, Arrive)
    return s.op.barrier
