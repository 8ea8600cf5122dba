"""Products and sums under conditions, as people write them first: a thread for each element, tiles with zeros at edges."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import pytest

from checkers import Computes
from symlayout import Layout, ceil_div, dims
from symlayout.facts import Facts
from symlayout.kernel import Builder, Kernel
from symlayout.results import applied, dot, element, scalar, total
from symlayout.semantics.expected import expect_results

M, N, K = dims("M N K", at_most=1 << 12)
T = 4


def open_lemma(kernel: Kernel, name: str = "c") -> str:
    """Why a proof is open, without runs that may refute it."""
    return Computes(kernel, name).lemma(Facts.about(*kernel.dims, given=kernel.given))


def operands(k: Builder) -> tuple[Any, Any, Any]:
    return (
        k.global_tensor("a", "f32", Layout((M, K), (K, 1))),
        k.global_tensor("b", "f32", Layout((K, N), (N, 1))),
        k.global_tensor("c", "f32", Layout((M, N), (N, 1))),
    )


def naive(
    *,
    start: float | None = 0,
    filled: Any = lambda m, n: (m < M, n < N),
    inside: Any = None,
    trips: Any = K,
    picked: bool = False,
    twice: bool = False,
) -> Kernel:
    """A thread for each element of c = alpha a b; *inside* is a condition about the iteration."""
    k = Builder("naive", M, N, K, grid=(ceil_div(N, 8), ceil_div(M, 4)), threads=32)
    (a, b, c), alpha = operands(k), k.parameter("alpha", "f32")
    flags = k.global_tensor("flags", "i32", Layout(K)) if picked else None
    x, y, acc = (k.registers(name, "f32", 1) for name in ("x", "y", "acc"))
    bn, bm = k.block
    m, n = 4 * bm + k.thread // 8, 8 * bn + k.thread % 8
    if start is not None:
        with k.where(*filled(m, n)):
            k.fill(acc(), start)
    with k.where(m < M, n < N):
        with k.loop("i", trips) as i:
            flag = k.load_index("flag", flags(i), within=(0, 2)) if flags else 1
            with k.where(inside(i)) if inside else k.where(flag >= 1) if picked else nullcontext():
                k.copy("ld.global.4", a(K * m + i), x())
                k.copy("ld.global.4", b(N * i + n), y())
                k.map("fma", (x(), y(), acc()), acc())
        if twice:
            with k.loop("j", 1 + M % 2):
                k.map("fma", (x(), y(), acc()), acc())
        if flags:
            with k.loop("i", K) as i, k.where(k.load_index("last", flags(i), within=(0, 2)) >= 1):
                k.copy("st.global.4", acc(), c(N * m + n))
        else:
            k.map("mul", (alpha, acc()), acc())
            k.copy("st.global.4", acc(), c(N * m + n))

    def value(m: Any, n: Any) -> Any:
        sums = dot(K, lambda i: (element("a", m, i), element("b", i, n)))
        return sums if picked else applied("mul", scalar(alpha), sums)

    k.result("c", value)
    return k.kernel()


def test_a_thread_for_each_element() -> None:
    assert not open_lemma(naive())
    assert not open_lemma(naive(filled=lambda m, n: ()))
    assert not open_lemma(naive(filled=lambda m, n: (n < N,)))
    expect_results(naive().bind(M=5, N=9, K=3), "lazy")


@pytest.mark.parametrize(
    "options",
    [
        {"start": None},
        {"start": 1},
        {"filled": lambda m, n: (m < M - 1, n < N)},
        {"filled": lambda m, n: (m + n < M,)},
        {"inside": lambda i: i < K - 1},
        {"inside": lambda i: i >= 1},
        {"trips": K - 1},
        {"trips": 1},
        {"picked": True},  # only the iterations are summed that memory names, wherever the last of them stores
        {"twice": True},
    ],
    ids=lambda o: next(iter(o)),
)
def test_other_sums_under_conditions_are_not_proved(options: dict[str, Any]) -> None:
    assert open_lemma(naive(**options))


def tiled(
    *,
    before: float | None = 0,
    rows: Any = M,
    depth: Any = K,
    depth_b: Any = K,
    first: int = 0,
    turned: bool = False,
    only_a: bool = False,
) -> Kernel:
    """The product by tiles in shared memory, whose places outside of the tensors are zeros."""
    k = Builder("tiled", M, N, K, grid=(ceil_div(N, T), ceil_div(M, T)), threads=32)
    (a, b, c), layout = operands(k), Layout((T, T), (T, 1))
    ta, tb = (k.shared_tensor(name, "f32", layout) for name in ("ta", "tb"))
    x, y, acc = (k.registers(name, "f32", 1) for name in ("x", "y", "acc"))
    bn, bm = k.block
    ty, tx = k.thread // T, k.thread % T
    m, n = T * bm + ty, T * bn + tx
    with k.where(k.thread < T * T):
        k.fill(acc())
    with k.loop("i", ceil_div(K, T)) as i:
        with k.where(k.thread < T * T):
            if before is not None:
                k.fill(x(), before)
                k.fill(y(), before)
            with k.where(m < rows, T * i + tx < depth):
                k.copy("ld.global.4", a(K * m + T * i + tx + first), x())
            with k.where(n < N) if only_a else k.where(n < N, T * i + ty < depth_b):
                k.copy("ld.global.4", b(N * (T * i + ty) + n), y())
            k.copy("st.shared.4", x(), ta(T * ty + tx))
            k.copy("st.shared.4", y(), tb(T * tx + ty if turned else T * ty + tx))
        k.sync()
        with k.where(k.thread < T * T), k.loop("j", T, unroll="full") as j:
            k.copy("ld.shared.4", ta(T * ty + j), x())
            k.copy("ld.shared.4", tb(T * j + tx), y())
            k.map("fma", (x(), y(), acc()), acc())
        k.sync()
    with k.where(k.thread < T * T, m < M, n < N):
        k.copy("st.global.4", acc(), c(N * m + n))
    k.result("c", lambda m, n: dot(K, lambda i: (element("a", m, i), element("b", i, n))))
    return k.kernel()


def test_tiles_with_zeros_at_the_edges() -> None:
    assert not open_lemma(tiled())
    expect_results(tiled().bind(M=5, N=3, K=6), "lazy")


@pytest.mark.parametrize(
    "options",
    [
        {"before": None},  # what an iteration before has left
        {"before": 1},
        {"rows": M - 1},
        {"depth": K - 1},
        {"depth_b": K - 2},
        {"depth": K // 2},
        {"first": 1},
        {"turned": True},
        {"only_a": True},  # a zero times what lies behind b
    ],
    ids=str,
)
def test_other_tiles_are_not_proved(options: dict[str, Any]) -> None:
    assert open_lemma(tiled(**options))


def rows(function: str = "max", start: float = float("-inf"), inside: bool = False) -> Kernel:
    """A thread for each row, all under one condition."""
    k = Builder("rows", M, N, grid=(ceil_div(M, 32),), threads=32)
    src, dst = k.global_tensor("src", "f32", Layout((M, N), (N, 1))), k.global_tensor("dst", "f32", Layout(M))
    x, acc, row = k.registers("x", "f32", 1), k.registers("acc", "f32", 1), 32 * k.block[0] + k.thread
    with k.where(row < M):
        k.fill(acc(), start)
        with k.loop("j", N) as j, k.where(j < N - 1) if inside else nullcontext():
            k.copy("ld.global.4", src(N * row + j), x())
            k.map(function, (acc(), x()), acc())
        k.copy("st.global.4", acc(), dst(row))
    k.result("dst", lambda m: total(N, lambda n: element("src", m, n), function))
    return k.kernel()


def test_folds_that_begin_under_a_condition() -> None:
    assert not open_lemma(rows(), "dst")
    assert not open_lemma(rows("add", 0.0), "dst")
    assert open_lemma(rows("add", 1.0), "dst")
    assert open_lemma(rows("max", 0.0), "dst")
    assert open_lemma(rows(inside=True), "dst")
