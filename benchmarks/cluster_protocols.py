"""Random protocols in clusters of two CTAs, valid and broken: as ``protocol_kernels``, with peers.

    python -m benchmarks.cluster_protocols [--trials 200] [--first 0] [--resume FILE]

The first role of each CTA loads tiles: for both by multicast, for the peer, or the first CTA for both. Slots are given
back to both CTAs. Other roles of a CTA hand tiles on, as in ``protocol_kernels``; they may meet the peer in each
iteration by arrivals at each other's mbarriers. Slips are a use, a parity, a count, a mask, a peer, a trip of one CTA,
an operation left out, the barriers of the cluster at the start and at the end among them.
"""

from __future__ import annotations

import random
import sys
from contextlib import nullcontext
from typing import Any

from symlayout import Layout, TensorMap, dim
from symlayout.kernel import Builder, Kernel

from .protocol_kernels import Link, Protocol, _await, _link, _step, main

CTAS = 2
HALF = 32  # elements of f32 of half a tile: 128 bytes, as the address of a copy has to be


def drawn(seed: int) -> tuple[Kernel, list[str]]:
    """(a protocol in clusters, its slips)."""
    r = random.Random(seed)
    p = Protocol(r, clean=r.random() < 0.4)
    roles = r.choice((2, 2, 2, 3))
    L = dim("L", at_most=1 << 16)
    k = Builder("cluster_protocol", L, grid=(CTAS,), threads=32 * roles, cluster=(CTAS,))
    rank = k.block[0] % CTAS
    src = k.global_tensor("a", "f32", Layout((CTAS * L, HALF), (HALF, 1)))
    box = k.tensor_map("a_map", src(), TensorMap.over(Layout((HALF, CTAS * L), (1, HALF)), "f32", (HALF, 1)))
    o = k.global_tensor("o", "f32", Layout((CTAS * L, 32), (32, 1)))
    first, mode = _ring(k, p), r.choice(("both", "both", "peer", "first"))
    p.halves = 1 if mode == "peer" else CTAS
    mine = k.mbarriers("mine", first.slots, 1) if mode == "first" else None  # where each CTA's own slots are free
    links = [first, *(_link(k, p, n) for n in range(1, roles - 1))]
    token = k.mbarriers("token", 1, max(1, 1 + p.off("tokens"))) if r.random() < 0.3 else None
    if p.kept("cluster barrier at the start"):
        k.cluster_sync()
    with k.role("r0", 1):
        _load(k, p, first, mine, box, rank, L, mode)
    for n in range(1, roles):
        with k.role(f"r{n}", 1):
            x = k.registers(f"x{n}", "f32", 2)
            trips = L + (p.off("trips") if n else 0) + (rank if p.off("trips of a CTA") else 0)
            with k.loop("t", trips) as t:
                if n == roles - 1 and token is not None and r.random() < 0.5:
                    _handshake(k, p, token, rank, t)
                _consume(k, p, links[n - 1], links[n] if n < roles - 1 else None, mine, x, o, t, rank, L)
                if n == roles - 1 and token is not None:
                    _handshake(k, p, token, rank, t) if r.random() < 0.2 else None
    _end(k, p)
    return k.kernel(), p.slips


def _ring(k: Builder, p: Protocol) -> Link:
    slots = p.r.choice((1, 2, 2, 3))
    link = Link(k.shared_tensor("t0", "f32", Layout((CTAS * HALF, slots))), slots)
    link.full = k.mbarriers("full0", slots, max(1, 1 + p.off("arrivals")))
    link.empty = k.mbarriers("empty0", slots, max(1, CTAS + p.off("arrivals")))
    return link


