"""Views as tensors of kernels: the same bytes by NumPy, by a run in any order, and proofs about the copy."""

from __future__ import annotations

import numpy as np
import pytest

import gpu
from checkers import prove
from gpu.codegen import emit
from simulator import simulate
from symlayout import LayoutError, dims
from symlayout.answers.report import Outcome
from symlayout.ck_tile import (
    TensorView,
    copy_views,
    kernel_view,
    make_buffer_view,
    make_naive_tensor_descriptor,
    make_naive_tensor_view,
    make_tensor_view,
    pad_tensor_view,
    transpose_tensor_view,
)
from symlayout.kernel import Builder
from symlayout.kernels import vector_copy
from symlayout.semantics import execute, expect_reference
from tests.support.ck_copies import KERNELS, numbers, packed, padded, sliced, swizzled, transposed
from tests.support.ck_views import lds_tile
from tests.support.compilers import NEEDS_COMPILER

M, N = dims("M N")


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("order", ["eager", "lazy", 1])
def test_a_run_leaves_what_the_views_say(name, order):
    kernel, n = KERNELS[name]()

    expect_reference(kernel.bind(), {"src": numbers(n), "dst": -numbers(int(kernel.tensors[1].layout.size()))}, order)


def test_the_reference_is_that_of_numpy():
    run = execute(transposed()[0].bind(), {"src": numbers(60)})["dst"]
    tile = execute(sliced()[0].bind(), {"src": numbers(100)})["dst"]
    pad = execute(padded()[0].bind(), {"src": numbers(60)})["dst"].reshape(8, 16)

    assert np.array_equal(run.reshape(10, 6), numbers(60).reshape(6, 10).T)
    assert np.array_equal(tile.reshape(5, 5), numbers(100).reshape(10, 10)[2:7, 3:8])
    assert np.array_equal(pad[:6, :10], numbers(60).reshape(6, 10))
    assert pad.sum() == numbers(60).sum()


@pytest.mark.parametrize("name", KERNELS)
def test_copies_between_views_are_proved(name):
    report = prove(KERNELS[name]()[0])
    open_ = [v for v in report.verdicts if v.outcome is not Outcome.PROVED]

    assert report, "\n".join(map(str, open_))


@NEEDS_COMPILER
@pytest.mark.parametrize("name", KERNELS)
def test_copies_between_views_compile(name):
    source = emit(KERNELS[name]()[0])
    code = gpu.compile(source.text, name=f"{name}.cu").kernel(source.name)

    assert len(code.parameters) == 2
    assert code.registers <= 32


def test_a_transpose_is_proved_for_all_sizes():
    a = transpose_tensor_view(make_naive_tensor_view(None, (N, M), (M, 1)))
    kernel = copy_views(a, make_naive_tensor_view(None, (M, N), (N, 1)))

    assert prove(kernel, given=[M * N <= 2**31 - 1])


def test_a_straddling_vector_is_refuted_in_the_kernel_too():
    """Ten elements of a row under vectors of 4: the last vector of the tensor leaves the buffer."""
    kernel = copy_views(pad_tensor_view(packed(6, 10), (6, 12), (False, True)), packed(6, 12), elements=4)
    report = prove(kernel)

    assert any(v.outcome is Outcome.REFUTED and "bounds" in v.claim.kind for v in report.verdicts)


def test_vector_copy_takes_views():
    kernel = vector_copy((packed(16, 32), packed(16, 32)), vector_bytes=16)

    assert kernel.name == "vector_copy"
    assert "ld.global.16" in kernel.text()
    assert prove(kernel)
    expect_reference(kernel.bind(), {"src": numbers(512)})


def test_the_simulator_takes_views():
    kernel, _ = swizzled()
    trace = simulate(kernel.bind(), what_if=False, uncertainty=False)

    assert trace.bytes == 2 * 4 * 512
    assert trace.cycles > 0


def test_a_constant_index_is_a_literal_in_cuda():
    """The access (5, 10) of a 256 x 256 tensor of strides (256, 1)."""
    k = Builder("read", grid=(1,), threads=32)
    tensor = make_tensor_view(None, make_naive_tensor_descriptor((256, 256), (256, 1)))
    a, out = kernel_view(k, "a", tensor), kernel_view(k, "out", packed(32))
    x = k.registers("x", "f32", 1)
    k.copy("ld.global.4", a(5, 10), x())
    k.copy("st.global.4", x(), out(k.thread))

    assert "a + 1290" in emit(k.kernel()).text
    assert "256" not in emit(k.kernel()).text


def test_views_of_shared_memory_and_registers():
    k = Builder("tile", grid=(1,), threads=32)
    tile = TensorView(make_buffer_view(None, 512, space="lds", dtype="bf16"), lds_tile(16, 32, 8))
    s = kernel_view(k, "s", tile)
    r = kernel_view(
        k,
        "r",
        TensorView(make_buffer_view(None, 8, space="vgpr", dtype="bf16"), make_naive_tensor_descriptor((8,), (1,))),
    )

    assert (str(s(1, 8)), str(r(3))) == ("s[24]", "r[3]")
    assert s.valid(1, 8) == ()
    with pytest.raises(LayoutError, match="expected a buffer in global, lds or vgpr"):
        kernel_view(
            k, "g", TensorView(make_buffer_view(None, 8, space="generic"), make_naive_tensor_descriptor((8,), (1,)))
        )


@pytest.mark.parametrize(
    "make, message",
    [
        (
            lambda: copy_views(packed(4, 4), packed(4, 5)),
            r"expected views of the same lengths, got \(4,4\) and \(4,5\)",
        ),
        (lambda: copy_views(packed(4, 4), packed(4, 4, dtype="bf16")), "expected views of one type, got f32 and bf16"),
        (lambda: copy_views(packed(4, 6), packed(4, 6), elements=4), "expected a last length that 4 divides"),
        (
            lambda: copy_views(packed(4, 8), packed(4, 8), elements=8),
            "expected vectors of at most 16 bytes, got 8 of f32",
        ),
        (
            lambda: copy_views(make_naive_tensor_view(None, (8,), (1,), space="lds"), packed(8)),
            "expected views of global memory to copy, got lds buffer",
        ),
    ],
)
def test_copies_that_cannot_be(make, message):
    with pytest.raises(LayoutError, match=message):
        make()


@NEEDS_COMPILER
def test_a_size_may_have_the_name_of_registers():
    """The registers of a copy are x, and so is a size of the view."""
    (x,) = dims("x")
    source = emit(copy_views(make_naive_tensor_view(None, (x,), (2,)), packed(x)))

    assert "float x1[1]" in source.text
    assert gpu.compile(source.text, name="x.cu").kernel(source.name)
