"""Values in a timed run: data move when the simulator says that they have arrived, through the semantics of the run
without time.

>>> import numpy as np
>>> from symlayout.kernels import vector_copy
>>> memories = Memories(vector_copy(4).bind(), {"src": np.arange(4, dtype=np.float32)})
>>> [cta] = memories.cluster([(0,)])
>>> memories.arrays["src"]
array([0., 1., 2., 3.], dtype=float32)

Who reads what has not arrived reads what was there before: nothing is tracked and nothing is refused, as on a device.
Bytes that nobody wrote are 0xFF. What mbarriers, barriers and groups do is up to the timed run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from symlayout.kernel import Kernel
from symlayout.ops import (
    Arrive,
    Barrier,
    BarrierArrive,
    ClusterArrive,
    ClusterBarrier,
    ClusterWait,
    Commit,
    CpAsyncArrive,
    Elect,
    ExpectTx,
    Fence,
    For,
    If,
    Let,
    Op,
    Role,
    Wait,
    WaitGroup,
    WarpBarrier,
)
from symlayout.semantics.agent import Agent
from symlayout.semantics.execute import agents, put
from symlayout.semantics.machine import Cluster, Cta, Machine
from symlayout.semantics.op_steps import STEPS

from .engine import SimulationError

STRUCTURE = (For, If, Role, Elect, Let)
TIMED = (
    *(Arrive, CpAsyncArrive, ExpectTx, Wait, Barrier, BarrierArrive, ClusterBarrier, WarpBarrier),
    *(ClusterArrive, ClusterWait, Fence, Commit, WaitGroup),
)


class Bare(Machine):
    """Memories whose bytes are never poison."""

    def code(self, reason: str) -> int:
        """No reason makes a byte one that cannot be used."""
        return 0


@dataclass(frozen=True)
class Cargo:
    """What an operation has set off: copies on their way to shared memory, and work of groups."""

    flights: tuple[Any, ...] = ()
    works: tuple[Any, ...] = ()

    def land(self, cta: Cta) -> None:
        """The bytes for a CTA arrive."""
        for flight in self.flights:
            if flight.cta is cta:
                flight.land()

    def read(self) -> None:
        """The sources have been read."""
        for work in self.works:
            work.read(~work.done)

    def complete(self) -> None:
        """All is done."""
        for work in self.works:
            work.complete(~work.done)
            for group in work.agent.pending.values():
                if work in group:
                    group.remove(work)


NOTHING = Cargo()


class Follower:
    """An agent that executes an operation when the timed run does.

    Loads that go *ahead*, by identity, are executed where they stand: nothing that they read changes in between.
    """

    def __init__(self, agent: Agent, ahead: frozenset[int] = frozenset()) -> None:
        self.agent, self.ahead = agent, ahead
        self._steps = agent.run(TURNS)
        self._on()

    def _on(self) -> None:
        """Up to the next operation that the timed run has a step for."""
        if next(self._steps, self) is self:
            self.agent.op = None

    def do(self, op: Op) -> Cargo:
        """Execute an operation, which is the next. Raises ExecutionError for a mistake that a device would stop at."""
        agent, machine = self.agent, self.agent.machine
        if agent.op is not op:
            self.end()
        if agent.op is not op:
            raise SimulationError(f"expected {op} to come next in a run with values, got {agent.op}")
        before = {group: len(works) for group, works in agent.pending.items()}
        self._on()
        flights, machine.flying = tuple(machine.flying), []
        works = tuple(w for group, ws in agent.pending.items() for w in ws[before.get(group, 0) :])
        return Cargo(flights, works) if flights or works else NOTHING

    def end(self) -> None:
        """Execute the loads at hand that have gone ahead."""
        while id(self.agent.op) in self.ahead:
            self._on()


@dataclass(frozen=True)
class Follow:
    """A CTA in a run with values, and an agent for each of its teams."""

    cta: Cta
    teams: tuple[Follower, ...]


class Memories:
    """The memories of a launch. Raises what ``execute`` does for inputs that do not fit."""

    def __init__(self, kernel: Kernel, inputs: Mapping[str, Any], ahead: frozenset[int] = frozenset()) -> None:
        self.ahead = ahead
        self.machine = Bare(kernel.plain, ordered=False, late=lambda: True)
        put(self.machine, inputs)

    def cluster(self, blocks: list[tuple[int, ...]]) -> list[Follow]:
        """The CTAs of a cluster that starts now, by rank."""
        self.machine.ordered = False  # what CTAs and agents are made without is not tracked
        cluster = Cluster(self.machine, blocks)
        out = [(cta, agents(cta)) for cta in cluster.ctas]
        self.machine.ordered = True  # asynchronous work waits until the timed run completes it
        return [Follow(cta, tuple(Follower(a, self.ahead) for a in those)) for cta, those in out]

    @property
    def arrays(self) -> dict[str, Any]:
        """All global tensors, by name."""
        return {name: memory.get() for name, memory in self.machine.memory.items()}


def _turn(handler: Callable[[Agent, Any], Any] | None) -> Callable[[Agent, Any], Iterator[Any]]:
    """A handler that first lets the timed run say when."""

    def steps(agent: Agent, op: Any) -> Iterator[Any]:
        yield None
        found = handler(agent, op) if handler is not None else None
        if found is not None:
            yield from found

    return steps


TURNS: Mapping[type[Op], Callable[..., Any]] = {
    kind: handler if kind in STRUCTURE else _turn(None if kind in TIMED else handler) for kind, handler in STEPS.items()
}
