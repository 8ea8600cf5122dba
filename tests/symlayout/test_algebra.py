"""The unary half of the algebra: CuTe's tables, text in and text out, and the symbolic cases beside them."""

from __future__ import annotations

import pytest

from symlayout import (
    LayoutError,
    Swizzle,
    append,
    ceil_div,
    coalesce,
    complement,
    composition,
    dim,
    domain_distribute,
    filter,
    filter_zeros,
    flatten_layout,
    get,
    group,
    left_inverse,
    make_fragment_like,
    make_layout_like,
    make_ordered_layout,
    max_alignment,
    max_common_layout,
    max_common_vector,
    nullspace,
    prepend,
    replace,
    right_inverse,
    select,
    take,
    zip_modes,
)
from symlayout.algebra import coalesce_extended, from_modes
from tests.support.draw import read

SW128 = "Sw<3,3,3> o 0 o (8,64):(64,1)"


def table(rows):
    """Rows (operands..., text of the result) as a parametrization."""
    return pytest.mark.parametrize("row", rows, ids=lambda row: " | ".join(map(str, row)))


def check(op, row):
    *operands, expected = row

    assert str(op(*map(read, operands))) == expected


@table(
    [
        ("(2,(1,6)):(1,(6,2))", "12:1"),
        ("(2,(1,6)):(1,(6,2))", (1, 1), "(2,6):(1,2)"),
        ("(2,4,6):(24,6,1)", "(2,4,6):(24,6,1)"),
        ("(2,4,6)", "48:1"),
        ("(4,8):(8,1)", "(4,8):(8,1)"),
        ("(1,1):(5,7)", "1:0"),
        ("1:5", "1:0"),
        ("(4,3):(-1,-4)", "12:-1"),
        ("(4,3):(0,0)", "12:0"),
        ("(4,1):(1,0)", "4:1"),
        ("(2,(1,6),3):(1,(6,2),12)", (1, 1), "(2,6,3):(1,2,12)"),
        ("((2,2),(2,2)):((1,2),(4,8))", ((1, 1), 1), "((2,2),4):((1,2),4)"),
        ("(4,(1,1)):(1,(2,3))", (1, 1), "(4,1):(1,0)"),
        ("(M,8):(1,M)", "8*M:1"),
        ("(192,N):(1,192)", "192*N:1"),
        ("(M,N):(N,1)", "(M,N):(N,1)"),
        ("(M,N,K):(1,M,M*N)", "M*N*K:1"),
        ("(2,M,4):(1,2,8)", "(2*M,4):(1,8)"),
        (SW128, SW128),
        ("Sw<3,3,3> o 8 o (8,8)", "Sw<3,3,3> o 8 o 64:1"),
    ]
)
def test_coalesce(row):
    *operands, expected = row
    got = coalesce(*map(read, operands))

    assert got == read(expected)
    assert str(got) == str(read(expected))


@table([("(4,1):(1,0)", "(4,2):(1,0)"), ("(4,1):(1,4)", "8:1"), ("(4,3,1):(3,1,0)", "(4,3,2):(3,1,0)"), ("1:5", "1:5")])
def test_extended_coalesce_keeps_the_function_beyond_the_domain(row):
    check(lambda a: from_modes(coalesce_extended(a.modes())), row)


@table(
    [
        ("(2,4,3):(1,0,2)", "6:1"),
        ("(4,3):(0,0)", "1:0"),
        ("(2,(4,3)):(0,(1,0))", (1, 1), "(1,4):(0,1)"),
        ("(2,3,4):(4,0,1)", "(2,4):(4,1)"),
        ("(M,N):(0,1)", "N:1"),
    ]
)
def test_filter(row):
    check(filter, row)


@table(
    [
        ("(2,4,3):(1,0,2)", "(2,1,3):(1,0,2)"),
        ("(2,(4,3)):(1,(0,2))", (0, (1, 1)), "(1,(4,3)):(1,(0,2))"),
        ("(2,(4,3)):(1,(5,2))", (1, 0), "(2,(1,1)):(1,(5,2))"),
    ]
)
def test_filter_zeros(row):
    check(filter_zeros, row)


