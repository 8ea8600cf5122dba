"""Rules of the Driver API that no driver of compute capability 9 can show: packed types, swizzle atoms, plain sums.

The packed types are refused on capability 9.0; these rows are from documents alone.
"""

from __future__ import annotations

import functools

from ..tma import TmaSwizzle
from .readings import (
    U4_ALIGN8,
    U4_ALIGN16,
    U6_ALIGN16,
    is_im2col,
    is_packed16,
    is_tiled,
)
from .rule import Between, MultipleOf, OneOf, Rule

API = "CUDA Driver API, CUtensorMapDataType and cuTensorMapEncodeTiled"
UNSEEN = "refused on capability 10 and later, says the Driver API; 9.0 refuses the type"

told = functools.partial(Rule, profiles=("documented",), effect=UNSEEN, source=API)

SWIZZLE_WORDS = {int(s): str(s) for s in TmaSwizzle}

STRUCTURE: tuple[Rule, ...] = (
    told(
        id="dtype_enum",
        sentence="the data type is one of 0 to 15",
        name="the data type",
        each="map",
        value=lambda m, i: m.dtype,
        must=Between(0, 15),
        effect="the encode call returns CUDA_ERROR_INVALID_VALUE",
    ),
    told(
        id="swizzle_enum",
        sentence="the swizzle is one of 0 to 6",
        name="the swizzle",
        each="map",
        value=lambda m, i: m.swizzle,
        must=Between(0, 6),
        effect="the encode call returns CUDA_ERROR_INVALID_VALUE",
    ),
    told(
        id="packed_u6_not_interleaved",
        sentence="the interleaved layout of packed U6 is none",
        name="the interleaved layout of packed U6",
        each="map",
        value=lambda m, i: m.interleave,
        must=Between(0, 0),
        when=lambda m: m.dtype == U6_ALIGN16,
    ),
    told(
        id="packed_u4_swizzle",
        sentence="the swizzle of packed U4 of 16 bytes is none, 128B or 128B_atom_32B",
        name="the swizzle of packed U4",
        each="map",
        value=lambda m, i: m.swizzle,
        must=OneOf((0, 3, 4), SWIZZLE_WORDS),
        when=lambda m: m.dtype == U4_ALIGN16,
        source=f"{API}; the PTX ISA allows 128B_atom_64B too",
    ),
    told(
        id="packed_u6_swizzle",
        sentence="the swizzle of packed U6 is none, 128B, 128B_atom_32B or, for stores, 128B_atom_64B",
        name="the swizzle of packed U6",
        each="map",
        value=lambda m, i: m.swizzle,
        must=OneOf((0, 3, 4, 6), SWIZZLE_WORDS),
        when=lambda m: m.dtype == U6_ALIGN16,
    ),
)

MEMORY: tuple[Rule, ...] = (
    told(
        id="packed_address_multiple_32",
        sentence="the global address of packed types of 16 bytes is a multiple of 32 bytes",
        each="map",
        value=lambda m, i: m.global_address,
        must=MultipleOf(32),
        when=is_packed16,
        unit="bytes",
    ),
    told(
        id="packed_dim0_multiple_128",
        sentence="dimension 0 of packed types of 16 bytes is a multiple of 128 values",
        each="inner",
        value=lambda m, i: m.global_dim[0],
        must=MultipleOf(128),
        when=is_packed16,
        unit="values",
    ),
    told(
        id="packed_dim0_multiple_2",
        sentence="dimension 0 of packed U4 of 8 bytes is a multiple of 2 values",
        profiles=("documented", "cccl"),
        each="inner",
        value=lambda m, i: m.global_dim[0],
        must=MultipleOf(2),
        when=lambda m: m.dtype == U4_ALIGN8,
        source=f"{API}; libcu++, cuda::make_tma_descriptor, which counts single values where DLPack counts vectors",
        unit="values",
    ),
    told(
        id="packed_stride_multiple_32",
        sentence="each global stride of packed types of 16 bytes is a multiple of 32 bytes",
        name="each global stride of packed types",
        each="stride",
        value=lambda m, i: m.global_stride_bytes[i],
        must=MultipleOf(32),
        when=is_packed16,
        unit="bytes",
    ),
)

BOX: tuple[Rule, ...] = (
    told(
        id="packed_box_multiple_32",
        sentence="the inner box entry of packed U4 of 8 bytes is a multiple of 32 values, 16 bytes",
        each="inner",
        value=lambda m, i: m.box_dim[0],
        must=MultipleOf(32),
        when=lambda m: (m.dtype == U4_ALIGN8) & is_tiled(m),
        unit="values",
    ),
    told(
        id="packed_box_128",
        sentence="the inner box entry of packed types of 16 bytes is 128 values",
        each="inner",
        value=lambda m, i: m.box_dim[0],
        must=Between(128, 128),
        when=lambda m: is_packed16(m) & is_tiled(m),
        unit="values",
    ),
)

IM2COL: tuple[Rule, ...] = (
    told(
        id="packed_channels_128",
        sentence="channels per pixel of packed types of 16 bytes are 128",
        name="channels per pixel of packed types",
        each="map",
        value=lambda m, i: m.channels_per_pixel,
        must=Between(128, 128),
        when=lambda m: is_packed16(m) & is_im2col(m),
        unit="channels",
    ),
    told(
        id="im2col_area",
        sentence="each range of base positions is at least 1, as a plain sum",
        name="each range of base positions, dimension + upper corner - lower corner,",
        each="spatial",
        value=lambda m, i: m.global_dim[i + 1] + m.upper_corner[i] - m.lower_corner[i],
        must=Between(1, None),
        when=is_im2col,
        source="CUDA Driver API, cuTensorMapEncodeIm2col; the driver's own sum wraps to 32 bits",
        unit="positions",
        effect="the encode call returns CUDA_ERROR_INVALID_VALUE, except where its sum wraps",
    ),
)
