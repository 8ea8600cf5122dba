"""A product that reads like CuTe: tiled copies and a tiled product on tensors, one slot."""

from __future__ import annotations

from typing import Any

from symlayout import (
    ComposedLayout,
    Layout,
    Swizzle,
    Tensor,
    dim,
    local_tile,
    make_identity_tensor,
    tile_to_shape,
)
from symlayout.algorithms import (
    Inside,
    make_copy_atom,
    make_tiled_copy,
    make_tiled_copy_A,
    make_tiled_copy_B,
    make_tiled_mma,
)
from symlayout.expr import multiple_of
from symlayout.kernel import Builder, Kernel
from symlayout.results import dot, element

TILE, STEP = 64, 32


def cute_gemm(*, complete: bool = True, again: bool = True) -> Kernel:
    """c = a b^T for bf16; without waits for the copies, or without the barrier before the slot is filled again."""
    M, N, K = (dim(name, at_most=1 << 20) for name in "MNK")
    k = Builder("cute_gemm", M, N, K, grid=((M + TILE - 1) // TILE, (N + TILE - 1) // TILE), threads=128)
    gA, gB, gC = (
        k.tensor(k.global_tensor(name, "bf16", Layout((m, n), (n, 1)))())
        for name, m, n in (("a", M, K), ("b", N, K), ("c", M, N))
    )
    cA, cB, cC = (make_identity_tensor(x.shape) for x in (gA, gB, gC))
    slot = tile_to_shape(ComposedLayout(Swizzle(2, 3, 3), 0, Layout((8, STEP), (STEP, 1))), (TILE, STEP))
    sA, sB = (k.tensor(k.shared_tensor(f"{name}_tile", "bf16", slot)()) for name in "ab")

    mma = make_tiled_mma("mma.m16n8k16.bf16", (2, 2, 1), (32, 32, 16))
    fetch = make_tiled_copy(make_copy_atom("cp.async.16", "bf16"), Layout((32, 4), (4, 1)), Layout((1, 8), (8, 1)))
    read = make_copy_atom("ldmatrix.x4", "bf16")
    read_A, read_B = make_tiled_copy_A(read, mma), make_tiled_copy_B(read, mma)
    mine, thr = fetch.get_slice(k.thread), mma.get_slice(k.thread)
    (bm, bn) = k.block

    def fragment(name: str, kind: str, like: Tensor) -> tuple[Tensor, Any]:
        registers = k.registers(name, kind, int(like.size()))
        return k.tensor(registers(), like.layout), registers

    rA, _ = fragment("of_a", "bf16", thr.partition_fragment_A(sA))
    rB, _ = fragment("of_b", "bf16", thr.partition_fragment_B(sB))
    rC, acc = fragment("acc", "f32", thr.partition_fragment_C(local_tile(gC, (TILE, TILE), (bm, bn))))
    out, rounded = fragment("out", "bf16", rC)
    k.fill(acc(), 0, int(rC.size()))
    with k.loop("i", (K + STEP - 1) // STEP) as i:
        for g, c, s, block in ((gA, cA, sA, bm), (gB, cB, sB, bn)):
            src, coords = (mine.partition_S(local_tile(x, (TILE, STEP), (block, i))) for x in (g, c))
            done = k.copy(fetch, src, mine.partition_D(s), when=Inside(coords, g.shape))
        if complete:
            k.complete(done)
        k.copy(read_A, read_A.get_slice(k.thread).partition_S(sA), read_A.retile(rA))
        k.copy(read_B, read_B.get_slice(k.thread).partition_S(sB), read_B.retile(rB))
        k.gemm(mma, rA, rB, rC)
        if again:
            k.sync()
    k.map("convert", (acc(),), rounded(), int(rC.size()))
    tile, coords = (thr.partition_C(local_tile(x, (TILE, TILE), (bm, bn))) for x in (gC, cC))
    k.copy("st.global.4", out, tile, when=Inside(coords, (M, N)))
    k.result("c", lambda m, n: dot(K, lambda k: (element("a", m, k), element("b", n, k))))
    return k.kernel(multiple_of(N, 8), multiple_of(K, 8))
