"""Divides and products: CuTe's tables, and the same over symbols."""

from __future__ import annotations

import pytest

from symlayout import (
    InexactError,
    Layout,
    LayoutError,
    LayoutRight,
    blocked_product,
    composition,
    dim,
    flat_divide,
    flat_product,
    hier_unzip,
    logical_divide,
    logical_product,
    make_layout,
    raked_product,
    tile_to_shape,
    tiled_divide,
    tiled_product,
    zip2_by,
    zipped_divide,
    zipped_product,
)
from tests.support.draw import read

A = "(9,(4,8)):(59,(13,1))"
T = ("3:3", "(2,4):(1,8)")
A3 = "(9,(4,8),5):(59,(13,1),1000)"
B, R = "(2,5):(5,1)", "(3,4):(1,3)"


def operand(x):
    return tuple(map(operand, x)) if isinstance(x, tuple) else read(x)


DIVIDES = [
    (logical_divide, A, T, "((3,3),((2,4),(2,2))):((177,59),((13,2),(26,1)))"),
    (zipped_divide, A, T, "((3,(2,4)),(3,(2,2))):((177,(13,2)),(59,(26,1)))"),
    (tiled_divide, A, T, "((3,(2,4)),3,(2,2)):((177,(13,2)),59,(26,1))"),
    (flat_divide, A, T, "(3,(2,4),3,(2,2)):(177,(13,2),59,(26,1))"),
    (zipped_divide, A3, T, "((3,(2,4)),(3,(2,2),5)):((177,(13,2)),(59,(26,1),1000))"),
    (logical_divide, "(4,2,3):(2,1,8)", "4:2", "((2,2),(2,3)):((4,1),(2,8))"),
    (zipped_divide, "(8,6)", (4, 2), "((4,2),(2,3)):((1,8),(4,16))"),
    (zipped_divide, "(8,6)", "4:2", "(4,(2,6)):(2,(1,8))"),
    (logical_divide, "(8,6)", 4, "(4,12):(1,4)"),
    (zipped_divide, "(8,6)", "4:1", "(4,12):(1,4)"),
    (zipped_divide, "(8,6)", (4,), "((4,),(2,6)):((1,),(4,8))"),
    (logical_divide, "(6,8)", (1, 2), "((1,6),(2,4)):((0,1),(6,12))"),
    (zipped_divide, "((8,6),5)", ((4, 2),), "(((4,2),),((2,3),5)):(((1,8),),((4,16),48))"),
    (zipped_divide, "((4,2),6)", (None, 2), "((4,2),(2,3)):((1,8),(4,16))"),
    (logical_divide, "(8,6)", (None, 2), "(8,(2,3)):(1,(8,16))"),
    (logical_divide, "(8,6)", None, "(8,6):(1,8)"),
    (zipped_divide, "(32,4,4)", 64, "(64,8):(1,64)"),
    (tiled_divide, "8:1", (4,), "((4,),2):((1,),4)"),
    (flat_divide, "8:1", (4,), "(4,2):(1,4)"),
    (logical_divide, "(8,3)", "6:1", "(6,4):(1,6)"),
    # symbols
    (zipped_divide, "(M,N):(N,1)", (1, 1), "((1,1),(M,N)):((0,0),(N,1))"),
    (zipped_divide, "(M,8)", ("M:1", 4), "((M,4),(1,2)):((1,M),(0,4*M))"),
]


@pytest.mark.parametrize("op, a, t, expected", DIVIDES)
def test_divides(op, a, t, expected):
    got = op(read(a), operand(t))

    assert str(got) == expected
    assert not got.obligations


