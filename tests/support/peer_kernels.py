"""Kernels whose threads reach the shared memory of peers, with switches for what may be wrong about them."""

from __future__ import annotations

from typing import Any

import numpy as np

from symlayout import Layout, dim
from symlayout.kernel import Builder, Kernel

PAIRS = dim("R", at_most=1 << 12)
COLUMNS = 64  # of a row: 32 for each CTA of a cluster of two


def summed(
    R: Any = PAIRS,
    *,
    how: str = "st.async",
    slots: int = 2,
    to: Any = None,
    nbytes: int = 4,
    parity: int = 0,
    late: int = 1,
    place: int = 0,
    lanes: bool = False,
    start: bool = True,
    meet: bool = True,
    free: bool = True,
    end: bool = True,
) -> Kernel:
    """Sums of rows by clusters of two: of two rows each CTA sends its half of the one to the peer, and sums the other.

    By ``st.async`` halves complete on mbarriers of the peer, in *slots*; by ``st.cluster`` and ``ld.cluster`` the CTAs
    meet around each pair of rows.
    """
    k = Builder("summed", *(() if isinstance(R, int) else (R,)), grid=(2,), threads=32, cluster=(2,))
    rank = k.block[0] % 2
    src = k.global_tensor("src", "f32", Layout((2 * R, COLUMNS), (COLUMNS, 1)))
    dst = k.global_tensor("dst", "f32", Layout(2 * R))
    x, mine, theirs, other = (k.registers(name, "f32", 1) for name in ("x", "mine", "theirs", "other"))
    parts = k.shared_tensor("parts", "f32", Layout(slots))
    peer = 1 - rank if to is None else to
    if how == "st.async":
        full, empty = k.mbarriers("full", slots, 1), k.mbarriers("empty", slots, 1)
    if start:
        k.cluster_sync()
    with k.loop("r", R) as r:
        for row, half in ((2 * r + rank, mine), (2 * r + 1 - rank, theirs)):
            k.copy("ld.global.4", src(COLUMNS * row + 32 * rank + k.thread), x())
            k.reduce("add", x(), half(), lanes=32)
        if how == "st.async":
            with k.where(k.thread <= (31 if lanes else 0)):
                if free:
                    k.wait(empty(r % slots), (r // slots + late) % 2, scope="cluster")
                k.expect_tx(full(r % slots), nbytes)
                k.peer_copy("st.async.4", theirs(), parts((r + place) % slots), peer, full(r % slots))
                if meet:
                    k.wait(full(r % slots), (r // slots + parity) % 2)
                k.copy("ld.shared.4", parts(r % slots), other())
                k.arrive(empty(r % slots), 1 - rank, "cluster")
        elif how == "st.cluster":
            with k.where(k.thread <= 0):
                k.peer_copy("st.cluster.4", theirs(), parts(place), peer)
            if meet:
                k.cluster_sync()
            k.copy("ld.shared.4", parts(), other())
            if free:
                k.cluster_sync()
        else:
            with k.where(k.thread <= 0):
                k.copy("st.shared.4", theirs(), parts())
            if meet:
                k.cluster_sync()
            k.peer_copy("ld.cluster.4", parts(place), other(), peer)
            if free:
                k.cluster_sync()
        with k.where(k.thread <= 0):
            k.map("add", (mine(), other()), mine())
            k.copy("st.global.4", mine(), dst(2 * r + rank))
    if end:
        k.cluster_sync()
    return k.kernel(reference=lambda src: {"dst": _in_order(src)})


def sent(fence: bool = True, *, wide: int = 4, wait: bool = True, apart: int = 1) -> Kernel:
    """Each lane sends *wide* bytes to the peer, where one thread stores all of them through the async proxy."""
    elements = wide // 4
    k = Builder("sent", grid=(2,), threads=32, cluster=(2,))
    rank = k.block[0] % 2
    src, dst = (k.global_tensor(name, "f32", Layout(64 * elements)) for name in ("src", "dst"))
    x, tile = k.registers("x", "f32", elements), k.shared_tensor("tile", "f32", Layout(32 * elements))
    full = k.mbarriers("full", 1, 1)
    k.cluster_sync()
    with k.elect():
        k.expect_tx(full(), 32 * wide)
    k.copy(f"ld.global.{wide}", src(elements * (32 * rank + k.thread)), x())
    k.peer_copy(f"st.async.{wide}", x(), tile(elements * (k.thread // apart)), 1 - rank, full())
    if wait:
        k.wait(full(), 0)
    if fence:
        k.fence("async")
    k.warp_sync()
    with k.elect():
        k.copy("bulk.store", tile(), dst(32 * elements * rank), nbytes=32 * wide)
        k.commit("bulk")
        k.wait_group("bulk", 0)
    return k.kernel(reference=lambda src: {"dst": np.roll(src, 32 * elements)})


def _in_order(src: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The sums in the order of the kernel: each half by lanes at distances 16, 8, .. 1."""

    def folded(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        for far in (16, 8, 4, 2, 1):
            x = x[:, :far] + x[:, far : 2 * far]
        return x[:, 0]

    return folded(src[:, :32]) + folded(src[:, 32:])
