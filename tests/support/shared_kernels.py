"""Small kernels whose threads meet in shared memory without tensor copies: what tests of orders build and break."""

from __future__ import annotations

from typing import Any

import numpy as np

from symlayout import Layout, dim
from symlayout.atoms import MatrixDescriptor
from symlayout.expr import minimum, xor
from symlayout.kernel import Builder, Kernel
from symlayout.kernels.gemm import ROWS
from symlayout.ops import Matrix
from symlayout.tiling import tile_to_shape

TILE = 32  # rows and columns


def transposed(n: Any = None, *, slots: int = 2, barriers: int = 1) -> Kernel:
    """Tiles of 32x32, transposed one after another through slots of shared memory by ld and st."""
    n = dim("n") if n is None else n
    k = Builder("transposed", *([] if isinstance(n, int) else [n]), grid=(1,), threads=64)
    src, dst = (k.global_tensor(name, "f32", Layout((TILE * TILE, n))) for name in ("src", "dst"))
    tile = k.shared_tensor("tile", "f32", Layout((TILE * TILE, slots)))
    word = k.registers("word", "f32", 1)
    row, half = k.thread % TILE, k.thread // TILE
    with k.loop("i", n) as i:
        with k.loop("q", TILE // 2) as q:
            at = TILE * (2 * q + half) + row
            k.copy("ld.global.4", src(TILE * TILE * i + at), word())
            k.copy("st.shared.4", word(), tile(TILE * TILE * (i % slots) + at))
        k.sync()
        with k.loop("p", TILE // 2) as p:
            k.copy("ld.shared.4", tile(TILE * TILE * (i % slots) + TILE * row + 2 * p + half), word())
            k.copy("st.global.4", word(), dst(TILE * TILE * i + TILE * (2 * p + half) + row))
        for _ in range(barriers - 1):
            k.sync()
    return k.kernel(reference=turned)


def turned(src: np.ndarray) -> dict[str, np.ndarray]:
    """Each tile transposed."""
    tiles = src.reshape(TILE, TILE, -1, order="F").transpose(1, 0, 2)
    return {"dst": np.ascontiguousarray(tiles.reshape(src.shape, order="F"))}


def handed_over(n: Any = None, *, slots: int = 1, back: bool = True, turns: int = 0) -> Kernel:
    """One role fetches tiles, the other stores them, reversed: barrier 1 says that a tile is there, 2 that it is free.

    The second role makes *turns* more turns than there are tiles.
    """
    n = dim("n") if n is None else n
    k = Builder("handed_over", *([] if isinstance(n, int) else [n]), grid=(1,), threads=128)
    src, dst = (k.global_tensor(name, "f32", Layout((64, n))) for name in ("src", "dst"))
    tile = k.shared_tensor("tile", "f32", Layout((64, slots)))
    with k.role("fetch", 2):
        x = k.registers("x", "f32", 1)
        with k.loop("i", n) as i:
            k.copy("ld.global.4", src(64 * i + k.thread), x())
            k.copy("st.shared.4", x(), tile(64 * (i % slots) + k.thread))
            k.sync(1, 128)
            if back:
                k.sync(2, 128)
    with k.role("store", 2):
        y = k.registers("y", "f32", 1)
        with k.loop("j", n + turns) as j:
            k.sync(1, 128)
            k.copy("ld.shared.4", tile(64 * (j % slots) + 63 - k.thread), y())
            k.copy("st.global.4", y(), dst(64 * j + k.thread))
            if back:
                k.sync(2, 128)
    return k.kernel(reference=reversed_tiles)


def reversed_tiles(src: np.ndarray) -> dict[str, np.ndarray]:
    """Each tile from its end."""
    return {"dst": np.ascontiguousarray(src[::-1])}


def multiplied(n: Any = None, *, slots: int = 2, registers: bool = False, pending: int = 0) -> Kernel:
    """C = A B^T, 64 x 32, over n steps of K = 64 by one warpgroup, fed by cp.async through swizzled slots.

    With *registers* each thread loads its part of A itself. The next step is fetched when those before are over but
    for *pending* groups of wgmma.
    """
    n, rows, columns = dim("n") if n is None else n, 64, 32
    k = Builder("multiplied", *([] if isinstance(n, int) else [n]), grid=(1,), threads=128)
    a, b = (
        k.global_tensor(name, "bf16", Layout((m, 64, n), (64, 1, 64 * m))) for name, m in (("a", rows), ("b", columns))
    )
    c = k.global_tensor("c", "f32", Layout((rows, columns), (columns, 1)))
    tiles = {
        name: (m, k.shared_tensor(f"{name}_tile", "bf16", Layout((64 * m, slots))))
        for name, m in (("b", columns), *(() if registers else (("a", rows),)))
    }
    acc, held = k.registers("acc", "f32", columns // 2), k.registers("held", "bf16", 32)
    of = {m: MatrixDescriptor.of(tile_to_shape(ROWS, (m, 64)), "bf16", rows=m) for m in (rows, columns)}
    word = f"wgmma.m64n{columns}k16.bf16{'.rs' if registers else ''}"

    def fetch(step: Any) -> None:
        with k.where(step < n):
            for name, (m, tile) in tiles.items():
                with k.loop(f"u_{name}", m // 16) as u:
                    unit = k.thread + 128 * u
                    row, part = unit // 8, unit % 8
                    src = (a if name == "a" else b)(64 * m * step + 8 * unit)
                    k.copy("cp.async.16", src, tile(64 * m * (step % slots) + 64 * row + 8 * xor(part, row % 8)))
        k.commit("cp.async")

    def load(step: Any) -> None:
        """The registers of A: two neighbours in a row at a time."""
        with k.loop("v", 16) as v:
            row = k.thread // 4 % 8 + 16 * (k.thread // 32) + 8 * (v % 2)
            at = 16 * (v // 4) + 2 * (k.thread % 4) + 8 * (v // 2 % 2)
            k.copy("ld.global.4", a(4096 * step + 64 * row + at), held(2 * v))

    with k.loop("s", slots - 1) as s:
        fetch(s)
    with k.loop("i", n) as i:
        k.wait_group("cp.async", slots - 2)
        k.fence("async")
        k.sync()
        if registers:
            load(i)
        k.fence("wgmma")
        for j in range(4):
            m, tile = tiles["b"]
            second = Matrix(tile(64 * m * (i % slots) + 16 * j), of[m])
            first = held(8 * j) if registers else Matrix(tiles["a"][1](4096 * (i % slots) + 16 * j), of[rows])
            k.mma(word, first, second, acc(), zero=1 - minimum(i, 1) if j == 0 else 0)
        k.commit("wgmma")
        k.wait_group("wgmma", pending)
        k.sync()
        fetch(i + slots - 1)
    k.wait_group("wgmma", 0)
    with k.loop("e", columns // 4) as e:
        row = k.thread // 4 % 8 + 16 * (k.thread // 32) + 8 * (e % 2)
        k.copy("st.global.8", acc(2 * e), c(columns * row + 2 * (k.thread % 4) + 8 * (e // 2)))
    return k.kernel(reference=product)


def product(a: np.ndarray, b: np.ndarray) -> dict[str, np.ndarray]:
    """The sums of all steps, which small integers make exact."""
    return {"c": np.einsum("ikn,jkn->ij", a.astype(np.float64), b.astype(np.float64)).astype(np.float32)}


def inputs(bound: Kernel) -> dict[str, np.ndarray]:
    """Numbers that are all different for a tensor that is copied, small ones for factors."""
    if bound.name == "multiplied":
        random = np.random.default_rng(1)
        given = (bound.tensor(name) for name in "ab")
        return {t.name: random.choice([-2, -1, 1, 2], t.layout.shape).astype(t.dtype.numpy()) for t in given}
    shape = bound.tensor("src").layout.shape
    return {"src": np.arange(1, 1 + int(np.prod(shape)), dtype=np.float32).reshape(shape, order="F")}
