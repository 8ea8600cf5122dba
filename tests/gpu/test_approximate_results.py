"""Results of approximate functions: compared with the errors that are stated of them, and everything else bit for bit."""

import numpy as np
import pytest

from gpu.differential import cases, data
from symlayout import Layout, dim
from symlayout.dtype import DType
from symlayout.kernel import Builder
from symlayout.results import applied, element
from symlayout.semantics.execute import run
from symlayout.semantics.expected_range import expected_range


def powers(kind="f32"):
    """y = 2^x, and z = w."""
    N = dim("N")
    k = Builder("powers", N, grid=(1,), threads=32)
    w, x, y, z = (k.global_tensor(name, kind, Layout(N)) for name in "wxyz")
    r = k.registers("r", kind, 1)
    size = DType.of(kind).bytes
    with k.where(k.thread < N):
        k.copy(f"ld.global.{size}", w(k.thread), r())
        k.copy(f"st.global.{size}", r(), z(k.thread))
        k.copy(f"ld.global.{size}", x(k.thread), r())
        k.map("ex2.approx", (r(),), r())
        k.copy(f"st.global.{size}", r(), y(k.thread))
    k.result("y", lambda i: applied("ex2.approx", element("x", i)))
    k.result("z", lambda i: element("w", i))
    return k.kernel().bind(N=20)


def told(monkeypatch, change, kind="f32"):
    """The case of a device that computes what an untimed run does, some bits changed."""
    bound = powers(kind)
    inputs = dict(data.data_sets(bound))["numbers"]
    memory = run(bound, inputs, "eager").memory
    found = {name: memory[name].get().copy() for name in "yz"}
    change(found)
    monkeypatch.setattr(cases, "run_unproved", lambda *_: found)
    return cases.case(bound, None, None, "given", "numbers", inputs)


@pytest.mark.parametrize("kind", ["f32", "f16", "bf16"])
def test_results_within_the_stated_error_are_the_same(monkeypatch, kind):
    def near(found):
        found["y"][:] = np.nextafter(found["y"], found["y"].dtype.type(0))

    case = told(monkeypatch, near, kind)

    assert case
    assert case.compared == ("the range of ex2.approx", "reference", "untimed run")


def test_a_result_out_of_its_range_is_told_with_the_range(monkeypatch):
    def far(found):
        found["y"][7] *= np.float32(1 + 1e-6)

    case = told(monkeypatch, far)

    assert case.outcome == "differs"
    assert case.told.startswith(
        "y is out of the range of ex2.approx in 1 of 20 elements, first at (7,), offset 7: expected "
    )
    assert " .. " in case.told
    assert "written by st.global.4 r -> y[thread]" in case.told


def test_outputs_that_are_exact_are_compared_bit_for_bit(monkeypatch):
    def bit(found):
        found["z"].view(np.uint32)[3] ^= 1

    assert "z differs from the reference in 1 of 20 elements, first at (3,)" in told(monkeypatch, bit).told


def test_a_nan_is_in_a_range_that_has_none_only_where_it_is_expected(monkeypatch):
    case = told(monkeypatch, lambda found: found["y"].__setitem__(2, np.nan))

    assert "y is out of the range of ex2.approx in 1 of 20 elements, first at (2,)" in case.told


def test_what_is_too_large_for_the_type_is_infinite():
    bound = powers()
    x = np.resize(np.array([127.9, 128.0, 300, 3000, -3000], np.float32), 20)

    low, high = expected_range(bound, {"x": x, "w": x})["y"]

    assert np.isfinite(low[0])
    assert np.isinf(low[2:4]).all()
    assert np.isinf(high[1:4]).all()
    assert low[4] <= 0 <= high[4] < 1e-37
