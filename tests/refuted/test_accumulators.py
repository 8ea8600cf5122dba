"""Sums in registers that are too narrow for them: refuted by a run, or left open with the bound that is missing.

The older tests take values for real numbers until they are stored, and the inputs of their runs are a few small
integers, which every type holds: a sum in i8, in e4m3, or of fractions in i32, was the sum.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from checkers import Budget, Computes, prove
from symlayout import Layout, ceil_div, dim, dims
from symlayout.answers.report import Outcome, Verdict
from symlayout.dtype import DType
from symlayout.facts import Facts
from symlayout.kernel import Builder, Kernel
from symlayout.kernel.specification import element, total
from symlayout.kernels import axpby, gemm, row_sum, tma_reduce_add
from symlayout.semantics import execute

M, N = dims("M N")


def sums(of: str, kept: str, to: str, stated: str = "", function: str = "add", start: float = 0) -> Kernel:
    """dst(m) = sum of src(m,n), a thread for each row, added up in registers of a type."""
    k = Builder("sums", M, N, grid=(ceil_div(M, 32),), threads=32)
    s, d = k.global_tensor("src", of, Layout((M, N), (N, 1)), align_bytes=16), k.global_tensor("dst", to, Layout(M))
    x, p, o = k.registers("x", of, 1), k.registers("p", kept, 1), k.registers("o", to, 1)
    row = 32 * k.block[0] + k.thread
    k.fill(p(), start)
    with k.loop("j", N) as j, k.where(row < M):
        k.copy(f"ld.global.{DType.of(of).bytes}", s(N * row + j), x())
        k.map(function, (p(), x()), p())
    k.map("convert", (p(),), o())
    with k.where(row < M):
        k.copy(f"st.global.{DType.of(to).bytes}", o(), d(row))
    k.result("dst", lambda m: total(N, lambda n: element("src", m, n), function, stated))
    return k.kernel()


def judged(kernel: Kernel, **limits: Any) -> Verdict:
    [verdict] = prove(Computes(kernel, kernel.results[0].tensor), budget=Budget(**limits)).verdicts
    return verdict


PROOFS = {"repairs": False, "refuter_points": 1}  # where a refutation and what is left open are alike


NARROW = [("i8", "i8", "i32"), ("i8", "u8", "i32"), ("u8", "i8", "i32"), ("u8", "u16", "i32"), ("i8", "i16", "i32")]
NARROW += [("bf16", "i32", "f32"), ("bf16", "bf16", "f32"), ("f16", "f16", "f32"), ("f16", "bf16", "f32")]
NARROW += [("e4m3", "e4m3", "f32"), ("e5m2", "f16", "f32"), ("f32", "bf16", "f32"), ("i16", "f16", "i32")]


@pytest.mark.parametrize("of, kept, to", NARROW)
def test_a_sum_in_too_narrow_a_type_is_refuted_by_a_run(of: str, kept: str, to: str) -> None:
    verdict = judged(sums(of, kept, to), repairs=False)
    assert verdict.outcome is Outcome.REFUTED, verdict
    assert "expected" in str(verdict.witness)


def test_the_run_of_300_ones_in_8_bits() -> None:
    kernel = sums("i8", "i8", "i32").bind(M=1, N=300)
    assert execute(kernel, {"src": np.ones((1, 300), np.int8)})["dst"] == 44
    kernel = sums("e4m3", "e4m3", "f32").bind(M=1, N=300)
    assert execute(kernel, {"src": np.ones((1, 300), ml_dtypes.float8_e4m3fn)})["dst"] == 16


WIDE = [("bf16", "f32", "f32"), ("f16", "f32", "bf16"), ("e4m3", "f32", "f32"), ("bf16", "f64", "f32")]
WIDE += [("f32", "f32", "f32"), ("f32", "f64", "f32"), ("f64", "f64", "f64")]


@pytest.mark.parametrize("of, kept, to", WIDE)
def test_sums_in_the_type_of_the_result_or_wider_are_proved(of: str, kept: str, to: str) -> None:
    verdict = judged(sums(of, kept, to))
    assert verdict.outcome is Outcome.PROVED, verdict
    assert any(f"in {'f64' if of == 'f64' else 'f32'}, rounded in any order" in x for x in verdict.lemmas)


@pytest.mark.parametrize("kept", ["bf16", "f16", "f32"])
def test_a_result_may_state_the_type_of_its_sums(kept: str) -> None:
    verdict = judged(sums("bf16", kept, "f32", stated="bf16"))
    assert (verdict.outcome is Outcome.PROVED) is (kept != "f16"), verdict
    assert "sum over n < N of src(m,n) in bf16" in str(verdict)


@pytest.mark.parametrize(
    "of, kept, most",
    [
        pytest.param("i8", "i32", 2**24, marks=pytest.mark.campaign),
        ("u8", "i32", 8421504),
        ("i8", "f32", 2**17),
    ],
)
def test_integers_fit_under_a_bound(of: str, kept: str, most: int) -> None:
    kernel = sums(of, kept, "i32")
    open_ = judged(kernel)
    assert open_.outcome is Outcome.UNKNOWN, open_
    assert f"expected N <= {most}" in open_.open
    assert f"N <= {most}" in open_.closing
    assert judged(kernel.assuming(most >= N)).outcome is Outcome.PROVED
    assert judged(kernel.assuming(most + 1 >= N), **PROOFS).outcome is not Outcome.PROVED


@pytest.mark.parametrize("of, kept", [("i8", "u8"), ("i16", "i8"), ("f16", "bf16"), ("f32", "i32")])
def test_the_greatest_in_a_type_that_lacks_elements(of: str, kept: str) -> None:
    low = {"u8": 0, "i8": -128, "bf16": -np.inf, "i32": -(2**31)}[kept]
    assert judged(sums(of, kept, of, function="max", start=low), **PROOFS).outcome is not Outcome.PROVED


def retyped(kernel: Kernel, name: str, dtype: str) -> Kernel:
    kinds = (replace(t, dtype=DType.of(dtype)) if t.name == name else t for t in kernel.tensors)
    return replace(kernel, tensors=tuple(kinds))


L = dim("ld", at_least=N, multiple_of=4)
MUTANTS = [
    *(retyped(row_sum(M, N, L), name, dtype) for name in ("part", "total") for dtype in ("bf16", "f16", "i32")),
    *(retyped(axpby(N), name, dtype) for name in "ab" for dtype in ("bf16", "i32")),
    *(
        retyped(gemm(M, N, dim("K"), tile=(64, 64), cluster=1, blocks=2), "acc", dtype)
        for dtype in ("bf16", "f16", "i32")
    ),
    retyped(tma_reduce_add(dim("S"), M, N), "dst", "bf16"),
]


@pytest.mark.parametrize("kernel", MUTANTS, ids=lambda k: f"{k.name}-{k.digest[:6]}")
def test_families_with_narrower_registers_are_not_proved(kernel: Any) -> None:
    assert judged(kernel, **PROOFS).outcome is not Outcome.PROVED


def test_a_reduction_in_memory_rounds_each_addition_to_the_type_of_the_tensor() -> None:
    kernel = tma_reduce_add(3, M, N, dtype="bf16")
    assert "src(s,m,n) in bf16" in kernel.text()
    [result] = kernel.results
    fold = replace(result.value.args[1], dtype="")
    loose = replace(kernel, results=(replace(result, value=replace(result.value, args=(result.value.args[0], fold))),))

    assert judged(kernel).outcome is Outcome.PROVED
    assert Computes(loose, "dst").certify(Facts.about(M, N)) is None


def test_a_reduction_into_registers_of_another_type_is_none() -> None:
    k = Builder("joined", M, grid=(M,), threads=32)
    s, d = k.global_tensor("src", "i8", Layout((M, 4), (4, 1))), k.global_tensor("dst", "i32", Layout(M))
    x, o = k.registers("x", "i8", 4), k.registers("o", "i32", 1)
    k.copy("ld.global.4", s(4 * k.block[0]), x())
    k.reduce("add", x(), o(), 4)
    with k.where(k.thread <= 0):
        k.copy("st.global.4", o(), d(k.block[0]))
    k.result("dst", lambda m: total(4, lambda n: element("src", m, n)))

    assert judged(k.kernel()).outcome is not Outcome.PROVED


def test_a_reduction_in_memory_is_rounded_to_no_other_type_than_the_tensor_has() -> None:
    """The campaign of random kernels found it: what a result says of its last rounding was read of stores alone."""
    kernel = tma_reduce_add(dim("S"), M, N)
    kernel = kernel.assuming(*prove(kernel).repairs)
    (stated,) = kernel.results
    other = replace(kernel, results=(replace(stated, value=replace(stated.value, dtype="bf16")),))

    assert judged(kernel).outcome is Outcome.PROVED
    assert judged(other, repairs=False).outcome is Outcome.REFUTED
