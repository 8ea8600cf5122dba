"""Results of kernels, for all sizes: a transpose in shared memory, sums and maxima of rows, a gather, a GEMM.

Each kernel says what it is for, ``dst(n,m) = src(m,n)`` or ``c(m,n) = sum over k < K of a(m,k)*b(n,k)``, and every
value is followed from its load to its store. At the end three slips that leave all else right: the transpose reads its
tile by rows, a reduction stops one butterfly short, and the epilogue of the GEMM stores 64 columns where others belong.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from checkers import Computes
from symlayout import Layout, dim, dims
from symlayout.kernel import Builder, Kernel
from symlayout.kernels import gather_rows, gemm, row_sum
from symlayout.ops import Box, Copy
from symlayout.results import element, total

M, N, K = dims("M N K", multiple_of=8)
PAD = 33  # elements from row to row of a tile of 32, so that columns take all banks


def transposed(turned: bool = True) -> Kernel:
    """Blocks of 32 x 32 elements; each warp loads a row, and stores a row of the transpose."""
    k = Builder("transposed", M, N, grid=((M + 31) // 32, (N + 31) // 32), threads=1024)
    src = k.global_tensor("src", "f32", Layout((M, N), (N, 1)))
    dst = k.global_tensor("dst", "f32", Layout((N, M), (M, 1)))
    tile, x = k.shared_tensor("tile", "f32", Layout((32, 32), (PAD, 1))), k.registers("x", "f32", 1)
    warp, lane = k.thread // 32, k.thread % 32
    m, n = 32 * k.block[0] + warp, 32 * k.block[1] + lane
    with k.where(m < M, n < N):
        k.copy("ld.global.4", src(N * m + n), x())
        k.copy("st.shared.4", x(), tile(PAD * warp + lane))
    k.sync()
    m, n = 32 * k.block[0] + lane, 32 * k.block[1] + warp
    with k.where(m < M, n < N):
        k.copy("ld.shared.4", tile(PAD * lane + warp if turned else PAD * warp + lane), x())
        k.copy("st.global.4", x(), dst(M * n + m))
    k.result("dst", lambda n, m: element("src", m, n))
    return k.kernel()


def row_of_256(steps: tuple[int, ...]) -> Kernel:
    """A warp for each row of 256 numbers: eight of each lane are added, then those of the lanes by butterflies."""
    k = Builder("row_of_256", M, grid=(M,), threads=32)
    src, dst = k.global_tensor("src", "f32", Layout((M, 256), (256, 1))), k.global_tensor("dst", "f32", Layout(M))
    x, part, other = (k.registers(name, "f32", n) for name, n in (("x", 4), ("part", 1), ("other", 1)))
    k.fill(part(), 0)
    with k.loop("j", 2) as j:
        k.copy("ld.global.16", src(256 * k.block[0] + 128 * j + 4 * k.thread), x())
        with k.loop("q", 4) as q:
            k.map("add", (part(), x(q)), part())
    for distance in steps:
        k.shuffle("bfly", part(), other(), distance)
        k.map("add", (part(), other()), part())
    with k.where(k.thread <= 0):
        k.copy("st.global.4", part(), dst(k.block[0]))
    k.result("dst", lambda m: total(256, lambda n: element("src", m, n)))
    return k.kernel()


def swapped(op: Any) -> tuple[Any, ...]:
    """The first 64 columns of a tile go where the next ones belong."""
    if isinstance(op, Copy) and isinstance(op.dst, Box) and op.src.offset % 2048 == 0:
        column, row = op.dst.coordinate
        return (replace(op, dst=Box(op.dst.tensor_map, (column + 64, row))),)
    return (op,)


transpose_is_one = Computes(transposed(), "dst")
rows_are_summed = Computes(row_of_256((16, 8, 4, 2, 1)), "dst")
greatest_of_rows = Computes(row_sum(M, N, dim("ld", at_least=N, multiple_of=4), function="max"), "dst")
rows_are_gathered = Computes(gather_rows(K, M, N), "dst")
product_is_right = Computes(gemm(M, N, K), "c")
product_of_pairs_of_ctas = Computes(gemm(M, N, K, cluster=2), "c")

read_by_rows = Computes(transposed(turned=False), "dst", expect="refuted")
a_butterfly_short = Computes(row_of_256((16, 8, 4, 2)), "dst", expect="refuted")
columns_swapped = Computes(gemm(M, N, K, cluster=1, blocks=1).edited(swapped), "c", expect="refuted")
