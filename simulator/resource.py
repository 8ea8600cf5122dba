"""What is shared: a pipe, which serves one request after another, and a pool, which holds a limited number of units.

Three times of a request are kept apart. *Issue* is the time that a warp spends on it and belongs to the warp. The
*occupancy* is the time for which it keeps a server of the pipe busy. The *latency* is the time until its result is
there, and keeps nothing busy.

>>> engine = Engine()
>>> pipe = Pipe("port", engine)
>>> pipe.take(500), pipe.take(500), pipe.take(500)
((0, 500), (500, 1000), (1000, 1500))
>>> pipe.busy, pipe.queued, pipe.served
(1500, 1500, 3)
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable

from .engine import Engine, Signal, SimulationError, Steps


class Pipe:
    """Servers that take requests in the order in which they come: each keeps one server busy for its occupancy.

    A *free* pipe takes no time, for what-if questions. Its counters are in picoseconds: ``busy`` is the occupancy of
    all servers, ``queued`` what requests waited for one.
    """

    __slots__ = ("_free", "busy", "engine", "free", "log", "name", "queued", "served", "servers")

    def __init__(self, name: str, engine: Engine, servers: int = 1, free: bool = False) -> None:
        if servers < 1:
            raise SimulationError(f"expected at least 1 server of {name}, got {servers}")
        self.name, self.engine, self.servers, self.free = name, engine, servers, free
        self._free = [0] * servers
        self.busy = self.queued = self.served = 0
        self.log: Callable[[str, int, int], None] | None = None  # called with each service, for a timeline

    def take(self, occupancy: int) -> tuple[int, int]:
        """(start, end) of the service of a request that comes now. Raises SimulationError for a time below 0."""
        if occupancy < 0:
            raise SimulationError(f"expected an occupancy of at least 0 ps of {self.name}, got {occupancy} ps")
        now = self.engine.now
        if self.free:
            return now, now
        start = max(now, self._free[0])
        end = start + occupancy
        heapq.heapreplace(self._free, end)
        self.busy += occupancy
        self.queued += start - now
        self.served += 1
        if self.log is not None:
            self.log(self.name, start, end)
        return start, end

    @property
    def over(self) -> int:
        """The time at which all that was asked of it is over."""
        return max(self._free)

    def utilisation(self, time: int) -> float:
        """The part of a time in which its servers are busy, 0 to 1."""
        return self.busy / (time * self.servers) if time else 0.0


class Pool:
    """Units that are taken and given back; who finds too few waits, and is served before those behind.

    >>> engine = Engine()
    >>> pool = Pool("bytes in flight", engine, 2)
    >>> def user():
    ...     yield from pool.take(2)
    ...     yield 700
    ...     pool.give(2)
    >>> for k in range(3): engine.start(f"user {k}", user())
    >>> engine.run(); engine.now, pool.held
    (2100, 0)
    """

    __slots__ = ("_signals", "capacity", "engine", "free", "held", "held_time", "most", "name", "queued", "since")

    def __init__(self, name: str, engine: Engine, capacity: int, free: bool = False) -> None:
        if capacity < 1:
            raise SimulationError(f"expected a capacity of at least 1 of {name}, got {capacity}")
        self.name, self.engine, self.capacity, self.free = name, engine, capacity, free
        self._signals: deque[tuple[int, Signal]] = deque()
        self.held = self.held_time = self.most = self.queued = self.since = 0

    def take(self, units: int) -> Steps:
        """Wait for units and hold them. Raises SimulationError for more than there are."""
        if units > self.capacity and not self.free:
            raise SimulationError(f"expected at most {self.capacity} units of {self.name}, got {units}")
        came = self.engine.now
        if not self.free and (self._signals or self.held + units > self.capacity):
            ready = Signal(lambda: f"{units} units of {self.name} ({self.capacity - self.held} are free)")
            self._signals.append((units, ready))
            yield ready  # ``give`` has taken them for us
        else:
            self._hold(units)
        self.queued += self.engine.now - came

    def give(self, units: int) -> None:
        """Give units back, to those who wait. Raises SimulationError for more than are held."""
        if units > self.held:
            raise SimulationError(f"expected at most {self.held} units of {self.name} to be given back, got {units}")
        self._hold(-units)
        while self._signals and self.held + self._signals[0][0] <= self.capacity:
            wanted, ready = self._signals.popleft()
            self._hold(wanted)
            ready.fire(self.engine)

    def _hold(self, units: int) -> None:
        self.held_time += self.held * (self.engine.now - self.since)
        self.since = self.engine.now
        self.held += units
        self.most = max(self.most, self.held)

    def mean(self, time: int) -> float:
        """The units held on average over a run of this time, which is over."""
        return self.held_time / time if time else 0.0
