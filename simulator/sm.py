"""One SM in detail: its units, the mbarriers of its CTAs, and the CTAs that run on it at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from symlayout.kernel import Kernel
from symlayout.ops import Op
from symlayout.semantics.mbarrier import Mbarrier

from .engine import Engine, Signal, Steps
from .log import Log
from .machine import Machine
from .memory import GlobalMemory
from .program import Step, Team, registers
from .resource import Pipe, Pool
from .timing_classes import TimingClass

UNITS = ("issue slots", "load/store unit", "shared memory", "TMA front end", "tensor core", "mbarrier unit")
IN_FLIGHT = "TMA bytes in flight"
ISSUING, ALL = "issuing", "all"  # of the time of a team: no stall, and all of it


class Barrier:
    """An mbarrier, and those who wait for its phase; what it does is what the untimed run says."""

    __slots__ = ("engine", "signal", "state")

    def __init__(self, engine: Engine, name: str, arrivals: int) -> None:
        self.engine = engine
        self.state = Mbarrier(name, arrivals, np.zeros(1, np.int64), 0)
        self.signal = Signal(self._told)

    def _told(self) -> str:
        s = self.state
        return f"{s.name}, in phase {s.phase} with {s.pending} of {s.arrivals} arrivals and {s.tx} bytes pending"

    def change(self, change: Callable[[int], None], number: int) -> None:
        """Arrive, expect or complete; a phase that ends so resumes those who wait for it."""
        phase = self.state.phase
        change(number)
        if self.state.phase != phase:
            self.signal.fire(self.engine)


@dataclass(slots=True)
class Flight:
    """Operations that are under way together, and those who wait for them: the loads of a register, or a group."""

    signal: Signal
    reading: int = 0  # their sources
    pending: int = 0

    def over(self, read: bool = False) -> bool:
        """Whether all are over, or with *read* have read their sources."""
        return not (self.reading if read else self.pending)


@dataclass(slots=True)
class Meeting:
    """A barrier of threads of a CTA: those who have come."""

    signal: Signal
    threads: int = 0


@dataclass
class Cta:
    """A CTA on the SM: its mbarriers, its barriers of threads, and how many of its teams still run."""

    name: str
    barriers: dict[tuple[str, int], Barrier]
    meetings: dict[int, Meeting] = field(default_factory=dict)
    running: int = 0


class Sm:
    """The units of an SM, and the counters of what its teams wait for, in picoseconds by cause."""

    def __init__(
        self, engine: Engine, machine: Machine, memory: GlobalMemory, kernel: Kernel, free: frozenset[str], log: bool
    ) -> None:
        self.engine, self.machine, self.memory, self.kernel = engine, machine, memory, kernel
        pipes = [Pipe(name, engine, free=name in free) for name in UNITS]
        self.slots, self.lsu, self.shared, self.tma, self.tensor, self.mbarriers = pipes
        self.pipes = (*pipes, *memory.pipes)
        self.in_flight = Pool(IN_FLIGHT, engine, machine.count("tma_bytes_in_flight"), IN_FLIGHT in free)
        self.slot = machine.cycle / machine.count("schedulers")
        self.schedulers = machine.count("schedulers")
        self.stalls: dict[str, Counter[str]] = {}  # of each team, picoseconds by cause
        self.log = Log(engine, kernel.rings) if log else None
        if self.log is not None:
            for pipe in self.pipes:
                pipe.log = self.log.served
            memory.log = self.log.moved
        self._times: dict[TimingClass, tuple[int, float, int]] = {}
        self._registers: dict[int, tuple[tuple[str, ...], tuple[str, ...]]] = {}

    def times(self, row: TimingClass) -> tuple[int, float, int]:
        """Issue, occupancy and latency of a timing class, in picoseconds."""
        found = self._times.get(row)
        if found is None:
            issue, occupancy, latency = (
                self.machine.ps(x) if x else 0 for x in (row.issue, row.occupancy, row.latency)
            )
            found = self._times[row] = (issue, occupancy, latency)
        return found

    def registers(self, op: Op) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The registers that an operation reads and writes."""
        found = self._registers.get(id(op))
        if found is None:
            found = self._registers[id(op)] = registers(op)
        return found

    def cta(self, name: str) -> Cta:
        """A CTA with fresh mbarriers."""
        rows = ((b, k) for b in self.kernel.barriers for k in range(b.slots))
        return Cta(name, {(b.name, k): Barrier(self.engine, f"{b.name}[{k}]", b.arrivals) for b, k in rows})

    def resident(self, ctas: Iterator[tuple[str, list[Team]]], run: Callable[[Cta, Team], Steps]) -> Steps:
        """One place on the SM: runs CTAs one after another, each with all its teams, as long as there are any."""
        for name, teams in ctas:
            cta = self.cta(name)
            over = Signal(f"the end of {name}")
            cta.running = len(teams)

            def team_of(team: Team, cta: Cta = cta, over: Signal = over) -> Steps:
                yield from run(cta, team)
                cta.running -= 1
                if not cta.running:
                    over.fire(self.engine)

            for team in teams:
                self.engine.start(f"{name}, {team.name}", team_of(team))
            yield over

    def wavefronts(self, count: int) -> int:
        """Picoseconds of shared memory for some wavefronts."""
        return self.machine.ps("wavefront_interval", count)


__all__ = ["ALL", "IN_FLIGHT", "ISSUING", "UNITS", "Barrier", "Cta", "Flight", "Meeting", "Sm", "Step"]
