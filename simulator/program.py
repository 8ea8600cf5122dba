"""The programs of a kernel at sizes: for each CTA and team of warps, the steps that take time, with what they move.

>>> from symlayout.kernels import bulk_copy
>>> kernel = bulk_copy(4096, chunk=1024, slots=2, blocks=2).bind()
>>> for team in Programs(kernel).of((0,)):
...     print(team.name, len(team.steps), *(f"{s.unit} {s.bytes}" for s in team.steps if s.bytes), sep="; ")
role producer; 12; TMA load 4096; TMA load 4096
role consumer; 14; TMA store 4096; TMA store 4096

A team is a run of warps with the same roles; its warps proceed together. The executions of an operation by a team are
a part: columns of numbers, a row for each execution in all CTAs that are looked at.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from symlayout.atoms import MmaAtom
from symlayout.atoms.access import MemorySpace
from symlayout.banks import LANES
from symlayout.kernel import Kernel
from symlayout.kernel.clusters import masked
from symlayout.ops import Arrive, Copy, For, Mma, Op, Ref, Role, Wait
from symlayout.ops.structure import UNROLLED
from symlayout.rules.tma import violations

from .arithmetic import Divisions, divisions
from .engine import SimulationError
from .footprints import Footprints, Moved
from .indices import Indices
from .points import Array, Points, Scope, unrolled
from .timing_classes import LOOP, TimingClass, Unit, timing_class

MMA_A_BYTES, MMA_COLUMN_BYTES = 2048, 32  # of m64nNk16: 64 rows and N columns of 32 bytes (wgmma, docs of the atoms)
FEW_TRIPS = 8
HERE = -1  # the rank of the CTA itself


@dataclass(frozen=True, eq=False)
class What:
    """An operation as a team executes it: its timing class, and the registers that it reads and writes."""

    row: TimingClass
    op: Op

    @cached_property
    def reads(self) -> tuple[str, ...]:
        return tuple(t.operand.tensor for t in self.op.reads() if isinstance(t.operand, Ref))

    @cached_property
    def writes(self) -> tuple[str, ...]:
        return tuple(t.operand.tensor for t in self.op.changes() if isinstance(t.operand, Ref))

    @cached_property
    def member_of(self) -> str:
        return self.op.member_of


@dataclass(slots=True, eq=False)
class Step:
    """An operation that some warps of a team execute together, and what it asks of the units."""

    what: What
    warps: int
    lanes: int
    count: int  # instructions of each warp
    served: int  # wavefronts, lines or rows
    bytes: int  # of global memory, in sectors
    shared_bytes: int
    tensor: str  # in global memory
    barrier: tuple[str, int]
    number: int  # a parity, or the bytes that a phase awaits or that a copy credits
    ranks: tuple[int, ...]  # the CTAs of the cluster at whose mbarriers it arrives, or in which it lands
    l2_bytes: float  # of all CTAs that this one stands for
    dram_bytes: float
    late: bool  # its bytes come from DRAM
    slot_ps: int = 0  # see ``timing.NAMES``
    issue_ps: int = 0
    unit_ps: int = 0
    shared_ps: int = 0
    port_ps: int = 0
    power_ps: int = 0  # of this CTA alone

    @property
    def op(self) -> Op:
        return self.what.op

    @property
    def unit(self) -> Unit:
        return self.what.row.unit

    @property
    def label(self) -> str:
        """The step in a few words: the instruction, and the mbarrier with its slot, or the tensor that it moves."""
        name, slot = self.barrier
        word = getattr(self.op, "atom", "")
        if name or self.tensor or word:
            return f"{word or str(self.op).split()[0]} {f'{name}[{slot}]' if name else self.tensor}".rstrip()
        return str(self.op)


@dataclass(slots=True)
class Team:
    """The steps of the warps of a CTA that have the same roles."""

    name: str
    warps: int
    steps: list[Step] = field(default_factory=list)


@dataclass(eq=False)
class Part:
    """All executions of an operation by a team: a row for each, in the order of the scope that it stands in."""

    row: TimingClass
    op: Op
    places: tuple[int, ...]
    scope: Scope
    columns: dict[str, Any]  # those of ``Step``: a number for all, or one for each row
    moved: Moved | None = None
    ring: bool = False  # of a loop: whether its iterations wait for an mbarrier
    place: Array = field(default_factory=lambda: np.zeros(0, np.int64))  # in the course of the team in its CTA

    @property
    def cta(self) -> Array:
        return self.scope.cta

    @cached_property
    def steps(self) -> list[Step]:
        """A step for each execution, without times."""
        n = len(self.scope)
        lists = [x.tolist() if isinstance(x, np.ndarray) else itertools.repeat(x, n) for x in self.columns.values()]
        what = What(self.row, self.op)
        return [Step(what, *xs) for xs in zip(*lists, strict=False)]  # columns in the order of the fields

    def time(self, times: Durations) -> None:
        """Give the steps the times that they take."""
        rows = zip(self.steps, *(x.tolist() for x in times(self)), strict=True)
        for s, *x in rows:
            s.slot_ps, s.issue_ps, s.unit_ps, s.shared_ps, s.port_ps, s.power_ps = x


Durations: TypeAlias = Callable[[Part], list[Array]]  # see ``timing.Times.of``


@dataclass(eq=False)
class Walk:
    """The parts of the teams in some CTAs, and how many steps each team has in each."""

    teams: list[tuple[str, int]]
    parts: list[list[Part]]
    lengths: list[Array]
    _made: list[list[Team]] = field(default_factory=list)

    @property
    def steps(self) -> int:
        return int(sum(n.sum() for n in self.lengths))

    def keyed(self) -> Iterator[tuple[tuple[int, tuple[int, ...]], Part]]:
        """The copies to and from global memory, each by its team and the places of its operation."""
        for k, parts in enumerate(self.parts):
            yield from (((k, part.places), part) for part in parts if part.columns["tensor"])

    def of(self, times: Durations | None = None) -> list[list[Team]]:
        """The teams of each CTA, with their steps in order. A call with other times changes those of the steps."""
        self._made = self._made or self._ordered()
        if times is not None:
            for part in itertools.chain.from_iterable(self.parts):
                part.time(times)
        return self._made

    def _ordered(self) -> list[list[Team]]:
        ctas = len(self.lengths[0])
        out = [[Team(name, warps) for name, warps in self.teams] for _ in range(ctas)]
        for k, (parts, lengths) in enumerate(zip(self.parts, self.lengths, strict=True)):
            course: list[Any] = [None] * int(lengths.sum())
            start = np.cumsum(lengths) - lengths
            for part in parts:
                for at, step in zip((start[part.cta] + part.place).tolist(), part.steps, strict=True):
                    course[at] = step
            for teams, first, n in zip(out, start.tolist(), lengths.tolist(), strict=True):
                teams[k].steps = course[first : first + n]
        return out


class Programs:
    """The programs of a kernel that is bound to sizes.

    *inputs* are tensors of indices that the kernel reads; of others, indices are drawn within their contracts.
    Raises SimulationError for a kernel with symbols, and for one with a tensor map that the driver refuses.
    """

    def __init__(self, kernel: Kernel, inputs: Mapping[str, Any] | None = None) -> None:
        if kernel.dims:
            names = ", ".join(map(str, kernel.dims))
            raise SimulationError(f"expected a kernel that is bound to sizes, got symbols {names} of {kernel.name}")
        for m in kernel.maps:
            for v in violations(m.tensor_map, "driver"):
                raise SimulationError(
                    f"expected a tensor map that the driver takes, got {m.name} of {kernel.name}: {v}"
                )
        self.kernel, self.body = kernel, kernel.plain.body
        for op in kernel.walk():
            timing_class(op)
        roles = [op for op in kernel.walk() if isinstance(op, Role)]
        cuts = {0, -(-kernel.threads // LANES), *(w for r in roles for w in (r.first_warp, r.first_warp + r.warps))}
        self.teams = [
            (", ".join(f"role {r.name}" for r in roles if r.first_warp <= first < r.first_warp + r.warps), first, end)
            for first, end in itertools.pairwise(sorted(cuts))
        ]
        self.footprints = Footprints(kernel)
        self.indices = Indices(kernel, inputs or {})
        self.divisions = divisions(kernel)
        self._short = frozenset(_short(kernel))
        self._rows = {id(op): timing_class(op) for top in self.body for op in top.walk()}
        self._global = {id(op) for top in self.body for op in top.walk() if isinstance(op, Copy) and self._moves(op)}
        self._around = frozenset(
            id(op)
            for top in self.body
            for op in top.walk()
            if isinstance(op, For) and any(id(x) in self._global for x in op.walk())
        )

    def _moves(self, op: Copy) -> bool:
        """Whether a copy touches global memory."""
        tensors = self.footprints.tensors
        return any(tensors[self.kernel.touched(t)].space is MemorySpace.GLOBAL for t in op.touches())

    @property
    def by_threads(self) -> bool:
        """Whether threads access global memory one by one, other than through copies that one of them issues."""
        return any(op.box is None and op.bytes is None for op in self._copies())

    def _copies(self) -> Iterator[Copy]:
        return (op for top in self.body for op in top.walk() if isinstance(op, Copy) and id(op) in self._global)

    def of(self, block: tuple[int, ...]) -> list[Team]:
        """The teams of a CTA, by its block index, x first."""
        return self.walk([block]).of()[0]

    def walk(self, blocks: Iterable[tuple[int, ...]], moves: bool = False) -> Walk:
        """The parts of some CTAs; with *moves* those alone that touch global memory."""
        table = np.asarray(list(blocks), dtype=np.int64)
        start = Points.of_blocks(self.kernel, table, self.indices.read, self._around if moves else None)
        teams = [(name or f"warps {first} .. {end - 1}", end - first) for name, first, end in self.teams]
        parts: list[list[Part]] = [[] for _ in teams]
        assert start.trips is not None
        for places, op, here in unrolled(self.body, start):
            row = self._rows[id(op)]
            if start.trips and not moves:
                for k, part in self._trips(start.trips):
                    parts[k].append(part)
            if row.unit in (Unit.NONE, Unit.LOOP) or not here.anyone or (moves and id(op) not in self._global):
                continue
            once = None if moves else self.divisions.get(id(op))  # outside of loops
            for k, points in self._parts(here):
                if once is not None:
                    parts[k].append(self._arithmetic(op, points, once, jumps=0))
                parts[k].append(self._part(row, op, places, points))
        return Walk(teams, parts, [_placed(start.scope, rows) for rows in parts])

    def _trips(self, trips: list[tuple[For, Points]]) -> Iterator[tuple[int, Part]]:
        """A step for each iteration of the loops that were entered, those aside that leave no jump."""
        for loop, here in trips:
            if loop.unroll != UNROLLED and id(loop) not in self._short and here.anyone:
                cost = self.divisions[id(loop)]
                for k, points in self._parts(here):
                    yield k, self._arithmetic(loop, points, cost, jumps=1 / int(loop.unroll or 1))
        trips.clear()

    def _arithmetic(self, op: Op, here: Points, cost: Divisions, jumps: float) -> Part:
        """A step for divisions, and for a part of a jump."""
        found = self._part(LOOP, op, (), here)
        found.columns |= {"served": cost.narrow, "number": cost.wide, "count": jumps, "barrier": ("", 0), "tensor": ""}
        found.columns |= {"bytes": 0, "shared_bytes": 0, "ranks": (HERE,)}
        found.ring = jumps > 0 and any(isinstance(x, Wait) for x in _own(op))
        return found

    def _parts(self, here: Points) -> Iterator[tuple[int, Points]]:
        """The threads that are here, by team."""
        warps = here.lanes // LANES
        for k, (_, first, end) in enumerate(self.teams):
            inside = (first <= warps) & (warps < end)
            if inside.all():
                yield k, here
                return
            if inside.any():
                part = here.among(inside)
                if part.mask is not None:  # rows without a thread of this team are none of its
                    part = part.only(np.flatnonzero(part.here.any(axis=1)))
                if part.rows:
                    yield k, part

    def _part(self, row: TimingClass, op: Op, places: tuple[int, ...], here: Points) -> Part:
        if here.mask is None:
            warps: Any = len(np.unique(here.lanes // LANES)) if len(here.lanes) > 1 else 1
            lanes: Any = len(here.lanes)
        else:
            lanes = here.here.sum(axis=1)
            each = here.lanes // LANES
            warps = sum((here.here[:, each == w].any(axis=1).astype(np.int64) for w in np.unique(each)), start=0)
        count = 1 if isinstance(op, Arrive) else getattr(op, "count", 1)  # an arrival for many is one instruction
        columns: dict[str, Any] = {"warps": warps, "lanes": lanes, "count": count}
        columns |= {"served": 0, "bytes": 0, "shared_bytes": 0, "tensor": ""}
        slot = op.waits or op.arrives or op.credits
        number = getattr(op, "parity", getattr(op, "bytes", None))
        columns["barrier"] = ("", 0)
        if slot is not None:
            slots = here.number(slot.slot)
            table = np.empty(int(slots.max(initial=0)) + 1, dtype=object)
            table[:] = [(slot.barrier, k) for k in range(len(table))]
            columns["barrier"] = table[slots]
        columns["number"] = 0 if number is None or op.credits else here.number(number)
        columns |= {"ranks": self._ranks(op, here), "l2_bytes": 0.0, "dram_bytes": 0.0, "late": False}
        moved = None
        if isinstance(op, Copy):
            moved = self.footprints.moved(op, here)
            columns |= {"served": moved.served, "bytes": moved.bytes, "shared_bytes": moved.shared_bytes}
            columns["tensor"] = moved.tensor
            if op.credits:
                columns["number"] = moved.credited
        elif isinstance(op, Mma):
            atom = op.row
            assert isinstance(atom, MmaAtom)
            columns["served"] = atom.mnk[1]
            if row.unit is Unit.WGMMA:
                in_shared = MMA_A_BYTES * (atom.src is MemorySpace.SHARED)
                columns["shared_bytes"] = (in_shared + MMA_COLUMN_BYTES * atom.mnk[1]) * np.maximum(1, warps // 4)
        for name, x in columns.items():
            if isinstance(x, np.ndarray):
                columns[name] = np.ascontiguousarray(x) if x.ndim else int(x)  # columns in the order of ``Step``
        return Part(row, op, places, here.scope, columns, moved)

    def _ranks(self, op: Op, here: Points) -> Any:
        """The CTAs of the cluster that an arrival or a multicast reaches."""
        peer = op.peer if isinstance(op, Arrive) else None
        mask = op.multicast if isinstance(op, Copy) else None
        if peer is None and mask is None:
            return (HERE,)
        found = here.number(peer if mask is None else mask)
        known = {int(x): (int(x),) if mask is None else masked(int(x)) for x in np.unique(found)}
        table = np.empty(len(found), dtype=object)
        table[:] = [known[x] for x in found.tolist()]
        return table


def _short(kernel: Kernel) -> Iterator[int]:
    """The loops that compilers unroll unasked: of few iterations, whose number the code knows."""
    origin = (kernel.origin or kernel).plain
    written, here = ((op for top in k.body for op in top.walk()) for k in (origin, kernel.plain))
    for op, there in zip(written, here, strict=True):
        if isinstance(op, For) and isinstance(op.extent, int) and op.extent <= FEW_TRIPS:
            yield id(there)


def _own(op: Op) -> Iterator[Op]:
    """What stands in a body, the insides of other loops left out."""
    loop = 0  # how deep the loop stands whose inside is left out
    for depth, inner in op.nested():
        if depth and not 0 < loop < depth:
            loop = depth if isinstance(inner, For) else 0
            yield inner


def _placed(start: Scope, parts: list[Part]) -> Array:
    """Give each row of the parts its place in the course of a CTA; the steps of each CTA."""
    items: dict[Scope, list[Any]] = {start: []}

    def attach(scope: Scope) -> list[Any]:
        """What stands in a scope, in order; the scope itself stands in the one around, from now on."""
        if scope not in items:
            assert scope.around is not None
            attach(scope.around).append(scope)
            items[scope] = []
        return items[scope]

    for part in parts:
        attach(part.scope).append(part)
    sizes: dict[Scope, Array] = {}

    def size(scope: Scope) -> Array:
        n = np.zeros(len(scope), dtype=np.int64)
        for x in items[scope]:
            if isinstance(x, Part):
                n += 1
            else:
                n += np.bincount(x.of, weights=size(x), minlength=len(scope)).astype(np.int64)
        sizes[scope] = n
        return n

    def place(scope: Scope, at: Array) -> None:
        at = at.copy()
        for x in items[scope]:
            if isinstance(x, Part):
                x.place = at.copy()
                at += 1
            else:
                n = sizes[x]
                before = np.cumsum(n) - n
                first = np.searchsorted(x.of, x.of, side="left")
                place(x, at[x.of] + before - before[first] if len(n) else at[:0])
                at += np.bincount(x.of, weights=n, minlength=len(scope)).astype(np.int64)

    lengths = size(start)
    place(start, np.zeros(len(start), dtype=np.int64))
    return lengths
