"""Use numbers: which phase of which barrier each arrival, landing and wait is about.

Use u of an array of S mbarriers is phase u // S of slot u % S. The use number of an operation is affine in the indices
of its loops, so the next phase of its slot is use u + S and no quotient is left. It is read off the slot, ``n % S``,
or else counted: the operations of the role before it. A wait whose parity is that of ``n // S + 1`` is for use n - S,
which is complete from the start where it is negative. Slots that are numbers everywhere are barriers of their own.

>>> from symlayout.kernels import tma_copy
>>> for b in barriers(tma_copy(64, 256, tile=(16, 64), slots=2, blocks=1)):
...     print(f"{b.name} of {b.slots}, awaits {b.awaits}:", *(f"{w.use} {w.event.site.role}" for w in b.waits))
barrier 0 of 1, awaits 64: 0
full of 2, awaits 1: i consumer
empty of 2, awaits 1: i - 2 producer
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from symlayout.atoms import Extent
from symlayout.expr import Expr, Fact, Quotient, mod, terms_of
from symlayout.facts import Facts, opaque_atoms, symbols_in
from symlayout.kernel import THREAD, Kernel
from symlayout.kernel.counting import Counter, Uncounted
from symlayout.kernel.joined import Joined, joined
from symlayout.kernel.sites import Site, sites, unsteady
from symlayout.ops import (
    Arrive,
    Barrier,
    BarrierArrive,
    Box,
    ClusterArrive,
    ClusterBarrier,
    ClusterWait,
    Copy,
    CpAsyncArrive,
    ExpectTx,
    Op,
    PeerCopy,
    Slot,
    Wait,
)

from ..orders.barriers import apart, awaited
from ..rings.shown import Open
from .events import Event, event, met_by, numbered, roles

CLUSTER = (ClusterArrive, ClusterBarrier, ClusterWait)  # operations of the barrier of the cluster


@dataclass(frozen=True, eq=False)
class Use:
    """An event at a barrier: its *use* number is ``step*number + first``, with the number of its execution.

    It brings *arrivals*, lets the phase await *expected* bytes and credits *landed* ones, in each execution. What its
    threads did before it *tells* to those that wait for the phase, unless it comes later than they go on.
    """

    event: Event
    use: Any
    step: int
    first: Any
    arrivals: int = 0
    expected: Any = 0
    landed: Any = 0
    tells: bool = True

    def at(self, env: Any) -> Any:
        """The use number of an execution."""
        return self.step * self.event.number(env) + self.first

    def __str__(self) -> str:
        return str(self.event)


@dataclass(eq=False)
class Phased:
    """A barrier, or an array of *slots* that are used in turn: a phase of each *awaits* so many arrivals.

    Threads that meet at a *named* one (``bar.sync``) arrive and wait at once, for the phase of their arrival.
    """

    name: str
    slots: int
    awaits: int
    arrivals: list[Use] = field(default_factory=list)
    waits: list[Use] = field(default_factory=list)
    named: bool = False

    @cached_property
    def of_waits(self) -> Phased:
        """What is asked of contributions, asked of waits: which of them are for a use."""
        return Phased(self.name, self.slots, 1, [replace(w, arrivals=1, expected=0, landed=0) for w in self.waits])

    def __str__(self) -> str:
        return self.name


def barriers(kernel: Kernel) -> list[Phased]:
    """The barriers of a kernel with their uses, the named ones first. Raises Open where a use has no number."""
    reader = _Reader(joined(kernel))
    return [*reader.named(), *reader.mbarriers()]


class _Reader:
    def __init__(self, whole: Joined) -> None:
        self.whole, self.kernel = whole, whole.kernel.plain
        self.every = list(sites(self.kernel))
        places: dict[int, Site] = {}
        for s in self.every:
            if places.setdefault(id(s.op), s) is not s and not s.op.body and _orders(s.op):
                raise Open(f"each operation stands in one place: {s}")

    # -- named barriers -----------------------------------------------------------------------------

    def named(self) -> Iterator[Phased]:
        found: dict[int, list[Site]] = {}
        for s in self.every:
            if isinstance(s.op, Barrier | BarrierArrive):
                found.setdefault(s.op.number, []).append(s)
            elif isinstance(s.op, CLUSTER):
                found.setdefault(-1, []).append(s)
        for number, mine in ((n, part) for n, every in sorted(found.items()) for part in self._parts(every)):
            counts = {awaited(self.kernel, s.op) for s in mine}
            name = self.whole.numbered(number) if number >= 0 else "the cluster barrier"
            if len(counts) > 1:
                raise Open(f"how many threads {name} awaits: {' or '.join(map(str, sorted(counts)))}")
            made = Phased(name, 1, counts.pop(), named=True)
            arriving = [s for s in mine if not isinstance(s.op, ClusterWait)]
            made.arrivals = [self._meeting(s, arriving) for s in arriving]
            made.waits = [u for u in made.arrivals if not isinstance(u.event.op, BarrierArrive | ClusterArrive)]
            waiting = [s for s in mine if not isinstance(s.op, BarrierArrive | ClusterArrive)]
            made.waits += [self._meeting(s, waiting) for s in waiting if isinstance(s.op, ClusterWait)]
            yield made

    def _meeting(self, s: Site, alike: list[Site]) -> Use:
        """An arrival at a barrier of threads, or a wait for it: which it is, among those of its threads."""
        wanted = {id(x.op) for x in alike}
        use = self._counted(s, lambda op: id(op) in wanted)
        told = not (isinstance(s.op, ClusterArrive) and s.op.relaxed)
        return replace(use, arrivals=use.event.team.threads, tells=told)

    def _parts(self, mine: list[Site]) -> Iterator[list[Site]]:
        """The uses of a number, those by the whole CTA at the start each apart where others await fewer threads."""
        first, rest = apart(self.kernel, mine)
        yield from ([s] for s in first)
        yield rest

    # -- mbarriers ----------------------------------------------------------------------------------

    def mbarriers(self) -> Iterator[Phased]:
        for b in self.kernel.barriers:
            mine = [(s, x) for s in self.every for x in _slots(s.op) if x.barrier == b.name]
            numbers = {x.slot for _, x in mine}
            if b.slots > 1 and all(type(n) is int for n in numbers):
                for n in sorted(numbers):
                    yield self._array(f"{b.name}[{n}]", 1, b.arrivals, [(s, x) for s, x in mine if x.slot == n])
            elif mine:
                yield self._array(b.name, b.slots, b.arrivals, mine)

    def _array(self, name: str, slots: int, awaits: int, mine: list[tuple[Site, Slot]]) -> Phased:
        made = Phased(name, slots, awaits)
        for s, x in mine:
            op = s.op
            if isinstance(op, Wait):
                made.waits.append(self._wait(s, op, x, slots, mine))
                continue
            if isinstance(op, PeerCopy):  # of a kernel without clusters
                raise Open(f"where {s} is")
            use = self._contribution(s, x, slots, mine)
            times = self._times(use)
            threads = use.event.team.threads
            if isinstance(op, Copy):
                credited = _credited(self.kernel, op)
                made.arrivals.append(replace(use, landed=credited * times * threads, tells=False))
                continue
            if type(times) is not int:
                raise Open(f"how often {s} arrives in a phase: {times} times")
            if isinstance(op, Arrive) and op.peer is not None:  # likewise
                raise Open(f"that {s} arrives in this CTA")
            expected = op.bytes * threads * times if isinstance(op, ExpectTx) else 0
            told = not isinstance(op, CpAsyncArrive)
            made.arrivals.append(replace(use, arrivals=threads * times * _count(op), expected=expected, tells=told))
        return made

    def _times(self, use: Use) -> Any:
        """The executions of an operation that are one of its event."""
        e = use.event
        inside, times = e.site.loops[e.depth :], 1
        for loop in inside:
            if symbols_in((loop.extent,)) & {x.index for x in e.site.loops}:
                raise Open(f"the trip count {loop.extent} of {loop.index}")
            times = times * loop.extent
        return times

    def _wait(self, s: Site, op: Wait, x: Slot, slots: int, mine: list[tuple[Site, Slot]]) -> Use:
        facts = self._facts(s)
        for n in self._numbers(s, x, slots, mine, op.parity):
            if _zero(facts, x.slot - mod(n, slots)) or (slots == 1):
                for late in (0, 1):
                    use = n - late * slots
                    if facts.le(use, -slots - 1) is True:  # no phase is: of phase -1 a wait returns, of -2 it may not
                        continue
                    if _zero(facts, op.parity - mod((use + 2 * slots) // slots, 2)):
                        return self._affine(s, use)
        raise Open(f"which use {s} is for")

    def _contribution(self, s: Site, x: Slot, slots: int, mine: list[tuple[Site, Slot]]) -> Use:
        facts = self._facts(s)
        for n in self._numbers(s, x, slots, mine):
            if slots == 1 or _zero(facts, x.slot - mod(n, slots)):
                try:
                    return self._affine(s, n)
                except Open:
                    continue
        raise Open(f"which use {s} is for")

    def _numbers(
        self, s: Site, x: Slot, slots: int, mine: list[tuple[Site, Slot]], parity: Any = None
    ) -> Iterator[Any]:
        """What may be the use number of an operation, the likeliest first."""
        if isinstance(s.op, Copy) and type(x.slot) is int:
            yield from (n if slots == 1 else x.slot + slots * n for n in self._beside(s, mine))
        with contextlib.suppress(Uncounted):
            count = self._count(s, lambda op: any(op is t.op for t, _ in mine) and _alike(op, s.op))
            yield count
            if type(x.slot) is int:
                yield x.slot + slots * count
        if slots > 1:
            facts = self._facts(s)
            for n in [x.slot + slots * a for a in opaque_atoms(x.slot) if terms_of(x.slot).get((a,)) == -slots]:
                while parity is None and facts.le(slots, n) is True:  # the first use of a slot is below S
                    n = n - slots
                yield n
            if isinstance(x.slot, Expr) and not opaque_atoms(x.slot):
                yield x.slot
        if parity is None and slots > 1 and s.loops:
            yield from self._late(s, slots)
        if parity is not None and slots == 1:
            for a in opaque_atoms(parity):
                if isinstance(a, Quotient) and a.args[1] == 2 and terms_of(parity).get((a,)) == -2:
                    yield parity + 2 * a
            if type(parity) is int or not opaque_atoms(parity):
                yield from (parity - 2, parity)

    def _beside(self, s: Site, mine: list[tuple[Site, Slot]]) -> Iterator[Any]:
        """Of a copy that is not alone in its iteration the phase: that of the expect_tx there, or of the loops."""
        there = roles(s), s.loops, s.conditions
        body = [t for t, x in mine if x == s.op.credits and (roles(t), t.loops, t.conditions) == there]
        armed = [t for t in body if t.op.expects is not None]
        if len(armed) == 1:
            with contextlib.suppress(Uncounted):
                yield self._count(armed[0], lambda op: op.expects is not None and any(op is t.op for t, _ in mine))
        elif len(body) > 1 and not armed:
            yield event(s).number({loop.index: loop.index for loop in s.loops})

    def _late(self, s: Site, slots: int) -> Iterator[Any]:
        """The number of an iteration among those of all loops around, less as many as its condition has it wait."""
        number, facts = event(s).number({loop.index: loop.index for loop in s.loops}), self._facts(s)
        for late in range(2 * slots, -1, -1):
            if facts.le(late, number) is True:
                yield number - late

    # -- numbers ------------------------------------------------------------------------------------

    def _facts(self, s: Site) -> Facts:
        loops = tuple(loop.index for loop in s.loops)
        return Facts.about(*self.kernel.dims, *self.kernel.block, *loops, given=(*self.kernel.given, *s.conditions))

    def _count(self, s: Site, wanted: Callable[[Op], bool]) -> Any:
        counted = {id(t.op) for t in self.every if wanted(t.op) and met_by(t, s)}
        return Counter(self.kernel, self._facts(s)).before(s, lambda op: id(op) in counted)

    def _counted(self, s: Site, wanted: Callable[[Op], bool]) -> Use:
        try:
            return self._affine(s, self._count(s, wanted))
        except Uncounted as e:
            raise Open(f"how often threads come to {s}: {e}") from e

    def _affine(self, s: Site, use: Any) -> Use:
        """The use of an event, whose loops are those down to the last that the number depends on."""
        used = symbols_in((use,))
        if used & unsteady(self.kernel) or any(x.name == THREAD for x in used):
            raise Open(f"that all threads of {s} are at the same phase")
        depth = max((n for n, loop in enumerate(s.loops, 1) if loop.index in used), default=0)
        made = event(s, depth)
        if symbols_in(s.conditions) & {loop.index for loop in s.loops[depth:]}:
            raise Open(f"which iterations of {s.loops[depth].index} come to {s}")
        if not depth:
            return Use(made, use, 1, use)
        made, step, first = numbered(made, use, self._facts(s))
        return Use(made, use, step, first)


def _slots(op: Op) -> tuple[Slot, ...]:
    found = (op.arrives, op.waits, op.credits)
    return tuple(x for x in found if x is not None)


def _count(op: Op) -> int:
    """The arrivals that a phase gets of a thread: none where it has first let the phase await one more."""
    return op.count if isinstance(op, Arrive) else int(op.noinc) if isinstance(op, CpAsyncArrive) else 1


def _alike(a: Op, b: Op) -> bool:
    """Whether two operations are counted together: those that arrive, copies, waits."""
    return bool(a.arrives) == bool(b.arrives) and bool(a.waits) == bool(b.waits)


def _orders(op: Op) -> bool:
    return bool(_slots(op)) or isinstance(op, (Barrier, BarrierArrive, *CLUSTER))


def _credited(kernel: Kernel, op: Copy) -> Any:
    if op.multicast is not None:  # without a cluster: others are one copy to each CTA here
        raise Open(f"which CTAs {op} goes to")
    if op.bytes is not None:
        return op.bytes
    if op.row is not None and op.row.extent is Extent.INSTRUCTION:
        return op.row.bytes  # of each thread
    if not isinstance(op.src, Box):
        raise Open(f"the bytes that {op} credits")
    return kernel.map(op.src.tensor_map).tensor_map.transaction_bytes


def _zero(facts: Facts, x: Any) -> bool:
    """Whether an expression is 0 by its form, or by the facts."""
    x = facts.normal(x)
    if type(x) is int:
        return x == 0
    return facts.holds(Fact(x, "==")) is True
