"""Aligned and Vectorizable: what divides every address, and what runs are one access."""

import pytest

from checkers import Aligned, Vectorizable, prove
from symlayout import ComposedLayout, E, Layout, Swizzle, dim, dims
from symlayout.address_map import AddressMap
from symlayout.errors import SymlayoutError
from tests.support.plain import judged

M, N, K = dims("M N K")
K8 = dim("K8", multiple_of=8)
over = AddressMap.over


def swizzled(layout, *bits, offset=0):
    return ComposedLayout(Swizzle(*bits), offset, layout)


@pytest.mark.parametrize(
    "claim, outcome, phrase",
    [
        (Aligned(Layout((4, 4), (16, 4)), 4), "proved", "divisibility, T11"),
        (Aligned(Layout((4, 4), (16, 2)), 4), "refuted", "coordinate (0,1) is at byte 2"),
        (Aligned(Layout((4, 1), (16, 2)), 4), "proved", "T11"),
        (Aligned(Layout((4, 4), (-16, 4)), 4), "proved", "T11"),
        (Aligned(Layout((4, 4), (3, 5)), 1), "proved", ""),
        (Aligned(Layout((4, 4), (6, 10)), 4, 2), "proved", "T11"),
        (Aligned(Layout((4, 4), (8, 16)), 16, 2, base_bytes=8), "refuted", "coordinate (0,0) is at byte 8"),
        (Aligned(Layout((4, 4), (8, 16)), 16, 2, base_bytes=-32), "proved", "T11"),
        (Aligned(Layout((M, K), (K, 8)), 16, 2), "refuted", "fails for K = 1, M = 2: coordinate (1,0) is at byte 2"),
        (Aligned(Layout((M, K8), (K8, 8)), 16, 2), "proved", "T11"),
        (Aligned(Layout((M, K), (K, 8)), 16, 2, given=[K.multiple_of(8)]), "proved", "T11"),
        (Aligned(Layout((M, K), (K, 8)), 16, 2, given=[K.multiple_of(4)]), "refuted", "fails for K = 4, M = 2"),
        (Aligned(Layout((M, K), (K, 8)), 16, 2, given=[(K + 8).multiple_of(8)]), "proved", ""),
        (Aligned(Layout((M, 2), (K * (K + 1), 2)), 2), "proved", "T11"),
        (Aligned(Layout((M, 2), (K * (K + 1), 2)), 4), "refuted", "fails for"),
        (Aligned(Layout((M, 4), (16, 4)), 4, 1, base_bytes=N), "refuted", "fails for M = 1, N = 1"),
        (Aligned(swizzled(Layout((8, 8), (64, 8)), 3, 3, 3), 16, 2), "proved", "T11"),
        (Aligned(swizzled(Layout((8, 8), (64, 8)), 3, 2, 3), 16, 2), "refuted", "is at byte"),
        (Aligned(swizzled(Layout((M, 8), (64, 8)), 3, 3, 3), 16, 2), "proved", "T11"),
        (Aligned(over(lambda i: 8 * (i // 3), M), 8), "proved", ""),
        (Aligned(over(lambda i: i, M, when=lambda i: i.multiple_of(4)), 4), "proved", ""),
        (Aligned(over(lambda i: i, M, when=lambda i: i.multiple_of(4)), 8), "refuted", "fails for M = 5"),
        (Aligned(over(lambda i: i * i - i, M), 2), "proved", ""),
        (Vectorizable(Layout((8, 4)), 8), "proved", "T11"),
        (Vectorizable(Layout((4, 8)), 8), "proved", "T11"),
        (Vectorizable(Layout((4, 8), (8, 1)), 4), "refuted", "has (1,0) at offset 8"),
        (Vectorizable(Layout((4, 4), (1, 6)), 4), "refuted", "starts at offset 6"),
        (Vectorizable(Layout((4, 4), (1, -4)), 4), "proved", "T11"),
        (Vectorizable(Layout((4, 4), (-1, 4)), 4), "refuted", "at offset -1"),
        (Vectorizable(Layout((6, 2)), 4), "proved", ""),
        (Vectorizable(Layout(6), 4), "refuted", ""),
        (Vectorizable(Layout((1, 8), (5, 1)), 4), "proved", "T11"),
        (Vectorizable(Layout((K8, M), (1, K8)), 8), "proved", "T11"),
        (Vectorizable(Layout((K8, M), (1, K8)), 16), "refuted", ""),
        (Vectorizable(Layout((K8, M), (1, K8 + 8)), 8), "proved", "T11"),
        (Vectorizable(Layout((K8, M), (1, K8 + 4)), 8), "refuted", "fails for K8 = 8, M = 2"),
        (Vectorizable(Layout((K, M), (1, K)), 1), "proved", ""),
        (Aligned(over(lambda i: i * (i + 1), M), 2), "proved", "divisibility, T12"),
        (Aligned(over(lambda i: 4 * i * (i + 1) + 8 * (i // 3), M), 8), "proved", "divisibility, T12"),
        (Aligned(over(lambda i: i * (i + 2), M), 2), "refuted", "which 2 does not divide"),
        (Vectorizable(swizzled(Layout((8, 8)), 3, 3, 3), 8), "proved", "T11"),
        (Vectorizable(swizzled(Layout((8, 8)), 3, 2, 3), 8), "refuted", "offset"),
        (Vectorizable(swizzled(Layout((8, 8)), 3, 3, 3, offset=4), 8), "refuted", "starts at offset"),
    ],
    ids=str,
)  # fmt: skip
def test_aligned(claim, outcome, phrase):
    judged(claim, outcome, phrase)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Aligned(Layout(4), 0),
        lambda: Aligned(Layout(4), "16"),
        lambda: Aligned(Layout(4), 16, 0.5),
        lambda: Aligned(Layout(4), 16, 2, base_bytes="8"),
        lambda: Aligned(Layout((4, 4), (E(0), E(1))), 2),
        lambda: Vectorizable(Layout(4), 0),
        lambda: Vectorizable(over(lambda i: i, 8), 4),
        lambda: Vectorizable(Layout((4, 4), (E(0), E(1))), 4),
        lambda: Vectorizable(Layout((M,), (2 * E(0),)), 4),
        lambda: Aligned(Layout((M,), (2 * E(0),)), 4),
        lambda: Aligned(over(lambda i: (8 * i,), M), 8),
        lambda: Aligned(ComposedLayout(Layout((4, 2), (E(0), E(1))), 0, Layout(8)), 2),
    ],
)
def test_what_has_no_address_is_refused(make):
    with pytest.raises(SymlayoutError, match=r"expected .* got"):
        prove(make())
