"""What tensor copies do to memory, byte exact.

    >>> m = TensorMap("u8", 0, (20, 4), (32,), (16, 2))
    >>> memory, shared = np.arange(128, dtype=np.uint8), np.full(256, 0xEE, dtype=np.uint8)
    >>> tma_load(m, (16, 3), memory, shared, 128).inside_ranges
    ((112, 116),)
    >>> shared[128:136]
    array([112, 113, 114, 115,   0,   0,   0,   0], dtype=uint8)

Every number is from copies on an H200 (driver 580.159.04): loads in tile mode, im2col and interleaved, stores in tile
mode. What was not measured raises NotImplementedError, with the row of ``symlayout.rules.tma_copy`` that bounds it.
"""

from __future__ import annotations

import functools
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
from .footprint import Footprint, footprint
from .memory import Addresses, Memory, byte_ranges, outside


@dataclass(frozen=True, eq=False)
class Effect:
    """What a copy did: bytes credited to its barrier, addresses touched.

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
) -> Effect:
    """Copy a box, or the pixels of an im2col walk, from global memory to *shared_address*.

    Memory is a uint8 array that starts at address 0, or a ``Memory``. *offsets* are those of im2col, W first.
    Raises LayoutError for symbols and for a map that the driver refuses, TmaFault where the copy faults (memory is
    then as before), NotImplementedError for what was not measured.
    """
    copy = TensorCopy(tensor_map, coordinate, shared_address, "load", offsets)
    at = _checked(copy, shared := Memory.of(shared_memory))
    columns = at.within(at.extent_bytes)
    inside = at.addresses(columns)
    data = filled(tensor_map, *at.shared.shape)
    data[at.row_inside, columns] = loaded(tensor_map.dtype, Memory.of(global_memory).read(inside))
    shared.write(at.shared, data)
    return Effect(int(tensor_map.transaction_bytes), inside, inside[:0], at.shared)


def tma_store(
    tensor_map: TensorMap,
    coordinate: tuple[int, ...],
    global_memory: Any,
    shared_memory: Any,
    shared_address: int,
) -> Effect:
    """Copy a tile at *shared_address* to a box of global memory; rows outside the tensor are skipped.

    Along dimension 0 whole units of 16 bytes are written: up to 15 bytes past the end of the tensor.
    Memory and errors are those of ``tma_load``; a store signals no barrier.
    """
    copy = TensorCopy(tensor_map, coordinate, shared_address, "store")
    at = _checked(copy, shared := Memory.of(shared_memory))
    columns = at.within(ceil_div(at.extent_bytes, UNIT_BYTES) * UNIT_BYTES)
    tail = slice(at.within(at.extent_bytes).stop, columns.stop)
    _expect_apart(at, columns)
    source = at.shared[at.row_inside, columns]
    Memory.of(global_memory).write(at.addresses(columns), shared.read(source))
    return Effect(0, at.addresses(slice(columns.start, tail.start)), at.addresses(tail), source)


def _checked(copy: TensorCopy, shared: Memory) -> Footprint:
    """The footprint of a copy that is legal, measured and not larger than shared memory."""
    if not copy.static:
        raise LayoutError(f"expected a copy of plain integers, got {copy}; bind its symbols first")
    _expect_accepted(copy.tensor_map)
    for v in copy_rules.violations(copy, "hardware"):
        raise TmaFault(f"{v.rule.effect}, {v}", v.rule.id, v.rule.effect)
    for v in copy_rules.violations(copy, "unmeasured"):
        raise NotImplementedError(f"{v.rule.effect} is unmeasured; {v}")
    _expect_room(copy, shared)
    return footprint(copy)


@functools.lru_cache(maxsize=256)
def _expect_accepted(m: TensorMap) -> None:
    for v in map_rules.violations(m, "driver"):
        raise LayoutError(f"{v}: the driver refuses {m}")


def _expect_room(copy: TensorCopy, shared: Memory) -> None:
    """Before any array is made: an accepted box may ask for gigabytes."""
    landed, room = int(copy.tensor_map.landed_bytes), shared.end - int(copy.shared_address)
    if landed > room or copy.shared_address < shared.base:
        raise outside(
            f"expected room for {landed} bytes from shared-memory address {copy.shared_address} on, got {room} of "
            f"{shared.base}..{shared.end - 1}"
        )


def _expect_apart(at: Footprint, columns: slice) -> None:
    """No two rows of a store write one byte: which of them lasts is unmeasured."""
    rows, written = np.sort(at.rows[at.row_inside]), at.columns[columns]
    if len(rows) < 2 or not written.size:
        return
    length, apart = int(written[-1] - written[0]) + 1, int(np.diff(rows).min())
    if apart < length:
        raise NotImplementedError(
            f"the order in which a store writes overlapping rows is unmeasured; expected rows at least {length} bytes "
            f"apart, got {apart}"
        )
