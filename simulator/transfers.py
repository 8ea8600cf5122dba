"""Copies on their way between global and shared memory: what happens to each after it was issued, event by event.

A transfer is an object, and its events are its methods, so that what is under way can be looked at: see ``recurrence``.
Data that move with it (``cargo``) are those of a run with values.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial
from typing import Any, Protocol

from .memory import Beside
from .sm import Barrier, Cta, Flight, Sm
from .steps import Step
from .timing_classes import Unit
from .tracked import Boxes, Names, Tracked
from .values import Cargo

LINE = 128
# Places in DRAM: rings of chunks wait longer by so many in flight, rings of rows of boxes do not (rounds 7 to 13).
MOST_PLACES = 16


class Issuer(Protocol):
    """The warps that issue copies."""

    @property
    def key(self) -> Hashable: ...
    @property
    def name(self) -> str: ...
    @property
    def sm(self) -> Sm: ...
    @property
    def cta(self) -> Cta: ...
    @property
    def cargo(self) -> Cargo: ...
    @property
    def copies(self) -> Tracked: ...

    boxes: Boxes

    def lags(self, ps: int) -> None: ...
    def note(self, what: str, step: Step, since: int) -> None: ...


class Transfer:
    """A copy that a team has issued, and the flights that wait for it."""

    __slots__ = ("cargo", "flights", "sm", "step", "warps")

    def __init__(self, warps: Issuer, step: Step, flights: tuple[Flight, ...] = ()) -> None:
        self.warps, self.step, self.flights, self.sm, self.cargo = warps, step, flights, warps.sm, warps.cargo
        for flight in flights:
            flight.pending += 1

    def state(self, now: int, names: Names) -> Hashable:
        """What its future depends on, but for the event to come. Of a CTA that is over, nobody waits for it."""
        flights = tuple(names.get(id(f)) for f in self.flights)
        step = names.step(self.warps, self.step)
        return type(self), self.warps.key, names.get(id(self.warps)), step, flights

    def at(self, time: int, action: Callable[[], None]) -> None:
        """Do something later, in the name of the team."""
        if self.sm.log is not None:
            self.sm.engine.at(time, partial(self._named, action))
        else:
            self.sm.engine.at(time, action)

    def _named(self, action: Callable[[], None]) -> None:
        self.sm.engine.running = self.warps.name
        action()

    def over(self) -> None:
        """All is done."""
        self.cargo.complete()
        for flight in self.flights:
            flight.pending -= 1
            flight.signal.fire(self.sm.engine)

    def _write(self) -> int:
        """Bytes of a store come to L2 from now on: when it has taken them."""
        sm, step = self.sm, self.step
        end = sm.memory.write(step.l2_bytes, step.l2_requests, sm.mean)
        if sm.log is not None:
            sm.log.moved("write", step.bytes, end)
        return end

    def _written(self) -> None:
        """They are in L2."""
        self.sm.memory.write_back(self.step.l2_bytes, self.step.dram_bytes)

    def _read(self, ctas: tuple[Cta, ...]) -> tuple[int, ...]:
        """When the bytes of a load that are asked for now have arrived at some CTAs."""
        sm, step = self.sm, self.step
        ports = [cta.sm.port for cta in ctas]
        lines = (
            step.served // step.warps if step.unit is Unit.LOAD else step.bytes // LINE
        )  # that are waited for together
        times = sm.memory.read(
            ports,
            step.port_ps,
            l2_bytes=step.l2_bytes,
            requests=step.l2_requests,
            dram_bytes=step.dram_bytes,
            late=step.late,
            apart=self._apart,
            lines=max(1, lines),
            mean=sm.mean,
            boxed=step.unit is Unit.TMA_LOAD,
            beside=self._beside,
            parts=step.warps if step.unit is Unit.LOAD else 0,
        )
        if sm.log is not None:
            sm.log.moved("read", step.bytes, max(times))
        return times

    @property
    def _apart(self) -> int:
        """What the last of its places in DRAM comes later than one place would."""
        return self._later(1)

    def _later(self, many: int) -> int:
        """What the last of so many alike comes later than one line would, of the places that L2 does not have.

        The longest waits are rare: a box of many places has one by itself.
        """
        step = self.step
        if not step.late:
            return 0
        missed = min(1.0, step.dram_bytes / step.l2_bytes) if step.l2_bytes else 1.0
        one = max(1, round(missed * step.places))
        return self.sm.memory.dram.later(many * step.apart, max(one, min(MOST_PLACES, many * one)))

    @property
    def _beside(self) -> Beside | None:
        """What memory does beside, where that is known."""
        return None


class Load(Transfer):
    """A load by each thread, into registers, or into shared memory by cp.async: the copy of a *number*."""

    __slots__ = ("last", "number")

    def __init__(self, warps: Issuer, step: Step, flights: tuple[Flight, ...], number: int = 0) -> None:
        super().__init__(warps, step, flights)
        self.number, self.last = number, 0  # and when the last of the warps has asked, or its bytes are at the SM

    def state(self, now: int, names: Names) -> Hashable:
        """That of each transfer, how many copies began behind it, and when the last of its warps is so far."""
        behind = self.number and self.warps.copies.count - self.number
        return super().state(now, names), behind, max(0, self.last - now)

    def start(self) -> None:
        """The load/store unit takes the addresses: memory is asked when it has those that are waited for first."""
        lsu, unit = self.sm.lsu, self.step.unit_ps
        self.last = lsu.end(unit)
        self.at(self.last - (0 if lsu.free else self._behind(unit)), self.ask)

    def ask(self) -> None:
        """Memory is asked for the bytes: those of the last warp come no earlier than after a latency of their own."""
        step, port, now = self.step, self.sm.port, self.sm.engine.now
        time = self._read((self.warps.cta,))[0]
        if self.number:
            self.last = max(time, self.last + self.sm.memory.latency(step.late))
            self.at(max(now, self.last - step.shared_ps), self.arrived)
        else:
            self.at(time - (0 if port.free else self._behind(step.port_ps)), self.arrived)

    def _behind(self, ps: int) -> int:
        """What the last warp comes later than the first of what takes a time."""
        warps = self.step.warps
        return ps * (warps - 1) // warps

    @property
    def _apart(self) -> int:
        """Copies that land in the order of their groups are as late as the latest of all places that are under way.

        A warp that waits for its own has lines of its own.
        """
        return self._later(len(self.warps.copies.flying)) if self.number else self._own

    @property
    def _own(self) -> int:
        """What the last line of a warp comes later than one line would."""
        lines, places = (-(-n // self.step.warps) for n in (self.step.apart, self.step.places))
        return self.sm.memory.dram.later(lines, max(1, places))

    def arrived(self) -> None:
        """Bytes are at the SM: those of the first warp. Copies are written to shared memory as they come."""
        sm, step = self.sm, self.step
        if self.number:
            self.at(max(self.last, sm.shared.end(step.shared_ps)), self.landed)
        else:
            served = round(sm.mean * sm.memory.service(step.l2_bytes, step.dram_bytes))
            times = (0 if sm.lsu.free else step.unit_ps, 0 if sm.port.free else step.port_ps, served)
            self.warps.lags(self._behind(max(times)) + (self._later(1) - self._own if step.late else 0))
            self.over()

    def landed(self) -> None:
        """They are in shared memory, and arrivals that waited for this come."""
        self.over()
        self.warps.copies.over(self.number)


class Store(Transfer):
    """A store by each thread; nobody waits until its bytes are visible."""

    __slots__ = ()

    def start(self) -> None:
        """Warp by warp, the load/store unit takes the bytes, and they leave the SM for L2, from now on."""
        sm, step = self.sm, self.step
        self.at(max(sm.lsu.end(step.unit_ps), sm.stores.end(step.port_ps), self._write()), self.written)

    def written(self) -> None:
        """They are in L2, which nobody waits for."""
        self._written()


class BoxLoad(Transfer):
    """A TMA command that loads, at the SMs of the CTAs where it lands."""

    __slots__ = ("asked", "end", "since")

    def start(self) -> None:
        """The front end starts the command; it asks memory when its bytes fit among those in flight."""
        self.since = self.sm.engine.now
        self.warps.boxes.begun()
        start, self.end = self.sm.tma.take(self.step.unit_ps)
        if start > self.since:
            self.at(start, self.begin)
        else:
            self.begin()

    def state(self, now: int, names: Names) -> Hashable:
        """That of each transfer, and when the front end is through with it."""
        return super().state(now, names), max(0, self.end - now)

    def begin(self) -> None:
        """The front end is at it."""
        self.sm.in_flight.ask(self.step.bytes, self.ask)

    def ask(self) -> None:
        """Memory is asked for the first of the bytes."""
        sm, step, cta = self.sm, self.step, self.warps.cta
        ctas = (cta,) if len(step.ranks) == 1 and step.ranks[0] < 0 else tuple(cta.cluster[rank] for rank in step.ranks)
        window, now = sm.in_flight, sm.engine.now
        if not sm.port.free:
            sm.stores.end(step.shared_ps)  # requests go out by the same way, before what is under way there
            sm.asked_ps += step.shared_ps
        self.asked = now
        last = max(self.end, window.last(step.bytes)) + sm.memory.latency(step.late, boxed=True)  # byte to ask for
        times = [max(last, time) for time in self._read(ctas)]
        for there, time in zip(ctas, times, strict=True):
            self.at(max(now, time - step.shared_ps), Landing(self, there, time).comes)
        window.begun(step.bytes, max(now, max(times) - step.port_ps), max(times))

    @property
    def _apart(self) -> int:
        """Boxes are waited for in the order of their slots: each is as late as the latest of those under way."""
        return self._later(self.warps.boxes.most)

    @property
    def _beside(self) -> Beside | None:
        """That since the slot was filled last."""
        barrier = self.warps.cta.barriers[self.step.barrier]
        return barrier.since.asked(barrier.state.phase)


class Landing:
    """The bytes of a TMA load for one CTA."""

    __slots__ = ("box", "cta", "last")

    def __init__(self, box: BoxLoad, cta: Cta, last: int) -> None:
        self.box, self.cta, self.last = box, cta, last

    def state(self, now: int, names: Names) -> Hashable:
        """Where it lands, and when the last of it comes; when the front end was through is over."""
        left, asked = max(0, self.last - now), now - self.box.asked
        return Landing, Transfer.state(self.box, now, names), names.get(id(self.cta)), left, asked

    def comes(self) -> None:
        """They are written to its shared memory as they come, until the last has come at the earliest."""
        box = self.box
        box.at(max(self.last, self.cta.sm.shared.end(box.step.shared_ps)), self.landed)

    def landed(self) -> None:
        """They are there, and the mbarrier is told."""
        box, cta = self.box, self.cta
        if cta.follow is not None:
            box.cargo.land(cta.follow.cta)
        barrier, now = cta.barriers[box.step.barrier], cta.sm.engine.now
        barrier.landed, barrier.spread = now, cta.sm.memory.spread(now - box.asked, box.step.late)
        barrier.change(barrier.state.complete_tx, box.step.number)
        if cta is box.warps.cta:
            box.warps.boxes.over()
            if box.sm.log is not None:
                box.warps.note("land", box.step, box.since)


class BoxStore(Transfer):
    """A TMA command that stores: it reads shared memory, then its bytes go to L2."""

    __slots__ = ("before", "end", "sent")

    def __init__(self, warps: Issuer, step: Step, flights: tuple[Flight, ...] = ()) -> None:
        super().__init__(warps, step, flights)
        self.end = 0  # when the front end is through with the command
        self.sent = self.before = 0  # when its bytes are sent, and for how long loads had asked until it is known

    def start(self) -> None:
        """The source is being read from now on."""
        for flight in self.flights:
            flight.reading += 1
        self.comes()

    def comes(self) -> None:
        """The front end starts the command when it is at no other: loads that come meanwhile go first."""
        now, tma = self.sm.engine.now, self.sm.tma
        if tma.over > now and not tma.free:
            tma.queued += tma.over - now
            self.at(tma.over, self.comes)
        else:
            self.end = tma.end(self.step.unit_ps)
            self.begin()

    def state(self, now: int, names: Names) -> Hashable:
        """That of each transfer, and when the front end is through with it."""
        return (
            super().state(now, names),
            max(0, self.end - now),
            max(0, self.sent - now),
            self.sm.asked_ps - self.before,
        )

    def begin(self) -> None:
        """The front end is at it: the source was read when L2 has taken the bytes, for which SMs in step wait."""
        sm, step = self.sm, self.step
        taken, in_step = self._write(), not step.dram_bytes
        self.sent, self.before = sm.stores.end(step.port_ps), sm.asked_ps
        through = max(sm.shared.end(step.shared_ps), self.sent, self.end, taken if in_step else 0)
        self.at(through + sm.source_read, self.over_sent)

    def over_sent(self) -> None:
        """Requests of loads that have come meanwhile went first."""
        sm = self.sm
        self.sent, self.before = self.sent + sm.asked_ps - self.before, sm.asked_ps
        if (until := self.sent + sm.source_read) > sm.engine.now:
            self.at(until, self.over_sent)
        else:
            self.read()

    def read(self) -> None:
        """The source may be written again."""
        self.cargo.read()
        for flight in self.flights:
            flight.reading -= 1
            flight.signal.fire(self.sm.engine)
        self._written()
        self.at(self.sm.engine.now + self.sm.memory.written, self.over)


class Arrival:
    """Arrivals at an mbarrier that come later: *how* is what ``Mbarrier.arrive`` takes; somebody may be *told*."""

    __slots__ = ("barrier", "how", "lanes", "told")

    def __init__(
        self, barrier: Barrier, lanes: int, how: tuple[Any, ...] = (), told: Callable[[], None] | None = None
    ) -> None:
        self.barrier, self.lanes, self.how, self.told = barrier, lanes, how, told

    def state(self, now: int, names: Names) -> Hashable:
        """Where how many arrive."""
        return Arrival, names.get(id(self.barrier)), self.lanes, self.how

    def come(self) -> None:
        """They are there."""
        self.barrier.change(self.barrier.state.arrive, self.lanes, *self.how)
        if self.told is not None:
            self.told()


__all__ = ["Arrival", "BoxLoad", "BoxStore", "Landing", "Load", "Store", "Transfer"]
