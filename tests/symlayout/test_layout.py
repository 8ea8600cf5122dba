"""Layouts as values: constructors, the three families of coordinates, slices, text, and what they refuse."""

from __future__ import annotations

import copy
import dataclasses
import pickle

import numpy as np
import pytest

from symlayout import (
    ArithmeticTuple,
    E,
    Layout,
    LayoutError,
    LayoutLeft,
    LayoutRight,
    as_tuple,
    coalesce,
    coshape,
    cosize,
    crd2idx,
    dice,
    dim,
    dims,
    evaluate,
    flatten,
    index,
    is_layout,
    make_identity_layout,
    make_layout,
    slice_,
    slice_and_offset,
    unflatten,
)
from tests.support.draw import Draw, drawn, read

M, N = dims("M N")
L = Layout((3, (2, 3)), (3, (12, 1)))


# -- constructors -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "layout, text",
    [
        (make_layout((2, 3)), "(2,3):(1,2)"),
        (make_layout((2, 3), LayoutRight), "(2,3):(3,1)"),
        (make_layout((2, 3), LayoutLeft), "(2,3):(1,2)"),
        (make_layout((2, (3, 4)), LayoutRight), "(2,(3,4)):(12,(4,1))"),
        (make_layout((2, (3, 4))), "(2,(3,4)):(1,(2,6))"),
        (make_layout((4, 1, 3)), "(4,1,3):(1,0,4)"),
        (make_layout((4, 1, 3), LayoutRight), "(4,1,3):(3,0,1)"),
        (make_layout(1), "1:0"),
        (make_layout(8), "8:1"),
        (make_layout((2, 3), (7, 11)), "(2,3):(7,11)"),
        (make_layout(Layout(4), Layout(3, 4)), "(4,3):(1,4)"),
        (make_layout(Layout(4, 1)), "(4,):(1,)"),
        (make_layout([Layout(4), Layout(3, 4)]), "(4,3):(1,4)"),
        (make_layout(Layout((2, 2)), Layout(3, 4)), "((2,2),3):((1,2),4)"),
        (make_identity_layout((3, (2, 4))), "(3,(2,4)):(1@0,(1@0@1,1@1@1))"),
        (Layout([2, [3, 4]], [1, [2, 6]]), "(2,(3,4)):(1,(2,6))"),
        (Layout((M, N), (N, 1)), "(M,N):(N,1)"),
        (Layout((M, N)), "(M,N):(1,M)"),
        (LayoutRight((M, (N, 4))), "(M,(N,4)):(4*N,(4,1))"),
        (Layout(()), "():()"),
        (Layout((np.int64(4), 8), (8, np.int32(1))), "(4,8):(8,1)"),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_constructors(layout, text):
    assert str(layout) == text
    assert is_layout(layout)


# -- evaluation -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "coordinate, value",
    [
        ((16,), 17),
        ((1, 5), 17),
        ((1, (1, 2)), 17),
        (((1, (1, 2)),), 17),
        (([1, [1, 2]],), 17),
        ((np.int64(16),), 17),
        ((18,), 3),
        ((0,), 0),
    ],
)
def test_the_three_families_of_coordinates(coordinate, value):
    assert L(*coordinate) == value


@pytest.mark.parametrize(
    "layout, value",
    [("4:-1", 4), ("(2,3):(-1,4)", 10), ("(4,3):(1,0)", 4), ("(4,8):(1,16)", 116), ("1:0", 1), ("(M,N):(N,1)", M * N)],
)
def test_cosize(layout, value):
    assert cosize(read(layout)) == read(layout).cosize() == value


def test_cosize_and_coshape_of_coordinates():
    assert coshape(make_identity_layout((4, (2, 3)))) == (4, (2, 3))
    assert cosize(make_identity_layout((4, (2, 3)))) == 24
    assert cosize(Layout((4, 5), (N * E(0), E(1)))) == 5 * (3 * N + 1)
    assert coshape(Layout((M, N), (E(1), E(0)))) == (N, M)


def test_a_symbolic_stride_of_unknown_sign_has_no_cosize():
    with pytest.raises(LayoutError, match="expected a stride whose sign is known, got d"):
        Layout(4, dim("d", at_least=None, at_most=None)).cosize()
    assert Layout(4, dim("d", at_least=None, at_most=-1)).cosize() == 1 - 3 * dim("d", at_least=None, at_most=-1)


