"""composition: CuTe's tables where it is exact, refusals with the coordinate where it is not, and obligations."""

from __future__ import annotations

import itertools

import pytest

from symlayout import (
    ComposedLayout,
    E,
    InexactError,
    Layout,
    LayoutError,
    Swizzle,
    composition,
    dim,
    index,
    make_identity_layout,
)
from tests.support.draw import read

A12 = "(12,(4,8)):(59,(13,1))"

EXACT = [
    ("(6,2):(8,2)", "(4,3):(3,1)", "((2,2),3):((24,2),8)"),
    ("20:2", "(5,4):(4,1)", "(5,4):(8,2)"),
    ("(10,2):(16,4)", "(5,4):(1,5)", "(5,(2,2)):(16,(80,4))"),
    ("(4,3):(3,1)", "8:1", "(4,2):(3,1)"),
    ("(4,6,8,10):(2,3,5,7)", "6:12", "(2,3):(9,5)"),
    ("(8,8):(8,1)", "3:3", "3:24"),
    ("(3,2):(1,6)", "1:1", "1:6"),
    ("(3,2):(1,6)", "1:0", "1:0"),
    ("(3,2):(1,6)", 1, "1:6"),
    ("1:5", "1:0", "1:0"),
    ("(1,4):(7,1)", "2:1", "2:1"),
    ("(4,):(1,)", "2:1", "2:1"),
    ("4:1", "(2,):(1,)", "(2,):(1,)"),
    ("(4,3):(1,0)", "12:1", "(4,3):(1,0)"),
    ("(4,3)", "(2,5):(1,0)", "(2,5):(1,0)"),
    ("(4,4):(-1,1)", "(2,4,2):(1,4,2)", "(2,4,2):(-1,1,-2)"),
    ("(8,6)", "(2,3):(3,8)", "(2,3):(3,8)"),
    ("(2,2,2):(4,2,1)", "(2,2):(4,1)", "(2,2):(1,4)"),
    # by mode
    (A12, ("3:4", "8:2"), "(3,(2,4)):(236,(26,1))"),
    (A12, (3, 8), "(3,(4,2)):(59,(13,1))"),
    ("(12,(4,8),5):(59,(13,1),1000)", (3, 8), "(3,(4,2)):(59,(13,1))"),
    ("(12,(4,8),5):(59,(13,1),1000)", (3, None), "(3,(4,8)):(59,(13,1))"),
    # a basis stride selects the mode
    ("(4,4):(4,1)", "(4,4):(1@1,1@0)", "(4,4):(1,4)"),
    ("(4,(2,3)):(6,(3,1))", "(2,4):(1@1@1,1@0)", "(2,4):(1,6)"),
    ("(4096,8192):(1,4096)", "(32,8,8,128):(1@0,8@1,1@1,32@0)", "(32,8,8,128):(1,32768,4096,32)"),
    # symbols
    ("(M,N):(N,1)", "(M,N)", "(M,N):(N,1)"),
    ("(4,M):(M,1)", "(4,M):(1,4)", "(4,M):(M,1)"),
    ("(8,N):(N,1)", "(4,N):(2,8)", "(4,N):(2*N,1)"),
    ("M*N:3", "(M,N):(N,1)", "(M,N):(3*N,3)"),
]


@pytest.mark.parametrize("a, b, expected", EXACT)
def test_exact_rows(a, b, expected):
    a, b = read(a), tuple(map(read, b)) if isinstance(b, tuple) else read(b)
    got = composition(a, b)

    assert str(got) == expected
    assert not got.obligations
    assert str(composition(a, b, mode="cute")) == expected
    assert str(a.compose(*b) if isinstance(b, tuple) else a.compose(b)) == expected


