"""Strides that are coordinates: what the document on TMA tensors says of them, printing, arithmetic, the algebra."""

from __future__ import annotations

import pickle

import pytest

from symlayout import (
    ArithmeticTuple,
    ArithmeticTupleIterator,
    E,
    ExpressionError,
    Layout,
    LayoutError,
    ScaledBasis,
    as_tuple,
    basis_get,
    basis_value,
    coalesce,
    composition,
    coprofile,
    coshape,
    cosize,
    dims,
    domain_offset,
    in_words,
    index,
    local_tile,
    make_basis_like,
    make_coord_tensor,
    make_identity_layout,
    make_identity_tensor,
    make_inttuple_iter,
    zipped_divide,
)
from tests.support.draw import Draw, read

M, N = dims("M N")
I = make_identity_layout((4, (2, 3)))  # noqa: E741  # the identity
I86 = make_identity_layout((8, 6))

# -- the words of the document on TMA tensors -------------------------------------------------------------


def test_ordinary_strides_give_the_inner_product():
    """For integer strides (1, 100) the inner product with (i, j) is i + 100j: the formula for the offset."""
    i, j = index("i", 100), index("j", 50)

    assert Layout((100, 50), (1, 100))(i, j) == i + 100 * j
    assert str(Layout((100, 50), (1, 100))(i, j)) == "i + 100*j"
    assert Layout((100, 50), (1, 100))(7, 3) == 307


def test_basis_strides_give_the_coordinate():
    """If the strides are (_1@0, _1@1), the inner product is i@0 + j@1, which is the coordinate (i, j)."""
    i, j = index("i", M), index("j", N)
    value = Layout((M, N), (E(0), E(1)))(i, j)

    assert as_tuple(value) == (i, j)
    assert in_words(value) == "i@0 + j@1"
    assert as_tuple(Layout.parse("(4,6):(_1@0,_1@1)")(2, 3)) == (2, 3)


def test_exchanged_basis_strides_reverse_the_coordinate():
    """If the strides are (_1@1, _1@0), evaluating gives i@1 + j@0, that is (j, i)."""
    i, j = index("i", M), index("j", N)
    value = Layout((M, N), (E(1), E(0)))(i, j)

    assert as_tuple(value) == (j, i)
    assert in_words(value) == "j@0 + i@1"
    assert as_tuple(Layout.parse("(128,64):(1@1,1@0)")(5, 7)) == (7, 5)


def test_the_result_is_a_vector_sum():
    """The zeroth coefficient is i, and the first coefficient is j."""
    i, j = index("i", M), index("j", N)

    assert i * E(0) + j * E(1) == ArithmeticTuple(i, j) == (i, j)
    assert in_words(i * E(0) + j * E(1)) == "i@0 + j@1"
    assert in_words(7 * E(0, 1)) == "7@1@0"
    assert in_words(0 * E(0)) == "0"
    assert in_words(5) == "5"


def test_the_sum_of_two_tuples_is_the_tuple_of_sums():
    assert ArithmeticTuple(1, 2) + ArithmeticTuple(3, 4, 5) == (4, 6, 5)
    assert ArithmeticTuple(1, 2) - ArithmeticTuple(3, 4, 5) == (-2, -2, -5)
    assert -ArithmeticTuple(1, 2) == (-1, -2)


def test_the_iterator_stores_a_base_coordinate():
    """An ArithmeticTupleIterator stores a coordinate instead of a pointer; a whole tensor starts at (0, ..., 0)."""
    t = make_identity_tensor((8, 6))

    assert isinstance(t.iterator, ArithmeticTupleIterator)
    assert str(t.iterator) == "ArithTuple(0,0)"
    assert str(t) == "ArithTuple(0,0) o (8,6):(1@0,1@1)"
    assert str(make_coord_tensor(make_identity_layout((M, (N, 4)))).iterator) == "ArithTuple(0,(0,0))"


def test_slicing_moves_the_base_coordinate():
    t = make_identity_tensor((8, 6))

    assert str(t(None, 3)) == "ArithTuple(0,3) o (8,):(1@0,)"
    assert str(t(2, None)) == "ArithTuple(2,0) o (6,):(1@1,)"
    assert t(None, 3)(5) == (5, 3)
    assert str(domain_offset((2, 3), t)) == "ArithTuple(2,3) o (8,6):(1@0,1@1)"
    assert local_tile(t, (4, 3), (1, 1)).iterator.value == (4, 3)


