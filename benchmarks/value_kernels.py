"""Kernels drawn at random that compute what they say: the ways in which values move from loads to stores.

Each function draws a kernel, and sizes at which loops make no turn, one, and more than twice their period.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from symlayout import Layout, dim
from symlayout.dtype import DType
from symlayout.expr import minimum, xor
from symlayout.kernel import Builder, Kernel
from symlayout.kernel.ring import make_ring
from symlayout.kernel.specification import applied, dot, element, entry, scalar, total
from symlayout.kernels import (
    axpby,
    bulk_copy,
    cp_async_copy,
    gather_rows,
    gemm,
    row_sum,
    tma_copy,
    tma_reduce_add,
    tma_transpose,
)
from symlayout.tma import TensorMap

Drawn = tuple[Kernel, tuple[dict[str, int], ...]]
L = dim("L")
MMA, SUMS = "mma.m16n8k16.bf16", "f32"


# -- element by element ---------------------------------------------------------------------------------


def vectors(r: random.Random) -> Drawn:
    """z = f(x, y) by vectors, guarded or not, block by block or in persistent turns, perhaps loaded a turn ahead."""
    dtype, out = r.choice(("f32", "bf16", "f16")), r.choice(("f32", "bf16"))
    v, threads, blocks = r.choice((1, 2, 4)), r.choice((32, 64)), r.choice((0, 1, 3))
    size, step = dim("L", multiple_of=v), threads * v
    tiles = (size + step - 1) // step
    k = Builder("vectors", size, grid=(blocks or tiles,), threads=threads)
    x, y = (k.global_tensor(name, dtype, Layout(size)) for name in "xy")
    z, alpha = k.global_tensor("z", out, Layout(size)), k.parameter("alpha", "f32")
    a, b = (k.registers(name, dtype, v) for name in "ab")
    f, g, res = (k.registers(name, "f32", v) for name in ("f", "g", "res")) if True else ()
    last = k.registers("last", out, v)
    ahead = bool(blocks) and r.random() < 0.4
    kind = r.choice(("move", "add", "scale", "relu"))

    def load(at: Any) -> None:
        with k.where(at < size):
            k.copy(f"ld.global.{v * DType.of(dtype).bytes}", x(at), a())
            k.copy(f"ld.global.{v * DType.of(dtype).bytes}", y(at), b())

    def store(at: Any) -> None:
        with k.where(at < size):
            k.map("convert", (a(),), f(), v)
            if kind == "add":
                k.map("convert", (b(),), g(), v)
                k.map("add", (f(), g()), res(), v)
            elif kind == "scale":
                k.map("mul", (alpha, f()), res(), v)
            elif kind == "relu":
                k.map("relu", (f(),), res(), v)
            k.map("convert", (res() if kind != "move" else a(),), last(), v)
            k.copy(f"st.global.{v * DType.of(out).bytes}", last(), z(at))

    if not blocks:
        at = step * k.block[0] + v * k.thread
        load(at)
        store(at)
    else:
        turns, first = (tiles - k.block[0] + blocks - 1) // blocks, k.block[0]
        place = lambda i: step * (first + blocks * i) + v * k.thread  # noqa: E731
        if ahead:
            load(place(0))
        with k.loop("i", turns) as i:
            if not ahead:
                load(place(i))
            store(place(i))
            if ahead:
                load(place(i + 1))
    values = {
        "move": lambda i: element("x", i),
        "add": lambda i: applied("add", element("x", i), element("y", i), dtype="f32"),
        "scale": lambda i: applied("mul", scalar(alpha), element("x", i), dtype="f32"),
        "relu": lambda i: applied("relu", element("x", i), dtype="f32"),
    }
    k.result("z", values[kind])
    return k.kernel(), tuple({"L": n * v} for n in (1, step // v, 2 * step // v + 1, 7 * step // v + 3))


def shuffled(r: random.Random) -> Drawn:
    """Each lane stores what another has, by one or two shuffles."""
    k = Builder("shuffled", L, grid=(L,), threads=64)
    x, z = (k.global_tensor(name, "f32", Layout((32, 2, L), (1, 32, 64))) for name in "xz")
    a, b = k.registers("a", "f32", 1), k.registers("b", "f32", 1)
    k.copy("ld.global.4", x(64 * k.block[0] + k.thread), a())
    mode, by, to = r.choice(
        (
            ("idx", 31 - k.thread % 32, lambda i: 31 - i),
            ("bfly", 31, lambda i: 31 - i),
            ("idx", 5, lambda i: 5),
            ("up", 0, lambda i: i),
        )
    )
    k.shuffle(mode, a(), b(), by)
    k.copy("st.global.4", b(), z(64 * k.block[0] + k.thread))
    k.result("z", lambda i, w, j: element("x", to(i), w, j))
    return k.kernel(), ({"L": 1}, {"L": 3})


# -- through shared memory ------------------------------------------------------------------------------


def _place(r: random.Random, rows: int, columns: int) -> tuple[int, Callable[[Any, Any], Any]]:
    """(elements, where (row, column) is): plain, padded, of the other order, or swizzled by xor."""
    pad = r.choice((1, 2, 4))
    bits = r.choice((4, 8))
    return r.choice(
        (
            (rows * columns, lambda m, n: columns * m + n),
            (rows * (columns + pad), lambda m, n: (columns + pad) * m + n),
            (columns * (rows + pad), lambda m, n: m + (rows + pad) * n),
            (rows * columns, lambda m, n: columns * m + xor(n, m % bits)),
            (rows * columns, lambda m, n: columns * m + (n + m) % columns),
        )
    )


def tiles(r: random.Random) -> Drawn:
    """Tiles of a matrix through shared memory, transposed or not, through one slot or several in turn."""
    rows, columns, slots = r.choice((8, 16)), r.choice((16, 32)), r.choice((1, 1, 2, 3))
    turned, M, N = r.random() < 0.5, dim("M"), dim("N")
    threads = r.choice((64, 128))
    size, at = _place(r, rows, columns)
    k = Builder("tiles", M, N, grid=((M + rows - 1) // rows,), threads=threads)
    x = k.global_tensor("x", "f32", Layout((M, N), (N, 1)))
    z = k.global_tensor("z", "f32", Layout((N, M), (M, 1)) if turned else Layout((M, N), (N, 1)))
    tile, a = k.shared_tensor("tile", "f32", Layout((size, slots))), k.registers("a", "f32", 1)
    with k.loop("i", (N + columns - 1) // columns) as i:
        slot = size * (i % slots)
        with k.loop("p", rows * columns // threads) as p:
            u = k.thread + threads * p
            m, n = rows * k.block[0] + u // columns, columns * i + u % columns
            with k.where(m < M, n < N):
                k.copy("ld.global.4", x(N * m + n), a())
                k.copy("st.shared.4", a(), tile(slot + at(u // columns, u % columns)))
        k.sync()
        with k.loop("q", rows * columns // threads) as q:
            u = k.thread + threads * q
            t, c = (u % rows, u // rows) if turned else (u // columns, u % columns)
            m, n = rows * k.block[0] + t, columns * i + c
            with k.where(m < M, n < N):
                k.copy("ld.shared.4", tile(slot + at(t, c)), a())
                k.copy("st.global.4", a(), z(M * n + m if turned else N * m + n))
        if slots == 1:
            k.sync()
    k.result("z", (lambda n, m: element("x", m, n)) if turned else (lambda m, n: element("x", m, n)))
    return k.kernel(), ({"M": 1, "N": 1}, {"M": rows, "N": columns}, {"M": rows + 3, "N": 7 * columns + 5})


def pipelined(r: random.Random) -> Drawn:
    """Rows through a pipeline of cp.async: some turns ahead, slots in turn, swizzled or not."""
    stages, width, threads = r.choice((2, 3, 4)), 4, 32
    chunk, swizzled = width * threads, r.random() < 0.5
    k = Builder("pipelined", L, grid=(2,), threads=threads)
    x, z = (k.global_tensor(name, "f32", Layout((2 * L, chunk), (chunk, 1))) for name in "xz")
    tile, a = k.shared_tensor("tile", "f32", Layout((chunk, stages))), k.registers("a", "f32", 1)

    def place(n: Any) -> Any:
        return width * xor(n // width, n // (8 * width) % 4) + n % width if swizzled else n

    def fetch(i: Any) -> None:
        with k.where(i < L):
            at = place(width * k.thread)
            k.copy("cp.async.16", x(chunk * (L * k.block[0] + i) + width * k.thread), tile(chunk * (i % stages) + at))
        k.commit("cp.async")

    with k.loop("s", stages - 1) as s:
        fetch(s)
    with k.loop("i", L) as i:
        k.wait_group("cp.async", stages - 2)
        k.sync()
        fetch(i + stages - 1)
        with k.loop("j", width) as j:
            at = threads * j + k.thread
            k.copy("ld.shared.4", tile(chunk * (i % stages) + place(at)), a())
            k.copy("st.global.4", a(), z(chunk * (L * k.block[0] + i) + at))
    k.result("z", lambda i, j: element("x", i, j))
    return k.kernel(), ({"L": 1}, {"L": 2}, {"L": 3 * stages + 1})


# -- through rings --------------------------------------------------------------------------------------


def ringed(r: random.Random) -> Drawn:
    """Boxes of one or two tensors through one ring, filled by several copies in one or two loops; by ld and st out."""
    rows, columns, slots, both = r.choice((4, 8)), 32, r.choice((1, 2, 3)), r.random() < 0.5
    nested, split, swizzle = r.random() < 0.5, r.random() < 0.5, r.choice((0, 128))
    M, N = dim("M"), dim("N", multiple_of=4)
    k = Builder("ringed", M, N, grid=(2,), threads=64)
    names = "xy" if both else "x"
    part = rows // 2 if split else rows
    maps = {}
    for name in names:
        tensor = k.global_tensor(name, "f32", Layout((M, N), (N, 1)))
        over = TensorMap.over(Layout((N, M), (1, N)), "f32", (columns, part), swizzle=swizzle)
        maps[name] = k.tensor_map(f"{name}_map", tensor(), over)
    z = k.global_tensor("z", "f32", Layout((M, N), (N, 1)))
    size = rows * columns
    unit = -(-size // 256) * 256  # a multiple of the swizzle's repeat
    ring = make_ring(k, "ring", "f32", Layout(unit * len(names)), slots=slots, consumers=1)
    high, wide = (M + rows - 1) // rows, (N + columns - 1) // columns
    mine = (high * wide - k.block[0] + 1) // 2 if not nested else (high - k.block[0] + 1) // 2

    @contextmanager
    def turns() -> Iterator[tuple[Any, Any, Any]]:
        """(number of the use, row, column) of each turn."""
        if nested:
            with k.loop("i", mine) as i, k.loop("j", wide) as j:
                yield i * wide + j, rows * (k.block[0] + 2 * i), columns * j
        else:
            with k.loop("i", mine) as i:
                at = k.block[0] + 2 * i
                yield i, rows * (at // wide), columns * (at % wide)

    with k.role("producer", 1), k.elect(), turns() as (use, m, n), ring.produce(use, 4 * size * len(names)) as slot:
        for i, name in enumerate(names):
            for p in range(rows // part):
                k.copy("tma.load", maps[name](n, m + part * p), slot.at(unit * i + part * columns * p), slot.full)
    with k.role("consumer", 1):
        a, b = k.registers("a", "f32", 1), k.registers("b", "f32", 1)
        with turns() as (use, m, n), ring.consume(use) as slot, k.loop("q", rows) as q:
            column = xor(k.thread // 4, q % 8) * 4 + k.thread % 4 if swizzle else k.thread
            k.copy("ld.shared.4", slot.at(columns * q + column), a())
            if both:
                k.copy("ld.shared.4", slot.at(unit + columns * q + column), b())
                k.map("sub", (a(), b()), a())
            with k.where(m + q < M, n + k.thread < N):
                k.copy("st.global.4", a(), z(N * (m + q) + n + k.thread))
    k.result(
        "z",
        (lambda i, j: applied("sub", element("x", i, j), element("y", i, j)))
        if both
        else (lambda i, j: element("x", i, j)),
    )
    return k.kernel(), ({"M": 1, "N": 4}, {"M": 2 * rows, "N": columns}, {"M": 7 * rows + 1, "N": 2 * columns + 8})


def shared_among(r: random.Random) -> Drawn:
    """Each CTA of a cluster loads a part of each row for all: a ring of multicast parts."""
    ctas, slots, clusters, wide = r.choice((2, 4)), r.choice((1, 2, 3)), r.choice((1, 2)), 128
    k = Builder("shared_among", L, grid=(clusters * ctas,), threads=64, cluster=(ctas,))
    x = k.global_tensor("x", "f32", Layout((L, clusters, wide), (wide * clusters, wide, 1)))
    z = k.global_tensor("z", "f32", Layout((L, clusters, ctas, wide), (wide * clusters * ctas, wide * ctas, wide, 1)))
    over = TensorMap.over(Layout((wide, clusters, L), (1, wide, wide * clusters)), "f32", (wide // ctas, 1, 1))
    rows = k.tensor_map("rows", x(), over)
    ring = make_ring(k, "ring", "f32", Layout(wide), slots=slots, consumers=ctas, scope="cluster")
    rank = k.block[0] % ctas
    k.cluster_sync()
    with k.role("producer", 1), k.elect(), k.loop("i", L) as i, ring.produce(i) as slot:
        part = wide // ctas * rank
        k.copy("tma.load", rows(part, k.block[0] // ctas, i), slot.at(part), slot.full, (1 << ctas) - 1)
    with k.role("consumer", 1):
        a = k.registers("a", "f32", 4)
        with k.loop("i", L) as i:
            slot = ring.acquire(i)
            k.copy("ld.shared.16", slot.at(4 * k.thread), a())
            k.copy("st.global.16", a(), z(wide * (clusters * ctas * i + k.block[0]) + 4 * k.thread))
            ring.release(i, ctas)
    k.cluster_sync()
    k.result("z", lambda i, c, p, j: element("x", i, c, j))
    return k.kernel(), ({"L": 1}, {"L": 2 * slots + 1})


# -- products -------------------------------------------------------------------------------------------


def products(r: random.Random) -> Drawn:
    """c = a b^T by mma.sync: operands straight from global memory or by ldmatrix; a loop over k, tiles in turns."""
    M, N, K = dim("M", multiple_of=16), dim("N", multiple_of=8), dim("K", multiple_of=16)
    short, turns, by_lines = r.random() < 0.3, r.random() < 0.4, r.random() < 0.5
    zero, fill = r.choice((("loop", False), (0, True)))
    depth = r.choice((16, 32)) if short else K
    k = Builder(
        "products", *((M, N) if short else (M, N, K)), grid=(M // 16,) if turns else (M // 16, N // 8), threads=32
    )
    a, b = (k.global_tensor(name, "bf16", Layout((n, depth), (depth, 1))) for name, n in (("a", M), ("b", N)))
    c = k.global_tensor("c", "f32", Layout((M, N), (N, 1)))
    of_a, of_b, acc = k.registers("of_a", "bf16", 8), k.registers("of_b", "bf16", 4), k.registers("acc", SUMS, 4)
    row, pair = k.thread // 4, 2 * (k.thread % 4)
    tile = k.shared_tensor("tile", "bf16", Layout(16 * 24 + 8 * 24)) if by_lines else None

    def operands(m: Any, n: Any, at: Any) -> None:
        if tile is None:
            for v, (down, right) in enumerate(((0, 0), (8, 0), (0, 8), (8, 8))):
                k.copy("ld.global.4", a(depth * (m + row + down) + at + pair + right), of_a(2 * v))
            for v in range(2):
                k.copy("ld.global.4", b(depth * (n + row) + at + pair + 8 * v), of_b(2 * v))
            return
        held = of_a
        line, half = k.thread // 2, 8 * (k.thread % 2)
        k.copy("ld.global.16", a(depth * (m + line) + at + half), held())
        k.warp_sync()
        k.copy("st.shared.16", held(), tile(24 * line + half))
        with k.where(k.thread < 16):
            k.copy("ld.global.16", b(depth * (n + line) + at + half), held())
            k.copy("st.shared.16", held(), tile(16 * 24 + 24 * line + half))
        k.warp_sync()
        k.copy("ldmatrix.x4", tile(24 * (k.thread % 16) + 8 * (k.thread // 16)), of_a())
        k.copy("ldmatrix.x2", tile(16 * 24 + 24 * (k.thread % 8) + 8 * (k.thread // 8 % 2)), of_b())

    def multiply(m: Any, n: Any) -> None:
        if fill or short:
            k.fill(acc(), 0, 4)
        with k.loop("i", depth // 16) as i:
            operands(m, n, 16 * i)
            k.mma(MMA, of_a(), of_b(), acc(), 1 - minimum(i, 1) if zero == "loop" and not short else 0)

    with k.loop("j", N // 8) if turns else nullcontext(None) as j:
        m, n = 16 * k.block[0], 8 * (j if turns else k.block[1])
        multiply(m, n)
        for v in range(2):
            k.copy("st.global.8", acc(2 * v), c(N * (m + row + 8 * v) + n + pair))
    k.result("c", lambda i, j: dot(depth, lambda k: (element("a", i, k), element("b", j, k))))
    sizes = ({"M": 16, "N": 8, "K": 16}, {"M": 32, "N": 24, "K": 64})
    return k.kernel(), tuple({s: n for s, n in at.items() if s != "K" or not short} for at in sizes)


def picked(r: random.Random) -> Drawn:
    """Rows that a tensor of indices names, straight to registers; the index is read once for a row."""
    M, N = dim("M"), dim("N")
    k = Builder("picked", L, M, N, grid=(M,), threads=32)
    x, z = k.global_tensor("x", "f32", Layout((L, N), (N, 1))), k.global_tensor("z", "f32", Layout((M, N), (N, 1)))
    idx, a = k.global_tensor("idx", "i32", Layout(M)), k.registers("a", "f32", 1)
    row = k.load_index("row", idx(k.block[0]), within=(0, L))
    with k.loop("i", (N + 31) // 32) as i, k.where(32 * i + k.thread < N):
        k.copy("ld.global.4", x(N * row + 32 * i + k.thread), a())
        k.copy("st.global.4", a(), z(N * k.block[0] + 32 * i + k.thread))
    k.result("z", lambda i, j: element("x", entry("idx", i), j))
    return k.kernel(), ({"L": 3, "M": 2, "N": 5}, {"L": 9, "M": 7, "N": 67})


def folded(r: random.Random) -> Drawn:
    """The sum, least or greatest number of each row, perhaps of one that a tensor of indices names."""
    function, by_index, vector = r.choice(("add", "min", "max")), r.random() < 0.5, r.choice((1, 2))
    M, N = dim("M"), dim("N", multiple_of=vector)
    k = Builder("folded", L, M, N, grid=(M,), threads=32)
    x, z = k.global_tensor("x", "f32", Layout((L, N), (N, 1))), k.global_tensor("z", "f32", Layout(M))
    idx, a = k.global_tensor("idx", "i32", Layout(M)), k.registers("a", "f32", vector)
    acc, every = k.registers("acc", "f32", vector), k.registers("every", "f32", 1)
    row = k.load_index("row", idx(k.block[0]), within=(0, L)) if by_index else 0
    k.fill(acc(), {"add": 0.0, "min": math.inf, "max": -math.inf}[function], vector)
    step = 32 * vector
    with k.loop("i", (N + step - 1) // step) as i, k.where(step * i + vector * k.thread < N):
        k.copy(f"ld.global.{4 * vector}", x(N * row + step * i + vector * k.thread), a())
        k.map(function, (acc(), a()), acc(), vector)
    k.reduce(function, acc(), every(), vector, 32)
    with k.where(k.thread < 1):
        k.copy("st.global.4", every(), z(k.block[0]))
    k.result("z", lambda m: total(N, lambda n: element("x", entry("idx", m) if by_index else 0, n), function))
    return k.kernel(), ({"L": 3, "M": 2, "N": 2}, {"L": 9, "M": 7, "N": 134})


def handed(r: random.Random) -> Drawn:
    """One of the families of ``symlayout.kernels``, small."""
    M, N, K = (dim(name, multiple_of=8) for name in "MNK")
    ld = dim("ld", at_least=N, multiple_of=4)
    sizes = ({"M": 8, "N": 8}, {"M": 72, "N": 136})
    return r.choice(
        (
            lambda: (cp_async_copy(L, stages=3, threads=32, blocks=2), ({"L": 4}, {"L": 1300})),
            lambda: (tma_copy(M, N, tile=(8, 32), slots=r.choice((1, 2, 3)), blocks=2), sizes),
            lambda: (tma_transpose(M, N, dtype="f32", tile=(32, 32), stages=2, blocks=2), sizes),
            lambda: (bulk_copy(K, chunk=64, slots=r.choice((1, 2)), blocks=2), ({"K": 8}, {"K": 1000})),
            lambda: (tma_reduce_add(3, M, N, tile=(8, 32), slots=2, blocks=2), sizes),
            lambda: (axpby(L, threads=32), ({"L": 3}, {"L": 300})),
            lambda: (row_sum(M, N, ld, warps=2), ({"M": 8, "N": 8, "ld": 8}, {"M": 16, "N": 264, "ld": 268})),
            lambda: (
                gather_rows(K, M, N, tile=(4, 32), slots=2, blocks=2),
                ({"K": 8, "M": 8, "N": 8}, {"K": 24, "M": 40, "N": 72}),
            ),
            lambda: (
                gemm(M, N, K, tile=(64, 64), stages=r.choice((2, 3)), blocks=2, cluster=r.choice((1, 2)), group=1),
                ({"M": 8, "N": 8, "K": 8}, {"M": 136, "N": 136, "K": 264}),
            ),
        )
    )()


KINDS: dict[str, Callable[[random.Random], Drawn]] = {
    f.__name__: f for f in (vectors, shuffled, tiles, pipelined, ringed, shared_among, products, picked, folded, handed)
}
