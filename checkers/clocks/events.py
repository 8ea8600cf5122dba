"""Events: executions of operations, one for each iteration of the loops around that tell them apart, and their order.

The executions of an event are numbered through its loops, the innermost fastest: ``number`` is ``t*K + i`` for steps i
of tiles t. Of two executions by one thread that with the smaller number of common iterations comes first.

>>> from symlayout import dims
>>> from symlayout.kernel.sites import sites
>>> from symlayout.kernels import gemm
>>> every = list(sites(gemm(*dims("M N K"))))
>>> arm = next(s for s in every if s.op.expects)
>>> print(event(arm).number(event(arm).plain))
wave*ceil(K/64) + i
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

from symlayout.expr import Fact, Symbol, build, digit, eq, terms_of
from symlayout.expr.division import without
from symlayout.facts import Facts, symbols_in
from symlayout.kernel import THREAD
from symlayout.kernel.sites import Site, Team, leader, unsteady
from symlayout.ops import WARP, Elect, For, Op, Role

from ..rings.shown import Open
from .under import Under

Env: TypeAlias = "Mapping[Symbol, Any]"


@dataclass(frozen=True, eq=False)
class Event:
    """An operation, executed once for each iteration of its first *depth* loops; further loops belong to one execution.

    *team* executes it. An *entry* is what happens on the way into an operation, before all that is inside of it. Where
    executions are numbered by steps of a size, as the last of each K steps is, they are those of a loop of K iterations
    more, which is not in the program, at iteration *at* of it.
    """

    site: Site
    depth: int
    team: Team
    entry: bool = False
    steps: For | None = None
    at: Any = 0

    @property
    def op(self) -> Op:
        return self.site.op

    @cached_property
    def places(self) -> tuple[int, ...]:
        """Its place in the program, that of the first loop which belongs to it where there is one."""
        seen = 0
        for n, a in enumerate(self.site.around):
            if isinstance(a, For):
                if seen == self.depth:
                    return self.site.places[: n + 1]
                seen += 1
        return self.site.places

    @cached_property
    def loops(self) -> tuple[For, ...]:
        return (*self.site.loops[: self.depth], *(() if self.steps is None else (self.steps,)))

    @cached_property
    def guards(self) -> tuple[Fact, ...]:
        """The conditions around it, those about threads aside."""
        steps = () if self.steps is None else (eq(self.steps.index, self.at),)
        return (*self.site.conditions, *steps)

    @cached_property
    def plain(self) -> dict[Symbol, Any]:
        """The indices of its loops, as themselves."""
        return {loop.index: loop.index for loop in self.loops}

    @cached_property
    def total(self) -> Any:
        """The number of iterations of its loops together."""
        out: Any = 1
        for loop in self.loops:
            out = out * loop.extent
        return out

    def number(self, env: Env, depth: int | None = None) -> Any:
        """The number of an execution among all iterations of its loops, or of the first few of them."""
        out: Any = 0
        for loop in self.loops[:depth]:
            out = out * loop.extent + env[loop.index]
        return out

    def exists(self, env: Env) -> tuple[Fact, ...]:
        """The facts of the conditions around an execution."""
        return tuple(put(f, env) for f in self.guards)

    def __str__(self) -> str:
        who = f"{self.site.role}: " if self.site.role else ""
        return f"{who}{self.site}"


def event(site: Site, depth: int | None = None, entry: bool = False, team: Team | None = None) -> Event:
    """The event of an operation, by default one execution for each iteration of all loops.

    Raises Open where it is not known who executes it, or how often.
    """
    team = team or site.team
    if team is None:
        raise Open(f"which threads execute {site}")
    varying = unsteady(site.program.kernel)
    inner: set[Symbol] = set()
    for loop in site.loops:
        used = symbols_in((loop.extent,))
        if used & (inner | varying) or any(x.name == THREAD for x in used):
            raise Open(f"the trip count {loop.extent} of {loop.index}, which is not the same each time")
        inner.add(loop.index)
    if varying & symbols_in(site.conditions):
        raise Open(f"a condition around {site} that depends on data")
    return Event(site, len(site.loops) if depth is None else depth, team, entry)


def numbered(e: Event, x: Any, facts: Facts) -> tuple[Event, int, Any]:
    """(event, step, first) of an expression that is ``step*number + first`` in the loops of an event. Raises Open.

    Where it grows by a size, the event is that of steps, see there: a last step where the expression is K*t + K - 1.
    """
    last, indices = e.loops[-1].index, {loop.index for loop in e.site.loops}
    terms = terms_of(x).items()
    step = build({without(m, (last,)) or (): c for m, c in terms if last in m})
    if last in symbols_in((step, x - step * last)) or facts.le(1, step) is not True:
        raise Open(f"a number of {e.site} that grows with each iteration: {x}")
    first = facts.normal(x - step * e.number(e.plain))
    if indices & symbols_in((first, step)):
        raise Open(f"one number for each iteration of {e.site}: {x}")
    if type(step) is int:
        return e, step, first
    inside = facts.le(0, first) is True and facts.le(first + 1, step) is True
    made = replace(e, steps=For(digit(f"{last.name}, steps", step), ()), at=first if inside else 0)
    return made, 1, 0 if inside else first


def put(x: Any, env: Env) -> Any:
    """An expression or a fact with values for the indices of loops."""
    known = {s: env[s] for s in getattr(x, "symbols", ()) if s in env and env[s] is not s}
    return x.subs(known) if known else x


def roles(s: Site) -> tuple[str, ...]:
    """The roles around an operation, outermost first: in a cluster that of its CTA is one."""
    return tuple(a.name for a in s.around if isinstance(a, Role))


def met_by(t: Site, s: Site) -> bool:
    """Whether the threads of *s* may come to *t*: no role is around it that is not around *s*, too."""
    around = roles(t)
    return around == roles(s)[: len(around)]


def common(a: Event, b: Event) -> int:
    """The number of loops around both."""
    n = _same(a, b)
    both = a.site.around[: min(n, len(a.places) - 1, len(b.places) - 1)]
    return min(sum(isinstance(x, For) for x in both), a.depth, b.depth)


def _same(a: Event, b: Event) -> int:
    n = 0
    while n < min(len(a.places), len(b.places)) and a.places[n] == b.places[n]:
        n += 1
    return n


def follows(a: Event, b: Event) -> bool:
    """Whether *b* comes after *a* within one iteration of the loops around both."""
    if a is b:
        return False
    if _same(a, b) == min(len(a.places), len(b.places)):  # one inside the other
        return a.entry and len(a.places) < len(b.places)
    return a.places < b.places


def gap(a: Event, mine: Env, b: Event, yours: Env) -> Any:
    """What is at least 0 where an execution of *a* comes before one of *b* in the program of a thread."""
    depth = common(a, b)
    return b.number(yours, depth) - a.number(mine, depth) - (0 if follows(a, b) else 1)


def scales(a: Event, b: Event) -> tuple[Any, ...]:
    """The trip counts of the inner loops of two events, as far as they are no numbers."""
    return tuple(dict.fromkeys(loop.extent for e in (a, b) for loop in e.loops[1:] if type(loop.extent) is not int))


def located(e: Event, number: Any, under: Under) -> tuple[dict[Symbol, Any], Under]:
    """The indices of the execution with a number, and facts that have them; that there is one is the caller's to see.

    A number of 0 .. total - 1 has one tuple of digits, which all executions with that number share.
    """
    if not e.loops:
        return {}, under
    if len(e.loops) == 1:
        return {e.loops[0].index: number}, under
    extents = _extents(e)
    for n, (known, digits) in under.digits.items():
        if known == extents and under.normal(n - number) == 0:
            return _indexed(e, digits), under
    env = {loop.index: under.shelf.digit(loop.index.name, n) for loop, n in zip(e.loops, extents, strict=True)}
    return env, under.also(Fact(e.number(env) - number, "==")).with_digits(number, extents, tuple(env.values()))


def behind(e: Event, number: Any, at: Event, here: Env, under: Under) -> tuple[dict[Symbol, Any], Under] | None:
    """The indices of the execution with a number, if it surely is one, and is before a point in the program."""
    depth = common(e, at)
    if not under.at_least_0(number):
        return None
    if depth == len(e.loops):  # what is before is not beyond the last either
        late = at.number(here, depth) - number - (0 if follows(e, at) else 1)
        return located(e, number, under) if under.at_least_0(late) else None
    if not under.at_least_0(e.total - 1 - number):
        return None
    env, under = located(e, number, under)
    return (env, under) if under.at_least_0(gap(e, env, at, here), scales(e, at)) else None


def neighbours(e: Event, number: Any, under: Under) -> Iterator[tuple[dict[Symbol, Any], Under]]:
    """The cases of which indices the execution with a number has, by those of one whose number is a few less or more.

    The one case of ``located`` where none is known.
    """
    extents = _extents(e)
    for n, (known, digits) in under.digits.items():
        apart = under.normal(number - n)
        if known == extents and type(apart) is int and apart and _carries(extents, apart, under):
            for found, here in _carried(digits, extents, apart, under):
                yield _indexed(e, found), here.with_digits(number, extents, found)
            return
    yield located(e, number, under)


def _carries(extents: tuple[Any, ...], by: int, under: Under) -> bool:
    """Whether adding so much carries at most 1 from a digit to the one before it."""
    return under.at_least_0(extents[-1] - abs(by)) and all(under.at_least_0(n - 1) for n in extents[1:-1])


def _carried(
    digits: tuple[Any, ...], extents: tuple[Any, ...], by: int, under: Under
) -> Iterator[tuple[tuple[Any, ...], Under]]:
    """The digits of a number that is *by* more, which is one of 0 .. total - 1: with a carry, and without."""
    *outer, last = digits
    n = extents[-1]
    inside = under.also(Fact(last + by, ">="), Fact(n - 1 - last - by, ">="))
    if not inside.empty:
        yield (*outer, last + by), inside
    over, carry = (Fact(last + by - n, ">="), 1) if by > 0 else (Fact(-1 - last - by, ">="), -1)
    if outer and not (beyond := under.also(over)).empty:
        for rest, here in _carried(tuple(outer), extents[:-1], carry, beyond):
            yield (*rest, last + by - carry * n), here


def _extents(e: Event) -> tuple[Any, ...]:
    return tuple(loop.extent for loop in e.loops)


def _indexed(e: Event, digits: tuple[Any, ...]) -> dict[Symbol, Any]:
    return {loop.index: d for loop, d in zip(e.loops, digits, strict=True)}


def fresh(e: Event, under: Under) -> tuple[dict[Symbol, Any], Under]:
    """Indices of any execution of an event, and facts that have it."""
    env: dict[Symbol, Any] = {}
    for loop in e.loops:
        env[loop.index] = e.at if loop is e.steps else under.shelf.digit(loop.index.name, loop.extent)
    under = under.also(*e.exists(env))
    return env, under.with_digits(e.number(env), _extents(e), tuple(env.values())) if len(e.loops) > 1 else under


def ranges(e: Event, env: Env) -> tuple[Fact, ...]:
    """That the indices of an execution are inside their loops."""
    out: list[Fact] = []
    for loop in e.loops:
        at, n = env[loop.index], put(loop.extent, env)
        out += [Fact(at, ">="), Fact(n - 1 - at, ">=")]
    return tuple(out)


@dataclass(frozen=True)
class Who:
    """Threads that are known to have come to an event: all of some warps, or one lane of each; or of one warp only."""

    team: Team
    one: bool = False  # of one of the warps, whichever
    lane: bool = False  # some lane of it, whichever

    def includes(self, other: Team) -> bool:
        """Whether all threads of a team are surely among them."""
        if self.lane or (self.one and len(self.team.warps) > 1):
            return False
        return self.team.includes(other) is True

    def in_each(self, other: Team) -> bool:
        """Whether some thread of each warp of a team is surely among them."""
        return not self.one and other.warps <= self.team.warps

    def meets(self, other: Team) -> bool:
        """Whether some thread of them is surely one of a team."""
        if self.one and not self.team.warps <= other.warps:
            return False
        if not self.team.warps & other.warps:
            return False
        if other.lanes == WARP:
            return True
        same = (self.team.lanes, self.team.chosen) == (other.lanes, other.chosen)
        return same or (self.team.lanes == WARP and not self.lane)

    def gathered(self, met: Team) -> Who:
        """All lanes of their warps, after a meeting of these."""
        if self.one:
            return Who(Team(self.team.warps, WARP), one=True)
        return Who(Team(self.team.warps & met.warps, WARP))


def alone(team: Team) -> Who:
    """One thread of a team, whichever."""
    if team.threads == 1:
        return Who(team)
    return Who(team, one=len(team.warps) > 1, lane=team.lanes > 1)


def elected(site: Site) -> Team | None:
    """The warps whose lanes wait for one another at an election; None where they need not."""
    op = site.op
    if not isinstance(op, Elect) or leader(op) or site.team is None or site.team.lanes != WARP:
        return None
    warps = site.team.warps if op.each_warp else frozenset({min(site.team.warps)}) if site.team.warps else frozenset()
    return Team(warps, WARP)
