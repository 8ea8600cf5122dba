"""Real bugs from public trackers about bank conflicts and the algebra, each with its verdict and its numbers."""

from __future__ import annotations

from typing import Any

import pytest

from checkers import (
    Bijective,
    ConflictFree,
    Equal,
    InBounds,
    Injective,
    Partition,
    prove,
)
from symlayout import (
    ComposedLayout,
    Layout,
    Swizzle,
    coalesce,
    complement,
    composition,
    dim,
    eq,
    prepend,
)
from symlayout.address_map import AddressMap
from symlayout.answers.report import Outcome
from symlayout.banks import conflict_degree
from symlayout.basis import E
from symlayout.errors import InexactError
from tests.refuted.test_bug_cases import n, proved, refuted, witness_of

# -- F. Bank conflicts -------------------------------------------------------------------------------------


def column(stride: int, swizzle: Swizzle | None = None) -> Any:
    """(lane, column) of f32 rows: lane i reads row i."""
    rows = Layout((32, 32), (stride, 1))
    return ComposedLayout(swizzle, 0, rows) if swizzle else rows


@pytest.mark.parametrize(
    "access, degree",
    [
        (column(32), 32),
        (column(64), 32),
        (column(16), 16),
        (column(33), 1),
        (column(32, Swizzle(5, 0, 5)), 1),
        (column(32, Swizzle(3, 0, 5)), 4),
        (column(32, Swizzle(2, 0, 5)), 8),
    ],
    ids=str,
)
def test_f01_degrees_are_tight(access, degree):
    proved(ConflictFree(access, element_bytes=4, width_bytes=4, degree=degree))
    if degree > 1:
        story = witness_of(refuted(ConflictFree(access, element_bytes=4, width_bytes=4, degree=degree - 1)))[2]
        assert f"{degree}-way" in story


