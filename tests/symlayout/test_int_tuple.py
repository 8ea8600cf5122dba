"""Nested tuples: the tables of CuTe's sections on shapes and coordinates, and the relations between them."""

from __future__ import annotations

import itertools

import pytest

from symlayout import (
    Layout,
    LayoutError,
    UndecidedError,
    ceil_div,
    colex_less,
    compatible,
    congruent,
    crd2crd,
    crd2idx,
    depth,
    dice,
    dims,
    elem_all_leq,
    elem_geq,
    elem_gtr,
    elem_leq,
    elem_less,
    elem_scale,
    evenly_divides,
    flatten,
    get,
    has_none,
    idx2crd,
    inner_product,
    is_int,
    is_tuple,
    lex_less,
    prefix_product,
    product,
    product_each,
    product_like,
    rank,
    round_up,
    shape_div,
    signum,
    size,
    slice_,
    tuple_max,
    unflatten,
    weakly_congruent,
)
from symlayout.int_tuple import tuple_sum
from tests.support.draw import Draw

M, N = dims("M N")
NESTED, NESTED_STRIDE = (3, (2, 3)), (3, (12, 1))

ROWS = [
    # scalars
    (rank, (7,), 1),
    (rank, ((),), 0),
    (rank, ((2, (3, 4)),), 2),
    (depth, (7,), 0),
    (depth, ((2, (3, 4)),), 2),
    (depth, ((),), 1),
    (size, (7,), 7),
    (size, ((),), 1),
    (size, ((2, (3, 4)),), 24),
    (product, ((2, (3, M)),), 6 * M),
    (product_each, (6,), (6,)),
    (product_each, (((2, 3), 4),), (6, 4)),
    (product_like, ((2, (3, 4)), (0, 0)), (2, 12)),
    (product_like, ((2, (3, 4)), 0), 24),
    (inner_product, (((2, 3), 4), ((2, 1), 2)), 15),
    (inner_product, ((M, 3), (2, N)), 2 * M + 3 * N),
    (tuple_sum, ((2, (3, 4)),), 9),
    (tuple_max, ((2, (9, 4)),), 9),
    (signum, (-3,), -1),
    (signum, (0,), 0),
    (get, (7, 0), 7),
    (get, ((2, (3, 4)), 1, 0), 3),
    (is_int, (M,), True),
    (is_tuple, ((1,),), True),
    (has_none, ((1, (None, 2)),), True),
    (has_none, ((1, (3, 2)),), False),
    # structure
    (flatten, ((2, (3, (4, 5))),), (2, 3, 4, 5)),
    (flatten, (7,), 7),
    (flatten, ((),), ()),
    (unflatten, ((2, 3, 4), (0, (0, 0))), (2, (3, 4))),
    (elem_scale, ((2, 3), (4, (5, 6))), (8, 90)),
    (elem_scale, (2, (3, 4)), 24),
    (prefix_product, ((2, 3),), (1, 2)),
    (prefix_product, ((2, (3, 4)),), (1, (2, 6))),
    (prefix_product, ((2, 3), (5, 7)), (5, 7)),
    # profiles
    (congruent, ((2, (3, 4)), (1, (1, 1))), True),
    (congruent, ((2,), 2), False),
    (congruent, ((1, 2, 3), (1, 2)), False),
    (weakly_congruent, (2, (3, 3)), True),
    (weakly_congruent, ((3, 3), 2), False),
    (weakly_congruent, ((3, 3), (2, (2, 2))), True),
    (weakly_congruent, ((3,), (2, (2, 2))), False),
    (compatible, (24, (4, 6)), True),
    (compatible, ((4, 6), 24), False),
    (compatible, ((4, 6), (4, (2, 3))), True),
    (compatible, (24, (24,)), True),
    (compatible, ((24,), 24), False),
    (compatible, ((24,), (4, 6)), False),
    (compatible, (M * N, (M, N)), True),
    (evenly_divides, ((32, 64), (Layout(8, 2), 32)), True),
    (evenly_divides, ((32, 64), (Layout(8, 3), 32)), False),
    (evenly_divides, ((8, 3), Layout(6, 1)), False),
    # arithmetic
    (ceil_div, ((10, 7), (4, 3)), (3, 3)),
    (ceil_div, ((10, 7, 5), (4, 3)), (3, 3, 5)),
    (ceil_div, ((4, 6, 5), 8), (1, 3, 5)),
    (ceil_div, (30, (4, 3)), 3),
    (ceil_div, (((4, 6), 5), (8, 2)), ((1, 3), 3)),
    (ceil_div, (((3, 2), 5), 4), ((1, 1), 5)),
    (ceil_div, (16, Layout(4, 2)), (2, 2)),
    (ceil_div, (30, Layout(4, 2)), (2, 4)),
    (ceil_div, (8 * M, 8), M),
    (round_up, ((10, 7), (4, 3)), (12, 9)),
    (round_up, ((10, 7), (4,)), (12, 7)),
    (round_up, (10, 4), 12),
    (shape_div, (12, (2, 3)), 2),
    (shape_div, ((4, 5, 6), 40), (1, 1, 3)),
    (shape_div, ((3, 4), 6), (1, 2)),
    (shape_div, (12 * M, 4), 3 * M),
    # orders
    (elem_less, ((1, 2), (3, 3)), True),
    (elem_less, ((1, 3), (3, 3)), False),
    (elem_less, ((1,), (3, 3)), True),
    (elem_less, ((1, 1), (3,)), False),
    (elem_leq, ((4, 4), (3, 3)), False),
    (elem_gtr, ((4, 4), (3, 3)), True),
    (elem_leq, ((1, 5), (3, 3)), True),
    (elem_geq, ((1, 5), (3, 3)), True),
    (elem_all_leq, ((1, 5), (3, 3)), False),
    (elem_all_leq, ((3, 3), (3, 3)), True),
    (lex_less, ((1, 5), (2, 0)), True),
    (colex_less, ((1, 5), (2, 0)), False),
    # coordinates
    (crd2idx, (16, NESTED, NESTED_STRIDE), 17),
    (crd2idx, ((1, 5), NESTED, NESTED_STRIDE), 17),
    (crd2idx, ((1, (1, 2)), NESTED, NESTED_STRIDE), 17),
    (crd2idx, (18, NESTED, NESTED_STRIDE), 3),
    (crd2idx, ((1, 5), NESTED), 16),
    (crd2idx, ((1, (1, 2)), NESTED), 16),
    (idx2crd, (16, NESTED), (1, (1, 2))),
    (idx2crd, (20, NESTED), (2, (0, 3))),
    (idx2crd, (20, (3, 6), (1, 3)), (2, 0)),
    (idx2crd, ((3, 1), (4, (2, 3))), (3, (1, 0))),
    (idx2crd, (3, (4,)), (3,)),
    (idx2crd, (5, 4), 5),
    (idx2crd, (17, NESTED, NESTED_STRIDE), (2, (1, 2))),
    (idx2crd, (4, (2, 3), (3, 1)), (1, 1)),
    (crd2crd, ((1, 5), (3, 6), NESTED), (1, (1, 2))),
    (crd2crd, (7, 24, (4, 6)), (3, 1)),
    # slices of tuples
    (slice_, ((None, 3), (5, 6)), (5,)),
    (slice_, (None, (5, 6)), (5, 6)),
    (slice_, (1, (5, 6)), ()),
    (dice, (None, (5, 6)), ()),
    (dice, (1, (5, 6)), (5, 6)),
    (dice, ((1, None, 1), (2, 3, 4)), (2, 4)),
    (slice_, ((1, (None, 2)), (2, (3, 4))), (3,)),
]


