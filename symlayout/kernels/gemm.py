"""C = A B^T with f32 sums, warp-specialised and persistent: TMA loads, wgmma, TMA stores.

    >>> from symlayout import dims
    >>> print(gemm(*dims("M N K")).text().splitlines()[1])
      grid (128,) in clusters of (2,), 384 threads, 1 CTA an SM

A producer thread loads steps of A and B into a ring of stages, swizzled by 128 bytes. Each consumer warpgroup
multiplies 64 rows of A by all of B. It releases a stage when the wgmmas of the next are in flight. Its epilogue
converts the sums and stores them, 16 rows and 64 columns at a time, from two buffers of each warp. In a cluster each
CTA loads a part of B for all. Blocks are persistent; tiles are taken *group* of M at a time, so that those under way
at once share rows of A and B in L2.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np

from ..arch import SM90
from ..atoms import MatrixDescriptor, MmaAtom, atom
from ..dtype import DType, DTypeLike, f32
from ..errors import LayoutError
from ..expr import Int, Symbol, divides, minimum, xor
from ..facts import symbols_in
from ..int_tuple import ceil_div
from ..kernel import Builder, Kernel
from ..kernel.ring import Ring, make_ring
from ..kernel.specification import dot, element
from ..layout import ComposedLayout, Layout
from ..ops import Box, Matrix
from ..semantics.matrix_sums import aligned_magnitude, error_bound
from ..swizzle import Swizzle
from ..tiling import tile_to_shape
from ..tma import TensorMap

SIZES = (
    {"M": 256, "N": 256, "K": 128},
    {"M": 128, "N": 256, "K": 64},
    {"M": 8, "N": 8, "K": 8},
    {"M": 200, "N": 136, "K": 136},
    {"M": 130, "N": 64, "K": 320},
    {"M": 1, "N": 264, "K": 72},
)
SWIZZLE = 128
STEP_K = 64  # elements: 128 bytes, the span of the swizzle
INSTRUCTION_K = 16
STORE_ROWS, STORE_COLUMNS = 16, 64  # of a warp
REGISTERS = {1: 240, 2: 240, 3: 160}  # of each thread of so many consumer warpgroups, as in CUTLASS
ROWS = ComposedLayout(Swizzle(3, 3, 3), 0, Layout((8, STEP_K), (STEP_K, 1)))  # GMMA::Layout_K_SW128_Atom of 16 bits


def gemm(
    M: int | Symbol,
    N: int | Symbol,
    K: int | Symbol,
    *,
    dtype: DTypeLike = "bf16",
    tile: tuple[int, int] = (128, 256),
    stages: int = 4,
    cluster: int = 2,
    blocks: Int = 128,
    group: int = 8,
) -> Kernel:
    """c = a b^T for row-major a (M,K), b (N,K) and c (M,N) of 16-bit floats. Needs N and K of whole 16-byte units.

    *tile* is that of a CTA, 64 rows for each consumer warpgroup. 128 *blocks* share the tiles of powers of two evenly;
    on an H200, whose clock falls with its power, they beat one for each of 132 SMs by 1 %. Their number may be a size
    too, such as ``2 * dim("clusters")`` in clusters of two. Raises LayoutError for numbers that do not fit.
    """
    rows, columns = tile
    kind, consumers = DType.of(dtype), rows // 64
    _expect(kind, rows, columns, stages, cluster, blocks)
    sizes = (*(x for x in (M, N, K) if not isinstance(x, int)), *sorted(symbols_in((blocks,)), key=str))
    k = Builder("gemm", *sizes, grid=(blocks,), threads=_threads(rows), cluster=(cluster,), ctas_per_sm=1)
    share = columns // cluster  # rows of B that a CTA loads for all
    a = _operand(k, "a", kind, (M, K), (rows, STEP_K))
    b = _operand(k, "b", kind, (N, K), (share, STEP_K))
    c = _operand(k, "c", kind, (M, N), (STORE_ROWS, STORE_COLUMNS))
    stage = Layout((rows + columns) * STEP_K)  # A, then B
    ring = make_ring(k, "stage", kind, stage, slots=stages, consumers=cluster * 4 * consumers)
    buffer = k.shared_tensor("buffer", kind, Layout((STORE_COLUMNS * STORE_ROWS, 2, 4 * consumers)))

    tiles, corner_of = _raster(M, N, cluster * rows, columns, group)
    (block,) = k.block
    rank, mine, clusters = block % cluster, block // cluster, blocks // cluster
    waves, steps = (tiles - mine + clusters - 1) // clusters, ceil_div(K, STEP_K)

    def corner(wave: Any) -> tuple[Any, Any]:
        m, n = corner_of(mine + clusters * wave)
        return m + rows * rank, n

    if cluster > 1:
        k.cluster_sync()
    with k.role("producer", 4, registers=24), k.elect(), k.loop("wave", waves) as wave, k.loop("i", steps) as i:
        m, n = corner(wave)
        with ring.produce(wave * steps + i) as slot:
            k.copy("tma.load", a(STEP_K * i, m), slot.at(), slot.full)
            part, everyone = slot.at((rows + share * rank) * STEP_K), (1 << cluster) - 1
            k.copy("tma.load", b(STEP_K * i, n + share * rank), part, slot.full, everyone if cluster > 1 else None)
    with k.role("consumer", 4 * consumers, registers=REGISTERS[consumers]):
        acc, out = k.registers("acc", f32, columns // 2), k.registers("out", kind, 8)
        with k.loop("wave", waves) as wave:
            _multiply(k, ring, tile, kind, acc, wave, steps, cluster)
            _store(k, acc, out, buffer, c, corner(wave), wave, columns // STORE_COLUMNS)
        with k.elect(each_warp=True):
            k.wait_group("bulk", 0)
    if cluster > 1:
        k.cluster_sync()
    k.result("c", lambda m, n: dot(K, lambda k: (element("a", m, k), element("b", n, k))))
    return k.kernel(reference=reference)


def _operand(k: Builder, name: str, kind: DType, shape: tuple[Any, Any], box: tuple[int, int]) -> Callable[..., Box]:
    """A row-major matrix in global memory, and the boxes of its tensor map: innermost first, as the coordinates."""
    rows, columns = shape
    tensor = k.global_tensor(name, kind, Layout(shape, (columns, 1)))
    over = TensorMap.over(Layout((columns, rows), (1, columns)), kind, box[::-1], swizzle=SWIZZLE, l2_promotion=256)
    return k.tensor_map(f"{name}_map", tensor(), over)


def _multiply(
    k: Builder, ring: Ring, tile: tuple[int, int], kind: DType, acc: Any, wave: Any, steps: Any, cluster: int
) -> None:
    """Each warpgroup multiplies its 64 rows of A by B, all steps of K; a stage is given back one step late."""
    rows, columns = tile
    of_a = MatrixDescriptor.of(tile_to_shape(ROWS, (rows, STEP_K)), kind, rows=64)
    of_b = MatrixDescriptor.of(tile_to_shape(ROWS, (columns, STEP_K)), kind)
    word = _product(kind, columns).word
    with k.loop("i", steps) as i:
        use = wave * steps + i
        slot = ring.acquire(use)
        k.fence("wgmma")
        for j in range(0, STEP_K, INSTRUCTION_K):
            a = Matrix(slot.at(64 * STEP_K * (k.thread // 128) + j), of_a)
            b = Matrix(slot.at(rows * STEP_K + j), of_b)
            k.mma(word, a, b, acc(), zero=1 - minimum(i, 1) if j == 0 else 0)
        k.commit("wgmma")
        k.wait_group("wgmma", 1)
        with k.where(i >= 1):
            ring.release(use - 1, cluster, lanes=False)
    k.wait_group("wgmma", 0)
    ring.release(wave * steps + steps - 1, cluster, lanes=False)


def _store(
    k: Builder, acc: Any, out: Any, buffer: Any, c: Callable[..., Box], corner: tuple[Any, Any], wave: Any, parts: int
) -> None:
    """Each warp stores its 16 rows, 64 columns at a time, from one buffer while the other may still be read.

    The sums of columns 8j .. 8j+7 are acc[4j .. 4j+3], two for rows 0 to 7 and two for rows 8 to 15 (``tv_c``): of 16
    columns they are four 8x8 matrices for stmatrix.
    """
    (m, n), warp, lane = corner, k.thread // 32, k.thread % 32
    for part in range(parts):
        box = STORE_COLUMNS * STORE_ROWS * (2 * warp + (parts * wave + part) % 2)
        with k.elect(each_warp=True):
            k.wait_group("bulk", 1, read=True)
        k.warp_sync()
        for pair in range(STORE_COLUMNS // 16):
            k.map("convert", (acc(32 * part + 8 * pair),), out(), 8)
            chunk = xor(2 * pair + lane // 16, lane % 8)  # the 128-byte swizzle
            k.copy("stmatrix.x4", out(), buffer(box + STORE_COLUMNS * (lane % 16) + 8 * chunk))
        k.fence("async")
        k.warp_sync()
        with k.elect(each_warp=True):
            k.copy("tma.store", buffer(box), c(n + STORE_COLUMNS * part, m + STORE_ROWS * warp))
            k.commit("bulk")


def _raster(
    M: int | Symbol, N: int | Symbol, rows: int, columns: int, group: int
) -> tuple[Any, Callable[[Any], tuple[Any, Any]]]:
    """(number of tiles, where tile t begins): *group* tiles of M, then the next column of them."""
    tiles_m, tiles_n = ceil_div(M, rows), ceil_div(N, columns)

    def corner(t: Any) -> tuple[Any, Any]:
        first, within = t // (group * tiles_n) * group, t % (group * tiles_n)
        high = minimum(group, tiles_m - first) if group > 1 else 1
        return rows * (first + within % high), columns * (within // high)

    return tiles_m * tiles_n, corner


def _threads(rows: int) -> int:
    """A warpgroup that loads, and one for each 64 rows."""
    return 128 * (1 + rows // 64)


def _product(kind: DType, columns: int) -> MmaAtom:
    return cast(MmaAtom, atom(f"wgmma.m64n{columns}k{INSTRUCTION_K}.{kind}"))


def _expect(kind: DType, rows: int, columns: int, stages: int, cluster: int, blocks: Int) -> None:
    if kind.bits != 16 or kind.kind != "float":
        raise LayoutError(f"expected bf16 or f16, got {kind}")
    if rows % 64 or not 64 <= rows <= 192:
        raise LayoutError(f"expected a tile of 64, 128 or 192 rows, got {rows}")
    if columns % STORE_COLUMNS or not STORE_COLUMNS <= columns <= 256:
        raise LayoutError(f"expected a tile of 64, 128, 192 or 256 columns, got {columns}")
    threads, product = _threads(rows), _product(kind, columns)
    if product.launch_registers > (each := SM90.registers_at(threads)):
        raise LayoutError(
            f"expected a tile of fewer rows or columns, got {rows} x {columns}: {product.word} needs "
            f"{product.launch_registers} registers of each thread, and a launch of {threads} threads has {each}"
        )
    if cluster < 1 or columns % (8 * cluster):
        raise LayoutError(f"expected a cluster whose CTAs share {columns} rows of B in eights, got {cluster}")
    if isinstance(blocks, int):
        if blocks < 1 or blocks % cluster:
            raise LayoutError(f"expected blocks in whole clusters of {cluster}, got {blocks}")
    elif divides(cluster, blocks) is None:
        raise LayoutError(f'expected blocks in whole clusters of {cluster}, got {blocks}; such as {cluster} * dim("n")')
    if stages < 2:
        raise LayoutError(f"expected at least 2 stages, since one is given back a step late, got {stages}")


def reference(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> dict[str, np.ndarray[Any, Any]]:
    """The contents of c after the kernel, but for rounding: the exact products, summed in f64 and rounded once."""
    return {"c": (a.astype(np.float64) @ b.astype(np.float64).T).astype(a.dtype)}


def bound(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> dict[str, np.ndarray[Any, Any]]:
    """A bound on the error of c, element by element.

    ``error_bound`` of each wgmma of a sum, then one rounding in the kernel and one in the reference. Partial sums are
    at most the sum of absolute values, plus an error: hence the factor.
    """
    x, y = a.astype(np.float64), b.astype(np.float64)
    instructions = ceil_div(a.shape[1], STEP_K) * (STEP_K // INSTRUCTION_K)
    magnitude = aligned_magnitude(a, a.dtype) @ aligned_magnitude(b, b.dtype).T
    sums = instructions * error_bound(INSTRUCTION_K, 1.01 * magnitude)
    digits = {"bfloat16": 8, "float16": 11}[a.dtype.name]
    least = {"bfloat16": 2.0**-133, "float16": 2.0**-24}[a.dtype.name]
    return {"c": sums + 2 * (2.0**-digits * (np.abs(x @ y.T) + sums) + least)}
