"""The effects of matrix instructions on a running kernel: ldmatrix, stmatrix and mma at once, wgmma in groups.

A wgmma reads shared memory through the async proxy until its group is waited for; its sums are poison until then. Those
of one accumulator are done in order. Where registers were touched since the last ``fence wgmma`` they are poison too.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import numpy as np

from ..atoms import ATOMS, Atom, Completion, MatrixCopy, MemorySpace, MmaAtom
from ..atoms.atom import REGISTER, SHARED
from ..atoms.descriptor import MatrixDescriptor
from ..dtype import DType
from ..errors import LayoutError
from ..int_tuple import size
from ..layout import Layout
from ..ops import Copy, Matrix, Mma, Ref
from .agent import Agent, Pending
from .effects import EFFECTS, Effect
from .fences import registers_of
from .machine import Array
from .matrix import by_thread, to_matrix, to_registers, to_rows, to_threads
from .matrix_sums import Sums
from .order import ASYNC, UNFINISHED
from .packing import unpacked

Row = TypeVar("Row", MatrixCopy, MmaAtom)


def _groups(agent: Agent, row: MatrixCopy | MmaAtom) -> Iterator[None]:
    """The active threads by warps or warpgroups, each in a scope. Raises LayoutError for one in part."""
    for team in agent.now.teams(row.threads):
        got = len(team.active)
        if got != row.threads:
            raise LayoutError(f"expected all {row.threads} threads that issue {row.word} together, got {got}")
        with agent.within(team):
            yield


def _row(word: str, kind: type[Row]) -> Row:
    row = ATOMS[word]
    assert isinstance(row, kind)
    return row


def _place(agent: Agent, x: Any, space: MemorySpace) -> Ref:
    if not isinstance(x, Ref):
        raise LayoutError(f"expected a place in a tensor, got {x}")
    agent.tensor(x, space)
    return x


# -- ldmatrix, stmatrix ---------------------------------------------------------------------------------


def _ldmatrix(agent: Agent, op: Copy) -> None:
    row = _row(op.atom, MatrixCopy)
    src, dst = _place(agent, op.src, SHARED), _place(agent, op.dst, REGISTER)
    for _ in _groups(agent, row):
        with agent.within(agent.now.leading(_lanes(row.src_tv))):
            found = agent.load(src, row.align_bytes, row.align_bytes)
        data, codes = (to_registers(row, x) for x in found)
        agent.store(dst, data, codes)


def _stmatrix(agent: Agent, op: Copy) -> None:
    row = _row(op.atom, MatrixCopy)
    src, dst = _place(agent, op.src, REGISTER), _place(agent, op.dst, SHARED)
    for _ in _groups(agent, row):
        found = agent.load(src, 2 * size(row.src_tv.shape[1]))
        data, codes = (to_rows(row, x) for x in found)
        with agent.within(agent.now.leading(_lanes(row.dst_tv))):
            agent.store(dst, data, codes, row.align_bytes)


def _lanes(rows_tv: Layout) -> int:
    """The number of lanes that give the address of a row, which has 8 elements."""
    return int(rows_tv.cosize()) // 8


# -- products -------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Held:
    """A matrix of a product, and for each element why it is poison (0: it is not)."""

    values: Array
    codes: Array

    @classmethod
    def in_registers(cls, agent: Agent, x: Any, row: MmaAtom, which: int) -> Held:
        """That of A (0), B (1) or C (2) of an instruction."""
        ref, dtype, table = _place(agent, x, REGISTER), row.held[which], row.tables[which]
        kind = agent.tensor(ref).dtype
        if kind.numpy() != dtype.numpy():
            raise LayoutError(f"expected registers of {dtype}, got {ref} of {kind}")
        data, codes = agent.load(ref, kind.bytes * size(row.words[which].shape[1]))
        values, packed = data.view(kind.numpy()), which < 2 and row.packed > 1
        if packed:
            values = unpacked(values, row.types[which])
        if not codes.any():
            return cls(to_matrix(table.tv, values, table.tile), np.zeros(table.tile, np.uint8))
        worst = codes.reshape(len(codes), -1, kind.bytes).max(axis=2)
        if packed:
            worst = np.repeat(worst, row.packed, axis=1)
        return cls(to_matrix(table.tv, values, table.tile), to_matrix(table.tv, worst, table.tile))

    def put(self, agent: Agent, ref: Ref, tv: Layout) -> None:
        values = np.ascontiguousarray(to_threads(tv, self.values)).view(np.uint8)
        if not self.codes.any():
            codes = np.zeros(values.shape, np.uint8)
        else:
            codes = np.repeat(to_threads(tv, self.codes), self.values.itemsize, axis=1)
        agent.store(ref, values, codes)


def _product(sums: Sums, row: MmaAtom, a: Held, b: Held, c: Held, zero: bool) -> Held:
    """Sums of poison are poison."""
    start = Held(np.zeros_like(c.values), np.zeros_like(c.codes)) if zero else c
    codes = start.codes
    if a.codes.any() or b.codes.any():
        codes = np.maximum(codes, np.maximum(a.codes.max(axis=1)[:, None], b.codes.max(axis=1)[None, :]))
    return Held(sums(row, a.values, b.values, start.values), codes)


def _mma(agent: Agent, op: Mma) -> None:
    row = _row(op.atom, MmaAtom)
    for _ in _groups(agent, row):
        a, b, c = (Held.in_registers(agent, x, row, i) for i, x in enumerate((op.a, op.b, op.acc)))
        _product(agent.machine.sums, row, a, b, c, bool(agent.uniform(op.zero))).put(agent, op.acc, row.tv_c)


class SharedOperand:
    """An operand in shared memory, which a warpgroup reads at some time until its wgmma is done."""

    def __init__(self, agent: Agent, x: Any, which: int, row: MmaAtom) -> None:
        if not isinstance(x, Matrix):
            raise LayoutError(f"expected a matrix in shared memory for {row.word}, got {x}")
        self.agent, self.kind, self.shared = agent, row.types[which], agent.cta.shared
        tensor, start = agent.tensor(x.start, SHARED), agent.uniform(x.start.offset)
        base = tensor.base + start * tensor.dtype.bits // 8
        if base % row.align_bytes:
            raise LayoutError(f"expected a multiple of {row.align_bytes} bytes for the start of {x}, got {base}")
        self.at, self.low, self.high = _bytes_of(x.descriptor, row.mnk[which], row.mnk[2], self.kind, base)
        if self.low < tensor.base or self.high >= tensor.base + int(tensor.bytes):
            got = f"{self.low - tensor.base} .. {self.high - tensor.base}"
            raise LayoutError(f"expected bytes of 0 .. {int(tensor.bytes) - 1} of {tensor.name}, got {got}")
        self.first_lanes = 32 * np.unique(agent.active // 32)  # names the read of each warp
        strands = np.unique(agent.knows.row(agent.active))
        seen = [self.shared.seen(self.at, agent.knows, int(strand), ASYNC) for strand in strands]
        self.codes = np.max(seen, axis=(0, 3))
        self.mark()

    def mark(self) -> None:
        """From now on it is being read."""
        if self.shared.order is not None:
            for strand in self.agent.knows.entries.strand(self.first_lanes):
                self.shared.order.read(self.at, strand, UNFINISHED)

    def finish(self, under_way: Iterable[SharedOperand]) -> None:
        """It was read, which each lane that waits for the group knows; others under way still are."""
        order, knows = self.shared.order, self.agent.knows
        if order is None:
            return
        for thread in self.first_lanes:
            row, strand = knows.row(thread), knows.entries.strand(thread)
            now = order.reads[strand, self.at]
            order.reads[strand, self.at] = np.where(now == UNFINISHED, knows.epoch(row), now)
            knows.tell(thread)
        for other in under_way:
            if other.low <= self.high and self.low <= other.high:
                other.mark()

    def held(self) -> Held:
        values = self.shared.bytes[self.at].view(self.kind.numpy())
        return Held(values.reshape(self.codes.shape), self.codes)


@functools.lru_cache(maxsize=64)  # a loop comes back to the slots of its ring
def _bytes_of(descriptor: MatrixDescriptor, rows: int, columns: int, kind: DType, base: int) -> tuple[Array, int, int]:
    """The bytes of each element of an operand, the first and the last."""
    at = descriptor.addresses(rows, columns, kind, base)[..., None] + np.arange(kind.bytes)
    return at, int(at.min()), int(at.max())


class Wgmma(Pending):
    """One wgmma of a warpgroup: it reads shared memory, and its sums are there, when its threads have waited."""

    def __init__(self, agent: Agent, op: Mma) -> None:
        super().__init__(agent, op)
        self.row, self.acc = _row(op.atom, MmaAtom), _place(agent, op.acc, REGISTER)
        self.zero, self.first = bool(agent.uniform(op.zero)), agent.uniform(self.acc.offset)
        self.starts = {ref: agent.uniform(ref.offset) for ref, _ in registers_of(op)}
        m, n, _ = self.row.mnk
        in_registers = self.row.src is not SHARED
        self.operands = [] if in_registers else [SharedOperand(agent, op.a, 0, self.row)]
        self.operands.append(SharedOperand(agent, op.b, 1, self.row))
        self.a = Held.in_registers(agent, op.a, self.row, 0) if in_registers else None
        self.before = self._last()
        sums = self.row.acc_dtype
        self.c = None if self.before is not None else Held.in_registers(agent, op.acc, self.row, 2)
        self.after: Wgmma | None = None
        if self.before is not None:
            self.before.after = self
        self.sums: Held | None = None
        self.taken = None if agent.machine.late() else self._take()
        under_way = np.full((m, n), agent.machine.disorder(f"{op} was under way"), np.uint8)
        hidden = Held(np.zeros((m, n), sums.numpy()), under_way)
        hidden.put(agent, self.acc, self.row.tv_c)

    @property
    def registers(self) -> list[tuple[str, int, int]]:
        """(tensor, first byte, end) of the sums, and of A where it is in registers."""
        out = []
        for ref, count in registers_of(cast(Mma, self.op)):
            width = self.agent.tensor(ref).dtype.bytes
            first = self.starts[ref]
            out.append((ref.tensor, first * width, (first + count) * width))
        return out

    def spoil(self, reason: str) -> None:
        """The sums are poison, for this reason."""
        codes = self.operands[-1].codes
        np.maximum(codes, self.agent.machine.disorder(reason), out=codes)

    def _last(self) -> Wgmma | None:
        """The last wgmma under way on this accumulator. Raises LayoutError where the two share some of it only."""
        n = size(self.row.tv_c.shape[1])
        for other in reversed(self.agent.pending.get(Completion.WGMMA, ())):
            if (
                not isinstance(other, Wgmma)
                or other.threads[0] != self.threads[0]
                or other.acc.tensor != self.acc.tensor
            ):
                continue
            others = size(other.row.tv_c.shape[1])
            if (other.first, others) == (self.first, n):
                return other
            if other.first < self.first + n and self.first < other.first + others:
                raise LayoutError(
                    f"expected the accumulator of {other.op}, which is under way, or another, got {self.acc}"
                )
        return None

    def _take(self) -> tuple[Held, Held]:
        """A and B as they are read now."""
        *a, b = (x.held() for x in self.operands)
        return (self.a or a[0]), b

    def result(self) -> Held:
        """The sums, once those before are there."""
        if self.sums is None:
            c = self.before.result() if self.before else self.c
            assert c is not None
            a, b = self.taken or self._take()
            self.sums = _product(self.agent.machine.sums, self.row, a, b, c, self.zero)
            self.before = self.c = self.taken = None
            others = [
                w for w in self.agent.pending.get(Completion.WGMMA, ()) if isinstance(w, Wgmma) and w.sums is None
            ]
            for x in self.operands:
                x.finish(y for w in others for y in w.operands)
        return self.sums

    def complete(self, which: Array) -> None:
        found = self.result()
        if self.after is None:
            with self.agent.scope(0, self.threads[which]):
                part = by_thread(self.row.tv_c)[which]
                values = found.values.reshape(-1, order="F")[part]
                codes = np.repeat(found.codes.reshape(-1, order="F")[part], values.itemsize, axis=1)
                self.agent.store(Ref(self.acc.tensor, self.first), values.view(np.uint8), codes)
        self.done |= which


def _wgmma(agent: Agent, op: Mma) -> None:
    for _ in _groups(agent, _row(op.atom, MmaAtom)):
        unfenced = [ref for ref, count in registers_of(op) if agent.unfenced(ref, count)]
        work = Wgmma(agent, op)
        if unfenced:
            work.spoil(f"no fence wgmma before {op}, since {unfenced[0]} was touched")
        if agent.machine.ordered:
            agent.add(Completion.WGMMA, work)
        else:
            work.complete(~work.done)


OF: Mapping[tuple[type[Atom], MemorySpace, Completion], Effect] = {
    (MatrixCopy, REGISTER, Completion.AT_ONCE): _ldmatrix,
    (MatrixCopy, SHARED, Completion.AT_ONCE): _stmatrix,
    (MmaAtom, REGISTER, Completion.AT_ONCE): _mma,
    (MmaAtom, REGISTER, Completion.WGMMA): _wgmma,
}
EFFECTS.update({row.word: OF[how] for row in ATOMS.values() if (how := (type(row), row.dst, row.completion)) in OF})
