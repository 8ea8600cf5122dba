"""Iterations that repeat are counted, not simulated: a run whose state comes back goes on as it did since then.

A pipeline of servers that always take as long as before (deterministic servers, first come, first served) and of roles
that do the same in each iteration has times x(k + p) = x(k) + T from some iteration on: its recurrence in max and plus
is periodic in the end (Baccelli, Cohen, Olsder and Quadrat, Synchronization and Linearity, 1992, theorem 3.28).
The period is not fitted. It is found where the whole state of a run, with times seen from now, equals one of before:
what each team does and waits for, mbarriers, what is under way, how long each server is busy yet, in which order events
come. What follows is then the same again, as long as the steps to come are those that came. So many periods are
skipped at once, and all counters get what these periods would add: the result is that of each step simulated.

A state is that of before where rings of mbarriers have turned: each slot is what another one was (``rotation``). What
is under way is moved to the slots where it is behind the periods that are skipped.

>>> import simulator
>>> from symlayout.kernels import bulk_copy
>>> bound = bulk_copy(1 << 20, chunk=1024, slots=3, blocks=1).bind()
>>> trace, whole = (simulator.simulate(bound, each_step=x, what_if=False, uncertainty=False) for x in (False, True))
>>> trace.time_ps == whole.time_ps, trace.uses == whole.uses, trace.stalls == whole.stalls
(True, True, True)
>>> "of 10248 steps repeat those before to the picosecond" in trace.notes[1]
True
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from symlayout.kernel import Kernel

from .dram import Ledger
from .engine import Engine, Process
from .lockstep import Lockstep
from .places import Clusters, Place
from .points import Array
from .resource import Pipe, Window
from .rotation import Rings, rings_of, turning
from .sm import Sm
from .steps import Step
from .timing_classes import Unit, timing_class
from .transfers import Landing, Transfer

if TYPE_CHECKING:
    from .memory import GlobalMemory

GAP = 2  # iterations until another state is kept, half as many more each time
PATIENCE = 64  # states that are looked at in vain until fewer are
COUNTERS: dict[type, tuple[str, ...]] = {Pipe: ("busy", "queued", "served"), Window: ("held_time", "queued")}
SERVED = COUNTERS[Pipe].index("served")  # of the first unit, the issue slots of the first SM


class Unknown(Exception):
    """An event whose state is not known."""


Turned = dict[tuple[int, int], dict[str, int]]  # how far each ring has turned, for each place on SMs


class _Names(dict[int, Hashable]):
    """Names of what is there, by identity, seen from how far the rings have *turned*."""

    def __init__(self, rings: Rings, turned: Turned) -> None:
        super().__init__()
        self.rings, self.turned = rings, turned

    def step(self, warps: Lockstep, step: Step) -> Hashable:
        """The kind of a step, and the place on its ring; where its CTA is over, the step itself."""
        if id(warps) not in self:
            return id(step)
        kind, ring, place, places = turning(warps.team, self.rings).of[id(step)]
        return kind, (place - self.turned[warps.key[:2]].get(ring, 0)) % places


@dataclass(frozen=True)
class Moment:
    """What was counted when a state was there, and how far teams and clusters were."""

    time: int
    looks: int
    counts: tuple[int, ...]  # of units
    stalls: dict[tuple[int, str, str], int]
    teams: tuple[tuple[Lockstep, int, int, int, int], ...]  # with the step at hand, and the times that are counted up
    taken: tuple[int, ...]
    dram: Ledger
    turned: Turned


class Recurrence:
    """Watches a run, and skips what repeats, unless *each_step*.

    ``skipped`` are the picoseconds, and ``steps`` the steps, left out. The run stops where an iteration begins, or a
    cluster, when the first SM has issued *until* steps or more: ``reached`` says how many, and when.
    """

    def __init__(
        self,
        engine: Engine,
        places: Sequence[Place],
        sms: Sequence[Sm],
        pipes: Sequence[Pipe],
        memory: GlobalMemory,
        until: int = 0,
        each_step: bool = False,
    ) -> None:
        self.engine, self.places, self.sms = engine, places, sms
        self.memory, self.until, self.each_step = memory, until, each_step
        self.skipped = self.steps = 0
        self.reached: tuple[int, int] | None = None
        self.looks, self._unknown = 0, False
        self.clusters: tuple[Clusters, ...] = tuple({id(p.clusters): p.clusters for p in places}.values())
        self.pipes = (*(p for sm in sms for p in sm.pipes), *pipes)
        self.windows = tuple(sm.in_flight for sm in sms)
        self.rings, self._filled = rings_of(sms[0].kernel), _filled_by_tma(sms[0].kernel)
        self.units: tuple[Any, ...] = (*self.pipes, *self.windows)
        self._due: set[Hashable] = set()
        self._units: set[Hashable] = set()
        self._seen: dict[Hashable, dict[Hashable, Moment]] = {}  # by what is told at once
        self._next, self._gap, self._vain = 0, GAP, 0
        self._lead: int | None = None
        self._forgotten = False
        places[0].mark = self.mark

    def mark(self, warps: Lockstep | None) -> None:
        """An iteration begins, or a cluster: look whether the state was there before."""
        if warps is not None:
            if self._lead is None:
                self._lead = warps.key[-1]
            if warps.key[-1] != self._lead or warps.key[2]:
                return
        if self.reached is None and 0 < self.until <= self.sms[0].slots.served:
            self.reached = self.sms[0].slots.served, self.engine.now + self.skipped
            self.engine.at(self.engine.now, self.engine.stop)
            return
        if self.each_step or self._unknown:
            return
        self.looks += 1
        now = self.engine.now
        due = sum([event[0] - now for event in self.engine.queue])
        if due not in self._due:  # most states are new, and when events come is the least that tells
            self._due.add(due)
            return
        units = self.memory.state(now, self._asks_lately()), *[pipe.state(now) for pipe in self.pipes]
        place = due, units, 0 if warps is None else self._next_kind(warps)
        known = self._seen.get(place)
        if known is None or self._vain > PATIENCE:
            if units not in self._units:
                self._units.add(units)
                return
            if self.looks < self._next:
                return
            self._gap += self._gap // 2
            self._next = self.looks + self._gap
        turned = self._turned()
        try:
            state = self._state(units, turned)
        except Unknown:
            self._unknown = True
            return
        here, before = self._moment(turned), known.get(state) if known else None
        self._vain += 1
        if before is None:
            self._seen.setdefault(place, {})[state] = here
            return
        turns = self._turns(before, here)
        times = self._repeats(before, here, turns)
        if times:
            self._skip(before, here, times)
            self._turn(turns, times)
            self._next, self._gap, self._vain = self.looks, GAP, 0
        else:
            self._seen[place][state] = here

    @property
    def why(self) -> str:
        """Why nothing was skipped, or "" where something was."""
        if self.steps:
            return ""
        if self.each_step:
            return "each step was asked for"
        if self._unknown:
            return "what is under way does not say its state"
        return f"no state of the SMs came back in {self.looks} iterations of a role"

    # -- the state ------------------------------------------------------------------------------------

    def _asks_lately(self) -> bool:
        """Whether a load may yet ask what DRAM did lately: not those of TMA to a slot that was filled before."""
        if self._filled:
            ctas = [cta for place in self.places for cta in place.ctas]
            every = (b.since.known for cta in ctas for (ring, _), b in cta.barriers.items() if ring in self._filled)
            if all(every) and all(place.ctas for place in self.places):
                self._filled, self._forgotten = (), True  # for good: the slots of a CTA know what those before it did
        return not self._forgotten

    def _next_kind(self, warps: Lockstep) -> int:
        """The kind of the step of a team that comes next."""
        kinds = turning(warps.team, self.rings).kinds
        return int(kinds[min(warps.at + 1, len(kinds) - 1)])

    def _turned(self) -> Turned:
        """How far the rings of each place have turned: where the next wait stands of the first team that has any."""
        found: Turned = {}
        for place in self.places:
            here = found[place.key] = dict[str, int]()
            for warps in place.teams:
                ahead = turning(warps.team, self.rings).ahead
                for ring in self.rings:
                    if ring not in here and (at := ahead(ring, warps.at)) is not None:
                        here[ring] = at
        return found

    def _state(self, units: Hashable, turned: Turned) -> Hashable:
        """All that the future depends on, seen from now, with that of the units. Raises Unknown."""
        now, names = self.engine.now, self._names(turned)

        def name(action: Callable[[], None]) -> Hashable:
            owner = getattr(action, "__self__", None)
            if isinstance(owner, Process):
                return owner.owner.key
            if isinstance(owner, Window):
                return names[id(owner)]
            if owner is None or not hasattr(owner, "state"):
                raise Unknown
            return action.__name__, owner.state(now, names)

        return (
            units,
            tuple([(*[t - now for t in sm.products if t > now], max(0, sm.multiplying - now)) for sm in self.sms]),
            tuple([(time - now, name(action)) for time, _, action in sorted(self.engine.queue, key=_order)]),
            tuple([place.state() for place in self.places]),
            tuple([warps.state(now, names) for place in self.places for warps in place.teams]),
            tuple([cta.state(names) for place in self.places for cta in place.ctas]),
            tuple([window.state(now, name) for window in self.windows]),
        )

    def _names(self, turned: Turned) -> _Names:
        """Names of what is there, by identity. Mbarriers are at places of a ring, as waits that do not pass are."""
        names, rings = _Names(self.rings, turned), self.rings
        names.update((id(w), k) for k, w in enumerate(self.windows))
        for place in self.places:
            here = turned[place.key]
            for cta in place.ctas:
                names[id(cta)] = place.key, cta.rank
                for (ring, slot), barrier in cta.barriers.items():
                    at = slot + rings[ring] * (barrier.state.phase % 2) - here.get(ring, 0)
                    names[id(barrier)] = place.key, cta.rank, ring, at % (2 * rings[ring])
            for warps in place.teams:
                names[id(warps)] = warps.key
                for k, flight in enumerate(warps.flights()):
                    names[id(flight)] = warps.key, k
        return names

    def _moment(self, turned: Turned) -> Moment:
        now = self.engine.now
        return Moment(
            now + self.skipped,
            self.looks,
            tuple([getattr(unit, counter) for unit in self.units for counter in COUNTERS[type(unit)]]),
            {
                (k, role, cause): ps
                for k, sm in enumerate(self.sms)
                for role, c in sm.stalls.items()
                for cause, ps in c.items()
            },
            tuple([(w, w.at, w.busy, now - w.began, now - w.since) for p in self.places for w in p.teams]),
            tuple([c.taken for c in self.clusters]),
            self.memory.dram.ledger,
            turned,
        )

    # -- what repeats ---------------------------------------------------------------------------------

    def _repeats(self, before: Moment, now: Moment, turns: Turned) -> int:
        """How often what was done since *before* is done again, where rings have turned so far meanwhile.

        It is as far as steps and clusters to come are alike, and at most as far as is asked for.
        """
        most = self._most(before, now, turns)
        each = (served := self.sms[0].slots.served) - before.counts[SERVED]
        if self.until and each > 0:
            most = min(most, max(0, self.until - served) // each)
        return most

    def _turns(self, before: Moment, now: Moment) -> Turned:
        """How far the rings of each place have turned since then."""
        return {
            place: {
                ring: (here.get(ring, 0) - before.turned[place].get(ring, 0)) % (2 * slots)
                for ring, slots in self.rings.items()
            }
            for place, here in now.turned.items()
        }

    def _most(self, before: Moment, now: Moment, turns: Turned) -> int:
        """How often steps and clusters to come are those since *before*, where rings have turned so far meanwhile."""
        again = self.memory.dram.again(before.dram)
        if not again:
            return 0
        most: list[int] = []
        for (old, at, *_), (warps, here, *_) in zip(before.teams, now.teams, strict=True):
            turn, team = turns[warps.key[:2]], turning(warps.team, self.rings)
            if old is warps and here > at:
                most.append((team.alike(at, here - at, turn) - 1) // (here - at))
            elif at != here or any(turn[ring] for ring, last in team.used if old is not warps or last >= at):
                return 0
            if most and most[-1] <= 0:
                return 0
        for clusters, at, here in zip(self.clusters, before.taken, now.taken, strict=True):
            if here > at:
                most.append(_alike(clusters.numbers, at, here - at) // (here - at))
        return min([again, *most]) if most else 0

    def _skip(self, before: Moment, now: Moment, times: int) -> None:
        """Count what was done since *before* so many times more."""
        self.skipped += times * (now.time - before.time)
        self.memory.dram.repeat(before.dram, times)
        served = sum(sm.slots.served for sm in self.sms)
        counters = ((unit, counter) for unit in self.units for counter in COUNTERS[type(unit)])
        for (unit, counter), a, b in zip(counters, before.counts, now.counts, strict=True):
            setattr(unit, counter, b + times * (b - a))
        self.steps += sum(sm.slots.served for sm in self.sms) - served
        for (k, role, cause), ps in now.stalls.items():
            self.sms[k].stalls[role][cause] += times * (ps - before.stalls.get((k, role, cause), 0))
        for (old, at, *old_times), (warps, here, *new_times) in zip(before.teams, now.teams, strict=True):
            busy, began, since = (times * (b - a) for a, b in zip(old_times, new_times, strict=True))
            warps.busy, warps.began, warps.since = warps.busy + busy, warps.began - began, warps.since - since
            if old is warps:
                warps.at += times * (here - at)
        for clusters, at, here in zip(self.clusters, before.taken, now.taken, strict=True):
            clusters.taken += times * (here - at)

    def _turn(self, turns: Turned, times: int) -> None:
        """Let what is under way be at the slots where it is after so many periods more."""
        by = {place: {ring: times * n for ring, n in x.items()} for place, x in turns.items()}
        for place in self.places:
            for cta in place.ctas:
                cta.turn(self.rings, by[place.key])
        here = {id(warps): warps for place in self.places for warps in place.teams}
        actions = [*(event[-1] for event in self.engine.queue), *(then for w in self.windows for then in w.asking)]
        owners = (getattr(action, "__self__", None) for action in actions)
        transfers = {id(t): t for x in owners if isinstance(t := x.box if isinstance(x, Landing) else x, Transfer)}
        for t in transfers.values():
            if (warps := here.get(id(t.warps))) is not None:
                t.step = turning(warps.team, self.rings).turned(t.step, by[warps.key[:2]])


def _filled_by_tma(kernel: Kernel) -> tuple[str, ...]:
    """The rings that loads by TMA fill; none where threads load too."""
    units = {id(op): timing_class(op).unit for op in kernel.walk()}
    if {Unit.LOAD, Unit.CP_ASYNC} & set(units.values()):
        return ()
    slots = (op.credits for op in kernel.walk() if units[id(op)] is Unit.TMA_LOAD)
    return tuple(dict.fromkeys(slot.barrier for slot in slots if slot is not None))


def _order(event: tuple[int, int, Any]) -> tuple[int, int]:
    return event[:2]


def _alike(numbers: Array, first: int, shift: int) -> int:
    """How many entries from the first on equal those that stand a shift later."""
    most = len(numbers) - shift - first
    if most <= 0:
        return 0
    differ = (numbers[first : first + most] != numbers[first + shift :]).nonzero()[0]
    return int(differ[0]) if len(differ) else most
