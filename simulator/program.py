"""The programs of a kernel at sizes: for each CTA and team of warps, the steps that take time, with what they move.

>>> from symlayout.kernels import bulk_copy
>>> kernel = bulk_copy(4096, chunk=1024, slots=2, blocks=2).bind()
>>> for team in Programs(kernel).of((0,)):
...     print(team.name, len(team.steps), *(f"{s.unit} {s.bytes}" for s in team.steps if s.bytes), sep="; ")
role producer; 10; TMA load 4096; TMA load 4096
role consumer; 12; TMA store 4096; TMA store 4096

A team is a run of warps with the same roles; its warps proceed together. What a step moves comes from the addresses
of the kernel value: bank wavefronts, sectors and lines of a warp, the part of a box inside its tensor.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from symlayout.atoms import MatrixCopy, MmaAtom
from symlayout.atoms.access import MemorySpace
from symlayout.banks import LANES, SECTOR_BYTES, ldmatrix_rows, lines, sectors, wavefronts
from symlayout.kernel import Kernel
from symlayout.kernel.unrolled import Threads, unrolled
from symlayout.ops import Arrive, ClusterBarrier, Copy, LoadIndex, Mma, Op, Ref, Role
from symlayout.rules.tma import violations
from symlayout.tma import TensorMap

from .engine import SimulationError
from .timing_classes import TimingClass, Unit, timing_class

MMA_A_BYTES, MMA_COLUMN_BYTES = 2048, 32  # of m64nNk16: 64 rows and N columns of 32 bytes (wgmma, docs of the atoms)


@dataclass(slots=True)
class Step:
    """An operation that some warps of a team execute together, and what it asks of the units."""

    row: TimingClass
    op: Op
    warps: int
    lanes: int
    count: int = 1  # instructions of each warp
    served: int = 0  # wavefronts, lines or rows
    bytes: int = 0  # of global memory, in sectors
    shared_bytes: int = 0
    tensor: str = ""  # in global memory
    barrier: tuple[str, int] = ("", 0)
    number: int = 0  # a parity, or the bytes that a phase awaits or that a copy credits

    @property
    def unit(self) -> Unit:
        return self.row.unit

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


class Programs:
    """The programs of a kernel that is bound to sizes.

    Raises SimulationError for a kernel with symbols, with clusters, whose course depends on data, or with a
    tensor map that the driver refuses.
    """

    def __init__(self, kernel: Kernel) -> None:
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
            _expect_modelled(kernel, op)
        roles = [op for op in kernel.walk() if isinstance(op, Role)]
        cuts = {0, -(-kernel.threads // LANES), *(w for r in roles for w in (r.first_warp, r.first_warp + r.warps))}
        self.teams = [
            (", ".join(f"role {r.name}" for r in roles if r.first_warp <= first < r.first_warp + r.warps), first, end)
            for first, end in itertools.pairwise(sorted(cuts))
        ]
        self.tensors = {t.name: t for t in kernel.tensors}
        self.arrays = {b.name: b for b in kernel.barriers}
        self._known: dict[Any, int] = {}

    def of(self, block: tuple[int, ...]) -> list[Team]:
        """The teams of a CTA, by its block index, x first."""
        env = {f"block_{axis}": n for axis, n in zip("xyz", block, strict=False)}
        teams = [Team(name or f"warps {first} .. {end - 1}", end - first) for name, first, end in self.teams]
        for _, op, here in unrolled(self.body, Threads(env, np.arange(self.kernel.threads))):
            row = timing_class(op)
            if row.unit is not Unit.NONE and here.anyone:
                for team, part in self._parts(teams, here):
                    team.steps.append(self._step(row, op, part))
        return teams

    def _parts(self, teams: list[Team], here: Threads) -> Iterator[tuple[Team, Threads]]:
        """The threads that are here, by team."""
        warps = here.lanes // LANES
        for team, (_, first, end) in zip(teams, self.teams, strict=True):
            if first <= warps[0] and warps[-1] < end:
                yield team, here
                return
            inside = (first <= warps) & (warps < end)
            if inside.any():
                yield team, here.where(inside)

    def _step(self, row: TimingClass, op: Op, here: Threads) -> Step:
        warps = len(np.unique(here.lanes // LANES)) if len(here.lanes) > 1 else 1
        step = Step(row, op, warps, len(here.lanes))
        step.count = getattr(op, "count", 1)
        slot = op.waits or op.arrives or op.credits
        if slot is not None:
            step.barrier = (slot.barrier, here.number(slot.slot))
        number = getattr(op, "parity", getattr(op, "bytes", None))
        step.number = 0 if number is None else here.number(number)
        if isinstance(op, Copy):
            self._copy(step, op, here)
        elif isinstance(op, Mma):
            atom = op.row
            assert isinstance(atom, MmaAtom)
            step.served = atom.mnk[1]
            if row.unit is Unit.WGMMA:
                in_shared = MMA_A_BYTES * (atom.src is MemorySpace.SHARED)
                step.shared_bytes = (in_shared + MMA_COLUMN_BYTES * step.served) * max(1, step.warps // 4)
        return step

    def _copy(self, step: Step, op: Copy, here: Threads) -> None:
        """What a copy moves: by tensor map, by a number of bytes, or by each thread."""
        for touch in op.touches():
            name = self.kernel.touched(touch)
            if self.tensors[name].space is MemorySpace.GLOBAL:
                step.tensor = name
        if op.box is not None:
            self._box(step, op, here)
        elif op.bytes is not None:
            step.served = len(here.lanes)
            step.number *= step.served
            step.bytes = step.shared_bytes = step.number
        else:
            self._threads(step, op, here)

    def _box(self, step: Step, op: Copy, here: Threads) -> None:
        """The part of a box inside its tensor, row by row in whole sectors."""
        box = op.box
        assert box is not None
        m = self.kernel.map(box.tensor_map).tensor_map
        if m.is_im2col or m.interleave or any(int(n) != 1 for n in m.element_stride):
            raise SimulationError(f"expected a tiled box without strides, which is modelled, got {op} of {m}")
        copies = len(here.lanes)
        corners = np.stack([np.broadcast_to(np.asarray(here.of(x)), copies) for x in box.coordinate], axis=1)
        step.served = copies * int(np.prod([int(n) for n in m.box_dim[1:]], dtype=np.int64))
        step.bytes = sum(_inside(m, corner) for corner in corners.tolist())
        step.number = step.shared_bytes = copies * int(m.landed_bytes)

    def _threads(self, step: Step, op: Copy, here: Threads) -> None:
        """The wavefronts, or lines and sectors, of each warp."""
        atom = op.row
        assert atom is not None
        lanes = atom.row_lanes if isinstance(atom, MatrixCopy) else LANES
        warp = here.lanes // LANES
        for ref in (*op.sources, *op.targets):
            tensor = self.tensors[ref.tensor]
            if tensor.space is MemorySpace.REGISTER:
                continue
            at = np.broadcast_to(np.asarray(here.of(ref.offset)), len(here.lanes)) * tensor.dtype.bits // 8
            in_global = tensor.space is MemorySpace.GLOBAL
            base = 0 if in_global else tensor.base
            for w in np.unique(warp):
                mine = at[warp == w][:lanes] + base
                if in_global:
                    step.bytes += SECTOR_BYTES * self._counted("sectors", mine, atom.bytes)
                    step.served += self._counted("lines", mine, atom.bytes)
                else:
                    width = 0 if isinstance(atom, MatrixCopy) else atom.bytes
                    found = self._counted("wavefronts", mine, width)
                    step.shared_bytes += 128 * found
                    step.served += found * (not step.tensor)

    def _counted(self, what: str, at: Any, width: int) -> int:
        """A count of a warp's addresses; it depends on them modulo a line alone."""
        at = at - at[0] // 128 * 128
        key = (what, width, at.tobytes())
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = _count(what, at, width)
        return found


