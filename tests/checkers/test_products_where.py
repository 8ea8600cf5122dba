"""Products under a condition about k: where it fails, both factors are outside of their tensors, as if they were zeros."""

from __future__ import annotations

from typing import Any

import pytest

from checkers import Computes
from symlayout import Layout, ceil_div, dims
from symlayout.errors import ExecutionError
from symlayout.expr import select
from symlayout.facts import Facts
from symlayout.kernel import Builder, Kernel
from symlayout.results import dot, element
from symlayout.semantics.expected import expect_results

M, N, K = dims("M N K", at_most=1 << 12)
STEP = 4  # of k in an iteration


def open_lemma(kernel: Kernel) -> str:
    """Why a proof is open, without runs that may refute it."""
    return Computes(kernel, "c").lemma(Facts.about(*kernel.dims, given=kernel.given))


def product(
    *,
    where: Any = lambda i, m, n: (i < K,),
    loads: Any = None,
    loads_b: Any = None,
    depth_a: Any = K,
    by_columns: bool = False,
    begun: Any = lambda m, n: (),
    start: float = 0,
    again: Any = None,
    depth_b: Any = K,
    iterations: Any = None,
    columns: Any = None,
) -> Kernel:
    """A thread for each element of c, which takes STEP products an iteration, each if k is one."""
    k = Builder("padded", M, N, K, grid=(ceil_div(N, 8), ceil_div(M, 4)), threads=32)
    a = k.global_tensor("a", "f32", Layout((M, depth_a), (1, M) if by_columns else (depth_a, 1)))
    b = k.global_tensor("b", "f32", Layout((depth_b, N), (N, 1)))
    c = k.global_tensor("c", "f32", Layout((M, N), (N, 1)))
    x, y, acc = (k.registers(name, "f32", 1) for name in ("x", "y", "acc"))
    bn, bm = k.block
    m, n = 4 * bm + k.thread // 8, 8 * bn + k.thread % 8
    with k.where(*begun(m, n)):
        k.fill(acc(), start)
    with k.where(m < M, n < N):
        with (
            k.loop("step", ceil_div(K, STEP) if iterations is None else iterations) as step,
            k.loop("j", STEP, unroll="full") as j,
        ):
            i = STEP * step + j
            k.fill(x())
            with k.where(*(loads or where)(i, m, n)):
                k.copy("ld.global.4", a(m + M * i if by_columns else depth_a * m + i), x())
            with k.where(*(loads_b or loads or where)(i, m, n)):
                k.copy("ld.global.4", b(N * i + (n if columns is None else columns(n))), y())
            with k.where(*where(i, m, n)):
                k.map("fma", (x(), y(), acc()), acc())
            if again:
                with k.where(*again(i, m, n)):
                    k.map("fma", (x(), y(), acc()), acc())
        k.copy("st.global.4", acc(), c(N * m + n))
    k.result("c", lambda m, n: dot(K, lambda i: (element("a", m, i), element("b", i, n))))
    return k.kernel()


def test_each_k_under_a_condition() -> None:
    assert not open_lemma(product())
    assert not open_lemma(product(begun=lambda m, n: (m < M,)))
    assert not open_lemma(product(iterations=ceil_div(K, STEP) + 1))
    assert not open_lemma(product(by_columns=True))
    for sizes in ({"M": 5, "N": 9, "K": 3}, {"M": 1, "N": 1, "K": 9}, {"M": 4, "N": 8, "K": 8}):
        expect_results(product().bind(**sizes), "lazy")


