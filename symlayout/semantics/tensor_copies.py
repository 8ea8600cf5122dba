"""The effects of tensor copies on memory, byte exact.

    >>> m = TensorMap("u8", 0, (20, 4), (32,), (16, 2))
    >>> memory, shared = np.arange(128, dtype=np.uint8), np.full(256, 0xEE, dtype=np.uint8)
    >>> tma_load(m, (16, 3), memory, shared, 128).inside_ranges
    ((112, 116),)
    >>> shared[128:136]
    array([112, 113, 114, 115,   0,   0,   0,   0], dtype=uint8)

Every number is from copies on an H200 (driver 580.159.04): loads, stores and reductions in tile mode and im2col, with
interleaved layouts and without. What was not measured raises NotImplementedError.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import LayoutError, TmaFault
from ..int_tuple import ceil_div
from ..rules import tma as map_rules
from ..rules import tma_copy as copy_rules
from ..rules.tma_copy import UNIT_BYTES, TensorCopy
from ..tma import TensorMap
from .conversion import filled, loaded
from .footprint import Footprint, footprint, row_count
from .memory import Addresses, Memory, byte_ranges, outside
from .reduction import INTEGERS, ORDERLESS, reduced

LAUNCH = "unspecified launch failure"  # the driver's words


@dataclass(frozen=True, eq=False)
class Effect:
    """The effect of a copy: bytes credited to its barrier, addresses touched.

    ``inside`` are global addresses of elements of the tensor, ``outside`` those that a store wrote past the end of
    dimension 0, ``shared`` those written by a load or read by a store. The ``_ranges`` are (first, end), merged.
    """

    transaction_bytes: int
    inside: Addresses
    outside: Addresses
    shared: Addresses

    @functools.cached_property
    def inside_ranges(self) -> tuple[tuple[int, int], ...]:
        return byte_ranges(self.inside)

    @functools.cached_property
    def outside_ranges(self) -> tuple[tuple[int, int], ...]:
        return byte_ranges(self.outside)

    @functools.cached_property
    def shared_ranges(self) -> tuple[tuple[int, int], ...]:
        return byte_ranges(self.shared)


def tma_load(
    tensor_map: TensorMap,
    coordinate: tuple[int, ...],
    global_memory: Any,
    shared_memory: Any,
    shared_address: int,
    *,
    offsets: tuple[int, ...] = (),
    instruction: str = "",
) -> Effect:
    """Copy a box, or the pixels of an im2col walk, from global memory to *shared_address*.

    Memory is a uint8 array that starts at address 0, or a ``Memory``. *offsets* are those of im2col, W first;
    *instruction* is its form (``"3d"``, ``"4d.im2col"``) where that is not the map's.
    Raises LayoutError for symbols and for a map that the driver refuses, TmaFault where the copy faults (memory is
    then as before), NotImplementedError for what was not measured. A box wholly outside the tensor needs memory at the
    tensor's first byte.
    """
    copy = TensorCopy(tensor_map, coordinate, shared_address, "load", offsets, instruction=instruction)
    at = _checked(copy, shared := Memory.of(shared_memory))
    columns, memory = at.within(at.extent_bytes), Memory.of(global_memory)
    inside = at.addresses(columns)
    if not inside.size:  # what lies wholly outside is still asked for, at the tensor's first byte
        memory.read(np.array([tensor_map.global_address]))
    data = filled(tensor_map, *at.shared.shape)
    data[at.row_inside, columns] = loaded(tensor_map.dtype, memory.read(inside))
    shared.write(at.shared, data)
    return Effect(int(tensor_map.transaction_bytes), inside, inside[:0], at.shared)


def tma_multicast(
    tensor_map: TensorMap,
    coordinate: tuple[int, ...],
    global_memory: Any,
    shared_memories: Sequence[Any],
    shared_address: int,
    mask: int,
    *,
    offsets: tuple[int, ...] = (),
) -> tuple[Effect | None, ...]:
    """Load one box into each CTA of a cluster that *mask* selects (bit k: rank k), at the same address in each.

    *shared_memories* is the shared memory of every CTA. Each selected barrier is credited with all bytes of the box;
    the others get None, whoever issues the copy. Errors are those of ``tma_load``; TmaFault also for a mask that
    selects a CTA which the cluster does not have. A mask of 0 copies nothing.
    """
    size = len(shared_memories)
    if mask >> size:
        raise TmaFault(
            f"{LAUNCH}, multicast_mask: expected a mask below {1 << size} in a cluster of {size} CTAs, got {mask}",
            "multicast_mask",
            LAUNCH,
        )
    return tuple(
        tma_load(tensor_map, coordinate, global_memory, shared, shared_address, offsets=offsets)
        if mask >> rank & 1
        else None
        for rank, shared in enumerate(shared_memories)
    )


def phase_completes(armed_bytes: int, credited_bytes: int) -> bool | None:
    """Whether a barrier that one arrival armed with ``expect_tx`` flips; None where that depends on timing.

    Credits arrive in pieces, multiples of 16 bytes: a phase armed with less than the copy credits may end with any of
    them. Armed with 0 it ends at once, before the copy.
    """
    if armed_bytes % UNIT_BYTES == 0 and 0 < armed_bytes < credited_bytes:
        return None
    return armed_bytes in (0, credited_bytes)


def tma_store(
    tensor_map: TensorMap,
    coordinate: tuple[int, ...],
    global_memory: Any,
    shared_memory: Any,
    shared_address: int,
    *,
    instruction: str = "",
) -> Effect:
    """Copy a tile at *shared_address* to a box of global memory, or to the pixels of an im2col walk.

    Rows outside the tensor are skipped, and not read. Along dimension 0 whole units of 16 bytes are written: up to 15
    bytes past the end of the tensor. No type is converted. Memory and errors are those of ``tma_load``; a store
    signals no barrier.
    """
    copy = TensorCopy(tensor_map, coordinate, shared_address, "store", instruction=instruction)
    return _stored(copy, Memory.of(global_memory), Memory.of(shared_memory))


def tma_reduce(
    op: str,
    tensor_map: TensorMap,
    coordinate: tuple[int, ...],
    global_memory: Any,
    shared_memory: Any,
    shared_address: int,
    *,
    instruction: str = "",
) -> Effect:
    """Update a box of global memory, or the pixels of an im2col walk, by the tile at *shared_address*.

    *op* is add, min, max, inc, dec, and, or, xor; its arithmetic is that of ``reduced``. Where it reaches, memory and
    errors are as with ``tma_store``: elements up to 15 bytes past the end of the tensor are updated too.
    """
    if not op:
        raise LayoutError(f"expected an operation of {', '.join(copy_rules.REDUCED)}, got none")
    copy = TensorCopy(tensor_map, coordinate, shared_address, "reduce", op=op, instruction=instruction)
    return _stored(copy, Memory.of(global_memory), Memory.of(shared_memory))


def _stored(copy: TensorCopy, memory: Memory, shared: Memory) -> Effect:
    """The effect of a store or a reduction."""
    at = _checked(copy, shared)
    columns = at.within(ceil_div(at.extent_bytes, UNIT_BYTES) * UNIT_BYTES)
    tail = slice(at.within(at.extent_bytes).stop, columns.stop)
    source, target = at.shared[at.row_inside, columns], at.addresses(columns)
    groups = _groups(copy, at, columns)
    data = shared.read(source)
    if copy.op:
        memory.read(target)  # a fault comes before the first update
    for rows in groups:
        after = (
            reduced(copy.op, copy.tensor_map.dtype, data[rows], memory.read(target[rows])) if copy.op else data[rows]
        )
        memory.write(target[rows], after)
    return Effect(0, at.addresses(slice(columns.start, tail.start)), at.addresses(tail), source)


def _checked(copy: TensorCopy, shared: Memory) -> Footprint:
    """The footprint of a copy that is legal, measured and not larger than shared memory."""
    if not copy.static:
        raise LayoutError(f"expected a copy of plain integers, got {copy}; bind its symbols first")
    _expect_accepted(copy.tensor_map)
    for v in copy_rules.violations(copy, "hardware"):
        raise TmaFault(f"{v.rule.effect}, {v}", v.rule.id, v.rule.effect)
    _expect_room(copy, shared)
    return footprint(copy)


@functools.lru_cache(maxsize=256)
def _expect_accepted(m: TensorMap) -> None:
    for v in map_rules.violations(m, "driver"):
        raise LayoutError(f"{v}: the driver refuses {m}")


def _expect_room(copy: TensorCopy, shared: Memory) -> None:
    """Before any array is made: an accepted box may ask for gigabytes."""
    m, room = copy.tensor_map, shared.end - int(copy.shared_address)
    needed = int(m.pitch_bytes * m.rows)
    if copy.direction != "load":  # up to the last row that is read, whose addresses need no further check
        needed = 0 if m.is_im2col else max(0, (row_count(copy) - 1) * int(m.pitch_bytes))
    if needed > room or copy.shared_address < shared.base:
        raise outside(
            f"expected room for {needed} bytes from shared-memory address {copy.shared_address} on, got {room} of "
            f"{shared.base}..{shared.end - 1}"
        )


def _groups(copy: TensorCopy, at: Footprint, columns: slice) -> Iterable[Any]:
    """Indices of rows, all that may be written together. Rows that lie on one another come one by one.

    That is right where the order does not show. Raises NotImplementedError where it does.
    """
    rows, written = np.sort(at.rows[at.row_inside]), at.columns[columns]
    if len(rows) < 2 or not written.size:
        return (slice(None),)
    length, apart = int(written[-1] - written[0]) + 1, int(np.diff(rows).min())
    if apart >= length:
        return (slice(None),)
    if copy.op in ORDERLESS and copy.tensor_map.dtype in INTEGERS:
        return range(len(rows))
    raise NotImplementedError(
        f"the order in which a {copy.direction} writes overlapping rows is unmeasured; expected rows at least {length} "
        f"bytes apart, got {apart}"
    )
