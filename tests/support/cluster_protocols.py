"""Protocols of two CTAs of a cluster that are no ring of both, with switches for what may be wrong about them."""

from __future__ import annotations

from typing import Any

from symlayout import Layout, TensorMap, dim
from symlayout.kernel import Builder, Kernel

PART = 32  # elements of f32: 128 bytes
L = dim("L", at_most=1 << 12)


def _made(name: str, slots: int) -> tuple[Builder, Any, Any, Any, Any]:
    """(builder, rank, boxes of one row of the source, the slots of a CTA, the output of a CTA)."""
    k = Builder(name, L, grid=(2,), threads=64, cluster=(2,))
    src = k.global_tensor("src", "f32", Layout((2 * L, PART), (PART, 1)))
    dst = k.global_tensor("dst", "f32", Layout((2 * L, PART), (PART, 1)))
    box = k.tensor_map("src_map", src(), TensorMap.over(Layout((PART, 2 * L), (1, PART)), "f32", (PART, 1)))
    return k, k.block[0] % 2, box, k.shared_tensor("tile", "f32", Layout((PART, slots))), dst


def for_the_peer(
    slots: int = 2,
    *,
    phase: int = 0,
    shift: int = 0,
    to: str = "both",
    arrivals: int = 2,
    end: str = "sync",
    scope: str = "cluster",
) -> Kernel:
    """Each CTA loads the tiles of its peer; a slot is given back to the peer, and to the own producer, which arms it."""
    k, rank, box, tile, dst = _made("for_the_peer", slots)
    full, empty = k.mbarriers("full", slots, 1), k.mbarriers("empty", slots, arrivals)
    k.cluster_sync()
    with k.role("producer", 1), k.elect(), k.loop("i", L) as i:
        k.wait(empty(i % slots), (i // slots + 1 + phase) % 2, scope=scope)
        k.expect_tx(full(i % slots), 4 * PART)
        k.copy("tma.load", box(0, 2 * i + rank), tile(PART * (i % slots)), full(i % slots), 2 - rank)
    with k.role("consumer", 1), k.loop("i", L) as i:
        x = k.registers("x", "f32", 1)
        k.wait(full(i % slots), i // slots % 2)
        k.copy("ld.shared.4", tile(PART * ((i + shift) % slots) + k.thread), x())
        k.copy("st.global.4", x(), dst(PART * (2 * i + rank) + k.thread))
        k.warp_sync()
        with k.elect():
            for peer in {"both": (0, 1), "own": (rank, rank), "peer": (1 - rank, 1 - rank)}[to]:
                k.arrive(empty(i % slots), peer, scope)
    _end(k, end)
    return k.kernel()


def first_for_all(
    slots: int = 2, *, mask: int = 3, mine: bool = True, arrivals: int = 2, order: str = "late", end: str = "sync"
) -> Kernel:
    """The first CTA loads for both, when both have given a slot back; each arms its own when it has given it back."""
    k, rank, box, tile, dst = _made("first_for_all", slots)
    full, own, empty = (
        k.mbarriers("full", slots, 1),
        k.mbarriers("own", slots, 1),
        k.mbarriers("empty", slots, arrivals),
    )
    k.cluster_sync()
    with k.role("producer", 1), k.elect(), k.loop("i", L) as i:
        parity = (i // slots + 1) % 2
        if mine:
            k.wait(own(i % slots), parity)
        k.expect_tx(full(i % slots), 4 * PART)
        with k.where(rank <= 0):
            k.wait(empty(i % slots), parity, scope="cluster")
            k.copy("tma.load", box(0, i), tile(PART * (i % slots)), full(i % slots), mask)
    with k.role("consumer", 1), k.loop("i", L) as i:
        x = k.registers("x", "f32", 1)
        k.wait(full(i % slots), i // slots % 2)
        if order == "early":
            with k.elect():
                k.arrive(empty(i % slots), 0, "cluster")
        k.copy("ld.shared.4", tile(PART * (i % slots) + k.thread), x())
        k.copy("st.global.4", x(), dst(PART * (2 * i + rank) + k.thread))
        k.warp_sync()
        with k.elect():
            k.arrive(own(i % slots))
            if order == "late":
                k.arrive(empty(i % slots), 0, "cluster")
    _end(k, end)
    return k.kernel()


def in_step(*, phase: int = 0, count: int = 1, tells: bool = True, waits: str = "after", end: str = "sync") -> Kernel:
    """Each CTA loads into its peer in steps: both have read the tile before when a token of the peer has come."""
    k, rank, box, tile, dst = _made("in_step", 1)
    full, token = k.mbarriers("full", 1, 1), k.mbarriers("token", 1, count)
    k.cluster_sync()
    with k.role("all", 1), k.loop("i", L) as i:
        x = k.registers("x", "f32", 1)
        with k.elect():
            k.expect_tx(full(), 4 * PART)
            k.copy("tma.load", box(0, 2 * i + rank), tile(), full(), 2 - rank)
        k.wait(full(), i % 2)
        k.copy("ld.shared.4", tile(k.thread), x())
        k.copy("st.global.4", x(), dst(PART * (2 * i + rank) + k.thread))
        k.warp_sync()
        with k.elect():
            if tells:
                k.arrive(token(), 1 - rank, "cluster")
        if waits == "after":
            k.wait(token(), (i + phase) % 2, scope="cluster")
    _end(k, end)
    return k.kernel()


def by_turns(slots: int = 2, *, phase: int = 0, told: str = "both", order: str = "late", armed: int = PART) -> Kernel:
    """The CTAs load tiles for both by turns, when both have given a slot back to *told*; each arms its own."""
    k, rank, box, tile, dst = _made("by_turns", slots)
    full, empty = k.mbarriers("full", slots, 1), k.mbarriers("empty", slots, 2)
    k.cluster_sync()
    with k.role("producer", 1), k.elect(), k.loop("i", L) as i:
        k.wait(empty(i % slots), (i // slots + 1 + phase) % 2, scope="cluster")
        k.expect_tx(full(i % slots), 4 * armed)
        with k.where((i + rank) % 2 <= 0):
            k.copy("tma.load", box(0, i), tile(PART * (i % slots)), full(i % slots), 3)
    with k.role("consumer", 1), k.loop("i", L) as i:
        x = k.registers("x", "f32", 1)
        k.wait(full(i % slots), i // slots % 2)
        for step in ("arrive", "read") if order == "early" else ("read", "arrive"):
            if step == "read":
                k.copy("ld.shared.4", tile(PART * (i % slots) + k.thread), x())
                k.copy("st.global.4", x(), dst(PART * (2 * i + rank) + k.thread))
                k.warp_sync()
                continue
            with k.elect():
                for peer in (0, 1) if told == "both" else (0, 0):
                    k.arrive(empty(i % slots), peer, "cluster")
    _end(k, "sync")
    return k.kernel()


def _end(k: Builder, how: str) -> None:
    """The barrier of the cluster at the end, in one part or two, or something less."""
    if how == "sync":
        k.cluster_sync()
    elif how:
        k.cluster_arrive(relaxed=how == "relaxed")
        if how != "arrive":
            k.cluster_wait()
