"""The rules of tensor maps, one row each.

``driver`` is exactly what the encode calls of the CUDA 13.0 driver accept on compute capability 9.0 (measured on an
H200, driver 580.159.04, 120 000 calls); ``documented`` what the Driver API says and no driver checks.

    >>> from symlayout.tma import TensorMap, TmaType
    >>> for v in violations(TensorMap(TmaType.FLOAT16, 0, (1001, 64), (2002,), (64, 8), swizzle=128), "driver"):
    ...     print(v)
    stride_multiple_16: expected each global stride to be a multiple of 16 bytes, got 2002 (125*16 + 2) bytes in \
the stride of dimension 1; pad the rows, the extent may stay
"""

from __future__ import annotations

import functools
from typing import Any

from ..expr import Expr, maximum
from ..tma import SPAN_BYTES
from . import rule as engine
from .rule import Between, MultipleOf, Rule, Violation, of_profile, row_of, where, wrapped32

DRIVER = ("driver",)
MEASURED = "encode calls on an H200, driver 580.159.04"
API = "CUDA Driver API, Tensor Map Object Management"

KIB = 1024
SHARED_LIMIT_BYTES = 228 * KIB  # 233472 is accepted, 237568 refused: the shared memory of an SM, not of a block

CORNER_BITS = (0, 0, 0, 15, 7, 4)  # by rank: signed corners of 16, 8 and 5 bits


def _is_tiled(m: Any) -> Any:
    return where(m.is_im2col, False, True)


def _is_im2col(m: Any) -> Any:
    return m.is_im2col


def _is_interleaved(m: Any) -> Any:
    return m.interleave != 0


def _alignment(m: Any, i: int) -> Any:
    return where(m.interleave == 2, 32, 16)


def _is_nan_type(m: Any) -> Any:
    return (m.dtype >= 6) & (m.dtype <= 12)


def _span(m: Any, i: int) -> Any:
    return row_of(SPAN_BYTES, m.swizzle)


