"""Small orders of accesses to the memory of a peer, each with neighbours that lack one thing: by HappensBefore alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from checkers import HappensBefore, prove
from checkers.budget import Budget
from symlayout import Layout
from symlayout.answers.report import Outcome
from symlayout.kernel import Builder, Kernel

QUICK = Budget(solver_ms=500, repairs=False)
Body = Callable[[Builder, Any, Any, Any], None]


def built(body: Body, threads: int = 32) -> Kernel:
    """Clusters of two whose threads do something to a tensor *t*, then read it at *back* and store what they found."""
    k = Builder("order", grid=(2,), threads=threads, cluster=(2,))
    x, t = k.registers("x", "f32", 1), k.shared_tensor("t", "f32", Layout(64))
    o = k.global_tensor("o", "f32", Layout(2 * threads))
    k.fill(x())
    k.cluster_sync()
    body(k, k.block[0] % 2, x, t)
    k.copy("st.global.4", x(), o(threads * k.block[0] + k.thread))
    k.cluster_sync()
    return k.kernel()


def to_itself(meet: bool) -> Kernel:
    """A store to the own memory by the words of peers, read by others."""

    def body(k: Builder, rank: Any, x: Any, t: Any) -> None:
        with k.where(k.thread <= 0):
            k.peer_copy("st.cluster.4", x(), t(), rank)
        if meet:
            k.warp_sync()
        k.copy("ld.shared.4", t(), x())

    return built(body)


def from_itself(meet: bool) -> Kernel:
    def body(k: Builder, rank: Any, x: Any, t: Any) -> None:
        k.copy("st.shared.4", x(), t(k.thread))
        if meet:
            k.warp_sync()
        k.peer_copy("ld.cluster.4", t(31 - k.thread), x(), rank)

    return built(body)


def told(scope: str) -> Kernel:
    """A store to the peer that an arrival there makes known."""

    def body(k: Builder, rank: Any, x: Any, t: Any) -> None:
        full = k.mbarriers("full", 1, 32)
        k.peer_copy("st.cluster.4", x(), t(k.thread), 1 - rank)
        k.arrive(full(), 1 - rank, scope)
        k.wait(full(), 0, scope=scope)
        k.copy("ld.shared.4", t(31 - k.thread), x())

    return built(body)


def met(by: str) -> Kernel:
    """A store to the peer, a meeting of some kind, and a read there."""

    def body(k: Builder, rank: Any, x: Any, t: Any) -> None:
        k.peer_copy("st.cluster.4", x(), t(k.thread), 1 - rank)
        if by == "the CTA":
            k.sync()
        elif by == "the cluster":
            k.cluster_sync()
        else:
            k.cluster_arrive(relaxed=True)
            k.cluster_wait()
        k.copy("ld.shared.4", t(63 - k.thread), x())

    return built(body, 64)


def from_both(apart: bool) -> Kernel:
    """Stores of both CTAs to the first."""

    def body(k: Builder, rank: Any, x: Any, t: Any) -> None:
        k.peer_copy("st.cluster.4", x(), t(k.thread + (32 * rank if apart else 0)), 0)
        k.cluster_sync()
        k.peer_copy("ld.cluster.4", t(k.thread), x(), 0)

    return built(body)


def beside_own(between: bool) -> Kernel:
    """A store to the peer, which stores to the same place itself."""

    def body(k: Builder, rank: Any, x: Any, t: Any) -> None:
        k.peer_copy("st.cluster.4", x(), t(k.thread), 1 - rank)
        if between:
            k.cluster_sync()
        k.copy("st.shared.4", x(), t(k.thread))
        k.copy("ld.shared.4", t(k.thread), x())

    return built(body)


def read_back(wait: bool) -> Kernel:
    """What st.async sends is read back by its sender; that the own phase is over tells nothing of the peer's."""

    def body(k: Builder, rank: Any, x: Any, t: Any) -> None:
        full = k.mbarriers("full", 1, 1)
        with k.elect():
            k.expect_tx(full(), 128)
        k.peer_copy("st.async.4", x(), t(k.thread), 1 - rank, full())
        k.wait(full(), 0)
        if wait:
            k.cluster_sync()
        k.peer_copy("ld.cluster.4", t(k.thread), x(), 1 - rank)

    return built(body)


def shared_bytes(meet: bool) -> Kernel:
    """A tensor that shares bytes with another, which its own CTA has used before."""

    def body(k: Builder, rank: Any, x: Any, t: Any) -> None:
        u = k.shared_tensor("u", "f32", Layout(32), over=t(0))
        k.copy("st.shared.4", x(), t(k.thread))
        k.copy("ld.shared.4", t(k.thread), x())
        k.cluster_sync() if meet else k.sync()
        k.peer_copy("st.cluster.4", x(), u(k.thread), 1 - rank)
        k.cluster_sync()
        k.copy("ld.shared.4", u(k.thread), x())

    return built(body)


def by_roles(apart: bool) -> Kernel:
    """Two roles store to the peer."""

    def body(k: Builder, rank: Any, x: Any, t: Any) -> None:
        for n in (0, 1):
            with k.role(f"r{n}", 1):
                k.peer_copy("st.cluster.4", x(), t(k.thread + (32 * n if apart else 0)), 1 - rank)
        k.cluster_sync()
        k.copy("ld.shared.4", t(k.thread), x())

    return built(body, 64)


PAIRS: dict[str, tuple[Callable[[], Kernel], Callable[[], Kernel]]] = {
    "to itself": (lambda: to_itself(True), lambda: to_itself(False)),
    "from itself": (lambda: from_itself(True), lambda: from_itself(False)),
    "told at a scope": (lambda: told("cluster"), lambda: told("cta")),
    "met by the CTA": (lambda: met("the cluster"), lambda: met("the CTA")),
    "met, relaxed": (lambda: met("the cluster"), lambda: met("relaxed")),
    "from both": (lambda: from_both(True), lambda: from_both(False)),
    "beside its own": (lambda: beside_own(True), lambda: beside_own(False)),
    "read back": (lambda: read_back(True), lambda: read_back(False)),
    "bytes that are shared": (lambda: shared_bytes(True), lambda: shared_bytes(False)),
    "by roles": (lambda: by_roles(True), lambda: by_roles(False)),
}


@pytest.mark.parametrize("name", PAIRS)
def test_what_is_in_order_is_proved_and_its_neighbour_refuted(name: str) -> None:
    right, wrong = PAIRS[name]
    (v,) = prove(HappensBefore(wrong()), budget=QUICK).verdicts

    assert prove(HappensBefore(right()), budget=QUICK)
    assert v.outcome is Outcome.REFUTED, v


def test_lanes_that_store_to_one_place_are_not_proved() -> None:
    def body(k: Builder, rank: Any, x: Any, t: Any) -> None:
        k.peer_copy("st.cluster.4", x(), t(k.thread // 2), 1 - rank)
        k.cluster_sync()
        k.copy("ld.shared.4", t(k.thread // 2), x())

    assert not prove(HappensBefore(built(body)), budget=QUICK)
