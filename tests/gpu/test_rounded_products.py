"""Products on numbers that tensor cores have to round: compared bit for bit with the arithmetic that was measured."""

import ml_dtypes
import numpy as np
import pytest

from gpu.differential import cases, data
from symlayout import dim, dims
from symlayout.atoms import atom
from symlayout.kernels import gemm, vector_copy
from symlayout.semantics.execute import run
from symlayout.semantics.matrix_sums import tensor_core_sums

SIZES = {"M": 100, "N": 72, "K": 88}


def product(dtype="bf16"):
    options = {"tile": (64, 64), "stages": 2, "cluster": 1, "blocks": 2, "group": 1}
    return gemm(*dims("M N K"), dtype=dtype, **options).bind(**SIZES)


def chained(inputs, dtype):
    """The sums of one k of 16 after the other, each as a tensor core leaves it, as bits of 16-bit numbers."""
    row = atom(f"wgmma.m64n64k16.{dtype}")
    a, b = (np.zeros((128, 96), x.dtype) for x in (inputs["a"], inputs["b"]))
    a[:100, :88], b[:72, :88] = inputs["a"], inputs["b"]
    sums = np.zeros((128, 128), np.float32)
    for k in range(0, 96, 16):
        sums = tensor_core_sums(row, a[:, k : k + 16], b[:, k : k + 16], sums)
    with np.errstate(over="ignore"):
        found = sums[:100, :72].astype(a.dtype)
    found.view(np.uint16)[np.isnan(sums[:100, :72])] = 0x7FFF
    return found


@pytest.mark.parametrize("dtype", ["bf16", "f16"])
def test_an_untimed_run_has_the_sums_of_tensor_cores(dtype):
    bound = product(dtype)
    inputs = data.rounded(bound)
    found = run(bound, inputs, "eager", sums=tensor_core_sums).memory["c"].get()
    exact = run(bound, inputs, "eager").memory["c"].get()
    wide = found.astype(np.float32)

    assert (found.view(np.uint16) == chained(inputs, dtype).view(np.uint16)).all()
    assert (found.view(np.uint16) != exact.view(np.uint16)).any(), "sums that are rounded once are others"
    assert np.isnan(wide).any()
    assert np.isinf(wide).any()
    assert np.isfinite(wide).mean() > 0.5


def told(monkeypatch, change):
    """The case of a device that leaves the sums of tensor cores, some bits changed."""
    bound = product()
    inputs = data.rounded(bound)
    found = chained(inputs, "bf16")
    change(found.view(np.uint16))
    monkeypatch.setattr(cases, "run_unproved", lambda *_: {"c": found})
    return cases.case(bound, None, None, "given", data.ROUNDED, inputs)


def test_a_device_with_these_sums_is_the_same(monkeypatch):
    case = told(monkeypatch, lambda bits: None)

    assert case
    assert case.compared == ("untimed run with sums of tensor cores",)


def test_the_last_bit_of_one_sum_is_a_difference(monkeypatch):
    case = told(monkeypatch, lambda bits: bits.__setitem__((2, 4), bits[2, 4] ^ 1))

    assert case.outcome == "differs"
    assert "c differs from the untimed run with sums of tensor cores in 1 of 7200 elements, first at (2,4)" in case.told
    assert "written by tma.store buffer" in case.told


def test_numbers_to_multiply_are_of_all_kinds():
    x = data.rounded(product())["a"]
    wide = x.astype(np.float32)

    assert x.dtype == ml_dtypes.bfloat16
    assert ((np.abs(wide) > 0) & (np.abs(wide) < 2.0**-126)).any()
    assert np.isnan(wide).any()
    assert np.isinf(wide).any()
    assert (np.abs(wide[np.isfinite(wide)]) > 2.0**100).any()
    assert len(np.unique(x.view(np.uint16)[np.isnan(wide)])) > 1, "NaNs have payloads"


def test_kernels_without_products_have_none():
    assert data.rounded(vector_copy(dim("N")).bind(N=8)) is None
