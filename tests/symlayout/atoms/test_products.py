"""Sums that an H200 (driver 580.159.04) left, bit for bit; and how far from exact they may be.

The rows are those of ``benchmarks/hardware/product_probe.py``, those of large N thinned out.
"""

from __future__ import annotations

import collections
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from benchmarks.hardware import product_replay as replay
from benchmarks.hardware.product_numbers import LATER, REGIMES, matrices
from benchmarks.hardware.product_probe import cases
from symlayout.atoms import ATOMS, MmaAtom, atom
from symlayout.dtype import f16
from symlayout.semantics import matrix_sums
from symlayout.semantics.matrix_sums import accumulated, aligned_magnitude, error_bound, product_bound, tensor_core_sums
from symlayout.tma.recorded import read

ROWS = list(read(Path(__file__).parents[2] / "data" / "product_probe.jsonl.gz"))
WHOLE = [r for r in ROWS if r["family"] != "numbers"]
NUMBERS = [r for r in ROWS if r["family"] == "numbers"]


def unlike(rows):
    return [r["seed"] for r in rows if replay.digest(replay.sums(r)) != r["sha"]]


def test_whole_numbers_are_multiplied_as_on_the_device():
    assert unlike(WHOLE) == []
    assert len(WHOLE) > 250
    assert {r["word"].split(".", 2)[2].removesuffix(".rs") for r in WHOLE} == {
        *("f16", "bf16", "tf32", "e4m3", "e5m2", "i8", "u8"),
        *("f16.f16", "e4m3.f16", "e5m2.f16"),
    }


@pytest.mark.parametrize("regime", [*REGIMES, *LATER])
def test_sums_that_round_are_those_of_the_device_in_every_bit(regime):
    rows = [r for r in NUMBERS if r["regime"] == regime]

    assert unlike(rows) == []
    assert len(rows) >= (12 if regime == "low" else 60)


def test_the_rows_are_the_cases_of_the_probe():
    every = cases()

    assert len(every) == 2832
    assert all({**every[r["seed"]], "sha": r["sha"]} == r for r in ROWS)


def test_no_sum_of_the_device_is_further_from_exact_than_the_bound():
    worst = collections.defaultdict(float)
    for r in NUMBERS:
        worst[replay.row_of(r).dtype.bits] = max(worst[replay.row_of(r).dtype.bits], replay.largest_error(r))

    assert max(worst.values()) < 0.2
    assert min(worst.values()) > 0.01


@pytest.mark.parametrize(
    "change", [{"SINGLE": {"kept": 24}}, {"SINGLE": {"kept": 26}}, {"EIGHT": {"bits": 24}}], ids=str
)
def test_another_arithmetic_is_refuted_by_the_device(monkeypatch, change):
    for name, fields in change.items():
        old = getattr(matrix_sums, name)
        monkeypatch.setattr(matrix_sums, name, matrix_sums.Arithmetic(**(old.__dict__ | fields)))
    rows = [r for r in NUMBERS if r["regime"] == "ladder" and (".e" in r["word"]) == ("EIGHT" in change)]

    assert len(unlike([r for r in rows if "wgmma" in r["word"]])) >= 6


def test_subnormal_factors_align_as_the_smallest_normal_number(monkeypatch):
    rows = [r for r in NUMBERS if r["regime"] == "uneven"]
    monkeypatch.setattr(matrix_sums, "LEAST_EXPONENT", dict.fromkeys(matrix_sums.LEAST_EXPONENT, -1000) | {"f32": -126})

    assert len(unlike(rows)) > 0.6 * len(rows)


def of_registers(row, a, b, c):
    """How far the device's sums are from the rounded ones, as a part of the bound; 0 where nothing is bounded."""
    bound = product_bound(row, a, b, c)
    found, exact = (np.where(np.isinf(bound), 0, f(row, a, b, c)) for f in (tensor_core_sums, accumulated))
    return np.abs(found - exact) / bound


def test_magnitudes_that_leave_subnormals_as_they_are_bound_nothing():
    """2^-24 is a subnormal f16: times 2^15 it is as small as 2^-9, and other terms are cut off behind 2^-24."""
    row = atom("mma.m16n8k16.f16")
    a, b, c = np.zeros((16, 16), np.float16), np.zeros((8, 16), np.float16), np.zeros((16, 8), np.float32)
    a[:, 0], b[:, 0] = 2.0**-24, 2.0**15
    a[:, 1:], b[:, 1:] = 2.0**-12, 2.0**-13 * 1.9  # 15 products below 2^-24
    c[:] = -(2.0**-9)
    plain = np.abs(c) + np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64).T
    off = np.abs(tensor_core_sums(row, a, b, c) - accumulated(row, a, b, c))

    assert (off > 2.0**-21).all()
    assert (off > 10 * error_bound(16, plain)).all()
    assert (off < product_bound(row, a, b, c)).all()
    assert aligned_magnitude(a, f16).min() == 2.0**-14


