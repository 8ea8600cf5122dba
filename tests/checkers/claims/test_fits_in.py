"""FitsIn: signed and unsigned widths, bytes, both ends, thresholds, and every step of an index computation."""

import pytest

from checkers import FitsIn, prove
from symlayout import ComposedLayout, E, Layout, Swizzle, dim, dims
from symlayout.address_map import AddressMap
from symlayout.answers.report import Outcome
from symlayout.errors import ClaimError
from symlayout.expr import minimum
from tests.support.plain import judged, within

M, N, K = dims("M N K")
small = dim("small", at_most=1000)
over = AddressMap.over


@pytest.mark.parametrize(
    "claim, outcome, phrase",
    [
        (FitsIn(Layout(128), bits=8), "proved", "corners, T8"),
        (FitsIn(Layout(129), bits=8), "refuted", "coordinate 128 maps to 128"),
        (FitsIn(Layout(129, -1), bits=8), "proved", "T8"),
        (FitsIn(Layout(130, -1), bits=8), "refuted", "-129"),
        (FitsIn(Layout(256), bits=8, signed=False), "proved", "T8"),
        (FitsIn(Layout(257), bits=8, signed=False), "refuted", "256"),
        (FitsIn(Layout(2, -1), bits=8, signed=False), "refuted", "below 0"),
        (FitsIn(Layout(64), bits=8, unit_bytes=2), "proved", "T8"),
        (FitsIn(Layout(65), bits=8, unit_bytes=2), "refuted", "byte 128"),
        (FitsIn(Layout(65, -1), bits=8, unit_bytes=2), "proved", "T8"),
        (FitsIn(Layout(66, -1), bits=8, unit_bytes=2), "refuted", "byte -130"),
        (FitsIn(Layout(43), bits=8, unit_bytes=3), "proved", "T8"),
        (FitsIn(Layout(44), bits=8, unit_bytes=3), "refuted", "byte 129"),
        (FitsIn(Layout(1), bits=1), "proved", ""),
        (FitsIn(Layout(2, -1), bits=1), "proved", ""),
        (FitsIn(Layout(2), bits=1), "refuted", "coordinate 1 maps to 1"),
        (FitsIn(Layout(2, 2**127 - 1), bits=128), "proved", "T8"),
        (FitsIn(Layout(2, 2**127), bits=128), "refuted", "past the last valid"),
        (FitsIn(Layout((2**40, 2**40)), bits=80), "refuted", "past the last valid"),
        (FitsIn(Layout((2**40, 2**40)), bits=81), "proved", "T8"),
        (FitsIn(Layout((M, 4), (4, 1)), bits=32), "refuted", "fails for M = 536870913: coordinate (536870912,0)"),
        (FitsIn(Layout((M, 4), (4, 1)), bits=32, given=[M <= 536870912]), "proved", "T8"),
        (FitsIn(Layout((M, 4), (4, 1)), bits=32, unit_bytes=2), "refuted", "fails for M = 268435457"),
        (FitsIn(Layout((M, 4), (4, 1)), bits=33), "refuted", "fails for M = 1073741825"),
        (FitsIn(Layout((M, 4), (4, 1)), bits=34), "proved", "T8"),
        (FitsIn(Layout((M, 4), (-4, 1)), bits=32), "refuted", "below -2147483648"),
        (FitsIn(Layout((M, N), (N, 1)), bits=32), "refuted", "fails for"),
        (FitsIn(Layout((M, N), (N, 1)), bits=63), "proved", ""),
        (FitsIn(Layout((small, small), (small, 1)), bits=21), "proved", ""),
        (FitsIn(Layout((M, N), (E(0), E(1))), bits=32), "proved", "T8"),
        (FitsIn(M, bits=32), "proved", ""),
        (FitsIn(M + 1, bits=32), "refuted", "fails for M = 2147483647: the value is 2147483648"),
        (FitsIn(300, bits=9), "refuted", "the value is 300"),
        (FitsIn(300, bits=10), "proved", ""),
        (FitsIn(-M, bits=32, signed=False), "refuted", "fails for M = 1"),
        (FitsIn(over(lambda i: i * i, small), bits=21), "proved", ""),
        (FitsIn(over(lambda i: M - 1 - i, M), bits=32), "proved", ""),
        (FitsIn(over(lambda i: i * 4, M, when=lambda i: i < 1000), bits=13), "proved", ""),
        (FitsIn(over(lambda i: minimum(i, 100), M), bits=8), "proved", ""),
        (FitsIn(ComposedLayout(Swizzle(3, 0, 3), 0, Layout(64)), bits=7), "proved", ""),
        (FitsIn(ComposedLayout(Swizzle(3, 3, -3), 0, Layout(64)), bits=7), "refuted", "past the last valid 63"),
    ],
    ids=str,
)
def test_fits_in(claim, outcome, phrase):
    judged(claim, outcome, phrase)


@pytest.mark.parametrize(
    "bad", [{"bits": 0}, {"bits": 129}, {"bits": "32"}, {"unit_bytes": 0}, {"unit_bytes": 1.5}], ids=str
)
def test_a_width_is_a_number_of_bits(bad):
    with pytest.raises(ClaimError, match=r"expected .* got"):
        FitsIn(Layout(4), **bad)


def test_each_step_is_claimed_in_the_order_of_the_code():
    claims = FitsIn.each_step(lambda i, k: (i * K + k) * 2 - 1, (M, K), bits=32)

    assert [str(c.layout.offset) for c in claims] == ["K*i", "K*i + k", "2*K*i + 2*k", "2*K*i + 2*k - 1"]


def test_an_overflow_in_the_middle_counts():
    claims = FitsIn.each_step(lambda i: i * 1024 % 64, (dim("big", at_most=2**22),), bits=32)

    assert [v.outcome for v in prove(claims).verdicts] == [Outcome.REFUTED, Outcome.PROVED]


def test_an_overflow_of_sizes_alone_counts():
    """K*K*K leaves int32 although its remainder is small."""
    small = dim("rows", at_most=2**20)
    claims = FitsIn.each_step(lambda i: i + (K * K * K) % 7, (small,), bits=32)
    fine = FitsIn.each_step(lambda i: i + (K * K * K) % 7, (small,), bits=32, given=[K <= 1290])

    assert [v.outcome.value for v in prove(claims).verdicts] == ["refuted", "refuted", "proved", "proved"]
    assert prove(fine)


def test_a_negation_is_a_step_of_its_own():
    claims = FitsIn.each_step(lambda i, k: (-i) * (i - i) + k, (M, 4), bits=8, signed=False)

    assert "-i" in [str(c.layout.offset) for c in claims]


@pytest.mark.parametrize("bits", [16, 32])
def test_a_size_without_an_upper_end_ends(bits):
    with within(2):
        assert prove(FitsIn(Layout((4, 2), (1, dim("ld", at_most=None))), bits=bits)).verdicts
