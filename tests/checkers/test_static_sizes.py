"""Tensors whose sizes are numbers: an offset is taken apart by the conditions that keep its coordinates inside."""

from __future__ import annotations

from dataclasses import replace

import pytest

from checkers import Computes, WrittenOnce, prove
from symlayout import Fact, dim
from symlayout.answers.report import Outcome
from symlayout.facts import Facts
from symlayout.kernels import copy_if, gemm_mma, gemm_simt, tensor_axpby
from symlayout.ops import Copy, If
from symlayout.ops.op import Op

M, N, K = (dim(name, at_most=1000) for name in "MNK")
WHOLE = dim("K", at_most=1000, multiple_of=8)
KERNELS = {
    "copy_if, all": lambda: copy_if(33, 65, 70),
    "copy_if, vectors": lambda: copy_if(33, 68, 72),
    "copy_if, rows of one length": lambda: copy_if(M, 65, 70),
    "copy_if, rows apart": lambda: copy_if(33, 65, dim("ld", at_least=65, at_most=1000)),
    "tensor_axpby": lambda: tensor_axpby(33, 65, 70),
    "gemm_simt, all": lambda: gemm_simt(65, 70, 33),
    "gemm_simt, one tile": lambda: gemm_simt(65, 64, K),
    "gemm_simt, one step": lambda: gemm_simt(5, 7, 1),
    "gemm_mma, all": lambda: gemm_mma(65, 72, 40, tile=(64, 64), stages=2),
    "gemm_mma, one unit": lambda: gemm_mma(65, 72, 8, tile=(64, 64), stages=3),
    "gemm_mma, M and N": lambda: gemm_mma(65, 72, WHOLE, tile=(64, 64), stages=2),
}


@pytest.mark.parametrize("name", KERNELS)
def test_they_are_proved(name):
    kernel = KERNELS[name]()
    for claim in (Computes(kernel, kernel.results[0].tensor), WrittenOnce(kernel, kernel.results[0].tensor)):
        facts = Facts.about(*kernel.dims, given=kernel.given)
        assert claim.certify(facts) is not None, claim.lemma(facts)


def conditions(change):
    """copy_if(33, 65, 70) with other conditions around its stores."""
    kernel = copy_if(33, 65, 70)

    def edit(op: Op):
        if isinstance(op, If) and any(isinstance(x, Copy) and x.atom.startswith("st") for x in op.body):
            return (If(change(op.condition), op.body),)
        return (op,)

    return kernel.edited(edit)


WRONG = {
    "a column more": lambda c: (c[0], Fact(c[1].expr + 1, ">=")),
    "a column less": lambda c: (c[0], Fact(c[1].expr - 1, ">=")),
    "a row more": lambda c: (Fact(c[0].expr + 1, ">="), c[1]),
    "no columns": lambda c: c[:1],
    "no rows": lambda c: c[1:],
}


@pytest.mark.parametrize("name", WRONG)
def test_other_conditions_are_not(name):
    """65 columns of rows of 65: one column more is the first of the next row, which has another value."""
    kernel = conditions(WRONG[name])
    found = {v.claim.kind for v in prove(kernel).verdicts if v.outcome is not Outcome.PROVED}
    assert found & {"computes", "written once", "in bounds"}


@pytest.mark.parametrize("names", ["a", "b", "ab"])
@pytest.mark.parametrize(
    "build", [lambda: gemm_mma(65, 72, 40, tile=(64, 64), stages=2), lambda: gemm_simt(5, 7, 33)], ids=["mma", "fma"]
)
def test_zeros_before_the_end_of_k_are_not_the_end(build, names):
    """One unit less of A, of B, or of both, whose products of zeros are then too many."""
    kernel = build()

    def earlier(op: Op):
        if isinstance(op, Copy) and op.when and op.src.tensor in names:
            unit = op.row.bytes // kernel.tensor(op.src.tensor).dtype.bytes
            return (replace(op, when=(op.when[0], Fact(op.when[1].expr - unit, ">="))),)
        return (op,)

    claim = Computes(kernel.edited(earlier), "c")
    assert claim.certify(Facts.about()) is None
