"""Chains of waits: what is over before an operation, for all iterations.

A thread knows what it did before. A wait that has returned tells what the threads knew that contributed to its phase,
when they did; a meeting of threads tells what each of them did. A chain goes from an operation to the last wait before
it, from there to a contribution to the awaited phase, and on from that. Every step goes back in time, so what is shown
about an operation may rest on all that came before: a proof by induction over the time at which operations execute.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from symlayout.atoms import Issuer
from symlayout.expr import Fact, divides
from symlayout.kernel.joined import Joined
from symlayout.kernel.sites import sites
from symlayout.ops import SCOPES, WARP, Arrive, Barrier, BarrierArrive, Elect, Wait, WarpBarrier

from ..rings.shown import Open
from .events import Env, Event, Who, alone, behind, common, elected, event, follows, gap, located, put, scales
from .phases import Case, Present, cases, complete
from .under import Under
from .uses import CLUSTER, Phased, Use

DEPTH = 4  # waits of a chain
NOT_TOLD = (Barrier, BarrierArrive, *CLUSTER, Elect)  # whose waits are those of barriers, or none


@dataclass(frozen=True, eq=False)
class Told:
    """An operation after which a thread knows more: a wait for a phase, or a meeting of the lanes of a warp.

    A meeting that orders no memory (``elect.sync``, a wgmma) only says that all lanes have come so far.
    """

    event: Event
    barrier: Phased | None = None
    use: Use | None = None
    memory: bool = True


@dataclass(frozen=True, eq=False)
class Point:
    """Threads that are known to have come to an execution of an event."""

    event: Event
    env: Env
    who: Who


@dataclass(eq=False)
class Chains:
    """The waits and meetings of a kernel, of all CTAs of a cluster, and what they tell."""

    whole: Joined
    barriers: Sequence[Phased]
    _near: dict[Any, dict[tuple[int, ...], int]] = field(default_factory=dict)
    _contributions: dict[Any, list[Case]] = field(default_factory=dict)

    @cached_property
    def told(self) -> list[Told]:
        """All operations after which a thread knows more."""
        out = [Told(u.event, b, u) for b in self.barriers for u in b.waits]
        for s in sites(self.whole.kernel):
            if s.team is None or s.team.lanes != WARP:
                continue
            warps = elected(s)
            if isinstance(s.op, WarpBarrier):
                out.append(Told(event(s)))
            elif warps is not None:
                out.append(Told(event(s, entry=True, team=warps), memory=False))
            elif s.op.issuer is not Issuer.THREAD and not isinstance(s.op, NOT_TOLD):
                out.append(Told(event(s), memory=False))
        return out

    # -- what is known --------------------------------------------------------------------------------

    def known(self, goal: Event, env: Env, at: Point, under: Under, memory: bool = True) -> bool:
        """Whether all threads of an execution of *goal* are known to be past it, where *at* is."""

        def here(p: Point, u: Under) -> bool:
            return p.who.includes(goal.team) and u.at_least_0(gap(goal, env, p.event, p.env), scales(goal, p.event))

        return self.search(here, self.near(goal), at, under, memory)

    def over(self, b: Phased, v: Any, at: Point, under: Under, memory: bool = False) -> bool:
        """Whether use *v* of a barrier is known to be complete, where *at* is."""
        if under.also(Fact(v, ">=")).empty:
            return True
        under = under.also(Fact(v, ">="))

        def here(p: Point, u: Under) -> bool:
            return any(self._waited(w, v, p, u) for w in b.waits if p.who.meets(w.event.team))

        near = self._distances(("barrier", b), lambda e: any(_shares(e, w.event) for w in b.waits))
        if self.search(here, near, at, under, memory):
            return True
        apart = list(cases(b.of_waits, v, under))  # which waits there are for it
        if len(apart) > 1 and all(c.present and self.search(here, near, at, c.under, memory) for c in apart):
            return True
        return self._all_arrived(b, v, at, under, memory)

    def _all_arrived(self, b: Phased, v: Any, at: Point, under: Under, memory: bool) -> bool:
        """Whether all that contribute to a phase are known, where nothing lands in it."""
        found = list(cases(b, v, under))
        if not all(c.completes(b) and c.at_once for c in found):
            return False
        return all(self.known(p.use.event, p.env, at, c.under, memory) for c in found for p in c.present)

    def _waited(self, w: Use, v: Any, p: Point, under: Under) -> bool:
        """Whether a wait for use *v* has returned before a point."""
        number = under.normal(v - w.first)
        if w.event.loops and w.step != 1:
            number = divides(w.step, number)
            if number is None:
                return False
        found = behind(w.event, number, p.event, p.env, under)
        return found is not None and all(found[1].shows(f) for f in w.event.exists(found[0]))

    # -- the search -----------------------------------------------------------------------------------

    def search(self, here: Any, near: Any, at: Point, under: Under, memory: bool) -> bool:
        """Whether some chain leads from a point to one where *here* holds; *near* bounds the waits that it needs."""
        return any(self._step(here, near, at, under, memory, depth, ()) for depth in range(DEPTH + 1))

    def _step(
        self, here: Any, near: Any, at: Point, under: Under, memory: bool, depth: int, passed: tuple[Any, ...]
    ) -> bool:
        """Whether a chain of exactly *depth* waits leads to where *here* holds."""
        if near.get(at.event.places, 0) > depth:
            return False
        if depth == 0:
            return bool(here(at, under))
        for told in self._before(at, memory):
            if told.event in passed:
                continue
            last = self.latest(told.event, at, under)
            if last is None:
                continue
            env, now = last
            again = (*passed, told.event)
            if told.barrier is None or told.use is None:
                point = Point(told.event, env, at.who.gathered(told.event.team))
                if self._step(here, near, point, now, memory, depth - 1, again):
                    return True
                continue
            if self._through(here, near, told, env, now, memory, depth, again):
                return True
        return False

    def _through(
        self, here: Any, near: Any, told: Told, env: Env, under: Under, memory: bool, depth: int, passed: Any
    ) -> bool:
        """Whether in each case a contribution to the awaited phase leads on."""
        assert told.barrier is not None
        assert told.use is not None
        v = told.use.at(env)
        if not under.at_least_0(v):  # a phase before the first is over from the start, and tells nothing
            return False
        try:
            found = self._contributing(told.barrier, v, under)
        except Open:
            return False
        return all(
            any(
                self._step(here, near, after(p), c.under, memory, depth - 1, passed)
                for p in c.present
                if not memory or self._tells(p.use, told.use)
            )
            for c in found
        )

    def _tells(self, u: Use, w: Use) -> bool:
        """Whether a wait makes known what the threads of a contribution did: in another CTA by the scopes of both."""
        if not u.tells or self.whole.rank(u.event.team) == self.whole.rank(w.event.team):
            return u.tells
        return _scope(u) == _scope(w) == SCOPES[1]

    def _contributing(self, b: Phased, v: Any, under: Under) -> list[Case]:
        key = b, v, under.given
        if key not in self._contributions:
            self._contributions[key] = complete(b, v, under)
        return self._contributions[key]

    def _before(self, at: Point, memory: bool) -> Iterator[Told]:
        for t in self.told:
            if (t.memory or not memory) and at.who.meets(t.event.team):
                yield t

    def latest(self, w: Event, at: Point, under: Under) -> tuple[dict[Any, Any], Under] | None:
        """The indices of the last execution of an event before a point, if there surely is one."""
        depth = common(w, at.event)
        env: dict[Any, Any]
        outer = w.loops[:depth]
        if follows(w, at.event):
            env = {loop.index: at.env[loop.index] for loop in outer}
        else:
            if not depth:
                return None
            number = at.event.number(at.env, depth) - 1
            if not under.at_least_0(number):
                return None
            head = Event(at.event.site, depth, at.event.team)
            env, under = located(head, number, under)
        for loop in w.loops[depth:]:
            n = put(loop.extent, env)
            if not under.at_least_0(n - 1):
                return None
            env[loop.index] = w.at if loop is w.steps else n - 1
        return (env, under) if all(under.shows(f) for f in w.exists(env)) else None

    def near(self, goal: Event) -> dict[Any, int]:
        """A lower bound of the number of waits from each event to the threads of another."""
        return self._distances(("event", goal), lambda e: _shares(e, goal))

    def _distances(self, key: Any, close: Any) -> dict[Any, int]:
        """A lower bound of the number of waits from each event to a goal, by who takes part where."""
        if key in self._near:
            return self._near[key]
        events = {u.event for b in self.barriers for u in (*b.arrivals, *b.waits)} | {t.event for t in self.told}
        out = {e.places: 0 for e in events if close(e)}
        for n in range(1, DEPTH + 2):
            for e in events:
                if e.places not in out and any(m == n - 1 for m in self._onward(e, out)):
                    out[e.places] = n
        found = self._near[key] = {e.places: out.get(e.places, DEPTH + 1) for e in events}
        return found

    def _onward(self, e: Event, out: dict[tuple[int, ...], int]) -> Iterator[int]:
        for t in self.told:
            if _shares(t.event, e):
                if t.barrier is None:
                    yield out.get(t.event.places, DEPTH + 1)
                else:
                    yield from (out.get(u.event.places, DEPTH + 1) for u in t.barrier.arrivals)


def _scope(u: Use) -> str:
    """Whose threads an arrival releases to, or a wait acquires from."""
    op = u.event.op
    return SCOPES[1] if isinstance(op, CLUSTER) else op.scope if isinstance(op, Arrive | Wait) else SCOPES[0]


def _shares(a: Event, b: Event) -> bool:
    """Whether some warp executes both."""
    return bool(a.team.warps & b.team.warps)


def after(p: Present) -> Point:
    """All threads that made a contribution, when they did."""
    return Point(p.use.event, p.env, Who(p.use.event.team))


def start(e: Event, env: Env) -> Point:
    """One thread of an event, whichever, as it comes to it."""
    return Point(e, env, alone(e.team))
