"""Global memory: the ports of SMs, and L2 and DRAM, which serve all of them.

>>> engine = Engine()
>>> memory = GlobalMemory(engine, H200)
>>> port = Pipe("SM port", engine)
>>> hit = memory.read((port,), 1000, l2_bytes=128, dram_bytes=0, late=False)
>>> late = memory.read((port,), 1000, l2_bytes=128, dram_bytes=128, late=True)
>>> hit < late
True

An SM that is simulated in detail may stand for others that do alike: its requests ask L2 and DRAM for the bytes of all
of them, and its port for its own. Its own bytes come in the middle of those, on average. A request takes all servers on
its way at once (cut-through): it is over when the slowest has served it, and its latency later.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import NamedTuple

from symlayout.banks import SECTOR_BYTES

from .crossbar import Crossbar
from .dram import Dram
from .engine import Engine
from .halves import Halves
from .jitter import spread
from .machine import H200, Machine
from .resource import Pipe
from .settling import whole

LATENCY = "latency of memory"  # a what-if by name, though no server
JITTER = "jitter"  # the same: rings that tell from which wait on the halves part do nothing else (M48)
POWER = "power"

__all__ = ["H200", "JITTER", "LATENCY", "POWER", "GlobalMemory", "InStep"]


class Beside(NamedTuple):
    """The parts of the time for which L2 writes, and DRAM reads and writes, and by what part waits grow by queues."""

    l2_writes: float
    dram: tuple[float, float]
    queues: float = 0.0


class Since:
    """What memory does beside, since the same slot of a ring was filled before.

    A mean over an iteration does not depend on when in it the SMs ask, which is not the same for all of them.

    >>> engine = Engine()
    >>> memory = GlobalMemory(engine, H200)
    >>> slot = Since(memory)
    >>> slot.asked(0), slot.asked(0)  # for two boxes of the first phase
    (None, None)
    >>> engine.at(2000, lambda: print(slot.asked(1))); memory.wrote += 1000; engine.run()
    Beside(l2_writes=0.5, dram=(0.0, 0.0), queues=0.0)
    """

    __slots__ = ("_last", "_memory", "_told", "phase")

    def __init__(self, memory: GlobalMemory) -> None:
        self._memory, self.phase = memory, -1
        self._last: tuple[int, ...] = ()  # when it was asked for last: a time, and for how long each had been busy
        self._told: Beside | None = None  # of this phase, the same for all its boxes

    def asked(self, phase: int) -> Beside | None:
        """The parts, where bytes of a phase are asked for now; None for the first."""
        if phase != self.phase:
            before, now = self._last, self._memory.clocks
            self.phase, self._last, self._told = phase, now, None
            if before and now[0] > before[0]:
                time, wrote, *dram = (b - a for a, b in zip(before, now, strict=True))
                added = self._memory.dram.queues.told(sum(dram) / time, before[0], now[0])
                self._told = Beside(wrote / time, (dram[0] / time, dram[1] / time), added)
        return self._told

    @property
    def known(self) -> bool:
        """Whether the slot was filled before."""
        return bool(self._last)

    def again(self) -> Since:
        """That of the slot in the next CTA, whose phases are counted anew."""
        found = Since(self._memory)
        found._last = self._last
        return found

    def state(self, phase: int) -> Hashable:
        """What the parts to come depend on, in this phase and later."""
        if not self._last:
            return ()
        passed = tuple([b - a for a, b in zip(self._last, self._memory.clocks, strict=True)])
        fresh = self._last[0] >= self._memory.dram.queues.since
        return passed, fresh, self._told if phase == self.phase else None


class InStep:
    """Whether all SMs still ask at the same time: until the first of what they ask for is over (M43).

    >>> start = InStep()
    >>> start.over(0, (700, 800)); start.mean(100, 0.5), start.mean(700, 0.5)
    (1.0, 0.5)
    """

    __slots__ = ("first",)

    def __init__(self) -> None:
        self.first: float = math.inf

    def mean(self, now: int, mean: float) -> float:
        """The part of the service of the bytes of all after which those of an SM come: L2 serves them line by line."""
        return 1.0 if now < self.first else mean

    def over(self, now: int, times: Sequence[int]) -> None:
        """What is asked for now is over then."""
        if now < self.first:
            self.first = min([self.first, *times])


class GlobalMemory:
    """L2 and DRAM, and the power that the chip may draw. *far* adds the latency of translation of large footprints,
    *reused* is said of lines that SMs of both halves of the chip read, *apart* of what is under way in DRAM. Loads take
    L2 so many times longer where it is *slower*. *halves* says how one half of the SMs comes behind, and *dirty* which
    part of the lines that others take the places of has to be written to DRAM.

    L2 serves reads and writes together; writes come to it at a rate of their own.
    """

    MOST = 0.75  # of the time that L2 writes: beyond it no queue survives

    def __init__(
        self,
        engine: Engine,
        machine: Machine,
        *,
        far: bool = False,
        reused: bool = False,
        apart: bool = False,
        slower: float = 1.0,
        crowd: float = 1.0,
        halves: Halves | None = None,
        dirty: float = 0.0,
        free: frozenset[str] = frozenset(),
    ) -> None:
        self.engine = engine
        self.l2, self.l2_writes, self.power = (Pipe(x, engine, free=x in free) for x in ("L2", "L2 writes", POWER))
        self.dram = Dram(engine, machine, "DRAM" in free, apart, halves)
        self._l2, self._l2_writes = slower * machine.exact("l2_rate"), machine.exact("l2_write_rate")
        self._l2_beside = machine.exact("l2_beside_rate")
        self._request, self._write_request = machine.exact("l2_request"), machine.exact("l2_write_request")
        self._fill, self._fill_request = (
            machine.share("l2_fill") * machine.exact(x) for x in ("l2_rate", "l2_request")
        )
        self._l2_power, self._dram_power = (machine.power(x) for x in ("l2_energy", "dram_energy"))
        self.wrote = 0  # for how long L2 was busy with writes
        self._reads, self._writes = InStep(), InStep()
        self._dirty = dirty
        self._behind = 0.0 if LATENCY in free else machine.exact("l2_write_wait")
        self._crossbar = Crossbar(machine, LATENCY in free, crowd)
        hit = machine.ps("l2_latency") + reused * machine.ps("l2_half_latency")
        miss = hit + machine.ps("dram_latency") + far * machine.ps("translation_latency")
        self.hit, self.miss = (0, 0) if LATENCY in free else (hit, miss)
        # a tensor or bulk copy counts from the front end on, and until the mbarrier is told
        self.boxed = 0 if LATENCY in free else machine.ps("tma_latency") - machine.ps("l2_latency")
        self.written = 0 if LATENCY in free else machine.ps("l2_write_latency")
        self._jitter = 0.0 if {LATENCY, JITTER, "DRAM"} & free else machine.share("dram_jitter")

    @property
    def pipes(self) -> tuple[Pipe, ...]:
        return self.l2, self.l2_writes, self.dram.pipe, self.power

    @property
    def clocks(self) -> tuple[int, ...]:
        """The time, and for how long L2 wrote, and DRAM read and wrote, until now."""
        return self.engine.now, self.wrote, *self.dram.busy

    def state(self, now: int, lately: bool = True) -> Hashable:
        """What services to come depend on, seen from now, but for the pipes and the ledger of DRAM.

        *lately* says that what DRAM did in the last microseconds is among it.
        """
        return (
            self.dram.state(now) if lately else (),
            self.dram.queues.added,
            self.dram.here,
            self._crossbar.state(now),
            self._reads.first > now,
            self._writes.first > now,
        )

    def read(
        self,
        ports: Sequence[Pipe],
        port_ps: int,
        *,
        l2_bytes: float,
        dram_bytes: float,
        late: bool,
        requests: float = 0,
        apart: int = 0,
        lines: int = 1,
        mean: float = 1.0,
        boxed: bool = False,
        beside: Beside | None = None,
        parts: int = 0,
    ) -> tuple[int, ...]:
        """When bytes that are asked for now have arrived at each of some SMs. *late* says that DRAM has them.

        *apart* is what the last of their places in DRAM comes later than one place would, and *lines* are waited for
        together; *requests* is how many rows of boxes they are. *mean* is the part of the service of the bytes of all
        after which those of an SM come on average, if they are not in step. It waits for what is *beside*, if that is
        known. Where each of some *parts* is awaited by itself, the times are those of the first.
        """
        mean = self._reads.mean(self.engine.now, mean)
        here = self.dram.here
        start, end = self.l2.take(round(here * max(self._l2 * l2_bytes, self._request * requests)))
        mean /= max(1, parts)
        end = start + round(mean * (end - start))
        if dram_bytes:
            comes = min(l2_bytes, dram_bytes)  # some is time alone
            rows = requests * comes / l2_bytes if requests * SECTOR_BYTES <= l2_bytes else 0.0  # others find a part
            self.l2.end(round(here * max(self._fill * comes, self._fill_request * rows)))  # it keeps that
            start, last = self.dram.read(dram_bytes)
            waits = self.dram.waits(lines, beside and beside[1:], last - start, parts > 0) if late else 0
            end = max(end, max(start, self.engine.now + waits) + round(mean * (last - start)))
            if self._dirty:
                self.dram.write(self._dirty * dram_bytes)
        self.power.end(round(self._l2_power * l2_bytes + self._dram_power * dram_bytes))
        after = self.latency(late, boxed)
        if boxed:
            after += max([self._crossbar.wait(port, port_ps, self.engine.now) for port in ports])
        if late and after:
            after += apart
        elif beside is not None and self._behind:
            writes = min(self.MOST, beside.l2_writes)
            after += whole(self._behind * writes / (1 - writes))
        times = tuple([max(end, port.end(port_ps)) + after for port in ports])
        self._reads.over(self.engine.now, times)
        return times

    def service(self, l2_bytes: float, dram_bytes: float) -> int:
        """For how long bytes that are read keep L2 or DRAM busy, whichever takes longer."""
        l2, dram = (0 if pipe.free else 1 for pipe in (self.l2, self.dram.pipe))
        return round(max(l2 * self._l2 * l2_bytes, dram * self.dram.reading * dram_bytes))

    def latency(self, late: bool, boxed: bool = False) -> int:
        """From the end of the service of a request until its bytes arrive; *boxed* is one of TMA."""
        return (self.miss if late else self.hit) + (self.boxed if boxed else 0)

    def spread(self, time: int, late: bool) -> int:
        """The standard deviation of what a load took, or 0 where L2 has its bytes."""
        return spread(time, self._jitter) if late else 0

    def write(self, l2_bytes: float, requests: float = 0, mean: float = 1.0) -> int:
        """When L2 has taken bytes, in so many rows, that are sent from now on."""
        l2_bytes *= self.dram.here
        least = self._write_request * requests
        mean = self._writes.mean(self.engine.now, mean)
        writing = round(max(self._l2_writes * l2_bytes, least))
        self.wrote += writing
        services = self.l2.take(round(max(self._l2_beside * l2_bytes, least))), self.l2_writes.take(writing)
        taken = max(start + round(mean * (last - start)) for start, last in services)
        self._writes.over(self.engine.now, (taken,))
        return taken

    def write_back(self, l2_bytes: float, dram_bytes: float) -> None:
        """DRAM takes what came to L2 in the background, where it has to; both draw power."""
        if dram_bytes:
            self.dram.write((self._dirty or 1.0) * dram_bytes)
        self.power.end(round(self._l2_power * l2_bytes + self._dram_power * dram_bytes))
