"""Untimed runs tell the lanes of a warp apart: a missing barrier of the warp between any two of them is seen."""

from __future__ import annotations

import pytest

from checkers import HappensBefore, prove
from symlayout import Layout
from symlayout.kernel import Builder, Kernel
from symlayout.semantics.trials import mishap


def turned(meet: bool = True, first: int = 2, late: bool = False, converged: bool = False) -> Kernel:
    """Lanes from *first* on exchange tiles by way of shared memory, and *late* ones write it once more."""
    k = Builder("turned", grid=(1,), threads=32, converged_warps=converged)
    a, o = (k.global_tensor(name, "f32", Layout(32)) for name in "ao")
    t, x = k.shared_tensor("t", "f32", Layout(32)), k.registers("x", "f32", 1)
    with k.where(k.thread >= first):
        k.copy("ld.global.4", a(k.thread), x())
        k.copy("st.shared.4", x(), t(k.thread))
    if meet:
        k.warp_sync()
    with k.where(k.thread >= first):
        k.copy("ld.shared.4", t(31 + first - k.thread), x())
        k.copy("st.global.4", x(), o(k.thread))
        if late:
            k.copy("st.shared.4", x(), t(k.thread))
    return k.kernel()


@pytest.mark.parametrize("first", [0, 2, 17])
def test_lanes_that_meet_are_in_order(first: int) -> None:
    assert mishap(turned(first=first)) is None
    assert prove(HappensBefore(turned(first=first)))


@pytest.mark.parametrize("first", [0, 2, 17])
def test_a_missing_barrier_of_the_warp_is_seen(first: int) -> None:
    found = mishap(turned(meet=False, first=first))

    assert found is not None
    assert found.kind == "order"
    assert f"thread {first} puts poison" in found.said
    assert "by thread 31 of the CTA" in found.said
    assert not prove(HappensBefore(turned(meet=False, first=first)))


def test_a_lane_that_may_still_read_is_named() -> None:
    found = mishap(turned(late=True))

    assert found is not None
    assert "may still be reading (lane 2)" in found.said


def test_lanes_of_a_converged_warp_are_in_order() -> None:
    assert mishap(turned(meet=False, converged=True)) is None
