"""The footprint of a tensor copy in global and in shared memory: tile mode, im2col and interleaved layouts.

A copy has rows and columns. A row is a row of shared memory: one combination of the steps along dimensions 1 and
up, or one pixel of im2col. A column is a byte of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from ..int_tuple import ceil_div
from ..rules.tma_copy import UNIT_BYTES, TensorCopy
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
    """The bytes that a copy of numbers takes or puts; of a store, those of the rows up to the last inside the tensor.

    The element strides count along dimension 0 with an interleaved layout only; a row is as long as the span of its
    swizzle, without interleave; the swizzle works on absolute addresses (measured on an H200, driver 580.159.04).
    """
    m = copy.tensor_map
    n, length, unit = row_count(copy), cast(int, m.row_bytes), m.unit_bytes
    shared = m.swizzle.swizzle(copy.shared_address + np.arange(n)[:, None] * m.pitch_bytes + np.arange(length))
    walk = list(_im2col(copy) if m.is_im2col else _steps(copy, n))
    if m.is_im2col and m.interleave:  # each pixel is a row, wherever it lies along dimension 0
        return Footprint(
            *_rows(copy, walk, m.global_dim, (unit, *m.global_stride_bytes)), np.arange(unit), unit, shared
        )
    rows = _rows(copy, walk, m.global_dim[1:], m.global_stride_bytes)
    first = copy.coordinate[0] + np.arange(length // unit) * (m.element_stride[0] if m.interleave else 1)
    columns = (first[:, None] * unit + np.arange(unit)).reshape(-1)
    return Footprint(*rows, columns, m.global_dim[0] * unit, shared)


def row_count(copy: TensorCopy) -> int:
    """The rows of a footprint: all that a load lands; of a store, those up to the last that it reads."""
    m = copy.tensor_map
    if copy.direction == "load" or m.is_im2col:
        return cast(int, m.rows)
    if copy.coordinate[0] * m.unit_bytes >= ceil_div(m.global_dim[0] * m.unit_bytes, UNIT_BYTES) * UNIT_BYTES:
        return 0
    last, below = 0, 1
    for x, extent, n, every in list(zip(copy.coordinate, m.global_dim, m.steps, m.element_stride, strict=True))[1:]:
        inside = min(n, ceil_div(extent - x, every))
        if inside <= 0:
            return 0
        last, below = last + (inside - 1) * below, below * n
    return last + 1


def _rows(copy: TensorCopy, walk: list[Numbers], extents: Any, strides: Any) -> tuple[Addresses, Numbers]:
    """Address of each row and whether it lies inside, from its coordinates in the dimensions of the walk."""
    inside = np.ones(len(walk[0]) if walk else row_count(copy), dtype=bool)
    for x, extent in zip(walk, extents, strict=True):
        inside &= (x >= 0) & (x < extent)
    rows = np.full(len(inside), reach := copy.tensor_map.global_address)
    for x, stride in zip(walk, strides, strict=True):
        x = np.where(inside, x, 0)
        reach += int(x.max(initial=0)) * stride
        if reach >= 2**62:  # exact and slow; such an address is outside of any memory
            rows, x = rows.astype(object), x.astype(object)
        rows = rows + x * stride
    return rows, inside


def _steps(copy: TensorCopy, n: int) -> Iterator[Numbers]:
    """The coordinates of the first n rows of a tile in dimensions 1 and up; dimension 1 is the fastest."""
    m = copy.tensor_map
    row = np.arange(n)
    for first, steps, every in zip(copy.coordinate[1:], m.steps[1:], m.element_stride[1:], strict=True):
        yield first + row % steps * every
        row = row // steps


def _im2col(copy: TensorCopy) -> Iterator[Numbers]:
    """The coordinates of every pixel of an im2col walk in the spatial dimensions, [the slice,] and N.

    A dimension that passes its upper end restarts exactly at its lower corner and carries one step into the next,
    at last into N. So the steps of each are the carries of the one before. Offsets take no part in the walk.
    With interleave the spatial dimensions begin at dimension 0, and the slice stays.
    """
    m = copy.tensor_map
    step = np.arange(cast(int, m.rows))
    corners = zip(m.lower_corner, m.upper_corner, copy.offsets, strict=True)
    for i, (lower, upper, offset) in enumerate(corners, 0 if m.interleave else 1):
        start, every, highest = copy.coordinate[i], m.element_stride[i], m.global_dim[i] - 1 + upper
        late = step - ((highest - start) // every + 1)  # steps since the first restart
        period = (highest - lower) // every + 1
        yield np.where(late < 0, start + step * every, lower + late % period * every) + offset
        step = np.where(late < 0, 0, late // period + 1)
    if m.interleave:
        yield np.full(len(step), copy.coordinate[-2])
    yield copy.coordinate[-1] + step * m.element_stride[-1]
