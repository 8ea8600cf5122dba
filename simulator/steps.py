"""The steps of teams of warps: executions of operations, as columns of numbers, and the courses that they make.

>>> from symlayout.kernels import bulk_copy
>>> from .program import Programs
>>> walk = Programs(bulk_copy(4096, chunk=512, slots=2, blocks=2).bind()).walk([(0,), (1,)])
>>> load = next(p for p in walk.parts[0] if p.row.unit is Unit.TMA_LOAD)
>>> len(load.scope), len(load.steps), load.which.tolist()      # executions that are alike in all are one step
(8, 2, [0, 1, 0, 1, 0, 1, 0, 1])

The executions of an operation by a team are a part: a row for each execution in all CTAs that are looked at. Rows that
are equal in all columns are one step, and CTAs whose teams have the same steps in the same order share their teams.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from symlayout.ops import Op, Ref

from .footprints import Moved
from .points import Array, Scope
from .timing_classes import TimingClass, Unit

TOGETHER = (Unit.CTA_BARRIER, Unit.CLUSTER, Unit.CLUSTER_WAIT, Unit.WAIT, Unit.WAIT_GROUP)  # at which warps wait


@dataclass(frozen=True, eq=False)
class What:
    """An operation as a team executes it: its timing class, and the registers that it reads and writes."""

    row: TimingClass
    op: Op
    ahead: bool = False  # of what stands before it

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
    l2_requests: float  # for these
    dram_bytes: float
    late: bool  # its bytes come from DRAM
    apart: int  # lines in which they lie
    places: int  # of these that DRAM answers apart
    constants: int  # of what code does beside operations
    branches: int
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


@dataclass(eq=False)
class Team:
    """The steps of the warps of a CTA that have the same roles; *numbers* has those of the steps."""

    name: str
    warps: int
    steps: list[Step]
    numbers: Array
    known: dict[str, Any] = field(default_factory=dict)  # what others have found out about it

    @cached_property
    def apart(self) -> bool:
        """Whether its warps wait for nothing but loads of their own, so that each goes on by itself."""
        return not any(step.unit in TOGETHER for step in self.steps)


@dataclass(eq=False)
class Part:
    """All executions of an operation by a team: a row for each, in the order of the scope that it stands in."""

    row: TimingClass
    op: Op
    places: tuple[int, ...]
    scope: Scope
    columns: dict[str, Any]  # those of ``Step``: a number for all, or one for each row
    moved: Moved | None = None
    behind: bool = False  # whether it is a command behind a wait, whose addresses are made then
    early: bool = False  # of a jump: whether its condition is made out before, beside a wait
    ahead: Scope | None = None  # the iterations of which it comes first, before all else of them
    place: Array = field(default_factory=lambda: np.zeros(0, np.int64))  # in the course of the team in its CTA

    @property
    def cta(self) -> Array:
        return self.scope.cta

    @cached_property
    def _different(self) -> tuple[Array, Array]:
        """A row of each that differ, and for each row the number of its like."""
        code = np.zeros(len(self.scope), dtype=np.int64)
        for x in self.columns.values():
            if isinstance(x, np.ndarray) and (number := _numbered(x)) is not None:
                code = code * (int(number.max()) + 1) + number
                _, code = np.unique(code, return_inverse=True)  # small numbers again
        _, first, which = np.unique(code, return_index=True, return_inverse=True)
        return first, which

    @property
    def which(self) -> Array:
        """The number of the step of each execution."""
        return self._different[1]

    @cached_property
    def kinds(self) -> dict[str, Any]:
        """The columns with a row for each step."""
        first = self._different[0]
        return {name: x[first] if isinstance(x, np.ndarray) else x for name, x in self.columns.items()}

    @cached_property
    def steps(self) -> list[Step]:
        """The steps, without times."""
        n, what = len(self._different[0]), What(self.row, self.op, self.ahead is not None)
        lists = [x.tolist() if isinstance(x, np.ndarray) else itertools.repeat(x, n) for x in self.kinds.values()]
        return [Step(what, *xs) for xs in zip(*lists, strict=False)]  # columns in the order of the fields

    def time(self, times: Durations) -> None:
        """Give the steps the times that they take."""
        rows = zip(self.steps, *(x.tolist() for x in times(self)), strict=True)
        for s, *x in rows:
            s.slot_ps, s.issue_ps, s.unit_ps, s.shared_ps, s.port_ps, s.power_ps = x


Durations: TypeAlias = Callable[[Part], list[Array]]  # see ``timing.Times.of``


def _numbered(x: Array) -> Array | None:
    """A number for each entry, the same for equal ones; None where all are equal."""
    if not len(x):
        return None
    if x.dtype == object:
        known: dict[Any, int] = {}
        numbers = np.array([known.setdefault(y, len(known)) for y in x.tolist()])
        return numbers if len(known) > 1 else None
    if (x == x[0]).all():
        return None
    return np.asarray(np.unique(x, return_inverse=True)[1])


@dataclass(eq=False)
class Walk:
    """The parts of the teams in some CTAs, and how many steps each team has in each."""

    teams: list[tuple[str, int]]
    parts: list[list[Part]]
    lengths: list[Array]
    known: dict[Any, Any] = field(default_factory=dict)  # what others have found out about it
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
        """CTAs that do the same have the same list of teams."""
        steps: list[Step] = []
        courses = []
        for parts, lengths in zip(self.parts, self.lengths, strict=True):
            course, start = np.zeros(int(lengths.sum()), dtype=np.int64), np.cumsum(lengths) - lengths
            for part in parts:
                course[start[part.cta] + part.place] = len(steps) + part.which
                steps += part.steps
            courses.append(np.split(course, start[1:]))
        made: dict[tuple[bytes, ...], list[Team]] = {}
        out = []
        for numbers in zip(*courses, strict=True):
            key = tuple(x.tobytes() for x in numbers)
            if key not in made:
                rows = zip(self.teams, numbers, strict=True)
                made[key] = [Team(name, warps, [steps[i] for i in x.tolist()], x) for (name, warps), x in rows]
            out.append(made[key])
        return out


def placed(start: Scope, parts: list[Part]) -> Array:
    """Give each row of the parts its place in the course of a CTA; the steps of each CTA.

    What goes *ahead* of some iterations stands, in these, in a scope of its own before that of the others.
    """
    items: dict[tuple[Scope, bool], list[Part | tuple[Scope, bool]]] = {(start, False): []}

    def attach(scope: Scope, ahead: Scope | None) -> list[Any]:
        """What stands in a scope, in order; the scope itself stands in the one around, from now on."""
        key = scope, ahead is not None
        if key not in items:
            assert scope.around is not None
            outer = attach(scope.around, None if scope is ahead else ahead)
            outer.insert(outer.index((scope, False)) if (scope, False) in outer else len(outer), key)
            items[key] = []
        return items[key]

    for part in parts:
        attach(part.scope, part.ahead).append(part)
    sizes: dict[tuple[Scope, bool], Array] = {}

    def size(key: tuple[Scope, bool]) -> Array:
        rows = len(key[0])
        n = np.zeros(rows, dtype=np.int64)
        for x in items[key]:
            if isinstance(x, Part):
                n += 1
            else:
                n += np.bincount(x[0].of, weights=size(x), minlength=rows).astype(np.int64)
        sizes[key] = n
        return n

    def place(key: tuple[Scope, bool], at: Array) -> None:
        at = at.copy()
        for x in items[key]:
            if isinstance(x, Part):
                x.place = at.copy()
                at += 1
            else:
                n, of = sizes[x], x[0].of
                before = np.cumsum(n) - n
                first = np.searchsorted(of, of, side="left")
                place(x, at[of] + before - before[first] if len(n) else at[:0])
                at += np.bincount(of, weights=n, minlength=len(at)).astype(np.int64)

    lengths = size((start, False))
    place((start, False), np.zeros(len(start), dtype=np.int64))
    return lengths