@pytest.mark.parametrize(
    "op, a, t, expected, obligation",
    [
        (logical_divide, "6:1", "4:1", "(4,2):(1,4)", "in domain: needs a predicate"),
        (zipped_divide, "2:1", 32, "(32,1):(1,0)", "in domain: needs a predicate"),
        (zipped_divide, "(10,7)", (4, 3), "((4,3),(3,3)):((1,10),(4,30))", "in domain: needs a predicate"),
        (
            zipped_divide,
            "(M,N):(N,1)",
            (64, 64),
            "((64,64),(ceil(M/64),ceil(N/64))):((N,1),(64*N,64))",
            "in domain: needs a predicate unless 64 divides M and N",
        ),
        (tiled_divide, "(M,N)", (16, 8), "((16,8),ceil(M/16),ceil(N/8)):((1,M),16,8*M)", None),
        (flat_divide, "(M,N)", (16, 8), "(16,8,ceil(M/16),ceil(N/8)):(1,M,16,8*M)", None),
    ],
)
def test_overhanging_tiles_are_rounded_up_with_an_obligation(op, a, t, expected, obligation):
    got = op(read(a), t if isinstance(t, int) else operand(t))

    assert str(got) == expected
    assert str(got.obligations) == (obligation or "in domain: needs a predicate unless 16 divides M and 8 divides N")


def test_divisible_sizes_leave_no_obligation():
    M, N = dim("M", multiple_of=64), dim("N", multiple_of=128)

    assert zipped_divide(Layout((M, N), (N, 1)), (64, 64)).obligations == ()
    assert str(zipped_divide(Layout((M, N), (N, 1)), (64, 64)).subs({M: 128, N: 128})) == (
        "((64,64),(2,2)):((128,1),(8192,64))"
    )


def test_a_tile_that_leaves_its_mode_without_dividing_it_is_refused_by_default():
    """CuTe keeps the overhang inside mode 0: 48 points for 36."""
    a = read("(6,6):(1,12)")

    assert str(logical_divide(a, read("4:1"), mode="cute")) == "(4,(2,6)):(1,(4,12))"
    with pytest.raises(InexactError, match="differs at c ="):
        logical_divide(a, read("4:1"))


PRODUCTS = [
    (logical_product, B, R, "((2,5),(3,4)):((5,1),(10,30))"),
    (blocked_product, B, R, "((2,3),(5,4)):((5,10),(1,30))"),
    (raked_product, B, R, "((3,2),(4,5)):((10,5),(30,1))"),
    (logical_product, B, ("3:5", "4:6"), "((2,3),(5,4)):((5,10),(1,30))"),
    (zipped_product, B, ("3:5", "4:6"), "((2,5),(3,4)):((5,1),(10,30))"),
    (tiled_product, B, ("3:5", "4:6"), "((2,5),3,4):((5,1),10,30)"),
    (flat_product, B, ("3:5", "4:6"), "(2,5,3,4):(5,1,10,30)"),
    (logical_product, "(2,2):(4,1)", "6:1", "((2,2),(2,3)):((4,1),(2,8))"),
    (logical_product, "(2,2):(4,1)", "(4,2):(2,1)", "((2,2),(4,2)):((4,1),(8,2))"),
    (logical_product, "3:2", "4:1", "(3,(2,2)):(2,(1,6))"),
    (logical_product, "4:1", 3, "(4,3):(1,4)"),
    (raked_product, "(32,4):(4,1)", "(4,1)", "((4,32),(1,4)):((128,4),(0,1))"),
    (blocked_product, "(2,2)", "(2,2):(2,1)", "((2,2),(2,2)):((1,8),(2,4))"),
    (blocked_product, "4:1", "3:1", "((4,3),):((1,4),)"),
    (raked_product, "4:1", "3:1", "((3,4),):((4,1),)"),
    (logical_product, "4:1", None, "4:1"),
    # symbols
    (logical_product, "(4,8):(8,1)", "M:1", "((4,8),M):((8,1),32)"),
    (blocked_product, "(4,8):(8,1)", "(M,N)", "((4,M),(8,N)):((8,32),(1,32*M))"),
]


@pytest.mark.parametrize("op, a, t, expected", PRODUCTS)
def test_products(op, a, t, expected):
    got = op(read(a), operand(t))

    assert str(got) == expected
    assert not got.obligations


def test_products_whose_inner_composition_carries_are_refused():
    """CuTe's (2,(4,2)):(12,(2,8)) hits 14 twice."""
    with pytest.raises(InexactError, match=r"A\(B\(c\)\) = A\(12\) = 24"):
        logical_product(read("2:12"), read("(4,2):(2,8)"))


