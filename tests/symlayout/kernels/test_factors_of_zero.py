"""alpha = 0, beta = 0, and K = 0 as BLAS defines them: what has factor 0 is not read; a product has terms."""

from __future__ import annotations

import numpy as np
import pytest

from checkers import Computes, claims_of, prove
from symlayout import LayoutError, dim
from symlayout.answers.report import Outcome
from symlayout.errors import AssumptionError
from symlayout.facts import Facts
from symlayout.kernels import axpby, gemm_mma, gemm_simt, tensor_axpby
from symlayout.kernels.families import family
from symlayout.semantics import execute, expect_reference

MOST = 1 << 20


def rows(zero: str):
    N = dim("N", at_most=MOST)
    return tensor_axpby(dim("M", at_most=MOST), N, dim("ld", at_least=N, at_most=MOST), zero=zero)


@pytest.mark.parametrize("zero", ["alpha", "beta"])
def test_without_one_vector_both_are_proved_and_right(zero):
    for kernel, sizes in ((axpby(dim("N"), zero=zero), {"N": 517}), (rows(zero), {"M": 33, "N": 65, "ld": 70})):
        report = prove(kernel)
        assert report, str(report)
        bound = kernel.bind(**{s.name: sizes[s.name] for s in kernel.dims})
        shape = tuple(sizes[n] for n in ("M", "N")) if "M" in sizes else sizes["N"]
        vector, factor = ("x", "alpha") if zero == "beta" else ("y", "beta")
        given = {vector: np.random.default_rng(1).integers(-9, 10, shape).astype(np.float32), factor: 3}
        for order in ("eager", "lazy"):
            expect_reference(bound, given, order)


def test_a_nan_in_a_vector_of_factor_0_is_no_operand():
    """With both factors a NaN shows, since 0*NaN is NaN; told that beta is 0 the kernel has no y."""
    x, y = np.arange(5, dtype=np.float32), np.full(5, np.nan, np.float32)
    both = execute(axpby(5), {"x": x, "y": y, "alpha": 2, "beta": 0})["dst"]
    assert np.isnan(both).all()
    kernel = axpby(5, zero="beta")
    assert "y" not in {t.name for t in kernel.tensors}
    assert execute(kernel, {"x": x, "alpha": 2})["dst"].tolist() == [0, 2, 4, 6, 8]


def test_infinities_and_nan_of_the_other_vector_spread():
    x = np.array([np.inf, np.nan, -np.inf, 0], np.float32)
    got = execute(axpby(4, zero="beta"), {"x": x, "alpha": 0})["dst"]
    assert np.isnan(got[:3]).all()
    assert got[3] == 0


def test_another_word_is_an_error():
    with pytest.raises(LayoutError, match="expected alpha or beta as the factor that is 0"):
        family("axpby").build(zero="gamma")


@pytest.mark.parametrize("build, unit", [(gemm_simt, 1), (gemm_mma, 8)])
def test_a_product_of_no_terms_has_no_tensors_and_is_refused_with_what_it_needs(build, unit):
    """BLAS leaves beta*C for K = 0; these kernels have no C to leave, and A and B of no elements are no tensors.

    The proof of what they compute holds for K = 0 too: no iteration, and sums of zero.
    """
    M, N = dim("M", at_most=MOST), dim("N", at_most=MOST, multiple_of=unit)
    kernel = build(M, N, dim("K", at_least=0, at_most=MOST, multiple_of=unit))
    [claim] = [c for c in claims_of(kernel) if "have elements" in str(c)]
    report = prove(claim)
    assert report.verdicts[0].outcome is Outcome.REFUTED
    assert "a, b have elements: K >= 1" in str(report)
    assert [str(f) for f in report.repairs] == ["K >= 1"]
    computes = Computes(kernel, "c")
    assert computes.certify(Facts.about(*kernel.dims, given=kernel.given)) is not None
    with pytest.raises(AssumptionError, match="expected sizes that meet K >= 1, got M = 4, N = 8, K = 0"):
        family(kernel.name).build().bind(M=4, N=8, K=0)
