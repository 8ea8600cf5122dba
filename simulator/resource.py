"""What is shared: a pipe, which serves one request after another, and a window, which limits the bytes in flight.

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
import itertools
from collections import deque
from collections.abc import Callable, Hashable

from .engine import Engine, SimulationError


class Pipe:
    """Servers that take requests in the order in which they come: each keeps one server busy for its occupancy.

    A *free* pipe takes no time, for what-if questions. Its counters are in picoseconds: ``busy`` is the occupancy of
    all servers, ``queued`` what requests waited for one.
    """

    __slots__ = ("_free", "_others", "busy", "engine", "free", "log", "name", "queued", "served", "servers")

    def __init__(self, name: str, engine: Engine, servers: int = 1, free: bool = False) -> None:
        if servers < 1:
            raise SimulationError(f"expected at least 1 server of {name}, got {servers}")
        self.name, self.engine, self.servers, self.free = name, engine, servers, free
        self._free, self._others = 0, [0] * (servers - 1)  # when the first of them is free, and the others, as a heap
        self.busy = self.queued = self.served = 0
        self.log: Callable[[str, int, int], None] | None = None  # called with each service, for a timeline

    def end(self, occupancy: int) -> int:
        """The end of the service of a request that comes now. Raises SimulationError for a time below 0."""
        now = self.engine.now
        if self.free:
            return now
        if occupancy < 0:
            raise SimulationError(f"expected an occupancy of at least 0 ps of {self.name}, got {occupancy} ps")
        start = self._free
        if start < now:
            start = now
        else:
            self.queued += start - now
        end = start + occupancy
        self._free = heapq.heappushpop(self._others, end) if self._others else end
        self.busy += occupancy
        self.served += 1
        if self.log is not None:
            self.log(self.name, start, end)
        return end

    def take(self, occupancy: int) -> tuple[int, int]:
        """(start, end) of the service of a request that comes now. Raises SimulationError for a time below 0."""
        end = self.end(occupancy)
        return (end if self.free else end - occupancy), end

    def state(self, now: int) -> Hashable:
        """For how long each server is busy yet, in order: what the services to come depend on."""
        first = self._free - now if self._free > now else 0
        return (first, *sorted(max(0, f - now) for f in self._others)) if self._others else first

    @property
    def over(self) -> int:
        """The time at which all that was asked of it is over."""
        return max(self._free, *self._others) if self._others else self._free

    def utilisation(self, time: int) -> float:
        """The part of a time in which its servers are busy, 0 to 1."""
        return self.busy / (time * self.servers) if time else 0.0


class Window:
    """A limit on the bytes in flight: each byte may be asked for when the byte so many before it has arrived.

    Requests begin in the order in which they come. The bytes of one arrive evenly between two times, which ``begun``
    is told; from these it is known when those behind may begin and end.

    >>> engine, seen = Engine(), []
    >>> window = Window("bytes in flight", engine, 100)
    >>> def begin():
    ...     seen.append(engine.now)
    ...     window.begun(80, engine.now + 500, engine.now + 580)
    >>> for _ in range(3): window.ask(80, begin)
    >>> engine.run(); seen
    [0, 0, 561]
    """

    __slots__ = ("_arriving", "_cum", "_waiting", "capacity", "engine", "free", "held_time", "name", "queued")

    def __init__(self, name: str, engine: Engine, capacity: int, free: bool = False) -> None:
        if capacity < 1:
            raise SimulationError(f"expected a capacity of at least 1 of {name}, got {capacity}")
        self.name, self.engine, self.capacity, self.free = name, engine, capacity, free
        self._waiting: deque[tuple[int, int, Callable[[], None]]] = deque()
        self._arriving: deque[tuple[int, int, int, int]] = deque()  # first byte, end, when each of the two arrives
        self._cum = self.held_time = self.queued = 0

    def ask(self, nbytes: int, then: Callable[[], None]) -> None:
        """Call *then* when the first of some bytes may be asked for; it calls ``begun``."""
        if self.free:
            then()
            return
        self._waiting.append((nbytes, self.engine.now, then))
        if len(self._waiting) == 1:
            self._next()

    def _next(self) -> None:
        byte, arriving = self._cum - self.capacity + 1, self._arriving
        while len(arriving) > 1 and arriving[0][1] < byte:  # no later request waits for these
            arriving.popleft()
        time = self._arrival(byte)
        if time > self.engine.now:
            self.engine.at(time, self._begin)
        else:
            self._begin()

    def _begin(self) -> None:
        _, since, then = self._waiting[0]
        self.queued += self.engine.now - since
        then()

    def last(self, nbytes: int) -> int:
        """When the last of some bytes that begin now may be asked for."""
        return self.engine.now if self.free else max(self.engine.now, self._arrival(self._cum + nbytes - self.capacity))

    def begun(self, nbytes: int, first: int, end: int) -> None:
        """The request at hand has begun; its bytes arrive from one time to another."""
        now = self.engine.now
        self.held_time += nbytes * ((first + end) // 2 - now)
        if self.free:
            return
        self._arriving.append((self._cum, self._cum + nbytes, first, end))
        self.held_time -= self._asked_later(self._cum - self.capacity, nbytes)
        self._cum += nbytes
        self._waiting.popleft()
        if self._waiting:
            self._next()

    def _arrival(self, byte: int) -> int:
        """When a byte, counted from 1, has arrived."""
        found = 0
        if byte > 0:
            for start, stop, first, end in self._arriving:
                found = end
                if stop >= byte:
                    return end if byte == stop else first + (end - first) * max(0, byte - start) // (stop - start)
        return found

    def _asked_later(self, low: int, nbytes: int) -> int:
        """For how long, in all, some bytes are not asked for yet: until those *capacity* before them arrive."""
        now, high, found = self.engine.now, low + nbytes, 0
        for start, stop, first, end in self._arriving:
            if start >= high:
                break
            if end <= now or stop <= low:
                continue
            since, until = max(start, low), min(stop, high)
            left, right = (first - now + (end - first) * (x - start) // (stop - start) for x in (since, until))
            if left >= 0:
                found += (until - since) * (left + right) // 2
            elif right > 0:
                found += (until - since) * right * right // (2 * (right - left))
        return found

    def state(self, now: int, name: Callable[[Callable[[], None]], Hashable]) -> Hashable:
        """Who waits, and when the bytes arrive on which those to come depend; *name* tells what is called."""
        cum, last = self._cum, self._cum - self.capacity
        behind = itertools.dropwhile(lambda x: x[3] <= now or x[1] <= last, self._arriving)  # what is there is there
        arriving = tuple(
            (start - cum, stop - cum, first - now, end - now) if end > now else (start - cum, stop - cum)
            for start, stop, first, end in behind
        )
        return tuple((nbytes, since - now, name(then)) for nbytes, since, then in self._waiting), arriving

    @property
    def asking(self) -> list[Callable[[], None]]:
        """What is called when those who wait may begin, in order."""
        return [then for *_, then in self._waiting]

    def mean(self, time: int) -> float:
        """The bytes in flight on average over a run of this time, which is over."""
        return self.held_time / time if time else 0.0
