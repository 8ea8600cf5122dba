"""Where the bytes of a tensor copy lie, in global and in shared memory: tile mode, im2col and interleaved layouts.

A copy has rows and columns. A row is a row of shared memory: one combination of the steps along dimensions 1 and
up, or one pixel of im2col. A column is a byte of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from ..rules.tma_copy import TensorCopy
from .memory import Addresses

Numbers = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class Footprint:
    """The addresses of a copy: rows of global memory, columns within them, both together in shared memory."""

    rows: Addresses  # the global address of coordinate 0 of dimension 0, for each row
    row_inside: Numbers  # whether the row lies inside the tensor in dimensions 1 and up
    columns: Numbers  # bytes from there, ascending
    extent_bytes: int  # of the tensor along dimension 0
    shared: Addresses  # by row and column

    def within(self, end: int) -> slice:
        """The columns from coordinate 0 up to byte *end* of dimension 0."""
        first, last = np.searchsorted(self.columns, (0, end))
        return slice(int(first), int(last))

    def addresses(self, columns: slice) -> Addresses:
        """Global addresses of some columns in the rows inside."""
        return cast(Addresses, self.rows[self.row_inside][:, None] + self.columns[columns])


def footprint(copy: TensorCopy) -> Footprint:
    """The bytes that a copy of numbers takes or puts.

    The element strides count along dimension 0 with an interleaved layout only; a row is as long as the span of its
    swizzle, without interleave; the swizzle works on absolute addresses (measured on an H200, driver 580.159.04).
    """
    m = copy.tensor_map
    n, length = cast(int, m.rows), cast(int, m.row_bytes)
    walk = _im2col if m.is_im2col else _steps
    rows, inside = _rows(copy, list(walk(copy)))
    unit, every = m.unit_bytes, m.element_stride[0] if m.interleave else 1
    first = copy.coordinate[0] + np.arange(length // unit) * every
    columns = (first[:, None] * unit + np.arange(unit)).reshape(-1)
    linear = np.arange(n)[:, None] * m.pitch_bytes + np.arange(length)
    return Footprint(rows, inside, columns, m.global_dim[0] * unit, m.swizzle.swizzle(copy.shared_address + linear))


def _rows(copy: TensorCopy, positions: list[Numbers]) -> tuple[Addresses, Numbers]:
    """Address of each row and whether it lies inside, from its coordinates in dimensions 1 and up."""
    m = copy.tensor_map
    inside = np.ones(m.rows, dtype=bool)
    for x, extent in zip(positions, m.global_dim[1:], strict=True):
        inside &= (x >= 0) & (x < extent)
    rows = np.full(m.rows, m.global_address)
    reach = m.global_address
    for x, stride in zip(positions, m.global_stride_bytes, strict=True):
        x = np.where(inside, x, 0)
        reach += int(x.max()) * stride
        if reach >= 2**62:  # exact and slow; such an address is outside of any memory
            rows, x = rows.astype(object), x.astype(object)
        rows = rows + x * stride
    return rows, inside


def _steps(copy: TensorCopy) -> Iterator[Numbers]:
    """The coordinates of every row of a tile in dimensions 1 and up; dimension 1 is the fastest."""
    m = copy.tensor_map
    row = np.arange(cast(int, m.rows))
    for first, n, every in zip(copy.coordinate[1:], m.steps[1:], m.element_stride[1:], strict=True):
        yield first + row % n * every
        row = row // n


def _im2col(copy: TensorCopy) -> Iterator[Numbers]:
    """The coordinates of every pixel of an im2col walk in dimensions 1 and up.

    A dimension that passes its upper end restarts exactly at its lower corner and carries one step into the next,
    at last into N. So the steps of each are the carries of the one before. Offsets take no part in the walk.
    """
    m = copy.tensor_map
    step = np.arange(cast(int, m.rows))
    for i, (lower, upper, offset) in enumerate(zip(m.lower_corner, m.upper_corner, copy.offsets, strict=True), 1):
        start, every, highest = copy.coordinate[i], m.element_stride[i], m.global_dim[i] - 1 + upper
        late = step - ((highest - start) // every + 1)  # steps since the first restart
        period = (highest - lower) // every + 1
        yield np.where(late < 0, start + step * every, lower + late % period * every) + offset
        step = np.where(late < 0, 0, late // period + 1)
    yield copy.coordinate[-1] + step * m.element_stride[-1]