FLOATS = [w for w, r in ATOMS.items() if isinstance(r, MmaAtom) and r.acc_dtype.kind == "float"]


@pytest.mark.parametrize("word", [w for w in FLOATS if w.startswith(("mma.", "wgmma.m64n8k")) and "f64" not in w])
def test_the_bound_holds_for_numbers_made_to_break_it(word):
    row, draw = atom(word), np.random.RandomState(len(word))
    for regime in ("spread", "cancel", "against", "ladder", "uneven"):
        a, b, c = matrices(regime, row.dtype, row.acc_dtype, row.mnk, draw)

        assert of_registers(row, a, b, c).max() < (0.5 if row.dtype.bits == 8 else 0.2), regime


@pytest.mark.parametrize("word", [w for w in FLOATS if "f64" in w])
def test_sums_of_f64_are_within_their_bound_of_rational_numbers(word):
    row, draw = atom(word), np.random.RandomState(1)
    m, n, k = row.mnk
    a, b, c = (draw.standard_normal(s) * 2.0 ** draw.randint(-9, 9, s) for s in ((m, k), (n, k), (m, n)))
    a[:, 1], b[:, 1] = -a[:, 0], b[:, 0]  # which cancels
    wrong = [
        (found, bound)
        for x, row_c, row_found, row_bound in zip(
            a, c, accumulated(row, a, b, c), product_bound(row, a, b, c), strict=True
        )
        for y, start, found, bound in zip(b, row_c, row_found, row_bound, strict=True)
        if abs(Fraction(found) - Fraction(start) - sum(Fraction(p) * Fraction(q) for p, q in zip(x, y, strict=True)))
        > bound
    ]
    assert wrong == []
    assert (product_bound(row, a, b, c) < 1e-9 * (1 + np.abs(c) + np.abs(a) @ np.abs(b).T)).all()


def test_sums_of_f64_are_fused_multiply_adds_in_the_order_of_k():
    """(1 + 2^-30) (1 - 2^-30) - 1 is -2^-60: a product that is rounded alone leaves 0."""
    row = atom("mma.m8n8k4.f64")
    a, b, c = np.zeros((8, 4)), np.zeros((8, 4)), np.full((8, 8), -1.0)
    a[:, 0], b[:, 0] = 1 + 2.0**-30, 1 - 2.0**-30
    a[:, 1], b[:, 1] = 2.0**-30, 2.0**-30
    a[:, 2], b[:, 2] = 2.0**600, 2.0**400
    a[:, 3], b[:, 3] = -(2.0**600), 2.0**400
    first, second = a.copy(), a.copy()
    first[:, 1:], second[:, 2:] = 0, 0

    assert (tensor_core_sums(row, first, b, c) == -(2.0**-60)).all()
    assert (tensor_core_sums(row, second, b, c) == 0).all()
    assert (tensor_core_sums(row, a, b, c) == 0).all()  # what is small is lost beside 2^1000, before that is gone
    b[:, 2], b[:, 3] = 2.0**424, 0
    assert (tensor_core_sums(row, a, b, c) == np.inf).all()
    b[:, 3] = 2.0**900  # a product that is infinite if it is rounded alone, and then the sum none
    assert (tensor_core_sums(row, a, b, c) == np.inf).all()


@pytest.mark.parametrize("word", ["mma.m16n8k32.i8", "mma.m16n8k16.i8", "mma.m8n8k16.i8"])
def test_integers_are_exact(word):
    row, draw = atom(word), np.random.RandomState(3)
    m, n, k = row.mnk
    a, b = (draw.randint(-128, 128, (size, k)).astype(np.int8) for size in (m, n))
    c = draw.randint(-(2**31), 2**31, (m, n)).astype(np.int32)

    want = (c.astype(object) + a.astype(object) @ b.astype(object).T + 2**31) % 2**32 - 2**31
    assert (tensor_core_sums(row, a, b, c).astype(object) == want).all()
    assert (product_bound(row, a, b, c) == 0).all()