def test_basis_functions_can_be_hierarchical():
    assert make_basis_like((3, (2, 4))) == (E(0), (E(1, 0), E(1, 1)))
    assert as_tuple(I(13)) == (1, (1, 1))


# -- printing ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value, text",
    [
        (E(0), "1@0"),
        (E(0, 1), "1@1@0"),
        (E(1, 0), "1@0@1"),
        (5 * E(0, 1), "5@1@0"),
        (E(), "1"),
        (N * E(1), "N@1"),
        ((N + 1) * E(1), "(N + 1)@1"),
        (-E(2), "-1@2"),
        (3 * E(0) + 4 * E(1), "(3,4)"),
        (make_inttuple_iter((2, 3)), "ArithTuple(2,3)"),
        (make_inttuple_iter(2, 3), "ArithTuple(2,3)"),
        (make_inttuple_iter((2, (3, 4))), "ArithTuple(2,(3,4))"),
        (make_inttuple_iter(5), "ArithTuple(5)"),
        (Layout((3, (2, 4)), make_basis_like((3, (2, 4)))), "(3,(2,4)):(1@0,(1@0@1,1@1@1))"),
    ],
    ids=str,
)
def test_text(value, text):
    assert str(value) == text


@pytest.mark.parametrize("value", [E(0), 5 * E(0, 1), N * E(1), ArithmeticTuple(1, (2, N)), make_inttuple_iter(1, 2)])
def test_values_compare_hash_and_pickle(value):
    twin = pickle.loads(pickle.dumps(value))

    assert twin == value
    assert hash(twin) == hash(value)
    assert {value: 1}[twin] == 1


# -- arithmetic -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "got, expected",
    [
        (3 * E(0) + 4 * E(1), (3, 4)),
        (4 * E(0, 1) + 3 * E(1) + 20 * E(1) + 7 * E(0, 0), ((7, 4), 23)),
        (E(0) + E(0), (2,)),
        (E(2), (0, 0, 1)),
        (E(0, 1), ((0, 1),)),
        (E(1, 0), (0, (1,))),
        (ArithmeticTuple(1, 2) + 0, (1, 2)),
        (0 + ArithmeticTuple(1, 2), (1, 2)),
        (E(1) - E(0), (-1, 1)),
        (2 * ArithmeticTuple(1, (2, 3)), (2, (4, 6))),
        (N * E(0) + M * E(0), (M + N,)),
    ],
)
def test_sums_are_coordinates(got, expected):
    assert as_tuple(got) == expected


def test_zero_is_neutral_and_keeps_the_basis():
    assert E(0) + 0 == E(0) == 0 + E(0)
    assert (0 * E(0)).value == 0
    assert isinstance(0 * E(0), ScaledBasis)


@pytest.mark.parametrize(
    "unequal", [(2 * E(0), E(0)), (E(0), 1), (E(0), E(0, 0)), (E(0), E(1)), (E(0), "1@0")], ids=str
)
def test_equality_needs_the_same_path_and_value(unequal):
    assert unequal[0] != unequal[1]


@pytest.mark.parametrize(
    "sum_",
    [
        lambda: E(0) + 3,
        lambda: ArithmeticTuple(1, 2) + 3,
        lambda: E(0) + E(0, 1),
        lambda: read("(4,2):(1@0,1)")(5),
    ],
)
def test_profiles_that_clash_are_refused(sum_):
    with pytest.raises(LayoutError, match=r"expected .* got"):
        sum_()


def test_parts_of_a_basis_element():
    assert basis_get(E(1, 0), (7, (8, 9))) == 8
    assert basis_get(5, (7, 8)) == (7, 8)
    assert basis_value(5 * E(1)) == 5
    assert basis_value(7) == 7
    assert (5 * E(1, 0)).path == (1, 0)
    with pytest.raises(ExpressionError, match="expected mode indices of at least 0, got"):
        E(-1)


