"""The enumerations of the driver that a tensor map is made of: types, interleave, swizzle, L2 promotion, fill.

>>> print(TmaSwizzle.of(128), TmaSwizzle.of("none"), TmaType.BFLOAT16, TmaSwizzle.bytes64.swizzle)
128B none bf16 Sw<2,4,3>
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Any

from ..dtype import DType, bf16, f16, f32, f64, i32, i64, tf32, u8, u16, u32, u64
from ..errors import LayoutError
from ..swizzle import Swizzle


class TmaType(IntEnum):
    """CUtensorMapDataType."""

    UINT8 = 0
    UINT16 = 1
    UINT32 = 2
    INT32 = 3
    UINT64 = 4
    INT64 = 5
    FLOAT16 = 6
    FLOAT32 = 7
    FLOAT64 = 8
    BFLOAT16 = 9
    FLOAT32_FTZ = 10
    TFLOAT32 = 11
    TFLOAT32_FTZ = 12
    PACKED_16U4_ALIGN8B = 13
    PACKED_16U4_ALIGN16B = 14
    PACKED_16U6_ALIGN16B = 15

    @property
    def bits(self) -> int:
        """Bits of one value in global memory."""
        return TYPE_BITS[self]

    @property
    def is_float(self) -> bool:
        """Whether out-of-bounds elements may be filled with NaN."""
        return TmaType.FLOAT16 <= self <= TmaType.TFLOAT32_FTZ

    def __str__(self) -> str:
        return TYPE_WORDS[self]


TYPE_BITS = (8, 16, 32, 32, 64, 64, 16, 32, 64, 16, 32, 32, 32, 4, 4, 6)
TYPE_WORDS = (
    *("u8", "u16", "u32", "i32", "u64", "i64", "f16", "f32", "f64", "bf16", "f32.ftz", "tf32", "tf32.ftz"),
    *("u4x16.align8", "u4x16.align16", "u6x16.align16"),
)

# CUTLASS copy_sm90_desc.hpp, to_CUtensorMapDataType: what one byte holds travels as UINT8.
TYPE_OF: Mapping[DType, TmaType] = {
    **{u8: TmaType.UINT8, u16: TmaType.UINT16, u32: TmaType.UINT32, u64: TmaType.UINT64, i32: TmaType.INT32},
    **{i64: TmaType.INT64, f16: TmaType.FLOAT16, bf16: TmaType.BFLOAT16, f32: TmaType.FLOAT32, f64: TmaType.FLOAT64},
    tf32: TmaType.TFLOAT32,
}


class Enumerated(IntEnum):
    """An enumeration of the driver whose members also go by their size in bytes or their names."""

    @classmethod
    def of(cls, x: Any) -> Any:
        """The member of a member, of a name, or of a number of bytes. Raises LayoutError for none of these."""
        if isinstance(x, cls):
            return x
        if x is None:
            return cls(0)
        known = {k: member for member in reversed(cls) for k in (member.name, member.word, member.size_bytes)}
        try:
            if x in known:
                return known[x]
        except TypeError:  # a list or an array
            pass
        raise LayoutError(f"expected one of {', '.join(m.name for m in cls)} for {cls.__name__}, got {x!r}")

    @property
    def word(self) -> str:
        """``128B``; ``none`` for member 0."""
        return self.name.replace("bytes", "") + "B" if self.name.startswith("bytes") else self.name

    @property
    def size_bytes(self) -> int | str:
        """The bytes that the member is named after: 128 of ``bytes128``, 0 of ``none``; else its name."""
        digits = self.name.removeprefix("bytes")
        return int(digits) if digits.isdigit() else 0 if self == 0 else self.name

    def __str__(self) -> str:
        return self.word


class TmaInterleaveLayout(Enumerated):
    """``cuda::tma_interleave_layout``; CUtensorMapInterleave."""

    none = 0
    bytes16 = 1
    bytes32 = 2


class TmaSwizzle(Enumerated):
    """``cuda::tma_swizzle``; CUtensorMapSwizzle. The atom modes need CC >= 10 and toolkit 12.8."""

    none = 0
    bytes32 = 1
    bytes64 = 2
    bytes128 = 3
    bytes128_atom_32B = 4  # noqa: N815  (the enumerators of CCCL)
    bytes128_atom_32B_flip_8B = 5  # noqa: N815
    bytes128_atom_64B = 6  # noqa: N815

    @property
    def word(self) -> str:
        return super().word.removesuffix("B") if self > TmaSwizzle.bytes128 else super().word

    @property
    def span_bytes(self) -> int:
        """The longest inner box row, and the pitch of narrower ones; 0 without a swizzle."""
        return SPAN_BYTES[self]

    @property
    def repeat_bytes(self) -> int:
        """The period of the pattern in shared memory: a base that is a multiple of it has phase 0."""
        return 1 if self == 0 else self.swizzle.period

    @property
    def swizzle(self) -> Swizzle:
        """The swizzle of byte addresses in shared memory.

        Raises LayoutError for the one mode that also swaps 8-byte halves, which is not a CuTe swizzle.
        """
        if self == TmaSwizzle.bytes128_atom_32B_flip_8B:
            raise LayoutError(f"expected a swizzle that CuTe can write, got {self.name}")
        return BYTE_SWIZZLES[self]


SPAN_BYTES = (0, 32, 64, 128, 128, 128, 128)
# PTX ISA, "Swizzling Modes"; CUTLASS copy_traits_sm90_tma_swizzle.hpp, get_tma_swizzle_bits and _base.
BYTE_SWIZZLES: Mapping[int, Swizzle] = {
    **{k: Swizzle(k, 4, 3) for k in range(4)},
    TmaSwizzle.bytes128_atom_32B: Swizzle(2, 5, 2),
    TmaSwizzle.bytes128_atom_64B: Swizzle(1, 6, 1),
}


class TmaL2FetchSize(Enumerated):
    """``cuda::tma_l2_fetch_size``; CUtensorMapL2promotion."""

    none = 0
    bytes64 = 1
    bytes128 = 2
    bytes256 = 3


class TmaOobFill(Enumerated):
    """``cuda::tma_oob_fill``; CUtensorMapFloatOOBfill: what a load writes for elements outside the tensor."""

    none = 0
    nan = 1


# The parameters of a tensor map that are members of one, by their names there.
ENUMERATIONS: Mapping[str, type[Enumerated]] = {
    "interleave": TmaInterleaveLayout,
    "swizzle": TmaSwizzle,
    "l2_promotion": TmaL2FetchSize,
    "oob_fill": TmaOobFill,
}
