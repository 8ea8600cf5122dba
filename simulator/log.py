"""What happened in a run, for a timeline: spans of teams and of units, and what happened to mbarriers.

>>> engine = Engine()
>>> log = Log(engine)
>>> engine.at(500, lambda: log.span("role producer", "wait: mbarrier empty", 200)); engine.run()
>>> log.spans
[Span(who='role producer', what='wait: mbarrier empty', start=200, end=500)]

Times are in picoseconds. A run without a timeline keeps no log.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from symlayout.kernel.declarations import RingUse

from .engine import Engine


@dataclass(frozen=True, slots=True)
class Span:
    """Something that a team did or waited for, or that a unit served, from one time to another."""

    who: str
    what: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Happened:
    """Something that happened to an mbarrier of a CTA at a time: "expect", "arrive", a "wait" that is over, or "land".

    *phase* is its phase afterwards. A wait began, and bytes that land were asked for, at *since*.
    """

    time: int
    what: str
    cta: str
    who: str
    barrier: tuple[str, int]
    phase: int
    since: int


@dataclass(frozen=True, slots=True)
class Move:
    """Bytes on their way between the SM and global memory, from one time to another: a "read" or a "write"."""

    what: str
    bytes: int
    start: int
    end: int


@dataclass(frozen=True)
class Timeline:
    """The records of a run that is over, in the order in which they were made; spans by team, as teams began."""

    spans: tuple[Span, ...]
    services: tuple[Span, ...]  # of units; *what* is the process that is served
    events: tuple[Happened, ...]
    moves: tuple[Move, ...]
    rings: tuple[RingUse, ...] = ()


@dataclass
class Log:
    """The records of a run that goes on."""

    engine: Engine = field(repr=False, compare=False)
    rings: tuple[RingUse, ...] = ()
    spans: list[Span] = field(default_factory=list)
    services: list[Span] = field(default_factory=list)
    events: list[Happened] = field(default_factory=list)
    moves: list[Move] = field(default_factory=list)
    teams: dict[str, int] = field(default_factory=dict)  # by name, the how many-th to begin

    def begins(self, who: str) -> None:
        """A team begins, in the order of the kernel's roles."""
        self.teams.setdefault(who, len(self.teams))

    def span(self, who: str, what: str, since: int) -> None:
        """A team did something until now."""
        if self.engine.now > since:
            self.spans.append(Span(who, what, since, self.engine.now))

    def stuck(self) -> None:
        """The run cannot go on: those of its teams that are shown wait until now for what does not come."""
        until = {s.who: s.end for s in self.spans}
        for process in self.engine.live:
            if process.name in until:
                self.span(process.name, f"wait: {process.waits_for}, which does not come", until[process.name])

    def served(self, unit: str, start: int, end: int) -> None:
        """A unit serves the process that runs now, from one time to another."""
        if end > start:
            self.services.append(Span(unit, self.engine.running, start, end))

    def happened(self, what: str, cta: str, who: str, barrier: tuple[str, int], phase: int, since: int) -> None:
        """Something happened to an mbarrier now."""
        self.events.append(Happened(self.engine.now, what, cta, who, barrier, phase, since))

    def moved(self, what: str, nbytes: int, end: int) -> None:
        """Bytes go from or to a tensor from now on until a time."""
        self.moves.append(Move(what, nbytes, self.engine.now, end))

    @property
    def timeline(self) -> Timeline:
        """What is there to show."""
        spans = sorted(self.spans, key=lambda s: self.teams.get(s.who, len(self.teams)))
        return Timeline(tuple(spans), tuple(self.services), tuple(self.events), tuple(self.moves), self.rings)
