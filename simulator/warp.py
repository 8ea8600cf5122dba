"""The steps of a team on an SM: for each unit how a step is issued, what it waits for, and what happens later."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

from symlayout.ops import Barrier as CtaBarrier
from symlayout.ops import Commit, ExpectTx, WaitGroup

from .engine import Signal, SimulationError, Steps
from .program import Step, Team
from .sm import ALL, ISSUING, Cta, Flight, Meeting, Sm
from .timing_classes import Unit

WAVEFRONT_BYTES = 128


class Warps:
    """The warps of a team in lockstep: they issue in order, and wait where a result or a barrier is needed."""

    def __init__(self, sm: Sm, cta: Cta, team: Team) -> None:
        self.sm, self.cta, self.team, self.engine = sm, cta, team, sm.engine
        self.name = f"{cta.name}, {team.name}"
        self.stalls = sm.stalls.setdefault(team.name, Counter())
        self.loads: dict[str, Flight] = {}
        self.ready: dict[str, int] = {}
        self.open: dict[str, Flight] = {}
        self.groups: dict[str, list[Flight]] = {}

    def run(self) -> Steps:
        """All steps in order."""
        since = self.engine.now
        for step in self.team.steps:
            yield from self._operands(step)
            yield from self._issue(step)
            yield from self.HANDLERS[step.unit](self, step)
        self.stalls[ALL] += self.engine.now - since

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
        reads, writes = self.sm.registers(step.op)
        for name in reads:
            flight = self.loads.get(name)
            if flight is not None and not flight.over():
                yield from self._until(flight.over, flight.signal, "loads")
            at = self.ready.get(name, 0)
            if at > self.engine.now:
                since = self.engine.now
                yield at - since
                self._stalled("results", since)
        latency = self.sm.times(step.row)[2]
        if step.unit in (Unit.REGISTERS, Unit.SHARED, Unit.MATRIX):
            for name in writes:
                self.ready[name] = self.engine.now + latency

    def _issue(self, step: Step) -> Steps:
        """Keep issue slots and the warps busy."""
        sm, since = self.sm, self.engine.now
        issue = sm.times(step.row)[0] if step.unit is not Unit.WAIT else 0
        _, end = sm.slots.take(round(sm.slot * step.warps * step.count))
        own = since + issue * step.count * -(-step.warps // sm.schedulers)
        yield max(end, own) - since
        self.stalls[ISSUING] += min(self.engine.now, own) - since
        if end > own:
            self.stalls["issue slots"] += end - own
        if sm.log is not None and step.unit is not Unit.WAIT:
            sm.log.span(self.name, step.label, since)

    # -- what happens then ----------------------------------------------------------------------------

    def _registers(self, step: Step) -> Steps:
        yield from ()

    def _shared(self, step: Step) -> Steps:
        """Loads and stores of shared memory: the port takes a wavefront at a time."""
        sm = self.sm
        _, occupancy, latency = sm.times(step.row)
        once = step.warps if step.unit is Unit.MATRIX else step.served
        _, end = sm.shared.take(max(round(once * occupancy), sm.wavefronts(step.served)))
        for name in sm.registers(step.op)[1]:
            if name in self.ready:
                self.ready[name] = end + latency
        yield from ()

    def _access(self, step: Step) -> int:
        """When the load/store unit has taken the warps of a step: a line or an instruction at a time."""
        sm = self.sm
        occupancy = max(sm.times(step.row)[1] * step.warps, sm.machine.ps("line_interval", step.served))
        return sm.lsu.take(round(occupancy))[1]

    def _load(self, step: Step) -> Steps:
        flights = [self._flight(self.loads, name) for name in self.sm.registers(step.op)[1]]
        self._start(step, self._loading(step, flights), flights)
        yield from ()

    def _store(self, step: Step) -> Steps:
        self._start(step, self._storing(step), [])
        yield from ()

    def _cp_async(self, step: Step) -> Steps:
        group = self._flight(self.open, step.op.member_of)
        self._start(step, self._loading(step, [group], into_shared=True), [group])
        yield from ()

    def _tma_load(self, step: Step) -> Steps:
        self._start(step, self._tma_loading(step), [])
        yield from ()

    def _tma_store(self, step: Step) -> Steps:
        group = self._flight(self.open, step.op.member_of)
        self._start(step, self._tma_storing(step, group), [group])
        yield from ()

    def _mma(self, step: Step) -> Steps:
        sm = self.sm
        _, occupancy, latency = sm.times(step.row)
        _, end = sm.tensor.take(round(occupancy * step.warps / sm.schedulers))
        for name in sm.registers(step.op)[1]:
            self.ready[name] = end + latency
        yield from ()

    def _wgmma(self, step: Step) -> Steps:
        """The tensor core takes N/2 cycles for each warpgroup, and shared memory delivers the operands meanwhile."""
        sm = self.sm
        group = self._flight(self.open, step.op.member_of)
        occupancy = sm.times(step.row)[1] * step.served * max(1, step.warps // 4)
        _, product = sm.tensor.take(round(occupancy))
        _, operands = sm.shared.take(sm.wavefronts(-(-step.shared_bytes // WAVEFRONT_BYTES)))
        group.pending += 1
        self.engine.at(max(product, operands) + sm.times(step.row)[2], lambda: self._over([group]))
        yield from ()

    def _mbarrier(self, step: Step) -> Steps:
        self._mbarrier_unit(step)
        barrier = self.cta.barriers[step.barrier]
        if isinstance(step.op, ExpectTx):
            barrier.change(barrier.state.expect_tx, step.number * step.lanes)
        barrier.change(barrier.state.arrive, step.lanes)
        self._note("expect" if isinstance(step.op, ExpectTx) else "arrive", step)
        yield from ()

    def _wait(self, step: Step) -> Steps:
        """A wait costs the same whether the phase is over or ends later: the warp sleeps until it does."""
        self._mbarrier_unit(step)
        since = self.engine.now
        barrier = self.cta.barriers[step.barrier]
        passes = barrier.state.passes
        yield from self._until(lambda: passes(step.number), barrier.signal, f"mbarrier {step.barrier[0]}")
        self._note("wait", step, since)
        issue = self.sm.times(step.row)[0]
        yield issue
        self.stalls[ISSUING] += issue
        if self.sm.log is not None:
            self.sm.log.span(self.name, step.label, since)

    def _mbarrier_unit(self, step: Step) -> None:
        self.sm.mbarriers.take(round(self.sm.times(step.row)[1] * step.warps))

    def _meet(self, step: Step) -> Steps:
        op, sm = step.op, self.sm
        assert isinstance(op, CtaBarrier)
        _, occupancy, latency = sm.times(step.row)
        meetings, number = self.cta.meetings, op.number
        wanted = op.threads or sm.kernel.threads
        meeting = meetings.setdefault(number, Meeting(Signal(lambda: f"barrier {number} of {wanted} threads")))
        yield round(occupancy * step.warps)
        meeting.threads += step.lanes
        if meeting.threads >= wanted:
            del meetings[number]
            meeting.signal.fire(self.engine)
        else:
            since = self.engine.now
            yield meeting.signal
            self._stalled("CTA barriers", since)
        yield latency

    def _commit(self, step: Step) -> Steps:
        assert isinstance(step.op, Commit)
        kind = step.op.group
        flight = self.open.pop(kind, None) or Flight(Signal(f"a group of {kind}"))
        self.groups.setdefault(kind, []).append(flight)
        yield from ()

    def _wait_group(self, step: Step) -> Steps:
        op = step.op
        assert isinstance(op, WaitGroup)
        groups = self.groups.get(op.group, [])
        for flight in groups[: len(groups) - op.pending]:
            if not flight.over(op.read):
                cause = f"{op.group} groups{' to be read' if op.read else ''}"
                yield from self._until(partial(flight.over, op.read), flight.signal, cause)
        self.groups[op.group] = [f for f in groups if f.pending or f.reading]

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

    def _start(self, step: Step, steps: Steps, flights: list[Flight]) -> None:
        for flight in flights:
            flight.pending += 1
            flight.reading += 1
        self.engine.start(f"{self.name}: {step.op}", steps)

    def _over(self, flights: list[Flight], read: bool = False) -> None:
        for flight in flights:
            if read:
                flight.reading -= 1
            else:
                flight.pending -= 1
            flight.signal.fire(self.engine)

    def _loading(self, step: Step, flights: list[Flight], into_shared: bool = False) -> Steps:
        engine, sm = self.engine, self.sm
        yield self._access(step) - engine.now
        yield sm.memory.read(step.tensor, step.bytes) - engine.now
        if into_shared:
            yield sm.shared.take(sm.wavefronts(-(-step.shared_bytes // WAVEFRONT_BYTES)))[1] - engine.now
        self._over(flights, read=True)
        self._over(flights)

    def _storing(self, step: Step) -> Steps:
        yield self._access(step) - self.engine.now
        yield self.sm.memory.write(step.bytes) - self.engine.now

    def _command(self, step: Step) -> tuple[int, int]:
        """(start, end) of the commands of a step in the TMA front end: by rows, at least a time for each box."""
        sm = self.sm
        return sm.tma.take(max(round(sm.times(step.row)[1] * step.lanes), sm.machine.ps("tma_row", step.served)))

    def _tma_loading(self, step: Step) -> Steps:
        engine, sm = self.engine, self.sm
        start, end = self._command(step)
        since = engine.now
        yield start - engine.now
        held = min(step.bytes, sm.in_flight.capacity)
        yield from sm.in_flight.take(held)
        yield max(sm.memory.read(step.tensor, step.bytes), end) - engine.now
        sm.in_flight.give(held)
        yield sm.shared.take(sm.wavefronts(-(-step.shared_bytes // WAVEFRONT_BYTES)))[1] - engine.now
        barrier = self.cta.barriers[step.barrier]
        barrier.change(barrier.state.complete_tx, step.number)
        self._note("land", step, since)

    def _tma_storing(self, step: Step, group: Flight) -> Steps:
        engine, sm = self.engine, self.sm
        start, end = self._command(step)
        yield start - engine.now
        read = sm.shared.take(sm.wavefronts(-(-step.shared_bytes // WAVEFRONT_BYTES)))[1]
        yield max(read, end) - engine.now
        self._over([group], read=True)
        yield sm.memory.write(step.bytes) - engine.now
        self._over([group])

    def _unmodelled(self, step: Step) -> Steps:
        raise SimulationError(f"expected an operation whose time is modelled, got {step.op}")
        yield 0

    HANDLERS: ClassVar[dict[Unit, Callable[[Any, Step], Steps]]] = {
        Unit.REGISTERS: _registers,
        Unit.SHARED: _shared,
        Unit.MATRIX: _shared,
        Unit.LOAD: _load,
        Unit.STORE: _store,
        Unit.CP_ASYNC: _cp_async,
        Unit.TMA_LOAD: _tma_load,
        Unit.TMA_STORE: _tma_store,
        Unit.MMA: _mma,
        Unit.WGMMA: _wgmma,
        Unit.MBARRIER: _mbarrier,
        Unit.WAIT: _wait,
        Unit.CTA_BARRIER: _meet,
        Unit.COMMIT: _commit,
        Unit.WAIT_GROUP: _wait_group,
        Unit.CLUSTER: _unmodelled,
    }
