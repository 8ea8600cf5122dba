"""The rules of tensor maps, one row each.

``driver`` is exactly what the encode calls of the CUDA 13.0 driver accept on compute capability 9.0 (measured on an
H200, driver 580.159.04, 120 000 calls); ``documented`` what the Driver API says, packed types of capability 10
included; ``cccl`` what ``cuda::make_tma_descriptor`` asks for, with what the encode call that it ends in refuses;
``hardware`` what any copy needs; ``lint`` what is legal and rarely meant.

    >>> from symlayout.tma import TensorMap, TmaType
    >>> for v in violations(TensorMap(TmaType.FLOAT16, 0, (1001, 64), (2002,), (64, 8), swizzle=128), "driver"):
    ...     print(v)
    stride_multiple_16: expected each global stride to be a multiple of 16 bytes, got 2002 (125*16 + 2) bytes in \
the stride of dimension 1; pad the rows to 2016 bytes, the extent may stay
"""

from __future__ import annotations

import functools
from enum import IntEnum
from typing import Any

from ..tma import TmaInterleaveLayout, TmaL2FetchSize, TmaSwizzle, TmaType
from . import advice, tma_cccl, tma_lints, tma_packed
from . import rule as engine
from .readings import (
    alignment,
    base_positions,
    box_row,
    corner,
    encoded_bytes,
    is_dense,
    is_im2col,
    is_interleaved,
    is_nan_type,
    is_tiled,
    span,
)
from .rule import Between, MultipleOf, Rule, Violation, of_profile, where

# Where a row counts. On the first the documents and the driver agree; CCCL ends in the encode call, so what the
# driver refuses counts for it too, and what is not encoded no copy uses.
ENCODE = ("driver", "documented", "cccl", "hardware")
DRIVER = ("driver", "cccl", "hardware")

MEASURED = "encode calls on an H200, driver 580.159.04"
API = "CUDA Driver API, Tensor Map Object Management"
CCCL = tma_cccl.CCCL
REFUSED = "the encode call returns CUDA_ERROR_INVALID_VALUE"

KIB = 1024
SHARED_LIMIT_BYTES = 228 * KIB  # 233472 is accepted, 237568 refused: the shared memory of an SM, not of a block

FILLS = {0: "zero", 1: "NaN"}


def words_of(kind: type[IntEnum]) -> dict[int, str]:
    """The words of an enumeration of the driver."""
    return {int(x): str(x) for x in kind}


encoded = functools.partial(Rule, profiles=ENCODE, effect=REFUSED)

