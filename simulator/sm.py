"""One SM in detail: its units, and the CTAs on it with their mbarriers and their barriers of threads."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from symlayout.atoms.access import MemorySpace
from symlayout.errors import LayoutError
from symlayout.kernel import Kernel
from symlayout.semantics.mbarrier import Mbarrier

from .engine import NS, Engine, Signal, SimulationError
from .jitter import REACH, longer
from .log import Log
from .machine import Machine
from .memory import GlobalMemory, Since
from .resource import Pipe, Window
from .steps import Team, What
from .tracked import Names
from .values import Follow

UNITS = (
    *("issue slots", "load/store unit", "shared memory", "TMA front end", "tensor core", "mbarrier unit"),
    *("SM port", "SM port, stores", "special functions"),
)
IN_FLIGHT = "TMA bytes in flight"
DISPATCH, RETIRE = "CTA dispatch", "CTA retirement"  # of all SMs
ISSUING, ALL = "issuing", "all"  # of the time of a team: no stall, and all of it


class _Counted(Mbarrier):
    """An mbarrier of a timed run, which asks nobody what he knows."""

    def _learn(self) -> None:
        pass

    def fresh(self) -> _Counted:
        """A copy of this one, which must still be in its first phase."""
        made = _Counted.__new__(_Counted)
        made.__dict__.update(self.__dict__)  # clocks too, which do not change
        return made


class Barrier:
    """An mbarrier, and those who wait for its phase; what it does is what the untimed run says.

    *since* knows what memory does since bytes that it awaits were asked for last. *landed* is when the last of them
    came, and *spread* the standard deviation of that time.
    """

    __slots__ = ("engine", "landed", "signal", "since", "spread", "state")

    def __init__(self, engine: Engine, state: _Counted, since: Since) -> None:
        self.engine, self.state, self.since = engine, state, since
        self.landed = self.spread = 0
        self.signal = Signal(self._told)

    def _told(self) -> str:
        s = self.state
        return f"{s.name}, in phase {s.phase}: {s.pending} of {s.arrivals} arrivals pending, {s.tx} bytes pending"

    def late(self, since: int, worked: int) -> int:
        """What he waits longer who waits since then, and *worked* before: bytes come now sooner and now later."""
        return longer(self.landed - since, self.spread, worked)

    @property
    def jitter(self) -> Hashable:
        """What ``late`` depends on, seen from now."""
        left = self.landed + REACH * self.spread - self.engine.now
        return (left, self.spread) if left > 0 else 0

    def moved(self, slot: int, slots: int, by: int) -> int:
        """The slot of a ring where it is, once that has turned by so many places: with the parity that it has there."""
        place = slot + slots * (self.state.phase % 2) + by
        flipped = (place // slots - self.state.phase) % 2
        self.state.phase += flipped
        self.since.phase += flipped
        return place % slots

    def change(self, change: Callable[..., None], *numbers: int) -> None:
        """Arrive, expect or complete; a phase that ends so resumes those who wait for it.

        Raises SimulationError for what no mbarrier takes, such as more arrivals than a phase awaits.
        """
        phase = self.state.phase
        try:
            change(*numbers)
        except LayoutError as e:
            raise SimulationError(f"{self.engine.running} at {self.engine.now / NS:.3f} ns: {e}") from e
        if self.state.phase != phase:
            self.signal.fire(self.engine)


@dataclass(slots=True)
class Flight:
    """Operations that are under way together, and those who wait for them: the loads of a register, or a group."""

    signal: Signal
    reading: int = 0  # their sources
    pending: int = 0
    until: int = 0  # the time at which those are over that end at a known time

    def over(self, read: bool = False) -> bool:
        """Whether all are over, or with *read* have read their sources, but for those that end at a known time."""
        return not (self.reading if read else self.pending)

    def state(self, now: int) -> Hashable:
        """What is under way, and for how long what ends at a known time; who waits."""
        return self.reading, self.pending, max(0, self.until - now), self.signal.state


@dataclass(slots=True)
class Meeting:
    """A barrier of threads of a CTA or a cluster: those who have come, of those who are wanted."""

    what: object
    wanted: int
    threads: int = 0
    signal: Signal = field(init=False)

    def __post_init__(self) -> None:
        self.signal = Signal(lambda: f"{self.what}: {self.threads} of {self.wanted} threads have come")

    @property
    def state(self) -> Hashable:
        """Those who have come, and those of them who wait."""
        return self.threads, self.signal.state


@dataclass(eq=False)
class Cta:
    """A CTA on an SM: its mbarriers, its barriers of threads, and the CTAs of its cluster, itself among them."""

    name: str
    sm: Sm
    rank: int
    cluster: list[Cta]
    barriers: dict[tuple[str, int], Barrier]
    follow: Follow | None = None  # in a run with values
    meetings: dict[int, Meeting] = field(default_factory=dict)
    together: dict[int, Meeting] = field(default_factory=dict)  # barriers of the cluster, those of rank 0

    def state(self, names: Names) -> Hashable:
        """Its barriers of both kinds; an mbarrier has its phase in its name."""
        own, all_of_them = ([(k, m.state) for k, m in x.items()] for x in (self.meetings, self.together))
        rings = (
            (names.get(id(b)), b.state.pending, b.state.tx, b.signal.state, b.since.state(b.state.phase), b.jitter)
            for b in self.barriers.values()
        )
        return frozenset(rings), tuple(own), tuple(all_of_them)

    def turn(self, rings: Mapping[str, int], by: Mapping[str, int]) -> None:
        """Let its mbarriers be those of other slots, once rings have turned by so many places."""
        found = {(ring, b.moved(slot, rings[ring], by[ring])): b for (ring, slot), b in self.barriers.items()}
        for (ring, slot), b in found.items():
            b.state.name = f"{ring}[{slot}]"
        self.barriers = found

    @property
    def neighbours(self) -> dict[int, Meeting]:
        """The barriers of the cluster."""
        return self.cluster[0].together


class Sm:
    """The units of an SM, and the counters of what its teams wait for, in picoseconds by cause.

    It stands for *weight* SMs that do alike, which have the *share* of its work on average.
    """

    def __init__(
        self,
        engine: Engine,
        machine: Machine,
        memory: GlobalMemory,
        kernel: Kernel,
        free: frozenset[str],
        log: Log | None = None,
        weight: int = 1,
        share: float = 1.0,
    ) -> None:
        self.engine, self.machine, self.memory, self.kernel, self.weight = engine, machine, memory, kernel, weight
        self.stands_for = weight * share
        self.mean = (1 + 1 / max(1.0, self.stands_for)) / 2  # where its bytes come among those of all, on average
        pipes = [Pipe(name, engine, free=name in free) for name in UNITS]
        (
            self.slots,
            self.lsu,
            self.shared,
            self.tma,
            self.tensor,
            self.mbarriers,
            self.port,
            self.stores,
            self.special,
        ) = pipes
        self.pipes = tuple(pipes)
        self.in_flight = Window(IN_FLIGHT, engine, machine.count("tma_bytes_in_flight"), IN_FLIGHT in free)
        self.asked, self.woken = machine.ps("mbarrier_wait"), machine.ps("mbarrier_wake")
        self.remote = machine.ps("cluster_arrive")
        self.registers = frozenset(t.name for t in kernel.tensors if t.space is MemorySpace.REGISTER)
        self.registers_read = machine.ps("shared_source_read")
        self.source_read, self.turnover = machine.ps("tma_store_read"), machine.ps("cta_turnover")
        self.products: deque[int] = deque()  # when those that are under way leave the tensor core
        self.multiplying = 0  # until when some product is under way
        self.teams = 0  # that are at work
        self.asked_ps = 0  # for how long requests of loads have kept the way of stores busy
        self.schedulers = machine.count("schedulers")
        self.most_products = machine.count("wgmma_queue")
        self.stalls: dict[str, Counter[str]] = {}  # of each team, picoseconds by cause
        self.log = log
        if log is not None:
            for pipe in (*self.pipes, *memory.pipes):
                pipe.log = log.served
        self.handlers: dict[What, Any] = {}  # how ``Warps`` takes the steps of an operation
        self._latency: dict[What, int] = {}
        rows, clock = ((b, k) for b in kernel.barriers for k in range(b.slots)), np.zeros(1, np.int64)
        self._fresh = {(b.name, k): _Counted(f"{b.name}[{k}]", b.arrivals, clock, 0) for b, k in rows}

    def latency(self, what: What) -> int:
        """The latency of an operation, in picoseconds."""
        found = self._latency.get(what)
        if found is None:
            name = what.row.latency
            found = self._latency[what] = self.machine.ps(name) if name else 0
        return found

    def cta(self, name: str, rank: int, cluster: list[Cta], before: Cta | None = None) -> Cta:
        """A CTA with fresh mbarriers; *before* is the one whose place it has."""
        since = {k: before.barriers[k].since.again() if before else Since(self.memory) for k in self._fresh}
        return Cta(
            name, self, rank, cluster, {k: Barrier(self.engine, b.fresh(), since[k]) for k, b in self._fresh.items()}
        )


class Course(NamedTuple):
    """A CTA by its block and its name, with the steps of its teams."""

    block: tuple[int, ...]
    name: str
    teams: list[Team]


__all__ = ["ALL", "IN_FLIGHT", "ISSUING", "UNITS", "Barrier", "Course", "Cta", "Flight", "Meeting", "Sm"]