def mix(row: Any) -> Any:
    """(row ^ row >> 2 ^ row << 3) & 31."""
    return (row ^ (row // 4) ^ (8 * row)) % 32


def mixed(column_of: Any) -> AddressMap:
    """(lane, shift) of f32: lane i reads row i, column column_of(i, shift), xored with mix(i)."""
    return AddressMap.over(lambda lane, c: 32 * lane + (column_of(lane, c) ^ mix(lane)), (32, 32))


PATTERNS = {
    "column": (lambda lane, c: c, 2),
    "diagonal": (lambda lane, c: (lane + c) % 32, 1),
    "antidiagonal": (lambda lane, c: (31 - lane + c) % 32, 1),
}


def test_f03_mix_takes_16_values():
    assert len({mix(r) for r in range(32)}) == 16


def test_f03_degrees_lane_by_lane():
    """The two diagonals are read at shift 0, as in the report; the column anywhere."""
    for name, (column_of, degree) in PATTERNS.items():
        access = mixed(column_of)
        shifts = range(32) if name == "column" else range(1)
        assert {conflict_degree([4 * access(lane, c) for lane in range(32)], 4) for c in shifts} == {degree}, name


def test_f03_the_plain_swizzle_had_no_conflict_in_a_column():
    proved(ConflictFree(column(32, Swizzle(5, 0, 5)), element_bytes=4, width_bytes=4))


@pytest.mark.parametrize("column_of, degree", PATTERNS.values(), ids=PATTERNS)
def test_f03_as_a_claim_about_an_address_map(column_of, degree):
    access = AddressMap.over(lambda lane: 32 * lane + (column_of(lane, 0) ^ mix(lane)), (32,))
    report = prove(ConflictFree(access, element_bytes=4, width_bytes=4))
    assert report.verdicts[0].outcome is (Outcome.PROVED if degree == 1 else Outcome.REFUTED)


def ldmatrix(swizzle: Swizzle | None) -> Any:
    """(row, 16-byte column) of a half (8,64):(64,1) tile."""
    rows = Layout((8, 8), (64, 8))
    return ComposedLayout(swizzle, 0, rows) if swizzle else rows


def test_f05_the_128_byte_atom_is_conflict_free():
    proved(ConflictFree(ldmatrix(Swizzle(3, 3, 3)), element_bytes=2, width_bytes=16))


def test_f05_without_the_swizzle_lanes_0_and_7_conflict():
    story = witness_of(refuted(ConflictFree(ldmatrix(None), element_bytes=2, width_bytes=16)))[2]
    assert "8-way" in story
    assert "lanes 0, " in story
    assert ", 7 " in story


def test_f08_store_and_read_with_different_masks():
    """A tile written with Sw<3,3,3> and read with Sw<2,3,3>: other elements come back."""
    stored, read = (ComposedLayout(Swizzle(b, 3, 3), 0, Layout((64, 64), (64, 1))) for b in (3, 2))
    verdict = refuted(Equal(stored, read))

    assert witness_of(verdict)[1] == ((4, 0),)  # row 4 is the first whose third bit the mask drops
    proved(Equal(stored, ComposedLayout(Swizzle(3, 3, 3), 0, Layout((8, 8, 64), (64, 512, 1)))))
    proved(Bijective(read, 64 * 64))  # either alone is fine, which is why a test of one passes


def test_f08_the_swizzle_removed_changes_the_degree():
    proved(ConflictFree(ldmatrix(Swizzle(3, 3, 3)), element_bytes=2, width_bytes=16))
    proved(ConflictFree(ldmatrix(Swizzle(2, 3, 3)), element_bytes=2, width_bytes=16, degree=2))
    refuted(ConflictFree(ldmatrix(Swizzle(2, 3, 3)), element_bytes=2, width_bytes=16))
    refuted(ConflictFree(ldmatrix(None), element_bytes=2, width_bytes=16, degree=7))


# -- G. The algebra itself ---------------------------------------------------------------------------------


def test_g01_complement_prepended_and_coalesced():
    strided = Layout((6,), (4,))
    rest = complement(strided, 24)
    whole = prepend(strided, rest)

    assert rest == Layout(4, 1)
    assert (whole.shape, whole.stride) == ((4, 6), (1, 4))
    assert coalesce(whole) == Layout(24, 1)
    proved(Partition(whole, 24))
    proved(Equal(whole, Layout(24)))


@pytest.mark.parametrize("extent", [192, 16])
def test_g02_coalesce_with_a_symbolic_extent(extent):
    assert coalesce(Layout((extent, n), (1, extent))) == Layout(extent * n, 1)
    proved(Equal(Layout((extent, n), (1, extent)), Layout(extent * n)))
    assert coalesce(Layout((extent, n), (1, extent + 1))) == Layout((extent, n), (1, extent + 1))


def test_g04_by_mode_shuffle_carries_its_obligation():
    shuffled = composition(Layout((4096, 8192), (1, 4096)), Layout((32, n, 8, 128), (E(0), 8 * E(1), E(1), 32 * E(0))))
    assert shuffled == Layout((32, n, 8, 128), (1, 32768, 4096, 32))
    assert [f for o in shuffled.obligations for f in o.facts] == [8 * n <= 8192]

    claim, obligation = prove(Injective(shuffled)).verdicts
    assert claim.outcome is Outcome.PROVED
    assert obligation.outcome is not Outcome.PROVED  # so the report is not true
    assert witness_of(refuted(InBounds(shuffled, 4096 * 8192)))[0] == {"n": 1025}
    proved(Injective(shuffled), given=[n <= 1024])
    proved(Bijective(shuffled.subs({n: 1024}), 4096 * 8192))


def test_g05_no_layout_is_the_composition():
    a, b = Layout((6, 7), (1, 3)), Layout(6, 4)
    with pytest.raises(InexactError, match=r"differs at c = 2: A\(B\(c\)\) = A\(8\) = 5, but .* gives 3"):
        composition(a, b)

    by_cute = composition(a, b, mode="cute")
    assert (by_cute.shape, by_cute.stride) == ((2, 3), (4, 3))
    _, _, story = witness_of(refuted(Equal(by_cute, ComposedLayout(a, 0, b))))
    assert "index 2: 3 at (0,1), but 5 at 2" in story


def test_g07_fifteen_points_are_no_twelve():
    with pytest.raises(InexactError, match="expected a layout for"):
        composition(Layout((4, 2, 5), (16, 12, 6)), Layout((3, 5), (1, 1)))


def test_g08_past_the_domain():
    past = composition(Layout((4, 2), (1, 4)), Layout(16, 1))
    assert past == Layout(16, 1)
    assert len(past.obligations) == 1

    report = prove(Injective(past))
    assert [v.outcome for v in report.verdicts] == [Outcome.PROVED, Outcome.REFUTED]
    assert witness_of(refuted(InBounds(past, 8)))[1] == (8,)
    proved(InBounds(composition(Layout((4, 2), (1, 4)), Layout(8, 1)), 8))


# -- A11, its first half, needs no device either -------------------------------------------------------------


def test_a11_the_stride_of_a_size_1_mode_is_free():
    s = dim("s", at_least=0)
    proved(Equal(Layout((16, 1, 64), (64, s, 1)), Layout((16, 1, 64), (64, 1, 1))))
    h = dim("h")
    proved(Equal(Layout((16, h, 64), (64, s, 1)), Layout((16, 64), (64, 1))), given=[eq(h, 1)])
    refuted(Equal(Layout((16, h, 64), (64, s, 1)), Layout((16, h, 64), (64, 1, 1))))