@table(
    [
        ("(7,5,16):(3,1,0)", "16:35"),
        ("(7,5,16):(0,1,0)", "(7,16):(1,35)"),
        ("(2,(3,4)):(0,(1,0))", "(2,4):(1,6)"),
        ("(4,1,3):(0,0,0)", "(4,1,3):(1,0,4)"),
        ("(1,4,3):(0,0,1)", "(1,4):(0,1)"),
        ("8:0", "8:1"),
        ("1:0", "1:0"),
        ("(4,8)", "1:0"),
        ("(M,N):(1,0)", "N:M"),
    ]
)
def test_nullspace(row):
    check(nullspace, row)


@table(
    [
        ("4:1", 24, "6:4"),
        ("6:4", 24, "4:1"),
        ("(4,6):(1,4)", 24, "1:0"),
        ("4:2", 24, "(2,3):(1,8)"),
        ("4:2", "2:1"),
        ("4:2", 19, "(2,3):(1,8)"),
        ("(2,4):(1,6)", 24, "3:2"),
        ("(2,2):(6,1)", 24, "(3,2):(2,12)"),
        ("(2,2):(1,6)", 24, "(3,2):(2,12)"),
        ("4:0", 24, "24:1"),
        ("1:5", 6, "6:1"),
        ("4:1", 3, "1:0"),
        ("(2,4,8):(8,1,0)", 460, "(2,29):(4,16)"),
        ("(3,2):(2,7)", 28, "(2,2):(1,14)"),
        ("12:2", 53, "(2,3):(1,24)"),
        ("64:1", (32, 4, 4), "8:64"),
        ("(2,2):(3,1)", 12, "2:6"),
        ("2:6", 97, "(6,9):(1,12)"),
        ("6:1", (4, 6), "3:6"),
        ("(3,6):(8,0)", (4, 8, 6), "(8,12):(1,24)"),
        ("(3,6):(8,0)", 192, "(8,8):(1,24)"),
        ("4:0", (4, 6), "24:1"),
        ("4:0", "1:0"),
        ("1:0", "1:0"),
        ("(4,):(1,)", 4, "1:0"),
        ("6:4", 24, "4:1"),
        (SW128, 1024, "2:512"),
    ]
)
def test_complement(row):
    check(complement, row)


def test_complement_with_symbols():
    M, N = dim("M"), dim("N")

    assert str(complement(read("M:1"), M * N)) == "N:M"
    assert complement(read("64:1"), N) == read("4:1").__class__(ceil_div(N, 64), 64)
    assert str(complement(read("(M,4):(4,1)"), 4 * M)) == "1:0"
    with pytest.raises(LayoutError, match="expected strides whose order is known for complement, got M and N"):
        complement(read("(4,4):(M,N)"), 64)


@pytest.mark.parametrize(
    "layout", ["(2,2):(2,3)", "(4,4):(1,1)", "4:-1", "(2,2):(-1,4)", "(4,2):(1@0,1@1)", "(8,M):(1,4)"]
)
def test_complement_refuses_overlaps_negative_strides_and_coordinates(layout):
    with pytest.raises(LayoutError, match=r"expected .* got"):
        complement(read(layout), 64)


@table(
    [
        ("(8,4)", "32:1"),
        ("(8,4):(4,1)", "(4,8):(8,1)"),
        ("(2,4,6):(4,1,8)", "(4,2,6):(2,1,8)"),
        ("4:2", "1:0"),
        ("(4,2):(1,16)", "4:1"),
        ("(4,2):(1,5)", "4:1"),
        ("(2,4):(0,2)", "1:0"),
        ("(2,2,2):(4,0,1)", "2:4"),
        ("(2,4,4,6):(4,1,0,8)", "(4,2,6):(2,1,32)"),
        ("(2,8):(2,1)", "8:2"),
        ("(6,2):(1,3)", "6:1"),
        ("4:-1", "1:0"),
        ("(M,N):(N,1)", "(N,M):(M,1)"),
        ("(4,M):(1,4)", "4*M:1"),
        ("(4,2):(1,M)", "4:1"),
    ]
)
def test_right_inverse(row):
    check(right_inverse, row)


@table(
    [
        ("(8,4)", "32:1"),
        ("(8,4):(4,1)", "(4,8):(8,1)"),
        ("(2,4,6):(4,1,8)", "(4,2,6):(2,1,8)"),
        ("4:2", "(2,4):(0,1)"),
        ("(4,2):(1,16)", "(16,2):(1,4)"),
        ("(4,2):(1,5)", "(5,2):(1,4)"),
        ("(2,4):(0,2)", "(2,4):(0,2)"),
        ("(2,2,2):(4,0,1)", "(4,2):(4,1)"),
        ("3:4", "(4,3):(0,1)"),
        ("(2,3):(1,0)", "2:1"),
        ("(4,3):(0,0)", "12:0"),
        ("1:0", "1:0"),
        ("(M,N):(N,1)", "(N,M):(M,1)"),
    ]
)
def test_left_inverse(row):
    check(left_inverse, row)


