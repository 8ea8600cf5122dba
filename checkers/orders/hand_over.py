"""A tile that one role writes and another reads, handed over at barriers which the threads of both meet.

The n-th time that a role comes to such a barrier is the n-th time of the other. So two accesses are in order where
the barriers that stand before them differ in number, if what comes first is over, and fenced where it must be, at the
next barrier. The numbers are expressions of loop indices: never equal, or equal at iterations a fixed distance apart.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain
from typing import Any, ClassVar, cast

from symlayout.expr import Symbol, digit, substitute, terms_of
from symlayout.facts import Facts
from symlayout.kernel import Kernel
from symlayout.kernel.counting import Counter, Uncounted, Wanted
from symlayout.kernel.sites import Site, warps_of
from symlayout.kernel.visitor import Handlers, Visitor
from symlayout.ops import (
    Arrive,
    Barrier,
    ClusterBarrier,
    ClusterWait,
    CpAsyncArrive,
    ExpectTx,
    Fence,
    For,
    If,
    Op,
    Role,
    Wait,
    WaitGroup,
)

from .barriers import Meeting, number_of
from .footprints import Touched
from .in_shared import InShared
from .needs import Progress, begin, needs_fence, perhaps, remaining, surely
from .rules import Order
from .runs_at_sizes import EVENTS, FURTHER, STARTS, Event, told
from .shared_accesses import Access, parallel
from .ways import TooMany, Way

RULE = "handed_over"


class RoleCounter(Counter):
    """Counts what the threads of some warps meet."""

    def __init__(self, kernel: Kernel, facts: Facts, warps: frozenset[int]) -> None:
        super().__init__(kernel, facts)
        self.warps = warps

    def _role(self, site: Site) -> Any:
        return self._sum(self.inside(site)) if warps_of(cast(Role, site.op)) & self.warps else 0

    handlers: ClassVar[Handlers] = {**Counter.handlers, Role: _role}


class HandOver(InShared):
    """The orders between accesses of roles that run side by side."""

    def orders(self) -> Iterator[Order]:
        for m in self.meetings.values():
            for one, other in itertools.combinations(_parties(m), 2):
                if m.sound and parallel(one, other):
                    yield self._paired(one, other)
        for a, b in itertools.combinations(self.every, 2):
            if a.tensor != b.tensor or "write" not in (a.kind, b.kind) or not parallel(a.site, b.site):
                continue
            if self.footprints.anyhow(a, b) != "apart":
                yield self._pair(a, b)

    # -- two accesses -------------------------------------------------------------------------------

    def _pair(self, a: Access, b: Access) -> Order:
        where = f"{a} of {a.site.role}, and {b} of {b.site.role}"
        shared = self._shared(a.team.warps, b.team.warps)
        lacks = self._unordered(a, b, shared)
        if not lacks:
            names = " and ".join(self.meetings[n].name for n in shared)
            return Order(RULE, where, by=f"{names} of both between any two that meet")
        seen = self._seen(a, b, shared)
        if seen:
            return Order(RULE, where, missing=seen)
        return Order(RULE, where, beyond=lacks, pair=(a.site, b.site, a.tensor))

    def _shared(self, one: frozenset[int], other: frozenset[int]) -> list[int]:
        """The barriers that the threads of both meet, each whenever it comes to one."""
        return [n for n, m in self.meetings.items() if m.sound and self._all(m, one) and self._all(m, other)]

    def _all(self, m: Meeting, warps: frozenset[int]) -> bool:
        mine = [s for s in m.sites if s.team is not None and s.team.warps & warps]
        return warps <= m.warps and bool(mine) and all(s.team is not None and s.team.warps >= warps for s in mine)

    def _unordered(self, a: Access, b: Access, shared: list[int]) -> str:
        """Why two accesses are not known to be in order; "" where they are."""
        if not shared:
            return f"how {a.site.role} and {b.site.role} are ordered: no barrier awaits the threads of both"
        try:
            apart = self._never_together(a, b, shared)
        except Uncounted as e:
            return f"how many barriers come before {a} and {b}: {e}"
        if not apart:
            return f"whether a barrier of both is always between {a} and {b}"
        for x, y in ((a, b), (b, a)):
            late = self._late(x, y, shared)
            if late:
                return late
        return ""

    def _never_together(self, a: Access, b: Access, shared: list[int]) -> bool:
        """Whether numbers of barriers before the two differ wherever they meet."""
        rename: dict[Symbol, Symbol] = {}
        for loop in b.site.loops:
            extent = substitute(loop.extent, rename)
            rename[loop.index] = digit(f"{loop.index.name}__b", extent)
        facts = Facts.about(
            *self.kernel.dims,
            *self.kernel.block,
            *(loop.index for loop in a.site.loops),
            *rename.values(),
            given=self.kernel.given,
        )
        deltas = []
        for n in shared:
            wanted = _wanted(n)
            before = [RoleCounter(self.kernel, facts, x.team.warps).before(x.site, wanted) for x in (a, b)]
            second = substitute(before[1], rename)
            deltas.append(before[0] - second)
        tried = [*deltas, sum(deltas), *(x - y for x, y in itertools.combinations(deltas, 2))]
        if any(_never_zero(x, facts) for x in tried):
            return True
        return any(self._apart_where_equal(a, b, x, rename) for x in tried)

    def _apart_where_equal(self, a: Access, b: Access, delta: Any, rename: dict[Symbol, Symbol]) -> bool:
        """Whether the two touch different bytes at the iterations at which as many barriers come before both."""
        terms = dict(terms_of(delta))
        k = terms.pop((), 0)
        back = {new: old for old, new in rename.items()}
        if len(terms) != 2 or any(len(m) != 1 for m in terms):
            return False
        x, y = (m[0] for m in terms)
        i, j = (x, y) if y in back else (y, x)
        if not isinstance(i, Symbol) or not isinstance(j, Symbol):
            return False
        c = terms[i,]
        if i in back or j not in back or c != -terms[j,] or not any(i is loop.index for loop in a.site.loops):
            return False
        return k % c != 0 or self.footprints.tied(a, b, i, back[j], k // c) == "apart"  # i + k/c is j

    def _late(self, a: Access, b: Access, shared: list[int]) -> str:
        """Why an access is not over, and fenced, at the next barrier of both; "" where it is."""
        fence, late = needs_fence(a, b), list[str]()
        most = 1 + max((s.op.pending for s in self.ways.every if isinstance(s.op, WaitGroup)), default=0)

        def at(p: Progress, s: Site, way: Way) -> Progress | None:
            if isinstance(s.op, Barrier | ClusterBarrier) and number_of(s.op) in shared:
                if not p.done or (fence and not p.fenced):
                    what = "is over" if not p.done else "is fenced"
                    late.append(f"whether {a} {what} when {a.site.role} comes to {s}")
                return None
            return surely(p, s, a, most, self.meetings)

        try:
            self.ways.walk(a.site, a.team.warps, begin(a), at)
        except TooMany as e:
            return str(e)
        return late[0] if late else ""

    # -- two roles ----------------------------------------------------------------------------------

    def _paired(self, one: Site, other: Site) -> Order:
        """A check that the roles of two barriers meet all barriers of both equally often, in the same order."""
        where = f"{one.role} and {other.role}"
        teams = [s.team.warps if s.team is not None else frozenset() for s in (one, other)]
        shared = self._shared(*teams)
        names = " and ".join(self.meetings[n].name for n in shared)
        if not shared:
            return Order(RULE, where, beyond=f"which threads of {where} come to {one} and {other}")
        facts = Facts.about(*self.kernel.dims, *self.kernel.block, given=self.kernel.given)
        ways = [_Skeleton(warps, set(shared)).of(self.kernel.plain) for warps in teams]
        if ways[0] == ways[1]:
            return Order(RULE, where, by=f"{names} in the same loops of both")
        if len(shared) == 1:
            with suppress(Uncounted):
                totals = [RoleCounter(self.kernel, facts, warps).total(_wanted(shared[0])) for warps in teams]
                if facts.resolved(totals[0] - totals[1]) == 0:
                    return Order(RULE, where, by=f"{names}, {totals[0]} times by both")
        stuck = self._stuck(one.role, other.role, teams, shared)
        if stuck:
            return Order(RULE, where, missing=stuck)
        return Order(RULE, where, beyond=f"whether {where} come to {names} equally often, in the same order")

    def _stuck(self, one: str, other: str, teams: list[frozenset[int]], shared: list[int]) -> str:
        """A run in which the roles wait for one another for ever."""
        for sizes, *events in self.runs.of(*teams):
            orders = [[number_of(e.site.op) for e in x if _meets(e.site, shared)] for x in events]
            whole = all(len(x) < EVENTS for x in events)
            same = min(map(len, orders))
            if orders[0][:same] != orders[1][:same] or (whole and len(orders[0]) != len(orders[1])):
                at = next((i for i in range(same) if orders[0][i] != orders[1][i]), same)
                what = [f"barrier {x[at]}" if at < len(x) else "no more" for x in orders]
                size = f"for {', '.join(f'{k} = {v}' for k, v in sizes.items())}: " if sizes else ""
                return f"{size}after {at} barriers of both, {one} comes to {what[0]}, {other} to {what[1]}"
        return ""

    # -- runs at sizes ------------------------------------------------------------------------------

    def _seen(self, a: Access, b: Access, shared: list[int]) -> str:
        """Accesses that certainly meet in a run at some sizes without a barrier of both in between."""
        if not self._only(a, b, shared):
            return ""
        for sizes, first, second in self.runs.of(a.team.warps, b.team.warps):
            found = self._together(
                list(self._spans(a, b, first, shared)), list(self._spans(b, a, second, shared)), a, b
            )
            if found is not None:
                x, y, n = found
                return (
                    f"no barrier of {a.site.role} and {b.site.role} between the two; add one there; "
                    f"{told(sizes, x, y)}, element {n} of {a.tensor}"
                )
        return ""

    def _only(self, a: Access, b: Access, shared: list[int]) -> bool:
        """Whether nothing but the shared barriers can order the two roles: no mbarrier, no barrier with a third."""
        one, other = (warps_of(_role(x.site)) for x in (a, b))
        warps = one | other
        for s in self.ways.every:
            mine = s.team is None or bool(s.team.warps & warps)
            if mine and isinstance(s.op, Arrive | ClusterWait | CpAsyncArrive | Wait | ExpectTx):
                return False
            if mine and isinstance(s.op, Barrier | ClusterBarrier) and number_of(s.op) not in shared:
                m = self.meetings[number_of(s.op)]
                if not m.sound or (m.warps & one and m.warps & other) or m.warps - warps:
                    return False
        return all(self.meetings[n].warps <= warps for n in shared)

    def _spans(
        self, a: Access, b: Access, events: list[Event], shared: list[int]
    ) -> Iterator[tuple[Event, tuple[int, ...], tuple[int, ...], Progress]]:
        """Each execution of an access, with the barriers before it and before it is over by which threads."""
        counts = [tuple(0 for _ in shared)]
        for e in events:
            now = tuple(c + (_meets(e.site, [n])) for c, n in zip(counts[-1], shared, strict=True))
            counts.append(now)
        for i in [i for i, e in enumerate(events) if e.site is a.site][:STARTS]:
            p, over = begin(a), i
            fence = needs_fence(a, b) and not self._fenced_by_others(a)
            for k in range(i + 1, min(len(events), i + FURTHER)):
                if p.done and (p.fenced or not fence):
                    break
                over, p = k, perhaps(p, events[k].site, a, b)
            yield events[i], counts[i], counts[over], p

    def _fenced_by_others(self, a: Access) -> bool:
        """Whether threads that are not all of the writers fence: it may be on the way, which clocks tell."""
        fences = [s.team for s in self.ways.every if isinstance(s.op, Fence) and s.op.about == "async"]
        return any(t is None or not t.includes(a.team) for t in fences)

    def _together(self, xs: Iterable[Any], ys: list[Any], a: Access, b: Access) -> tuple[Event, Event, int] | None:
        for e, start, over, p in xs:
            for f, begin_, end, q in ys:
                before = any(s > o for s, o in zip(begin_, over, strict=True))
                after = any(s > o for s, o in zip(start, end, strict=True))
                if before or after:
                    continue
                first, second = self._by(a, e, p), self._by(b, f, q)
                if first is not None and second is not None and first.meets(second) != "apart":
                    return e, f, first.shared(second)
        return None

    def _by(self, a: Access, event: Event, p: Progress) -> Touched | None:
        """The footprint of an access by the threads whose progress a run tracks."""
        found = self.runs.touched(a, event)
        return found.by(remaining(p, a)) if found is not None and p.others else found


def _parties(m: Meeting) -> list[Site]:
    """One barrier of each role that meets there."""
    found = {(s.role, s.team): s for s in m.sites if s.role}
    return list(found.values())


def _role(s: Site) -> Role:
    return next(x for x in s.around if isinstance(x, Role))


def _wanted(number: int) -> Wanted:
    return lambda op: isinstance(op, Barrier | ClusterBarrier) and number_of(op) == number


def _meets(s: Site, shared: Iterable[int]) -> bool:
    return isinstance(s.op, Barrier | ClusterBarrier) and number_of(s.op) in shared


def _never_zero(x: Any, facts: Facts) -> bool:
    terms = dict(terms_of(x))
    constant = terms.pop((), 0)
    common = math.gcd(*terms.values()) if terms else 0
    if constant % common if common else constant:
        return True
    return facts.lt(0, x) is True or facts.lt(x, 0) is True


class _Skeleton(Visitor[tuple[Any, ...]]):
    """The barriers of some numbers that warps meet, in their loops and conditions."""

    def __init__(self, warps: frozenset[int], shared: set[int]) -> None:
        self.warps, self.shared = warps, shared

    def of(self, kernel: Kernel) -> tuple[Any, ...]:
        return tuple(chain.from_iterable(self.run(kernel)))

    def _inner(self, site: Site) -> tuple[Any, ...]:
        return tuple(chain.from_iterable(self.inside(site)))

    def _barrier(self, site: Site) -> tuple[Any, ...]:
        n = number_of(cast("Barrier | ClusterBarrier", site.op))
        return (n,) if n in self.shared else ()

    def _role(self, site: Site) -> tuple[Any, ...]:
        return self._inner(site) if warps_of(cast(Role, site.op)) & self.warps else ()

    def _loop(self, site: Site) -> tuple[Any, ...]:
        inside = self._inner(site)
        return ((cast(For, site.op).extent, inside),) if inside else ()

    def _condition(self, site: Site) -> tuple[Any, ...]:
        inside = self._inner(site)
        return ((cast(If, site.op).condition, inside),) if inside else ()

    handlers: ClassVar[Handlers] = {
        **{Barrier: _barrier, ClusterBarrier: _barrier},
        **{Role: _role, For: _loop, If: _condition, Op: _inner},
    }
