"""The effects of bulk copies without a map: loads that land on an mbarrier, stores of bulk groups.

Behaviour that PTX leaves undefined is a mistake of the kernel here: addresses and sizes that are not multiples of 16,
sizes below 0, bytes outside of a tensor.
"""

from __future__ import annotations

import numpy as np

from ..atoms import ATOMS, Extent, MemorySpace
from ..atoms.atom import GLOBAL, SHARED
from ..atoms.bulk import SIZE_UNIT_BYTES
from ..errors import LayoutError
from ..expr import Int
from ..ops import Copy, Op, Ref, Slot
from .agent import Agent
from .bulk_bytes import bulk_copy
from .copies import BulkStore, Flight, each_thread, hand_over, take_off
from .effects import EFFECTS
from .machine import Array, Cta, GlobalTensor
from .memory import Memory


class BulkFlight(Flight):
    """A bulk load under way."""

    def __init__(
        self, agent: Agent, op: Op, cta: Cta, source: GlobalTensor, start: int, to: int, size: int, slot: Slot
    ) -> None:
        self.source, self.start, self.size = source, start, size
        super().__init__(agent, op, cta, size, size, to, slot)

    def land(self) -> None:
        shared = self.cta.shared
        bulk_copy(self.size, self.source.bytes, self.start, shared.bytes, self.at.start)
        shared.codes[self.at] = self.source.codes[self.start : self.start + self.size]


class LinearStore(BulkStore):
    """A bulk store: bytes go to consecutive addresses."""

    def __init__(self, agent: Agent, op: Copy, target: GlobalTensor, to: int, start: int, size: int) -> None:
        self.to, self.size = to, size
        super().__init__(agent, op, target, start, size)

    def put(self, tile: Memory) -> tuple[Array, ...]:
        bulk_copy(self.size, tile, self.at.start, self.target.bytes, self.to)
        return (np.arange(self.to, self.to + self.size),)


def _load(agent: Agent, op: Copy) -> None:
    for _ in each_thread(agent):
        size = bulk_size(agent, op.bytes)
        start, to = bulk_start(agent, op.src, GLOBAL, size), bulk_start(agent, op.dst, SHARED, size)
        assert isinstance(op.src, Ref)
        source = agent.machine.memory[op.src.tensor]
        take_off(agent, op, lambda cta, slot: BulkFlight(agent, op, cta, source, start, to, size, slot))  # noqa: B023


def _store(agent: Agent, op: Copy) -> None:
    for _ in each_thread(agent):
        size = bulk_size(agent, op.bytes)
        start, to = bulk_start(agent, op.src, SHARED, size), bulk_start(agent, op.dst, GLOBAL, size)
        assert isinstance(op.dst, Ref)
        hand_over(agent, LinearStore(agent, op, agent.machine.memory[op.dst.tensor], to, start, size))


def bulk_size(agent: Agent, nbytes: Int | None) -> int:
    """The number of bytes that it moves. Raises LayoutError for a number that PTX does not allow."""
    if nbytes is None:
        raise LayoutError("expected a number of bytes to copy, got none")
    size = agent.uniform(nbytes)
    if size < 0 or size % SIZE_UNIT_BYTES:
        raise LayoutError(f"bulk_size_16: expected a multiple of {SIZE_UNIT_BYTES} bytes from 0 on, got {size}")
    return size


def bulk_start(agent: Agent, x: object, space: MemorySpace, size: int) -> int:
    """The byte at which an operand begins. Raises LayoutError for a misaligned one and for bytes outside."""
    if not isinstance(x, Ref):
        raise LayoutError(f"expected a place in a tensor, got {x}")
    agent.tensor(x, space)
    if not size:
        return 0  # nothing is touched
    return int(agent.addresses(x, size, SIZE_UNIT_BYTES)[0, 0])


EFFECTS.update(
    {row.word: _load if row.dst is SHARED else _store for row in ATOMS.values() if row.extent is Extent.OPERAND}
)
