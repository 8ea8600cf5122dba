"""Rules of ``cuda::make_tma_descriptor`` for a tensor map that the driver does not have.

Its text has slips; each row's source says which reading holds. The code is that of CCCL in August 2026.
"""

from __future__ import annotations

import functools

from ..arch import SM90
from ..tma import TmaSwizzle
from . import advice
from .readings import box_bytes, extent, heeded_stride, is_tiled, least_stride
from .rule import Between, OneOf, Rule

CCCL = "libcu++, cuda::make_tma_descriptor"
THROWS = "make_tma_descriptor throws std::invalid_argument; the driver accepts it"

asked = functools.partial(Rule, profiles=("cccl",), effect=THROWS)

INTERLEAVE32_SWIZZLE32 = asked(
    id="interleave32_swizzle32",
    sentence="an interleaved layout of 32B has swizzle 32B",
    name="the swizzle",
    profiles=("documented", "cccl"),
    each="map",
    value=lambda m, i: m.swizzle,
    must=OneOf((TmaSwizzle.bytes32,), {int(s): str(s) for s in TmaSwizzle}),
    when=lambda m: m.interleave == 2,
    source=f"CUDA Driver API, cuTensorMapEncodeTiled; {CCCL}; the driver accepts every swizzle there",
    fix="take swizzle 32B, the only one that is documented there",
)

GLOBAL_ADDRESS_NONNULL = asked(
    id="global_address_nonnull",
    sentence="the global address is not null",
    name="the global address",
    each="map",
    value=lambda m, i: m.global_address,
    must=Between(1, None),
    source=f"{CCCL}; the Driver API does not say; NVIDIA/cutlass 947 saw a driver of CUDA 12.0 refuse it",
    effect="make_tma_descriptor throws std::invalid_argument",
)

STRIDE_UNIQUE = asked(
    id="stride_unique",
    sentence="each global stride is 0 or at least the extent times the stride below it",
    name="each global stride",
    each="stride",
    value=lambda m, i: m.global_stride_bytes[i],
    must=Between(least_stride, None),
    source=(
        f"{CCCL}, whose text writes shape[i - 1] * strides[i - 1], right only innermost first. Permuted modes fail it "
        "though no elements meet; a stride of 0 in the middle passes it though rows overlap"
    ),
    unit="bytes",
    advice=advice.shared_element,
)

BOX: tuple[Rule, ...] = (
    asked(
        id="box_within_dim",
        sentence="each box dimension is at most the extent of the tensor",
        name="each box dimension",
        profiles=("cccl", "lint"),
        each="dimension",
        value=lambda m, i: m.box_dim[i],
        must=Between(None, extent),
        when=is_tiled,
        source=f"{CCCL}; copies on an H200 run with larger boxes",
        unit="elements",
        fix="what lies outside the tensor is filled",
        advice=advice.filled,
    ),
    asked(
        id="element_stride_within_dim",
        sentence="each element stride is at most the extent of the tensor",
        name="each element stride",
        each="dimension",
        value=heeded_stride,
        must=Between(None, extent),
        source=f"{CCCL}; not asked of the innermost entry, which it replaces by 1 without interleave",
        unit="elements",
    ),
    asked(
        id="box_fits_smem",
        sentence="the box is at most the shared memory of a block, 232448 bytes",
        name="the box",
        each="map",
        value=box_bytes,
        must=Between(None, SM90.shared_bytes_per_block),
        when=is_tiled,
        source=f"{CCCL}: box entries multiplied, element strides left aside. The driver's own limit differs",
        unit="bytes",
        fix="copy several boxes",
        advice=advice.landing,
    ),
)
