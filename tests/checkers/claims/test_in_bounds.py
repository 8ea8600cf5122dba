"""InBounds: corners, predicates, lower ends, coordinates, and the first coordinate outside."""

import pytest

from checkers import InBounds, prove
from symlayout import ComposedLayout, E, Layout, Swizzle, ceil_div, composition, dim, dims, eq
from symlayout.address_map import AddressMap
from symlayout.answers.report import Outcome
from symlayout.errors import ClaimError
from symlayout.expr import maximum, minimum
from tests.support.plain import judged

M, N, K, ld = dims("M N K ld")
any_ = dim("any", at_least=None)
over = AddressMap.over
tiles = ceil_div(M, 128)


@pytest.mark.parametrize(
    "claim, outcome, phrase",
    [
        (InBounds(Layout((4, 8), (8, 1)), 32), "proved", "corners, T8"),
        (InBounds(Layout((4, 8), (8, 1)), 31), "refuted", "coordinate (3,7) maps to 31, past the last valid 30"),
        (InBounds(Layout((4, 8), (8, -1)), 32), "refuted", "coordinate (0,1) maps to -1, below 0"),
        (InBounds(Layout((4, 8), (8, -1)), 25, low=-7), "proved", "T8"),
        (InBounds(Layout((4, 8), (8, -1)), 25, low=-6), "refuted", "maps to -7, below -6"),
        (InBounds(Layout(1, 77), 1), "proved", ""),
        (InBounds(Layout((10**15, 10**15)), 10**30), "proved", "T8"),
        (InBounds(Layout((10**15, 10**15)), 10**30 - 1), "refuted", "past the last valid"),
        (InBounds(Layout((M, N), (1, ld)), ld * N), "refuted", "fails for M = 2, N = 1, ld = 1"),
        (InBounds(Layout((M, N), (1, ld)), ld * N, given=[ld >= M]), "proved", "T8"),
        (InBounds(Layout((M, N), (1, ld)), ld * N - 1, given=[ld >= M]), "refuted", "fails for M = 1, N = 1, ld = 1"),
        (InBounds(Layout((M, N), (1, ld)), (N - 1) * ld + M), "proved", "T8"),
        (InBounds(Layout((M, N), (1, -M)), M, low=-M * N), "proved", "T8"),
        (InBounds(Layout((M, 2), (1, any_)), M), "refuted", "fails for"),
        (InBounds(Layout((M, 2), (1, any_)), M, given=[eq(any_, 0)]), "proved", ""),
        (InBounds(Layout((M, N), (N, 1)), M * N, given=[M * N >= 2**31, M <= 9, N <= 9]), "vacuous", "no sizes meet"),
        (InBounds(Layout((128, tiles), (1, 128)), M), "refuted", "fails for M = 1: coordinate (1,0) maps to 1"),
        (InBounds(Layout((128, tiles), (1, 128)), M + 127), "proved", ""),
        (InBounds(Layout((128, tiles), (1, 128)), M, given=[M.multiple_of(128)]), "proved", "T8"),
        (InBounds(Layout((128, 8), (1, 128)), M, when=lambda r, t: 128 * t + r < M), "proved", "positivity, T9"),
        (InBounds(Layout((128, 8), (1, 128)), M, when=lambda r, t: 128 * t + r <= M), "refuted", "fails for M = 1: coordinate (1,0)"),
        (InBounds(Layout((128, 8), (1, 128)), M, when=lambda r, t: (128 * t + r < M, r < 64)), "proved", "T9"),
        (InBounds(Layout((M, N), (E(1), E(0))), (N, M)), "proved", "T8"),
        (InBounds(Layout((M, N), (E(1), E(0))), (M, N)), "refuted", "fails for M = 1, N = 2: coordinate (0,1) maps to (1,0)"),
        (InBounds(Layout((M, N), (E(1), E(0))), (N, M - 1)), "refuted", "past the last valid -1"),
        (InBounds(ComposedLayout(Swizzle(2, 2, 3), 0, Layout((M, 8), (8, 1))), 16 * M), "proved", "T8"),
        (InBounds(ComposedLayout(Swizzle(2, 2, 3), 0, Layout((M, 8), (8, 1))), 8 * M), "refuted", "fails for M ="),
        (InBounds(ComposedLayout(Swizzle(1, 0, -2), 0, Layout(2)), 2), "refuted", "coordinate 1 maps to 5"),
        (InBounds(ComposedLayout(Swizzle(1, 0, -2), 0, Layout(2)), 8), "proved", ""),
        (InBounds(ComposedLayout(Swizzle(0, 0, 3), 4, Layout(4)), 8), "proved", "T8"),
        (InBounds(ComposedLayout(Swizzle(1, 1, 1), M, Layout(4)), M + 4), "refuted", "fails for M = 1: coordinate 3"),
        (InBounds(over(lambda i: i % 8, M), 8), "proved", ""),
        (InBounds(over(lambda i: i % 8, M), 7), "refuted", "fails for M = 8: coordinate 7 maps to 7"),
        (InBounds(over(lambda i: (M - 1) // 128 * 128 + i, (minimum(M - (tiles - 1) * 128, 128),)), M), "proved", ""),
        (InBounds(over(lambda i: (M - 1) // 128 * 128 + i, 128), M), "refuted", "fails for M = 1: coordinate 1 maps to 1"),
        (InBounds(over(lambda i: maximum(i, N - 1 - i), N), N), "proved", ""),
        (InBounds(over(lambda i: i * i, M), M * M), "proved", ""),
        (InBounds(over(lambda i: i * i, M), M * M - M), "refuted", "fails for M = 1: coordinate 0 maps to 0"),
        (InBounds(over(lambda i: 12 // i, (4,), when=lambda i: i >= 1), 13), "proved", ""),
        (InBounds(over(lambda i: i + 7, K - 2), 4), "refuted", "fails for K = 3: coordinate 0 maps to 7"),
        (InBounds(over(lambda i, j: i + j, (K - 2, 0)), 0), "proved", ""),
        (InBounds(over(lambda i: i // ld, M), M), "proved", ""),
        (InBounds(over(lambda i: i // any_, M), M), "unknown", "expected a divisor of at least 1, got any in i//any"),
    ],
    ids=str,
)  # fmt: skip
def test_in_bounds(claim, outcome, phrase):
    judged(claim, outcome, phrase)


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: InBounds(Layout((4, 8)), (4, 8)), "expected"),
        (lambda: InBounds(Layout((4, 8), (E(0), E(1))), 32), "expected"),
        (
            lambda: InBounds(Layout(((4, 2), 8)), 64, when=lambda i, j: i < 4),
            "one coordinate for each of the 2 flat modes",
        ),
        (lambda: InBounds(Layout((4, 8)), 32, when=lambda i: i < 4), "got one of 1"),
        (lambda: InBounds(Layout(4), 4, when=lambda i: True), "expected facts"),
        (lambda: InBounds(Layout(4), "M"), "expected an integer"),
    ],
)
def test_what_does_not_fit_is_refused(make, message):
    with pytest.raises((ClaimError, ValueError, TypeError), match=message):
        prove(make())


def test_a_predicate_discharges_the_obligation_that_it_can_meet():
    overhang = composition(Layout((M, 4), (1, M)), Layout(8))

    assert [v.outcome for v in prove(InBounds(overhang, 4 * M)).verdicts] == [Outcome.REFUTED, Outcome.REFUTED]
    assert prove(InBounds(with_shape_of_one_mode(overhang), 4 * M, when=lambda c: c < 4 * M))


def with_shape_of_one_mode(layout):
    return Layout((layout.shape,), (layout.stride,))


def test_a_predicate_of_a_layout_of_one_mode():
    assert prove(InBounds(Layout(8), M, when=lambda c: c < M))


def test_a_predicate_discharges_no_obligation_of_exactness():
    from symlayout.expr import multiple_of
    from symlayout.layout import with_obligations
    from symlayout.obligations import EXACT, Obligation, Obligations

    inexact = with_obligations(Layout((M, 8), (1, M)), Obligations((Obligation(EXACT, (multiple_of(M, 4),)),)))

    assert not prove(InBounds(inexact, 8 * M, when=lambda i, j: i + 4 * j < 4 * M))
