"""Outputs of clusters in which some CTAs store: which, is said by conditions about the rank."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from checkers import Computes, WrittenOnce, prove
from symlayout import Layout, dim
from symlayout.answers.report import Outcome
from symlayout.facts import Facts
from symlayout.kernel import Builder, Kernel
from symlayout.results import element, total

M = dim("M", at_most=1 << 20)
WARP = 32


def rows(ranks: int, stored: Callable[..., Any], at: Callable[..., Any], width: int = WARP) -> Kernel:
    """A cluster of so many CTAs for each row of dst; those threads store for which conditions hold."""
    k = Builder("rows", M, grid=(ranks * M,), threads=WARP, cluster=(ranks,))
    dst, x = k.global_tensor("dst", "f32", Layout((M, width), (width, 1))), k.registers("x", "f32", 1)
    (block,) = k.block
    rank, row = block % ranks, block // ranks
    k.fill(x(), 1)
    with k.where(*stored(rank, k.thread)):
        k.copy("st.global.4", x(), dst(width * row + at(rank, k.thread)))
    return k.kernel()


RIGHT = {
    "the first": rows(2, lambda r, t: (r < 1,), lambda r, t: t),
    "the last of four": rows(4, lambda r, t: (r >= 3,), lambda r, t: t),
    "one in the middle": rows(4, lambda r, t: (r >= 2, r <= 2), lambda r, t: t),
    "halves by two of four": rows(4, lambda r, t: (r % 2 < 1,), lambda r, t: WARP * (r // 2) + t, 2 * WARP),
    "a thread of one": rows(2, lambda r, t: (r < 1, t < 1), lambda r, t: t, 1),
    "half of the threads of each": rows(2, lambda r, t: (16 * r <= t, t < 16 * r + 16), lambda r, t: t),
    "each a part": rows(2, lambda r, t: (r < 2,), lambda r, t: WARP * r + t, 2 * WARP),
}
WRONG = {
    "both": rows(2, lambda r, t: (r < 2,), lambda r, t: t),
    "nobody": rows(2, lambda r, t: (r < 1, r >= 1), lambda r, t: t),
    "two of four": rows(4, lambda r, t: (r % 2 < 1,), lambda r, t: t),
    "half a row": rows(2, lambda r, t: (r < 1,), lambda r, t: WARP * r + t, 2 * WARP),
    "a thread of each": rows(2, lambda r, t: (t < 1,), lambda r, t: t, 1),
    "overlapping halves": rows(2, lambda r, t: (16 * r <= t, t < 16 * r + 17), lambda r, t: t),
}


@pytest.mark.parametrize("name", RIGHT)
def test_who_of_a_cluster_stores_is_seen(name: str) -> None:
    assert prove(WrittenOnce(RIGHT[name], "dst"))


@pytest.mark.parametrize("name", WRONG)
def test_too_many_or_too_few_of_a_cluster_are_refuted(name: str) -> None:
    (v,) = prove(WrittenOnce(WRONG[name], "dst")).verdicts
    assert v.outcome is Outcome.REFUTED


def test_values_that_peers_bring_are_named() -> None:
    """The reason was that nobody wrote the place to which a peer stores."""
    k = Builder("sent", M, grid=(2 * M,), threads=WARP, cluster=(2,))
    src, dst = k.global_tensor("src", "f32", Layout((M, 64), (64, 1))), k.global_tensor("dst", "f32", Layout(M))
    box, (x, y) = k.shared_tensor("box", "f32", Layout(1)), (k.registers(name, "f32", 1) for name in "xy")
    (block,) = k.block
    rank, row = block % 2, block // 2
    k.copy("ld.global.4", src(64 * row + WARP * rank + k.thread), x())
    k.reduce("add", x(), x(), lanes=WARP)
    k.cluster_sync()
    with k.where(rank >= 1, k.thread < 1):
        k.peer_copy("st.cluster.4", x(), box(), 0)
    k.cluster_sync()
    with k.where(rank < 1, k.thread < 1):
        k.copy("ld.shared.4", box(), y())
        k.map("add", (x(), y()), x())
        k.copy("st.global.4", x(), dst(row))
    k.result("dst", lambda m: total(64, lambda n: element("src", m, n)))
    kernel = k.kernel()

    assert "peers of a cluster bring are not followed: st.cluster.4" in Computes(kernel, "dst").lemma(Facts.about(M))
    assert prove(WrittenOnce(kernel, "dst"))
