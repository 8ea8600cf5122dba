"""Rules of ``cuda::make_tma_descriptor`` for a DLTensor, one row each; the rules of the map that it makes follow.

>>> from symlayout.dlpack import DLTensor
>>> for v in violations(Request(DLTensor((64, 64), "i8"), (8, 16))):
...     print(v)
dl_dtype_bits: expected the bits of the data type to be 32 or 64, got 8; a copy only moves bytes: view it as unsigned
dl_data: expected the data pointer to be known, got unknown; give address=, or its alignment= if no more is known
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import Any

from ..arch import SM90, Arch
from ..dlpack import CODE_WORDS, DEVICE_WORDS, DLDataType, DLDataTypeCode, DLDeviceType, DLTensor
from ..expr import Int
from ..tma import TmaType
from . import rule as engine
from .rule import Between, MultipleOf, OneOf, Rule, Violation, of_profile

CCCL = "libcu++, cuda::make_tma_descriptor"
DLPACK = "DLPack, dlpack.h"
THROWS = "make_tma_descriptor throws std::invalid_argument"
WRONG = "a map of other bytes than the tensor's"

ALL = ("cccl", "driver", "documented", "hardware")
OTHERS = ALL[1:]

# DLPack's data types and those of the map: every other one is refused. CCCL looks at neither bits nor lanes of bool
# and fp8. What it refuses though a map can move it, as CUTLASS does, counts in the other profiles.
_C = DLDataTypeCode
TYPES: dict[DLDataType, tuple[TmaType, tuple[str, ...]]] = {
    DLDataType(_C.kDLInt, 8): (TmaType.UINT8, OTHERS),
    DLDataType(_C.kDLInt, 16): (TmaType.UINT16, OTHERS),
    DLDataType(_C.kDLInt, 32): (TmaType.INT32, ALL),
    DLDataType(_C.kDLInt, 64): (TmaType.INT64, ALL),
    DLDataType(_C.kDLUInt, 4, 16): (TmaType.PACKED_16U4_ALIGN8B, ALL),
    DLDataType(_C.kDLUInt, 8): (TmaType.UINT8, ALL),
    DLDataType(_C.kDLUInt, 16): (TmaType.UINT16, ALL),
    DLDataType(_C.kDLUInt, 32): (TmaType.UINT32, ALL),
    DLDataType(_C.kDLUInt, 64): (TmaType.UINT64, ALL),
    DLDataType(_C.kDLFloat, 16): (TmaType.FLOAT16, ALL),
    DLDataType(_C.kDLFloat, 32): (TmaType.FLOAT32, ALL),
    DLDataType(_C.kDLFloat, 64): (TmaType.FLOAT64, ALL),
    DLDataType(_C.kDLBfloat, 16): (TmaType.BFLOAT16, ALL),
    DLDataType(_C.kDLBool, 8): (TmaType.UINT8, ALL),
    DLDataType(_C.kDLFloat8_e3m4, 8): (TmaType.UINT8, ALL),
    DLDataType(_C.kDLFloat8_e4m3, 8): (TmaType.UINT8, ALL),
    DLDataType(_C.kDLFloat8_e4m3b11fnuz, 8): (TmaType.UINT8, ALL),
    DLDataType(_C.kDLFloat8_e4m3fn, 8): (TmaType.UINT8, ALL),
    DLDataType(_C.kDLFloat8_e4m3fnuz, 8): (TmaType.UINT8, ALL),
    DLDataType(_C.kDLFloat8_e5m2, 8): (TmaType.UINT8, ALL),
    DLDataType(_C.kDLFloat8_e5m2fnuz, 8): (TmaType.UINT8, ALL),
    DLDataType(_C.kDLFloat8_e8m0fnu, 8): (TmaType.UINT8, ALL),
    DLDataType(_C.kDLFloat4_e2m1fn, 4, 16): (TmaType.PACKED_16U4_ALIGN8B, ALL),
}


@dataclass(frozen=True)
class Request:
    """A call of ``make_tma_descriptor``: the tensor, box and element strides in its own order of axes."""

    tensor: DLTensor
    box_sizes: tuple[Int, ...]
    elem_strides: tuple[Int, ...] | None = None
    profile: str = "cccl"
    arch: Arch = field(default=SM90)

    @property
    def rank(self) -> int:
        return self.tensor.ndim

    @property
    def dtype(self) -> DLDataType:
        return self.tensor.dtype

    def types(self) -> list[DLDataType]:
        """The data types that the profile has."""
        return [t for t, (_, profiles) in TYPES.items() if self.profile in profiles]


def _devices(r: Any, i: int) -> tuple[int, ...]:
    pinned = () if r.profile == "cccl" else (DLDeviceType.kDLCUDAHost,)
    return (DLDeviceType.kDLCUDA, *pinned, DLDeviceType.kDLCUDAManaged)


def _codes(r: Any, i: int) -> tuple[int, ...]:
    return tuple(dict.fromkeys(t.code for t in r.types()))


def _bits(r: Any, i: int) -> tuple[int, ...]:
    return tuple(dict.fromkeys(t.bits for t in r.types() if t.code == r.dtype.code))


def _lanes(r: Any, i: int) -> tuple[int, ...]:
    return tuple(t.lanes for t in r.types() if t[:2] == r.dtype[:2])


asked = functools.partial(Rule, profiles=ALL, each="map", source=CCCL, effect=THROWS)

STRUCTURE: tuple[Rule, ...] = (
    asked(
        id="dl_device_type",
        sentence="the device is of type kDLCUDA or kDLCUDAManaged",
        name="the device",
        value=lambda r, i: r.tensor.device.device_type,
        must=OneOf(_devices, DEVICE_WORDS),
        source=f"{CCCL}, which refuses kDLCUDAHost though a GPU reads pinned memory: the other profiles take it",
        fix="of a host tensor, device= says where it will be and alignment= what is known of its address there",
    ),
    asked(
        id="dl_device_id",
        sentence="the device ordinal is at least 0",
        value=lambda r, i: r.tensor.device.device_id,
        must=Between(0, None),
        source=f"{CCCL}: a valid GPU device ordinal; only its sign can be checked here",
    ),
    asked(
        id="dl_compute_capability",
        sentence="the major compute capability is at least 9",
        value=lambda r, i: r.arch.compute_capability[0],
        must=Between(9, None),
        source=f"{CCCL}; CUDA Driver API, cuTensorMapEncodeTiled",
        effect="make_tma_descriptor throws std::runtime_error",
    ),
    asked(
        id="dl_dtype_code",
        sentence="the data type code is one that a tensor map has",
        name="the data type code",
        value=lambda r, i: r.dtype.code,
        must=OneOf(_codes, CODE_WORDS),
        fix="a copy only moves bytes: view it as unsigned integers of its width",
    ),
    asked(
        id="dl_dtype_bits",
        sentence="the bits of the data type are those that a tensor map has for its code",
        name="the bits of the data type",
        value=lambda r, i: r.dtype.bits,
        must=OneOf(_bits),
        when=lambda r: r.dtype.code in _codes(r, 0),
        source=f"{CCCL}, which does not look at those of kDLBool and fp8; CUTLASS moves int8 and int16 as unsigned",
        fix="a copy only moves bytes: view it as unsigned",
    ),
    asked(
        id="dl_dtype_lanes",
        sentence="the lanes are 1, and 16 of U4 and kDLFloat4_e2m1fn",
        name="the lanes",
        value=lambda r, i: r.dtype.lanes,
        must=OneOf(_lanes),
        when=lambda r: r.dtype.bits in _bits(r, 0),
        source=f"{CCCL}, which counts shape and strides of 16 lanes in single values, where DLPack counts vectors",
        fix="make the lanes the last axis",
    ),
    asked(
        id="dl_box_rank",
        sentence="the box has one entry for each axis",
        name="the entries of box_sizes",
        value=lambda r, i: len(r.box_sizes),
        must=Between(lambda r, i: r.rank, lambda r, i: r.rank),
    ),
    asked(
        id="dl_elem_stride_rank",
        sentence="the element strides have one entry for each axis",
        name="the entries of elem_strides",
        value=lambda r, i: len(r.elem_strides),
        must=Between(lambda r, i: r.rank, lambda r, i: r.rank),
        when=lambda r: r.elem_strides is not None,
    ),
    asked(
        id="dl_data",
        sentence="the data pointer is known",
        value=lambda r, i: int(r.tensor.data is not None),
        must=OneOf((1,), {0: "unknown", 1: "known"}),
        source=f"{CCCL}: a valid GPU global address",
        fix="give address=, or its alignment= if no more is known",
    ),
    asked(
        id="dl_byte_offset",
        sentence="the data pointer is not null where a byte offset counts from it",
        name="the data pointer",
        profiles=("cccl",),
        value=lambda r, i: r.tensor.data,
        must=Between(1, None),
        when=lambda r: r.tensor.data is not None and r.tensor.byte_offset != 0,
        source=f"{CCCL}, which tests the pointer before it adds the offset",
    ),
    asked(
        id="dl_strides_null",
        sentence="the strides are given from DLPack 1.2 on",
        profiles=("cccl",),
        name="the strides",
        value=lambda r, i: int(r.tensor.strides is not None),
        must=OneOf((1,), {0: "null", 1: "given"}),
        when=lambda r: r.tensor.version >= (1, 2) and r.rank > 0,
        source=f"{DLPACK} 1.2; the text of {CCCL} allows null of every version, for compact tensors",
    ),
)

LAYOUT: tuple[Rule, ...] = (
    asked(
        id="dl_inner_stride",
        sentence="the innermost stride is 1 element",
        each="inner",
        value=lambda r, i: r.tensor.element_strides[-1],
        must=Between(1, 1),
        when=lambda r: r.rank > 0 and r.tensor.shape[-1] != 1,
        source=f"{CCCL} since July 2026, before that it read past it; of an extent of 1 every stride is 1",
        unit="elements",
        fix="permute the axes so that a contiguous one is last",
        effect=WRONG,
    ),
    asked(
        id="dl_stride_whole_bytes",
        sentence="each stride is a whole number of bytes, a multiple of 8 bits",
        name="each stride",
        each="axis",
        value=lambda r, i: _outer_stride(r, i) * r.dtype.bits,
        must=MultipleOf(8),
        source=f"{CCCL} divides and drops the rest",
        unit="bits",
        effect=WRONG,
    ),
)


def _outer_stride(r: Request, i: int) -> Any:
    """The stride of an axis, 0 of the innermost one, which no map stores."""
    return r.tensor.element_strides[i] if i < r.rank - 1 else 0


RULES = (*STRUCTURE, *LAYOUT)
BY_ID = {r.id: r for r in RULES}
PROFILES = ALL


@functools.cache
def rules_of(profile: str) -> tuple[Rule, ...]:
    """The rules of a DLTensor that count in a profile."""
    return of_profile(RULES, profile)


def violations(r: Request) -> list[Violation]:
    """Rules of its tensor that a call breaks, before there is a map."""
    return engine.violations(r, rules_of(r.profile))
