"""Tiled products and copies say what the CuTe DSL said: thread-value layouts, and the parts of single threads."""

from __future__ import annotations

import pytest

from symlayout import Layout, LayoutError, Tensor, index, make_identity_tensor, size
from symlayout.algorithms.tiled_copy import (
    make_copy_atom,
    make_cotiled_copy,
    make_tiled_copy,
    make_tiled_copy_A,
    make_tiled_copy_D,
    make_tiled_copy_S,
)
from symlayout.algorithms.tiled_mma import make_tiled_mma
from symlayout.expr import evaluate
from symlayout.int_tuple import leaves
from tests.support.tiled_cases import PRODUCTS, SHAPE, answers
from tests.support.tiled_recorded import recorded


def test_every_answer_is_that_of_the_dsl():
    said, ours = recorded(), dict(answers())

    assert len(said) >= 500
    assert {q: (said.get(q), a) for q, a in ours.items() if said.get(q) != a} == {}
    assert set(said) == set(ours)


# Threads side by side, along M, along N and along K, with a tile of their own and without.
CHOSEN = [PRODUCTS[i] for i in (0, 2, 3, 5, 8, 9)]
OTHERS = [pytest.param(*row, marks=pytest.mark.campaign) for row in PRODUCTS[:12] if row not in CHOSEN]


@pytest.mark.parametrize("word, groups, tile", CHOSEN + OTHERS)
def test_partitions_of_all_threads_are_the_tensor(word, groups, tile):
    """C is dealt once to each thread; A and B as often as threads repeat along the mode that they lack."""
    mma = make_tiled_mma(word, groups, tile or (None, None, None))
    m, n, _ = (2 * x for x in mma.tile)
    seen: dict[tuple[int, ...], int] = {}
    for t in range(mma.size):
        part = mma.get_slice(t).partition_C(make_identity_tensor((m, n)))
        for i in range(int(part.size())):
            seen[part(i)] = seen.get(part(i), 0) + 1
    assert len(seen) == m * n
    assert set(seen.values()) == {groups[2]}


@pytest.mark.parametrize("what", "ABC")
def test_the_part_of_a_symbol_is_that_of_each_thread(what):
    mma = make_tiled_mma("mma.m16n8k16.bf16", (2, 2, 1), (32, 32, 16))
    thread = index("thread", mma.size)
    whole = make_identity_tensor(SHAPE[:2])

    symbolic = getattr(mma.get_slice(thread), f"partition_{what}")(whole)
    for t in (0, 1, 31, 32, 64, 101, 127):
        plain = getattr(mma.get_slice(t), f"partition_{what}")(whole)
        assert plain.layout == symbolic.layout
        assert leaves(plain.iterator[0]) == [evaluate(x, {thread: t}) for x in leaves(symbolic.iterator[0])]


def test_a_copy_reuses_the_threads_of_another():
    first = make_tiled_copy(make_copy_atom("ldmatrix.x4", "f16"), Layout((16, 2)), Layout((2, 4)))
    plain = make_copy_atom("ld.shared.2", "f16")

    assert make_tiled_copy_S(plain, first).tv == first.layout_src_tv
    assert make_tiled_copy_D(plain, first).tv == first.layout_dst_tv


def test_a_cotiled_copy_is_given_addresses():
    data = Layout((8, 4), (4, 1))
    tiled = make_cotiled_copy(make_copy_atom("ld.global.16", "f32"), Layout((8, 4), (4, 1)), data)
    for t in range(8):
        part = tiled.get_slice(t).partition_S(Tensor(0, data))
        assert [part(i) for i in range(4)] == [4 * t + i for i in range(4)]


@pytest.mark.parametrize(
    "call, said",
    [
        (lambda: make_copy_atom("tma.load", "f16"), "expected a copy of so many bytes by each thread, got tma.load"),
        (lambda: make_copy_atom("ldmatrix.x4", "f32"), "expected elements of 16 bits for ldmatrix.x4, got f32"),
        (lambda: make_copy_atom("ld.global.2", "f32"), "expected whole elements in 2 bytes, got f32 of 32 bits"),
        (lambda: make_tiled_mma("ldmatrix.x4"), "expected an atom of a matrix product, got ldmatrix.x4"),
        (lambda: make_tiled_mma("mma.m16n8k16.bf16", (2, 1, 1), (16, None, None)), "expected a multiple of 32 along M"),
        (lambda: make_tiled_mma("mma.m16n8k16.bf16").get_slice(32), "expected a thread of 0 .. 31, got 32"),
        (
            lambda: make_tiled_copy(make_copy_atom("ldmatrix.x4", "f16"), Layout(16), Layout(8)),
            "expected threads and values in multiples of 32 and 8",
        ),
        (
            lambda: make_tiled_copy(make_copy_atom("ld.global.2", "f16"), Layout(4, 0), Layout(1)),
            "expected threads and values that are counted once each",
        ),
        (
            lambda: make_tiled_mma("wgmma.m64n64k16.bf16").get_slice(0).partition_fragment_A(Layout((64, 64))),
            "expected an operand in registers, got A of wgmma.m64n64k16.bf16",
        ),
    ],
)
def test_what_does_not_fit_is_an_error_with_the_reason(call, said):
    with pytest.raises(LayoutError, match=said.replace("(", r"\(").replace(".", r"\.")):
        call()


def test_fragments_have_a_register_for_each_value():
    mma = make_tiled_mma("mma.m16n8k16.bf16", (2, 2, 1), (32, 32, 16))
    fragment = mma.get_slice(0).partition_fragment_C(Layout((64, 64)))
    assert fragment.iterator.dtype.name == "f32"
    assert size(fragment.shape) == 64 * 64 // mma.size
    copy = make_tiled_copy_A(make_copy_atom("ldmatrix.x4", "bf16"), mma)
    held = mma.get_slice(0).partition_fragment_A(Layout((64, 32)))
    again = copy.retile(held)
    assert sorted(again(i).offset for i in range(int(again.size()))) == list(range(int(held.size())))
