"""Layouts and descriptors are one function, in both directions; what is no layout says why."""

from __future__ import annotations

import itertools
import random

import pytest

from symlayout import ComposedLayout, E, Layout, LayoutError, Swizzle, dims
from symlayout.ck_tile import (
    descriptor_of,
    layout_of,
    make_embed_transform,
    make_freeze_transform,
    make_insert_transform,
    make_merge_transform,
    make_naive_tensor_descriptor,
    make_naive_tensor_descriptor_packed,
    make_naive_tensor_descriptor_with_offset,
    make_pass_through_transform,
    make_slice_transform,
    make_unmerge_transform,
    make_xor_transform,
    transform_tensor_descriptor,
    transpose_tensor_descriptor,
)
from symlayout.int_tuple import product
from symlayout.strides import as_modes
from tests.support.ck_views import BOTH, lds_tile, padded_gemm

M, N, K = dims("M N K")


def same(layout, d):
    """Whether a layout and a descriptor of numbers agree at every index."""
    sizes = tuple(product(s) for s in as_modes(layout.shape))
    assert sizes == d.lengths
    at = (lambda c: c) if isinstance(layout.shape, tuple) else (lambda c: c[0])
    return all(layout(at(c)) == d(c) for c in itertools.product(*map(range, sizes)))


LAYOUTS = [
    Layout((3, 4), (4, 1)),
    Layout((3, 4), (1, 3)),
    Layout(12),
    Layout(((2, 3), 4), ((1, 8), 2)),
    Layout(((4, 8, 4), (2, 2, 8)), ((128, 1, 16), (64, 8, 512))),
    Layout((4, 3), (0, 2)),
    Layout((1, 5), (7, 1)),
]


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_a_layout_as_a_descriptor_and_back(layout):
    d = descriptor_of(layout)

    assert same(layout, d)
    assert d.element_space_size == layout.cosize()
    assert same(layout_of(d), d)


@pytest.mark.parametrize("layout", [LAYOUTS[0], LAYOUTS[3], LAYOUTS[4]], ids=str)
def test_modes_survive_the_way_there_and_back(layout):
    assert layout_of(descriptor_of(layout)) == layout


@pytest.mark.parametrize(
    "layout",
    [
        ComposedLayout(Swizzle(3, 3, 3), 0, Layout((8, 64), (64, 1))),
        ComposedLayout(Swizzle(2, 0, 3), 0, Layout((4, 16), (16, 1))),
        ComposedLayout(Swizzle(2, 1, -3), 0, Layout((8, 32), (32, 1))),
        ComposedLayout(Swizzle(3, 3, 3), 8, Layout((4, (8, 4)), (64, (1, 8)))),
        ComposedLayout(Swizzle(0, 4, 3), 0, Layout((8, 8))),
        ComposedLayout(Swizzle(1, 0, 1), 0, Layout((3, 5), (5, 1))),
    ],
    ids=str,
)
def test_swizzles_as_descriptors_and_back(layout):
    d = descriptor_of(layout)

    assert same(layout, d)
    assert max(d(c) for c in itertools.product(*map(range, d.lengths))) < d.element_space_size
    assert same(layout_of(d), d)


@pytest.mark.parametrize(
    "d, text",
    [
        (lds_tile(128, 32, 8), "Sw<3,3,3> o 0 o ((2,64),(8,4)):((8,64),(1,16))"),
        (lds_tile(128, 64, 8), "Sw<3,3,3> o 0 o (128,(8,8)):(64,(1,8))"),
        (lds_tile(64, 32, 16), "Sw<2,4,2> o 0 o ((2,32),(16,2)):((16,64),(1,32))"),
    ],
    ids=["128x32", "128x64", "64x32"],
)
def test_tiles_of_the_gemm_policy_are_swizzles(d, text):
    layout = layout_of(d)

    assert str(layout) == text
    assert same(layout, d)


def test_symbolic_tiles_are_swizzles_too():
    d = transform_tensor_descriptor(
        make_naive_tensor_descriptor((M, 8, 8), (64, 8, 1)),
        (make_xor_transform((M, 8)), make_pass_through_transform(8)),
        ((0, 1), (2,)),
        ((0, 1), (2,)),
    )
    layout = layout_of(d)

    assert str(layout) == "Sw<3,3,3> o 0 o (M,8,8):(64,8,1)"
    assert same(layout.subs({"M": 9}), d.subs({"M": 9}))


def test_symbolic_layouts_both_ways():
    for layout in (Layout((M, N), (N, 1)), Layout((M, (8, N)), (8, (1, 8 * M))), Layout(((4, M), K), ((1, K), 0))):
        assert layout_of(descriptor_of(layout)) == layout


