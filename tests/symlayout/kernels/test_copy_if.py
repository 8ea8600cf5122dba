"""copy_if moves vectors where rows are known to be of whole ones, and single elements elsewhere; both are proved."""

from __future__ import annotations

import sys

import pytest

from checkers import prove
from symlayout import dim
from symlayout.answers.report import Outcome
from symlayout.kernels.copy_if import copy_if
from symlayout.semantics import expect_reference
from tests.support.kernel_families import inputs

MOST = 1 << 20


def built(unit: int, apart: int, dtype: str = "f32"):
    N = dim("N", at_most=MOST, multiple_of=unit)
    return copy_if(dim("M", at_most=MOST), N, dim("ld", at_least=N, at_most=MOST, multiple_of=apart), dtype=dtype)


def atoms(kernel):
    return [op.atom for op in kernel.walk() if hasattr(op, "atom")]


@pytest.mark.parametrize("unit, apart, dtype, nbytes", [
    (4, 4, "f32", 16), (8, 4, "f32", 16), (2, 4, "f32", 8), (4, 2, "f32", 8), (4, 1, "f32", 4), (1, 4, "f32", 4),
    (8, 8, "bf16", 16), (4, 8, "bf16", 8), (1, 1, "bf16", 2), (2, 2, "f64", 16),
])  # fmt: skip
def test_vectors_are_as_wide_as_rows_allow(unit, apart, dtype, nbytes):
    assert atoms(built(unit, apart, dtype)) == [f"ld.global.{nbytes}", f"st.global.{nbytes}"]


@pytest.mark.parametrize("unit, dtype", [(4, "f32"), (8, "bf16"), (2, "f32")])
def test_vectors_are_proved_and_right_at_every_edge(unit, dtype):
    kernel = built(unit, unit, dtype)
    report = prove(kernel)
    assert report, str(report)
    for M, vectors, gap in ((1, 1, 0), (33, 33, 1), (31, 65, 0), (64, 3, 5)):
        bound = kernel.bind(M=M, N=unit * vectors, ld=unit * (vectors + gap))
        for order in ("eager", "lazy", 1):
            expect_reference(bound, inputs(bound), order)


def test_vectors_that_are_partly_outside_are_refuted(monkeypatch):
    """The vectors of whole rows, for rows of any length: addresses are not aligned, and ends of rows are left out."""
    monkeypatch.setattr(sys.modules[copy_if.__module__], "together", lambda *_: 4)
    wrong = {v.claim.kind for v in prove(built(1, 1)).verdicts if v.outcome is Outcome.REFUTED}
    assert {"aligned", "written once"} <= wrong
