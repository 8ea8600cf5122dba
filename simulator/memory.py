"""Global memory: the ports of SMs, and L2 and DRAM, which serve all of them.

>>> engine = Engine()
>>> memory = GlobalMemory(engine, H200)
>>> port = Pipe("SM port", engine)
>>> hit = memory.read((port,), 1000, l2_bytes=128, dram_bytes=0, late=False)
>>> late = memory.read((port,), 1000, l2_bytes=128, dram_bytes=128, late=True)
>>> hit < late
True

An SM that is simulated in detail may stand for others that do alike: its requests ask L2 and DRAM for the bytes of all
of them, and its port for its own. A request takes all servers on its way at once (cut-through): it is over when the
slowest has served it, and its latency later.
"""

from __future__ import annotations

from collections.abc import Iterable

from .engine import Engine
from .machine import H200, Machine
from .resource import Pipe

LATENCY = "latency of memory"  # a what-if by name, though no server

__all__ = ["H200", "LATENCY", "GlobalMemory"]


class GlobalMemory:
    """L2 and DRAM. *far* adds the latency of translation that large footprints have."""

    def __init__(
        self, engine: Engine, machine: Machine, *, far: bool = False, free: frozenset[str] = frozenset()
    ) -> None:
        self.engine = engine
        self.l2, self.dram = (Pipe(x, engine, free=x in free) for x in ("L2", "DRAM"))
        self.l2_rate, self.dram_rate = machine.exact("l2_rate"), machine.exact("dram_rate")
        hit = machine.ps("l2_latency")
        miss = hit + machine.ps("dram_latency") + far * machine.ps("translation_latency")
        self.hit, self.miss = (0, 0) if LATENCY in free else (hit, miss)
        self.multicast = 0 if LATENCY in free else machine.ps("multicast_latency")

    def read(
        self, ports: Iterable[Pipe], port_ps: int, *, l2_bytes: float, dram_bytes: float, late: bool
    ) -> tuple[int, ...]:
        """When bytes that are asked for now have arrived at each of some SMs. *late* says that DRAM has them."""
        end = self.l2.take(round(self.l2_rate * l2_bytes))[1]
        if dram_bytes:
            end = max(end, self.dram.take(round(self.dram_rate * dram_bytes))[1])
        after = self.latency(late)
        found = tuple(max(end, port.take(port_ps)[1]) + after for port in ports)
        return found if len(found) == 1 else tuple(t + self.multicast for t in found)

    def latency(self, late: bool) -> int:
        """From the end of the service of a request until its bytes arrive."""
        return self.miss if late else self.hit

    def write(self, port: Pipe, port_ps: int, *, l2_bytes: float, dram_bytes: float) -> int:
        """When bytes that are sent now are visible in L2; DRAM takes them in the background, where it has to."""
        end = max(port.take(port_ps)[1], self.l2.take(round(self.l2_rate * l2_bytes))[1])
        if dram_bytes:
            self.dram.take(round(self.dram_rate * dram_bytes))
        return end + self.hit
