"""The halves of the chip, whose SMs DRAM does not serve alike where launches that copy follow one another.

>>> halves = Halves(whole=300e6, ahead=60e6, slower=1.1)
>>> halves.factor(0), halves.factor(181e6)
(1.3333333333333333, 0.55)

L2 lies in two halves, each beside half of the SMs. Where SMs have much under way, the stores of one half are taken more
slowly than those of the other, from launch to launch by turns: the half that ended last is ahead in the next one, also
of other tensors, and not where another kernel has filled L2 in between (M48). It seems to be that more of what lies in
the half of those that ended first has to be written before others take its place. Loads that wait for DRAM no longer
than those of M48 that end together keep the halves together, which a run tells whose SMs are served alike.

An SM of the half that comes behind stands for all: while it moves a byte, DRAM moves more of those ahead; when these
are through, only half as many are left, who get a little less than the whole rate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .machine import Machine

NEAR = 0.1  # of the wait from which on they part: so much earlier they begin to, so much later they do as a whole

STEPS = 40  # until the bytes ahead are those of the time until that half is through
MIXED = 0.5  # launches that write less than a third of what they read do not count: M48 measured copies alone
LANDED = 0.5  # of what is under way has come and waits for stores: those of stamps do, for 3 to 6 slots
LEAST = 0.01  # of the bytes: less than that ahead changes nothing

__all__ = ["ALIKE", "NOTHING", "Flow", "Halves", "Served", "ahead_of", "halves", "may_part", "parted_runs"]


@dataclass(frozen=True)
class Flow:
    """What DRAM moves for a launch: bytes that it reads and writes, and those of loads that all SMs have under way."""

    read: float = 0.0
    written: float = 0.0
    under_way: float = 0.0

    @property
    def whole(self) -> float:
        return self.read + self.written

    @property
    def mixed(self) -> float:
        """1 where as much is read as written, 0 where one of them is nothing."""
        return 2 * min(self.read, self.written) / self.whole if self.whole else 0.0

    @property
    def dirty(self) -> float:
        """The part of the lines in L2 that have to be written before others take their places; 0 for few of them."""
        return self.written / self.whole if self.mixed > MIXED else 0.0

    def time(self, machine: Machine) -> float:
        """Picoseconds that it takes DRAM."""
        turned = min(self.read, self.written) * machine.exact("dram_turnaround_apart")
        return self.read * machine.exact("dram_rate") + self.written * machine.exact("dram_write_rate") + turned


NOTHING = Flow()


class Served(NamedTuple):
    """How SMs fare that are served alike, by the first part of a run: what they ask of DRAM, and what they could.

    Their requests wait for it so many picoseconds on average. Without it they would be *room* times as fast.
    """

    wait: float = 0.0
    room: float = 0.0


ALIKE = Served()  # where nothing is known


@dataclass(frozen=True)
class Halves:
    """Bytes that DRAM moves for a launch, and how many of them one half of the SMs comes ahead of the other."""

    whole: float
    ahead: float
    slower: float  # one half alone than both together
    landed: float = 0.0  # that have come for the half behind by then, and wait to be stored
    apart: float = 1.0  # whether they do so as a whole, or begin to

    def __str__(self) -> str:
        ahead, whole = (round(x / 1e6) for x in (self.ahead, self.whole))
        return (
            f"in a row of launches one half of the SMs comes ahead, by {ahead} of {whole} MB that DRAM moves, and is "
            "through before the other"
        )

    @cached_property
    def behind(self) -> float:
        """Of the bytes of SMs that stand for all, those that are through when the half ahead is."""
        return self.whole - 2 * self.ahead - self.landed

    def factor(self, progress: float) -> float:
        """The bytes that DRAM moves for all SMs, for each byte of the SM behind, which has moved *progress* bytes."""
        if progress < self.behind:
            return (self.whole - self.ahead) / self.behind
        return self.slower * self.ahead / (self.whole - self.behind)


def ahead_of(whole: float, share: float, scale: float, held: float, room: float = math.inf) -> float:
    """The bytes that one half has moved more when it is through, of a launch of so many in *whole*.

    It starts when L2, which holds so much, is full of what has to be written. At first one half gets *share* more of
    what DRAM moves than the other, e times less after *scale* bytes. With *room* it gets no more than it takes.

    >>> round(ahead_of(300e6, 0.4, 350e6, 40e6)) // 10**6
    60
    """
    ahead = 0.0
    for _ in range(STEPS):
        both = whole - ahead  # that are moved meanwhile
        grown = share * scale * (1 - math.exp(-max(0.0, both - held) / scale))
        ahead += 0.5 * (min(grown, (room - 1) * both) - ahead)
    return ahead


def may_part(flow: Flow, machine: Machine) -> bool:
    """Whether so much is under way that requests could wait as long as halves that part do."""
    if not flow.mixed:
        return False
    return flow.under_way * flow.time(machine) / flow.read > machine.exact("dram_even_wait")


def halves(flow: Flow, served: Served, machine: Machine) -> Halves | None:
    """How far a launch of a row lets one half come ahead; None where SMs are served alike."""
    if served.room <= 1 or not may_part(flow, machine):
        return None
    apart = min(1.0, (served.wait / machine.exact("dram_even_wait") - 1 + NEAR) / (2 * NEAR))
    if apart <= 0:
        return None
    time = flow.time(machine)
    scale = machine.exact("dram_ahead_time") / time * flow.whole
    share, held = apart * flow.mixed * machine.share("dram_ahead"), machine.count("l2_bytes")
    ahead = ahead_of(flow.whole, share, scale, held, served.room)
    if ahead < LEAST * flow.whole:
        return None
    landed = LANDED * flow.under_way * flow.whole / flow.read
    landed = min(landed, (flow.whole - 2 * ahead) / 2)
    return Halves(flow.whole, ahead, 1 / machine.share("dram_half"), landed, apart)


def parted_runs(found: Halves | None, machine: Machine) -> float:
    """The part of runs in DRAM whose neighbours the other half moves, when L2 has lost them.

    >>> from .machine import H200
    >>> parted_runs(None, H200), parted_runs(Halves(1e9, 2 * H200.count("l2_lost_bytes"), 1.0), H200)
    (0.0, 0.25)
    """
    if found is None:
        return 0.0
    return 0.5 * max(0.0, 1 - machine.count("l2_lost_bytes") / found.ahead)
