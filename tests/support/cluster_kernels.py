"""Small kernels whose CTAs fill each other's slots, to prove, to break and to run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from symlayout import Layout, TensorMap, dim
from symlayout.kernel import Builder, Kernel
from symlayout.kernel.ring import Ring, make_ring
from symlayout.ops import Slot

PART = 32  # elements of f32: 128 bytes
STEPS = dim("T", at_most=4096)


def everyone(
    steps: Any = STEPS, *, ctas: int = 2, slots: int = 2, warps: int = 1, clusters: Any = 2, split: bool = False
) -> Kernel:
    """Each CTA of a cluster loads one part of a tile for all; each of its warps stores whole tiles.

    With *split* threads arrive at the barriers of the cluster and wait for them later, at the start relaxed.
    """
    T = steps
    k = Builder(
        "everyone", *_sizes(T), *_sizes(clusters), grid=(ctas * clusters,), threads=32 * (1 + warps), cluster=(ctas,)
    )
    (block,) = k.block
    rank, mine = block % ctas, block // ctas
    src = _rows(k, "src", clusters * T * ctas)
    ring = make_ring(k, "ring", "f32", Layout(PART * ctas), slots=slots, consumers=ctas * warps, scope="cluster")
    if split:
        k.cluster_arrive(relaxed=True)
        k.prefetch("src_map")
        k.cluster_wait()
    else:
        k.cluster_sync()
    with k.role("producer", 1), k.elect(), k.loop("i", T) as i, ring.produce(i) as slot:
        row = (mine * T + i) * ctas + rank
        k.copy("tma.load", src(0, row), slot.at(PART * rank), slot.full, (1 << ctas) - 1)
    _consumers(k, ring, T, ctas, warps, range(ctas), block, ctas * clusters)
    if split:
        k.cluster_arrive()
        k.cluster_wait()
    else:
        k.cluster_sync()

    def reference(src: np.ndarray[Any, Any]) -> dict[str, np.ndarray[Any, Any]]:
        tiles = src.reshape(clusters, -1, ctas * PART)
        return {"dst": np.repeat(np.repeat(tiles, ctas, axis=0).reshape(-1, ctas * PART), warps, axis=0)}

    return k.kernel(reference=reference)


def rows_and_columns(steps: Any = STEPS, *, flat: bool = True, slots: int = 2, warps: int = 1) -> Kernel:
    """Of 2 x 2 CTAs each loads a quarter of a tile for its row and one for its column: the rank decides the masks.

    *flat* clusters have one dimension, and rank x + 2*y.
    """
    T = steps
    grid, cluster = ((8,), (4,)) if flat else ((4, 2), (2, 2))
    k = Builder("rows_and_columns", *_sizes(T), grid=grid, threads=32 * (1 + warps), cluster=cluster)
    if flat:
        rank = k.block[0] % 4
        x, y, mine = rank % 2, rank // 2, k.block[0] // 4
    else:
        x, y, mine = k.block[0] % 2, k.block[1] % 2, k.block[0] // 2
        rank = x + 2 * y
    a, b = _rows(k, "a", 8 * T), _rows(k, "b", 8 * T)
    ring = make_ring(k, "ring", "f32", Layout(4 * PART), slots=slots, consumers=3 * warps, scope="cluster")
    k.cluster_sync()
    with k.role("producer", 1), k.elect(), k.loop("i", T) as i, ring.produce(i) as slot:
        of_row, of_column = ((mine * 2 + y) * T + i) * 2 + x, ((mine * 2 + x) * T + i) * 2 + y
        k.copy("tma.load", a(0, of_row), slot.at(PART * x), slot.full, 3 + 9 * y)
        k.copy("tma.load", b(0, of_column), slot.at(PART * (2 + y)), slot.full, 5 + 5 * x)
    _consumers(k, ring, T, 4, warps, (rank, rank + 1 - 2 * x, rank + 2 - 4 * y), 4 * mine + rank, 8)
    k.cluster_sync()

    def reference(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> dict[str, np.ndarray[Any, Any]]:
        rows, columns = (m.reshape(2, 2, -1, 2 * PART) for m in (a, b))
        found = [np.concatenate([rows[q, y], columns[q, x]], axis=1) for q in (0, 1) for y in (0, 1) for x in (0, 1)]
        return {"dst": np.repeat(np.stack(found).reshape(-1, 4 * PART), warps, axis=0)}

    return k.kernel(reference=reference)


def once(*, ctas: int = 2) -> Kernel:
    """The first CTA of a cluster loads one tile for all, into slots that are used once."""
    k = Builder("once", grid=(2 * ctas,), threads=64, cluster=(ctas,))
    (block,) = k.block
    src = _rows(k, "src", 2)
    dst = k.global_tensor("dst", "f32", Layout((2 * ctas, PART), (PART, 1)))
    tile, full = k.shared_tensor("tile", "f32", Layout(PART)), k.mbarriers("full", 1, 1)
    k.cluster_sync()
    with k.role("producer", 1), k.elect():
        k.expect_tx(full(), 4 * PART)
        with k.where(block % ctas <= 0):
            k.copy("tma.load", src(0, block // ctas), tile(), full(), (1 << ctas) - 1)
    with k.role("consumer", 1):
        k.wait(full(), 0)
        r = k.registers("r", "f32", 1)
        k.copy("ld.shared.4", tile(k.thread), r())
        k.copy("st.global.4", r(), dst(PART * block + k.thread))
    return k.kernel(reference=lambda src: {"dst": np.repeat(src, ctas, axis=0)})


def inputs(kernel: Kernel) -> dict[str, np.ndarray[Any, Any]]:
    """Another number for each element of what a bound kernel reads."""
    out = {}
    for n, t in enumerate(t for t in kernel.tensors if t.space == "global" and t.name != "dst"):
        shape = tuple(map(int, t.layout.shape))
        out[t.name] = np.arange(np.prod(shape), dtype=np.float32).reshape(shape) + 100_000 * n
    return out


def _sizes(T: Any) -> tuple[Any, ...]:
    return () if isinstance(T, int) else (T,)


def _rows(k: Builder, name: str, rows: Any) -> Any:
    """Boxes of one row."""
    tensor = k.global_tensor(name, "f32", Layout((rows, PART), (PART, 1)))
    return k.tensor_map(f"{name}_map", tensor(), TensorMap.over(Layout((PART, rows), (1, PART)), "f32", (PART, 1)))


def _consumers(
    k: Builder, ring: Ring, T: Any, parts: int, warps: int, peers: Iterable[Any], number: Any, ctas: Any
) -> None:
    """Warps that read whole slots, give them back to *peers*, and store what they have read; *number* is the CTA's."""
    dst = k.global_tensor("dst", "f32", Layout((ctas * T * warps, PART * parts), (PART * parts, 1)))
    with k.role("consumer", warps), k.loop("i", T) as i:
        r, warp, lane = k.registers("r", "f32", parts), k.thread // 32, k.thread % 32
        slot = ring.acquire(i)
        k.copy(f"ld.shared.{4 * parts}", slot.at(parts * lane), r())
        k.warp_sync()
        with k.elect(each_warp=True):
            for peer in peers:
                k.arrive(Slot(ring.empty, slot.number), peer, ring.scope)
        row = (number * T + i) * warps + warp
        k.copy(f"st.global.{4 * parts}", r(), dst(PART * parts * row + parts * lane))
