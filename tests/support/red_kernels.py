"""A sum of rows in which several CTAs add to one element of global memory."""

from __future__ import annotations

from typing import Any

from symlayout import Layout, ceil_div
from symlayout.kernel import Builder, Kernel
from symlayout.kernel.specification import applied, element, total
from symlayout.ops import WARP

VECTOR, TURNS = 4, 2
CHUNK = TURNS * WARP * VECTOR  # columns of a CTA


def split_row_sum(
    M: Any,
    N: Any,
    ld: Any,
    *,
    warps: int = 2,
    word: str = "red.global.add.f32",
    chunk: int = CHUNK,
    lanes: int = 1,
    trips: int = TURNS,
    parts: Any = None,
    stores: str = "",
    early: bool = False,
) -> Kernel:
    """dst[m] += sum over n of src[m, n]; a warp sums a chunk of a row, and its first lane adds that to dst."""
    grid = (ceil_div(M, warps), ceil_div(N, CHUNK) if parts is None else parts)
    k = Builder("split_row_sum", *(x for x in (M, N, ld) if not isinstance(x, int)), grid=grid, threads=WARP * warps)
    src = k.global_tensor("src", "f32", Layout((M, N), (ld, 1)))
    dst = k.global_tensor("dst", "f32", Layout(M))
    x, part, whole = (k.registers(name, "f32", n) for name, n in (("x", VECTOR), ("part", VECTOR), ("whole", 1)))
    row, lane = k.let("row", warps * k.block[0] + k.thread // WARP), k.let("lane", k.thread % WARP)
    k.fill(part(), 0.0, VECTOR)
    with k.loop("j", trips) as j:
        column = k.let("column", chunk * k.block[1] + WARP * VECTOR * j + VECTOR * lane)
        with k.where(row < M, column + VECTOR <= N):
            k.copy("ld.global.16", src(ld * row + column), x())
            k.map("add", (part(), x()), part(), VECTOR)
        with k.where(row < M, column + VECTOR > N), k.loop("q", VECTOR, unroll="full") as q, k.where(column + q < N):
            k.copy("ld.global.4", src(ld * row + column + q), x(q))
            k.map("add", (part(q), x(q)), part(q))
    k.reduce("add", part(), whole(), VECTOR, lanes=WARP)
    with k.where(lane <= lanes - 1, row < M):
        k.copy(stores or word, whole(), dst(row))
    if early:
        k.copy("ld.global.4", dst(k.thread), x())
    k.result("dst", lambda m: applied("add", element("dst", m), total(N, lambda n: element("src", m, n))))
    return k.kernel()
