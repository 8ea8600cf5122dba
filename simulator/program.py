"""The programs of a kernel at sizes: for each CTA and team of warps, the steps that take time, with what they move.

>>> from symlayout.kernels import bulk_copy
>>> kernel = bulk_copy(4096, chunk=1024, slots=2, blocks=2).bind()
>>> for team in Programs(kernel).of((0,)):
...     print(team.name, len(team.steps), *(f"{s.unit} {s.bytes}" for s in team.steps if s.bytes), sep="; ")
role producer; 13; TMA load 4096; TMA load 4096
role consumer; 15; TMA store 4096; TMA store 4096

A team is a run of warps with the same roles; its warps proceed together.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from symlayout.atoms import MmaAtom
from symlayout.atoms.access import MemorySpace
from symlayout.banks import LANES
from symlayout.kernel import Kernel
from symlayout.kernel.clusters import masked
from symlayout.kernel.sites import as_written
from symlayout.ops import Arrive, Copy, Elect, For, If, Map, Mma, Op, PeerCopy, Ref, Role, Wait
from symlayout.rules.tma import violations

from .ahead import ahead
from .arithmetic import Divisions, divisions
from .commands import between
from .dram import PLACE_LINES
from .engine import SimulationError
from .footprints import Footprints
from .indices import Indices
from .instructions import Upkeep
from .points import Array, Points, Scope, unrolled
from .steps import Part, Team, Walk, placed
from .timing_classes import LOOP, TimingClass, Unit, timing_class
from .upkeep import ENTRY, bodies, short_loops, upkeep
from .upkeep import unrolled as without_jump

MMA_A_BYTES, MMA_COLUMN_BYTES = 2048, 32  # of m64nNk16: 64 rows and N columns of 32 bytes (wgmma, docs of the atoms)
SKIPPED = 5  # instructions of a body that no thread enters: what its condition compares, and a jump
REPEATED = 4  # of a loop that copies in shared memory: 2 to 8 in machine code of 56 transpositions
UNASKED = 2  # iterations of a loop without waits that generated code has between jumps
CALLED = 12  # instructions in each iteration of a loop that may call: they read the window of shared memory again
CALLED_CONSTANTS = 1  # of the CALLED instructions, those that wait for the constant bank
LINE = 128
PAIRED = ("bf16", "f16")  # to which generated code converts two elements at once
NO_DIVISIONS, NOTHING = Divisions(), Upkeep()
HERE = -1  # the rank of the CTA itself


class Programs:
    """The programs of a kernel that is bound to sizes.

    *inputs* are tensors of indices that the kernel reads; of others, indices are drawn within their contracts.
    Loads that compilers take *ahead* of stores come before these: each with the loop of whose iterations it is taken.
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
        warps = -(-kernel.threads // LANES)
        ends = (min(w, warps) for r in roles for w in (r.first_warp, r.first_warp + r.warps))  # none is beyond
        cuts = {0, warps, *ends}
        self.teams = [
            (", ".join(f"role {r.name}" for r in roles if r.first_warp <= first < r.first_warp + r.warps), first, end)
            for first, end in itertools.pairwise(sorted(cuts))
        ]
        self.footprints = Footprints(kernel)
        self._dtypes = {t.name: t.dtype.name for t in kernel.tensors}
        self._requests: Walk | None = None
        self.indices = Indices(kernel, inputs or {})
        self._short = short_loops(kernel)
        self._repeated = frozenset(id(loop) for loop, _ in bodies(kernel, self._short))
        self.divisions, self.upkeep = divisions(kernel), upkeep(kernel, self._short)
        self._calls = _calls(kernel, self.divisions)
        self.between = between(kernel)
        self.ahead = ahead(kernel, self._short)
        self._behind = frozenset(x for top in self.body for x in _behind_waits(top))
        self._rows = {id(op): timing_class(op) for top in self.body for op in top.walk()}
        self._multiplies = any(row.unit is Unit.WGMMA for row in self._rows.values())
        self._global = {id(op) for top in self.body for op in top.walk() if isinstance(op, Copy) and self._moves(op)}
        self._boxes = {id(x): n for top in self.body for x, n in _loaded_together(top)}
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

    @cached_property
    def least(self) -> int:
        """The steps that each CTA has at least: of operations under no condition, in loops of known trip counts."""
        return sum(map(self._least, self.body))

    def _least(self, op: Op) -> int:
        if isinstance(op, For):
            return op.extent * sum(map(self._least, op.inside)) if isinstance(op.extent, int) else 0
        if isinstance(op, Role | Elect):
            beyond = isinstance(op, Role) and op.first_warp * LANES >= self.kernel.threads
            return 0 if beyond else sum(map(self._least, op.inside))
        asked = isinstance(op, If) or bool(getattr(op, "when", ()))
        return int(not asked and self._rows[id(op)].unit not in (Unit.NONE, Unit.LOOP))

    def of(self, block: tuple[int, ...]) -> list[Team]:
        """The teams of a CTA, by its block index, x first."""
        return self.walk([block]).of()[0]

    def requests(self, blocks: Iterable[tuple[int, ...]]) -> Walk:
        """The parts of all CTAs that touch global memory, whose blocks are given; they are kept."""
        if self._requests is None:
            self._requests = self.walk(blocks, moves=True)
        return self._requests

    def walk(self, blocks: Iterable[tuple[int, ...]], moves: bool = False) -> Walk:
        """The parts of some CTAs; with *moves* those alone that touch global memory."""
        table = np.asarray(list(blocks), dtype=np.int64)
        start = Points.of_blocks(self.kernel, table, self.indices.read, self._around if moves else None)
        teams = [(name or f"warps {first} .. {end - 1}", end - first) for name, first, end in self.teams]
        parts: list[list[Part]] = [[] for _ in teams]
        if not moves and self.upkeep[ENTRY].instructions:
            for k, points in self._parts(start):
                parts[k].append(self._arithmetic(self.body[0], points, NO_DIVISIONS, self.upkeep[ENTRY]))
        loops: dict[int, Scope] = {}
        assert start.trips is not None
        for places, op, here in unrolled(self.body, start):
            row = self._rows[id(op)]
            loops.update((id(loop), inside.scope) for loop, inside in start.trips)
            if not moves:
                for k, part in self._trips(start.trips):
                    parts[k].append(part)
            start.trips.clear()
            if not here.anyone or (moves and id(op) not in self._global):
                continue
            if row.unit is not Unit.LOOP and not moves:
                for k, part in self._before(op, here):
                    parts[k].append(part)
            if row.unit in (Unit.NONE, Unit.LOOP):
                continue
            for k, points in self._parts(here):
                part = self._moved(row, op, places, points) if moves else self._part(row, op, places, points)
                part.ahead = loops.get(self.ahead.get(id(op), 0))
                parts[k].append(part)
        return Walk(teams, parts, [placed(start.scope, rows) for rows in parts])

    def _trips(self, trips: list[tuple[For, Points]]) -> Iterator[tuple[int, Part]]:
        """A step for each iteration of the loops that were entered, those aside that leave no jump."""
        for loop, here in trips:
            if not without_jump(loop, self._short) and here.anyone:
                first, *more = self._one_by_one(self.divisions[id(loop)])
                beside = self.upkeep.get(id(loop), NOTHING)
                if id(loop) in self._calls:
                    beside = beside.plus(CALLED, CALLED_CONSTANTS)
                for k, points in self._parts(here):
                    part = self._arithmetic(loop, points, first, beside, 1 / self._at_once(loop))
                    part.columns["apart"] = self.between.get(id(loop), 0)
                    part.early = _waits(loop)
                    yield k, part
                    yield from ((k, self._arithmetic(loop, points, one)) for one in more)

    def _one_by_one(self, cost: Divisions) -> list[Divisions]:
        """Divisions that products may hold up are steps of their own."""
        each = [name for name, n in zip(cost._fields, cost, strict=True) for _ in range(n)]
        return [Divisions(**{name: 1}) for name in each] if self._multiplies and len(each) > 1 else [cost]

    def _before(self, op: Op, here: Points) -> Iterator[tuple[int, Part]]:
        """Steps for what is made out before an operation."""
        cost, beside = self.divisions.get(id(op)), self.upkeep.get(id(op))
        if cost is not None or beside is not None:
            first, *more = self._one_by_one(cost or NO_DIVISIONS)
            for k, points in self._parts(here):
                if isinstance(op, Role) and not 0 <= self.teams[k][1] - op.first_warp < op.warps:
                    continue  # who does not have the role jumps over it
                part = self._arithmetic(op, points, first, beside or NOTHING)
                if isinstance(op, If) and beside is not None:
                    part.columns["shared_bytes"] = np.where(_entered(op, points), beside.instructions, SKIPPED)
                yield k, part
                yield from ((k, self._arithmetic(op, points, one)) for one in more)

    def _at_once(self, loop: For) -> int:
        """Iterations between jumps: compilers take two together of a loop that does not wait, if not told."""
        if loop.unroll is not None:
            return int(loop.unroll)
        if id(loop) in self._repeated:
            return REPEATED
        return 1 if _waits(loop) else UNASKED

    def _arithmetic(self, op: Op, here: Points, cost: Divisions, beside: Upkeep = NOTHING, jumps: float = 0) -> Part:
        """A step for divisions, for other instructions, and for a part of a jump."""
        found = self._part(LOOP, op, (), here)
        found.columns |= {
            "served": cost.narrow,
            "number": cost.wide,
            "lanes": cost.fixed,
            "count": jumps,
            "barrier": ("", 0),
            "tensor": "",
        }
        found.columns |= {"bytes": 0, "shared_bytes": beside.instructions, "apart": 0, "ranks": (HERE,)}
        found.columns |= {"constants": beside.constants, "branches": beside.branches}
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

    def _moved(self, row: TimingClass, op: Op, places: tuple[int, ...], here: Points) -> Part:
        """A copy by what it moves alone: of all CTAs that is what counts."""
        assert isinstance(op, Copy)
        moved = self.footprints.moved(op, here)
        return Part(row, op, places, here.scope, {"bytes": moved.bytes, "tensor": moved.tensor}, moved)

    def _part(self, row: TimingClass, op: Op, places: tuple[int, ...], here: Points) -> Part:
        if here.mask is None:
            warps: Any = len(np.unique(here.lanes // LANES)) if len(here.lanes) > 1 else 1
            lanes: Any = len(here.lanes)
        else:
            lanes = here.here.sum(axis=1)
            each = here.lanes // LANES
            warps = sum((here.here[:, each == w].any(axis=1).astype(np.int64) for w in np.unique(each)), start=0)
        count = self._instructions(op)
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
        columns |= {"ranks": self._ranks(op, here), "l2_bytes": 0.0, "l2_requests": 0.0}
        columns |= {"dram_bytes": 0.0, "late": False, "apart": 1, "places": 1}
        columns |= {"constants": 0, "branches": 0}
        moved = None
        if isinstance(op, Copy):
            moved = self.footprints.moved(op, here)
            columns |= {"served": moved.served, "bytes": moved.bytes, "shared_bytes": moved.shared_bytes}
            columns["tensor"] = moved.tensor
            if moved.runs is not None and moved.run_bytes is not None:
                columns["apart"] = moved.runs * -(-moved.run_bytes // LINE)
                of_box = moved.runs * -(-moved.run_bytes // (LINE * PLACE_LINES))
                columns["places"] = of_box * self._boxes.get(id(op), 1)
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
        return Part(row, op, places, here.scope, columns, moved, id(op) in self._behind)

    def _instructions(self, op: Op) -> int:
        """Instructions of each warp: one for an arrival for many, and for two elements that become 16-bit floats."""
        if isinstance(op, Arrive):
            return 1
        count = int(getattr(op, "count", 1))
        if isinstance(op, Map) and op.function == "convert" and count % 2 == 0:
            (first, *_), out = op.srcs, op.dst
            whole = isinstance(out.offset, int) and out.offset % 2 == 0
            kinds = [self._dtypes.get(x.tensor) if isinstance(x, Ref) else None for x in (first, out)]
            if whole and kinds[0] == "f32" and kinds[1] in PAIRED:
                return count // 2
        return count

    def _ranks(self, op: Op, here: Points) -> Any:
        """The CTAs of the cluster that an arrival or a multicast reaches."""
        peer = op.peer if isinstance(op, Arrive | PeerCopy) else None
        mask = op.multicast if isinstance(op, Copy) else None
        if peer is None and mask is None:
            return (HERE,)
        found = here.number(peer if mask is None else mask)
        known = {int(x): (int(x),) if mask is None else masked(int(x)) for x in np.unique(found)}
        table = np.empty(len(found), dtype=object)
        table[:] = [known[x] for x in found.tolist()]
        return table


def _entered(op: If, here: Points) -> Array:
    """Whether any thread meets the condition, for each row: code jumps over what none needs."""
    inside, found = here.entered(op).scope, np.zeros(here.rows, dtype=bool)
    found[inside.of if inside is not here.scope else slice(None)] = True
    return found


def _calls(kernel: Kernel, found: Mapping[int, Divisions]) -> frozenset[int]:
    """The loops, by identity, whose iterations divide 64 bits: code that may call keeps no addresses (nvdisasm)."""
    sites = [site for site in as_written(kernel.plain) if found.get(id(site.op), NO_DIVISIONS).wide]
    return frozenset(id(x) for site in sites for x in (site.loops[-1:] or [site.op]) if isinstance(x, For))


def _waits(loop: For) -> bool:
    """Whether its iterations wait for an mbarrier."""
    return any(isinstance(x, Wait) for x in _own(loop))


def _behind_waits(top: Op) -> Iterator[int]:
    """The first command of TMA, or product, behind each wait for an mbarrier in a loop, by identity."""
    for loop in top.walk():
        waited = False
        for op in _own(loop) if isinstance(loop, For) else ():
            if waited and timing_class(op).unit in (Unit.TMA_LOAD, Unit.TMA_STORE, Unit.WGMMA):
                yield id(op)
                waited = False
            waited = waited or isinstance(op, Wait)


def _loaded_together(top: Op) -> Iterator[tuple[Op, int]]:
    """Each load of a box, with how many of its body are of the same tensor, and tell the same mbarrier."""
    for op in top.walk():
        loads = [x for x in op.body if isinstance(x, Copy) and x.box and timing_class(x).unit is Unit.TMA_LOAD]
        of = [(x.box.tensor_map, x.credits) for x in loads if x.box]
        yield from ((x, of.count(key)) for x, key in zip(loads, of, strict=True))


def _own(op: Op) -> Iterator[Op]:
    """What stands in a body, the insides of other loops left out."""
    loop = 0  # how deep the loop stands whose inside is left out
    for depth, inner in op.nested():
        if depth and not 0 < loop < depth:
            loop = depth if isinstance(inner, For) else 0
            yield inner