@pytest.mark.parametrize(
    "options",
    [
        {"where": lambda i, m, n: (i < K - 1,)},
        {"where": lambda i, m, n: (i < K, i >= 1)},
        {"where": lambda i, m, n: (i < K, i < M)},
        {"where": lambda i, m, n: (i + m < K,)},
        {"where": lambda i, m, n: (2 * i < K,)},
        {"where": lambda i, m, n: (i < K + 1,)},  # beyond both
        {"where": lambda i, m, n: (), "by_columns": True},  # beyond both, too
        {
            "where": lambda i, m, n: (),
            "loads": lambda i, m, n: (i < K,),
            "loads_b": lambda i, m, n: (),
            "by_columns": True,
        },
        {
            "where": lambda i, m, n: (i < K + STEP,),
            "depth_a": K + STEP,
            "depth_b": K + STEP,
            "iterations": ceil_div(K, STEP) + 1,
            "by_columns": True,
        },
        {"loads": lambda i, m, n: (i < K - 1,)},  # the last product is of those before
        {"loads": lambda i, m, n: (i < K, i < N)},
        {"begun": lambda m, n: (m < M - 1,)},
        {"start": 1},
        {"again": lambda i, m, n: (i < K,)},
        {"depth_b": K + STEP},  # where a is at its end, b is not: what it multiplies may be infinite, or counts
        {"depth_b": K - 1},
        {"iterations": K // STEP},
        {"columns": lambda n: n // 2},
    ],
    ids=lambda o: "-".join(o),
)
def test_other_sums_are_not_proved(options: dict[str, Any]) -> None:
    assert open_lemma(product(**options))


def one_product(fills: Any, multiplies: Any, at: Any = 5) -> Kernel:
    """c = a b over K of at most 8, by one product under conditions *multiplies* about K, the sum begun under *fills*."""
    k = Builder("one", M, N, K, grid=(ceil_div(N, 8), ceil_div(M, 4)), threads=32)
    a, b = k.global_tensor("a", "f32", Layout((M, K), (K, 1))), k.global_tensor("b", "f32", Layout((K, N), (N, 1)))
    c, (x, y, acc) = (
        k.global_tensor("c", "f32", Layout((M, N), (N, 1))),
        (k.registers(name, "f32", 1) for name in ("x", "y", "acc")),
    )
    bn, bm = k.block
    m, n = 4 * bm + k.thread // 8, 8 * bn + k.thread % 8
    with k.where(m < M, n < N):
        with k.where(*fills):
            k.fill(acc())
        for i in range(at + 1):
            with k.where(*multiplies(i)):
                k.copy("ld.global.4", a(K * m + i), x())
                k.copy("ld.global.4", b(N * i + n), y())
                k.map("fma", (x(), y(), acc()), acc())
        k.copy("st.global.4", acc(), c(N * m + n))
    k.result("c", lambda m, n: dot(K, lambda i: (element("a", m, i), element("b", i, n))))
    return k.kernel().assuming(at + 1 >= K)


def test_what_is_added_to_is_there_where_nothing_is_added() -> None:
    assert not open_lemma(one_product((), lambda i: (i < K,)))
    assert open_lemma(one_product((K > 3,), lambda i: (i < K, K > 3)))
    assert open_lemma(one_product((K > 3,), lambda i: (i < K,)))


def loaded(extent: Any) -> Kernel:
    """c = a(M), loaded where M < N over a zero."""
    k = Builder("loaded", M, N, grid=(1,), threads=32)
    a, c = k.global_tensor("a", "f32", Layout(extent)), k.global_tensor("c", "f32", Layout(2))
    x = k.registers("x", "f32", 1)
    k.fill(x())
    with k.where(M < N):
        k.copy("ld.global.4", a(M), x())
    with k.where(k.thread < 2):
        k.copy("st.global.4", x(), c(k.thread))
    k.result("c", lambda i: element("a", M))
    return k.kernel().assuming(extent >= M + 1)


def test_a_condition_that_fails_is_not_known_there() -> None:
    """With M < N the tensor has N elements, without it 4 M: M is not outside where it is left out."""
    kernel = loaded(select(M < N, N, 4 * M))

    assert open_lemma(kernel)
    with pytest.raises(ExecutionError, match=r"expected 6006\.0, got 0\.0"):
        expect_results(kernel.bind(M=5, N=3), "lazy")


def test_several_conditions_that_fail_are_not_known() -> None:
    """Where one of two conditions fails, a mode of the tensor ends before the element; where both do, neither does."""
    P, Q = dims("P Q", at_most=1 << 12)
    k = Builder("both", M, N, P, Q, grid=(1,), threads=32)
    shape = select(Q < N, M, 4 * P), select(P < M, N, 4 * Q)
    a, c = k.global_tensor("a", "f32", Layout(shape, (1 << 15, 1))), k.global_tensor("c", "f32", Layout(2))
    x = k.registers("x", "f32", 1)
    k.fill(x())
    with k.where(P < M, Q < N):
        k.copy("ld.global.4", a((P << 15) + Q), x())
    with k.where(k.thread < 2):
        k.copy("st.global.4", x(), c(k.thread))
    k.result("c", lambda i: element("a", P, Q))
    kernel = k.kernel().assuming(shape[0] >= P + 1, shape[1] >= Q + 1)

    assert open_lemma(kernel)
    with pytest.raises(ExecutionError, match=r"expected .*, got 0\.0"):
        expect_results(kernel.bind(M=3, N=4, P=5, Q=6), "lazy")