def test_a_coordinate_computed_by_a_layout_is_a_coordinate():
    a, identity = Layout((8, 6), (6, 1)), make_identity_layout((8, 6))

    assert a(identity(2, 3)) == a(2, 3)
    assert Layout((8,), (5,))(ArithmeticTuple(3)) == Layout((8,), (5,))(3 * E(0)) == 15


def test_symbolic_coordinates_give_expressions():
    i, j = index("i", M), index("j", N)
    row_major = Layout((M, N), (N, 1))

    assert row_major(i, j) == N * i + j
    assert row_major(2, 3) == 2 * N + 3
    assert as_tuple(make_identity_layout((M, N))(i + M * j)) == (i, j)
    assert str(row_major(i + M * j)) == "N*i + j"


def test_every_form_of_a_number_gives_one_form_of_the_offset():
    wide = Layout((dim("W", at_least=8), 4), (1, 100))

    assert wide(5) == wide(np.int64(5)) == wide(5, 0) == 5


def test_offsets_lists_every_value():
    for layout in drawn(0, 100):
        assert layout.offsets().tolist() == [layout(i) for i in range(layout.size())]


@pytest.mark.parametrize("layout", ["(M,4):(4,1)", "(4,2):(1@0,1@1)", "1000000000000000000000000000000:1"])
def test_offsets_need_plain_integers(layout):
    with pytest.raises(LayoutError, match=r"expected .* got"):
        read(layout).offsets()


# -- slices -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "layout, coordinate, text, offset",
    [
        ("(2,(3,4)):(1,(2,6))", (None, (1, None)), "(2,4):(1,6)", 2),
        ("(2,(3,4)):(1,(2,6))", (1, (None, 2)), "(3,):(2,)", 13),
        ("((2,3),4):((1,2),6)", ((1, None), None), "(3,4):(2,6)", 1),
        ("((2,3),4):((1,2),6)", (4, None), "(4,):(6,)", 4),
        ("((2,3),4):((1,2),6)", ((None, None), 3), "(2,3):(1,2)", 18),
        ("((2,3),4):((1,2),6)", (None, 3), "((2,3),):((1,2),)", 18),
        ("((2,3),4):((1,2),6)", None, "((2,3),4):((1,2),6)", 0),
        ("(M,N):(N,1)", (2, None), "(N,):(1,)", 2 * N),
    ],
)
def test_slice_and_offset(layout, coordinate, text, offset):
    part, start = slice_and_offset(coordinate, read(layout))

    assert (str(part), start) == (text, offset)
    assert read(layout)(coordinate) == part


def test_slice_and_dice_take_layouts_too():
    layout = read("(2,(3,4)):(1,(2,6))")

    assert str(slice_((None, (1, None)), layout)) == "(2,4):(1,6)"
    assert str(dice((1, (None, 2)), layout)) == "(2,4):(1,6)"
    assert slice_(None, layout) == dice(1, layout) == layout


def test_flatten_and_unflatten_take_layouts_too():
    layout = read("(2,(3,(4,5))):(1,(2,(6,24)))")

    assert str(flatten(layout)) == "(2,3,4,5):(1,2,6,24)"
    assert str(unflatten(read("(2,3,4):(1,2,6)"), (0, (0, 0)))) == "(2,(3,4)):(1,(2,6))"
    assert unflatten(flatten(layout), layout.shape) == layout
    assert str(flatten(read("4:1"))) == "4:1"
    assert str(flatten(read("(4,):(1,)"))) == "(4,):(1,)"


def test_slice_then_evaluate_is_evaluate():
    for seed in range(200):
        draw = Draw(seed)
        layout = draw.layout()
        c = draw.coordinate(layout.shape)
        if not isinstance(c, tuple):
            continue
        holes = tuple(None if draw.chance(0.5) else x for x in c)
        part, offset = slice_and_offset(holes, layout)
        filling = tuple(x for x, h in zip(c, holes, strict=True) if h is None)

        assert offset + (part(filling) if filling else 0) == layout(c), seed


# -- modes ------------------------------------------------------------------------------------------------


def test_layouts_are_sequences_of_their_modes():
    layout = read("(2,(3,4),5):(1,(2,6),24)")

    assert len(layout) == 3
    assert str(layout[1]) == "(3,4):(2,6)"
    assert str(layout[-1]) == "5:24"
    assert str(layout[1:]) == "((3,4),5):((2,6),24)"
    assert [str(mode) for mode in layout] == ["2:1", "(3,4):(2,6)", "5:24"]
    assert make_layout(*layout) == layout
    assert str(read("4:1")[0]) == "4:1"
    with pytest.raises(IndexError):
        layout[3]
    with pytest.raises(IndexError, match="expected mode 0"):
        read("4:1")[1]


