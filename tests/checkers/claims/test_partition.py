"""Partition and Multiplicity: each element, or each value that occurs, a stated number of times."""

import pytest

from checkers import Multiplicity, Partition
from symlayout import E, Layout, dims
from symlayout.address_map import AddressMap
from symlayout.errors import SymlayoutError
from tests.support.plain import judged

M, N = dims("M N")
over = AddressMap.over


@pytest.mark.parametrize(
    "claim, outcome, phrase",
    [
        (Partition(Layout(((4, 8), 2), ((2, 8), 1)), 64), "proved", "T3"),
        (Partition(Layout(((4, 8), 2), ((2, 8), 1)), 63), "refuted", ""),
        (Partition(Layout((32, 4), (0, 1)), 4, copies=32), "proved", "mixed radix and broadcasts, T3"),
        (Partition(Layout((32, 4), (0, 1)), 4, copies=16), "refuted", "element 0 belongs to 32 coordinates, not 16"),
        (Partition(Layout((32, 4), (0, 1)), 4), "refuted", "both map to 0"),
        (Partition(Layout((2, 3), (1, 1)), 4, copies=2), "refuted", "element 0 belongs to 1 coordinates, not 2"),
        (Partition(Layout((2, 2, 2), (1, 1, 0)), 3, copies=2), "refuted", "element 1 belongs to 4 coordinates, not 2"),
        (Partition(Layout((2, 2), (0, 2)), 3, copies=2), "refuted", "element 1 belongs to 0 coordinates"),
        (Partition(Layout((M, N), (0, 1)), N, copies=M), "proved", "T3"),
        (Partition(Layout((M, N), (1, 0)), N, copies=M), "refuted", "fails for"),
        (Partition(Layout((M, N, 4), (4, 0, 1)), 4 * M, copies=N), "proved", "T3"),
        (Partition(Layout((M, 4), (E(0), E(1))), (M, 4)), "proved", ""),
        (Partition(over(lambda i: i // 4, 4 * M), M, copies=4), "unknown", "belongs to 4 coordinates"),
        (Partition(over(lambda i: i // 4, 12), 3, copies=4), "proved", "enumeration"),
        (Multiplicity(Layout((32, 8), (0, 1)), copies=32), "proved", "T2"),
        (Multiplicity(Layout((32, 8), (0, 3)), copies=32), "proved", "T2"),
        (Multiplicity(Layout((32, 8), (0, 1)), copies=8), "refuted", "value 0 belongs to 32 coordinates, not 8"),
        (Multiplicity(Layout((2, 2), (1, 1)), copies=1), "refuted", "value 1 belongs to 2 coordinates, not 1"),
        (Multiplicity(Layout((M, 32, N), (1, 0, M)), copies=32), "proved", "T2"),
        (Multiplicity(Layout((M, 32, N), (1, 0, M - 1)), copies=32), "refuted", "fails for M = 1, N = 2"),
        (Multiplicity(Layout((M, N), (0, 0)), copies=M * N), "proved", ""),
        (Multiplicity(over(lambda i, j: (i, 0 * j), (M, 4)), copies=4), "unknown", ""),
        (Multiplicity(over(lambda i: i % 4, 12), copies=3), "proved", "enumeration"),
        (Multiplicity(over(lambda i: i % 4, 10), copies=3), "refuted", "value 2 belongs to 2 coordinates"),
        (Multiplicity(over(lambda i: i, 8, when=lambda i: i > 9), copies=5), "proved", ""),
        (Multiplicity(Layout((2, 3), (2**62, 2**63)), copies=2), "refuted", "not 2"),
    ],
    ids=str,
)  # fmt: skip
def test_each_so_many_times(claim, outcome, phrase):
    judged(claim, outcome, phrase)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Partition(Layout(4), 4, copies=0),
        lambda: Partition(Layout(4), 4, copies=-1),
        lambda: Partition(Layout(4), 4, copies="2"),
        lambda: Partition(Layout(4), 4, copies=2.0),
        lambda: Partition(Layout((4, 4), (E(0), E(1))), (4, 4), copies=2),
        lambda: Partition(Layout((4, 4)), (4, 4)),
        lambda: Multiplicity(Layout(4), copies=0),
        lambda: Multiplicity(Layout(4), copies=None),
    ],
)
def test_copies_are_a_number(make):
    with pytest.raises(SymlayoutError, match=r"expected .* got"):
        make()
