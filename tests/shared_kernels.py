"""Small kernels whose threads meet in shared memory without tensor copies: what tests of orders build and break."""

from __future__ import annotations

from typing import Any

import numpy as np

from symlayout import Layout, dim
from symlayout.kernel import Builder, Kernel

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


def inputs(bound: Kernel) -> dict[str, np.ndarray]:
    """Numbers that are all different for the tensor that a kernel reads."""
    shape = bound.tensor("src").layout.shape
    return {"src": np.arange(1, 1 + int(np.prod(shape)), dtype=np.float32).reshape(shape, order="F")}
