"""Bank conflicts and sectors: counting against the rank formula of T16, and reported cases."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from symlayout.banks import (
    CDNA_READ_B128,
    Access,
    Conflict,
    conflict_degree,
    ldmatrix_rows,
    linear_degree,
    lines,
    phases,
    sectors,
    wavefronts,
    worst_lanes,
)
from symlayout.errors import LayoutError
from symlayout.layout import ComposedLayout, Layout
from symlayout.linear import LinearLayout, linear
from symlayout.swizzle import Swizzle


def counted(addresses: list[int], width: int) -> list[int]:
    """By definition: for each phase, the most 4-byte words that one of 32 banks must serve."""
    out = []
    per_phase = {1: 32, 2: 32, 4: 32, 8: 16, 16: 8}[width]
    for start in range(0, len(addresses), per_phase):
        words: dict[int, set[int]] = {}
        for a in addresses[start : start + per_phase]:
            for byte in range(a, a + width):
                words.setdefault(byte // 4 % 32, set()).add(byte // 4)
        out.append(max(map(len, words.values())))
    return out


def spread(columns: list[int], base: int = 0) -> list[int]:
    """The addresses of 32 lanes from the columns of an F2-linear map."""
    out = []
    for lane in range(32):
        a = base
        for t, c in enumerate(columns):
            a ^= c * (lane >> t & 1)
        out.append(a)
    return out


# -- T16 ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [1, 2, 4, 8, 16])
def test_rank_formula_agrees_with_counting(width: int) -> None:
    """2^(dim ker Bk - dim ker W) in every phase, for any constant xor and any multiple of the unit added."""
    rng = random.Random(width)
    degrees = set()
    for _ in range(2000):
        columns = [width * rng.getrandbits(rng.choice((3, 5, 8, 10))) for _ in range(5)]
        degree = linear_degree(columns, width)
        addresses = spread(columns, base=width * rng.getrandbits(8))
        added = [a + max(width, 4) * 37 for a in spread(columns)]

        assert set(counted(addresses, width)) == {degree}, (width, columns)
        assert wavefronts(addresses, width) == (degree,) * len(phases(width))
        assert conflict_degree(added, width) == degree
        degrees.add(degree)
    assert degrees >= {1, 2, 4}


@pytest.mark.parametrize("width", [1, 2, 4, 8, 16])
def test_counting_of_arbitrary_addresses(width: int) -> None:
    rng = random.Random(100 + width)
    for _ in range(500):
        addresses = [width * rng.randrange(rng.choice((8, 64, 1000))) for _ in range(32)]
        found = list(wavefronts(np.array(addresses), width))
        worst = worst_lanes(addresses, width)

        assert found == counted(addresses, width)
        assert worst.degree == max(found) == conflict_degree(addresses, width)
        check_witness(addresses, width, worst)


def check_witness(addresses: list[int], width: int, worst: Conflict) -> None:
    """The lanes named belong to the phase named, want the bank named, and no two want the same word."""
    unit = max(width, 4)
    assert set(worst.lanes) <= set(phases(width)[worst.phase])
    assert {addresses[i] // unit * unit // 4 % 32 for i in worst.lanes} == {worst.bank}
    assert len({addresses[i] // unit for i in worst.lanes}) == len(worst.lanes)


def test_a_base_off_the_unit_breaks_the_formula() -> None:
    """T16: a base that is no multiple of 4 under 2-byte accesses, about a third of the random maps."""
    rng = random.Random(16)
    broken = 0
    for _ in range(500):
        columns = [2 * rng.getrandbits(8) for _ in range(5)]
        shifted = [a + 2 for a in spread(columns)]
        assert counted(shifted, 2) == list(wavefronts(shifted, 2))
        broken += conflict_degree(shifted, 2) != linear_degree(columns, 2)
    assert 50 < broken < 300


def test_fewer_lanes_and_linear_layouts() -> None:
    rows = linear(ComposedLayout(Swizzle(3, 4, 3), 0, Layout(8, 128)))
    assert isinstance(rows, LinearLayout)
    assert linear_degree(rows, 16) == 1
    assert linear_degree([128, 256, 512], 16) == 8
    assert linear_degree([], 4) == 1


# -- the F cases ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "row_stride, swizzle, degree",
    [
        (32, None, 32),
        (64, None, 32),
        (16, None, 16),
        (33, None, 1),
        (32, Swizzle(5, 0, 5), 1),
        (32, Swizzle(3, 0, 5), 4),
        (32, Swizzle(2, 0, 5), 8),
    ],
    ids=str,
)
def test_f01_column_of_f32(row_stride: int, swizzle: Swizzle | None, degree: int) -> None:
    rows: Any = Layout(32, row_stride)
    if swizzle is not None:
        rows = ComposedLayout(swizzle, 0, rows)
    a = linear(rows)

    assert conflict_degree([4 * rows(lane) for lane in range(32)], 4) == degree
    assert a is not None  # even stride 33: 32 rows of it do not carry
    assert linear_degree([4 * c for c in a.columns], 4) == degree


def test_f03_mix_of_the_proposed_fix() -> None:
    """The diagonals become conflict-free and the column, which the report does not show, 2-way."""

    def mix(r: int) -> int:
        return (r ^ r >> 2 ^ r << 3) & 31

    def degree(row: Any, column: Any) -> int:
        return conflict_degree([4 * (32 * row(i) + (column(i) ^ mix(row(i)))) for i in range(32)], 4)

    assert degree(lambda i: i, lambda i: i) == 1
    assert degree(lambda i: i, lambda i: 31 - i) == 1
    assert {degree(lambda i: i, lambda i, c=c: c) for c in range(32)} == {2}
    assert {degree(lambda i, r=r: r, lambda i: i) for r in range(32)} == {1}


@pytest.mark.parametrize("chunk", range(8))
def test_f05_standard_128_byte_atom(chunk: int) -> None:
    plain = Layout((8, 64), (64, 1))
    swizzled = ComposedLayout(Swizzle(3, 3, 3), 0, plain)

    assert ldmatrix_rows([2 * swizzled(row, 8 * chunk) for row in range(8)]) == (1,)
    rows = [2 * plain(row, 8 * chunk) for row in range(8)]
    assert ldmatrix_rows(rows) == (8,)
    assert worst_lanes(rows, 16) == Conflict(0, 4 * chunk, tuple(range(8)))


def test_ldmatrix_of_several_matrices() -> None:
    rows = [128 * i for i in range(8)] + [144 * i for i in range(8)]
    assert ldmatrix_rows(rows) == (8, 1)
    assert ldmatrix_rows(rows * 2) == (8, 1, 8, 1)
    with pytest.raises(LayoutError, match="expected 8, 16 or 32 row addresses, got 7"):
        ldmatrix_rows(range(7))
    with pytest.raises(LayoutError, match="multiples of 16 bytes in lane 1, got 8"):
        ldmatrix_rows([8 * i for i in range(8)])


# -- phases and lanes -----------------------------------------------------------------------------------


def test_phases_are_runs_of_128_bytes() -> None:
    assert [len(phases(w)) for w in (1, 2, 4, 8, 16)] == [1, 1, 1, 2, 4]
    assert phases(8) == (tuple(range(16)), tuple(range(16, 32)))
    assert str(Access(8)) == "8 bytes for each of 32 lanes in 2 phases, 16 units of 8 bytes in 32 banks"


def test_equal_words_are_broadcast() -> None:
    assert wavefronts([64] * 32, 4) == (1,)
    assert wavefronts(range(32), 1) == (1,)
    assert wavefronts([0, 2] * 16, 2) == (1,)


def test_lanes_switched_off() -> None:
    column = [128 * lane for lane in range(32)]
    assert conflict_degree(column, 4, active=0x0000FFFF) == 16
    assert conflict_degree(column, 4, active=[lane % 4 == 0 for lane in range(32)]) == 8
    assert wavefronts(column, 16, active=0xFF) == (8, 0, 0, 0)
    assert worst_lanes(column, 4, active=0b11).lanes == (0, 1)
    assert str(worst_lanes(column, 4, active=1)) == "no conflict"
    with pytest.raises(LayoutError, match="expected 32 truth values, got 3"):
        wavefronts(column, 4, active=[True] * 3)


def naive(k: int, row: int, chunk: int) -> int:
    return 2 * (row * k + 8 * chunk)


def padded(k: int, row: int, chunk: int) -> int:
    return 2 * (chunk * (128 + 1) * 8 + row * 8)


def xored(k: int, row: int, chunk: int, k0_first: bool) -> int:
    """LL rows share a 128-byte line; the chunk is split as (K0, LL) or as (LL, K0)."""
    k0, ll = k // 8, 128 // k // 2
    r, z = divmod(row, ll)
    c = chunk * ll + z if k0_first else z * k0 + chunk
    return 2 * ((c ^ r % (k0 * ll)) * 8 + r * k * ll)


@pytest.mark.parametrize(
    "place, k, r32, r16",
    [
        (naive, 32, 4, 2),
        (naive, 64, 8, 4),
        (padded, 32, 1, 2),
        (padded, 64, 1, 2),
        (lambda k, r, c: xored(k, r, c, True), 32, 2, 4),
        (lambda k, r, c: xored(k, r, c, False), 32, 1, 1),
        (lambda k, r, c: xored(k, r, c, True), 64, 1, 1),
    ],
)
def test_phases_of_another_machine(place: Any, k: int, r32: int, r16: int) -> None:
    """The table of CK Tile: fp16, 128 rows, waves of 64 lanes that read 16 bytes each."""
    read = Access(16, lanes=64, groups=CDNA_READ_B128)
    assert conflict_degree([place(k, lane % 32, lane // 32) for lane in range(64)], read) == r32
    assert conflict_degree([place(k, lane % 16, lane // 16) for lane in range(64)], read) == r16


def test_consecutive_phases_would_say_otherwise() -> None:
    """with runs of 8 lanes the (K0,LL) entry for K = 32 is 2 / 2."""
    for rows in (32, 16):
        addresses = [xored(32, lane % rows, lane // rows, True) for lane in range(64)]
        assert conflict_degree(addresses, Access(16, lanes=64)) == 2


@pytest.mark.parametrize(
    "make, phrase",
    [
        (lambda: Access(3), "expected a width of 1, 2, 4, 8 or 16 bytes, got 3"),
        (lambda: wavefronts([0] * 32, 32), "expected a width of 1, 2, 4, 8 or 16 bytes, got 32"),
        (lambda: Access(4, lanes=4, groups=((0, 1), (1, 2))), "expected each of 4 lanes in one phase"),
        (lambda: wavefronts([2] * 32, 4), "expected an address in multiples of 4 bytes in lane 0, got 2"),
        (lambda: wavefronts([0] * 16, Access(4)), "expected 32 addresses, got 16"),
        (lambda: linear_degree([2], 4), r"expected columns that are multiples of 4 bytes, got \[2\]"),
    ],
)
def test_errors(make: Any, phrase: str) -> None:
    with pytest.raises(LayoutError, match=phrase):
        make()


# -- global memory --------------------------------------------------------------------------------------


def test_sectors_and_lines() -> None:
    assert sectors(np.arange(32) * 16, 16) == 16
    assert (sectors(range(0, 128, 4), 4), lines(range(0, 128, 4), 4)) == (4, 1)
    assert (sectors(range(4, 132, 4), 4), lines(range(4, 132, 4), 4)) == (5, 2)
    assert (sectors([256 * i for i in range(32)], 4), lines([256 * i for i in range(32)], 4)) == (32, 32)
    assert sectors([0] * 32, 4) == 1
    assert sectors([24], 16) == 2
    assert sectors(range(0, 128, 4), 4, active=0xFF) == 1