@pytest.mark.parametrize(
    "a, b, expected",
    [
        ("(4,3):(3,1)", "24:1", "(4,6):(3,1)"),
        ("(4,3,1):(3,1,0)", "24:1", "(4,3,2):(3,1,0)"),
        ("1:5", "4:1", "4:5"),
        ("(4,1):(1,5)", "8:1", "(4,2):(1,5)"),
        ("(4,2):(1,4)", "16:1", "16:1"),
        ("4:1", "4:-1", "4:-1"),
        ("(4,4):(4,1)", "8:-2", "(2,4):(-8,-1)"),
        ("(M,N):(1,M)", "M*N:2", "M*N:2"),
    ],
)
def test_overhang_gives_cutes_result_and_an_obligation(a, b, expected):
    a, b = read(a), read(b)
    got = composition(a, b)

    assert str(got) == str(composition(a, b, mode="cute")) == expected
    assert [o.kind for o in got.obligations] == ["in domain"]


@pytest.mark.parametrize(
    "a, b, cute, message",
    [
        ("(6,4):(1,7)", "4:4", "(2,2):(4,7)", r"differs at c = 2: A\(B\(c\)\) = A\(8\) = 9, but .* gives 7"),
        ("(4,2):(1,100)", "(4,2):(1,2)", "(4,2):(1,2)", r"differs at c = \(2,1\): A\(B\(c\)\) = A\(4\) = 100"),
        ("(6,7):(1,3)", "6:4", "(2,3):(4,3)", r"differs at c = 2: A\(B\(c\)\) = A\(8\) = 5, but .* gives 3"),
        ("(6,6):(1,12)", "(4,12):(1,4)", "(4,(2,6)):(1,(4,12))", r"c = \(2,1\): .* = A\(6\) = 12, but .* gives 6"),
        ("(12,2):(1,24)", "(4,2):(2,8)", "(4,2):(2,8)", r"A\(B\(c\)\) = A\(12\) = 24"),
    ],
)
def test_inexact_rows_are_refused_with_the_coordinate(a, b, cute, message):
    a, b = read(a), read(b)

    assert str(composition(a, b, mode="cute")) == cute
    with pytest.raises(InexactError, match=message):
        composition(a, b)


@pytest.mark.parametrize(
    "a, b, message",
    [
        ("(8,8):(8,1)", "4:3", r"expected a layout for .* got none: 4 elements do not split into runs of 3"),
        ("(4,6):(1,10)", "6:1", r"got none: 6 elements .*A\(B\(4\)\) = 10 is not 4 times A\(B\(1\)\) = 1"),
        ("(4,3):(3,1)", "(2,2):(5,2)", "got none: stride 5 neither divides nor is divided by the extent 4"),
        ("(4,2,5):(16,12,6)", "(3,5):(1,1)", "expected .* got"),
    ],
)
@pytest.mark.parametrize("mode", ["exact", "cute"])
def test_what_no_layout_describes_is_refused_in_both_modes(a, b, message, mode):
    with pytest.raises(InexactError, match=message):
        composition(read(a), read(b), mode)


def test_symbolic_obligations_name_the_fact_that_makes_the_result_exact():
    n = dim("n")
    got = composition(read("(4096,8192):(1,4096)"), Layout((32, n, 8, 128), (E(0), 8 * E(1), E(1), 32 * E(0))))

    assert str(got) == "(32,n,8,128):(1,32768,4096,32)"
    assert str(got.obligations) == "in domain: needs a predicate unless 8*n <= 8192"
    assert got.obligations.hold({"n": 1024})
    assert not got.obligations.hold({"n": 1025})


def test_a_symbolic_step_that_may_leave_its_mode_is_an_exactness_obligation():
    got = composition(read("(N,4):(4,1)"), Layout(8, 1))

    assert str(got) == "8:4"
    assert str(got.obligations).splitlines()[0] == "exact: needs N >= 8"
    assert composition(read("(N,4):(4,1)").subs({"N": dim("P", at_least=8)}), Layout(8, 1)).obligations == ()


def test_a_symbolic_composition_that_fails_for_all_sizes_is_refused():
    small = dim("s", at_most=4)

    with pytest.raises(InexactError, match="for all sizes"):
        composition(Layout((small, 9), (100, 1)), Layout(8, 1))
    with pytest.raises(InexactError, match="carry at every size"):
        composition(Layout((4, dim("N")), (1, 100)), Layout((4, 2), (1, 2)))


