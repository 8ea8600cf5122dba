"""Where the operations of a kernel stand: who executes them, under what, and how many of a kind come before.

The number of a use is counted, never guessed: ``rank`` walks from the root to an operation and adds what stands
before it, an expression of sizes, block and loop indices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

from symlayout.expr import Fact, Int, Symbol, index, maximum, terms_of
from symlayout.facts import Facts, symbols_in
from symlayout.kernel import Kernel
from symlayout.ops import ELECTIONS, WARP, Elect, For, If, LoadIndex, Op, Role

Wanted: TypeAlias = "Callable[[Op], bool]"

THREAD = "thread"
FIRST_LANE = index(THREAD, 1024) % WARP <= 0  # the fact by which an election takes lane 0


class Uncounted(Exception):
    """Operations whose number is no closed form: a condition or an extent decides it."""


@dataclass(frozen=True)
class Team:
    """Who executes an operation together: some warps of the CTA, how many lanes of each, and by what facts those."""

    warps: frozenset[int]
    lanes: int
    chosen: tuple[Fact, ...] = ()  # about ``thread``; of lanes that no fact chooses, an election does

    def includes(self, other: Team) -> bool | None:
        """Whether all threads of another are among these; None where it depends on which lanes are chosen.

        An election of the same lanes has the same outcome each time, and need not be any lane that a fact names.
        """
        if not self.warps >= other.warps or self.lanes < other.lanes:
            return False
        if self.lanes == 32 or (self.lanes, self.chosen) == (other.lanes, other.chosen):
            return True
        if bool(self.chosen) is not bool(other.chosen) and 1 in (self.lanes, other.lanes):
            return False
        return None

    @property
    def threads(self) -> int:
        return len(self.warps) * self.lanes

    def __str__(self) -> str:
        first, last = min(self.warps, default=0), max(self.warps, default=0)
        which = f"warp {first}" if first == last else f"warps {first} .. {last}"
        return f"{which}, {self.lanes} lane{'s' if self.lanes != 1 else ''} each"


@dataclass(frozen=True)
class Site:
    """An operation with the operations around it, outermost first, and its place in each of their bodies."""

    op: Op
    around: tuple[Op, ...]
    places: tuple[int, ...]  # one more than *around*: the first is the place in the kernel's body
    kernel_threads: int
    varying: frozenset[Symbol] = frozenset()  # values that threads read from memory, each its own

    @cached_property
    def role(self) -> str:
        """The role that the operation is part of, or "" outside of all roles."""
        return next((a.name for a in reversed(self.around) if isinstance(a, Role)), "")

    @property
    def loops(self) -> tuple[For, ...]:
        return tuple(a for a in self.around if isinstance(a, For))

    @property
    def predicate(self) -> tuple[Fact, ...]:
        """The facts of the conditions around."""
        return tuple(f for a in self.around if isinstance(a, If) for f in a.condition)

    @property
    def conditions(self) -> tuple[Fact, ...]:
        """The facts of the conditions around, those about threads aside."""
        return tuple(f for f in self.predicate if not about_thread(f))

    @cached_property
    def team(self) -> Team | None:
        """Who executes it; None where the warps differ in how many of their lanes do, or where data choose them."""
        first, warps, lanes = 0, list(range(self.kernel_threads // 32)), 32
        chosen: tuple[Fact, ...] = ()
        for a in self.around:
            if isinstance(a, Role):
                chosen = ()
                first, warps, lanes = a.first_warp, list(range(a.first_warp, a.first_warp + a.warps)), 32
            elif isinstance(a, Elect):
                warps, lanes, chosen = (warps if a.each_warp else warps[:1]), 1, chosen or leader(a)
            elif isinstance(a, If) and self.varying & symbols_in(a.condition):
                return None
            elif isinstance(a, If) and any(map(about_thread, a.condition)):
                if lanes != 32 or any(len(f.symbols) > 1 for f in a.condition if about_thread(f)):
                    return None
                active = {w: n for w in warps if (n := active_lanes(a.condition, 32 * (w - first)))}
                if len(set(active.values())) > 1:
                    return None
                warps, lanes = list(active), next(iter(active.values()), 0)
                chosen = () if lanes == 32 else tuple(f for f in a.condition if about_thread(f))
        return Team(frozenset(warps), lanes, chosen)

    @cached_property
    def candidates(self) -> frozenset[int]:
        """The threads of the CTA that may execute it: of an election, all that stand for it."""
        first, found = 0, frozenset(range(self.kernel_threads))
        for a in self.around:
            if isinstance(a, Role):
                first, found = 32 * a.first_warp, frozenset(range(32 * a.first_warp, 32 * (a.first_warp + a.warps)))
            elif isinstance(a, Elect) and self.team is not None:
                found = found if a.each_warp else frozenset(t for t in found if t // 32 == min(found) // 32)
                found = frozenset(t for t in found if t % WARP == 0) if leader(a) else found
            elif isinstance(a, If):
                facts = [f for f in a.condition if about_thread(f) and len(f.symbols) == 1]
                found = frozenset(t for t in found if all(f.at({f.symbols[0]: t - first}) for f in facts))
        return found

    def __str__(self) -> str:
        return str(self.op)


def unsteady(kernel: Kernel) -> frozenset[Symbol]:
    """The values read from memory that threads, turns or roles may have different ones of.

    One that is read at the start of the kernel, at a place that all threads share and nobody writes to, is the same
    for the CTA.
    """
    steady: set[Symbol] = set()
    for op in kernel.plain.body:
        if isinstance(op, LoadIndex) and not {op.src.tensor, *kernel.aliases(op.src.tensor)} & set(kernel.written):
            symbols = symbols_in((op.src.offset,))
            if symbols <= {*kernel.dims, *kernel.block, *steady}:
                steady.add(op.name)
    return frozenset(set(kernel.opaque) - steady)


def leader(op: Elect) -> tuple[Fact, ...]:
    """The fact that chooses the lane of an election; none where PTX does not say which lane it is."""
    return () if op.by == ELECTIONS[0] else (FIRST_LANE,)


def about_thread(f: Fact) -> bool:
    """Whether a fact is about the thread that executes."""
    return any(s.name == THREAD for s in f.symbols)


def active_lanes(condition: Iterable[Fact], first: int) -> int:
    """How many of the 32 threads from *first* on meet the facts about ``thread``."""
    facts = [f for f in condition if about_thread(f)]
    return sum(all(f.at({f.symbols[0]: first + lane}) for f in facts) for lane in range(32))


def sites(kernel: Kernel) -> Iterator[Site]:
    """Every operation of a kernel where it stands, in order; names for expressions are replaced by them."""
    yield from _inside(kernel.plain.body, (), (), (kernel.threads, _varying(kernel)))


def _inside(
    body: tuple[Op, ...], around: tuple[Op, ...], places: tuple[int, ...], shared: tuple[int, frozenset[Symbol]]
) -> Iterator[Site]:
    for i, op in enumerate(body):
        yield Site(op, around, (*places, i), *shared)
        yield from _inside(op.body, (*around, op), (*places, i), shared)


def _varying(kernel: Kernel) -> frozenset[Symbol]:
    """The values that are read from memory at a place that depends on the thread."""
    out: set[Symbol] = set()
    for op in kernel.plain.walk():
        if isinstance(op, LoadIndex):
            symbols = symbols_in((op.src.offset,))
            if symbols & out or any(s.name == THREAD for s in symbols):
                out.add(op.name)
    return frozenset(out)


class Counter:
    """Counts operations of a kernel under some facts, which know the indices of the loops."""

    def __init__(self, kernel: Kernel, facts: Facts) -> None:
        self.kernel, self.facts = kernel.plain, facts
        self._unsteady = unsteady(self.kernel)

    def total(self, wanted: Wanted) -> Int:
        """How many a thread meets in all that it does. Raises Uncounted."""
        return self._sequence(self.kernel.body, wanted)

    def before(self, site: Site, wanted: Wanted) -> Int:
        """How many it has met when it comes to *site*, the operation there not counted. Raises Uncounted."""
        bodies = (self.kernel.body, *(a.body for a in site.around))
        total: Any = 0
        for body, place, a in zip(bodies, site.places, (*site.around, None), strict=True):
            total = total + self._sequence(body[:place], wanted)
            if isinstance(a, For):
                total = total + self._turns(a, a.index, wanted)
        return self.facts.resolved(total)

    def _sequence(self, body: Iterable[Op], wanted: Wanted) -> Any:
        total: Any = 0
        for op in body:
            total = total + self._count(op, wanted)
        if self._unsteady & symbols_in((total,)):
            raise Uncounted("a number that depends on a value which threads or turns read for themselves")
        return self.facts.resolved(total)

    def _count(self, op: Op, wanted: Wanted) -> Any:
        if wanted(op):
            return 1
        if isinstance(op, For):
            n = op.extent
            return self._turns(op, n if self.facts.le(0, n) is True else maximum(n, 0), wanted)
        inside = self._sequence(op.body, wanted)
        if isinstance(op, If) and inside != 0 and not self._always(op.condition):
            raise Uncounted(f"how often {op} holds")
        return inside

    def _always(self, condition: Iterable[Fact]) -> bool:
        return all(about_thread(f) or self.facts.holds(f) is True for f in condition)

    def _turns(self, loop: For, n: Any, wanted: Wanted) -> Any:
        """How many in the first *n* iterations; a condition index >= c leaves out c of them."""
        total: Any = 0
        for op in loop.body:
            first = _from(op, loop.index)
            each = self._count(op, wanted) if first is None else self._sequence(op.body, wanted)
            if loop.index in symbols_in((each,)):
                raise Uncounted(f"a number that changes with {loop.index}")
            total = total + (n if not first else maximum(n - first, 0)) * each
        return self.facts.resolved(total)


def _from(op: Op, index: Symbol) -> int | None:
    """c where *op* is a condition index >= c."""
    if isinstance(op, If) and len(op.condition) == 1 and op.condition[0].relation == ">=":
        t = terms_of(op.condition[0].expr)
        if t.get((index,)) == 1 and set(t) <= {(index,), ()}:
            return max(0, -t.get((), 0))
    return None