def _load(k: Builder, p: Protocol, link: Link, mine: Any, box: Any, rank: Any, L: Any, mode: str) -> None:
    """The producer: its slot is free in all CTAs, it lets its own phase await a tile, and copies what is its part."""
    trips = L + (rank if p.off("trips of a CTA") else 0) + p.off("trips")
    with k.elect(), k.loop("t", trips) as i:
        for barrier in (link.empty, mine):
            if barrier is not None and p.kept("wait"):
                use = i + p.off("use")
                with k.where(rank <= 0) if mine is not None and barrier is link.empty else nullcontext():
                    k.wait(barrier(use % link.slots), (use // link.slots + 1 + p.off("parity")) % 2, scope="cluster")
        nbytes = 4 * HALF * (CTAS if mode != "peer" else 1)
        k.expect_tx(link.full((i + p.off("slot")) % link.slots), nbytes + 128 * p.off("bytes"))
        slot = (i + p.off("slot")) % link.slots
        everyone = 3 if not p.off("mask") else p.r.choice((1, 2))
        if mode == "both":
            k.copy(
                "tma.load",
                box(0, CTAS * i + rank),
                link.tile(CTAS * HALF * slot + HALF * rank),
                link.full(slot),
                everyone,
            )
        elif mode == "peer":
            mask = 2 - rank if not p.off("mask") else p.r.choice((1, 2, 1 + rank))
            k.copy("tma.load", box(0, CTAS * i + rank), link.tile(CTAS * HALF * slot), link.full(slot), mask)
        else:
            with k.where(rank <= 0) if p.kept("condition on the rank") else nullcontext():
                for half in range(2):
                    at = link.tile(CTAS * HALF * slot + HALF * half)
                    k.copy("tma.load", box(0, CTAS * i + half), at, link.full(slot), everyone)


def _consume(
    k: Builder, p: Protocol, before: Link, behind: Link | None, mine: Any, x: Any, o: Any, i: Any, rank: Any, L: Any
) -> None:
    """One iteration of a role; the slots of the ring of the cluster are given back to both CTAs."""
    if before.full is None or before.full().barrier != "full0":
        _step(k, p, before, behind, x, None, lambda at: o(at + 32 * L * rank), i)
        return
    _await(k, p, before, i)
    if behind is not None:
        _free_local(k, p, behind, i)
    row = CTAS * HALF * ((i + p.off("read")) % before.slots)
    wide = p.halves  # of the peer a slot gets one half
    k.copy(f"ld.shared.{4 * wide}", before.tile(row + wide * k.thread), x())
    if behind is not None:
        k.copy("st.shared.4", x(), behind.tile(32 * (i % behind.slots) + k.thread))
    else:
        k.copy("st.global.4", x(), o(32 * (i + L * rank) + k.thread))
    if p.kept("warp barrier"):
        k.warp_sync()
    with k.elect():
        if mine is not None and p.kept("arrival"):
            k.arrive(mine(i % before.slots))
        for peer in range(CTAS if mine is None else 1):
            if p.kept("arrival at a peer"):
                use = i + p.off("use")
                to = peer if not p.off("peer") else rank
                k.arrive(before.empty(use % before.slots), to, "cta" if p.off("scope") else "cluster")
        if behind is not None and behind.full is not None and not behind.lanes and p.kept("arrival"):
            k.arrive(behind.full(i % behind.slots))
    if behind is not None and behind.lanes and p.kept("arrival"):
        k.arrive(behind.full(i % behind.slots))
    if behind is not None and behind.number:
        for number in (behind.number, behind.number + 1):
            if p.kept("barrier"):
                k.sync(number, 64)


def _free_local(k: Builder, p: Protocol, link: Link, i: Any) -> None:
    if not link.number and p.kept("wait"):
        use = i + p.off("use")
        k.wait(link.empty(use % link.slots), (use // link.slots + 1 + p.off("parity")) % 2)


def _handshake(k: Builder, p: Protocol, token: Any, rank: Any, i: Any) -> None:
    """Each CTA tells the other how far it is, and waits until that is as far."""
    with k.elect():
        if p.kept("token"):
            k.arrive(token(), 1 - rank, "cluster")
    if p.kept("wait for a token"):
        k.wait(token(), (i + p.off("parity of a token")) % 2, "cluster")


def _end(k: Builder, p: Protocol) -> None:
    """The barrier of the cluster at the end, whole or in two parts."""
    if not p.kept("cluster barrier at the end") or (not p.clean and p.r.random() < 0.1):
        return
    if p.r.random() < 0.5:
        k.cluster_sync()
    else:
        k.cluster_arrive(relaxed=bool(p.off("relaxed arrival at the end")))
        if p.kept("cluster wait at the end"):
            k.cluster_wait()


if __name__ == "__main__":
    sys.exit(main(draw=drawn, about=__doc__))
