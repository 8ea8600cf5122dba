"""Races on global memory that were once proved to be none, and sums of bits that were said to fit.

Random kernels (``benchmarks.soundness``) have one tensor map for a tensor, one type for its bytes and a commit behind
each copy, and each expression of theirs is computed once.
"""

from __future__ import annotations

from typing import Any

import pytest

from checkers import prove
from checkers.claim import Claim
from checkers.claims.arithmetic_fits import ArithmeticFits
from checkers.claims.global_order import GlobalOrder
from symlayout import Layout, dims, f32, i32
from symlayout.answers.report import Outcome
from symlayout.errors import LayoutError
from symlayout.expr import Symbol
from symlayout.expr.partial_results import partial_results
from symlayout.kernel import Builder, Kernel
from symlayout.tma import TensorMap

ROWS = Layout((64, 8, 8), (1, 64, 512))
PLANES = Layout((64, 8, 8), (1, 512, 64))  # the same elements, with the two outer dimensions exchanged
FLAT = Layout((64, 1), (1, 64))


def outcome(claim: Claim) -> Outcome:
    found = {v.outcome for v in prove(claim).verdicts}
    return next(x for x in (Outcome.REFUTED, Outcome.UNKNOWN, Outcome.PROVED) if x in found)


def through_two_maps(second: Layout) -> Kernel:
    """Each CTA stores rows (block, j) through one map, and loads boxes (block, j) of another."""
    k = Builder("through_two_maps", grid=(8,), threads=32)
    t = k.global_tensor("t", f32, ROWS)
    out = k.tensor_map("out", t(), TensorMap.over(ROWS, f32, (64, 1, 1)))
    back = k.tensor_map("back", t(), TensorMap.over(second, f32, (64, 1, 1)))
    s, u = k.shared_tensor("s", f32, Layout(64)), k.shared_tensor("u", f32, Layout(512))
    full, r, (block,) = k.mbarriers("full", 1, 1), k.registers("r", f32, 2), k.block
    k.fill(r(), 1, 2)
    k.copy("st.shared.8", r(), s(2 * k.thread))
    k.fence("async")
    k.sync()
    with k.elect():
        with k.loop("j", 8) as j:
            k.copy("tma.store", s(), out(0, block, j))
            k.commit("bulk")
            k.wait_group("bulk", 0)
        k.expect_tx(full(), 2048)
        with k.loop("i", 8) as i:
            k.copy("tma.load", back(0, block, i), u(64 * i), full())
    k.wait(full(), 0)
    return k.kernel()


def test_two_maps_may_have_their_dimensions_in_another_order() -> None:
    """A box was its coordinates, and those of two maps were compared one by one, whatever modes they are of."""
    same, other = (GlobalOrder(through_two_maps(layout), "t") for layout in (ROWS, PLANES))

    assert outcome(same) is not Outcome.REFUTED
    assert outcome(other) is Outcome.REFUTED


def in_one_turn(second: Layout) -> Kernel:
    """Each CTA stores the box (block, 1) of one map, and loads that of another."""
    k = Builder("in_one_turn", grid=(8,), threads=32)
    t = k.global_tensor("t", f32, ROWS)
    out = k.tensor_map("out", t(), TensorMap.over(ROWS, f32, (64, 1, 8)))
    back = k.tensor_map("back", t(), TensorMap.over(second, f32, (64, 1, 8)))
    s, u = k.shared_tensor("s", f32, Layout(512)), k.shared_tensor("u", f32, Layout(512))
    full, (block,) = k.mbarriers("full", 1, 1), k.block
    with k.elect():
        k.copy("tma.store", s(), out(0, block, 0))
        k.commit("bulk")
        k.wait_group("bulk", 0)
        k.copy("tma.load", back(0, block, 0), u(), full())
    return k.kernel()


def test_boxes_of_one_order_of_dimensions_are_still_told_apart() -> None:
    assert outcome(GlobalOrder(in_one_turn(ROWS), "t")) is Outcome.PROVED
    assert outcome(GlobalOrder(in_one_turn(PLANES), "t")) is Outcome.REFUTED


def added_as(second: Any, waits: bool) -> Kernel:
    """Two reductions to the same bytes, the second of elements of another type."""
    k = Builder("added_as", grid=(8,), threads=32)
    t, w = k.global_tensor("t", f32, FLAT, may_alias="w"), k.global_tensor("w", second, FLAT)
    first = k.tensor_map("first", t(), TensorMap.over(FLAT, f32, (64, 1)))
    other = k.tensor_map("other", w(), TensorMap.over(FLAT, second, (64, 1)))
    s, u = k.shared_tensor("s", f32, Layout(64)), k.shared_tensor("u", second, Layout(64))
    with k.elect():
        k.copy("tma.reduce.add", s(), first(0, 0))
        if waits:
            k.commit("bulk")
            k.wait_group("bulk", 0)
        k.copy("tma.reduce.add", u(), other(0, 0))
        k.commit("bulk")
        k.wait_group("bulk", 0)
    return k.kernel()


