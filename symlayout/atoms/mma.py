"""mma.sync: a warp multiplies a 16 x K (or 8 x K) tile by an 8 x K tile, in registers, and adds to 16 x 8 sums.

>>> from symlayout.atoms import atom
>>> row = atom("mma.m16n8k16.bf16")
>>> print(row.tv_a, row.tv_b)
((4,8),(2,2,2)):((32,1),(16,8,128)) ((4,8),(2,2)):((16,1),(8,64))
>>> print(atom("mma.m16n8k32.i8").acc_dtype, atom("mma.m16n8k16.f16.f16").acc_dtype)
i32 f16
>>> print(atom("mma.m8n8k4.f64"), atom("mma.m8n8k4.f64").tv_a)
mma.m8n8k4.f64: register -> register, by 32 threads ((4,8),1):((8,1),0)

Sums are f32, f64 of f64, or i32 of integers; another type stands in the word behind that of A and B. So does the type
of B where it is another than that of A:

>>> row = atom("mma.m16n8k64.i4.u4")
>>> print(row.dtype, row.dtype_b, *row.held)
i4 u4 u32 u32 i32
>>> print(row.tv_a, row.words[0])
((4,8),(8,2,2)):((128,1),(16,8,512)) ((4,8),(2,2)):((16,1),(8,64))

Elements of 4 bits and of 1 lie in words of 32 bits, side by side along k. Bits are combined by and, or by xor, and
those that are 1 are counted. There is no row for products with a sparse A.
"""

from __future__ import annotations

from ..dtype import DType, b1, bf16, e4m3, e5m2, f16, f32, f64, i4, i8, i32, tf32, u4, u8
from ..int_tuple import map_leaves
from ..layout import Layout
from ..strides import as_modes
from .access import Combines, Issuer
from .atom import AMPERE, HOPPER, REGISTER, WORD_BITS, MmaAtom

# CUTLASS, mma_traits_sm80.hpp, mma_traits_sm89.hpp and mma_traits_sm90.hpp; M, bits of an element, K: A, B.
TV_C = {16: Layout(((4, 8), (2, 2)), ((32, 1), (16, 8))), 8: Layout(((4, 8), 2), ((16, 1), 8))}
SCALAR = Layout(((4, 8), 1), ((8, 1), 0))
TV: dict[tuple[int, int, int], tuple[Layout, Layout]] = {
    (16, 16, 8): (Layout(((4, 8), (2, 2)), ((32, 1), (16, 8))), Layout(((4, 8), 2), ((16, 1), 8))),
    (16, 16, 16): (Layout(((4, 8), (2, 2, 2)), ((32, 1), (16, 8, 128))), Layout(((4, 8), (2, 2)), ((16, 1), (8, 64)))),
    (16, 32, 4): (Layout(((4, 8), 2), ((16, 1), 8)), SCALAR),
    (16, 32, 8): (Layout(((4, 8), (2, 2)), ((16, 1), (8, 64))), Layout(((4, 8), 2), ((8, 1), 32))),
    (16, 64, 16): (Layout(((4, 8), (2, 4)), ((16, 1), (8, 64))), Layout(((4, 8), 4), ((8, 1), 32))),
    (16, 8, 16): (Layout(((4, 8), (4, 2)), ((64, 1), (16, 8))), Layout(((4, 8), 4), ((32, 1), 8))),
    (16, 8, 32): (Layout(((4, 8), (4, 2, 2)), ((64, 1), (16, 8, 256))), Layout(((4, 8), (4, 2)), ((32, 1), (8, 128)))),
    (8, 8, 16): (Layout(((4, 8), 4), ((32, 1), 8)), Layout(((4, 8), 4), ((32, 1), 8))),
    (8, 64, 4): (SCALAR, SCALAR),
}
TV |= {(16, 64, k): TV[16, 32, k] for k in (4, 8)}  # f64 is dealt as tf32
F64_REGISTERS = 64  # ptxas 13.0 refuses products of 16 rows of f64 with fewer, whatever k
SINCE = {e4m3: (8, 9), e5m2: (8, 9)}  # PTX ISA, mma: target ISA notes


