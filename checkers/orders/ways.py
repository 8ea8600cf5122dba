"""The ways through a program from one operation on, with how far each loop has turned meanwhile.

A way takes every branch that sizes do not rule out, so what holds on all of them holds in every run. Loops and
conditions without fences, barriers, commits and waits inside change nothing: what is in them is met once, at any index.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from symlayout.expr import Expr, Fact
from symlayout.facts import Facts, symbols_in
from symlayout.kernel import Kernel
from symlayout.kernel.clusters import is_block
from symlayout.kernel.sites import Site, about_thread, unsteady, warps_of
from symlayout.ops import Barrier, BarrierArrive, ClusterBarrier, Commit, Fence, For, If, Role, WaitGroup, WarpBarrier

ORDERS = (Barrier, BarrierArrive, ClusterBarrier, Commit, Fence, WaitGroup, WarpBarrier)
MOST = 50_000  # steps of one walk; beyond it the claim is left open

Iteration: TypeAlias = "tuple[str, int]"  # ("on", d): d iterations after the start; ("at", k): iteration k; ("any", 0)
Places: TypeAlias = "tuple[int, ...]"
P = TypeVar("P", bound=Hashable)

ANY: Iteration = ("any", 0)


class TooMany(Exception):
    """More ways than are looked at."""


@dataclass(frozen=True)
class Way:
    """The route of a path from its start to a place."""

    iterations: tuple[Iteration, ...]  # of the loops around the place
    left: tuple[Iteration | None, ...]  # of those around the start: None inside, ("on", d): left d iterations later
    known: tuple[tuple[Any, int], ...] = ()  # (extent, n): a loop was left after n iterations

    def possible(self, start: Site) -> bool:
        """Whether the conditions around the start can have held on this way."""
        put = {}
        for loop, gone in zip(start.loops, self.left, strict=False):
            if gone is not None and gone[0] == "on":
                put[loop.index] = loop.extent - 1 - gone[1]
        return not any(self._fails(f.subs(put) if put else f) for f in start.conditions)

    def _fails(self, f: Fact) -> bool:
        if f.value is not None:
            return f.value is False
        if f.relation != ">=":
            return False
        return any(type(rest := f.expr - extent) is int and rest + n < 0 for extent, n in self.known)


class Ways:
    """The ways through a kernel."""

    def __init__(self, kernel: Kernel, every: Iterable[Site]) -> None:
        self.kernel, self.every = kernel.plain, list(every)
        self.sites = {s.places: s for s in self.every}
        self.active = {s.places for s in self.every if any(isinstance(o, ORDERS) for o in s.op.walk()) and s.op.body}
        self._never_empty: dict[Any, bool] = {}
        self._sure: dict[Fact, bool | None] = {}

    def quiet(self, s: Site) -> Places | None:
        """The outermost operation around a site in which nothing is ordered."""
        return next((s.places[:n] for n in range(1, len(s.places)) if s.places[:n] not in self.active), None)

    def walk(
        self,
        start: Site | None,
        warps: frozenset[int],
        begin: P,
        at: Callable[[P, Site, Way], P | None],
        end: Callable[[P, Way], None] | None = None,
    ) -> None:
        """Call *at* for every operation on every way from *start*, or from the top, until it returns None.

        It takes what it returned for the operation before, *begin* at first. Raises TooMany.
        """
        _Walk(self, start, warps, at, end).run(begin)

    def loops(self, places: Places) -> tuple[Places, ...]:
        """The places of the loops around a place."""
        return tuple(p for n in range(1, len(places)) if isinstance(self.sites[p := places[:n]].op, For))

    def divided(self) -> Iterator[Site]:
        """Loops and conditions with synchronisation inside, whose outcome may differ from thread to thread."""
        shared = {*self.kernel.dims, *self.kernel.block, *self.kernel.opaque} - unsteady(self.kernel)
        for s in self.every:
            if s.places in self.active and isinstance(s.op, For | If):
                facts = s.op.condition if isinstance(s.op, If) else ()
                found = {x for f in facts if not about_thread(f) for x in f.symbols}
                found |= symbols_in((s.op.extent,)) if isinstance(s.op, For) else set()
                if not found <= shared | {loop.index for loop in s.loops}:
                    yield s

    def sure(self, f: Fact) -> bool | None:
        """Whether a fact holds for all sizes, or for none."""
        if f.value is None and f not in self._sure:
            self._sure[f] = Facts.about(f, given=self.kernel.given).holds(f)
        return self._sure[f] if f.value is None else f.value

    def may_skip(self, loop: For) -> bool:
        """Whether a loop may have no iteration."""
        n = loop.extent
        if n not in self._never_empty:
            facts = Facts.about(n, given=self.kernel.given)
            self._never_empty[n] = facts.le(1, n) is True
        return not self._never_empty[n]


class _Walk:
    def __init__(self, ways: Ways, start: Site | None, warps: frozenset[int], at: Any, end: Any) -> None:
        self.ways, self.start, self.warps, self.at, self.end = ways, start, warps, at, end
        self.seen: set[Any] = set()
        self.heads: set[Any] = set()
        self.stack: list[tuple[Places, Way, Any]] = []

    def run(self, begin: Any) -> None:
        if self.start is None:
            self._arrive((0,), Way((), ()), begin)
        else:
            self._begin(self.start, begin)
        while self.stack:
            places, way, p = self.stack.pop()
            if (places, way, p) in self.seen:
                continue
            self.seen.add((places, way, p))
            if len(self.seen) > MOST:
                raise TooMany(f"more than {MOST} steps from {self.start} on")
            self._step(places, way, p)

    def _begin(self, s: Site, p: Any) -> None:
        quiet = self.ways.quiet(s)
        depth = len(self.ways.loops(quiet or s.places))
        around = len(s.loops)
        way = Way((("on", 0),) * depth, (None,) * depth + (ANY,) * (around - depth))
        if quiet is not None:
            self._rest(s.places, quiet, way, p)
        self._next(quiet or s.places, way, p)

    def _rest(self, places: Places, quiet: Places, way: Way, p: Any) -> None:
        """The continuation after a start without synchronisation: all of a loop around it, else what comes next."""
        chain = [places[:n] for n in range(len(quiet), len(places))]
        loop = next((c for c in chain if isinstance(self.ways.sites[c].op, For)), None)
        if loop is not None:
            self._inside(loop, way, p)
        here = loop or places
        while here != quiet:
            self._siblings(here[:-1], here[-1] + 1, way, p)
            here = here[:-1]

    def _arrive(self, places: Places, way: Way, p: Any) -> None:
        self.stack.append((places, way, p))

    def _step(self, places: Places, way: Way, p: Any) -> None:
        s = self.ways.sites[places]
        op = s.op
        if not op.body:
            after = self.at(p, s, way)
            if after is not None:
                self._next(places, way, after)
        elif isinstance(op, Role) and not warps_of(op) & self.warps:
            self._next(places, way, p)
        elif places not in self.ways.active:
            self._inside(places, way, p)
            self._next(places, way, p)
        elif isinstance(op, For):
            if self.ways.may_skip(op):
                self._next(places, self._noted(way, op, 0), p)
            if op.extent != 0:
                self._arrive((*places, 0), Way((*way.iterations, ("at", 0)), way.left, way.known), p)
        elif isinstance(op, If):
            sure = self._decided(s, op, way)
            if sure is not False:
                self._arrive((*places, 0), way, p)
            if sure is not True:
                self._next(places, way, p)
        else:
            self._arrive((*places, 0), way, p)

    def _inside(self, places: Places, way: Way, p: Any) -> None:
        """Every operation of a part in which nothing is ordered."""
        if isinstance(self.ways.sites[places].op, For):
            way = Way((*way.iterations, ANY), way.left, way.known)
        self._siblings(places, 0, way, p)

    def _siblings(self, places: Places, first: int, way: Way, p: Any) -> None:
        for i in range(first, len(self.ways.sites[places].op.body)):
            s = self.ways.sites[*places, i]
            if s.op.body:
                self._inside(s.places, way, p)
            else:
                self.at(p, s, way)

    def _next(self, places: Places, way: Way, p: Any) -> None:
        """Go on behind an operation."""
        while len(places) > 1:
            container = self.ways.sites[places[:-1]]
            if places[-1] + 1 < len(container.op.body):
                self._arrive((*places[:-1], places[-1] + 1), way, p)
                return
            if isinstance(container.op, For):
                self._around(container, way, p)
                out = self._out(container, way)
                if out is None:
                    return
                way = out
            places = container.places
        if places[0] + 1 < len(self.ways.kernel.body):
            self._arrive((places[0] + 1,), way, p)
        elif self.end is not None:
            self.end(p, way)

    def _around(self, s: Site, way: Way, p: Any) -> None:
        """The next iteration of a loop; one that adds nothing new represents all that follow."""
        kind, n = way.iterations[-1]
        extent = s.op.extent  # type: ignore[attr-defined]
        if kind != "any" and isinstance(extent, int) and n + 1 >= extent:
            return
        head = (s.places, way.iterations[:-1], kind, way.left, p)
        iteration = ANY if kind == "any" or head in self.heads else (kind, n + 1)
        self.heads.add(head)
        self._arrive((*s.places, 0), Way((*way.iterations[:-1], iteration), way.left, way.known), p)

    def _out(self, s: Site, way: Way) -> Way | None:
        """The way behind a loop."""
        iteration, left = way.iterations[-1], way.left
        depth = len(way.iterations) - 1
        loop = s.op
        assert isinstance(loop, For)
        if iteration[0] == "at" and isinstance(loop.extent, int) and iteration[1] + 1 != loop.extent:
            return None
        if depth < len(left) and left[depth] is None and self._around_start(s):
            gone = iteration if iteration[0] == "on" else ANY
            left = (*left[:depth], gone, *left[depth + 1 :])
        way = Way(way.iterations[:-1], left, way.known)
        return self._noted(way, loop, iteration[1] + 1) if iteration[0] == "at" else way

    def _around_start(self, s: Site) -> bool:
        return self.start is not None and self.start.places[: len(s.places)] == s.places

    def _noted(self, way: Way, loop: For, n: int) -> Way:
        fact = (loop.extent, n)
        if isinstance(loop.extent, int) or fact in way.known or symbols_within(loop):
            return way
        return Way(way.iterations, way.left, (*way.known, fact))

    def _decided(self, s: Site, op: If, way: Way) -> bool | None:
        """Whether a condition holds, if the iterations of the loops imply it."""
        put = {}
        for places, (kind, n) in zip(self.ways.loops(s.places), way.iterations, strict=False):
            if kind == "at":
                put[self.ways.sites[places].op.index] = n  # type: ignore[attr-defined]
        found = [None if about_thread(f) else self.ways.sure(f.subs(put) if put else f) for f in op.condition]
        return False if False in found else True if all(x is True for x in found) else None


def symbols_within(loop: For) -> bool:
    """Whether the extent of a loop changes with the loops around it."""
    extent = loop.extent
    return isinstance(extent, Expr) and any(s.lower == 0 and not is_block(s) for s in extent.symbols)
