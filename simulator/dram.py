"""DRAM: one bus, with a rate for each direction, and time that turning between them takes.

>>> engine = Engine()
>>> dram = Dram(engine, H200)
>>> _, alone = dram.read(1 << 20)
>>> dram.write(1 << 20)[1] - alone > alone
True

Controllers hold writes back and write many at once, so the bus changes direction once for so many bytes of both. What
that costs is a time for each byte of the direction that there is less of, as long as requests of both are near. A read
waits longer, too, the larger the part of the time is for which DRAM writes, and for which it reads for others: its
channel may be at either. Channels are not asked evenly, so queues grow before some while others have nothing to do:
waits are longer by 1/sqrt(1 - busy), and DRAM reaches its rate only with more under way than its latency asks for.
These parts are those of the last microseconds, by averages that forget exponentially.
"""

from __future__ import annotations

from collections.abc import Hashable
from math import exp, log, sqrt
from typing import TypeAlias

from .engine import NS, Engine
from .halves import Halves
from .machine import H200, Machine
from .resource import Pipe
from .settling import held, whole

__all__ = ["H200", "Dram", "Queues", "queues"]

PARTS = 8  # of what is moved at once: in steps of one it is remembered, so that a steady state repeats
STEP = 20 * NS  # in which it keeps others waiting, for the same reason
MOST = 0.92  # of the time that DRAM is busy, beyond which the bus itself makes requests wait
PLACE = 8  # lines of a place in DRAM, of 1 KB: one load of fewer finds shorter queues of writes
PLACE_LINES = 16  # of a place that waits by itself, 2 KB: 4 KB and 8 KB in a row wait longer (M51)
ALWAYS = 1 << 60  # times
LONG_TURNS = 200  # iterations of the rings that tell its rates (M4: 141 and 283)
FORGOTTEN = NS // 10  # of time that DRAM was busy: no more than this is not remembered


# unpaired bytes; bytes read, written; requests that depend on more; bytes of SMs that stand for all
Ledger: TypeAlias = tuple[int, int, int, int, int, int]


def queues(busy: float) -> float:
    """By what part of themselves waits grow where DRAM is busy for such a part of the time."""
    return 1 / sqrt(1 - min(MOST, busy)) - 1


def skew(time: int, busy: float, turns: float, machine: Machine) -> int:
    """What the last SM ends later, where each has a part of the work to itself that takes it so many iterations.

    None of these takes exactly as long as the next, so ends spread by the root of how many there are, as far as DRAM is
    *busy*. Its rates were measured of long launches, and have the spread of these.

    >>> [round(1000 * skew(100_000_000, 1.0, n, H200) / 100_000_000) for n in (9, 25, 100, 400)]
    [60, 29, 7, 0]
    """
    more = turns**-0.5 - LONG_TURNS**-0.5
    return round(time * busy * machine.share("dram_skew") * max(0.0, more))


class Queues:
    """By what part of themselves waits grow, as rings see it that are filled again and again.

    >>> queues = Queues()
    >>> [queues.told(busy, since, now=since + 500) for since, busy in ((0, 0.36), (100, 0.75), (500, 0.75), (900, 0.0))]
    [0.25, 0.25, 0.625, 0.625]

    Queues make iterations longer, which makes queues shorter. So what they add is ``held``, by means over times in
    which it was the same: what a change does is awaited before the next one.
    """

    STEP = 0.1  # of waits

    __slots__ = ("added", "since")

    def __init__(self) -> None:
        self.added: float | None = None
        self.since = 0  # when it has changed

    def told(self, busy: float, since: int, now: int) -> float:
        """What they add, where DRAM was busy for such a part of the time between two."""
        seen = queues(busy)
        if since >= self.since:
            added = held(seen if self.added is None else self.added, seen, self.STEP)
            if added != self.added:
                self.added, self.since = added, now
        return seen if self.added is None else self.added


