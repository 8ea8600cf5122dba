"""Warps of a team in lockstep: where they stand, what they have under way, and how they wait for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable

from .engine import Signal, Steps
from .jitter import MOST, REACH
from .sm import Cta, Flight, Meeting
from .steps import Step, Team, What
from .tracked import Boxes, Names, Tracked
from .values import NOTHING, Follower

CLUSTER_BARRIER = 0  # the key of the barrier of all threads of a cluster
START, ISSUE, SLEEP, LATE, WAKE, DIVIDE, RELEASE, COME, MEET, LEAVE = (
    (word, 0) for word in ("start", "issue", "sleep", "late", "wake", "divide", "release", "come", "meet", "leave")
)


class Lockstep:
    """The warps of a team: they issue in order, and wait where a result or a barrier is needed.

    Each warp waits for its own loads of global memory: the first of them goes ahead, and the last is a *lag* behind,
    until a barrier or the end, which waits for all.
    *at* is the step at hand, and *stage* says where in it they stand whenever others go on. *key* has the numbers of
    the group of SMs, of the place, of the CTA in its cluster, and of the team. *mark* is called at each iteration.
    """

    def __init__(
        self,
        key: tuple[int, int, int, int],
        cta: Cta,
        team: Team,
        end: Callable[[], None],
        follower: Follower | None = None,
        mark: Callable[[Lockstep], None] | None = None,
    ) -> None:
        self.sm, self.cta, self.team, self.engine = cta.sm, cta, team, cta.sm.engine
        self.key, self.name, self.end, self.mark = key, f"{cta.name}, {team.name}", end, mark
        self.follower, self.cargo = follower, NOTHING
        self.stalls = cta.sm.stalls.setdefault(team.name, Counter())
        self.at = 0
        self.stage: tuple[str, Hashable] = START
        self.busy, self.began, self.since = 0, self.engine.now, 0
        self.woken = self.engine.now  # at an mbarrier, later by what waits for groups have taken since
        self.loads: dict[str, Flight] = {}
        self.ready: dict[str, int] = {}
        self.taken: dict[str, int] = {}  # when stores into shared memory have read registers
        self.open: dict[str, Flight] = {}
        self.groups: dict[str, list[Flight]] = {}
        self.copies = Tracked()  # by cp.async
        self.boxes = Boxes()  # loads by TMA
        self.arrived: Meeting | None = None  # at the barrier of the cluster
        self.through = 0  # when the port of shared memory is through with its last access
        self.through_own = 0  # the same of the first warp, if it were alone
        self.lag = 0  # what the last warp is behind the first, since each waits for its own loads

    def state(self, now: int, names: Names) -> Hashable:
        """What its future depends on: the step at hand, where in it, and what is under way."""
        at, steps = self.at, self.team.steps
        return (
            id(self.team),
            names.step(self, steps[at]) if at < len(steps) else 0,
            self.stage,
            tuple([(name, t - now) for name, t in self.ready.items() if t > now]),
            tuple([(name, t - now) for name, t in self.taken.items() if t > now]),
            tuple([(k, f.state(now)) for k, f in self.loads.items()]),
            tuple([(k, f.state(now)) for k, f in self.open.items()]),
            tuple([(k, *[f.state(now) for f in flights]) for k, flights in self.groups.items()]),
            self.copies.state(now, names),
            self.boxes.most,
            self._cluster_pending,
            max(0, self.through - now),
            max(0, self.through_own - now),
            self.lag,
            self._work,
        )

    @property
    def _work(self) -> Hashable:
        """How long it was at work since it was woken, and how long it waits, as far as ``Barrier.late`` asks for it."""
        until = self.since if self.stage == SLEEP else self.engine.now
        return min(MOST, until - self.woken), min(REACH * MOST, self.engine.now - until)

    @property
    def _cluster_pending(self) -> bool:
        """Whether the barrier of the cluster at which these threads have arrived awaits others."""
        return self.arrived is not None and self.cta.neighbours.get(CLUSTER_BARRIER) is self.arrived

    def flights(self) -> list[Flight]:
        """All that it may wait for, in order."""
        return [*self.loads.values(), *self.open.values(), *(f for flights in self.groups.values() for f in flights)]

    # -- waiting --------------------------------------------------------------------------------------

    def lags(self, ps: int) -> None:
        """The last warp has its loads so much later than the first."""
        self.lag = max(self.lag, ps)

    def _gathered(self) -> Steps:
        """Wait for the last of the warps."""
        if self.lag:
            yield from self._sleep(self.engine.now + self.lag, "loads", "lag")
            self.lag = 0

    def _stalled(self, cause: str) -> None:
        """It has waited since the time that is noted."""
        self.stalls[cause] += self.engine.now - self.since
        if self.sm.log is not None:
            self.sm.log.span(self.name, f"wait: {cause}", self.since)

    def _until(self, done: Callable[[], bool], signal: Signal, cause: str, which: Hashable = 0) -> Steps:
        self.since = self.engine.now
        while not done():
            self.stage = cause, which
            yield signal
        self._stalled(cause)

    def _sleep(self, time: int, cause: str, which: Hashable) -> Steps:
        """Wait until a time."""
        self.since, self.stage = self.engine.now, (cause, which)
        yield time - self.since
        self._stalled(cause)

    def _awaits(self, what: What) -> bool:
        """Whether registers that an operation reads are not there yet, or those that it writes are still read."""
        now = self.engine.now
        for name in what.reads:
            flight = self.loads.get(name)
            if (flight is not None and flight.pending) or self.ready.get(name, 0) > now:
                return True
        return bool(self.taken) and any(self.taken.get(name, 0) > now for name in what.writes)

    def _operands(self, what: What) -> Steps:
        """Wait for the registers that an operation reads, and until stores have read those that it writes."""
        for name in what.reads:
            flight = self.loads.get(name)
            if flight is not None and not flight.over():
                yield from self._until(flight.over, flight.signal, "loads", name)
            at = self.ready.get(name, 0)
            if at > self.engine.now:
                yield from self._sleep(at, "results", name)
        for name in what.writes:
            at = self.taken.get(name, 0)
            if at > self.engine.now:
                yield from self._sleep(at, "registers", name)

    def _results(self, what: What) -> None:
        """The registers that it writes are there after the latency."""
        ready = self.engine.now + self.sm.latency(what)
        for name in what.writes:
            self.ready[name] = ready

    def note(self, what: str, step: Step, since: int = 0) -> None:
        """What happened to an mbarrier, for a timeline."""
        if self.sm.log is not None:
            phase = self.cta.barriers[step.barrier].state.phase
            self.sm.log.happened(what, self.cta.name, self.name, step.barrier, phase, since)

    def _flight(self, among: dict[str, Flight], name: str) -> Flight:
        found = among.get(name)
        if found is None:
            found = among[name] = Flight(Signal(f"{name} to arrive"))
        return found
