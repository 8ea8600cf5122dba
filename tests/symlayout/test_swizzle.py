"""Swizzles and composed layouts: CuTe's tables, masks and merges."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from symlayout import (
    ComposedLayout,
    Layout,
    LayoutError,
    Swizzle,
    coalesce,
    complement,
    composition,
    cosize,
    dim,
    evaluate,
    flatten_layout,
    group,
    left_inverse,
    logical_divide,
    make_swizzle,
    nullspace,
    right_inverse,
    size,
    slice_and_offset,
    take,
    tile_to_shape,
    upcast,
    zipped_divide,
)
from symlayout.layout import is_layout
from tests.support.draw import read

ATOM = ComposedLayout(Swizzle(3, 0, 3), 0, Layout((8, 8), (8, 1)))


@pytest.mark.parametrize(
    "sw, values",
    [
        (Swizzle(2, 0, 2), [0, 1, 2, 3, 5, 4, 7, 6, 10, 11, 8, 9, 15, 14, 13, 12]),
        (Swizzle(2, 0, -2), [0, 5, 10, 15, 4, 1, 14, 11, 8, 13, 2, 7, 12, 9, 6, 3]),
        (Swizzle(1, 1, 2), [*range(8), 10, 11, 8, 9, 14, 15, 12, 13]),
        (Swizzle(0, 0, 0), list(range(16))),
        (Swizzle(0, 4, 3), list(range(16))),
    ],
    ids=str,
)
def test_values(sw, values):
    assert [sw(i) for i in range(16)] == values
    assert sw(np.arange(16)).tolist() == values


@pytest.mark.parametrize(
    "got, expected",
    [
        (Swizzle(3, 4, 3)(160), 176),
        (Swizzle(3, 4, 3)(0x3F0), 896),
        (make_swizzle(0b1000, 0b0100), Swizzle(1, 2, 1)),
        (make_swizzle(0b11000000, 0b110), Swizzle(2, 1, 5)),
        (make_swizzle(0b100, 0b1000), Swizzle(1, 2, -1)),
        (make_swizzle(0, 0), Swizzle(0, 0, 0)),
        (composition(Swizzle(2, 0, 3), Swizzle(1, 2, 3)), Swizzle(3, 0, 3)),
        (composition(Swizzle(3, 0, 3), Swizzle(3, 0, 3)), Swizzle(0, 0, 0)),
        (composition(Swizzle(3, 0, 3), Swizzle(1, 0, 3)), Swizzle(2, 1, 3)),
        (composition(Swizzle(3, 0, 3), Swizzle(0, 0, 0)), Swizzle(3, 0, 3)),
        (str(composition(Swizzle(3, 0, 3), read("8:1"))), "Sw<3,0,3> o 0 o 8:1"),
        (composition(Swizzle(0, 4, 3), read("8:1")), read("8:1")),
        (str(composition(read("(8,8):(8,1)"), Swizzle(3, 0, 3))), "Sw<3,0,-3> o 0 o (8,8):(8,1)"),
        (str(Swizzle(3, 4, 3)), "Sw<3,4,3>"),
        (repr(Swizzle(3, 4, -3)), "Swizzle(3, 4, -3)"),
        (right_inverse(Swizzle(3, 4, 3)), Swizzle(3, 4, 3)),
        (left_inverse(Swizzle(3, 4, 3)), Swizzle(3, 4, 3)),
        (size(Swizzle(3, 4, 3).size()), 1024),
    ],
    ids=str,
)
def test_table(got, expected):
    assert got == expected


@pytest.mark.parametrize("offset, values", [(0, list(range(8))), (8, [9, 8, 11, 10, 13, 12, 15, 14])])
def test_the_offset_stays_inside(offset, values):
    tile = ComposedLayout(Swizzle(3, 0, 3), offset, Layout(8))

    assert [tile(i) for i in range(8)] == tile.offsets().tolist() == values


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: Swizzle(3, 0, 2), r"expected 0 <= bits <= \|shift\|"),
        (lambda: Swizzle(-1, 0, 2), "expected 0 <= bits"),
        (lambda: Swizzle(1, -1, 2), "expected 0 <= bits"),
        (lambda: Swizzle(1, 0, 65), "expected 0 <= bits"),
        (lambda: Swizzle(1.0, 0, 2), r"expected an integer for bits of a swizzle, got 1\.0"),
        (lambda: Swizzle(True, 0, 2), "expected an integer for bits of a swizzle, got True"),
        (lambda: make_swizzle(0b101, 0b11000), "expected two disjoint contiguous masks"),
        (lambda: make_swizzle(0b110, 0b011), "expected two disjoint contiguous masks"),
        (lambda: composition(Swizzle(3, 0, 3), Swizzle(1, 1, 3)), "expected two disjoint contiguous masks"),
        (lambda: composition(Swizzle(2, 0, 3), Swizzle(2, 0, 4)), "expected swizzles of one shift"),
        (lambda: composition(Swizzle(3, 0, 3), ATOM), "expected a layout or a swizzle inside"),
        (lambda: composition(ATOM, Swizzle(3, 0, 3)), "expected a layout to compose"),
        (lambda: ATOM.stride, "expected a plain layout for its stride"),
        (lambda: ComposedLayout(Swizzle(3, 0, 3), 0, 8), "expected a layout inside, got 8"),
        (lambda: ComposedLayout(8, 0, Layout(8)), "expected a Swizzle or a layout outside, got 8"),
    ],
)
def test_misfits_are_refused(make, message):
    with pytest.raises(LayoutError, match=message):
        make()


def test_the_algebra_acts_on_the_inner_layout():
    inner, outer = ATOM.inner, ATOM.outer
    for op in (
        coalesce,
        flatten_layout,
        lambda x: take(x, 0, 1),
        lambda x: group(x, 0, 2),
        lambda x: zipped_divide(x, (4, 4)),
        lambda x: logical_divide(x, read("4:2")),
        lambda x: tile_to_shape(x, (16, 32)),
        lambda x: composition(x, read("(4,4):(2,8)")),
        lambda x: x[1],
    ):
        got = op(ATOM)

        assert (got.outer, got.offset) == (outer, 0)
        assert got.inner == op(inner)
    assert complement(ATOM, 128) == complement(inner, 128)
    assert (cosize(ATOM), size(ATOM), str(nullspace(ATOM))) == (64, 64, "1:0")


@pytest.mark.parametrize(
    "coordinate, offsets",
    [
        ((None, 0), [9 * i for i in range(8)]),
        ((0, None), list(range(8))),
        ((2, None), [18, 19, 16, 17, 22, 23, 20, 21]),
        ((None, 3), [ATOM(i, 3) for i in range(8)]),
    ],
)
def test_slices_keep_the_consumed_coordinate_inside(coordinate, offsets):
    part, rest = slice_and_offset(coordinate, ATOM)

    assert rest == 0
    assert [part(i) for i in range(8)] == offsets == [ATOM(coordinate)(i) for i in range(8)]


def test_a_composed_layout_inverts_where_its_offset_is_zero():
    for layout in (ATOM, ComposedLayout(Swizzle(2, 1, 3), 0, Layout((4, 16), (16, 1)))):
        inverse = right_inverse(layout)

        assert is_layout(inverse)
        assert [layout(inverse(i)) for i in range(layout.size())] == list(range(layout.size()))
        assert [left_inverse(layout)(layout(i)) for i in range(layout.size())] == list(range(layout.size()))
    with pytest.raises(LayoutError, match="expected an offset of 0 inside a swizzle"):
        right_inverse(ComposedLayout(Swizzle(3, 0, 3), 8, Layout(8)))


def test_symbolic_offsets_agree_with_numbers():
    x = dim("x", at_least=0)
    for sw in (Swizzle(3, 4, 3), Swizzle(2, 0, -2), Swizzle(1, 1, 2), Swizzle(0, 0, 0)):
        e = sw(x)

        assert [evaluate(e, {"x": i}) for i in range(2048)] == [sw(i) for i in range(2048)]


def test_a_row_and_column_of_symbols():
    M = dim("M")
    tile = ComposedLayout(Swizzle(3, 0, 3), 0, Layout((M, 8), (8, 1)))

    assert tile.subs({"M": 8}) == ATOM
    assert evaluate(tile(dim("i", at_least=0), 3), {"i": 5}) == ATOM(5, 3)


@pytest.mark.parametrize("value", [Swizzle(3, 4, 3), ATOM], ids=str)
def test_values_compare_hash_copy_and_pickle(value):
    for twin in (pickle.loads(pickle.dumps(value)), copy.deepcopy(value), copy.copy(value)):
        assert twin == value
        assert hash(twin) == hash(value)
    with pytest.raises(AttributeError, match="is a value"):
        value.offset = 3


def test_byte_and_element_swizzles_differ_by_the_element_size():
    """Sw<3,4,3> on bytes is Sw<3,3,3> on 2-byte elements: row 1 of the 128-byte atom starts at 72, not at 64."""
    bytes_, elements = Swizzle(3, 4, 3), upcast(2, Swizzle(3, 4, 3))
    rows = ComposedLayout(elements, 0, Layout((8, 64), (64, 1)))

    assert elements == Swizzle(3, 3, 3)
    assert [rows(i, 0) for i in range(8)] == [0, 72, 144, 216, 288, 360, 432, 504]
    assert all(bytes_(2 * i) == 2 * elements(i) for i in range(1024))