STRUCTURE: tuple[Rule, ...] = (
    encoded(
        id="dtype_of_cc90",
        sentence="the data type is one of 0 to 12 (the packed U4 and U6 types need compute capability 10)",
        name="the data type",
        profiles=DRIVER,
        each="map",
        value=lambda m, i: m.dtype,
        must=Between(0, 12, words_of(TmaType)),
        source=f"{MEASURED}; {CCCL} says so of kDLUInt 4x16 and lets kDLFloat4_e2m1fn through to the driver",
        fix="packed types need compute capability 10 and toolkit 12.8; copy the bytes as u8",
    ),
    encoded(
        id="rank_range",
        sentence="the rank is 1 to 5",
        each="map",
        value=lambda m, i: m.rank,
        must=Between(1, 5),
        when=is_tiled,
        source=f"{API}; {MEASURED}",
        fix="merge modes whose strides chain, or copy slices",
        advice=advice.mergeable,
    ),
    encoded(
        id="im2col_rank",
        sentence="the rank of an im2col map is 3 to 5",
        each="map",
        value=lambda m, i: m.rank,
        must=Between(3, 5),
        when=is_im2col,
        source=f"{API}; {MEASURED}",
    ),
    encoded(
        id="rank_of_interleave",
        sentence="the rank is at least 3 with an interleaved layout",
        each="map",
        value=lambda m, i: m.rank,
        must=Between(3, None),
        when=is_interleaved,
        source=f"{API}; {MEASURED}; {CCCL} refused rank 3 too until April 2026, against its own text",
    ),
    encoded(
        id="interleave_enum",
        sentence="the interleaved layout is none, 16B or 32B",
        name="the interleaved layout",
        each="map",
        value=lambda m, i: m.interleave,
        must=Between(0, 2, words_of(TmaInterleaveLayout)),
        source=f"{API}; {MEASURED}",
    ),
    encoded(
        id="swizzle_of_cc90",
        sentence="the swizzle is none, 32B, 64B or 128B (the atom modes need compute capability 10)",
        name="the swizzle",
        profiles=DRIVER,
        each="map",
        value=lambda m, i: m.swizzle,
        must=Between(0, 3, words_of(TmaSwizzle)),
        source=f"{MEASURED}; {CCCL}; the Driver API names no capability",
        fix="the nearest swizzle of compute capability 9 is 128B",
    ),
    encoded(
        id="l2_promotion_enum",
        sentence="the L2 promotion is none, 64B, 128B or 256B",
        name="the L2 promotion",
        each="map",
        value=lambda m, i: m.l2_promotion,
        must=Between(0, 3, words_of(TmaL2FetchSize)),
        source=f"{API}; {MEASURED}",
    ),
    encoded(
        id="oob_fill_enum",
        sentence="the out-of-bounds fill is zero or NaN",
        name="the out-of-bounds fill",
        each="map",
        value=lambda m, i: m.oob_fill,
        must=Between(0, 1, FILLS),
        source=f"{API}; {MEASURED}",
    ),
    encoded(
        id="nan_fill_of_floats",
        sentence="NaN fills only float types",
        name="the out-of-bounds fill",
        each="map",
        value=lambda m, i: m.oob_fill,
        must=Between(0, lambda m, i: where(is_nan_type(m), 1, 0), FILLS),
        when=lambda m: (m.oob_fill >= 0) & (m.oob_fill <= 1),
        source=f"{API}; {MEASURED}; {CCCL} asks it of integers and bool and leaves fp8 to the driver",
        fix="fp8 travels as u8, which has no NaN; fill with zero",
    ),
)

MEMORY: tuple[Rule, ...] = (
    encoded(
        id="global_address_alignment",
        sentence="the global address is a multiple of 16 bytes, of 32 with interleave 32B",
        each="map",
        value=lambda m, i: m.global_address,
        must=MultipleOf(alignment),
        source=f"{API}; {MEASURED}: no swizzle asks for more, against the table of the CUDA C++ Programming Guide",
        unit="bytes",
        fix="start at an aligned element and offset by coordinates instead",
    ),
    encoded(
        id="global_dim_range",
        sentence="each global dimension is 1 to 2^32 elements",
        each="dimension",
        value=lambda m, i: m.global_dim[i],
        must=Between(1, 2**32),
        source=f"{API}; {MEASURED}",
        unit="elements",
        fix="skip the copy of an empty tensor, split a longer one",
    ),
    encoded(
        id="stride_multiple_16",
        sentence="each global stride is a multiple of 16 bytes, of 32 with interleave 32B",
        name="each global stride",
        each="stride",
        value=lambda m, i: m.global_stride_bytes[i],
        must=MultipleOf(alignment),
        source=f"{API}; {MEASURED}; also of a dimension of size 1",
        unit="bytes",
        fix="pad the rows, the extent may stay",
        advice=advice.padded_stride,
    ),
    encoded(
        id="stride_range",
        sentence="each global stride is 0 to 2^40 - 1 bytes",
        each="stride",
        value=lambda m, i: m.global_stride_bytes[i],
        must=Between(0, 2**40 - 1),
        source=f"{API}; {MEASURED}; {CCCL} says up to 2^40 and excludes it, says above 0 and takes 0 too",
        unit="bytes",
        fix="split the tensor; 0 repeats one row, which loads may do",
    ),
    encoded(
        id="element_stride_range",
        sentence="each element stride is 1 to 8",
        name="each element stride",
        each="dimension",
        value=lambda m, i: where(is_dense(m) & (i == 0), 1, m.element_stride[i]),
        must=Between(1, 8),
        source=f"{API}; {MEASURED}; the entry that {CCCL} ignores is the last one of elem_strides, not elem_strides[0]",
    ),
    encoded(
        id="element_stride_inner_range",
        sentence="the element stride of dimension 0 is 1 to 8 without interleave, where no copy heeds it",
        name="the element stride of dimension 0",
        profiles=DRIVER,
        each="inner",
        value=lambda m, i: m.element_stride[0],
        must=Between(1, 8),
        when=is_dense,
        source=f"{MEASURED}; the Driver API says that it is ignored, {CCCL} passes 1 in its place",
        fix="give 1",
    ),
    tma_cccl.STRIDE_UNIQUE,
)