@pytest.mark.parametrize(
    "block, target, order, expected",
    [
        ("(8,8):(8,1)", (16, 32), None, "((8,2),(8,4)):((8,64),(1,128))"),
        ("(8,8):(8,1)", (16, 32), (2, 1), "((8,2),(8,4)):((8,256),(1,64))"),
        ("(8,8):(8,1)", (16, 32), LayoutRight, "((8,2),(8,4)):((8,256),(1,64))"),
        ("(8,8):(8,1)", (16, 32, 3), None, "((8,2),(8,4),(1,3)):((8,64),(1,128),(0,512))"),
        ("8:1", (16, 32), None, "((8,2),(1,32)):((1,8),(0,16))"),
        ("8:1", 32, None, "((8,4),):((1,8),)"),
        ("(8,8)", (16, (8, 4)), None, "((8,2),(8,4)):((1,64),(8,128))"),
    ],
)
def test_tile_to_shape(block, target, order, expected):
    got = tile_to_shape(read(block), target) if order is None else tile_to_shape(read(block), target, order)

    assert str(got) == expected


def test_tile_to_shape_with_a_size_that_may_not_divide_rounds_up():
    got = tile_to_shape(read("(8,8):(8,1)"), (dim("M"), 32))

    assert str(got) == "((8,ceil(M/8)),(8,4)):((8,64),(1,64*ceil(M/8)))"


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: logical_divide(read("8:1"), (4, 2)), "expected at most 1 tiles for 8:1, got 2"),
        (lambda: zipped_divide(read("(8,6)"), (None, 2)), "expected a mode that is already a pair"),
        (lambda: tile_to_shape(read("(8,8)"), 16), "expected a target of rank at least 2"),
        (lambda: tile_to_shape(read("(8,8)"), (20, 32)), "expected a target extent that 8 divides in mode 0, got 20"),
        (lambda: logical_divide(read("(8,8)"), read("(2,2):(1,1)")), "expected modes that do not overlap"),
        (lambda: logical_divide(read("8:1"), 0), "expected a tile of at least 1, got 0"),
        (lambda: logical_divide(read("(8,8)"), (0, 4)), "expected a tile of at least 1, got 0"),
        (lambda: logical_divide(read("8:1"), -4), "expected a tile of at least 1, got -4"),
        (lambda: logical_divide(read("(8,8)"), 0), "expected extents of at least 1, got 0"),
        (lambda: logical_divide(read("8:1"), "4"), "expected .* got '4'"),
        (lambda: logical_product(read("8:1"), 0), "expected extents of at least 1, got 0"),
    ],
)
def test_misfits_are_refused(make, message):
    with pytest.raises((LayoutError, TypeError), match=message):
        make()


def test_zip2_by_collects_pairs_at_the_leaves_of_the_guide():
    pairs = make_layout(
        make_layout(Layout(2), Layout(3, 2)),
        make_layout(make_layout(Layout(4, 6), Layout(5, 24)), make_layout(Layout(6, 120), Layout(7, 720))),
        Layout(8, 5040),
    )

    assert str(zip2_by(pairs, (0, (0, 0))).shape) == "((2, (4, 6)), (3, (5, 7), 8))"


def test_hier_unzip_is_pycutes_zipped_divide():
    a = read("(8,6)")

    assert hier_unzip(logical_divide, a, (4, 2)) == zipped_divide(a, (4, 2))
    assert hier_unzip(logical_product, a, (4, 2)) == zipped_product(a, (4, 2))


def test_the_tile_of_a_divide_is_the_composition():
    a, t = read(A), operand(T)

    assert zipped_divide(a, t)[0] == composition(a, t)


def test_a_size_one_tile_is_the_same_by_every_route():
    """The short way for one mode and the general rule agree."""
    for n in (1, 2, 6, dim("N")):
        for t in (1, 2, 3, 8):
            short, general = logical_divide(Layout(n, 5), t), logical_divide(make_layout(Layout(n, 5)), Layout(t, 1))
            if t == 1:
                general = logical_divide(make_layout(Layout(n, 5)), Layout(1, 0))

            assert short.shape == general.shape
            assert str(short.obligations) == str(general.obligations)
            assert short(0, 0) == general(0, 0)
            assert short.stride[1] == general.stride[1] or short.shape[1] == 1
