"""The effects of copies: ld and st, tensor loads and stores.

An asynchronous effect happens at once (``eager``), or is handed over as ``Pending`` work of a group, or takes off as a
``Flight`` that lands on an mbarrier.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from ..atoms import ATOMS, AccessKind, Completion, Extent, MemorySpace, atom
from ..dtype import DType
from ..errors import ExecutionError, LayoutError, TmaFault
from ..ops import Box, Copy, Op, Ref, Slot
from ..rules.tma_copy import TensorCopy
from ..rules.tma_copy import violations as copy_violations
from ..tma import TensorMap, TmaType
from ..tma.enumerations import TYPE_OF
from .agent import MISTAKES, Agent, Pending
from .effects import EFFECTS
from .effects import Effect as Runs
from .footprint import footprint
from .machine import UNIT_BYTES, Array, Cta, GlobalTensor
from .memory import Memory
from .order import ASYNC, UNFINISHED
from .reduction import reduced
from .tensor_copies import Effect, tma_load, tma_reduce, tma_store


def _move(agent: Agent, op: Copy) -> None:
    """ld and st: each active thread moves its bytes now."""
    row = atom(op.atom)
    src, dst = place(op.src), place(op.dst)
    agent.tensor(src, row.src), agent.tensor(dst, row.dst)
    if op.cache is not None and op.cache.nc:
        _expect_constant(agent, src)
    data, codes = agent.load(src, row.bytes, row.bytes if row.src is not MemorySpace.REGISTER else 1)
    agent.store(dst, data, codes, row.bytes if row.dst is not MemorySpace.REGISTER else 1)


def _expect_constant(agent: Agent, src: Ref) -> None:
    """Raise LayoutError where a kernel reads through the non-coherent cache what it writes (PTX ISA, ld.global.nc)."""
    kernel = agent.machine.kernel
    changed = [t for t in kernel.written if t == src.tensor or t in kernel.aliases(src.tensor)]
    if changed:
        raise LayoutError(
            f"expected a tensor that the kernel does not write for ld.global.nc, got {src}: it writes {changed[0]}"
        )


def _combine(agent: Agent, op: Copy) -> None:
    """red: each active thread combines its register with an element, one thread after the other where they meet.

    Raises LayoutError where there is nothing to combine with.
    """
    row, src, dst = atom(op.atom), place(op.src), place(op.dst)
    how = row.reduction
    assert how is not None
    assert isinstance(how.dtype, DType)
    agent.tensor(src, row.src)
    memory = agent.machine.memory[agent.tensor(dst, row.dst).name]
    (data, codes), at = agent.load(src, row.bytes), agent.addresses(dst, row.bytes, row.bytes)
    name = memory.tensor.name
    agent.expect_written(codes, lambda i, j: f"{agent.thread(i)} combines byte {at[i, j]} of {name} with poison")
    agent.expect_written(memory.codes[at], lambda i, j: f"{agent.thread(i)} updates poison of {name}")
    kind = TmaType.FLOAT32_FTZ if how.flushes else TYPE_OF[how.dtype]
    apart = np.unique(at[:, 0]).size == len(at)
    for rows in (slice(None),) if apart else [slice(i, i + 1) for i in range(len(at))]:
        memory.bytes[at[rows]] = reduced(how.function, kind, data[rows], memory.bytes[at[rows]])
    memory.wrote(at, agent.machine.number(op))


# -- tensor copies --------------------------------------------------------------------------------------


class Flight:
    """A copy on its way to the shared memory of one CTA: bytes *credited* to its barrier, *room* that it takes."""

    generic = False  # whether it writes through the generic proxy

    def __init__(self, agent: Agent, op: Op, cta: Cta, credited: int, room: int, to: int, slot: Slot) -> None:
        self.op, self.cta, self.told = op, cta, agent.told()
        self.barrier = cta.mbarrier(slot.barrier, agent.uniform(slot.slot))
        self.left = credited
        self.at = slice(to, to + room)
        shared = cta.shared
        if self.at.stop > len(shared.bytes):
            raise LayoutError(f"expected room for {room} bytes from {shared.place(to)} on, got too few")
        if shared.order is not None:  # from here on the bytes are the copy's
            row = int(agent.row[0, 0])
            shared.expect_free(self.at, agent.knows, row)
            entries, component = cta.cluster.entries, self.barrier.component
            first = shared.order.threads + (entries.slots if self.generic else 0)
            writer = first + component - entries.slot(cta.rank, 0)
            shared.order.wrote(self.at, writer, self.barrier.phase + 1, agent.machine.number(op))
            shared.codes[self.at] = agent.machine.disorder(f"{op} was under way")

    def step(self) -> bool:
        """The next thing that the copy does; whether it was the last.

        Bytes are credited in pieces of 16: a phase that awaits fewer than will come may end before the data are there.
        """
        try:
            early = self.barrier.tx
            if self.barrier.pending == 0 and 0 < early < self.left and early % UNIT_BYTES == 0:
                self.left -= early
                self.barrier.complete_tx(early)
                return False
            if self.cta.over:
                raise LayoutError(f"expected {self.cta} to be running, but it has exited")
            self.land()
            self.barrier.complete_tx(self.left)
        except MISTAKES as e:
            raise ExecutionError(f"{self.told}: {self.op}: {e}") from e
        return True

    def land(self) -> None:
        """The bytes arrive."""
        raise NotImplementedError


class TensorFlight(Flight):
    """A tensor load under way."""

    def __init__(
        self, agent: Agent, op: Op, cta: Cta, box: tuple[TensorMap, Any, GlobalTensor], to: int, slot: Slot
    ) -> None:
        self.map, self.coordinate, self.source = box
        super().__init__(agent, op, cta, int(self.map.transaction_bytes), int(self.map.landed_bytes), to, slot)

    def land(self) -> None:
        shared, at = self.cta.shared, self.at
        effect = tma_load(self.map, self.coordinate, self.source.bytes, shared.bytes, at.start)
        whole = at.stop - at.start == self.map.transaction_bytes
        shared.codes[at if whole else effect.shared] = 0
        if not self.source.written:
            f = footprint(TensorCopy(self.map, self.coordinate, at.start))
            columns = f.within(f.extent_bytes)
            shared.codes[f.shared[f.row_inside, columns]] = self.source.codes[f.addresses(columns)]


def _tma_load(agent: Agent, op: Copy) -> None:
    for _ in each_thread(agent):
        box, to = _box(agent, op.src), tile_address(agent, op.dst)
        take_off(agent, op, lambda cta, slot: TensorFlight(agent, op, cta, box, to, slot))  # noqa: B023


def take_off(agent: Agent, op: Copy, flight: Callable[[Cta, Slot], Flight]) -> None:
    """Send a load to the CTAs that it goes to: to this one, or to those of its mask."""
    if op.barrier is None:
        raise LayoutError("expected a barrier that the copy completes on, got none")
    cluster = agent.cta.cluster
    mask = 1 << agent.cta.rank if op.multicast is None else agent.uniform(op.multicast)
    if mask >> len(cluster.ctas):
        raise LayoutError(f"expected a mask below {1 << len(cluster.ctas)} of {len(cluster.ctas)} CTAs, got {mask}")
    ranks = [rank for rank in range(len(cluster.ctas)) if mask >> rank & 1]
    send(agent, [flight(cluster.cta(rank), op.barrier) for rank in ranks])


def send(agent: Agent, flights: list[Flight]) -> None:
    """Let flights land now, or at the last moment."""
    for one in flights:
        if agent.machine.late():
            agent.machine.flying.append(one)
        else:
            while not one.step():
                pass


class BulkStore(Pending):
    """A store of bulk groups: *room* bytes from *start* on are read before ``wait_group.read`` returns.

    Global memory is written before ``wait_group`` does.
    """

    def __init__(self, agent: Agent, op: Copy, target: GlobalTensor, start: int, room: int) -> None:
        super().__init__(agent, op)
        self.target = target
        self.shared, self.strand = agent.cta.shared, int(agent.knows.entries.strand(agent.active[0]))
        self.at = slice(start, min(start + room, len(self.shared.bytes)))
        self.tile: Array | None = None
        self.has_read = self.written = False
        self._expect_written()
        if self.shared.order is not None:
            self.shared.order.read(self.at, self.strand, UNFINISHED)
        if not agent.machine.late():
            self._take()

    @property
    def holds_shared(self) -> bool:
        return not self.has_read

    def _expect_written(self) -> None:
        """Bytes of the tile that the store reads and that its thread cannot see are a mistake; others are not."""
        codes = self.shared.seen(self.at, self.agent.knows, int(self.agent.row[0, 0]), ASYNC)
        if codes.any():
            read = self.sources(codes)
            bad = read[codes[read - self.at.start] != 0]
            if bad.size:
                place, code = self.shared.place(int(bad[0])), int(codes[bad[0] - self.at.start])
                raise self.agent.machine.poisoned(f"stores poison of {place}", code, place.rpartition(" ")[2])

    def sources(self, codes: Array) -> Array:
        """The addresses in shared memory that it reads, of those that *codes* are about."""
        return np.arange(self.at.start, self.at.stop)

    def _take(self) -> None:
        if self.tile is None:
            self.tile = self.shared.bytes[self.at].copy()

    def read(self, which: Array) -> None:
        self._take()
        if not self.has_read and self.shared.order is not None:
            order, knows = self.shared.order, self.agent.knows
            order.finished_reading(self.at, self.strand, int(knows.epoch(knows.row(self.threads))[0]))
            for other in self.agent.pending.get(Completion.BULK, ()):
                if other is not self and isinstance(other, BulkStore) and other.holds_shared:
                    order.read(other.at, other.strand, UNFINISHED)
        self.has_read = True

    def complete(self, which: Array) -> None:
        self.read(which)
        assert self.tile is not None
        for at in self.put(Memory(self.tile, self.at.start)):
            self.target.wrote(at, self.agent.machine.number(self.op))
        self.done[:] = True

    def put(self, tile: Memory) -> tuple[Array, ...]:
        """Write global memory, and say where."""
        raise NotImplementedError


class TensorStore(BulkStore):
    """A tensor store: a tile goes to a box."""

    def __init__(self, agent: Agent, op: Copy, box: tuple[TensorMap, Any, GlobalTensor], start: int) -> None:
        self.map, self.coordinate, target = box
        super().__init__(agent, op, target, start, int(self.map.landed_bytes))

    def sources(self, codes: Array) -> Array:
        there = np.zeros(len(self.target.bytes), dtype=np.uint8)
        found = tma_store(self.map, self.coordinate, there, Memory(codes, self.at.start), self.at.start)
        return np.asarray(found.shared.reshape(-1))

    def put(self, tile: Memory) -> tuple[Array, ...]:
        effect = self.effect(tile)
        return effect.inside, effect.outside

    def effect(self, tile: Memory) -> Effect:
        """Write the box."""
        return tma_store(self.map, self.coordinate, self.target.bytes, tile, self.at.start)


class TensorReduction(TensorStore):
    """A tensor reduction: it updates its box when a store would write it, whoever else does."""

    def effect(self, tile: Memory) -> Effect:
        """Update the box. Raises LayoutError where there is nothing to update."""
        how = self.op.reduction
        assert how is not None
        effect = tma_reduce(how.function, self.map, self.coordinate, self.target.bytes, tile, self.at.start)
        codes = self.target.codes[effect.inside]
        if codes.any():
            name, code = self.target.tensor.name, int(codes[codes != 0][0])
            raise self.agent.machine.poisoned(f"updates poison of {name}", code, name)
        return effect


def _tma_store(agent: Agent, op: Copy) -> None:
    kind = TensorStore if op.reduction is None else TensorReduction
    for _ in each_thread(agent):
        hand_over(agent, kind(agent, op, _box(agent, op.dst), tile_address(agent, op.src)))


def hand_over(agent: Agent, work: BulkStore) -> None:
    """Let a store wait for its group, or do it now where order does not count."""
    if agent.machine.ordered:
        agent.add(Completion.BULK, work)
    else:
        work.complete(~work.done)


# -- operands -------------------------------------------------------------------------------------------


def each_thread(agent: Agent) -> Iterator[int]:
    """The active threads one by one: each issues a copy of its own."""
    for thread in agent.active - agent.base:
        with agent.scope(agent.base, thread[None]):
            yield int(thread)


def place(x: Any) -> Ref:
    """An operand that is a place in a tensor. Raises LayoutError for another."""
    if not isinstance(x, Ref):
        raise LayoutError(f"expected a place in a tensor, got {x}")
    return x


def _box(agent: Agent, x: Any) -> tuple[TensorMap, tuple[int, ...], GlobalTensor]:
    """The map, the coordinate and the memory of a box."""
    if not isinstance(x, Box):
        raise LayoutError(f"expected a box of a tensor map, got {x}")
    row = agent.machine.kernel.map(x.tensor_map)
    return row.tensor_map, tuple(map(agent.uniform, x.coordinate)), agent.machine.memory[row.tensor]


def expect_loadable(agent: Agent, x: Any) -> None:
    """Raise TmaFault where a load of a box would fault, wherever it goes."""
    tensor_map, coordinate, _ = _box(agent, x)
    for v in copy_violations(TensorCopy(tensor_map, coordinate, 0), "hardware"):
        raise TmaFault(f"{v.rule.effect}, {v}", v.rule.id, v.rule.effect)


def tile_address(agent: Agent, x: Any) -> int:
    """The address of a tile in shared memory."""
    tensor = agent.tensor(place(x), MemorySpace.SHARED)
    return tensor.base + agent.uniform(x.offset) * tensor.dtype.bits // 8


WRITE, REDUCE = AccessKind.WRITE, AccessKind.REDUCE
OF: Mapping[tuple[Extent, Completion, AccessKind], Runs] = {
    (Extent.INSTRUCTION, Completion.AT_ONCE, WRITE): _move,
    (Extent.INSTRUCTION, Completion.AT_ONCE, REDUCE): _combine,
    (Extent.BOX, Completion.MBARRIER, WRITE): _tma_load,
    (Extent.BOX, Completion.BULK, WRITE): _tma_store,
    (Extent.BOX, Completion.BULK, REDUCE): _tma_store,
}
EFFECTS.update(
    {row.word: OF[does] for row in ATOMS.values() if (does := (row.extent, row.completion, row.change)) in OF}
)