def _tile_bytes(m: Any, _: int) -> Any:
    """The driver's idea of the tile: floor(box / element stride) of every dimension, the first included."""
    out = m.element_bytes
    for i in range(len(m.box_dim)):
        out = out * (m.box_dim[i] // _positive(m.element_stride[i]))
    return out


def _positive(x: Any) -> Any:
    """At least 1, so that the rules about divisors, not a division, speak of a 0."""
    if isinstance(x, Expr):
        return maximum(x, 1)
    return where(x < 1, 1, x)


def _base_positions(m: Any, i: int) -> Any:
    """How far the upper end of an im2col box lies above its lower one, as the driver computes it."""
    first = where(m.interleave == 0, m.global_dim[i + 1], m.global_dim[i])  # with interleave, dimension 0 is W
    return wrapped32(first + m.upper_corner[i]) - m.lower_corner[i]


def _corner(m: Any, sign: int) -> Any:
    return where(sign < 0, -1, 1) * (1 << row_of(CORNER_BITS, m.rank, 15)) - where(sign < 0, 0, 1)


RULES: tuple[Rule, ...] = (
    # -- what the map is ----------------------------------------------------------------------------
    Rule(
        id="dtype_of_cc90",
        sentence="the data type is one of 0 to 12 (the packed U4 and U6 types need compute capability 10)",
        name="the data type",
        profiles=DRIVER,
        each="map",
        value=lambda m, i: m.dtype,
        must=Between(0, 12),
        source=MEASURED,
    ),
    Rule(
        id="rank_range",
        sentence="the rank is 1 to 5",
        profiles=DRIVER,
        each="map",
        value=lambda m, i: m.rank,
        must=Between(1, 5),
        when=_is_tiled,
        source=f"{API}; {MEASURED}",
        fix="merge modes whose strides chain, or copy slices",
    ),
    Rule(
        id="im2col_rank",
        sentence="the rank of an im2col map is 3 to 5",
        profiles=DRIVER,
        each="map",
        value=lambda m, i: m.rank,
        must=Between(3, 5),
        when=_is_im2col,
        source=f"{API}; {MEASURED}",
    ),
    Rule(
        id="rank_of_interleave",
        sentence="the rank is at least 3 with an interleaved layout",
        profiles=DRIVER,
        each="map",
        value=lambda m, i: m.rank,
        must=Between(3, None),
        when=_is_interleaved,
        source=f"{API}; {MEASURED}",
    ),
    Rule(
        id="interleave_enum",
        sentence="the interleaved layout is none, 16B or 32B",
        name="the interleaved layout",
        profiles=DRIVER,
        each="map",
        value=lambda m, i: m.interleave,
        must=Between(0, 2),
        source=MEASURED,
    ),
    Rule(
        id="swizzle_of_cc90",
        sentence="the swizzle is none, 32B, 64B or 128B (the atom modes need compute capability 10)",
        name="the swizzle",
        profiles=DRIVER,
        each="map",
        value=lambda m, i: m.swizzle,
        must=Between(0, 3),
        source=MEASURED,
    ),
    Rule(
        id="l2_promotion_enum",
        sentence="the L2 promotion is none, 64B, 128B or 256B",
        name="the L2 promotion",
        profiles=DRIVER,
        each="map",
        value=lambda m, i: m.l2_promotion,
        must=Between(0, 3),
        source=MEASURED,
    ),
    Rule(
        id="oob_fill_enum",
        sentence="the out-of-bounds fill is zero or NaN",
        name="the out-of-bounds fill",
        profiles=DRIVER,
        each="map",
        value=lambda m, i: m.oob_fill,
        must=Between(0, 1),
        source=MEASURED,
    ),
    Rule(
        id="nan_fill_of_floats",
        sentence="NaN fills only float types",
        name="the out-of-bounds fill",
        profiles=DRIVER,
        each="map",
        value=lambda m, i: m.oob_fill,
        must=Between(None, lambda m, i: where(_is_nan_type(m), 1, 0)),
        when=lambda m: m.oob_fill <= 1,
        source=f"{API}; {MEASURED}",
        fix="fp8 travels as u8, which has no NaN; fill with zero",
    ),
    Rule(
        id="interleave32_swizzle32",
        sentence="an interleaved layout of 32B has swizzle 32B",
        name="the swizzle",
        profiles=("documented", "cccl"),
        each="map",
        value=lambda m, i: m.swizzle,
        must=Between(1, 1),
        when=lambda m: m.interleave == 2,
        source=f"{API}; the driver accepts every swizzle there",
    ),
    # -- global memory ------------------------------------------------------------------------------
    Rule(
        id="global_address_alignment",
        sentence="the global address is a multiple of 16 bytes, of 32 with interleave 32B",
        profiles=DRIVER,
        each="map",
        value=lambda m, i: m.global_address,
        must=MultipleOf(_alignment),
        source=f"{API}; {MEASURED}",
        unit="bytes",
        fix="start at an aligned element and offset by coordinates instead",
    ),
    Rule(
        id="global_dim_range",
        sentence="each global dimension is 1 to 2^32 elements",
        profiles=DRIVER,
        each="dimension",
        value=lambda m, i: m.global_dim[i],
        must=Between(1, 2**32),
        source=f"{API}; {MEASURED}",
        unit="elements",
        fix="skip the copy of an empty tensor, split a longer one",
    ),
    Rule(
        id="stride_multiple_16",
        sentence="each global stride is a multiple of 16 bytes, of 32 with interleave 32B",
        name="each global stride",
        profiles=DRIVER,
        each="stride",
        value=lambda m, i: m.global_stride_bytes[i],
        must=MultipleOf(_alignment),
        source=f"{API}; {MEASURED}; also of a dimension of size 1",
        unit="bytes",
        fix="pad the rows, the extent may stay",
    ),
    Rule(
        id="stride_range",
        sentence="each global stride is 0 to 2^40 - 1 bytes",
        profiles=DRIVER,
        each="stride",
        value=lambda m, i: m.global_stride_bytes[i],
        must=Between(0, 2**40 - 1),
        source=f"{API}; {MEASURED}",
        unit="bytes",
    ),
    Rule(
        id="element_stride_range",
        sentence="each element stride is 1 to 8, that of dimension 0 included",
        name="each element stride",
        profiles=DRIVER,
        each="dimension",
        value=lambda m, i: m.element_stride[i],
        must=Between(1, 8),
        source=MEASURED,
    ),
    # -- the box ------------------------------------------------------------------------------------
    Rule(
        id="box_range",
        sentence="each box dimension is 1 to 256 elements",
        profiles=DRIVER,
        each="dimension",
        value=lambda m, i: m.box_dim[i],
        must=Between(1, 256),
        when=_is_tiled,
        source=f"{API}; {MEASURED}",
        unit="elements",
        fix="copy several boxes, or split the mode in two",
    ),
    Rule(
        id="box_inner_multiple_16",
        sentence="the inner box row is a multiple of 16 bytes",
        profiles=DRIVER,
        each="map",
        value=lambda m, i: m.box_dim[0] * m.element_bytes,
        must=MultipleOf(16),
        when=lambda m: _is_tiled(m) & (m.rank >= 1),
        source=f"{API}; {MEASURED}: in every interleaved layout",
        unit="bytes",
    ),
    Rule(
        id="box_inner_span",
        sentence="the inner box row is at most the span of the swizzle",
        profiles=DRIVER,
        each="map",
        value=lambda m, i: m.box_dim[0] * m.element_bytes,
        must=Between(None, _span),
        when=lambda m: _is_tiled(m) & (m.rank >= 1) & (m.interleave == 0) & (_span(m, 0) > 0),
        source=f"{API}; {MEASURED}",
        unit="bytes",
        fix="copy the row in several boxes, or take a wider swizzle",
    ),
    Rule(
        id="box_fits_encode_limit",
        sentence="the product of floor(box / element stride) is at most 233472 bytes",
        profiles=DRIVER,
        each="map",
        value=_tile_bytes,
        must=Between(None, SHARED_LIMIT_BYTES),
        when=_is_tiled,
        source=MEASURED,
        unit="bytes",
    ),
    # -- im2col -------------------------------------------------------------------------------------
    Rule(
        id="im2col_channels",
        sentence="channels per pixel are 1 to 256",
        profiles=DRIVER,
        each="map",
        value=lambda m, i: m.channels_per_pixel,
        must=Between(1, 256),
        when=_is_im2col,
        source=f"{API}; {MEASURED}",
        unit="channels",
    ),
    Rule(
        id="im2col_pixels",
        sentence="pixels per column are 1 to 1024",
        profiles=DRIVER,
        each="map",
        value=lambda m, i: m.pixels_per_column,
        must=Between(1, 1024),
        when=_is_im2col,
        source=f"{API}; {MEASURED}",
        unit="pixels",
    ),
    Rule(
        id="im2col_lower_corner_range",
        sentence="each lower corner fits 16, 8 or 5 bits for rank 3, 4 or 5",
        name="each lower corner",
        profiles=DRIVER,
        each="spatial",
        value=lambda m, i: m.lower_corner[i],
        must=Between(lambda m, i: _corner(m, -1), lambda m, i: _corner(m, 1)),
        when=_is_im2col,
        source=f"{API}; {MEASURED}",
    ),
    Rule(
        id="im2col_upper_corner_range",
        sentence="each upper corner fits 16, 8 or 5 bits for rank 3, 4 or 5",
        name="each upper corner",
        profiles=DRIVER,
        each="spatial",
        value=lambda m, i: m.upper_corner[i],
        must=Between(lambda m, i: _corner(m, -1), lambda m, i: _corner(m, 1)),
        when=_is_im2col,
        source=f"{API}; {MEASURED}",
    ),
    Rule(
        id="im2col_inner_multiple_16",
        sentence="the channels of a pixel are a multiple of 16 bytes",
        profiles=DRIVER,
        each="map",
        value=lambda m, i: m.channels_per_pixel * m.element_bytes,
        must=MultipleOf(16),
        when=_is_im2col,
        source=MEASURED,
        unit="bytes",
    ),
    Rule(
        id="im2col_inner_span",
        sentence="the channels of a pixel are at most the span of the swizzle",
        profiles=DRIVER,
        each="map",
        value=lambda m, i: m.channels_per_pixel * m.element_bytes,
        must=Between(None, _span),
        when=lambda m: _is_im2col(m) & (m.interleave == 0) & (_span(m, 0) > 0),
        source=f"{API}; {MEASURED}",
        unit="bytes",
        fix="copy the channels in several boxes, or take a wider swizzle",
    ),
    Rule(
        id="im2col_fits_encode_limit",
        sentence="the pixels of a column are at most 233472 bytes",
        profiles=DRIVER,
        each="map",
        value=lambda m, i: m.channels_per_pixel * m.pixels_per_column * m.element_bytes,
        must=Between(None, SHARED_LIMIT_BYTES),
        when=_is_im2col,
        source=MEASURED,
        unit="bytes",
    ),
    Rule(
        id="im2col_box_nonempty",
        sentence="each range of base positions, dimension + upper corner - lower corner, is at least 1",
        profiles=DRIVER,
        each="spatial",
        value=_base_positions,
        must=Between(1, None),
        when=_is_im2col,
        source=f"{MEASURED}: the sum wraps to 32 bits, and with interleave dimension 0 is W",
        unit="positions",
    ),
)

BY_ID = {r.id: r for r in RULES}
PROFILES = tuple(dict.fromkeys(p for r in RULES for p in r.profiles))


@functools.cache
def rules_of(profile: str) -> tuple[Rule, ...]:
    """The rules that count in a profile."""
    return of_profile(RULES, profile)


def violations(m: Any, profile: str = "driver") -> list[Violation]:
    """What a map of numbers breaks in a profile, at every place."""
    return engine.violations(m, rules_of(profile))
