"""The steps of a team on an SM: for each unit how a step is issued, what it waits for, and what happens later."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from itertools import dropwhile

from symlayout.banks import LANES
from symlayout.ops import Arrive, BarrierArrive, ClusterArrive, Commit, CpAsyncArrive, ExpectTx, WaitGroup
from symlayout.ops import Barrier as CtaBarrier

from .engine import Signal, Steps
from .lockstep import CLUSTER_BARRIER, COME, DIVIDE, ISSUE, LATE, LEAVE, MEET, RELEASE, SLEEP, WAKE, Lockstep
from .program import HERE
from .sm import ALL, ISSUING, Flight, Meeting
from .steps import Step, What
from .timing_classes import Unit
from .transfers import Arrival, BoxLoad, BoxStore, Load, Store

WARPGROUP = 4  # warps


class Warps(Lockstep):
    """The warps of a team as they take its steps, each in order, on the units of their SM."""

    def run(self) -> Steps:
        """All steps in order."""
        engine, sm, log = self.engine, self.sm, self.sm.log
        issued, stalls, handlers = sm.slots.end, self.stalls, sm.handlers
        follower, steps = self.follower, self.team.steps
        apart = self.team.apart  # and then the first warp is ahead of the last by what these share of the issue slots
        by_turns = not apart and self.team.warps <= sm.schedulers  # with those of others, instruction by instruction
        if log is not None:
            log.begins(self.name)
        sm.teams += 1
        while self.at < len(steps):
            step = steps[self.at]
            what = step.what
            handler = handlers.get(what)
            if handler is None:
                handler = handlers[what] = _handler(what)
            operands, effect = handler
            if operands:
                if self._awaits(what):
                    yield from self._operands(what)
                if what.writes and what.row.unit in RESULTS:
                    self._results(what)
            since = engine.now
            own = step.issue_ps
            taken = issued(step.slot_ps) - since
            self.stage = ISSUE
            if by_turns:
                taken = min(taken, step.slot_ps * sm.teams)
            elif apart and step.slot_ps > own:
                taken -= step.slot_ps - own
                self.lags(step.slot_ps - own)
            if taken > own:
                stalls["issue slots"] += taken - own
                yield taken
            elif own:
                yield own
            self.busy += own
            if log is not None and what.row.unit is not Unit.WAIT and what.row.unit is not Unit.LOOP:
                log.span(self.name, step.label, since)
            if follower is not None and what.row.unit is not Unit.LOOP and not what.ahead:
                self.cargo = follower.do(what.op)
            waits = effect(self, steps[self.at])  # which may be another one by now: see ``recurrence``
            if waits is not None:
                yield from waits
            self.at += 1
        if follower is not None:
            follower.end()
        yield from self._gathered()
        sm.teams -= 1
        stalls[ISSUING] += self.busy
        stalls[ALL] += engine.now - self.began
        self.end()

    # -- what happens then ----------------------------------------------------------------------------

    def _registers(self, step: Step) -> None:
        """The results are there after the latency, which ``_results`` has noted."""

    def _loop(self, step: Step) -> Steps | None:
        """An iteration begins, and divisions of it are made while no wgmma is under way."""
        if self.mark is not None and step.count:
            self.mark(self)
        if self.sm.multiplying > self.engine.now and (step.served or step.number or step.lanes):
            return self._between_wgmmas(step)
        return None

    def _between_wgmmas(self, step: Step) -> Steps:
        """The products of a division make no way beside them (M15): its second half, behind the reciprocal.

        That takes its time when there are none for so long.
        """
        while self.sm.multiplying > self.engine.now:
            yield from self._sleep(self.sm.multiplying, "wgmmas before a division", 0)
            self.stage = DIVIDE
            yield step.issue_ps // 2

    def _shared(self, step: Step) -> None:
        """Loads and stores of shared memory: the port takes a wavefront at a time, and serves warp after warp."""
        sm = self.sm
        end = self.through = sm.shared.end(step.unit_ps)
        if step.warps > 1:
            others = step.unit_ps - step.unit_ps // step.warps
            end -= others
            self.lags(others)
        for name in step.what.writes:
            if name in self.ready:
                self.ready[name] = end + sm.latency(step.what)
        self.through_own = max(self.through_own, self.engine.now) + step.unit_ps // step.warps
        for name in step.what.reads:
            if name in sm.registers:
                self.taken[name] = self.through_own + sm.registers_read

    def _fence(self, step: Step) -> Steps | None:
        """Accesses to shared memory are over: the port is through with the last, and as long as after a single one."""
        until = self.through + step.issue_ps
        if until <= self.engine.now:
            return None
        self.lag = max(0, self.lag - (until - self.engine.now))
        return self._sleep(until, "fences", 0)

    def _peer(self, step: Step) -> None:
        """A load from a peer is there after a way to it and back; a store is not waited for."""
        for name in step.what.writes:
            self.ready[name] = self.engine.now + 2 * self.sm.remote

    def _peer_later(self, step: Step) -> None:
        """The bytes of all lanes come to the peer, where its mbarrier is told."""
        (rank,) = step.ranks
        there, row, cargo = self.cta.cluster[rank], step.op.row, self.cargo
        nbytes = 0 if row is None else row.bytes * step.lanes

        def land() -> None:
            if there.follow is not None:
                cargo.land(there.follow.cta)
            barrier = there.barriers[step.barrier]
            barrier.change(barrier.state.complete_tx, nbytes)

        self.engine.at(self.engine.now + self.sm.remote, land)

    def _load(self, step: Step) -> None:
        Load(self, step, tuple(self._flight(self.loads, name) for name in step.what.writes)).start()

    def _cp_async(self, step: Step) -> None:
        Load(self, step, (self._flight(self.open, step.what.member_of),), self.copies.begun()).start()

    def _store(self, step: Step) -> None:
        Store(self, step).start()

    def _tma_load(self, step: Step) -> None:
        BoxLoad(self, step).start()

    def _tma_store(self, step: Step) -> None:
        BoxStore(self, step, (self._flight(self.open, step.what.member_of),)).start()

    def _mma(self, step: Step) -> None:
        sm = self.sm
        end = sm.tensor.end(step.unit_ps)
        for name in step.what.writes:
            self.ready[name] = end + sm.latency(step.what)

    def _special(self, step: Step) -> None:
        """The special function units take some lanes of a warp at a time, from its issue on, which is over."""
        sm = self.sm
        start, _ = sm.special.take(step.unit_ps)
        for name in step.what.writes:
            self.ready[name] = start + max(0, sm.latency(step.what) - step.issue_ps)

    def _wgmma(self, step: Step) -> Steps | None:
        """The tensor core takes N/2 cycles for each warpgroup, or as long as its operands take to come.

        An SM has so many products under way: the next waits to be issued.
        """
        sm, now = self.sm, self.engine.now
        queue = sm.products
        while queue and queue[0] <= now:
            queue.popleft()
        if queue and (more := len(queue) + (step.warps // WARPGROUP or 1) - sm.most_products) > 0:
            return self._queued(step, queue[min(more, len(queue)) - 1])
        self._multiply(step)
        return None

    def _queued(self, step: Step, until: int) -> Steps:
        """Wait for a place among the products under way."""
        yield from self._sleep(until, "wgmma queue", 0)
        self._multiply(step)

    def _multiply(self, step: Step) -> None:
        """A product goes to the tensor core."""
        sm = self.sm
        group = self._flight(self.open, step.what.member_of)
        power = sm.memory.power.end(round(step.power_ps * sm.stands_for))
        end = max(sm.tensor.end(max(step.unit_ps, step.shared_ps)), power)
        sm.products.extend((end,) * (step.warps // WARPGROUP or 1))
        until = end + sm.latency(step.what)
        if group.until < until:
            group.until = until
        if sm.multiplying < until:
            sm.multiplying = until
        if self.follower is not None:
            self.engine.at(until, self.cargo.complete)

    def _mbarrier(self, step: Step) -> None:
        sm, op, lanes, cta = self.sm, step.what.op, step.lanes, self.cta
        sm.mbarriers.end(step.unit_ps)
        expects = isinstance(op, ExpectTx)
        how = (op.count, op.complete) if isinstance(op, Arrive) else ()
        for rank in step.ranks:
            if rank in (HERE, cta.rank):
                barrier = cta.barriers[step.barrier]
                if expects:
                    barrier.change(barrier.state.expect_tx, step.number * lanes)
                if self.lag:
                    self.engine.at(self.engine.now + self.lag, Arrival(barrier, lanes, how).come)
                else:
                    barrier.change(barrier.state.arrive, lanes, *how)
            else:
                there = cta.cluster[rank].barriers[step.barrier]
                self.engine.at(self.engine.now + sm.remote, Arrival(there, lanes, how).come)
        if sm.log is not None:
            self.note("expect" if expects else "arrive", step)

    def _cp_async_arrive(self, step: Step) -> None:
        """The arrival comes when the copies before have landed; the phase may await one more of each lane till then."""
        self.sm.mbarriers.end(step.unit_ps)
        barrier = self.cta.barriers[step.barrier]
        assert isinstance(step.op, CpAsyncArrive)
        if not step.op.noinc:
            barrier.change(barrier.state.await_more, step.lanes)

        told = partial(self.note, "arrive", step) if self.sm.log is not None else None
        self.copies.behind(Arrival(barrier, step.lanes, (), told))

    def _wait(self, step: Step) -> Steps:
        """Who waits asks, which takes a time, and sleeps if the phase is not over: one thread is woken sooner (M50)."""
        self.sm.mbarriers.end(step.unit_ps)
        barrier, self.since = self.cta.barriers[step.barrier], self.engine.now
        state, steps, asked = barrier.state, self.team.steps, self.engine.now + self.sm.asked
        woken = 0
        while not state.passes(steps[self.at].number):  # of an iteration to come, where some are skipped meanwhile
            self.stage = SLEEP
            yield barrier.signal
            woken = self.sm.woken if step.lanes == 1 else self.sm.asked
        if late := barrier.late(self.since, self.since - self.woken):
            self.stage = LATE
            yield late
        self._stalled(f"mbarrier {step.barrier[0]}")
        if self.sm.log is not None:
            self.note("wait", step, self.since)
        self.stage = WAKE
        left = max(woken, asked - self.engine.now)
        yield left
        self.woken = self.engine.now
        self.stalls[ISSUING] += left
        if self.sm.log is not None:
            self.sm.log.span(self.name, step.label, self.since)

    def _meet(self, step: Step) -> Steps:
        op = step.op
        assert isinstance(op, CtaBarrier | BarrierArrive)
        wanted = op.threads or self.sm.kernel.threads
        yield from self._met(self.cta.meetings, op.number, wanted, step, "CTA barriers")

    def _cluster(self, step: Step) -> Steps:
        """What was written before is made visible first, by the warps of a scheduler one after another."""
        wanted, sm = self.sm.kernel.threads * len(self.cta.cluster), self.sm
        more = (-(-sm.kernel.threads // LANES) - 1) // sm.machine.count("schedulers")
        if more and not getattr(step.op, "relaxed", False):
            self.stage = RELEASE
            yield sm.machine.ps("cluster_release", more)
        yield from self._met(self.cta.neighbours, CLUSTER_BARRIER, wanted, step, "cluster barriers")

    def _cluster_arrive(self, step: Step) -> Steps:
        """Come to the barrier of the cluster and go on."""
        yield from self._cluster(step)

    def _cluster_wait(self, step: Step) -> Steps:
        """Wait for the barrier of the cluster at which these threads have arrived."""
        self.stage = COME
        yield step.unit_ps
        if self._cluster_pending:
            assert self.arrived is not None
            self.since, self.stage = self.engine.now, MEET
            yield self.arrived.signal
            self._stalled("cluster barriers")
        self.arrived, self.stage = None, LEAVE
        yield self.sm.latency(step.what)

    def _met(self, meetings: dict[int, Meeting], number: int, wanted: int, step: Step, cause: str) -> Steps:
        """Wait until so many threads have come."""
        yield from self._gathered()
        self.stage = COME
        yield step.unit_ps
        meeting = meetings.setdefault(number, Meeting(step.op, wanted))
        meeting.threads += step.lanes
        if isinstance(step.op, ClusterArrive):
            self.arrived = meeting
        if meeting.threads >= wanted:
            del meetings[number]
            meeting.signal.fire(self.engine)
        elif not isinstance(step.op, BarrierArrive | ClusterArrive):
            self.since, self.stage = self.engine.now, MEET
            yield meeting.signal
            self._stalled(cause)
        self.stage = LEAVE
        yield self.sm.latency(step.what)

    def _commit(self, step: Step) -> None:
        assert isinstance(step.op, Commit)
        kind = step.op.group
        flight = self.open.pop(kind, None) or Flight(Signal(f"a group of {kind}"))
        self.groups.setdefault(kind, []).append(flight)

    def _wait_group(self, step: Step) -> Steps:
        op, since = step.op, self.engine.now
        assert isinstance(op, WaitGroup)
        groups = self.groups.get(op.group, [])
        for k, flight in enumerate(groups[: max(0, len(groups) - op.pending)]):  # of those that were not over before
            if not flight.over(op.read):
                cause = f"{op.group} groups{' to be read' if op.read else ''}"
                yield from self._until(partial(flight.over, op.read), flight.signal, cause, k)
            if flight.until > self.engine.now:
                yield from self._sleep(flight.until, f"{op.group} groups", -1 - k)
        now = self.engine.now  # a group that is over, or empty, counts as long as one before it is under way
        self.woken += now - since
        self.groups[op.group] = list(dropwhile(lambda f: not (f.pending or f.reading or f.until > now), groups))


EFFECTS: Mapping[Unit, Callable[[Warps, Step], Steps | None]] = {  # with the steps of what is waited for, if any
    Unit.LOOP: Warps._loop,
    Unit.REGISTERS: Warps._registers,
    Unit.FENCE: Warps._fence,
    Unit.SPECIAL: Warps._special,
    Unit.SHARED: Warps._shared,
    Unit.MATRIX: Warps._shared,
    Unit.LOAD: Warps._load,
    Unit.PEER: Warps._peer,
    Unit.PEER_LATER: Warps._peer_later,
    Unit.STORE: Warps._store,
    Unit.CP_ASYNC: Warps._cp_async,
    Unit.TMA_LOAD: Warps._tma_load,
    Unit.TMA_STORE: Warps._tma_store,
    Unit.MMA: Warps._mma,
    Unit.MBARRIER: Warps._mbarrier,
    Unit.CP_ASYNC_ARRIVE: Warps._cp_async_arrive,
    Unit.COMMIT: Warps._commit,
    Unit.WAIT: Warps._wait,
    Unit.WGMMA: Warps._wgmma,
    Unit.CTA_BARRIER: Warps._meet,
    Unit.WAIT_GROUP: Warps._wait_group,
    Unit.CLUSTER: Warps._cluster,
    Unit.CLUSTER_ARRIVE: Warps._cluster_arrive,
    Unit.CLUSTER_WAIT: Warps._cluster_wait,
}
RESULTS = (Unit.REGISTERS, Unit.SHARED, Unit.MATRIX)  # whose results are there after a latency


def _handler(what: What) -> tuple[bool, Callable[[Warps, Step], Steps | None]]:
    """Whether it has registers, and what happens."""
    return bool(what.reads or what.writes), EFFECTS[what.row.unit]
