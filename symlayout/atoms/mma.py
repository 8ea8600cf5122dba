"""mma.sync: a warp multiplies a 16 x K (or 8 x K) tile by an 8 x K tile, in registers, and adds to 16 x 8 sums.

>>> from symlayout.atoms import atom
>>> row = atom("mma.m16n8k16.bf16")
>>> print(row.tv_a, row.tv_b)
((4,8),(2,2,2)):((32,1),(16,8,128)) ((4,8),(2,2)):((16,1),(8,64))
>>> print(atom("mma.m16n8k32.i8").acc_dtype, atom("mma.m16n8k16.f16.f16").acc_dtype)
i32 f16
>>> print(atom("mma.m8n8k4.f64"), atom("mma.m8n8k4.f64").tv_a)
mma.m8n8k4.f64: register -> register, by 32 threads ((4,8),1):((8,1),0)

Sums are f32, f64 of f64, or i32 of integers; another type stands in the word behind that of A and B. There is no row
for elements of less than a byte, which no register tensor holds, nor for products with a sparse A.
"""

from __future__ import annotations

from ..dtype import DType, bf16, e4m3, e5m2, f16, f32, f64, i8, i32, tf32, u8
from ..layout import Layout
from .access import Issuer
from .atom import AMPERE, HOPPER, REGISTER, MmaAtom

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
SINCE = {e4m3: (8, 9), e5m2: (8, 9)}  # PTX ISA, mma: target ISA notes


def _row(k: int, dtype: DType, sums: DType, m: int = 16) -> MmaAtom:
    tv_a, tv_b = TV[m, dtype.bits, k]
    return MmaAtom(
        word=f"mma.m{m}n8k{k}.{dtype}{'' if sums in (f32, i32, f64) else f'.{sums}'}",
        src=REGISTER,
        src_b=REGISTER,
        dst=REGISTER,
        issuer=Issuer.WARP,
        source="PTX ISA, mma",
        since=HOPPER if (dtype, m) == (f64, 16) else SINCE.get(dtype, AMPERE),
        mnk=(m, 8, k),
        dtype=dtype,
        acc_dtype=sums,
        tv_a=tv_a,
        tv_b=tv_b,
        tv_c=TV_C[m],
    )


ROWS = (
    *(_row(k, dtype, f32) for dtype in (f16, bf16) for k in (8, 16)),
    *(_row(k, tf32, f32) for k in (4, 8)),
    *(_row(k, f16, f16) for k in (8, 16)),
    *(_row(32, dtype, f32) for dtype in (e4m3, e5m2)),
    *(_row(k, dtype, i32) for dtype in (i8, u8) for k in (16, 32)),
    *(_row(16, dtype, i32, 8) for dtype in (i8, u8)),
    _row(4, f64, f64, 8),
    *(_row(k, f64, f64) for k in (4, 8, 16)),
)