def _count(what: str, at: Any, width: int) -> int:
    at = at - min(0, at.min()) // 128 * 128
    if what == "sectors":
        return sectors(at, width)
    if what == "lines":
        return lines(at, width)
    return sum(ldmatrix_rows(at) if width == 0 else wavefronts(at, width))


def _inside(m: TensorMap, corner: list[int]) -> int:
    """The bytes of global memory of a box, row by row in whole sectors, as far as it lies inside its tensor."""
    inside = [
        max(0, min(x + int(n), int(end)) - max(x, 0)) for x, n, end in zip(corner, m.box_dim, m.global_dim, strict=True)
    ]
    nbytes = inside[0] * m.unit_bytes
    return math.prod(inside[1:]) * _whole(max(corner[0], 0) * m.unit_bytes, nbytes) if nbytes else 0


def _whole(first: int, nbytes: int) -> int:
    """The bytes of the sectors in which some bytes lie."""
    return (-(-(first + nbytes) // SECTOR_BYTES) - first // SECTOR_BYTES) * SECTOR_BYTES


def _expect_modelled(kernel: Kernel, op: Op) -> None:
    """Raise SimulationError for an operation whose time is outside of the model (docs/simulator/deviations.md)."""
    timing_class(op)
    why = ""
    if isinstance(op, LoadIndex):
        why = "no index that is read from memory"
    peer = getattr(op, "peer", None) if isinstance(op, Arrive) else getattr(op, "multicast", None)
    if isinstance(op, ClusterBarrier) or peer is not None:
        why = "no clusters"
    if why:
        raise SimulationError(f"expected {why} in a kernel that is simulated, got {op} in {kernel.name}")


def registers(op: Op) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of the registers that an operation reads, and of those that it writes."""
    reads = tuple(t.operand.tensor for t in op.reads() if isinstance(t.operand, Ref))
    writes = tuple(t.operand.tensor for t in op.changes() if isinstance(t.operand, Ref))
    return reads, writes
