"""The sites of a kernel's operations: who executes them, the loops and conditions around them, the values of names.

>>> from symlayout import dim
>>> from symlayout.kernels import vector_copy
>>> *_, last = sites(vector_copy(dim("N"), threads=64))
>>> print(last, "at", last.places)
st.global.4 x -> dst[256*block_x + j + 4*thread] at (1, 0, 0, 1)
>>> print(*last.conditions, *(loop.index for loop in last.loops), len(last.candidates))
j 64

``Visitor`` dispatches on the sites of a kernel; what is asked of all of them alike asks ``sites``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from ..expr import Fact, Symbol, index
from ..facts import symbols_in
from ..ops import ELECTIONS, WARP, Elect, For, If, Let, LoadIndex, Op, Role
from .declarations import THREAD
from .value import Kernel

FIRST_LANE = index(THREAD, 1024) % WARP <= 0  # the fact by which an election takes lane 0


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


@dataclass(frozen=True, eq=False)
class Program:
    """A kernel whose operations have sites, with what is asked of all of it."""

    kernel: Kernel

    @cached_property
    def varying(self) -> frozenset[Symbol]:
        """The values that are read from memory at a place that depends on the thread."""
        out: set[Symbol] = set()
        for op in self.kernel.plain.walk():
            if isinstance(op, LoadIndex):
                symbols = symbols_in((op.src.offset,))
                if symbols & out or any(s.name == THREAD for s in symbols):
                    out.add(op.name)
        return frozenset(out)


@dataclass(frozen=True)
class Site:
    """An operation in its scope: the operations around it, outermost first, and its place in each of their bodies.

    The *bindings* are the loops around and the ``Let`` and ``LoadIndex`` before it whose names it may use; of a kernel
    without ``Let`` (``Kernel.plain``) expressions need none of the latter.
    """

    op: Op
    around: tuple[Op, ...]
    places: tuple[int, ...]  # one more than *around*: the first is the place in the kernel's body
    program: Program = field(compare=False, repr=False)
    bindings: tuple[Site, ...] = field(default=(), compare=False, repr=False)  # what gives names a value, in order

    # -- the scope ----------------------------------------------------------------------------------

    @property
    def kernel_threads(self) -> int:
        """The threads of a CTA."""
        return self.program.kernel.threads

    @property
    def varying(self) -> frozenset[Symbol]:
        """Values that threads read from memory, each its own."""
        return self.program.varying

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

    # -- who executes it ----------------------------------------------------------------------------

    @cached_property
    def team(self) -> Team | None:
        """Who executes it; None where the warps differ in how many of their lanes do, or where data choose them."""
        first, warps, lanes = 0, list(range(self.kernel_threads // 32)), 32
        chosen: tuple[Fact, ...] = ()
        for a in self.around:
            if isinstance(a, Role):
                first, warps = a.first_warp, [w for w in warps if w in warps_of(a)]
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
        """The threads of the CTA that may execute it: for an election, all candidates."""
        first, found = 0, frozenset(range(self.kernel_threads))
        for a in self.around:
            if isinstance(a, Role):
                first, found = 32 * a.first_warp, frozenset(t for t in found if t // 32 in warps_of(a))
            elif isinstance(a, Elect) and self.team is not None:
                found = found if a.each_warp else frozenset(t for t in found if t // 32 == min(found) // 32)
                found = frozenset(t for t in found if t % WARP == 0) if leader(a) else found
            elif isinstance(a, If):
                facts = [f for f in a.condition if about_thread(f) and len(f.symbols) == 1]
                found = frozenset(t for t in found if all(f.at({f.symbols[0]: t - first}) for f in facts))
        return found

    # -- its neighbours -----------------------------------------------------------------------------

    def inside(self) -> Iterator[Site]:
        """The operations of its body, each where it stands; those inside of them aside."""
        bindings = (*self.bindings, self) if isinstance(self.op, For) else self.bindings
        return _placed(self.op.body, (*self.around, self.op), self.places, self.program, bindings)

    def enclosing(self) -> Iterator[Site]:
        """The operations around it where they stand, outermost first."""
        for n, op in enumerate(self.around):
            at = self.places[: n + 1]
            bindings = tuple(b for b in self.bindings if b.places < at)
            yield Site(op, self.around[:n], at, self.program, bindings)

    def __str__(self) -> str:
        return str(self.op)


def unsteady(kernel: Kernel) -> frozenset[Symbol]:
    """The values read from memory that threads, iterations or roles may have different ones of.

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
    """The number of the 32 threads from *first* on that meet the facts about ``thread``."""
    facts = [f for f in condition if about_thread(f)]
    return sum(all(f.at({f.symbols[0]: first + lane}) for f in facts) for lane in range(32))


def warps_of(role: Role) -> frozenset[int]:
    """The warps of a role."""
    return frozenset(range(role.first_warp, role.first_warp + role.warps))


def everyone(site: Site) -> Team:
    """The threads that execute an operation, or more of them where a condition with sizes in it chooses."""
    if site.team is not None:
        return site.team
    warps, lanes, vague = frozenset(range(site.kernel_threads // 32)), 32, False
    chosen: tuple[Fact, ...] = ()
    for a in site.around:
        if isinstance(a, Role):
            warps = warps & warps_of(a)
        elif isinstance(a, If) and any(map(about_thread, a.condition)):
            vague = True
        elif isinstance(a, Elect) and not vague:
            warps, lanes, chosen = (warps if a.each_warp else frozenset({min(warps)})), 1, leader(a)
    return Team(warps, 32) if vague else Team(warps, lanes, chosen)


def top(kernel: Kernel) -> Iterator[Site]:
    """The operations of a kernel's body, as written, where they stand; those inside of them aside."""
    return _placed(kernel.body, (), (), Program(kernel), ())


def _placed(
    body: tuple[Op, ...],
    around: tuple[Op, ...],
    places: tuple[int, ...],
    program: Program,
    bindings: tuple[Site, ...],
) -> Iterator[Site]:
    for i, op in enumerate(body):
        site = Site(op, around, (*places, i), program, bindings)
        yield site
        if isinstance(op, Let | LoadIndex):
            bindings = (*bindings, site)


def as_written(kernel: Kernel) -> Iterator[Site]:
    """Every operation of a kernel where it stands, in order, ``Let`` among them."""
    open_: list[Iterator[Site]] = [top(kernel)]
    while open_:
        site = next(open_[-1], None)
        if site is None:
            open_.pop()
            continue
        yield site
        if site.op.body:
            open_.append(site.inside())


def sites(kernel: Kernel) -> Iterator[Site]:
    """Every operation of a kernel where it stands, in order; names for expressions are replaced by them."""
    return as_written(kernel.plain)
