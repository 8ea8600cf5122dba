"""wgmma: a warpgroup multiplies a 64 x 16 tile by an N x 16 tile of shared memory and adds to 64 x N sums in f32.

>>> from symlayout.atoms import atom
>>> print(atom("wgmma.m64n256k16.bf16"))
wgmma.m64n256k16.bf16: shared -> register, by 128 threads, asynchronous, completes on wgmma groups
>>> print(atom("wgmma.m64n16k16.bf16").tv_c)
((4,8,4),(2,2,2)):((128,1,16),(64,8,512))

Both tiles lie in shared memory, each said by a ``MatrixDescriptor``; with ``.rs`` A is in registers. 16-bit types may
be K-major or MN-major there. Shared memory is read through the async proxy: what threads wrote needs a fence before.
"""

from __future__ import annotations

from ..dtype import DType, bf16, f16, f32
from ..layout import Layout
from .atom import MmaAtom

THREADS, M, K = 128, 64, 16
N = range(8, 257, 8)

TV_A_REGISTERS = Layout(((4, 8, 4), (2, 2, 2)), ((128, 1, 16), (64, 8, 512)))


def tv_c(n: int) -> Layout:
    """Warp w of the four has rows 16*w on (CUTLASS, ``mma_traits_sm90_gmma.hpp``, CLayout_64xN)."""
    return Layout(((4, 8, 4), (2, 2, n // 8)), ((128, 1, 16), (64, 8, 512)))


def tv_shared(rows: int, depth: int) -> Layout:
    """Every thread sees the whole tile."""
    return Layout((THREADS, (rows, depth)), (0, (1, rows)))


def _row(n: int, dtype: DType, registers: bool) -> MmaAtom:
    return MmaAtom(
        word=f"wgmma.m64n{n}k16.{dtype}{'.rs' if registers else ''}",
        kind="mma",
        src="register, shared" if registers else "shared",
        dst="register",
        threads=THREADS,
        proxy="async",
        completion="wgmma",
        source="PTX ISA, wgmma.mma_async",
        align_bytes=16,
        mnk=(M, n, K),
        dtype=dtype,
        acc_dtype=f32,
        tv_a=TV_A_REGISTERS if registers else tv_shared(M, K),
        tv_b=tv_shared(n, K),
        tv_c=tv_c(n),
    )


ROWS = tuple(_row(n, dtype, registers) for registers in (False, True) for dtype in (f16, bf16) for n in N)