@pytest.mark.parametrize("f, operands, expected", ROWS)
def test_table(f, operands, expected):
    got = f(*operands)

    assert got == expected
    assert type(got) is type(expected)


@pytest.mark.parametrize(
    "f, operands, message",
    [
        (round_up, ((10, 7), 4), "expected two integers or two tuples, got"),
        (shape_div, ((3, 4), 5), "expected one of 3 and 5 to divide the other"),
        (idx2crd, (((3,),), (4,)), "expected tuples of one rank, got"),
        (idx2crd, (-1, (4, 2)), "expected an index of at least 0, got -1"),
        (idx2crd, ((1, 2), (3, 4, 5), (1, 3, 12)), "expected tuples of one rank, got"),
        (crd2idx, (((3,), 1), (4, 2)), "expected a coordinate for the shape 4"),
        (crd2idx, ((1, 2, 3), (4, 2)), r"expected a coordinate for the shape \(4,2\) \(rank 2\), got \(1,2,3\)"),
        (crd2idx, (-1, (4, 2)), "expected a coordinate of at least 0, got -1"),
        (inner_product, ((1, 2), (1, 2, 3)), "expected tuples of one rank, got"),
        (inner_product, (2, (1, 2)), "expected .* got"),
        (unflatten, ((1, 2, 3), (0, 0)), "expected 2 leaves for the profile"),
        (slice_, ((None, 1), (2, 3, 4)), "expected tuples of one rank, got"),
        (ceil_div, ((4,), (2, 2)), "expected a divisor of rank at most 1, got"),
        (get, ((2, 3), 2), r"expected a mode of 0 \.\. 1, got 2"),
        (get, (7, 1), "expected mode 0 of an integer, got mode 1"),
    ],
)
def test_misfits_are_refused(f, operands, message):
    with pytest.raises(LayoutError, match=message):
        f(*operands)


def test_orders_of_symbols_are_facts_that_do_not_branch():
    with pytest.raises(UndecidedError, match="expected a fact that the normal form decides"):
        elem_less((M, 1), (N, 2))
    assert elem_less((M, 1), (M + 1, 2))


def draws(n=200):
    for seed in range(n):
        draw = Draw(seed)
        yield draw, draw.shape()


def test_congruent_weakly_congruent_and_compatible_are_orders():
    for draw, shape in draws():
        coarser = tuple(size(s) if draw.chance(0.5) else s for s in shape) if isinstance(shape, tuple) else shape

        assert compatible(coarser, shape)
        assert weakly_congruent(coarser, shape)
        assert compatible(size(shape), coarser)
        assert compatible(shape, coarser) == congruent(shape, coarser)


def test_flatten_inverts_unflatten():
    for _, shape in draws():
        assert unflatten(flatten(shape), shape) == shape
        assert product(flatten(shape)) == product(shape)


def test_idx2crd_inverts_crd2idx_in_every_form():
    for draw, shape in draws():
        c = draw.coordinate(shape)
        i = crd2idx(c, shape)

        assert 0 <= i < size(shape)
        assert crd2idx(idx2crd(i, shape), shape) == i
        assert idx2crd(c, shape) == idx2crd(i, shape) or isinstance(c, tuple)
        assert congruent(idx2crd(i, shape), shape)


def test_a_linear_index_reads_off_colexicographically():
    for _, shape in draws(100):
        coordinates = [idx2crd(i, shape) for i in range(size(shape))]

        assert all(colex_less((a,), (b,)) for a, b in itertools.pairwise(coordinates))


def test_round_up_is_the_least_multiple():
    for draw, _ in draws():
        a, b = draw.randint(1, 99), draw.randint(1, 12)

        assert round_up(a, b) % b == 0
        assert 0 <= round_up(a, b) - a < b
        assert ceil_div(a, b) * b == round_up(a, b)
