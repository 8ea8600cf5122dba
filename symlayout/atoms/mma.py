"""mma.sync: a warp multiplies a 16 x K tile by an 8 x K tile, all in registers, and adds to 16 x 8 sums in f32.

>>> from symlayout.atoms import atom
>>> row = atom("mma.m16n8k16.bf16")
>>> print(row.tv_a, row.tv_b)
((4,8),(2,2,2)):((32,1),(16,8,128)) ((4,8),(2,2)):((16,1),(8,64))
"""

from __future__ import annotations

from ..dtype import DType, bf16, f16, f32, tf32
from ..layout import Layout
from .atom import MmaAtom

# CUTLASS, mma_traits_sm80.hpp.
TV_C = Layout(((4, 8), (2, 2)), ((32, 1), (16, 8)))
TV_A = {
    8: Layout(((4, 8), (2, 2)), ((32, 1), (16, 8))),
    16: Layout(((4, 8), (2, 2, 2)), ((32, 1), (16, 8, 128))),
}
TV_B = {8: Layout(((4, 8), 2), ((16, 1), 8)), 16: Layout(((4, 8), (2, 2)), ((16, 1), (8, 64)))}
TF32_TV_A = {4: Layout(((4, 8), 2), ((16, 1), 8)), 8: Layout(((4, 8), (2, 2)), ((16, 1), (8, 64)))}
TF32_TV_B = {4: Layout(((4, 8), 1), ((8, 1), 0)), 8: Layout(((4, 8), 2), ((8, 1), 32))}


def _row(k: int, dtype: DType, tv_a: Layout, tv_b: Layout) -> MmaAtom:
    return MmaAtom(
        word=f"mma.m16n8k{k}.{dtype}",
        kind="mma",
        src="register",
        dst="register",
        threads=32,
        source="PTX ISA, mma",
        mnk=(16, 8, k),
        dtype=dtype,
        acc_dtype=f32,
        tv_a=tv_a,
        tv_b=tv_b,
        tv_c=TV_C,
    )


ROWS = (
    *(_row(k, dtype, TV_A[k], TV_B[k]) for dtype in (f16, bf16) for k in (8, 16)),
    *(_row(k, tf32, TF32_TV_A[k], TF32_TV_B[k]) for k in (4, 8)),
)