BOX: tuple[Rule, ...] = (
    encoded(
        id="box_range",
        sentence="each box dimension is 1 to 256 elements",
        each="dimension",
        value=lambda m, i: m.box_dim[i],
        must=Between(1, 256),
        when=is_tiled,
        source=f"{API}; {MEASURED}",
        unit="elements",
        fix="copy several boxes, or split the mode in two",
        advice=advice.several_boxes,
    ),
    encoded(
        id="box_inner_multiple_16",
        sentence="the inner box row is a multiple of 16 bytes",
        each="inner",
        value=box_row,
        must=MultipleOf(16),
        when=lambda m: is_tiled(m) & is_dense(m) & (m.element_bits >= 8),
        source=f"{API}; {MEASURED}; {CCCL} read the outermost box entry until July 2026",
        unit="bytes",
        advice=advice.whole_units,
    ),
    encoded(
        id="box_inner_multiple_16_interleaved",
        sentence="the inner box entry times the element is a multiple of 16 bytes with interleave too",
        profiles=DRIVER,
        each="inner",
        value=box_row,
        must=MultipleOf(16),
        when=lambda m: is_tiled(m) & is_interleaved(m),
        source=f"{MEASURED}; no document says so, and the entry counts pixels there",
        unit="bytes",
        advice=advice.whole_units,
    ),
    encoded(
        id="box_inner_span",
        sentence="the inner box row is at most the span of the swizzle",
        each="inner",
        value=box_row,
        must=Between(None, span),
        when=lambda m: is_tiled(m) & is_dense(m) & (span(m) > 0),
        source=f"{API}; {MEASURED}; {CCCL} words it without the exception of swizzle none, and has it",
        unit="bytes",
        fix="copy the row in several boxes, or take a wider swizzle",
        advice=advice.narrower_boxes,
    ),
    encoded(
        id="box_fits_encode_limit",
        sentence="the product of floor(box / element stride) is at most 233472 bytes",
        profiles=DRIVER,
        each="map",
        value=encoded_bytes,
        must=Between(None, SHARED_LIMIT_BYTES),
        when=is_tiled,
        source=MEASURED,
        unit="bytes",
    ),
)

