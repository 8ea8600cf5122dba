"""No circle of waits: a number for each wait that falls from a wait to those that its phase depends on.

A thread that stays at a wait lacks a contribution to its phase. The thread that should make it stays at a wait of its
own, which comes before that contribution in its program. The number of executions by which the second lies behind the
first is bounded for each pair of waits; where the bounds along no circle add up to 0 or more, no such chain comes back
to where it was, and all threads go on.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar, cast

from symlayout.expr import Fact, divides
from symlayout.kernel import Kernel
from symlayout.kernel.sites import Site
from symlayout.kernel.visitor import Handlers, Visitor
from symlayout.ops import For, Op, Role

from ..rings.shown import Open
from .events import Env, Event, common, follows, fresh, put
from .phases import cases
from .under import Under
from .uses import Phased, Use


@dataclass(frozen=True, eq=False)
class Edge:
    """A wait that can hold up another: by how much its number is greater, at most."""

    of: Use
    on: Use
    shift: int


def expect_no_circle(kernel: Kernel, barriers: Sequence[Phased], begin: Under) -> None:
    """Raise Open unless no wait can come to depend on itself."""
    waits = [(b, w) for b in barriers for w in b.waits]
    pairs = [(b, w, x) for b, w in waits for _, x in waits if _may_hold_up(b, x)]
    around = _circular([(w, x) for _, w, x in pairs])
    times = Times(kernel, barriers)
    edges = []
    for b, w, x in pairs:
        if (w, x) in around:
            edges += list(_edges(b, w, x, begin, times))
    _expect_falling(edges)


class Times(Visitor[Any]):
    """A time for each execution: how many iterations that wait its threads have begun, at a rate for each outer loop.

    It is a guess that makes the numbers of different roles comparable; what rests on it is shown.
    """

    def __init__(self, kernel: Kernel, barriers: Sequence[Phased]) -> None:
        self.kernel, self.barriers = kernel, barriers
        self.waiting = {id(w.event.op) for b in barriers for w in b.waits}
        self.rates: dict[int, Any] = {}  # by the identity of a loop that no other is around
        self.rates = self._rates()

    def of(self, e: Event, env: Env) -> Any:
        """The time of an execution."""
        out: Any = sum(islice(self.run(self.kernel), e.site.places[0]), 0)
        rate: Any = 1
        for a, place in zip(e.site.enclosing(), e.site.places[1:], strict=True):
            if isinstance(a.op, For):
                rate = rate if a.loops else self.rates.get(id(a.op), 1)
                out = out + rate * env.get(a.op.index, 0) * self._each(a)
            out = out + rate * sum(islice(self.inside(a), place), 0)
        return put(out, env)

    def _loop(self, site: Site) -> Any:
        """The time of a loop that waits, without the rate of one around."""
        waits = any(id(op) in self.waiting for op in site.op.walk())
        rate = 1 if site.loops else self.rates.get(id(site.op), 1)
        return rate * cast(For, site.op).extent * self._each(site) if waits else 0

    def _each(self, loop: Site) -> Any:
        """Iterations that wait in one of a loop: those of loops inside, or itself."""
        inside = sum(self.inside(loop), 0)
        return 1 if type(inside) is int and inside == 0 else inside

    def _innermost(self, e: Event) -> Any:
        """Iterations that wait in one of the last loop around an event."""
        last = e.site.loops[e.depth - 1]
        return self._each(next(a for a in e.site.enclosing() if a.op is last))

    handlers: ClassVar[Handlers] = {
        For: _loop,
        Role: lambda self, site: 0,  # whose time is their own
        Op: lambda self, site: sum(self.inside(site), 0),
    }

    def _rates(self) -> dict[int, Any]:
        """Rates by which uses of the barriers that loops share go on at one speed, as far as there are some.

        Of two loops, the times from one use of a barrier to the next are iterations that wait over uses.
        """
        ratios: dict[int, list[tuple[int, Any, Any]]] = {}
        for b in self.barriers:
            for w, u in itertools.product(b.waits, b.arrivals):
                if w.event.loops and u.event.loops and w.event.loops[0] is not u.event.loops[0]:
                    for x, y in ((w, u), (u, w)):
                        mine, yours = self._innermost(x.event) * _pace(y), self._innermost(y.event) * _pace(x)
                        ratios.setdefault(id(x.event.loops[0]), []).append((id(y.event.loops[0]), mine, yours))
        out: dict[int, Any] = {}
        whole = math.lcm(1, *(n for of in ratios.values() for _, _, n in of if type(n) is int))
        for rate, root in itertools.product((1, whole), ratios):
            found = _reached(root, rate, ratios)
            if len(found) > sum(x in out for x in found):
                out |= found
        return out


def _pace(u: Use) -> Any:
    """The uses from one iteration of the last loop around an event to the next."""
    return u.step * (1 if u.event.steps is None else u.event.steps.extent)


def _reached(root: int, rate: Any, ratios: dict[int, list[tuple[int, Any, Any]]]) -> dict[int, Any]:
    """The rates of loops that follow from that of one: each is mine/yours times that of its neighbour."""
    out, todo = {root: rate}, [root]
    while todo:
        x = todo.pop()
        for y, mine, yours in ratios[x]:
            found = divides(yours, out[x] * mine) if y not in out else None
            if found is not None:
                out[y] = found
                todo.append(y)
    return out


def _may_hold_up(b: Phased, x: Use) -> bool:
    """Whether threads at a wait may have a contribution to a phase still before them."""
    return any(_after(u, x) for u in b.arrivals)


def _after(u: Use, x: Use) -> bool:
    """Whether some execution of a wait comes before one of a contribution, in the program of one thread."""
    if not u.event.team.warps & x.event.team.warps or (u.event is x.event and not common(u.event, x.event)):
        return False
    return follows(x.event, u.event) or common(x.event, u.event) > 0


def _circular(pairs: list[tuple[Use, Use]]) -> set[tuple[Use, Use]]:
    """The pairs that lie on a circle."""
    onward: dict[Use, set[Use]] = {}
    for a, b in pairs:
        onward.setdefault(a, set()).add(b)
    reach: dict[Use, set[Use]] = {}
    for a in onward:
        seen, todo = set[Use](), [a]
        while todo:
            for c in onward.get(todo.pop(), ()):
                if c not in seen:
                    seen.add(c)
                    todo.append(c)
        reach[a] = seen
    return {(a, b) for a, b in pairs if a in reach.get(b, ())}


def _edges(b: Phased, w: Use, x: Use, begin: Under, times: Times) -> Iterator[Edge]:
    """The most by which an execution of *x* that holds up one of *w* is later than it."""
    env, under = fresh(w.event, begin)
    v = w.at(env)
    for case in cases(b, v, under.also(Fact(v, ">="))):
        for p in case.present:
            if not _after(p.use, x):
                continue
            mine, here = _any_before(x.event, p.use.event, p.env, case.under)
            if here.empty:
                continue
            shift = _most(times.of(x.event, mine) - times.of(w.event, env), here, b.slots)
            if shift is None:
                raise Open(f"that no circle of waits goes through {w} and {x}")
            yield Edge(w, x, shift)


def _any_before(x: Event, u: Event, at: Env, under: Under) -> tuple[dict[Any, Any], Under]:
    """Any execution of a wait before one of a contribution in the program."""
    mine, here = fresh(x, under)
    depth = common(x, u)
    late = u.number(at, depth) - x.number(mine, depth) - (0 if follows(x, u) else 1)
    return mine, here.also(Fact(late, ">="))


def _most(ahead: Any, under: Under, slots: int) -> int | None:
    """A number that is not less, the least of a few that is shown."""
    ahead = under.normal(ahead)
    if type(ahead) is int:
        return ahead
    tried = sorted({n * k for n in (-slots - 1, -slots, 1 - slots, slots - 1, slots, 1, 0) for k in (1, 2)} | {-1, -2})
    return next((n for n in tried if under.at_least_0(n - ahead)), None)


def _expect_falling(edges: list[Edge]) -> None:
    """Raise Open for a circle of edges whose shifts add up to 0 or more."""
    nodes = list(dict.fromkeys(x for e in edges for x in (e.of, e.on)))
    scale = len(nodes) + 1
    height = dict.fromkeys(nodes, 0)
    for _ in range(len(nodes) + 1):
        raised = None
        for e in edges:
            least = height[e.of] + scale * e.shift + 1
            if least > height[e.on]:
                height[e.on], raised = least, e
        if raised is None:
            return
    assert raised is not None
    raise Open(f"that no circle of waits goes through {raised.of} and {raised.on}")
