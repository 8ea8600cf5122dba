"""Equal: one function, whatever the modes; the first index that differs."""

import pytest

from checkers import Equal
from symlayout import ComposedLayout, E, Layout, Swizzle, dims, eq
from symlayout.address_map import AddressMap
from symlayout.errors import ClaimError
from tests.support.plain import judged

M, N, ld = dims("M N ld")
over = AddressMap.over


def swizzled(layout, *bits, offset=0):
    return ComposedLayout(Swizzle(*bits), offset, layout)


@pytest.mark.parametrize(
    "claim, outcome, phrase",
    [
        (Equal(Layout((2, 4)), Layout(8)), "proved", "normal form, T17"),
        (Equal(Layout((2, 4)), Layout((4, 2))), "proved", "T17"),
        (Equal(Layout((2, 4), (4, 1)), Layout((2, 4))), "refuted", "index 1: 4 at (1,0), but 1 at (1,0)"),
        (Equal(Layout(8), Layout(9)), "refuted", "the sizes are 8 and 9"),
        (Equal(Layout((4, 1), (1, 9)), Layout(4)), "proved", "T17"),
        (Equal(Layout((4, 2), (1, 0)), Layout((2, 2, 2), (1, 2, 0))), "proved", "T17"),
        (Equal(Layout((4, 2), (0, 0)), Layout(8, 0)), "proved", "T17"),
        (Equal(Layout((2, 3), (-1, -2)), Layout(6, -1)), "proved", "T17"),
        (Equal(Layout((10**9, 10**9)), Layout(10**18)), "proved", "T17"),
        (Equal(Layout((8, M), (1, ld)), Layout((2, 4, M), (1, 2, ld))), "proved", "T17"),
        (Equal(Layout((8, M), (1, ld)), Layout((2, 4, M), (1, 2, 8))), "refuted", "fails for"),
        (Equal(Layout((8, M), (1, ld)), Layout((2, 4, M), (1, 2, 8)), given=[eq(ld, 8)]), "proved", "T17"),
        (Equal(Layout((M, N), (1, M)), Layout((M, N), (N, 1))), "refuted", "fails for M = 2, N = 2: index 1"),
        (Equal(Layout((M, N), (1, M)), Layout((M, N), (N, 1)), given=[eq(N, 1)]), "proved", ""),
        (Equal(Layout((M, N)), Layout((N, M))), "proved", "T17"),
        (Equal(Layout((M, N)), Layout((N, M + 1))), "refuted", "the sizes are 1 and 2"),
        (Equal(Layout((M, 1, N), (1, 5, M)), Layout(M * N)), "proved", "T17"),
        (Equal(Layout((M, N), (0, 0)), Layout(M * N, 0)), "proved", "T17"),
        (Equal(swizzled(Layout((8, 8)), 3, 0, 3), swizzled(Layout(64), 3, 0, 3)), "proved", "T17"),
        (Equal(swizzled(Layout((8, 8)), 3, 0, 3), Layout(64)), "refuted", "index 8: 9 at (0,1), but 8 at 8"),
        (Equal(swizzled(Layout(8), 3, 4, 3), Layout(8)), "proved", "enumeration"),
        (Equal(swizzled(Layout(8), 0, 4, 3), Layout((2, 4))), "proved", ""),
        (Equal(swizzled(Layout(4), 1, 0, 1, offset=4), swizzled(Layout(4), 1, 0, 1)), "refuted", "index 0: 4 at 0, but 0 at 0"),
        (Equal(swizzled(Layout((M, 8)), 1, 0, 1, offset=N), swizzled(Layout((M, 2, 4)), 1, 0, 1, offset=N)), "proved", ""),
        (Equal(Layout((M, N), (E(0), E(1))), Layout((M, N), (E(1), E(0)))), "refuted", "fails for"),
        (Equal(Layout((M, 1, N), (E(0), E(1), E(1))), Layout((M, N), (E(0), E(1)))), "proved", ""),
        (Equal(over(lambda i: (4 * i + 3) // 4, M), over(lambda j: j, M)), "proved", "normal form"),
        (Equal(over(lambda i: i // 2 * 2 + i % 2, M), over(lambda i: i, M)), "proved", "normal form"),
        (Equal(over(lambda i: i // 2 * 2, M), over(lambda i: i, M)), "refuted", "fails for M = 2"),
        (Equal(over(lambda i: i, M), over(lambda i: i, N)), "refuted", "fails for"),
        (Equal(over(lambda i: i, M), over(lambda i: i, N), given=[eq(M, N)]), "proved", ""),
        (Equal(over(lambda i: i, 4, when=lambda i: i < M), over(lambda j: j, 4, when=lambda j: j < M)), "proved", ""),
        (Equal(over(lambda i: i, 4, when=lambda i: i < 3), over(lambda i: i, 4)), "refuted", ""),
        (Equal(over(lambda i, j: (i + j) % M, (M, M)), over(lambda i, j: (j + i) % M, (M, M))), "proved", "normal form"),
        (Equal(over(lambda i, j: i, (4, 4), when=lambda i, j: i + j < 5), over(lambda i, j: i, (4, 4), when=lambda i, j: i + j < 4)), "refuted", "coordinate (3,1) is valid in one of them only"),
        (Equal(over(lambda i: i, 0), over(lambda i: i + 1, -2)), "proved", "enumeration"),
        (Equal(over(lambda i, j: i, (4, 2)), over(lambda i, j: i, (2, 4))), "refuted", "the boxes are (4,2) and (2,4)"),
        (Equal(over(lambda i: i ^ 1, 8), over(lambda i: i + 1 - 2 * (i % 2), 8)), "proved", "enumeration"),
        (Equal(Layout((2, 4), (4, 1)), over(lambda i, j: 4 * i + j, (2, 4))), "proved", ""),
        (Equal(Layout((2, 4)), over(lambda i, j: 4 * i + j, (2, 4))), "refuted", ""),
        (Equal(Layout((M, N), (N, 1)), over(lambda i, j: N * i + j, (M, N))), "proved", ""),
    ],
    ids=str,
)  # fmt: skip
def test_equal(claim, outcome, phrase):
    judged(claim, outcome, phrase)


def test_maps_of_a_million_points_are_compared_as_arrays(monkeypatch):
    """Domains and values are arrays: only what is found is evaluated alone, as its replay."""
    evaluated = []
    monkeypatch.setattr(
        AddressMap, "valid_at", lambda self, c, real=AddressMap.valid_at: evaluated.append(c) or real(self, c)
    )
    narrow = over(lambda i, j: i ^ j, (1024, 1024), when=lambda i, j: i + j < 2000)
    wide = over(lambda i, j: i ^ j, (1024, 1024), when=lambda i, j: i + j < 2001)

    judged(Equal(narrow, wide), "refuted", "coordinate (1023,977) is valid in one of them only")
    assert set(evaluated) == {(1023, 977)}


@pytest.mark.parametrize(
    "a, b",
    [
        (over(lambda i: i, 8), over(lambda i: (i, 0), 8)),
        (over(lambda i: i, 8), over(lambda i, j: i + j, (8, 1))),
        (Layout(4, E(0)), Layout(4)),
        (Layout((2, 2), (E(0, 0), E(0, 1))), Layout((2, 2), (E(0), E(1)))),
        (Layout(4, E(0)), ComposedLayout(Layout(4, E(1)), 0, Layout(4))),
        (Layout(8), "8:1"),
        (8, Layout(8)),
    ],
    ids=str,
)
def test_functions_of_another_kind_are_refused(a, b):
    with pytest.raises(ClaimError, match=r"expected .* got"):
        Equal(a, b)
