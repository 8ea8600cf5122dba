"""Inputs of the rules of tensor maps, read alike from a map of numbers, of expressions, and from columns of maps."""

from __future__ import annotations

import functools
from typing import Any

from ..expr import Expr, maximum
from ..expr.operands import wrapped32
from ..tma import SPAN_BYTES, TmaType
from .rule import row_of, times, where

CORNER_BITS = (0, 0, 0, 15, 7, 4)  # by rank: signed corners of 16, 8 and 5 bits
U4_ALIGN8, U4_ALIGN16, U6_ALIGN16 = (int(t) for t in TmaType if t >= TmaType.PACKED_16U4_ALIGN8B)


def is_tiled(m: Any) -> Any:
    return where(m.is_im2col, False, True)


def is_im2col(m: Any) -> Any:
    return m.is_im2col


def is_interleaved(m: Any) -> Any:
    return m.interleave != 0


def is_dense(m: Any) -> Any:
    """Without interleave, where dimension 0 counts elements and not pixels."""
    return m.interleave == 0


def is_nan_type(m: Any) -> Any:
    return (m.dtype >= TmaType.FLOAT16) & (m.dtype <= TmaType.TFLOAT32_FTZ)


def is_packed(m: Any) -> Any:
    return (m.dtype >= U4_ALIGN8) & (m.dtype <= U6_ALIGN16)


def is_packed16(m: Any) -> Any:
    """The packed types of 16-byte alignment: 16 values take 16 bytes in shared memory."""
    return (m.dtype == U4_ALIGN16) | (m.dtype == U6_ALIGN16)


def alignment(m: Any, i: int) -> Any:
    return where(m.interleave == 2, 32, 16)


def span(m: Any, i: int = 0) -> Any:
    return row_of(SPAN_BYTES, m.swizzle)


def bytes_of(m: Any, elements: Any) -> Any:
    """Bytes of some elements in global memory; a part of a byte counts as one."""
    return -(-times(elements, m.element_bits) // 8)


def box_row(m: Any, i: int = 0) -> Any:
    return bytes_of(m, m.box_dim[0])


def box_bytes(m: Any, i: int = 0) -> Any:
    """Bytes of the whole box, element strides left aside."""
    out = m.element_bits
    for box in m.box_dim:
        out = times(out, box)
    return -(-out // 8)


def encoded_bytes(m: Any, i: int = 0) -> Any:
    """The driver's idea of the tile: floor(box / element stride) of every dimension, the first included."""
    out = m.element_bytes
    for i in range(len(m.box_dim)):
        out = out * (m.box_dim[i] // positive(m.element_stride[i]))
    return out


def positive(x: Any) -> Any:
    """At least 1, so that the rules about divisors, not a division, speak of a 0."""
    if isinstance(x, Expr):
        return maximum(x, 1)
    return where(x < 1, 1, x)


def extent(m: Any, i: int) -> Any:
    """The extent of dimension i; of an empty one 1, so that the rule about extents alone speaks of it."""
    n = m.global_dim[i]
    return n if isinstance(n, Expr) else positive(n)


def heeded_stride(m: Any, i: int) -> Any:
    """The element stride that a copy heeds along dimension i: not that of dimension 0, unless it counts pixels."""
    return where(is_dense(m) & (i == 0), 1, m.element_stride[i])


def tile_steps(m: Any, i: int) -> Any:
    """The steps that a copy takes along dimension i of its box."""
    return -(-m.box_dim[i] // positive(heeded_stride(m, i)))


def row_and_rows(m: Any) -> tuple[Any, Any]:
    """Bytes of a row that a copy moves, and how many rows: of the tile, or the pixels of im2col."""
    unit = where(is_dense(m), m.element_bytes, 16 * m.interleave)
    steps = [where(is_slice(m, i), 1, tile_steps(m, i)) for i in range(len(m.box_dim))] or [1]
    row = times(unit, where(m.is_im2col, where(is_dense(m), m.channels_per_pixel, 1), steps[0]))
    return row, where(m.is_im2col, m.pixels_per_column, functools.reduce(times, steps[1:], 1))


def landed_bytes(m: Any, i: int = 0) -> Any:
    """The shared memory that a copy occupies: as ``TensorMap.landed_bytes``."""
    row, rows = row_and_rows(m)
    landed = times(rows, where(is_dense(m) & (span(m) > 0), span(m), row))
    swizzled = where(is_interleaved(m) & (span(m) > 0), span(m), 1)
    return times(-(-landed // swizzled), swizzled)


def is_slice(m: Any, i: int) -> Any:
    """Dimension i counts channel slices; a copy takes one of them."""
    return is_interleaved(m) & (m.rank - 2 == i)


def least_stride(m: Any, i: int) -> Any:
    """A lower bound on the stride of dimension i + 1 so that rows do not overlap; none if the stride is 0."""
    below = bytes_of(m, m.global_dim[0]) if i == 0 else times(m.global_dim[i], m.global_stride_bytes[i - 1])
    return where(m.global_stride_bytes[i] == 0, 0, below)


def base_positions(m: Any, i: int) -> Any:
    """The distance of the upper end of an im2col box from its lower end, as the driver computes it."""
    first = where(m.interleave == 0, m.global_dim[i + 1], m.global_dim[i])  # with interleave, dimension 0 is W
    return wrapped32(first + m.upper_corner[i]) - m.lower_corner[i]


def corner(m: Any, sign: int) -> Any:
    """The end of the range of a corner: -1 for the lower one, 1 for the upper one."""
    return where(sign < 0, -1, 1) * (1 << row_of(CORNER_BITS, m.rank, 15)) - where(sign < 0, 0, 1)
