"""Operations of a kernel in small kernels of one idea each: conditions, widths, sizes, tensor reductions; all of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from symlayout import Layout, dim, dims
from symlayout.errors import AssumptionError, ExecutionError, LayoutError
from symlayout.kernel import Builder
from symlayout.kernels import gemm, row_sum, tma_reduce_add, vector_copy
from symlayout.ops import If, Let, LoadIndex, Op, Reduce, Shuffle, Wait
from symlayout.semantics import execute, expect_reference
from symlayout.tma import TensorMap
from tests.support.kernel_families import BY_WORD
from tests.symlayout.test_vocabulary import ORDERS

# -- conditions ----------------------------------------------------------------------------------------------


def test_otherwise_is_the_contrary():
    N = dim("N")
    k = Builder("both", N, grid=(1,), threads=32)
    r = k.registers("r", "u32", 1)
    with k.where(k.thread + 3 < N):
        k.fill(r(), 1)
    with k.otherwise():
        k.fill(r(), 2)
    one, other = k.kernel().body
    assert isinstance(one, If)
    assert isinstance(other, If)
    for n in (1, 3, 20, 40):
        for t in range(32):
            env = {"N": n, "thread": t}
            assert all(f.at(env) for f in one.condition) != all(f.at(env) for f in other.condition)


def test_otherwise_follows_a_condition_of_one_inequality():
    k = Builder("both", dim("N"), grid=(1,), threads=32)
    message = "expected a condition of one inequality just before, got"
    with pytest.raises(LayoutError, match=f"{message} nothing"), k.otherwise():
        pass
    with k.where(k.thread < 3, k.thread < dim("N")):
        pass
    with pytest.raises(LayoutError, match=message), k.otherwise():
        pass
    with k.where(k.thread.multiple_of(2)):
        pass
    with pytest.raises(LayoutError, match=message), k.otherwise():
        pass


# -- widths and sizes ----------------------------------------------------------------------------------------


def test_the_width_of_indices_is_in_the_text():
    wide = replace(row_sum(*dims("M N"), dim("ld", at_least=dim("N"))), index_bits=64)
    assert "256 threads, indices of 64 bits" in wide.text()
    assert vector_copy(dim("N")).index_bits == 32
    assert "  64 bits: 512*block_x + 4*thread + 4\n" in vector_copy(dim("N")).text()
    with pytest.raises(LayoutError, match="expected indices of 32 or 64 bits, got 16"):
        Builder("t", grid=(1,), threads=32, index_bits=16).kernel()


@pytest.mark.parametrize(
    "kernel, sizes, message",
    [
        (
            vector_copy(dim("N", at_least=0)),
            {"N": 0},
            "expected N >= 1, since src has no elements otherwise, got N = 0",
        ),
        (
            gemm(*dims("M N"), dim("K", at_least=0)),
            {"M": 8, "N": 8, "K": 0},
            "expected K >= 1, since a has no elements",
        ),
        (gemm(dim("M", at_least=0), *dims("N K")), {"M": 0, "N": 8, "K": 8}, "M >= 1.*launch gemm only where M >= 1"),
    ],
)
def test_a_size_of_zero_says_what_to_do(kernel, sizes, message):
    with pytest.raises(AssumptionError, match=message):
        kernel.bind(**sizes)


def test_an_empty_grid_is_not_launched_and_an_empty_loop_runs():
    n = dim("n", at_least=0)
    k = Builder("turns", n, grid=(1,), threads=32)
    dst, r = k.global_tensor("dst", "u32", Layout(32)), k.registers("r", "u32", 1)
    k.fill(r(), 5)
    with k.loop("i", n):
        k.fill(r(), 6)
    k.copy("st.global.4", r(), dst(k.thread))
    kernel = k.kernel()
    assert [execute(kernel.bind(n=x), {})["dst"][0] for x in (0, 1)] == [5, 6]

    empty = Builder("none", n, grid=(n,), threads=32).kernel()
    with pytest.raises(
        LayoutError, match=r"expected a grid of at least one block, got \(0,\); do not launch none then"
    ):
        execute(empty.bind(n=0), {})


# -- tensor reductions ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(
    "dtype, function", [("f32", "add"), ("u32", "min"), ("i32", "max"), ("f16", "max"), ("bf16", "add")]
)
def test_parts_are_joined(dtype, function, order):
    kernel = tma_reduce_add(*dims("S M N"), dtype=dtype, function=function, tile=(8, 16), slots=2, blocks=3)
    bound = kernel.bind(S=3, M=11, N=40)
    draw, kind = np.random.default_rng(4), bound.tensor("src").dtype.numpy()
    low = 0 if dtype.startswith("u") else -9
    given = {
        "src": draw.integers(low, 9, (3, 11, 40)).astype(kind),
        "dst": draw.integers(low, 9, (11, 40)).astype(kind),
    }

    expect_reference(bound, given, order)


def test_nothing_is_added_to_what_was_never_written():
    bound = tma_reduce_add(*dims("S M N"), tile=(8, 16), slots=2, blocks=1).bind(S=1, M=8, N=16)
    with pytest.raises(ExecutionError, match="updates poison of dst: dst was never written there"):
        execute(bound, {"src": np.zeros((1, 8, 16), np.float32)})


def test_types_that_are_not_reduced_fault():
    k = Builder("min", grid=(1,), threads=32)
    x = k.global_tensor("x", "f32", Layout((4, 4)))
    boxes = k.tensor_map("m", x(), TensorMap.over(Layout((4, 4)), "f32", (4, 4)))
    tile = k.shared_tensor("tile", "f32", Layout(16))
    with k.elect():
        k.fill(tile(), 0, 16)
        k.fence("async")
        k.copy("tma.reduce.min", tile(), boxes(0, 0))
        k.commit("bulk")
        k.wait_group("bulk")
    with pytest.raises(ExecutionError, match=r"tma.reduce.min tile -> m\(0,0\): .*reduc"):
        execute(k.kernel(), {"x": np.zeros((4, 4), np.float32)})


def test_a_reduction_of_unwritten_shared_memory_is_caught():
    kernel = tma_reduce_add(*dims("S M N"), tile=(8, 16), slots=2, blocks=1)
    without = kernel.edited(lambda op: () if isinstance(op, Wait) and op.barrier.barrier == "full" else (op,))
    given = {"src": np.zeros((1, 8, 16), np.float32), "dst": np.zeros((8, 16), np.float32)}
    with pytest.raises(ExecutionError, match=r"tma.reduce.add .*(was under way|never written)"):
        execute(without.bind(S=1, M=8, N=16), given, "lazy")


# -- all of them ---------------------------------------------------------------------------------------------


def test_an_operation_that_nobody_runs_is_named():
    class Unheard(Op):
        pass

    k = Builder("t", grid=(1,), threads=32)
    k.add(Unheard())
    with pytest.raises(ExecutionError, match="expected an operation that can be run, got a Unheard"):
        execute(k.kernel(), {})


def test_the_words_of_the_new_operations():
    words = {type(op) for word in ("row_sum", "gather_rows") for op in BY_WORD[word].build().walk()}
    assert {Reduce, Let, LoadIndex} <= words
    assert str(Shuffle("up", *(BY_WORD["row_sum"].build().body[-2].src,) * 2, 3)) == "shfl.up part -> part x1 by 3"
