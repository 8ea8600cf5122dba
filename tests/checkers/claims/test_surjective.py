"""Surjective: every value of a range, overlaps allowed, gaps not."""

import pytest

from checkers import Surjective
from symlayout import ComposedLayout, E, Layout, Swizzle, dims
from symlayout.address_map import AddressMap
from symlayout.errors import ClaimError
from tests.support.plain import judged

M, N, ld = dims("M N ld")
over = AddressMap.over


@pytest.mark.parametrize(
    "claim, outcome, phrase",
    [
        (Surjective(Layout((4, 8), (8, 1)), 32), "proved", "strides without gaps"),
        (Surjective(Layout((4, 8), (8, 1)), 7), "proved", ""),
        (Surjective(Layout((4, 8), (8, 1)), 33), "refuted", "no coordinate maps to 32"),
        (Surjective(Layout((4, 3), (1, 3)), 10), "proved", "strides without gaps"),
        (Surjective(Layout((4, 3), (1, 5)), 10), "refuted", "no coordinate maps to 4"),
        (Surjective(Layout((4, 8), (0, 1)), 8), "proved", "strides without gaps"),
        (Surjective(Layout((2, 4), (-1, 2)), 5), "proved", ""),
        (Surjective(Layout((2, 4), (-1, 2)), 8), "refuted", "no coordinate maps to 7"),
        (Surjective(Layout((3, 3), (2, 3)), 2), "refuted", "no coordinate maps to 1"),
        (Surjective(Layout(4, -1), 1), "proved", ""),
        (Surjective(Layout(4), 0), "proved", ""),
        (Surjective(Layout((4, M), (1, 3)), 3 * M + 1), "proved", "strides without gaps"),
        (Surjective(Layout((4, M), (1, 3)), 3 * M + 2), "refuted", "fails for M = 1: no coordinate maps to 4"),
        (Surjective(Layout((4, M), (1, 4)), 4 * M), "proved", ""),
        (Surjective(Layout((4, M), (1, 5)), 5 * M), "refuted", "no coordinate maps to 4"),
        (Surjective(Layout((M, N), (1, ld)), M * N), "refuted", "fails for"),
        (Surjective(Layout((M, N), (1, ld)), ld * (N - 1) + M, given=[ld <= M]), "proved", "strides without gaps"),
        (Surjective(Layout((M, N), (1, ld)), ld * N, given=[ld >= M + 1]), "refuted", "fails for"),
        (Surjective(Layout((M, 2), (0, 1)), 2), "proved", ""),
        (Surjective(Layout((M, N), (E(0), E(1))), (M, N)), "proved", ""),
        (Surjective(Layout((M, N), (E(0), E(1))), (M, N + 1)), "refuted", "no coordinate maps to (0,1)"),
        (Surjective(ComposedLayout(Swizzle(2, 0, 2), 0, Layout((M, 8), (8, 1))), 8 * M), "proved", ""),
        (Surjective(ComposedLayout(Swizzle(1, 0, 1), 0, Layout(3)), 3), "refuted", "no coordinate maps to 2"),
        (Surjective(over(lambda i: i // 2, 8), 4), "proved", "enumeration"),
        (Surjective(over(lambda i: i // 2, 8), 5), "refuted", "no coordinate maps to 4"),
        (Surjective(over(lambda i: i, 8, when=lambda i: i < 4), 4), "proved", "digits and quotients, T10, T20"),
        (Surjective(over(lambda i: i, 8, when=lambda i: i < 4), 5), "refuted", "no coordinate maps to 4"),
        (Surjective(over(lambda i: i + 1, M), M), "refuted", "fails for M = 1: no coordinate maps to 0"),
        (Surjective(over(lambda i: i, M - 1), M), "refuted", "fails for M = 1: no coordinate maps to 0"),
    ],
    ids=str,
)  # fmt: skip
def test_surjective(claim, outcome, phrase):
    judged(claim, outcome, phrase)


@pytest.mark.parametrize(
    "layout, onto", [(Layout((4, 8)), (4, 8)), (Layout((4, 8), (E(0), E(1))), 32), (Layout(4), -1)]
)
def test_a_range_has_an_entry_for_each_of_the_value(layout, onto):
    with pytest.raises(ClaimError, match="expected"):
        Surjective(layout, onto)
