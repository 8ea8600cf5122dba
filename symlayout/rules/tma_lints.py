"""Lints: tensor maps that are legal and rarely intended, or that no block can use."""

from __future__ import annotations

import functools
from typing import Any

from ..arch import SM90
from ..expr import Expr, minimum
from . import advice
from .readings import (
    box_row,
    bytes_of,
    heeded_stride,
    is_dense,
    is_slice,
    is_tiled,
    landed_bytes,
    positive,
    span,
    tile_steps,
)
from .rule import Between, MultipleOf, Rule, where

MEASURED = "copies on an H200, driver 580.159.04"

surprising = functools.partial(Rule, profiles=("lint",), source=MEASURED)


def _most(x: Any, limit: int) -> Any:
    return minimum(x, limit) if isinstance(x, Expr) else where(x < limit, x, limit)


def _known_stride(m: Any, i: int) -> Any:
    """The element stride that a copy heeds; 1, which says nothing, for one that sizes decide."""
    stride = heeded_stride(m, i)
    return 1 if isinstance(stride, Expr) else positive(stride)


LINTS: tuple[Rule, ...] = (
    Rule(
        id="landed_fits_smem",
        sentence="what a copy lands is at most the shared memory of a block, 232448 bytes",
        profiles=("hardware",),
        each="map",
        value=landed_bytes,
        must=Between(None, SM90.shared_bytes_per_block),
        source=f"{MEASURED}: a swizzled row takes its whole span, interleaved entries count pixels",
        unit="bytes",
        fix="copy several boxes",
        effect="no block has room for the tile: illegal memory access",
    ),
    surprising(
        id="element_stride_one_step",
        sentence="the steps of a copy are at least 2 where the box is",
        name="the steps of a copy",
        each="dimension",
        value=lambda m, i: where(is_slice(m, i), m.box_dim[i], tile_steps(m, i)),
        must=Between(lambda m, i: _most(m.box_dim[i], 2), None),
        when=is_tiled,
        fix="element strides step through global memory, the tile stays dense: give 1",
        advice=advice.one_step,
        effect="one row lands where the box has several",
    ),
    surprising(
        id="element_stride_divides_box",
        sentence="each box dimension is a multiple of its element stride",
        name="each box dimension",
        each="dimension",
        value=lambda m, i: where(is_slice(m, i) | (tile_steps(m, i) == 1), 0, m.box_dim[i]),
        must=MultipleOf(_known_stride),
        when=is_tiled,
        unit="elements",
        effect="ceil(box / element stride) steps are taken: the last one may leave the box",
    ),
    surprising(
        id="element_stride0_ignored",
        sentence="the element stride of dimension 0 is 1 without interleave",
        name="the element stride of dimension 0",
        each="inner",
        value=lambda m, i: m.element_stride[0],
        must=Between(1, 1),
        when=is_dense,
        source=f"CUDA Driver API, cuTensorMapEncodeTiled; {MEASURED}",
        effect="the copy ignores it",
    ),
    surprising(
        id="interleave_one_slice",
        sentence="the box holds one channel slice with interleave",
        name="each box dimension of slices",
        each="dimension",
        value=lambda m, i: where(is_slice(m, i), m.box_dim[i], 1),
        must=Between(1, 1),
        when=is_tiled,
        unit="slices",
        effect="the copy takes one slice, whatever the box says",
    ),
    surprising(
        id="row_multiple_16",
        sentence="each row of the tensor is a multiple of 16 bytes",
        name="each row of the tensor",
        each="inner",
        value=lambda m, i: bytes_of(m, m.global_dim[0]),
        must=MultipleOf(16),
        when=is_dense,
        unit="bytes",
        fix="load only, pad the rows, or show that the gap after each is dead",
        advice=advice.overwritten,
        effect="a store writes whole units of 16 bytes: up to 15 bytes past the end of each row",
    ),
    surprising(
        id="narrow_swizzled_row",
        sentence="the inner box row is the span of the swizzle",
        each="inner",
        value=lambda m, i: m.channels_per_pixel * m.element_bytes if m.is_im2col else box_row(m),
        must=Between(span, None),
        when=lambda m: is_dense(m) & (span(m) > 0),
        unit="bytes",
        fix="allocate landed_bytes, not the bytes of the box",
        effect="each row takes the whole span in shared memory; the gaps keep what was there",
    ),
    surprising(
        id="dim_reach",
        sentence="each global dimension is at most 2^31 elements",
        name="each global dimension",
        each="dimension",
        value=lambda m, i: m.global_dim[i],
        must=Between(None, 2**31),
        source="PTX ISA, cp.async.bulk.tensor: coordinates are signed and of 32 bits",
        unit="elements",
        effect="no coordinate reaches the elements from index 2^31 on",
    ),
)