def test_swizzles_and_composed_layouts():
    sw, inner = Swizzle(3, 3, 3), Layout((8, 64), (64, 1))
    tile, part = ComposedLayout(sw, 0, inner), Layout((4, 64), (2, 8))

    assert composition(sw, inner) == tile
    assert composition(tile, part) == ComposedLayout(sw, 0, composition(inner, part))
    assert composition(tile, None) is tile
    assert composition(Layout(512, 2), tile) == ComposedLayout(Layout(512, 2), 0, tile)
    assert composition(Layout(512, 2), tile)(1, 0) == 2 * tile(1, 0)


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: composition(Layout(4), Layout(4), mode="fast"), 'expected mode "exact" or "cute", got \'fast\''),
        (lambda: composition(Layout((4, 2)), (2, 2, 2)), "expected at most 2 tilers"),
        (lambda: composition(Layout((4, 2)), read("(2,2):(1@0,1@2)")), "expected a mode of .* at .*@2, got none"),
        (lambda: composition(Layout((4, 2)), read("(2,2):(1@0,1)")), "expected basis strides or 0"),
        (lambda: composition(read("(M,2)"), Swizzle(1, 0, 1)), "expected a static layout to move"),
        (lambda: composition(Layout(12), Swizzle(1, 0, 1)), "expected a power-of-two size"),
        (lambda: composition(read("(4,4):(3,5)"), Swizzle(1, 0, 2)), "expected strides whose bits do not meet"),
    ],
)
def test_misfits_are_refused(make, message):
    with pytest.raises(LayoutError, match=message):
        make()


def test_large_layouts_are_composed_without_enumeration():
    a = Layout((2**40, 2**40), (2**40, 1))

    assert str(composition(a, Layout((2**20, 2**40), (2**20, 2**40)))) == f"({2**20},{2**40}):({2**60},1)"
    with pytest.raises(InexactError, match=r"differs at c = \(1,1,0\)"):
        composition(a, Layout((2, 2, 2), (2**39, 2**39, 1)))
    with pytest.raises(InexactError, match="too many to compare"):
        composition(a, Layout((2**40, 2), (1, 1)))


def test_coordinates_flow_through_composition():
    i = index("i", 48)
    identity = make_identity_layout((8, 6))

    assert str(composition(identity, Layout(48))) == "(8,6):(1@0,1@1)"
    assert composition(identity, Layout(48))(i) == identity(i)


@pytest.mark.parametrize("shape", [(4, 3, 1), (4, 3), (2, 3, 5), (6, 4, 3), (1, 5, 2), (7,)])
def test_an_extent_of_1_composes_with_every_stride(shape):
    """It moves nothing, so every stride is exact; one that neither divides an extent nor is divided by it was refused."""
    for strides in itertools.product((0, 1, 3, 8), repeat=len(shape)):
        a = Layout(shape, strides)
        for d in range(60):
            for b in (Layout(1, d), Layout((1, 2), (d, 0)), Layout((2, 1), (1, d))):
                try:
                    found = composition(a, b)
                except InexactError:
                    assert not isinstance(b.shape, int), (a, b)
                    continue
                inside = [i for i in range(b.size()) if b(i) < a.size()]
                assert [found(i) for i in inside] == [a(b(i)) for i in inside], (a, b)


def test_cute_gives_an_extent_of_1_the_stride_of_the_last_mode():
    assert str(composition(Layout((4, 3, 1), (3, 1, 1)), Layout(1, 32))) == "1:8"


def test_what_cute_refuses_of_an_extent_of_1_stays_refused_in_its_mode():
    a, b = read("(4,3):(3,1)"), read("(1,2):(5,2)")
    with pytest.raises(InexactError, match="stride 5 neither divides nor is divided by the extent 4"):
        composition(a, b, mode="cute")
    assert [composition(a, b)(i) for i in range(2)] == [a(b(i)) for i in range(2)]
