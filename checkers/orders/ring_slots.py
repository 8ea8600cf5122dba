"""Slots of rings and the stores from them: what stands before a slot is read, filled or given back, and at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from symlayout.atoms import Completion, MemorySpace
from symlayout.errors import AssumptionError
from symlayout.kernel import Kernel
from symlayout.kernel.clusters import ctas
from symlayout.kernel.counting import Uncounted
from symlayout.kernel.sites import Site, about_thread
from symlayout.ops import Arrive, Commit, Elect, For, If, Op, Role, Wait, WaitGroup

from ..clocks.decided import clocks
from ..rings.hypotheses import Reading, on_barrier
from ..rings.recognised import RingParts, rings_of
from ..rings.shown import Known, Open
from .barriers import Meeting
from .lane_release import Lanes
from .rules import Order
from .runs_at_sizes import Runs


class RingOrders:
    """The orders of a kernel's rings, of reads that nothing fills, and of stores at the end."""

    def __init__(self, kernel: Kernel, every: list[Site], meetings: Mapping[int, Meeting], runs: Runs) -> None:
        self.kernel, self.every = kernel, every
        self.place = {id(s): i for i, s in enumerate(self.every)}
        self.shared = {t.name for t in kernel.tensors if t.space is MemorySpace.SHARED}
        self.rings = rings_of(kernel)
        self.shown = Known()
        self.lanes = Lanes(kernel, meetings, runs, partial(_met, kernel, self.shown))
        self.late: dict[RingParts, str] = {}

    def orders(self) -> Iterator[Order]:
        yield from self._ring_orders()
        yield from self._store_ends()
        yield from self._never_written()

    # -- rings --------------------------------------------------------------------------------------

    def _ring_orders(self) -> Iterator[Order]:
        for ring in self.rings:
            found = list(self._of(ring))
            known = clocks(self.kernel, self.kernel.given)
            shown = bool(ring.tensors) and known.ring_open(ring) if all(o.by for o in found) else None
            if shown:
                yield Order(
                    "full_acquire", str(ring), beyond=f"whether accesses are to the slot that was waited for: {shown}"
                )
            elif shown is None and not known.order_open(ring.tensors):
                found = [o if o.by else Order(o.rule, o.place, by="symbolic clocks") for o in found]
            yield from found

    def _of(self, ring: RingParts) -> Iterator[Order]:
        """The orders of a ring by what stands where."""
        for s in self.every:
            if any(r.tensor in ring.tensors for r in s.op.sources):
                yield self._after("full_acquire", s, on_barrier(Wait, ring.full), f"wait {ring.full}")
            if not s.op.credits_to(ring.full) and any(r.tensor in ring.tensors for r in s.op.targets):
                yield Order("slot_free", str(s), beyond=f"how {s}, into what {ring.full} guards, is ordered")
            if s.op.credits_to(ring.full) and ring.empty:
                yield self._after("slot_free", s, on_barrier(Wait, ring.empty), f"wait {ring.empty}")
            if ring.empty and isinstance(s.op, Arrive) and s.op.barrier.barrier == ring.empty:
                yield from self._retired(s, ring)

    def _after(self, rule: str, s: Site, wanted: Callable[[Op], bool], what: str) -> Order:
        """A check that an operation of a kind always comes before *s*, by the threads of *s*."""
        for w in self.every[: self.place[id(s)]]:
            if wanted(w.op) and self._always(w, s) and _covers(w, s):
                return Order(rule, str(s), by=str(w))
        if any(wanted(w.op) and w.role in (s.role, "") for w in self.every):
            seen = self.lanes.unwaited(s, wanted)
            if seen:
                return Order(rule, str(s), missing=seen)
            return Order(rule, str(s), beyond=f"that a {what} comes before {s}, by all threads that need it")
        if any(isinstance(w.op, Wait) and w.role in (s.role, "") for w in self.every):  # which may tell of the same
            return Order(rule, str(s), beyond=f"that a {what} comes before {s}")
        return Order(rule, str(s), missing=f"no {what} comes before it; add one in the same body")

    def _retired(self, arrive: Site, ring: RingParts) -> Iterator[Order]:
        for s in self.every:
            group = s.op.member_of
            if s.role != arrive.role or not any(r.tensor in ring.tensors for r in s.op.sources):
                continue
            if not group:
                yield from self.lanes.orders(s, s, arrive, ring)
                continue
            found = [w for w in self.between(s, arrive) if isinstance(w.op, WaitGroup) and w.op.group == group]
            mine = [w for w in found if _covers(w, s)]
            if mine:
                late = self._late(ring)
                yield Order("reads_retired", str(s), by="" if late else str(mine[0]), beyond=late)
                yield from self.lanes.orders(s, mine[0], arrive, ring)
            elif any(_may_cover(w, s) for w in found):
                yield Order("reads_retired", str(s), beyond=f"that {found[0]} is by the threads of {s}")
            else:
                yield Order("reads_retired", str(s), missing=f"no wait_group {group} between it and {arrive}; add one")

    def _late(self, ring: RingParts) -> str:
        """Why asynchronous reads of slots may be under way when those are given back; "" where they are over."""
        if ring not in self.late:
            why = _open(self.kernel, self.shown, ring, Reading.retired)
            self.late[ring] = why and f"whether reads are over when {ring} is given back: {why}"
        return self.late[ring]

    def _never_written(self) -> Iterator[Order]:
        """Reads of shared memory that nothing writes."""
        written = {r.tensor for s in self.every for r in s.op.targets}
        for s in self.every:
            for name in dict.fromkeys(r.tensor for r in s.op.sources):
                if name in self.shared and name not in written:
                    yield Order("full_acquire", str(s), missing=f"nothing writes {name}; fill it before")

    def _store_ends(self) -> Iterator[Order]:
        for s in self.every:
            if s.op.completion is Completion.BULK:
                later = [x for x in self.every[self.place[id(s)] :] if x.role in (s.role, "")]
                yield self._ends(s, later)

    def _ends(self, s: Site, later: list[Site]) -> Order:
        """A check that the threads of a store commit and await it in the operations after it."""
        rule, mine = "store_committed", [x for x in later if _covers(x, s)]
        commit = next((i for i, x in enumerate(mine) if isinstance(x.op, Commit) and x.op.group == "bulk"), None)
        waits = [] if commit is None else [x for x in mine[commit:] if _ends(x.op)]
        found = [x for x in waits if self._leaves(x, s)]
        if found:
            return Order(rule, str(s), by=str(found[-1]))
        unsure = [x.op for x in later if x not in mine and _may_cover(x, s)]
        if waits or any(_ends(op) or isinstance(op, Commit) for op in unsure):
            return Order(rule, str(s), beyond=f"that a commit and a wait_group bulk come after each {s}")
        if commit is None:
            return Order(rule, str(s), missing=f"no commit bulk after {s}; add it there")
        missing = "no wait_group bulk 0 after the last store; add it before the role ends"
        return Order(rule, str(s), missing=missing)

    # -- ways through the program -------------------------------------------------------------------

    def _always(self, w: Site, s: Site) -> bool:
        """Whether *w* is executed whenever *s* is, by whichever threads."""
        return all(_by_threads(x) or x in s.around for x in w.around) and w.role in (s.role, "")

    def _leaves(self, x: Site, s: Site) -> bool:
        """Whether *x* comes after every execution of *s*: nothing around it is missing around *s*."""
        return all(_by_threads(a) or any(a is b for b in s.around) for a in x.around)

    def _loop(self, a: Site, b: Site) -> For | None:
        """The innermost loop around both."""
        both = [x for x in a.around if isinstance(x, For) and any(x is y for y in b.around)]
        return both[-1] if both else None

    def between(self, a: Site, b: Site) -> list[Site]:
        """The operations certainly executed on the shortest path from *a* to *b*, around the loop if *b* is first."""
        known = [*a.around, *b.around]
        return [s for s in self._way(a, b) if _within(s, known)]

    def _way(self, a: Site, b: Site) -> list[Site]:
        """All operations of their roles on the shortest way from *a* to *b*."""
        i, j = self.place[id(a)], self.place[id(b)]
        loop = self._loop(a, b)
        if i < j:
            window = self.every[i + 1 : j]
        elif loop is None:
            window = []
        else:
            inside = [s for s in self.every if any(x is loop for x in s.around)]
            window = [s for s in inside if self.place[id(s)] > i] + [s for s in inside if self.place[id(s)] < j]
        return [s for s in window if s.role in (a.role, b.role, "")]


