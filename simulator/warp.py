"""The steps of a team on an SM: for each unit how a step is issued, what it waits for, and what happens later."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeAlias

from symlayout.ops import Arrive, BarrierArrive, Commit, CpAsyncArrive, ExpectTx, WaitGroup
from symlayout.ops import Barrier as CtaBarrier

from .engine import Signal, Steps
from .program import HERE, Step, Team, What
from .sm import ALL, ISSUING, Cta, Flight, Meeting
from .timing_classes import Unit
from .tracked import Tracked
from .values import NOTHING, Cargo, Follower

CLUSTER_BARRIER = 0  # the key of the barrier of all threads of a cluster


class Warps:
    """The warps of a team in lockstep: they issue in order, and wait where a result or a barrier is needed."""

    def __init__(self, cta: Cta, team: Team, end: Callable[[], None], follower: Follower | None = None) -> None:
        self.sm, self.cta, self.team, self.engine = cta.sm, cta, team, cta.sm.engine
        self.name, self.end = f"{cta.name}, {team.name}", end
        self.follower, self.cargo = follower, NOTHING
        self.stalls = cta.sm.stalls.setdefault(team.name, Counter())
        self.loads: dict[str, Flight] = {}
        self.ready: dict[str, int] = {}
        self.open: dict[str, Flight] = {}
        self.groups: dict[str, list[Flight]] = {}
        self.copies = Tracked()  # by cp.async

    def run(self) -> Steps:
        """All steps in order."""
        engine, sm, log = self.engine, self.sm, self.sm.log
        take, stalls, handlers = sm.slots.take, self.stalls, sm.handlers
        busy, began, follower = 0, engine.now, self.follower
        for step in self.team.steps:
            what = step.what
            handler = handlers.get(what)
            if handler is None:
                handler = handlers[what] = _handler(what)
            operands, effect, blocks = handler
            if operands:
                yield from self._operands(step)
            since = engine.now
            _, end = take(step.slot_ps)
            own = step.issue_ps
            taken = end - since
            if taken > own:
                stalls["issue slots"] += taken - own
                yield taken
            elif own:
                yield own
            busy += own
            if log is not None and what.row.unit is not Unit.WAIT and what.row.unit is not Unit.LOOP:
                log.span(self.name, step.label, since)
            if follower is not None and what.row.unit is not Unit.LOOP:
                self.cargo = follower.do(what.op)
            if blocks:
                yield from effect(self, step)
            else:
                effect(self, step)
        stalls[ISSUING] += busy
        stalls[ALL] += engine.now - began
        self.end()

    # -- waiting --------------------------------------------------------------------------------------

    def _stalled(self, cause: str, since: int) -> None:
        self.stalls[cause] += self.engine.now - since
        if self.sm.log is not None:
            self.sm.log.span(self.name, f"wait: {cause}", since)

    def _until(self, done: Callable[[], bool], signal: Signal, cause: str) -> Steps:
        since = self.engine.now
        while not done():
            yield signal
        self._stalled(cause, since)

    def _operands(self, step: Step) -> Steps:
        """Wait for the registers that a step reads."""
        what = step.what
        for name in what.reads:
            flight = self.loads.get(name)
            if flight is not None and not flight.over():
                yield from self._until(flight.over, flight.signal, "loads")
            at = self.ready.get(name, 0)
            if at > self.engine.now:
                since = self.engine.now
                yield at - since
                self._stalled("results", since)
        if what.writes and what.row.unit in RESULTS:
            latency = self.sm.latency(what)
            for name in what.writes:
                self.ready[name] = self.engine.now + latency

    # -- what happens then ----------------------------------------------------------------------------

    def _registers(self, step: Step) -> None:
        """The results are there after the latency, which ``_operands`` has noted."""

    def _shared(self, step: Step) -> None:
        """Loads and stores of shared memory: the port takes a wavefront at a time."""
        sm = self.sm
        _, end = sm.shared.take(step.unit_ps)
        for name in step.what.writes:
            if name in self.ready:
                self.ready[name] = end + sm.latency(step.what)

    def _load(self, step: Step) -> None:
        flights = [self._flight(self.loads, name) for name in step.what.writes]
        self._loading(step, flights)

    def _cp_async(self, step: Step) -> None:
        landed = partial(self.copies.over, self.copies.begun())
        self._loading(step, [self._flight(self.open, step.what.member_of)], landed)

    def _store(self, step: Step) -> None:
        _, end = self.sm.lsu.take(step.unit_ps)
        self._at(end, partial(self._leave, step))

    def _mma(self, step: Step) -> None:
        sm = self.sm
        _, end = sm.tensor.take(step.unit_ps)
        for name in step.what.writes:
            self.ready[name] = end + sm.latency(step.what)

    def _wgmma(self, step: Step) -> None:
        """The tensor core takes N/2 cycles for each warpgroup, and shared memory delivers the operands meanwhile."""
        sm = self.sm
        group = self._flight(self.open, step.what.member_of)
        power = sm.memory.power.take(round(step.power_ps * sm.stands_for))[1]
        end = max(sm.tensor.take(step.unit_ps)[1], sm.shared.take(step.shared_ps)[1], power)
        group.until = max(group.until, end + sm.latency(step.what))
        if self.follower is not None:
            self.engine.at(end + sm.latency(step.what), self.cargo.complete)

    def _mbarrier(self, step: Step) -> None:
        sm = self.sm
        sm.mbarriers.take(step.unit_ps)
        op, how = step.op, dict[str, Any]()
        if isinstance(op, Arrive):
            how = {"count": op.count, "complete": op.complete}
        for rank in step.ranks:
            if rank in (HERE, self.cta.rank):
                barrier = self.cta.barriers[step.barrier]
                if isinstance(step.op, ExpectTx):
                    barrier.change(barrier.state.expect_tx, step.number * step.lanes)
                barrier.change(partial(barrier.state.arrive, **how), step.lanes)
            else:
                barrier = self.cta.cluster[rank].barriers[step.barrier]
                change = partial(barrier.change, partial(barrier.state.arrive, **how), step.lanes)
                self.engine.at(self.engine.now + sm.remote, change)
        if sm.log is not None:
            self._note("expect" if isinstance(step.op, ExpectTx) else "arrive", step)

    def _cp_async_arrive(self, step: Step) -> None:
        """The arrival comes when the copies before have landed; the phase may await one more of each lane till then."""
        self.sm.mbarriers.take(step.unit_ps)
        barrier = self.cta.barriers[step.barrier]
        assert isinstance(step.op, CpAsyncArrive)
        if not step.op.noinc:
            barrier.change(barrier.state.await_more, step.lanes)

        def arrive() -> None:
            barrier.change(barrier.state.arrive, step.lanes)
            self._note("arrive", step)

        self.copies.behind(arrive)

    def _wait(self, step: Step) -> Steps:
        """A wait costs the same whether the phase is over or ends later: the warp sleeps until it does."""
        self.sm.mbarriers.take(step.unit_ps)
        barrier, since = self.cta.barriers[step.barrier], self.engine.now
        state, parity = barrier.state, step.number
        while not state.passes(parity):
            yield barrier.signal
        self._stalled(f"mbarrier {step.barrier[0]}", since)
        if self.sm.log is not None:
            self._note("wait", step, since)
        yield self.sm.wake
        self.stalls[ISSUING] += self.sm.wake
        if self.sm.log is not None:
            self.sm.log.span(self.name, step.label, since)

    def _meet(self, step: Step) -> Steps:
        op = step.op
        assert isinstance(op, CtaBarrier | BarrierArrive)
        wanted = op.threads or self.sm.kernel.threads
        yield from self._met(self.cta.meetings, op.number, wanted, step, "CTA barriers")

    def _cluster(self, step: Step) -> Steps:
        wanted = self.sm.kernel.threads * len(self.cta.cluster)
        yield from self._met(self.cta.neighbours, CLUSTER_BARRIER, wanted, step, "cluster barriers")

    def _met(self, meetings: dict[int, Meeting], number: int, wanted: int, step: Step, cause: str) -> Steps:
        """Wait until so many threads have come."""
        meeting = meetings.setdefault(number, Meeting(Signal(lambda: f"{step.op} of {wanted} threads")))
        yield step.unit_ps
        meeting.threads += step.lanes
        if meeting.threads >= wanted:
            del meetings[number]
            meeting.signal.fire(self.engine)
        elif not isinstance(step.op, BarrierArrive):
            since = self.engine.now
            yield meeting.signal
            self._stalled(cause, since)
        yield self.sm.latency(step.what)

    def _commit(self, step: Step) -> None:
        assert isinstance(step.op, Commit)
        kind = step.op.group
        flight = self.open.pop(kind, None) or Flight(Signal(f"a group of {kind}"))
        self.groups.setdefault(kind, []).append(flight)

    def _wait_group(self, step: Step) -> Steps:
        op = step.op
        assert isinstance(op, WaitGroup)
        groups = self.groups.get(op.group, [])
        for flight in groups[: len(groups) - op.pending]:
            if not flight.over(op.read):
                cause = f"{op.group} groups{' to be read' if op.read else ''}"
                yield from self._until(partial(flight.over, op.read), flight.signal, cause)
            since = self.engine.now
            if flight.until > since:
                yield flight.until - since
                self._stalled(f"{op.group} groups", since)
        self.groups[op.group] = [f for f in groups if f.pending or f.reading or f.until > self.engine.now]

    # -- asynchronous parts ---------------------------------------------------------------------------

    def _note(self, what: str, step: Step, since: int = 0) -> None:
        """What happened to an mbarrier, for a timeline."""
        if self.sm.log is not None:
            phase = self.cta.barriers[step.barrier].state.phase
            self.sm.log.happened(what, self.cta.name, self.name, step.barrier, phase, since)

    def _flight(self, among: dict[str, Flight], name: str) -> Flight:
        found = among.get(name)
        if found is None:
            found = among[name] = Flight(Signal(f"{name} to arrive"))
        return found

    def _at(self, time: int, action: Callable[[], None]) -> None:
        """Do something later, in the name of this team."""
        if self.sm.log is not None:
            self.engine.at(time, partial(self._named, action))
        else:
            self.engine.at(time, action)

    def _named(self, action: Callable[[], None]) -> None:
        self.engine.running = self.name
        action()

    def _over(self, flights: list[Flight], read: bool = False) -> None:
        for flight in flights:
            if read:
                flight.reading -= 1
            else:
                flight.pending -= 1
            flight.signal.fire(self.engine)

    def _leave(self, step: Step) -> None:
        """Bytes of a store leave the SM from now on; nobody waits until they are visible."""
        self._at(self.sm.stores.take(step.port_ps)[1], partial(self._write, step, []))

    def _write(self, step: Step, flights: list[Flight], cargo: Cargo = NOTHING) -> None:
        """Bytes of a store come to L2, and are visible later."""
        sm = self.sm
        end = sm.memory.write(step.l2_bytes, step.dram_bytes, sm.mean)
        if flights:

            def over() -> None:
                cargo.complete()
                self._over(flights)

            self._at(end, over)
        if sm.log is not None:
            sm.log.moved("write", step.bytes, end)

    def _read(self, step: Step, ctas: tuple[Cta, ...]) -> tuple[int, ...]:
        """When the bytes of a load that are asked for now have arrived at some CTAs."""
        ports, much = [cta.sm.port for cta in ctas], {"l2_bytes": step.l2_bytes, "dram_bytes": step.dram_bytes}
        times = self.sm.memory.read(ports, step.port_ps, **much, late=step.late, mean=self.sm.mean)
        if self.sm.log is not None:
            self.sm.log.moved("read", step.bytes, max(times))
        return times

    def _loading(self, step: Step, flights: list[Flight], landed: Callable[[], None] | None = None) -> None:
        """Bytes on their way to registers, or to shared memory where something happens when they have *landed*."""
        for flight in flights:
            flight.pending += 1

        cargo = self.cargo

        def arrived() -> None:
            if landed is not None:
                self._at(self.sm.shared.take(step.shared_ps)[1], over)
            else:
                over()

        def over() -> None:
            cargo.complete()
            self._over(flights)
            if landed is not None:
                landed()

        def ask() -> None:
            self._at(self._read(step, (self.cta,))[0], arrived)

        self._at(self.sm.lsu.take(step.unit_ps)[1], ask)

    def _tma_load(self, step: Step) -> None:
        """The front end starts the command; it asks memory when its bytes fit among those in flight."""
        sm, engine, since = self.sm, self.engine, self.engine.now
        start, end = sm.tma.take(step.unit_ps)
        ctas = (self.cta,) if step.ranks == (HERE,) else tuple(self.cta.cluster[rank] for rank in step.ranks)
        window, cargo = sm.in_flight, self.cargo

        def ask() -> None:
            last = window.last(step.bytes) + sm.memory.latency(step.late)  # of the last byte that may be asked for
            times = [max(end, last, time) for time in self._read(step, ctas)]
            for cta, time in zip(ctas, times, strict=True):
                self._at(time, partial(self._landing, step, cta, since, cargo))
            window.begun(step.bytes, max(engine.now, max(times) - step.port_ps), max(times))

        def begin() -> None:
            window.ask(step.bytes, ask)

        if start > engine.now:
            self._at(start, begin)
        else:
            begin()

    def _landing(self, step: Step, cta: Cta, since: int, cargo: Cargo) -> None:
        """Bytes have arrived at an SM, and are written to its shared memory."""
        self._at(cta.sm.shared.take(step.shared_ps)[1], partial(self._landed, step, cta, since, cargo))

    def _landed(self, step: Step, cta: Cta, since: int, cargo: Cargo) -> None:
        if cta.follow is not None:
            cargo.land(cta.follow.cta)
        barrier = cta.barriers[step.barrier]
        barrier.change(barrier.state.complete_tx, step.number)
        if cta is self.cta and self.sm.log is not None:
            self._note("land", step, since)

    def _tma_store(self, step: Step) -> None:
        group = self._flight(self.open, step.what.member_of)
        group.pending += 1
        group.reading += 1
        sm, cargo = self.sm, self.cargo
        start, end = sm.tma.take(step.unit_ps)

        def begin() -> None:
            gone = max(sm.shared.take(step.shared_ps)[1], sm.stores.take(step.port_ps)[1], end) + sm.source_read
            self._at(gone, read)

        def read() -> None:
            cargo.read()
            self._over([group], read=True)
            self._write(step, [group], cargo)

        if start > self.engine.now:
            self._at(start, begin)
        else:
            begin()


EFFECTS: Mapping[Unit, Callable[[Warps, Step], Any]] = {
    Unit.LOOP: Warps._registers,
    Unit.REGISTERS: Warps._registers,
    Unit.SHARED: Warps._shared,
    Unit.MATRIX: Warps._shared,
    Unit.LOAD: Warps._load,
    Unit.STORE: Warps._store,
    Unit.CP_ASYNC: Warps._cp_async,
    Unit.TMA_LOAD: Warps._tma_load,
    Unit.TMA_STORE: Warps._tma_store,
    Unit.MMA: Warps._mma,
    Unit.WGMMA: Warps._wgmma,
    Unit.MBARRIER: Warps._mbarrier,
    Unit.CP_ASYNC_ARRIVE: Warps._cp_async_arrive,
    Unit.COMMIT: Warps._commit,
}
BLOCKING: Mapping[Unit, Callable[[Warps, Step], Steps]] = {
    Unit.WAIT: Warps._wait,
    Unit.CTA_BARRIER: Warps._meet,
    Unit.WAIT_GROUP: Warps._wait_group,
    Unit.CLUSTER: Warps._cluster,
}
RESULTS = (Unit.REGISTERS, Unit.SHARED, Unit.MATRIX)  # whose results are there after a latency
Handler: TypeAlias = "tuple[bool, Callable[[Warps, Step], Any], bool]"


def _handler(what: What) -> Handler:
    """Whether it has registers, what happens, and whether that may have to be waited for."""
    unit = what.row.unit
    effect = EFFECTS.get(unit)
    return bool(what.reads or what.writes), effect or BLOCKING[unit], effect is None
