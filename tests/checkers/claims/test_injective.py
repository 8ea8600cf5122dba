"""Injective: what is proved, refuted with which pair, and left open."""

import pytest

from checkers import Injective
from symlayout import ComposedLayout, E, Layout, Swizzle, ceil_div, dim, dims, eq
from symlayout.address_map import AddressMap
from tests.support.plain import judged

M, N, K, ld = dims("M N K ld")
ENDLESS = dim("U", at_most=None)  # no word holds its bits
z = dim("z", at_least=0)
any_ = dim("any", at_least=None)
down = dim("down", at_least=None, at_most=-1)
over = AddressMap.over
SW = Swizzle(3, 3, 3)


@pytest.mark.parametrize(
    "claim, outcome, phrase",
    [
        (Injective(Layout(1, 0)), "proved", ""),
        (Injective(Layout((4, 8), (8, 1))), "proved", "chain of strides, T2"),
        (Injective(Layout((3, 2), (2, 3))), "proved", "residues, T5"),
        (Injective(Layout((4, 4), (5, -1))), "proved", "T2"),
        (Injective(Layout((4, 3), (2, 3))), "refuted", "coordinates (3,0) and (0,2) both map to 6"),
        (Injective(Layout((2, 2), (1, 1))), "refuted", "coordinates (1,0) and (0,1) both map to 1"),
        (Injective(Layout((2, 2), (1, -1))), "refuted", "coordinates (0,0) and (1,1) both map to 0"),
        (Injective(Layout((4, 1), (1, 0))), "proved", ""),
        (Injective(Layout((4, 2), (1, 0))), "refuted", "coordinates (0,0) and (0,1) both map to 0"),
        (Injective(Layout((2, 3, 5), (15, 5, 1))), "proved", "T2"),
        (Injective(Layout((2,) * 6, (3, 5, 6, 7, 9, 11))), "refuted", "both map to"),
        (Injective(Layout((2,) * 4, (3, 5, 6, 7))), "proved", "enumeration of 16 points"),
        (Injective(Layout((10**9, 10**9), (1, 10**9))), "proved", "T2"),
        (Injective(Layout((10**30, 2), (2, 1))), "proved", ""),
        (Injective(Layout((M, N), (1, M))), "proved", "T2"),
        (Injective(Layout((M, N), (1, M - 1))), "refuted", "fails for M = 1, N = 2: coordinates (0,0) and (0,1) both map to 0"),
        (Injective(Layout((M, N), (1, M + 1))), "proved", "T2"),
        (Injective(Layout((M, N), (1, ld))), "refuted", "fails for M = 2, N = 2, ld = 1"),
        (Injective(Layout((M, N), (1, ld)), given=[ld >= M]), "proved", "T2"),
        (Injective(Layout((M, N), (1, ld)), given=[ld >= M - 1]), "refuted", "fails for M = 2, N = 2, ld = 1"),
        (Injective(Layout((M, N), (1, ld)), given=[eq(ld, 2 * M)]), "proved", "T2"),
        (Injective(Layout((M, N), (1, ld)), given=[eq(M, 1)]), "proved", ""),
        (Injective(Layout((M, N), (-1, -M))), "proved", "T2"),
        (Injective(Layout((M, N), (1, down)), given=[down <= -M]), "proved", "T2"),
        (Injective(Layout((M, 2), (1, any_))), "refuted", "M = 2, any = 1"),
        (Injective(Layout((M, N), (1, z))), "refuted", "M = 1, N = 2, z = 0"),
        (Injective(Layout((M, M), (1, 1))), "refuted", "fails for M = 2"),
        (Injective(Layout((M, 2, M), (2, 1, 2 * M))), "proved", "T2"),
        (Injective(Layout((M, ceil_div(N, 4), 4), (4 * ceil_div(N, 4), 4, 1))), "proved", "T2"),
        (Injective(Layout((M, N), (1, M)), given=[M >= 5, M <= 4]), "vacuous", "no sizes meet M >= 5 and M <= 4"),
        (Injective(Layout((dim("P", at_most=7, multiple_of=8), 2))), "vacuous", "no sizes meet"),
        (Injective(ComposedLayout(SW, 0, Layout((M, 64), (64, 1)))), "proved", "T2"),
        (Injective(ComposedLayout(SW, 0, Layout((M, 64), (63, 1)))), "refuted", "fails for M = 2"),
        (Injective(ComposedLayout(SW, 5, Layout((8, 8), (8, 1)))), "proved", "T2"),
        (Injective(Layout((M, N), (E(0), E(1)))), "proved", "T2"),
        (Injective(Layout((M, N), (E(0), E(0)))), "refuted", "both map to"),
        (Injective(Layout((M, N), (E(0), E(0) * M))), "proved", "T2"),
        (Injective(over(lambda i, j: (i + j, j), (M, N))), "proved", "T2"),
        (Injective(over(lambda i, j: (i + j, i + j), (M, N))), "refuted", "both map to (1,1)"),
        (Injective(over(lambda i: i // 2, M)), "refuted", "fails for M = 2"),
        (Injective(over(lambda i: (i % 4, i // 4), M)), "proved", ""),
        (Injective(over(lambda i, j: 4 * i + j, (3, 8), when=lambda i, j: j < 4)), "proved", "digits and quotients, T10"),
        (Injective(over(lambda i, j: 4 * i + j, (3, 8), when=lambda i, j: j < 5)), "refuted", "both map to 4"),
        (Injective(over(lambda i, j: N * i + j, (M, K), when=lambda i, j: j < N)), "proved", ""),
        (Injective(over(lambda i: i * i, M)), "proved", "z3"),
        (Injective(over(lambda i: (i - 2) * (i - 2), M)), "refuted", "fails for M = 4: coordinates 1 and 3 both map to 1"),
        (Injective(over(lambda i: i ^ 5, 16)), "proved", "digits and quotients, T10, T19"),
        (Injective(over(lambda i: i ^ 8, M)), "proved", "z3"),
        (Injective(over(lambda i: i ^ 8, ENDLESS)), "unknown", "bits of integers without an end"),
    ],
    ids=str,
)  # fmt: skip
def test_injective(claim, outcome, phrase):
    judged(claim, outcome, phrase)