def _met(kernel: Kernel, shown: Known, ring: RingParts, arrive: Site) -> bool:
    """Whether a barrier of the warp stands between the wait for the next use and an arrival."""
    return not _open(kernel, shown, ring, lambda reading: reading.lanes_meet(arrive.places))


def _open(kernel: Kernel, shown: Known, ring: RingParts, check: Callable[[Reading], None]) -> str:
    """The open hypotheses of a ring in some CTA; "" if there are none."""
    try:
        for cta in ctas(kernel):
            check(Reading(cta, ring, kernel.given, shown))
    except (Open, Uncounted, AssumptionError) as e:
        return str(e)
    return ""


def _within(s: Site, known: list[Op]) -> bool:
    """Whether nothing but what chooses threads and *known* operations stands around *s*."""
    return all(_by_threads(x) or any(x is y for y in known) for x in s.around)


def _by_threads(x: Op) -> bool:
    """Whether an operation chooses threads and nothing else decides about its body: who it is the team says."""
    return isinstance(x, Elect | Role) or (isinstance(x, If) and all(map(about_thread, x.condition)))


def _covers(w: Site, s: Site) -> bool:
    """Whether the threads of *s* are among those of *w*."""
    return w.team is not None and s.team is not None and w.team.includes(s.team) is True


def _may_cover(w: Site, s: Site) -> bool:
    """Whether they are, or it is not known which lanes those are."""
    return w.team is None or s.team is None or w.team.includes(s.team) is not False


def _ends(op: Any) -> bool:
    return isinstance(op, WaitGroup) and op.group == "bulk" and op.pending == 0
