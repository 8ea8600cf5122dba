"""The GEMM of the tutorial, as ``examples/e30_sgemm_as_in_cute.py`` builds it: run, timed and printed."""

from __future__ import annotations

import functools
import runpy
from pathlib import Path

import numpy as np

from gpu.codegen import emit
from simulator import H200, simulate
from symlayout.semantics import execute

EXAMPLE = Path(__file__).parents[1] / "examples" / "e30_sgemm_as_in_cute.py"


@functools.cache
def kernel():
    return runpy.run_path(str(EXAMPLE))["SGEMM"]


def test_it_computes_alpha_a_b_plus_beta_c():
    draw = np.random.default_rng(0)
    a, b, c = (draw.integers(-3, 4, shape).astype(np.float32) for shape in ((128, 16), (256, 16), (128, 256)))
    got = execute(kernel().bind(M=128, N=256, K=16), {"a": a, "b": b, "c": c, "alpha": 2, "beta": -3}, "lazy")["c"]
    assert np.array_equal(got, 2 * (a @ b.T) - 3 * c)


def test_it_is_timed():
    trace = simulate(kernel().bind(M=1024, N=1024, K=64), machine=H200)
    assert 0 < trace.cycles < 10**7


def test_it_is_printed():
    text = emit(kernel()).text
    assert text.count("__syncthreads();") == 2
    assert "cp_async_4(" in text
    assert "acc[gemm_M + 8 * gemm_N] = __fmaf_rn(a_of_k[gemm_M], b_of_k[gemm_N], acc[gemm_M + 8 * gemm_N]);" in text