@pytest.mark.parametrize("waits", [False, True])
def test_additions_of_two_types_do_not_commute(waits: bool) -> None:
    """Reductions were of one kind where their words are, ``reduce.add``: floats and integers at one address too."""
    assert outcome(GlobalOrder(added_as(f32, waits), "t")) is Outcome.PROVED
    assert outcome(GlobalOrder(added_as(i32, waits), "t")) is Outcome.REFUTED


def stored_and_read(commits: bool) -> Kernel:
    """A bulk store that is waited for, and a load of what it has stored by all threads."""
    k = Builder("stored_and_read", grid=(4,), threads=128)
    t, s, r = k.global_tensor("t", f32, Layout(512)), k.shared_tensor("s", f32, Layout(128)), k.registers("r", f32, 1)
    with k.elect():
        k.copy("bulk.store", s(), t(128 * k.block[0]), nbytes=512)
        if commits:
            k.commit("bulk")
        k.wait_group("bulk", 0)
    k.sync()
    k.copy("ld.global.4", t(128 * k.block[0] + k.thread), r())
    return k.kernel()


def test_what_is_not_committed_is_not_waited_for() -> None:
    """HappensBefore told of the commit, GlobalOrder did not ask for it: its proof alone was of no order at all."""
    assert outcome(GlobalOrder(stored_and_read(True), "t")) is Outcome.PROVED
    assert outcome(GlobalOrder(stored_and_read(False), "t")) is Outcome.REFUTED


def test_low_bits_that_are_enough_for_one_use_need_not_be_for_another() -> None:
    """A quotient of which 3 bits were used was done with; the 15 bits of another use need bits beyond 32."""
    a, b = dims("a b")
    q = a * b // 2**20
    for uses in ((q % 8, q % 2**15), (q % 2**15, q % 8)):
        [product] = [p for p in partial_results(*uses) if p.value == a * b]
        assert not product.low

    k = Builder("two_uses", a, b, grid=(1,), threads=32, index_bits=32)
    t, r = k.global_tensor("t", f32, Layout((8, 2**15))), k.registers("r", f32, 1)
    k.copy("ld.global.4", t(q % 8 + 8 * (q % 2**15)), r())
    assert outcome(ArithmeticFits(k.kernel())) is Outcome.REFUTED


def test_a_map_over_a_place_inside_a_tensor_is_refused() -> None:
    """The place was left out in silence: the map was read as one of the whole tensor."""
    k = Builder("inside", grid=(1,), threads=32)
    t = k.global_tensor("t", f32, FLAT)
    with pytest.raises(LayoutError, match=r"from its first element on, got t\[64\]"):
        k.tensor_map("rest", t(64), TensorMap.over(FLAT, f32, (64, 1)))


def copied_through(rows: Any, more: Any) -> Kernel:
    """Tiles of zeros are stored through a map that has more rows than its tensor."""
    sizes = [rows] if isinstance(rows, Symbol) else []
    k = Builder("copied_through", *sizes, grid=((rows + more + 7) // 8,), threads=32)
    t = k.global_tensor("t", f32, Layout((64, rows), (1, 64)))
    m = k.tensor_map("m", t(), TensorMap.over(Layout((64, rows + more), (1, 64)), f32, (64, 8)))
    s, r = k.shared_tensor("s", f32, Layout(512)), k.registers("r", f32, 4)
    k.fill(r(), 0, 4)
    with k.loop("i", 4) as i:
        k.copy("st.shared.16", r(), s(128 * i + 4 * k.thread))
    k.fence("async")
    k.sync()
    with k.elect():
        k.copy("tma.store", s(), m(0, 8 * k.block[0]))
        k.commit("bulk")
        k.wait_group("bulk", 0)
    return k.kernel()


@pytest.mark.parametrize("rows", [8, dims("R")[0]], ids=str)
def test_a_map_that_ends_behind_its_tensor_is_refuted(rows: Any) -> None:
    """Boxes were held to the ends of their map, and nothing held the map to those of its tensor: all was proved."""
    found = {more: prove(copied_through(rows, more)).verdicts for more in (0, 8)}

    assert all(v.outcome is Outcome.PROVED for v in found[0])
    assert "m ends within t: bits left behind it >= 0" in {
        str(v.claim) for v in found[8] if v.outcome is Outcome.REFUTED
    }
