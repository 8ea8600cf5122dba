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

from collections.abc import Hashable, Iterable
from math import exp

from .dram import Dram
from .engine import Engine
from .machine import H200, Machine
from .resource import Pipe

LATENCY = "latency of memory"  # a what-if by name, though no server
POWER = "power"

__all__ = ["H200", "LATENCY", "POWER", "GlobalMemory"]


class Lately:
    """The part of the time for which something was busy, by an average that forgets exponentially.

    >>> lately = Lately(1000)
    >>> lately.add(0, 500)
    >>> lately.part(0), lately.part(1000) < 0.2
    (0.5, True)
    """

    MOST, STEPS = 0.75, 8

    def __init__(self, memory: float) -> None:
        self._memory, self._since, self._busy = memory, 0, 0

    def add(self, now: int, ps: int) -> None:
        """It is busy for so long from now on."""
        step = max(1, ps // self.STEPS)  # what is remembered is rounded, so that a steady state repeats
        self._since, self._busy = now, step * round(self._now(now) / step) + ps

    def part(self, now: int) -> float:
        """The part that it is busy, up to one that no queue survives."""
        return min(self.MOST, self._now(now) / self._memory)

    def _now(self, now: int) -> float:
        left = self._busy * exp((self._since - now) / self._memory) if self._busy else 0.0
        return left if left > 1 else 0.0

    def state(self, now: int) -> Hashable:
        """What the parts to come depend on."""
        return (now - self._since, self._busy) if self._now(now) else 0


class GlobalMemory:
    """L2 and DRAM, and the power that the chip may draw. *far* adds the latency of translation of large footprints,
    *reused* is said of lines that SMs of both halves of the chip read.

    L2 serves reads and writes together; writes come to it at a rate of their own.
    """

    def __init__(
        self,
        engine: Engine,
        machine: Machine,
        *,
        far: bool = False,
        reused: bool = False,
        free: frozenset[str] = frozenset(),
    ) -> None:
        self.engine = engine
        self.l2, self.l2_writes, self.power = (Pipe(x, engine, free=x in free) for x in ("L2", "L2 writes", POWER))
        self.dram = Dram(engine, machine, "DRAM" in free)
        self._l2, self._l2_writes = machine.exact("l2_rate"), machine.exact("l2_write_rate")
        self._l2_fill = self._l2 * machine.share("l2_fill")
        self._l2_beside = machine.exact("l2_beside_rate")
        self._request, self._write_request = machine.exact("l2_request"), machine.exact("l2_write_request")
        self._l2_power, self._dram_power = (machine.power(x) for x in ("l2_energy", "dram_energy"))
        self._wrote = Lately(machine.exact("dram_memory"))
        self._behind = 0.0 if LATENCY in free else machine.exact("l2_write_wait")
        hit = machine.ps("l2_latency") + reused * machine.ps("l2_half_latency")
        miss = hit + machine.ps("dram_latency") + far * machine.ps("translation_latency")
        self.hit, self.miss = (0, 0) if LATENCY in free else (hit, miss)
        # a tensor or bulk copy counts from the front end on, and until the mbarrier is told
        self.boxed = 0 if LATENCY in free else machine.ps("tma_latency") - machine.ps("l2_latency")
        self.written = 0 if LATENCY in free else machine.ps("l2_write_latency")
        self.multicast = 0 if LATENCY in free else machine.ps("multicast_latency")

    @property
    def pipes(self) -> tuple[Pipe, ...]:
        return self.l2, self.l2_writes, self.dram.pipe, self.power

    def state(self, now: int) -> Hashable:
        """What services to come depend on, seen from now, but for the pipes and the ledger of DRAM."""
        return self.dram.state(now), self._wrote.state(now)

    def read(
        self,
        ports: Iterable[Pipe],
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
    ) -> tuple[int, ...]:
        """When bytes that are asked for now have arrived at each of some SMs. *late* says that DRAM has them.

        *apart* is what the last of their places in DRAM comes later than one place would, and *lines* are waited for
        together; *requests* is how many rows of boxes they are. *mean* is the part of the service of the bytes of all
        after which those of an SM come on average.
        """
        start, end = self.l2.take(round(max(self._l2 * l2_bytes, self._request * requests)))
        end = start + round(mean * (end - start))
        waits = self.dram.waits(lines) if late else 0
        if dram_bytes:
            self.l2.end(round(self._l2_fill * min(l2_bytes, dram_bytes)))  # it keeps what comes; some is time alone
            start, last = self.dram.read(dram_bytes)
            end = max(end, max(start, self.engine.now + waits) + round(mean * (last - start)))
        self.power.end(round(self._l2_power * l2_bytes + self._dram_power * dram_bytes))
        after = self.latency(late, boxed)
        if late and after:
            after += apart
        elif boxed and self._behind:
            busy = self._wrote.part(self.engine.now)
            after += round(self._behind * busy / (1 - busy))
        found = [max(end, port.end(port_ps)) + after for port in ports]
        return tuple(found if len(found) == 1 else [t + self.multicast for t in found])

    def latency(self, late: bool, boxed: bool = False) -> int:
        """From the end of the service of a request until its bytes arrive; *boxed* is one of TMA."""
        return (self.miss if late else self.hit) + (self.boxed if boxed else 0)

    def write(self, l2_bytes: float, requests: float = 0, mean: float = 1.0) -> int:
        """When L2 has taken bytes, in so many rows, that are sent from now on."""
        least = self._write_request * requests
        self._wrote.add(self.engine.now, round(max(self._l2_writes * l2_bytes, least)))
        services = (
            self.l2.take(round(max(self._l2_beside * l2_bytes, least))),
            self.l2_writes.take(round(max(self._l2_writes * l2_bytes, least))),
        )
        return max(start + round(mean * (last - start)) for start, last in services)

    def write_back(self, l2_bytes: float, dram_bytes: float) -> None:
        """DRAM takes what came to L2 in the background, where it has to; both draw power."""
        if dram_bytes:
            self.dram.write(dram_bytes)
        self.power.end(round(self._l2_power * l2_bytes + self._dram_power * dram_bytes))