def test_descriptors_of_merges_have_nested_modes():
    d = make_naive_tensor_descriptor((M, 4, K), (5 * K, K, 1))
    merged = transform_tensor_descriptor(
        d, (make_pass_through_transform(M), make_merge_transform((4, K))), ((0,), (1, 2)), BOTH
    )

    assert str(layout_of(merged)) == "(M,(K,4)):(5*K,(1,K))"
    assert str(layout_of(transpose_tensor_descriptor(merged))) == "((K,4),M):((1,K),5*K)"


def test_other_transforms_that_are_linear():
    packed = make_naive_tensor_descriptor_packed((4, 6))
    split = transform_tensor_descriptor(
        packed, (make_insert_transform(3), make_unmerge_transform((2, 2)), make_pass_through_transform(6)),
        ((), (0,), (1,)), ((0,), (1, 2), (3,)),
    )  # fmt: skip
    taps = transform_tensor_descriptor(
        make_naive_tensor_descriptor((N + 2,), (1,)), (make_embed_transform((3, N), (1, 1)),), ((0,),), ((0, 1),)
    )

    assert str(layout_of(split)) == "(3,2,2,6):(0,12,6,1)"
    assert str(layout_of(taps)) == "(3,N):(1,1)"


def test_random_layouts_keep_their_function():
    rng = random.Random(3)
    for _ in range(60):
        shape = tuple(rng.choice((1, 2, 3, 4, (2, 3), (2, 2, 2))) for _ in range(rng.randint(1, 3)))
        stride = tuple(
            tuple(rng.randint(0, 9) for _ in s) if isinstance(s, tuple) else rng.randint(0, 9) for s in shape
        )
        layout = Layout(shape, stride)
        d = descriptor_of(layout)
        assert same(layout, d)
        assert same(layout_of(d), d)


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: layout_of(padded_gemm().descriptor), "expected a descriptor without pads, since a layout masks nothing"),
        (lambda: layout_of(make_naive_tensor_descriptor_with_offset((3, 4), (4, 1), 5)), "expected a first element at 0, got 5; move"),
        (
            lambda: layout_of(
                transform_tensor_descriptor(
                    make_naive_tensor_descriptor((M, N), (N, 1)),
                    (make_freeze_transform(1), make_pass_through_transform(N)),
                    BOTH,
                    ((), (0,)),
                )
            ),
            "expected a first element at 0, got N",
        ),
        (
            lambda: layout_of(
                transform_tensor_descriptor(
                    make_naive_tensor_descriptor((M, 6), (6, 1)), (make_xor_transform((M, 6)),), ((0, 1),), ((0, 1),)
                )
            ),
            "or one xor that is a swizzle, got",
        ),
        (
            lambda: layout_of(
                transform_tensor_descriptor(
                    make_naive_tensor_descriptor((M, 8), (9, 1)), (make_xor_transform((M, 8)),), ((0, 1),), ((0, 1),)
                )
            ),
            "or one xor that is a swizzle, got",
        ),
        (
            lambda: layout_of(
                transform_tensor_descriptor(
                    make_naive_tensor_descriptor_packed((8, 6)), (make_xor_transform((8, 6)),), ((0, 1),), ((0, 1),)
                )
            ),
            "expected",
        ),
        (lambda: descriptor_of(Layout((3, 4), (E(0), E(1)))), "expected offsets as values of a descriptor, got the coordinates"),
        (lambda: descriptor_of(Layout(4, -1)), "expected strides of at least 0, for which CK counts the space, got -1"),
        (lambda: descriptor_of(ComposedLayout(Layout(4), 0, Layout(4))), "expected a swizzle of a plain layout"),
        (lambda: descriptor_of(ComposedLayout(Swizzle(1, 0, 1), -1, Layout(4))), "expected an offset of at least 0 inside"),
        (lambda: descriptor_of(5), "expected a layout, got 5"),
    ],
)  # fmt: skip
def test_what_cannot_be_translated_says_why(make, message):
    with pytest.raises(LayoutError, match=message):
        make()


def test_what_must_hold_goes_with_the_translation():
    d = make_naive_tensor_descriptor((M, 8), (8, 1))
    d = transform_tensor_descriptor(d, (make_slice_transform(M, 0, 6), make_pass_through_transform(8)), BOTH, BOTH)
    found = layout_of(d)

    assert str(found) == "(6,8):(8,1)"
    assert str(found.obligations) == "exact: needs end within length in slice(M, 0, 6)"
    with pytest.raises(LayoutError, match="expected a layout that needs nothing"):
        descriptor_of(found)