@pytest.mark.parametrize(
    "layout", ["(2,8):(2,1)", "4:-1", "(2,3):(2,3)", "(4,4):(M,N)", "(4,2):(1@0,1@1)", "(4,M):(N,1)"]
)
def test_left_inverse_refuses_what_no_layout_inverts(layout):
    with pytest.raises(LayoutError, match=r"expected .* got"):
        left_inverse(read(layout))


def test_inverses_pass_underscores_and_swizzles_through():
    for inverse in (left_inverse, right_inverse):
        assert inverse(None) is None
        assert inverse(Swizzle(3, 4, 3)) == Swizzle(3, 4, 3)


@table(
    [
        ("(8,4)", "(8,4)", 32),
        ("(8,4)", "(8,4):(1,16)", 8),
        ("(8,4)", "(8,4):(4,1)", 1),
        ("(8,4):(4,1)", "(8,4):(8,1)", 4),
        (SW128, "(8,64):(64,1)", 8),
        (SW128, SW128, 512),
        ("Sw<3,3,3> o 4 o (8,64):(64,1)", "(8,64):(64,1)", 4),
        ("Sw<3,3,3> o 8 o (8,64):(64,1)", SW128, 8),
        ("4:1", "8:1", 4),
        ("8:1", "4:1", 4),
        ("(2,4):(1,3)", "(2,4):(1,3)", 2),
        ("4:0", "4:0", 1),
        ("(8,2):(0,1)", "(8,2):(1,1)", 1),
    ]
)
def test_max_common_vector(row):
    a, b, expected = map(read, row)

    assert max_common_vector(a, b) == expected


@table(
    [
        ("(8,4):(4,1)", "(8,4):(8,1)", "4:8"),
        ("(4,8):(8,1)", "(4,8):(16,1)", "8:4"),
        ("(2,4):(0,1)", "(2,4):(0,1)", "4:2"),
        ("(4,M):(M,1)", "(4,M):(M,1)", "(M,4):(4,1)"),
    ]
)
def test_max_common_layout(row):
    check(max_common_layout, row)


@table(
    [
        ("(8,4):(1,12)", 4),
        ("(8,4):(1,8)", 32),
        ("(4,8):(1,1)", 1),
        ("(4,2):(1,6)", 2),
        ("(8,4):(2,16)", 1),
        ("(8,M):(1,8)", 8),
        ("(8,4):(1,M)", 1),
        (SW128, 8),
    ]
)
def test_max_alignment(row):
    layout, expected = map(read, row)

    assert max_alignment(layout) == expected


def test_max_alignment_of_a_swizzle_is_its_untouched_low_bits():
    assert max_alignment(Swizzle(3, 4, 3)) == 16


@table(
    [
        ((2, 2, 2, 2), (0, 2, 3, 1), "(2,2,2,2):(1,4,8,2)"),
        ((3, (2, 5)), (1, 0), "(3,(2,5)):(10,(1,2))"),
        ((3, (2, 5)), (0, (2, 1)), "(3,(2,5)):(1,(15,3))"),
        ((3, 5), (0, 0), "(3,5):(1,1)"),
        ((2, 3, 4, 5), (2, 67, 42, 50), "(2,3,4,5):(1,40,2,8)"),
    ]
)
def test_make_ordered_layout(row):
    check(make_ordered_layout, row)


@table(
    [
        ("(4,8):(100,1)", "(4,8):(8,1)"),
        ("(4,(2,3)):(10,(1,64))", "(4,(2,3)):(2,(1,8))"),
        ("(2,2,2,2):(0,2,4,1)", "(2,2,2,2):(0,2,4,1)"),
        ("(4,3):(1,1)", "(4,3):(1,1)"),
        ("(4,1,3):(1,0,7)", "(4,1,3):(1,0,4)"),
    ]
)
def test_make_layout_like(row):
    check(make_layout_like, row)


