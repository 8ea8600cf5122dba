"""Bijective: onto exactly a range or a box, by mixed radix, by counting, or not."""

import pytest

from checkers import Bijective
from symlayout import ComposedLayout, E, Layout, Swizzle, ceil_div, dim, dims, eq
from symlayout.address_map import AddressMap
from symlayout.errors import ClaimError, SymlayoutError
from tests.support.plain import judged

M, N, K = dims("M N K")
over = AddressMap.over


@pytest.mark.parametrize(
    "claim, outcome, phrase",
    [
        (Bijective(Layout((4, 8), (8, 1)), 32), "proved", "mixed radix, T3"),
        (Bijective(Layout((4, 8), (8, 1)), 31), "refuted", "coordinate (3,7) maps to 31, past the last valid 30"),
        (Bijective(Layout((4, 8), (8, 1)), 33), "refuted", "no coordinate maps to 32"),
        (Bijective(Layout((4, 8), (9, 1)), 32), "refuted", "past the last valid 31"),
        (Bijective(Layout((4, 8), (4, 1)), 32), "refuted", "both map to 4"),
        (Bijective(Layout((4, 8), (-8, 1)), 32), "refuted", "below 0"),
        (Bijective(Layout((4, 1, 8), (8, 77, 1)), 32), "proved", "T3"),
        (Bijective(Layout((4, 2), (1, 0)), 4), "refuted", "both map to 0"),
        (Bijective(Layout(4), 0), "refuted", "past the last valid -1"),
        (Bijective(Layout(10**30), 10**30), "proved", "T3"),
        (Bijective(Layout((M, N), (N, 1)), M * N), "proved", "T3"),
        (Bijective(Layout((M, N), (N, 1)), N * M + 1), "refuted", "fails for M = 1, N = 1: no coordinate maps to 1"),
        (Bijective(Layout((M, N), (1, N)), M * N), "refuted", "fails for"),
        (Bijective(Layout((M, N), (1, N)), M * N, given=[eq(M, N)]), "proved", "T3"),
        (Bijective(Layout((4, ceil_div(M, 4))), M), "refuted", "fails for M = 1"),
        (Bijective(Layout((4, ceil_div(M, 4))), M, given=[M.multiple_of(4)]), "proved", "T3"),
        (Bijective(Layout((M - 1, N)), (M - 1) * N), "proved", "T3"),
        (Bijective(Layout((M, N), (E(1), E(0))), (N, M)), "proved", "mixed radix in each component"),
        (Bijective(Layout((M, N), (E(0), E(1))), (N, M)), "refuted", "fails for M = 1, N = 2"),
        (Bijective(Layout((M, N, K), (E(0), E(1), E(0) * M)), (M * K, N)), "proved", "T3"),
        (Bijective(ComposedLayout(Swizzle(3, 3, 3), 0, Layout((8, 64), (64, 1))), 512), "proved", "T3"),
        (Bijective(ComposedLayout(Swizzle(2, 0, 2), 0, Layout((M, 8), (8, 1))), 8 * M), "proved", "T3"),
        (Bijective(ComposedLayout(Swizzle(1, 1, -1), 0, Layout((M, 4), (4, 1))), 4 * M), "refuted", "fails for M = 1"),
        (Bijective(ComposedLayout(Swizzle(1, 1, -1), 0, Layout((M, 8), (8, 1))), 8 * M), "proved", "T3"),
        (Bijective(ComposedLayout(Swizzle(1, 1, 1), 2, Layout(4)), 4), "refuted", "past the last valid 3"),
        (Bijective(ComposedLayout(Swizzle(0, 5, 0), 0, Layout((M, 3), (3, 1))), 3 * M), "proved", "T3"),
        (Bijective(over(lambda b: (b % M, b // M), (M * N,)), (M, N)), "proved", ""),
        (Bijective(over(lambda i, j: (i, (j + i) % 4), (M, 4)), (M, 4)), "proved", ""),
        (Bijective(over(lambda i: 7 - i, 8), 8), "proved", ""),
        (Bijective(over(lambda i: M - 1 - i, M), M), "proved", "digits and quotients, T10"),
        (Bijective(over(lambda i: i, 8, when=lambda i: i < 4), 4), "proved", "digits and quotients, T10, T20"),
        (Bijective(over(lambda i: i, 8, when=lambda i: i < M), M), "refuted", "fails for M = 9"),
        (Bijective(over(lambda i, j: i * j, (0, 3)), 0), "proved", ""),
        (Bijective(over(lambda i: i ^ 5, 8), 8), "proved", "digits and quotients, T10, T19"),
        (Bijective(Layout((M, N)), M * N, given=[M >= 9, M <= 3]), "vacuous", "no sizes meet"),
    ],
    ids=str,
)
def test_bijective(claim, outcome, phrase):
    judged(claim, outcome, phrase)


@pytest.mark.parametrize(
    "layout, onto, message",
    [
        (Layout((4, 8)), (4, 8), "expected"),
        (Layout((4, 8), (E(0), E(1))), 32, "expected"),
        (Layout(4), "4", "got '4'"),
        (Layout(4), 4.0, "got 4.0"),
        (Layout(4), None, "got None"),
        (Layout(4), -1, "expected an extent of at least 0, got -1"),
        ("(4,8)", 32, "expected a Layout, ComposedLayout or AddressMap"),
    ],
    ids=str,
)
def test_a_range_has_an_entry_for_each_of_the_value(layout, onto, message):
    with pytest.raises(SymlayoutError, match=message):
        Bijective(layout, onto)


def test_what_is_no_fact_is_no_assumption():
    with pytest.raises(ClaimError, match=r"== compares forms, eq\(a, b\) makes the fact"):
        Bijective(Layout(M), M, given=[dim("Q") == 4])
