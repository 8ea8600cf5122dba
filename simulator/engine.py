"""An event engine: processes are generators, time is whole picoseconds, and equal inputs give equal runs.

>>> engine = Engine()
>>> ready, seen = Signal("the bell"), []
>>> def sleeper():
...     yield 500
...     ready.fire(engine)
>>> def listener():
...     yield ready
...     seen.append(engine.now)
>>> engine.start("listener", listener()); engine.start("sleeper", sleeper()); engine.run()
>>> seen
[500]

A process yields a number of picoseconds to sleep, or a signal to wait for. Events at one time happen in the order in
which they were scheduled.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any, TypeAlias

from symlayout.errors import SymlayoutError

NS = 1000  # picoseconds
MAX_EVENTS = 50_000_000  # of one run: about a minute
TOLD = 8  # of the processes that cannot go on, so many are told


class SimulationError(SymlayoutError):
    """A simulation that cannot be run, or cannot go on.

    Of a run that cannot go on *timeline* has what happened before.
    """

    timeline: Any = None  # a ``log.Timeline``


class Signal:
    """What processes wait for. ``fire`` resumes all that wait now; who comes later waits for the next time.

    *told* is a word or a function of none, for the message of a deadlock; who waits for "" is not told.
    """

    __slots__ = ("told", "waiting")

    def __init__(self, told: str | Callable[[], str]) -> None:
        self.told = told
        self.waiting: list[Process] = []

    def fire(self, engine: Engine) -> None:
        """Resume the waiting processes, in the order in which they came."""
        if not self.waiting:
            return
        resumed, self.waiting = self.waiting, []
        for process in resumed:
            process.waits_for = None
            engine.at(engine.now, process.resume)

    @property
    def state(self) -> tuple[Hashable, ...]:
        """Who waits, in order, by the keys of the owners."""
        return tuple([p.owner.key for p in self.waiting]) if self.waiting else ()

    def __str__(self) -> str:
        return self.told if isinstance(self.told, str) else self.told()


Steps: TypeAlias = "Generator[int | Signal, None, None]"


@dataclass(eq=False, slots=True)
class Process:
    """A generator that runs in an engine, and the signal that it waits for."""

    engine: Engine
    name: str
    steps: Steps
    owner: Any = None  # whose steps these are
    waits_for: Signal | None = None

    def resume(self) -> None:
        """Run to the next stop, and on while nothing else is due before."""
        engine, steps = self.engine, self.steps
        engine.running = self.name
        queue = engine.queue
        for stop in steps:
            if type(stop) is int:
                time = engine.now + stop
                if stop < 0:
                    raise SimulationError(f"expected a process that sleeps at least 0 ps, got {stop} ps of {self.name}")
                engine.left -= 1
                if (queue and queue[0][0] <= time) or engine.left < 0:
                    engine.count += 1  # as ``at`` does
                    heappush(queue, (time, engine.count, self.resume))
                    return
                engine.now = time
            elif isinstance(stop, Signal):
                self.waits_for = stop
                stop.waiting.append(self)
                return
        engine.live.pop(self, None)


class Engine:
    """The clock and the events to come.

    >>> engine = Engine()
    >>> engine.start("consumer", iter([Signal("full[0]")]))
    >>> engine.run()
    Traceback (most recent call last):
        ...
    simulator.engine.SimulationError: no process can go on at 0.000 ns: consumer waits for full[0]
    """

    __slots__ = ("count", "left", "live", "now", "queue", "running")

    def __init__(self) -> None:
        self.now = 0
        self.running = ""  # the name of the process that runs now, or ran last
        self.live: dict[Process, None] = {}
        self.queue: list[tuple[int, int, Callable[[], None]]] = []
        self.left = 0  # events that a run may still have
        self.count = 0  # events that were scheduled: those of one time are in this order

    def at(self, time: int, action: Callable[[], None]) -> None:
        """Do something at a time. Raises SimulationError for a time that is over."""
        if time < self.now:
            raise SimulationError(f"expected an event at {self.now} ps or later, got one at {time} ps")
        self.count += 1
        heappush(self.queue, (time, self.count, action))

    def start(self, name: str, steps: Steps, owner: Any = None) -> None:
        """Run a process from now on: the steps of an *owner*."""
        process = Process(self, name, steps, owner)
        self.live[process] = None
        self.at(self.now, process.resume)

    def stop(self) -> None:
        """Leave what is still to do: the run ends with what happens now."""
        self.queue.clear()
        self.live.clear()

    def run(self, max_events: int = MAX_EVENTS) -> None:
        """Run until nothing is left to do.

        Raises SimulationError for processes that wait for what nobody does, with each of them, and for a run of more
        events than *max_events*.
        """
        queue, pop = self.queue, heappop
        self.left = max_events
        while queue:
            if self.left <= 0:
                raise SimulationError(f"expected at most {max_events} events, got more at {self.now / NS:.3f} ns")
            self.left -= 1
            self.now, _, action = pop(queue)
            action()
        if self.live:
            stuck = [f"{p.name} waits for {what}" for p in self.live if (what := str(p.waits_for))]
            more = f"; and {len(stuck) - TOLD} more wait" if len(stuck) > TOLD else ""
            raise SimulationError(f"no process can go on at {self.now / NS:.3f} ns: {'; '.join(stuck[:TOLD])}{more}")