@table(
    [
        ("((2,2),3,4):((8,1),100,10)", "((2,2),3,4):((1,2),16,4)"),
        ("(4,3,5):(1,16,4)", "(4,3,5):(1,20,4)"),
        ("(4,3,2):(1,0,7)", "(4,3,2):(1,4,12)"),
        ("(4,8):(100,1)", "(4,8):(1,4)"),
        ("8:3", "8:1"),
        ("((2,2),3):((0,1),9)", "((2,2),3):((0,1),2)"),
    ]
)
def test_make_fragment_like(row):
    check(make_fragment_like, row)


@table(
    [
        ((15, 14), 6, "(3,2):(1,15)"),
        (((64, 3), (8, 8)), 128, "(64,2):(1,192)"),
        (((64, 3), (8, 8)), 1024, "(64,16):(1,192)"),
        (((64, 3),), 128, "64:1"),
    ]
)
def test_domain_distribute(row):
    check(domain_distribute, row)


# -- modes as a tuple -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "got, expected",
    [
        (flatten_layout(read("(2,(3,(4,5)))")), "(2,3,4,5):(1,2,6,24)"),
        (flatten_layout(read("4:1")), "4:1"),
        (flatten_layout(read("(4,):(1,)")), "(4,):(1,)"),
        (group(read("(2,3,4,5)"), 1, 3), "(2,(3,4),5):(1,(2,6),24)"),
        (group(read("(2,3,4,5)"), 0, 2), "((2,3),4,5):((1,2),6,24)"),
        (group(read("(2,3,4,5)"), 1), "(2,(3,4,5)):(1,(2,6,24))"),
        (group(read("(4,2)"), 0, 1), "((4,),2):((1,),4)"),
        (group(read("(4,2)"), 1, 1), "(4,2):(1,4)"),
        (select(read("(2,3,4)"), 2, 0), "(4,2):(6,1)"),
        (select(read("(4,2)"), 0), "(4,):(1,)"),
        (take(read("(2,3,4,5)"), 1, 3), "(3,4):(2,6)"),
        (take(read("(4,2)"), 0, 1), "(4,):(1,)"),
        (get(read("(2,(3,4))"), 1, 0), "3:2"),
        (get(read("4:1"), 0), "4:1"),
        (append(read("4:1"), read("3:7")), "(4,3):(1,7)"),
        (append(read("4:1"), n=3), "(4,1,1):(1,0,0)"),
        (append(read("4:1"), n=1), "4:1"),
        (prepend(read("(4,2)"), n=3), "(1,4,2):(0,1,4)"),
        (prepend(read("(4,2)"), read("3:7")), "(3,4,2):(7,1,4)"),
        (replace(read("(4,2)"), 1, read("3:7")), "(4,3):(1,7)"),
        (zip_modes(read("(2,3):(1,2)"), read("(4,5):(6,24)")), "((2,4),(3,5)):((1,6),(2,24))"),
        (zip_modes(read("((2,3),(4,5)):((1,2),(6,24))")), "((2,4),(3,5)):((1,6),(2,24))"),
    ],
    ids=str,
)
def test_rearrangements(got, expected):
    assert str(got) == expected


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: take(read("(4,2)"), 1, 1), "expected 0 <= begin < end <= 2, got 1 and 1"),
        (lambda: append(read("(4,2)"), n=1), "expected a rank of at least 2"),
        (lambda: coalesce(read("(4,2)"), (1, 1, 1)), "expected a profile of rank at most 2"),
        (lambda: zip_modes(read("(2,3)"), read("4:1")), "expected modes of one rank to zip"),
        (lambda: make_ordered_layout((2, 3), (0, 1, 2)), "expected an order weakly congruent to the shape"),
        (lambda: select(read("(2,3)"), 2), "expected .* got"),
        (lambda: replace(read("(2,3)"), 2, read("4:1")), "expected .* got"),
        (lambda: group(read("(2,3)"), 1, 5), "expected .* got"),
        (lambda: group(read("(2,3)"), 2, 1), "expected .* got"),
    ],
)
def test_misfits_are_refused(make, message):
    with pytest.raises(LayoutError, match=message):
        make()


def test_composing_with_an_inverse_is_the_identity():
    for text in ("(8,4):(4,1)", "(2,4,6):(4,1,8)", "(M,N):(N,1)", "(4,M,2):(2,8,1)"):
        layout = read(text)
        inverse = right_inverse(layout)

        assert str(coalesce(composition(layout, inverse))) == f"{layout.size()}:1"
        assert left_inverse(layout) == inverse
        assert left_inverse(inverse) == coalesce(layout)