class Dram:
    """The bus of DRAM. What one direction has moved lately pairs with what the other moves.

    Turning costs more where what is under way lies *apart*, as of CTAs that each have a part of the work to themselves.
    """

    __slots__ = (
        "_depend",
        "_halves",
        "_lately",
        "_later",
        "_memory",
        "_near",
        "_place",
        "_progress",
        "_spread",
        "_turn",
        "_unpaired",
        "_waits",
        "_write",
        "busy",
        "moved",
        "pipe",
        "queues",
        "reading",
    )

    def __init__(
        self, engine: Engine, machine: Machine, free: bool = False, apart: bool = False, halves: Halves | None = None
    ) -> None:
        self.pipe, self.queues = Pipe("DRAM", engine, free=free), Queues()
        self.reading, self._write = machine.exact("dram_rate"), machine.exact("dram_write_rate")
        self._turn = machine.exact("dram_turnaround_apart" if apart else "dram_turnaround")
        self._near = machine.count("dram_queue_bytes")
        self._halves, self._progress = halves, 0  # and the bytes of SMs that stand for all, until now
        self._unpaired = 0  # bytes: read if above 0, written if below
        self._depend = (0, 0)  # requests that would take another time had more been read before, or more been written
        self.moved = (0, 0)  # bytes that were read and written
        self._waits = machine.exact("dram_read_wait"), machine.exact("dram_write_wait")
        self._memory = machine.exact("dram_memory")
        self._spread, self._place = machine.exact("dram_spread"), machine.exact("dram_place_latency")
        self._later: dict[tuple[int, int], int] = {}
        self.busy = [0, 0]  # with reads and with writes, in all
        self._lately = [(0, 0), (0, 0)]  # of reads and of writes: a time, and how long it was busy, as remembered then

    def read(self, nbytes: float) -> tuple[int, int]:
        """(start, end) of the service of bytes that are read. Some may be time alone, see ``traffic``."""
        nbytes = self._of_halves(nbytes)
        before, moved = self._unpaired, round(nbytes)
        self._unpaired = min(before + moved, self._near)
        self.moved = self.moved[0] + moved, self.moved[1]
        self._depend = self._depend[0] + (before < 0), self._depend[1] + (before > -nbytes)
        paired = min(nbytes, -before) if before < 0 else 0.0
        return self._take(0, round(self.reading * nbytes + self._turn * paired))

    def write(self, nbytes: float) -> tuple[int, int]:
        """(start, end) of the service of bytes that are written."""
        nbytes = self._of_halves(nbytes)
        before, moved = self._unpaired, round(nbytes)
        self._unpaired = max(before - moved, -self._near)
        self.moved = self.moved[0], self.moved[1] + moved
        self._depend = self._depend[0] + (before < nbytes), self._depend[1] + (before > 0)
        paired = min(nbytes, before) if before > 0 else 0.0
        return self._take(1, round(self._write * nbytes + self._turn * paired))

    @property
    def here(self) -> float:
        """The part of the SMs that are at work, while one half of them comes behind."""
        return 1.0 if self._halves is None else min(1.0, self._halves.factor(self._progress))

    def _of_halves(self, nbytes: float) -> float:
        """What it moves while such bytes are moved for an SM that stands for all."""
        if self._halves is None:
            return nbytes
        self._progress += round(nbytes)
        return nbytes * self._halves.factor(self._progress)

    def _take(self, direction: int, ps: int) -> tuple[int, int]:
        step = max(1, ps // PARTS)
        self.busy[direction] += ps
        self._lately[direction] = self.pipe.engine.now, step * round(self._remembered(direction) / step) + ps
        return self.pipe.take(ps)

    def _remembered(self, direction: int) -> float:
        """How long it was busy in a direction lately."""
        since, busy = self._lately[direction]
        left = busy * exp((since - self.pipe.engine.now) / self._memory) if busy else 0.0
        return left if left > FORGOTTEN else 0.0

    def waits(
        self, lines: int, beside: tuple[tuple[float, float], float] | None = None, service: int = 0, alone: bool = False
    ) -> int:
        """What the last of some lines that are asked for now waits for its channel, whatever the bus does.

        It reads and writes *beside* for these parts of the time, and its queues add such a part: lately if
        that is not known. A line waits for a time that is anywhere up to the longest: the last of n for n/(n + 1) of it
        on average. Half of the *service* of what is asked for now comes before it. Lines that a warp awaits
        *alone*, with no others under way, find shorter queues of writes.
        """
        if self.pipe.free:
            return 0
        parts, more = beside or self._parts(service)
        last = lines / (lines + 1)
        of_writes = lines / (lines + PLACE) if alone else last
        read, write = (each * min(1.0, part) for each, part in zip(self._waits, parts, strict=True))
        return whole(read * last * (1 + more) + write * (last + of_writes * more))

    def later(self, lines: int, places: int = 1) -> int:
        """What the last of some lines in so many places comes later than one.

        Places wait apart, for times that are exponential: the last of them by the logarithm of how many there are. The
        lines of one differ as Gaussian latencies do.
        """
        found = self._later.get((lines, places))
        if found is None:
            each = max(1, min(lines // places, PLACE_LINES))
            later = self._spread * sqrt(2 * log(each)) + self._place * log(places)
            found = self._later[lines, places] = round(later)
        return found

    def _parts(self, service: int) -> tuple[tuple[float, float], float]:
        """The parts of the time for which it read and wrote lately, and by what waits grow."""
        read, write = self._remembered(0) - service / 2, self._remembered(1)
        parts = STEP * round(read / STEP) / self._memory, STEP * round(write / STEP) / self._memory
        return parts, queues(sum(parts))

    def state(self, now: int) -> Hashable:
        """What ``waits`` depends on."""
        lately = enumerate(self._lately)
        return tuple([(now - since, busy) if self._remembered(k) else 0 for k, (since, busy) in lately])

    @property
    def ledger(self) -> Ledger:
        """What was moved until now, and how much of it is unpaired."""
        return self._unpaired, *self.moved, *self._depend, self._progress

    def again(self, before: Ledger) -> int:
        """How often what was moved since *before* would take as long again.

        It does where as much is unpaired as before. Where more is, and each read was alone and each write paired as a
        whole, it does until no more is near enough to be paired; and the other way round.
        """
        unpaired, read, written, more, less, progress = (
            now - then for now, then in zip(self.ledger, before, strict=True)
        )
        most = ALWAYS
        if self._halves is not None and progress and (left := self._halves.behind - self._progress) > 0:
            most = int(left // progress)
        if not unpaired or (not more and not written) or (not less and not read):
            return most
        if unpaired != read - written or (more if unpaired > 0 else less):
            return 0
        left = self._near - abs(self._unpaired) - (read if unpaired > 0 else written)
        return min(most, max(0, left // abs(unpaired)))

    def repeat(self, before: Ledger, times: int) -> None:
        """Move what was moved since *before* so often again, as often as it would take as long at most."""
        unpaired, *since = (times * (now - then) for now, then in zip(self.ledger, before, strict=True))
        read, written, more, less, progress = since
        if unpaired:
            self._unpaired = max(-self._near, min(self._near, self._unpaired + read - written))
        self.moved = self.moved[0] + read, self.moved[1] + written
        self._depend = self._depend[0] + more, self._depend[1] + less
        self._progress += progress
