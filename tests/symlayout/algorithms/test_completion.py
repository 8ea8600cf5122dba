"""What a copy of tensors returns says how it is over: awaited, its result is proved; used before, it is refuted."""

from __future__ import annotations

import pytest

from checkers import HappensBefore, prove
from symlayout import Layout, LayoutError
from symlayout.answers.report import Outcome
from symlayout.atoms import Completion
from symlayout.kernel import Builder, Kernel
from symlayout.kernel.specification import element
from symlayout.semantics.expected import expect_results

THREADS, EACH = 64, 4


def by_neighbour(way: str, awaited: bool = True) -> tuple[Kernel, object]:
    """dst = src through shared memory, each thread reading what its neighbour has copied there."""
    k = Builder("passed", grid=(1,), threads=THREADS)
    n = THREADS * EACH
    src, dst, tile = (make(name, "f32", Layout(n)) for make, name in
                      ((k.global_tensor, "src"), (k.global_tensor, "dst"), (k.shared_tensor, "tile")))  # fmt: skip
    mine, other = EACH * k.thread, EACH * (THREADS - 1 - k.thread)
    held = k.tensor(k.registers("held", "f32", EACH)())
    parts = [k.tensor(x(mine), Layout(EACH)) for x in (src, tile)]
    if way == "mbarrier":
        full = k.mbarriers("full", 1, 1)
        with k.where(k.thread <= 0):
            k.expect_tx(full(), 4 * n)
            issued = k.copy("bulk.load", k.tensor(src()), k.tensor(tile()), barrier=full())
        if awaited:
            k.complete(issued, barrier=full())
    elif way == "CTA barrier":
        k.copy(parts[0], held)
        issued = k.copy(held, parts[1])
    else:
        issued = k.copy(*parts)
    if awaited and way != "mbarrier":
        k.complete(issued)
    k.copy(k.tensor(tile(other), Layout(EACH)), held)
    k.copy(held, k.tensor(dst(other), Layout(EACH)))
    k.result("dst", lambda i: element("src", i))
    return k.kernel(), issued


WAYS = {
    "CTA barrier": ("CTA barrier",),
    "cp.async group": ("cp.async group", "CTA barrier"),
    "mbarrier": ("mbarrier",),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_copy_that_is_awaited_is_proved(way):
    kernel, issued = by_neighbour(way)
    assert issued.waits == WAYS[way]
    report = prove(kernel)
    assert report, str(report)
    for order in ("eager", "lazy"):
        expect_results(kernel, order)


@pytest.mark.parametrize("way", WAYS)
def test_use_before_completion_is_refuted(way):
    kernel, _ = by_neighbour(way, awaited=False)
    [verdict] = prove(HappensBefore(kernel)).verdicts
    assert verdict.outcome is Outcome.REFUTED, str(verdict)


def stored(awaited: bool) -> tuple[Kernel, object]:
    """A bulk store of a tile whose source is written again."""
    k = Builder("stored", grid=(1,), threads=32)
    dst, tile = k.global_tensor("dst", "f32", Layout(128)), k.shared_tensor("tile", "f32", Layout(128))
    mine = k.tensor(tile(4 * k.thread), Layout(4))
    k.fill(mine, 1)
    k.fence("async")
    k.sync()
    with k.elect():
        issued = k.copy("bulk.store", k.tensor(tile()), k.tensor(dst()))
        if awaited:
            k.complete(issued)
    k.sync()
    k.fill(mine, 2)
    return k.kernel(), issued


def test_the_source_of_a_bulk_store_is_written_again_after_its_group():
    kernel, issued = stored(True)
    assert issued.waits == ("bulk group",)
    assert prove(HappensBefore(kernel))
    [verdict] = prove(HappensBefore(stored(False)[0])).verdicts
    assert verdict.outcome is Outcome.REFUTED, str(verdict)


def test_a_copy_between_registers_and_global_memory_is_over_at_once():
    k = Builder("once", grid=(1,), threads=32)
    x, r = (
        k.tensor(k.global_tensor("x", "f32", Layout(32))(k.thread), Layout(1)),
        k.tensor(k.registers("r", "f32", 1)(), Layout(1)),
    )
    assert k.copy(x, r).waits == k.copy(r, x).waits == ()
    before = len(k._open[0])
    k.complete(k.copy(x, r))
    assert len(k._open[0]) == before + 1


def test_an_mbarrier_is_named():
    k = Builder("named", grid=(1,), threads=32)
    x, t = k.tensor(k.global_tensor("x", "f32", Layout(32))()), k.tensor(k.shared_tensor("t", "f32", Layout(32))())
    issued = k.copy("bulk.load", x, t, barrier=k.mbarriers("full", 1, 1)())
    assert issued.choice.completion is Completion.MBARRIER
    with pytest.raises(LayoutError, match=r"expected the mbarrier on which bulk\.load completes"):
        k.complete(issued)
    with pytest.raises(LayoutError, match=r"moves bytes that lie side by side in both, and 1 of 16"):
        k.copy(
            "bulk.load",
            k.tensor(k.global_tensor("y", "f32", Layout(32))(), Layout(16, 2)),
            k.tensor(k.shared_tensor("u", "f32", Layout(16))()),
        )
