"""wgmma: a warpgroup multiplies a 64 x K tile by an N x K tile of shared memory and adds to 64 x N sums.

>>> from symlayout.atoms import atom
>>> print(atom("wgmma.m64n256k16.bf16"))
wgmma.m64n256k16.bf16: shared -> register, by 128 threads, asynchronous, completes on wgmma groups
>>> print(atom("wgmma.m64n16k16.bf16").tv_c)
((4,8,4),(2,2,2)):((128,1,16),(64,8,512))
>>> print(atom("wgmma.m64n64k32.e4m3").acc_dtype, atom("wgmma.m64n64k16.f16.f16").acc_dtype)
f32 f16
>>> print(atom("wgmma.m64n256k16.bf16").launch_registers, atom("wgmma.m64n256k16.bf16.rs").launch_registers)
154 158

Both tiles lie in shared memory, each said by a ``MatrixDescriptor``; with ``.rs`` A is in registers. K is 32 bytes.
16-bit types may be K-major or MN-major there, others are K-major. Sums are f32, or i32 of integers; another type stands
in the word behind that of A and B. Shared memory is read through the async proxy: what threads wrote needs a fence
before.
"""

from __future__ import annotations

import functools

from ..dtype import DType, bf16, e4m3, e5m2, f16, f32, i8, i32, tf32, u8
from ..layout import Layout
from .access import Completion, Issuer, Proxy
from .atom import HOPPER, REGISTER, SHARED, WORD_BITS, MmaAtom, values_of
from .descriptor import STEP_BYTES

THREADS, M = 128, 64
MORE_REGISTERS = 26  # than its operands: ptxas 13.0, error C7602, whatever setmaxnreg gives a role later
N = range(8, 257, 8)
N_INTEGER = (8, 16, 24, 32, *range(48, 257, 16))

# A in registers, by the bits of an element: ALayout_64x8, _64x16 and _64x32 of CUTLASS, ``mma_traits_sm90_gmma.hpp``.
TV_A_REGISTERS = {
    32: Layout(((4, 8, 4), (2, 2)), ((64, 1, 16), (8, 256))),
    16: Layout(((4, 8, 4), (2, 2, 2)), ((128, 1, 16), (64, 8, 512))),
    8: Layout(((4, 8, 4), (4, 2, 2)), ((256, 1, 16), (64, 8, 1024))),
}

A_BITS = 8 * M * STEP_BYTES // THREADS  # of a thread, of A in registers


@functools.cache
def tv_c(n: int) -> Layout:
    """Warp w of the four has rows 16*w on (CUTLASS, ``mma_traits_sm90_gmma.hpp``, CLayout_64xN)."""
    return Layout(((4, 8, 4), (2, 2, n // 8)), ((128, 1, 16), (64, 8, 512)))


@functools.cache
def tv_shared(rows: int, depth: int) -> Layout:
    """Every thread sees the whole tile."""
    return Layout((THREADS, (rows, depth)), (0, (1, rows)))


def _row(n: int, dtype: DType, sums: DType, registers: bool) -> MmaAtom:
    k = STEP_BYTES // dtype.bytes
    return MmaAtom(
        word=f"wgmma.m64n{n}k{k}.{dtype}{'' if sums in (f32, i32) else f'.{sums}'}{'.rs' if registers else ''}",
        src=REGISTER if registers else SHARED,
        src_b=SHARED,
        dst=REGISTER,
        issuer=Issuer.WARPGROUP,
        proxy=Proxy.ASYNC,
        completion=Completion.WGMMA,
        source="PTX ISA, wgmma.mma_async",
        align_bytes=16,
        since=HOPPER,
        mnk=(M, n, k),
        dtype=dtype,
        dtype_b=dtype,
        acc_dtype=sums,
        tv_a=TV_A_REGISTERS[dtype.bits] if registers else tv_shared(M, k),
        tv_b=tv_shared(n, k),
        tv_c=tv_c(n),
        launch_registers=(sums.bits * values_of(tv_c(n)) + A_BITS * registers) // WORD_BITS + MORE_REGISTERS,
    )


SUMS = (
    *((f16, f32), (bf16, f32), (f16, f16), (tf32, f32)),
    *((e4m3, f32), (e5m2, f32), (e4m3, f16), (e5m2, f16), (i8, i32), (u8, i32)),
)
ROWS = tuple(
    _row(n, dtype, sums, registers)
    for registers in (False, True)
    for dtype, sums in SUMS
    for n in (N_INTEGER if sums is i32 else N)
)