IM2COL: tuple[Rule, ...] = (
    encoded(
        id="im2col_channels",
        sentence="channels per pixel are 1 to 256",
        name="channels per pixel",
        each="map",
        value=lambda m, i: m.channels_per_pixel,
        must=Between(1, 256),
        when=is_im2col,
        source=f"{API}; {MEASURED}",
        unit="channels",
    ),
    encoded(
        id="im2col_pixels",
        sentence="pixels per column are 1 to 1024",
        name="pixels per column",
        each="map",
        value=lambda m, i: m.pixels_per_column,
        must=Between(1, 1024),
        when=is_im2col,
        source=f"{API}; {MEASURED}",
        unit="pixels",
    ),
    encoded(
        id="im2col_lower_corner_range",
        sentence="each lower corner fits 16, 8 or 5 bits for rank 3, 4 or 5",
        name="each lower corner",
        each="spatial",
        value=lambda m, i: m.lower_corner[i],
        must=Between(lambda m, i: corner(m, -1), lambda m, i: corner(m, 1)),
        when=is_im2col,
        source=f"{API}; {MEASURED}: entry 0 is W, against the order of the Driver API's text",
    ),
    encoded(
        id="im2col_upper_corner_range",
        sentence="each upper corner fits 16, 8 or 5 bits for rank 3, 4 or 5",
        name="each upper corner",
        each="spatial",
        value=lambda m, i: m.upper_corner[i],
        must=Between(lambda m, i: corner(m, -1), lambda m, i: corner(m, 1)),
        when=is_im2col,
        source=f"{API}; {MEASURED}: entry 0 is W, against the order of the Driver API's text",
    ),
    encoded(
        id="im2col_inner_multiple_16",
        sentence="the channels of a pixel are a multiple of 16 bytes",
        name="the channels of a pixel",
        profiles=DRIVER,
        each="map",
        value=lambda m, i: m.channels_per_pixel * m.element_bytes,
        must=MultipleOf(16),
        when=is_im2col,
        source=f"{MEASURED}; the Driver API asks it of tiled maps only",
        unit="bytes",
    ),
    encoded(
        id="im2col_inner_span",
        sentence="the channels of a pixel are at most the span of the swizzle",
        name="the channels of a pixel",
        each="map",
        value=lambda m, i: m.channels_per_pixel * m.element_bytes,
        must=Between(None, span),
        when=lambda m: is_im2col(m) & is_dense(m) & (span(m) > 0),
        source=f"{API}; {MEASURED}",
        unit="bytes",
        fix="copy the channels in several boxes, or take a wider swizzle",
    ),
    encoded(
        id="im2col_fits_encode_limit",
        sentence="the pixels of a column are at most 233472 bytes",
        name="the pixels of a column",
        profiles=DRIVER,
        each="map",
        value=lambda m, i: m.channels_per_pixel * m.pixels_per_column * m.element_bytes,
        must=Between(None, SHARED_LIMIT_BYTES),
        when=is_im2col,
        source=MEASURED,
        unit="bytes",
    ),
    encoded(
        id="im2col_box_nonempty",
        sentence="each range of base positions, dimension + upper corner - lower corner, is at least 1",
        profiles=DRIVER,
        each="spatial",
        value=base_positions,
        must=Between(1, None),
        when=is_im2col,
        source=f"{MEASURED}: the sum wraps to 32 bits, and with interleave dimension 0 is W",
        unit="positions",
    ),
)

# Structural rows first: a report lists violations in this order.
RULES: tuple[Rule, ...] = (
    *STRUCTURE,
    *tma_packed.STRUCTURE,
    tma_cccl.INTERLEAVE32_SWIZZLE32,
    tma_cccl.GLOBAL_ADDRESS_NONNULL,
    *MEMORY,
    *tma_packed.MEMORY,
    *BOX,
    *tma_cccl.BOX,
    *tma_packed.BOX,
    *IM2COL,
    *tma_packed.IM2COL,
    *tma_lints.LINTS,
)
BOX_RULES = frozenset(r.id for r in (*BOX, *tma_cccl.BOX, *tma_packed.BOX))  # the rules about box and element strides

BY_ID = {r.id: r for r in RULES}
PROFILES = tuple(dict.fromkeys(p for r in RULES for p in r.profiles))


@functools.cache
def rules_of(profile: str) -> tuple[Rule, ...]:
    """The rules that count in a profile."""
    return of_profile(RULES, profile)


def violations(m: Any, profile: str = "driver") -> list[Violation]:
    """The rules that a map breaks in a profile, at every place; with symbols, those broken for all their sizes."""
    return engine.violations(m, rules_of(profile))


def lints(m: Any) -> list[Violation]:
    """Warnings about a map that is legal and rarely intended.

    >>> from symlayout.tma import TensorMap
    >>> for v in lints(TensorMap("f32", 0, (64, 64), (256,), (8, 8), (1, 8))):
    ...     print(v.rule.id, v.fix)
    element_stride_one_step one row of 8 lands: 32 bytes, not 256
    """
    return violations(m, "lint")
