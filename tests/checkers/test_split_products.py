"""Products whose K is split over CTAs: each adds its part of a sum to the output, once."""

from __future__ import annotations

from typing import Any

import pytest

from checkers import Computes, prove
from checkers.claims.updated_once import updated_once
from symlayout import Layout, ceil_div, dims
from symlayout.errors import ClaimError
from symlayout.facts import Facts
from symlayout.kernel import Builder, Kernel
from symlayout.kernel.specification import Value
from symlayout.results import applied, dot, element
from symlayout.semantics.expected import expect_results

M, N, K = dims("M N K", at_most=1 << 16)
PART = 64


def split(
    part: int = PART,
    step: int = PART,
    parts: Any = None,
    loop: Any = None,
    shift: int = 0,
    word: str = "red.global.add.f32",
    value: str = "add",
    again: bool = False,
    of: Any = K,
) -> Kernel:
    """c += a b for row-major a and b: a warp for a row of 32 columns, CTAs along z for parts of K."""
    deep = ceil_div(K, part) if parts is None else parts
    k = Builder("split", M, N, K, grid=(ceil_div(N, 32), M, deep), threads=64 if again else 32)
    a = k.global_tensor("a", "f32", Layout((M, K), (K, 1)))
    b = k.global_tensor("b", "f32", Layout((K, N), (N, 1)))
    c = k.global_tensor("c", "f32", Layout((M, N), (N, 1)))
    x, y, acc = (k.registers(name, "f32", 1) for name in ("x", "y", "acc"))
    bn, m, bk = k.block
    n = 32 * bn + k.thread % 32
    k.fill(acc())
    with k.loop("i", part if loop is None else loop) as i, k.where(n < N):
        at = step * bk + i
        k.copy("ld.global.4", a(K * m + at), x())
        k.copy("ld.global.4", b(N * (at + shift) + n), y())
        k.map("fma", (x(), y(), acc()), acc())
    with k.where(n < N):
        k.copy(word, acc(), c(N * m + n))

    def sums(m: Any, n: Any) -> Value:
        return dot(of, lambda i: (element("a", m, i), element("b", i, n)))

    k.result("c", lambda m, n: applied(value, element("c", m, n), sums(m, n)))
    return k.kernel(K.multiple_of(PART))


def open_lemma(kernel: Kernel) -> str:
    """Why a proof is open, without runs that may refute it."""
    return Computes(kernel, "c").lemma(Facts.about(*kernel.dims, given=kernel.given))


@pytest.mark.parametrize("options", [{}, {"part": 16, "step": 16}, {"part": 32, "step": 32}], ids=str)
def test_each_part_adds_its_products_once(options: dict[str, Any]) -> None:
    kernel = split(**options)
    assert not open_lemma(kernel)
    expect_results(kernel.bind(M=3, N=33, K=128), "lazy")


def test_a_split_product_is_right_for_all_sizes() -> None:
    report = prove(split().assuming(M <= 65535))
    assert report
    kinds = {v.claim.kind for v in report.verdicts}
    assert {"computes", "updated once"} <= kinds
    assert "written once" not in kinds


@pytest.mark.parametrize(
    "options",
    [
        {"step": PART // 2},  # parts overlap
        {"step": 2 * PART},
        {"part": PART // 2, "step": PART // 2, "parts": ceil_div(K, PART)},  # half of the parts
        {"parts": ceil_div(K, PART) + 1},
        {"loop": PART - 1},
        {"loop": K},
        {"shift": 1},
        {"word": "red.global.min.u32"},
        {"word": "st.global.4"},
        {"value": "mul"},
        {"again": True},  # two warps add the same
        {"of": PART},  # only the first part is asked for
    ],
    ids=str,
)
def test_other_splits_are_not_proved(options: dict[str, Any]) -> None:
    assert open_lemma(split(**options))


def test_who_adds_no_products_is_told() -> None:
    with pytest.raises(ClaimError, match="expected threads that add products to 'c'"):
        updated_once(split(word="st.global.4"), "c")
