"""The order of accesses to shared memory by clocks: of two that may meet, one is over before the other begins.

A fill is over when its phase is known to be complete, an access of a group when a wait_group for it has returned, any
other with its operation. What a thread has written is read through the async proxy behind a proxy fence, by the writer,
the reader, or a thread on the way from the one to the other (PTX ISA, Causality order).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from symlayout.atoms import Completion, Proxy
from symlayout.atoms.peers import WORDS
from symlayout.expr import Fact, divides, eq, terms_of
from symlayout.facts import Facts, symbols_in
from symlayout.kernel.counting import Counter, Uncounted
from symlayout.kernel.sites import Site, sites
from symlayout.kernel.unrolled import Places
from symlayout.ops import Commit, Fence, For, Op, Touch, WaitGroup

from ..orders.footprints import Footprints
from ..orders.shared_accesses import accesses_of, parallel
from ..orders.ways import Ways
from ..rings.shown import Open
from .cells import Cells, anywhere, cells
from .chains import Point, start
from .events import Env, Event, alone, behind, common, event, follows, fresh, met_by, numbered, put
from .protocol import Protocol
from .under import Under


@dataclass(eq=False)
class Orders:
    """The order of accesses in a kernel whose protocol holds."""

    protocol: Protocol
    names: frozenset[str] = frozenset()
    done: list[str] = field(default_factory=list)

    @cached_property
    def every(self) -> list[Site]:
        return list(sites(self.protocol.whole.kernel))

    @cached_property
    def cells(self) -> list[Cells]:
        return cells(self.protocol.whole.kernel, self.protocol.barriers, self.names)

    def pairs(self) -> Iterator[tuple[Cells, Cells]]:
        """Accesses of which one is a fill or by a peer, or of roles that run concurrently; one of the two writes."""
        for i, a in enumerate(self.cells):
            for b in self.cells[: i + 1]:
                if a.ref.tensor != b.ref.tensor or not (a.changes or b.changes):
                    continue
                if a.fill or b.fill or self._of_peer(a) or self._of_peer(b) or parallel(a.event.site, b.event.site):
                    yield a, b

    def _of_peer(self, c: Cells) -> bool:
        """Whether it is an access to the memory of another CTA, or by a word that may be: no other claim asks of it."""
        whole = self.protocol.whole
        return getattr(c.event.op, "atom", "") in WORDS or whole.rank(c.event.team) != whole.rank_of(c.ref.tensor)

    def check(self) -> None:
        """Show the order of all pairs. Raises Open."""
        for a, b in self.pairs():
            self.expect(a, b)

    def expect(self, a: Cells, b: Cells) -> None:
        """Show that two accesses never meet out of order. Raises Open."""
        if a is b and a.event.team.threads != 1 and not self._distinct(a):
            raise Open(f"that threads of {a} write different bytes")
        if a is not b and a.apart(b):
            return
        mine, under = fresh(a.event, self.protocol.begin)
        yours, under = fresh(b.event, under)
        for difference, here in self._meetings(a, mine, b, yours, under):
            if here.empty:
                continue
            late = difference > 0 or (difference == 0 and b.fill is not None)  # of one use the fill comes first
            first, second = ((b, yours), (a, mine)) if late else ((a, mine), (b, yours))
            if a is b and difference == 0:
                if _injective(a):
                    continue
                raise Open(f"that {a} fills a slot once in each use")
            if self.before(*first, *second, here):
                continue
            fixed = (a.fill or b.fill) and a.counted and b.counted  # which use is read is Computes' to rely on
            if fixed or not self.before(*second, *first, here):
                raise Open(f"that {first[0]} is over before {second[0]}, or the other way round{_uses(difference)}")
        self.done.append(f"{a} and {b}")

    def _distinct(self, a: Cells) -> bool:
        """Whether the threads of a copy by cp.async, or to a peer, write different bytes in one execution."""
        if a.event.op.completion is not Completion.CP_ASYNC and getattr(a.event.op, "atom", "") not in WORDS:
            return False
        kernel = self.protocol.whole.kernel
        mine = [x for x in accesses_of(a.event.site, (a.ref.tensor,)) if x.kind.changes]
        return all(Footprints(kernel, Ways(kernel, self.every)).clash(x) == "apart" for x in mine)

    def expect_apart(self, first: str, second: str) -> None:
        """Show that all that touches a tensor is over before anything touches another. Raises Open."""
        touching = {n: {s.places for s in self.every if _touches(s.op, n)} for n in (first, second)}
        found = {n: [c for c in self.cells if c.ref.tensor == n] for n in (first, second)}
        for n, seen in found.items():
            if {c.event.site.places for c in seen} != touching[n]:
                raise Open(f"what touches {n}")
        for a, b in itertools.product(found[first], found[second]):
            mine, under = fresh(a.event, self.protocol.begin)
            yours, under = fresh(b.event, under)
            if not under.empty and not self.before(a, mine, b, yours, under):
                raise Open(f"that {a} is over before {b}")

    def expect_before(self, first: tuple[Places, Touch], second: tuple[Places, Touch], together: bool) -> None:
        """Show that an access to whatever memory, at a place in the program, is over before another. Raises Open.

        All executions of the one are, or with *together* that in the same iterations of the loops around both.
        """
        a, b = (anywhere(self._here(at), touch, self.protocol.barriers) for at, touch in (first, second))
        mine, under = fresh(a.event, self.protocol.begin)
        if together:
            if [x.extent for x in a.event.loops] != [x.extent for x in b.event.loops]:
                raise Open(f"which iterations of {a} and {b} are the same")
            yours: Env = {y.index: mine[x.index] for x, y in zip(a.event.loops, b.event.loops, strict=True)}
            under = under.also(*b.event.exists(yours))
        else:
            yours, under = fresh(b.event, under)
        if not under.empty and not self.before(a, mine, b, yours, under):
            raise Open(f"that {a} is over before {b}")

    def _here(self, at: Places) -> Site:
        return next(x for x in self.every if x.places == at)

    def _meetings(self, a: Cells, mine: Env, b: Cells, yours: Env, under: Under) -> Iterator[tuple[int, Under]]:
        """The cases in which two accesses may touch the same bytes: which is of the later use, by its sign."""
        alike = (a.slots, a.elements) == (b.slots, b.elements)
        if not alike:
            yield 0, under
            return
        m = under.shelf.integer("m")
        apart = put(a.number, mine) - put(b.number, yours)
        for sign, fact in ((0, Fact(apart, "==")), (1, m >= 1), (-1, m <= -1)):
            yield sign, under.also(fact) if not sign else under.also(eq(apart, a.slots * m), fact)

    # -- one before the other ---------------------------------------------------------------------------

    def before(self, a: Cells, mine: Env, b: Cells, yours: Env, under: Under) -> bool:
        """Whether an access is known to be over when another begins."""
        at = start(b.event, yours)
        if not (a.changes and a.proxy is Proxy.GENERIC and b.proxy is Proxy.ASYNC):
            both = a.proxy is b.proxy is Proxy.ASYNC  # what is over when a copy is issued is before what that writes
            return self.over(a, mine, at, under, memory=not (both and b.changes))
        return self._fenced(a, mine, at, under)

    def over(self, a: Cells, env: Env, at: Point, under: Under, memory: bool = True) -> bool:
        """Whether an access is known to be over at a point; with *memory* what it did is known there, too."""
        chains = self.protocol.chains
        if a.fill is not None:
            b, use = a.fill
            return chains.over(b, use.at(env), at, under, memory=memory)
        if a.over is Completion.AT_ONCE:
            return chains.known(a.event, env, at, under)
        ends = self._ends(a, env)
        whole = a.over is Completion.WGMMA  # one operation of all its warps: any thread that has waited knows of all

        def here(p: Point, u: Under) -> bool:
            if not (p.who.in_each(a.event.team) if whole else p.who.includes(a.event.team)):
                return False
            return any(_ended(*e, p, u) for e in ends)

        return bool(ends) and chains.search(here, chains.near(a.event), at, under, memory=memory)

    def _ends(self, a: Cells, env: Env) -> list[tuple[Site, Any, Any]]:
        """The wait_groups that may end an asynchronous access: the last group that is over then, and its own."""
        role = a.event.site.role
        mine = [s for s in self.every if s.role == role and getattr(s.op, "group", None) == a.over]
        if any(s.team is None or not s.team.includes(a.event.team) for s in mine):
            return []
        commits: Callable[[Op], bool] = lambda op: isinstance(op, Commit) and op.group == a.over  # noqa: E731
        counted = self._count(a.event.site, commits)
        if counted is None or symbols_in((counted,)) & {x.index for x in a.event.site.loops[a.event.depth :]}:
            return []
        waits = [s for s in mine if isinstance(s.op, WaitGroup) and not (s.op.read and a.changes)]
        found = [(s, s.op.pending, self._count(s, commits)) for s in waits if isinstance(s.op, WaitGroup)]
        return [(s, done - pending - 1, put(counted, env)) for s, pending, done in found if done is not None]

    def _count(self, s: Site, wanted: Callable[[Op], bool]) -> Any:
        kernel = self.protocol.whole.kernel
        about = (*kernel.dims, *kernel.block, *(loop.index for loop in s.loops))
        counted = {id(t.op) for t in self.every if wanted(t.op) and met_by(t, s)}
        try:
            return Counter(kernel, Facts.about(*about, given=(*kernel.given, *s.conditions))).before(
                s, lambda op: id(op) in counted
            )
        except Uncounted:
            return None

    # -- proxies ----------------------------------------------------------------------------------------

    def _fenced(self, a: Cells, env: Env, at: Point, under: Under) -> bool:
        """Whether a proxy fence stands between a write and what the async proxy does: at the writer, or on the way."""
        fences = [s for s in self.every if isinstance(s.op, Fence) and s.op.about == "async" and s.team is not None]
        for s in fences:
            if s.team is not None and s.team.includes(a.event.team) and s.role == a.event.site.role:
                f = event(s)
                depth = common(f, a.event)
                if follows(a.event, f) and depth == f.depth:
                    there = {loop.index: env[loop.index] for loop in f.loops}
                    ended = (a.over is Completion.AT_ONCE and a.fill is None) or self.over(
                        a, env, start(f, there), under
                    )
                    exists = all(under.shows(x) for x in f.exists(there))
                    if ended and exists and self.protocol.chains.known(f, there, at, under):
                        return True
        found = [event(s) for s in fences]

        def here(p: Point, u: Under) -> bool:
            return any(self._fences(f, a, env, p, u) for f in found)

        return bool(found) and self.protocol.chains.search(here, {}, at, under, memory=True)

    def _fences(self, f: Event, a: Cells, env: Env, p: Point, under: Under) -> bool:
        """Whether the last execution of a fence before a point, by some of its threads, is behind a write."""
        last = self.protocol.chains.latest(f, p, under) if p.who.meets(f.team) else None
        return last is not None and self.over(a, env, Point(f, last[0], alone(f.team)), last[1])


def _ended(s: Site, ended: Any, group: Any, p: Point, under: Under) -> bool:
    """Whether a wait_group has returned before a point that ends a *group*: the last that is over then is *ended*."""
    used = symbols_in((ended,))
    e = event(s, max((n for n, loop in enumerate(s.loops, 1) if loop.index in used), default=0))
    if symbols_in(s.conditions) & {loop.index for loop in s.loops[e.depth :]}:
        return False
    number: Any = 0
    if not e.loops:
        if not under.at_least_0(ended - group):
            return False
    else:
        try:
            e, step, first = numbered(e, ended, Facts.about(ended, given=under.given))
        except Open:
            return False
        late = (divides(step, under.normal(group - first + n)) for n in range(step))
        number = next((n for n in late if n is not None), None)
    found = None if number is None else behind(e, number, p.event, p.env, under)
    if found is None:
        return False
    env, here = found
    last = e.steps is None or here.at_least_0(e.at - env[e.steps.index])
    return last and all(here.shows(put(f, env)) for f in s.conditions)


def _touches(op: Op, name: str) -> bool:
    return any(r.tensor == name for r in (*op.sources, *op.targets))


def _injective(a: Cells) -> bool:
    """Whether executions with one number are one: the number grows with each."""
    e = a.event
    if not _spread(a, e.site.loops[e.depth :]):
        return False
    if not e.loops:
        return True
    step = terms_of(a.number).get((e.loops[-1].index,), 0)
    if type(step) is not int or step < 1:
        return False
    rest = a.number - step * e.number(e.plain)
    return not symbols_in((rest,)) & {loop.index for loop in e.site.loops}


def _spread(a: Cells, inside: tuple[For, ...]) -> bool:
    """Whether the iterations of loops in one execution touch different elements: each strides over those inside."""
    terms, room, index = terms_of(a.ref.offset), a.width, {loop.index for loop in inside}
    rest = a.ref.offset - sum(terms.get((loop.index,), 0) * loop.index for loop in inside)
    if symbols_in((rest,)) & index:
        return False
    for loop in sorted(inside, key=lambda loop: terms.get((loop.index,), 0)):
        stride = terms.get((loop.index,), 0)
        if not 0 < room <= stride or type(loop.extent) is not int:
            return False
        room = stride * loop.extent
    return True


def _uses(difference: int) -> str:
    return {0: " in the same use", 1: " some uses later", -1: " some uses later"}[difference]