def _split(words: Layout, rows: int, packed: int) -> Layout:
    """A table of words as one of the elements in them, *packed* neighbours along k each."""
    stride = map_leaves(lambda d: d if d < rows else d * packed, words.stride)
    values = [x for x in zip(as_modes(words.shape[1]), as_modes(stride[1]), strict=True) if x[0] > 1]
    shape, strides = zip((packed, rows), *values, strict=True)
    alone = len(shape) == 1
    return Layout((words.shape[0], shape[0] if alone else shape), (stride[0], strides[0] if alone else strides))


# Words of 32 bits are dealt as elements of 32 bits are.
for _bits in (4, 1):
    _packed = WORD_BITS // _bits
    for _m, _k in ((8, 4), (16, 4), (16, 8)):
        _a, _b = (SCALAR, SCALAR) if _m == 8 else TV[16, 32, _k]
        TV[_m, _bits, _packed * _k] = _split(_a, _m, _packed), _split(_b, 8, _packed)

# What ptxas of CUDA 13 makes of a row on chips without it, by compute capability.
OF_BYTES = tuple((since, "2 IMMA of 8 bits") for since in ((9, 0), (10, 0), (12, 0)))
OF_HALVES = tuple((since, "2 HMMA of f16") for since in ((9, 0), (10, 0)))
OF_BITS = tuple((since, "IMMA of 8 bits") for since in ((10, 0), (12, 0)))
MADE_OF = {i4: OF_BYTES, u4: OF_BYTES, e4m3: OF_HALVES, e5m2: OF_HALVES}


def _row(
    k: int, dtype: DType, sums: DType, m: int = 16, b: DType | None = None, combines: Combines = Combines.PRODUCT
) -> MmaAtom:
    tv_a, tv_b = TV[m, dtype.bits, k]
    by_bits = ((9, 0), "2 BMMA by and") if combines is Combines.XOR else None
    made_of = (*((by_bits,) if by_bits else ()), *OF_BITS) if dtype is b1 else MADE_OF.get(dtype, ())
    ends = [x for x in (b, None if sums in (f32, i32, f64) else sums, combines if dtype is b1 else None) if x]
    return MmaAtom(
        word=".".join(map(str, (f"mma.m{m}n8k{k}", dtype, *ends))),
        src=REGISTER,
        src_b=REGISTER,
        dst=REGISTER,
        issuer=Issuer.WARP,
        source="PTX ISA, mma",
        since=HOPPER if (dtype, m) == (f64, 16) else SINCE.get(dtype, AMPERE),
        mnk=(m, 8, k),
        dtype=dtype,
        dtype_b=b or dtype,
        acc_dtype=sums,
        tv_a=tv_a,
        tv_b=tv_b,
        tv_c=TV_C[m],
        combines=combines,
        made_of=made_of,
        launch_registers=F64_REGISTERS if (dtype, m) == (f64, 16) else 0,
    )


ROWS = (
    *(_row(k, dtype, f32) for dtype in (f16, bf16) for k in (8, 16)),
    *(_row(k, tf32, f32) for k in (4, 8)),
    *(_row(k, f16, f16) for k in (8, 16)),
    *(_row(32, dtype, f32) for dtype in (e4m3, e5m2)),
    *(_row(k, dtype, i32) for dtype in (i8, u8) for k in (16, 32)),
    *(_row(16, dtype, i32, 8) for dtype in (i8, u8)),
    *(_row(32, x, f32, b=y) for x, y in ((e4m3, e5m2), (e5m2, e4m3))),
    *(_row(k, x, i32, m, y) for x, y in ((i8, u8), (u8, i8)) for m, k in ((8, 16), (16, 16), (16, 32))),
    *(
        _row(k, x, i32, m, None if x is y else y)
        for x in (i4, u4)
        for y in (i4, u4)
        for m, k in ((8, 32), (16, 32), (16, 64))
    ),
    *(
        _row(k, b1, i32, m, combines=combines)
        for combines in (Combines.AND, Combines.XOR)
        for m, k in ((8, 128), (16, 128), (16, 256))
    ),
    _row(4, f64, f64, 8),
    *(_row(k, f64, f64) for k in (4, 8, 16)),
)
