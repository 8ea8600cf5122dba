"""C = A B^T with f32 sums on mma.sync: cp.async with zero fill some stages ahead, ldmatrix, tails in every direction.

    >>> from symlayout import dims
    >>> print(gemm_mma(*dims("M N K")).text().splitlines()[1])
      grid (ceil(M/256),ceil(N/128)), 256 threads

Each thread asks for 16 bytes at a time, and for zeros outside of the matrices. At the one barrier of each step every
thread has its part of step i + 1, and all have read step i, whose slot is filled next. Rows of a slot are swizzled,
so that eight rows of one column of 16 bytes are in eight different groups of banks. A warp multiplies 64 x 64 elements,
and reads the operands of the next 16 columns of K while it multiplies these, those of the next step too: the barrier is
passed before the last 16 of a step are multiplied. What a step copies is asked for in three parts, each behind reads of
operands: reads that stand behind all copies would wait for them. Steps behind the last one are zeros, of which one is
read and none used, so that nothing in the loop asks whether there is a step. That takes two registers for each copy of
a thread, and threads with many do ask.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from typing import Any

from ..atoms import atom
from ..dtype import DType, DTypeLike, f32
from ..errors import LayoutError
from ..expr import Symbol, multiple_of, xor
from ..int_tuple import ceil_div
from ..kernel import Builder, Kernel
from ..kernel.specification import dot, element
from ..layout import Layout
from ..ops import WARP, Ref
from .gemm import bound, reference

__all__ = ["SIZES", "bound", "gemm_mma", "reference"]

SIZES = (
    *({"M": 128, "N": 128, "K": 32}, {"M": 128, "N": 128, "K": 256}, {"M": 1, "N": 8, "K": 8}),
    *({"M": 200, "N": 136, "K": 136}, {"M": 130, "N": 64, "K": 320}, {"M": 1, "N": 264, "K": 72}),
    *({"M": 65, "N": 24, "K": 64}, {"M": 257, "N": 128, "K": 40}, {"M": 31, "N": 248, "K": 96}),
    {"M": 300, "N": 8, "K": 200},
)
STEPS = {32: lambda row: row // 2 % 4, 64: lambda row: row % 8}  # elements of K at a time: what swizzles a row's chunks
FREE = 12  # copies of a thread in a step of which an address each, two registers, is left room for
CHUNK = 8  # elements of one cp.async, and of one row of ldmatrix
INSTRUCTION_K = 16
WARP_ROWS, WARP_COLUMNS = 64, 64


def gemm_mma(
    M: int | Symbol,
    N: int | Symbol,
    K: int | Symbol,
    *,
    dtype: DTypeLike = "bf16",
    tile: tuple[int, int] = (256, 128),
    step: int = 64,
    stages: int = 4,
    group: int = 1,
) -> Kernel:
    """c = a b^T for row-major a (M,K), b (N,K) and c (M,N) of 16-bit floats. Needs N and K of whole 16-byte units.

    *tile* is that of a CTA, 64 x 64 for each warp, *step* the elements of K that a stage has, 32 or 64. CTAs that
    follow one another have tiles along M; with a *group*, so many of M, then the next along N, so that those at work
    share what they read. Then some CTAs past the last row compute zeros: it is for an M of many tiles. Raises
    LayoutError for numbers that do not fit.
    """
    rows, columns = tile
    kind = DType.of(dtype)
    _expect(kind, rows, columns, step, stages, group)
    warps_m, warps_n = rows // WARP_ROWS, columns // WARP_COLUMNS
    threads, steps = WARP * warps_m * warps_n, ceil_div(K, step)
    each = threads * CHUNK // step  # rows that all threads copy together
    _expect_whole(rows, columns, each)
    sizes = [x for x in (M, N, K) if not isinstance(x, int)]
    across = ceil_div(N, columns)
    grid = (ceil_div(M, rows), across) if group == 1 else (group, across, ceil_div(M, rows * group))
    k = Builder("gemm_mma", *sizes, grid=grid, threads=threads)
    a, b = k.global_tensor("a", kind, Layout((M, K), (K, 1))), k.global_tensor("b", kind, Layout((N, K), (K, 1)))
    c = k.global_tensor("c", kind, Layout((M, N), (N, 1)))
    slots = [
        k.shared_tensor(f"{name}_slots", kind, Layout((step, n, stages))) for name, n in (("a", rows), ("b", columns))
    ]
    of_a, of_b = (k.registers(f"of_{x}", kind, 2 * n) for x, n in (("a", WARP_ROWS // 2), ("b", WARP_COLUMNS // 2)))
    acc, out = k.registers("acc", f32, WARP_ROWS * WARP_COLUMNS // WARP), k.registers("out", kind, 2)
    block = k.block[0] if group == 1 else group * k.block[2] + k.block[0]
    m, n = k.let("m", rows * block), k.let("n", columns * k.block[1])
    lane, warp = k.let("lane", k.thread % WARP), k.let("warp", k.thread // WARP)
    row, chunk = k.let("row", k.thread // (step // CHUNK)), k.let("chunk", k.thread % (step // CHUNK))
    to = k.let("to", step * row + CHUNK * xor(chunk, STEPS[step](row)))
    top, left = WARP_ROWS * (warp % warps_m), WARP_COLUMNS * (warp // warps_m)  # of the warp in the tile
    lines = (
        k.let("of_line", step * (top + lane % 16)),
        k.let("of_column", step * (left + lane % 8 + 8 * (lane // 16))),
    )
    phase = STEPS[step](lane)
    chunks = k.let("chunk_a", xor(lane // 16, phase)), k.let("chunk_b", xor(lane // 8 % 2, phase))
    # What is left of the matrices from a thread's first place on: with these, a copy is inside by one comparison.
    free = (rows + columns) // each <= FREE

    sides = (
        (a, slots[0], m, k.let("rows_a", M - m - row), rows),
        (b, slots[1], n, k.let("rows_b", N - n - row), columns),
    )
    rest = k.let("rest", K - CHUNK * chunk)

    def fetch(i: Any, part: int = 0, parts: int = 1) -> None:
        """A part of the copies of a step: zeros behind the last one, or none."""
        some = _shared((rows // each, columns // each), part, parts)
        with nullcontext() if free else k.where(i < steps):
            for (x, slot, first, inside, count), own in zip(sides, some, strict=True):
                if not own:
                    continue
                with k.loop("j", len(own), unroll="full") as j:
                    line = each * (own.start + j)
                    # The rows of one thread are swizzled alike if they lie whole groups of eight apart.
                    place = to if each % 8 == 0 else step * row + CHUNK * xor(chunk, STEPS[step](row + line))
                    k.copy(
                        "cp.async.16",
                        x(K * (first + row + line) + step * i + CHUNK * chunk),
                        slot(step * count * (i % stages) + place + step * line),
                        when=(line < inside, step * i + CHUNK <= rest),
                    )

    parts = step // INSTRUCTION_K

    def load(i: Any, part: int) -> None:
        """16 columns of K of step i, for all rows of the warp, into one of two sets of registers."""
        for slot, count, line, own, held in zip(slots, tile, lines, chunks, (of_a, of_b), strict=True):
            with k.loop("q", WARP_ROWS // 16, unroll="full") as q:
                at = step * count * (i % stages) + line + 16 * step * q + CHUNK * xor(own, 2 * part)
                k.copy("ldmatrix.x4", slot(at), held(CHUNK * (4 * (part % 2) + q)))

    def arrive() -> None:
        k.wait_group("cp.async", stages - 2)
        k.sync()

    k.fill(acc(), 0, WARP_ROWS * WARP_COLUMNS // WARP)
    with k.loop("s", stages - 1) as s:
        fetch(s)
        k.commit("cp.async")
    arrive()
    load(0, 0)
    with k.loop("i", steps, unroll=1) as i:
        for part in range(parts):
            if part + 1 < parts:
                load(i, part + 1)
                fetch(i + stages - 1, part, parts - 1)
                if part + 2 == parts:
                    k.commit("cp.async")
            else:
                arrive()
                with nullcontext() if free else k.where(i + 1 < steps):
                    load(i + 1, 0)
            _multiply(k, kind, of_a, of_b, acc, part % 2)
    k.wait_group("cp.async", 0)
    _store(k, acc, out, c, (k.let("first", m + top + lane // 4), k.let("second", n + left + 2 * (lane % 4))), (M, N))
    k.result("c", lambda m, n: dot(K, lambda k: (element("a", m, k), element("b", n, k))))
    given = [multiple_of(x, CHUNK) for x in (N, K) if not isinstance(x, int)]
    return k.kernel(*given, reference=reference)


def _shared(counts: Iterable[int], part: int, parts: int) -> Iterator[range]:
    """Which of these copies, so many for each operand, one after the other, are in one of some equal parts."""
    every, before = list(counts), 0
    low, high = (sum(every) * p // parts for p in (part, part + 1))
    for n in every:
        yield range(max(low - before, 0), min(high - before, n))
        before += n


def _multiply(k: Builder, kind: DType, of_a: Any, of_b: Any, acc: Any, part: int) -> None:
    """64 x 64 products of 16 columns of K."""
    word = atom(f"mma.m16n8k{INSTRUCTION_K}.{kind}").word
    with k.loop("p", WARP_ROWS // 16, unroll="full") as p, k.loop("q", WARP_COLUMNS // 8, unroll="full") as q:
        k.mma(word, of_a(32 * part + 8 * p), of_b(32 * part + 4 * q), acc(4 * (8 * p + q)))


def _store(
    k: Builder, acc: Any, out: Any, c: Callable[..., Ref], first: tuple[Any, Any], shape: tuple[Any, Any]
) -> None:
    """Two neighbours of a row at a time: acc[4*j], acc[4*j + 1] in row lane//4 of a block, the next two 8 rows on."""
    (m, n), (M, N) = first, shape
    with k.loop("p", WARP_ROWS // 8, unroll="full") as p, k.loop("q", WARP_COLUMNS // 8, unroll="full") as q:
        row, column = m + 8 * p, n + 8 * q
        with k.where(row < M, column + 2 <= N):
            k.map("convert", (acc(32 * (p // 2) + 4 * q + 2 * (p % 2)),), out(), 2)
            k.copy("st.global.4", out(), c(N * row + column))


def _expect(kind: DType, rows: int, columns: int, step: int, stages: int, group: int) -> None:
    if kind.bits != 16 or kind.kind != "float":
        raise LayoutError(f"expected bf16 or f16, got {kind}")
    if rows % WARP_ROWS or columns % WARP_COLUMNS or not 0 < rows * columns <= 16 * WARP_ROWS * WARP_COLUMNS:
        raise LayoutError(f"expected a tile of 1 to 16 warps of {WARP_ROWS}x{WARP_COLUMNS}, got {rows}x{columns}")
    if step not in STEPS:
        raise LayoutError(f"expected a step of {' or '.join(map(str, STEPS))} elements of K, got {step}")
    if type(group) is not int or group < 1:
        raise LayoutError(f"expected a group of at least 1 tile, got {group!r}")
    if stages < 2:
        raise LayoutError(f"expected at least 2 stages, since one is filled while another is read, got {stages}")


def _expect_whole(rows: int, columns: int, each: int) -> None:
    if rows % each or columns % each:
        raise LayoutError(f"expected a tile of multiples of {each} rows, which its threads copy, got {rows}x{columns}")
