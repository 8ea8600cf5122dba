"""Covers and Holds: schedules of tiles, and facts for all sizes."""

import pytest

from checkers import Covers, Holds
from checkers.prover import decide
from symlayout import E, Layout, ceil_div, dim, dims, eq
from symlayout.address_map import AddressMap
from symlayout.errors import SymlayoutError
from symlayout.expr import maximum, minimum
from tests.support.plain import QUICK, judged

M, N, K = dims("M N K")
z = dim("z", at_least=0)
over = AddressMap.over
m, n = ceil_div((M, N), (128, 64))
steps = ceil_div(M, 4)


@pytest.mark.parametrize(
    "claim, outcome, phrase",
    [
        (Covers(over(lambda b: (b % m, b // m), (m * n,)), (M, N), (128, 64)), "proved", ""),
        (Covers(over(lambda b: (b // n, b % n), (m * n,)), (M, N), (128, 64)), "proved", ""),
        (Covers(over(lambda b: (b % n, b // n), (m * n,)), (M, N), (128, 64)), "refuted", "fails for"),
        (Covers(over(lambda b: (b % m, b // m), (m * n - 1,)), (M, N), (128, 64)), "refuted", "no coordinate maps to"),
        (Covers(over(lambda b: (b % M, b // M), (M * N + 1,)), (M, N)), "refuted", "past the last valid"),
        (Covers(Layout((M, N), (E(0), E(1))), (M, N)), "proved", ""),
        (Covers(over(lambda b: b, ceil_div(M, 32)), M, 32), "proved", ""),
        (Covers(over(lambda b: b, M // 32), M, 32), "refuted", "fails for M = 1"),
        (Covers(over(lambda b: b, M // 32), M, 32, given=[M.multiple_of(32)]), "proved", ""),
        (Covers(over(lambda b, i: b + 4 * i, (4, steps), when=lambda b, i: b + 4 * i < M), M,
                by=lambda w: (w % 4, w // 4)), "proved", "digits and quotients, T10, T20"),
        (Covers(over(lambda b, i: b + 4 * i, (4, steps)), M), "refuted", "fails for M = 1"),
        (Covers(over(lambda b, i: b + 3 * i, (4, steps), when=lambda b, i: b + 3 * i < M), M), "refuted", "both map to 3"),
        (Covers(over(lambda b: (b % 3, b // 3), (12,)), (6, 7), (2, 2)), "proved", ""),
        (Holds(M * N >= M), "proved", "positivity, T9"),
        (Holds(M >= N), "refuted", "fails for M = 1, N = 2: it falls short by 1"),
        (Holds(M >= N, given=[M >= N + 3]), "proved", "T9"),
        (Holds(M >= N + 1, given=[M >= N]), "refuted", "fails for M = 1, N = 1"),
        (Holds((M * (M + 1)).multiple_of(2)), "proved", "T12"),
        (Holds((M * M).multiple_of(2)), "refuted", "fails for M = 1"),
        (Holds(M.multiple_of(6), given=[M.multiple_of(2), M.multiple_of(3)]), "proved", "T12"),
        (Holds(M.multiple_of(6), given=[M.multiple_of(2), M.multiple_of(4)]), "refuted", "fails for M = 4"),
        (Holds(M // 4 * 4 <= M), "proved", ""),
        (Holds(eq(M, N)), "refuted", "the difference is -1"),
        (Holds(eq(M, N), given=[M >= N, N >= M]), "proved", ""),
        (Holds(minimum(M, N) <= maximum(M, N)), "proved", ""),
        (Holds(ceil_div(M, 8) * 8 >= M), "proved", ""),
        (Holds(ceil_div(M, 8) * 8 <= M), "refuted", "fails for M = 1"),
        (Holds(M // z >= 0), "unknown", "expected a divisor of at least 1, got z"),
        (Holds(M // z >= 0, given=[z >= 1]), "proved", ""),
        (Holds(M * M * M + N * N * N >= K * K * K + 1), "refuted", "fails for"),
        (Holds(M >= 2, given=[M <= 0]), "vacuous", "no sizes meet"),
    ],
    ids=str,
)  # fmt: skip
def test_covers_and_holds(claim, outcome, phrase):
    if isinstance(claim, Covers) and not isinstance(claim.tiles, AddressMap):
        assert decide(claim, QUICK).outcome.value == outcome
    else:
        judged(claim, outcome, phrase)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Covers(over(lambda b: b, M), M, tile=0),
        lambda: Covers(over(lambda b: b, M), M, tile=-4),
        lambda: Covers(over(lambda b: b, M), M, tile="4"),
        lambda: Covers(over(lambda b: b, M), (M, N)),
        lambda: Covers(over(lambda b: (b, b), M), M),
        lambda: Covers(over(lambda b, i: b, (M, N)), M, by=lambda w: w),
        lambda: Covers(over(lambda b: b, M), M, by=lambda w, x: w),
        lambda: Covers(5, M),
        lambda: Holds(True),
        lambda: Holds(M),
        lambda: Holds("M >= 2"),
    ],
)
def test_parts_that_do_not_fit_are_refused(make):
    with pytest.raises(SymlayoutError, match=r"expected .* got"):
        decide(make(), QUICK)
