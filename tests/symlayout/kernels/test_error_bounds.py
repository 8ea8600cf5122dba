"""The stated bounds on errors hold for each type of each kernel that rounds, against sums in float64, and are not far."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from symlayout.kernels import axpby, gemm_mma, gemm_simt, tensor_axpby
from symlayout.kernels.axpby import bound as of_update
from symlayout.kernels.gemm_mma import bound as of_product
from symlayout.kernels.gemm_simt import bound as of_fma
from symlayout.semantics import execute

KINDS = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16}


def spread(draw: np.random.Generator, shape, kind, orders: int) -> np.ndarray:
    """Numbers over some binary orders of magnitude, both signs."""
    return (draw.standard_normal(shape) * 2.0 ** draw.integers(-orders, orders + 1, shape)).astype(kind)


def part(got: np.ndarray, exact: np.ndarray, bound: np.ndarray) -> float:
    """The largest error, as a part of its bound."""
    return float((np.abs(got.astype(np.float64) - exact) / bound).max())


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("build", [axpby, lambda n, **o: tensor_axpby(n, 1, 1, **o)], ids=["axpby", "tensor_axpby"])
def test_an_update_errs_within_its_bound(name, build):
    draw, kind = np.random.default_rng(1), KINDS[name]
    kernel = build(1000, dtype=name)
    shape = kernel.tensor("x").layout.shape
    x, y = (spread(draw, shape, kind, 3) for _ in range(2))
    alpha, beta = kind(1.7), kind(-0.3)
    got = execute(kernel, {"x": x, "y": y, "alpha": alpha, "beta": beta})["dst"]
    exact = float(alpha) * x.astype(np.float64) + float(beta) * y.astype(np.float64)
    assert 0.1 < part(got, exact, of_update(x, y, alpha, beta)["dst"]) <= 1


@pytest.mark.parametrize("name", ["f16", "bf16"])
def test_a_product_by_mma_errs_within_its_bound(name):
    draw = np.random.default_rng(2)
    a, b = (spread(draw, shape, KINDS[name], 2) for shape in ((24, 136), (16, 136)))
    got = execute(gemm_mma(24, 16, 136, dtype=name, tile=(64, 64), stages=2), {"a": a, "b": b})["c"]
    exact = a.astype(np.float64) @ b.astype(np.float64).T
    assert 0.01 < part(got, exact, of_product(a, b)["c"]) <= 1


def test_a_product_by_fma_errs_within_its_bound():
    draw = np.random.default_rng(3)
    a, b = (spread(draw, shape, np.float32, 2) for shape in ((24, 100), (16, 100)))
    got = execute(gemm_simt(24, 16, 100), {"a": a, "b": b})["c"]
    exact = a.astype(np.float64) @ b.astype(np.float64).T
    assert 0.005 < part(got, exact, of_fma(a, b)["c"]) <= 1


@pytest.mark.parametrize("build", [gemm_simt, lambda *s: gemm_mma(*s, tile=(64, 64), stages=2)], ids=["fma", "mma"])
@pytest.mark.parametrize("put, want", [(np.inf, np.inf), (np.nan, np.nan)])
def test_what_is_no_finite_number_stays_in_its_row(build, put, want):
    kernel = build(3, 8, 8)
    a, b = (np.ones(s, kernel.tensor("a").dtype.numpy()) for s in ((3, 8), (8, 8)))
    a[1, 3] = put
    got = execute(kernel, {"a": a, "b": b})["c"].astype(np.float64)
    assert np.array_equal(got[[0, 2]], np.full((2, 8), 8.0))
    assert np.array_equal(got[1], np.full(8, want), equal_nan=True)