def test_iterators_add_and_read():
    it, step = make_inttuple_iter((0, 0)), (2, 3)

    assert str(it + step) == "ArithTuple(2,3)"
    assert (it + step)[4 * E(0)] == (6, 3)
    assert it + 0 is it
    assert (it + step).value == (2, 3)


# -- identity layouts and coordinate tensors --------------------------------------------------------------


@pytest.mark.parametrize(
    "coordinate, value",
    [(13, (1, (1, 1))), ((1, (1, 2)), (1, (1, 2))), (0, (0, (0, 0))), (24, (0, (0, 3))), ((1, 5), (1, (1, 2)))],
)
def test_identity_layout(coordinate, value):
    assert as_tuple(I(coordinate)) == value


@pytest.mark.parametrize(
    "got, expected",
    [
        (make_identity_layout(5), "5:1"),
        (make_identity_layout((5,)), "(5,):(1@0,)"),
        (coalesce(I), "(4,2,3):(1@0,1@0@1,1@1@1)"),
        (coshape(I), (4, (2, 3))),
        (cosize(I), 24),
        (coprofile(I), (0, (0, 0))),
        (coprofile(Layout((4, 8))), 0),
        (as_tuple(Layout(4, E(0))(3)), (3,)),
        (as_tuple(Layout((8,), (E(0),))(3)), (3,)),
        (as_tuple(read("(4,2):(1@0,0)")(3, 1)), (3,)),
        (as_tuple(read("(4,2):(1@0,2@0)")(3, 1)), (5,)),
        (make_coord_tensor(Layout((8,), (E(0),)))(3), (3,)),
        (make_coord_tensor(Layout(8, 1))(3), 3),
        (coalesce(read("(4,2):(1@0,4@0)")), "8:1@0"),
        (coalesce(read("(4,1,2):(1@0,1@1,4@0)")), "8:1@0"),
        (coalesce(read("(4,2):(1@0,4@1)")), "(4,2):(1@0,4@1)"),
        (composition(I86, read("(4,2):(2,8)")), "(4,2):(2@0,1@1)"),
        (composition(I86, read("48:1")), "(8,6):(1@0,1@1)"),
        (composition(I, read("(2,4):(4,1)")), "(2,4):(1@0@1,1@0)"),
        (composition(I86, read("(2,3):(2@1,2@0)")), "(2,3):(2@1,2@0)"),
        (composition(read("(4,4):(4,1)"), read("(4,4):(1@1,1@0)")), "(4,4):(1,4)"),
        (composition(read("(4,(2,3)):(6,(3,1))"), read("(2,4):(1@1@1,1@0)")), "(2,4):(1,6)"),
        (cosize(Layout((4, 5), (N * E(0), E(1)))), (3 * N + 1) * 5),
    ],
    ids=str,
)
def test_basis_strides_in_the_algebra(got, expected):
    assert (str(got) if isinstance(expected, str) else got) == expected


def test_tiling_an_identity_tensor_that_does_not_divide():
    tiles = zipped_divide(make_identity_layout((10, 7)), (4, 3))

    assert str(tiles) == "((4,3),(3,3)):((1@0,1@1),(4@0,3@1))"
    assert tiles.obligations


@pytest.mark.parametrize("bad", ["(2,2):(1@0,1@1)", "2:1@1", "2:1@0@1"])
def test_a_basis_must_name_a_mode_of_the_left_operand(bad):
    with pytest.raises(LayoutError, match=r"expected .* got"):
        composition(Layout(4), read(bad))


# -- laws -------------------------------------------------------------------------------------------------


def test_bases_form_a_module():
    for seed in range(200):
        draw = Draw(seed)
        e, f, g = (E(*draw.choice([(0,), (1,), (2, 0), (2, 1)])) for _ in range(3))
        j, k = draw.randint(-5, 5), draw.randint(-5, 5)

        assert in_words(j * e + k * e) == in_words((j + k) * e)
        assert in_words(k * (e + f)) == in_words(k * e + k * f)
        assert in_words((e + f) + g) == in_words(e + (f + g))
        assert as_tuple(e + f) == as_tuple(f + e)
        assert in_words(e - e) == "0"
        assert in_words(j * (k * e)) == in_words(j * k * e)