def test_sizes_replace_symbols_everywhere():
    layout = Layout((M, (N, 4)), (4 * N, (4, 1)))

    assert str(layout.subs({"M": 3, "N": 5})) == "(3,(5,4)):(20,(4,1))"
    assert str(layout.subs({M: N})) == "(N,(N,4)):(4*N,(4,1))"
    assert layout.symbols == (M, N)
    assert layout.subs({"M": 3, "N": 5}).static
    assert str(Layout((M, 4), (E(0), N * E(1))).subs({M: 2, N: 3})) == "(2,4):(1@0,3@1)"
    assert str(Layout((M, 4), (E(0), ArithmeticTuple(N, 1))).subs({M: 2, N: 3})) == "(2,4):(1@0,(3,1))"
    with pytest.raises(LayoutError, match="expected extents of at least 1, got 0"):
        layout.subs({"M": 0, "N": 5})


# -- as a value -------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Holder:
    layout: Layout


VALUES = [Layout((4, 8)), L, Layout((M, N), (N, 1)), Layout((M, N), (E(1), E(0))), Layout((M // 8, 4), (1, M % 8))]


@pytest.mark.parametrize("layout", VALUES, ids=str)
def test_values_compare_hash_copy_and_pickle(layout):
    for twin in (pickle.loads(pickle.dumps(layout)), copy.deepcopy(layout), copy.copy(layout)):
        assert twin == layout
        assert hash(twin) == hash(layout)
        assert {Holder(layout): 1}[Holder(twin)] == 1
    assert eval(repr(Layout((4, (2, 3)), (6, (3, 1))))) == Layout((4, (2, 3)), (6, (3, 1)))
    with pytest.raises(AttributeError, match="a Layout is a value"):
        layout.shape = 3


def test_equality_is_of_shape_and_stride_not_of_function():
    assert Layout(1, 0) != Layout(1, 1)
    assert Layout((4,), (1,)) != Layout(4, 1)
    assert Layout((4, 2), (1, 4)) != Layout(8, 1) == coalesce(Layout((4, 2), (1, 4)))
    assert Layout(4) != "4:1"


def test_obligations_take_no_part_in_equality():
    from symlayout import zipped_divide

    tiled = zipped_divide(Layout((M, N), (N, 1)), (64, 64))

    assert tiled.obligations
    assert tiled == Layout(tiled.shape, tiled.stride)
    assert hash(tiled) == hash(Layout(tiled.shape, tiled.stride))
    assert pickle.loads(pickle.dumps(tiled)).obligations == tiled.obligations


def test_text_reads_back():
    for layout in (*VALUES, *drawn(1, 200)):
        again = read(str(layout))

        assert again == layout
        assert str(again) == str(layout)


def test_a_million_points_are_not_enumerated_to_evaluate_one():
    big = Layout((10**30, 10**30), (1, 10**30))

    assert big(10**30 - 1, 10**30 - 1) == 10**60 - 1
    assert big(10**59) == 10**59
    assert big.cosize() == 10**60


def test_evaluation_agrees_with_the_interpreter_at_numbers():
    for seed in range(100):
        draw = Draw(seed)
        layout = draw.symbolic()
        env = draw.sizes(layout.symbols)
        bound = layout.subs(env)
        x = index("x", layout.size())
        i = draw.randrange(bound.size())

        assert evaluate(layout(x), {**env, x: i}) == bound(i), (seed, str(layout))
        assert evaluate(layout(i), env) == bound(i), (seed, str(layout))


@pytest.mark.parametrize(
    "layout",
    [Layout(((2, 3), 4, 3), ((5, -1), 7, 40)), Layout((2, (2, (3, 2))), (E(0), (E(1), (4 * E(1), E(0)))))],
    ids=str,
)
def test_an_integer_for_each_mode_is_its_natural_coordinate(layout):
    """Inside the modes, where numbers alone tell it, and past the end of the last one, which is unbounded."""
    for flat in range(2 * layout.size()):
        coord, rest = [], flat
        for mode in list(layout)[:-1]:
            rest, here = divmod(rest, mode.size())
            coord.append(here)
        coord.append(rest)
        assert layout(*coord) == crd2idx(tuple(coord), layout.shape, layout.stride) == layout(flat)
