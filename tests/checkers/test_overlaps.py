"""Tensors that share bytes of shared memory: proved where a barrier keeps them apart, else refuted by a run or open."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from checkers import ApartInTime, HappensBefore, RegistersFit, RingProtocol, SharedMemoryFits, prove
from checkers.budget import Budget
from checkers.overlaps import Together, apart, sharing
from symlayout import Layout, LayoutError
from symlayout.answers.report import Outcome
from symlayout.errors import ClaimError
from symlayout.kernel import Builder, Kernel
from symlayout.ops import Fence, Ref, Wait, WaitGroup
from symlayout.semantics.expected import expect_results
from tests.support.reused_kernels import N, epilogue, twice, without_barrier


def said(kernel: Kernel) -> str:
    """What is wrong with two tensors, or open."""
    report = prove(SharedMemoryFits(kernel))
    (v,) = [v for v in report.verdicts if v.outcome is not Outcome.PROVED]
    return f"{v.outcome.value}: {v.witness or v.open}"


@pytest.mark.parametrize("kernel, sizes", [(twice(), {"N": 3}), (twice(32), {"N": 2}), (epilogue(), {"K": 5})])
def test_a_tile_over_another_is_proved_with_all_else(kernel: Kernel, sizes: dict[str, int]) -> None:
    (pair,) = sharing(kernel)
    report = prove(kernel)
    assert report, str(report)
    assert prove(ApartInTime(kernel, *pair))
    for order in ("eager", "lazy", 1, 2):
        expect_results(kernel.bind(**sizes), order)


def test_the_rings_that_it_rests_on_are_named() -> None:
    assert apart(epilogue(), "ring", "out").rings == ("full",)
    assert apart(twice(), "a", "b").rings == ()


def straight(body: Callable[..., None], threads: int = 64) -> Kernel:
    """A kernel with a tile a, another b over it, a register x, and a tensor g."""
    k = Builder("straight", N, grid=(N,), threads=threads)
    g = k.global_tensor("g", "f32", Layout((64, N)))
    z = k.global_tensor("z", "f32", Layout((64, N)))
    x = k.registers("x", "f32", 1)
    a = k.shared_tensor("a", "f32", Layout(64))
    b = k.shared_tensor("b", "f32", Layout(64), over=a())
    k.copy("ld.global.4", g(64 * k.block[0] + k.thread), x())
    body(k, x, a, b, z)
    k.copy("st.global.4", x(), z(64 * k.block[0] + k.thread))
    return k.kernel()


def live_across(k: Builder, x: Any, a: Any, b: Any, z: Any) -> None:
    """a is read again after b was written: all in order, and wrong."""
    k.copy("st.shared.4", x(), a(k.thread))
    k.sync()
    k.fill(x(), 7)
    k.copy("st.shared.4", x(), b(63 - k.thread))
    k.sync()
    k.copy("ld.shared.4", a(k.thread), x())


def stored_late(k: Builder, x: Any, a: Any, b: Any, z: Any) -> None:
    """A bulk store of a may still read when b is written."""
    k.copy("st.shared.4", x(), a(k.thread))
    k.fence("async")
    k.sync()
    with k.elect():
        k.copy("bulk.store", a(), z(64 * k.block[0]), nbytes=256)
        k.commit("bulk")
    k.sync()
    k.copy("st.shared.4", x(), b(k.thread))
    with k.elect():
        k.wait_group("bulk")


def of_one_warp(k: Builder, x: Any, a: Any, b: Any, z: Any) -> None:
    """The barrier between them awaits one warp of two."""
    k.copy("st.shared.4", x(), a(k.thread))
    k.sync()
    k.copy("ld.shared.4", a(63 - k.thread), x())
    with k.where(k.thread < 32):
        k.sync(1, 32)
    k.copy("st.shared.4", x(), b(k.thread))


def round_a_loop(k: Builder, x: Any, a: Any, b: Any, z: Any) -> None:
    """They meet again in the next turn."""
    with k.loop("i", 3):
        k.copy("st.shared.4", x(), a(k.thread))
        k.sync()
        k.copy("ld.shared.4", a(63 - k.thread), x())
        k.sync()
        k.copy("st.shared.4", x(), b(k.thread))


WRONG = {
    "live across": (live_across, "refuted: .*eager: z holds other values than with places apart"),
    "stored late": (stored_late, "refuted: .*overwrites byte 0 of a, which warp 0 may still be reading"),
    "of one warp": (of_one_warp, "refuted: .*overwrites byte .* of a, which warp . may still be reading"),
    "round a loop": (round_a_loop, "refuted: .*overwrites byte|unknown"),
}


@pytest.mark.parametrize("name", WRONG)
def test_tensors_that_are_live_together(name: str) -> None:
    import re

    body, message = WRONG[name]
    kernel = straight(body)
    assert re.search(message, said(kernel)), said(kernel)
    assert prove(HappensBefore(kernel)).verdicts[0].outcome is not Outcome.PROVED


@pytest.mark.parametrize("kernel", [without_barrier(twice(), 1), without_barrier(epilogue(), 1)])
def test_no_barrier_between(kernel: Kernel) -> None:
    assert "may still be reading" in said(kernel)
    assert prove(RegistersFit(kernel)), "they are judged apart from that"


def test_a_ring_in_whose_memory_others_are_keeps_no_protocol() -> None:
    kernel = without_barrier(epilogue(), 1)
    (v,) = prove(RingProtocol(kernel, "full"), budget=Budget(repairs=False)).verdicts
    assert v.outcome is Outcome.UNKNOWN
    assert "ring and out, which share bytes, are apart in time" in str(v.open)


def test_fills_that_nobody_waits_for() -> None:
    kernel = epilogue().edited(lambda op: () if isinstance(op, Wait) and op.barrier.barrier == "full" else (op,))
    with pytest.raises(Together, match="no wait for the fills of ring"):
        apart(kernel, "ring", "out")


def filled_after(fence: bool) -> Kernel:
    """Threads write a; then a bulk load fills b, over it."""
    k = Builder("filled", grid=(1,), threads=64)
    g = k.global_tensor("g", "f32", Layout(64))
    x, full = k.registers("x", "f32", 1), k.mbarriers("full", 1, 1)
    a = k.shared_tensor("a", "f32", Layout(64))
    b = k.shared_tensor("b", "f32", Layout(64), over=a())
    k.fill(x(), 1)
    k.copy("st.shared.4", x(), a(k.thread))
    if fence:
        k.fence("async")
    k.sync()
    with k.elect():
        k.expect_tx(full(), 256)
        k.copy("bulk.load", g(), b(), full(), nbytes=256)
    k.wait(full(), 0)
    k.copy("ld.shared.4", b(k.thread), x())
    return k.kernel()


def test_a_copy_into_bytes_that_threads_wrote_needs_a_fence() -> None:
    assert str(apart(filled_after(True), "a", "b")) == "barrier 0 stands between a and b"
    with pytest.raises(Together, match="no fence async between"):
        apart(filled_after(False), "a", "b")


def test_a_store_is_over_before_its_bytes_are_used_again() -> None:
    waited = straight(stored_late).edited(lambda op: (WaitGroup("bulk"), op) if isinstance(op, Fence) else (op,))
    with pytest.raises(Together, match="no commit and wait_group bulk ends"):
        apart(waited, "a", "b")


def test_places_and_claims() -> None:
    k = Builder("t", grid=(1,), threads=32)
    g, a = k.global_tensor("g", "f32", Layout(8)), k.shared_tensor("a", "f32", Layout(64))
    k.shared_tensor("b", "f32", Layout(8), over=a(8))
    k.shared_tensor("c", "f32", Layout(8))
    assert [t.base for t in k.tensors if t.space == "shared"] == [0, 32, 1024]
    for place in (g(), a(k.thread), Ref("a", N)):
        with pytest.raises(LayoutError, match="expected a place in shared memory"):
            k.shared_tensor("d", "f32", Layout(8), over=place)
    with pytest.raises(ClaimError, match=r"expected tensors that share bytes \(a and b\), got a and c"):
        ApartInTime(k.kernel(), "a", "c")
    assert "b is not used" in str(apart(k.kernel(), "a", "b")) or "a is not used" in str(apart(k.kernel(), "a", "b"))
    assert prove(SharedMemoryFits(k.kernel()))
