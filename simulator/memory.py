"""Global memory as one SM sees it: its port, and its share of L2 and DRAM when all active SMs do the same.

>>> engine = Engine()
>>> memory = GlobalMemory(engine, H200, active=132, misses={"x": 1.0, "y": 0.0}, writes_back=True)
>>> memory.read("y", 128) < memory.read("x", 128)
True

The chip serves n equal SMs, so bytes of the one that is simulated keep L2 and DRAM busy n times as long. A request
takes all servers on its way at once (cut-through): it is over when the slowest has served it, and its latency later.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from .engine import Engine
from .machine import H200, Machine
from .resource import Pipe

LATENCY = "latency of memory"  # a what-if by name, though no server

__all__ = ["H200", "LATENCY", "GlobalMemory"]


class GlobalMemory:
    """The way of requests of one SM to L2 and DRAM.

    *misses* is the part of the requests to each tensor that L2 does not have. Which ones these are is spread evenly.
    """

    def __init__(
        self,
        engine: Engine,
        machine: Machine,
        *,
        active: int,
        misses: Mapping[str, float],
        writes_back: bool,
        far: bool = False,
        free: frozenset[str] = frozenset(),
    ) -> None:
        self.engine, self.machine, self.active, self.misses = engine, machine, active, misses
        self.writes_back = writes_back
        self.port, self.l2, self.dram = (Pipe(x, engine, free=x in free) for x in ("SM port", "L2", "DRAM"))
        hit = machine.ps("l2_latency")
        miss = hit + machine.ps("dram_latency") + far * machine.ps("translation_latency")
        self.hit, self.miss = (0, 0) if LATENCY in free else (hit, miss)
        self._due: dict[str, float] = {}
        self.log: Callable[[str, int, int], None] | None = None  # called with each transfer, for a timeline
        self.bytes = self.dram_bytes = 0

    @property
    def pipes(self) -> tuple[Pipe, ...]:
        return self.port, self.l2, self.dram

    def read(self, tensor: str, nbytes: int) -> int:
        """When bytes that are asked for now have arrived at the SM."""
        end = self._moved(nbytes)
        due = self._due.get(tensor, 0.0) + self.misses.get(tensor, 1.0)
        missed = due >= 1 - 1e-9
        self._due[tensor] = due - missed
        arrived = max(end, self._from_dram(nbytes)) + self.miss if missed else end + self.hit
        if self.log is not None:
            self.log("read", nbytes, arrived)
        return arrived

    def write(self, nbytes: int) -> int:
        """When bytes that are sent now are visible in L2; DRAM takes them in the background, where it has to."""
        end = self._moved(nbytes)
        if self.writes_back:
            self._from_dram(nbytes)
        if self.log is not None:
            self.log("write", nbytes, end + self.hit)
        return end + self.hit

    def _moved(self, nbytes: int) -> int:
        self.bytes += nbytes
        _, port = self.port.take(self.machine.transfer("sm_port_rate", nbytes))
        _, l2 = self.l2.take(self.machine.transfer("l2_rate", nbytes * self.active))
        return max(port, l2)

    def _from_dram(self, nbytes: int) -> int:
        self.dram_bytes += nbytes
        return self.dram.take(self.machine.transfer("dram_rate", nbytes * self.active))[1]
