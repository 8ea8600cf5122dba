"""Persistent kernels take the number of CTAs as a size: one proof, one text, for cards of any number of SMs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from checkers import WrittenOnce, prove
from gpu.codegen import emit
from symlayout import Layout, LayoutError, ceil_div, dim, dims, minimum
from symlayout.expr import maximum
from symlayout.kernel import Builder, Kernel
from symlayout.kernels import bulk_copy, cp_async_copy, gather_rows, gemm, tma_copy, tma_reduce_add, tma_transpose
from symlayout.semantics import expect_reference
from tests.support.kernel_families import inputs
from tests.support.rows import telling

B = dim("B", at_most=1 << 16)
M, N = dims("M N", multiple_of=8, at_most=1 << 16)

FAMILIES: dict[str, tuple[Callable[[], Kernel], dict[str, int]]] = {
    "bulk_copy": (lambda: bulk_copy(N, chunk=64, slots=2, blocks=B), {"N": 264}),
    "cp_async_copy": (lambda: cp_async_copy(N, stages=3, threads=64, blocks=B), {"N": 1032}),
    "gather_rows": (lambda: gather_rows(dim("K"), M, N, tile=(4, 32), slots=2, blocks=B), {"K": 9, "M": 16, "N": 40}),
    "tma_copy": (lambda: tma_copy(M, N, tile=(8, 32), slots=2, blocks=B), {"M": 24, "N": 104}),
    "tma_reduce_add": (lambda: tma_reduce_add(3, M, N, tile=(8, 32), slots=2, blocks=B), {"M": 16, "N": 72}),
    "tma_transpose": (
        lambda: tma_transpose(M, N, dtype="f32", tile=(32, 32), stages=2, blocks=B),
        {"M": 72, "N": 104},
    ),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_a_family_is_proved_for_all_numbers_of_ctas(name: str) -> None:
    build, sizes = FAMILIES[name]
    kernel = build()
    report = prove(kernel)

    assert report, [str(v) for v in report.verdicts if v.outcome.value != "proved"]
    assert "int32_t B" in emit(kernel).text
    for ctas in (1, 3, 20):
        bound = kernel.bind(**sizes, B=ctas)
        assert bound.grid == (ctas,)
        expect_reference(bound, inputs(bound), "lazy")


CONTIGUOUS: dict[str, tuple[Callable[..., Kernel], dict[str, int]]] = {
    "bulk_copy": (lambda b: bulk_copy(N, chunk=64, slots=2, blocks=b, order="contiguous"), {"N": 1048}),
    "tma_copy": (
        lambda b: tma_copy(M, N, tile=(8, 32), slots=2, blocks=b, order="contiguous"),
        {"M": 24, "N": 104},
    ),
    "tma_transpose": (
        lambda b: tma_transpose(M, N, dtype="f32", tile=(32, 32), stages=2, blocks=b, order="contiguous"),
        {"M": 72, "N": 104},
    ),
}


@pytest.mark.parametrize("name", CONTIGUOUS)
@pytest.mark.parametrize("blocks", [B, pytest.param(5, marks=pytest.mark.campaign)], ids=["size", "number"])
def test_a_stretch_of_tiles_for_each_cta_is_proved(name: str, blocks: Any) -> None:
    build, sizes = CONTIGUOUS[name]
    kernel = build(blocks)
    report = prove(kernel)

    assert report, [str(v) for v in report.verdicts if v.outcome.value != "proved"]
    for ctas in (1, 3, 20) if blocks is B else (5,):
        bound = kernel.bind(**sizes, **({"B": ctas} if blocks is B else {}))
        expect_reference(bound, inputs(bound), "lazy")


def stretches(trips: Callable[..., Any], start: Callable[..., Any]) -> Kernel:
    """Stretches of 64 elements for each of 5 CTAs, of a length and from a place on."""
    n = dim("n", at_most=1 << 16)
    k = Builder("stretches", n, grid=(5,), threads=32)
    dst, x = k.global_tensor("dst", "f32", Layout(64 * n)), k.registers("x", "f32", 2)
    k.fill(x(), 1, 2)
    (b,) = k.block
    with k.loop("i", trips(n, b)) as i:
        k.copy("st.global.8", x(), dst(64 * (start(n, b) + i) + 2 * k.thread))
    return k.kernel()


STRETCHES: dict[str, tuple[Callable[..., Any], Callable[..., Any], str]] = {
    "as it should be": (
        lambda n, b: maximum(0, minimum(ceil_div(n, 5), n - ceil_div(n, 5) * b)),
        lambda n, b: ceil_div(n, 5) * b,
        "proved",
    ),
    "a minimum that may be below 0": (
        lambda n, b: minimum(ceil_div(n, 5), n - ceil_div(n, 5) * b),
        lambda n, b: ceil_div(n, 5) * b,
        "proved",
    ),
    "too short": (
        lambda n, b: maximum(0, minimum(n // 5, n - n // 5 * b)),
        lambda n, b: n // 5 * b,
        "refuted",
    ),
    "one too many": (
        lambda n, b: maximum(0, minimum(ceil_div(n, 5) + 1, n - ceil_div(n, 5) * b)),
        lambda n, b: ceil_div(n, 5) * b,
        "refuted",
    ),
    "at least one": (
        lambda n, b: maximum(1, minimum(ceil_div(n, 5), n - ceil_div(n, 5) * b)),
        lambda n, b: ceil_div(n, 5) * b,
        "unknown",  # it writes past the end, which InBounds refutes
    ),
    "one apart": (
        lambda n, b: maximum(0, minimum(ceil_div(n, 5), n - ceil_div(n, 5) * b)),
        lambda n, b: (ceil_div(n, 5) + 1) * b,
        "refuted",
    ),
}


@pytest.mark.parametrize("name", STRETCHES)
def test_stretches_that_miss_or_repeat_elements_are_refuted(name: str) -> None:
    trips, start, outcome = STRETCHES[name]
    (v,) = prove(WrittenOnce(stretches(trips, start), "dst")).verdicts

    assert v.outcome.value == outcome, str(v)


def test_a_schedule_that_there_is_not_is_named() -> None:
    with pytest.raises(LayoutError, match="expected an order of tiles of strided, contiguous, got 'zigzag'"):
        tma_copy(M, N, blocks=3, order="zigzag")


@pytest.mark.parametrize("cluster", telling([1, 2], 2))
def test_a_product_is_proved_for_all_numbers_of_clusters(cluster: int) -> None:
    n = dim("clusters", at_most=1 << 14)
    sizes = dims("M N K", multiple_of=8, at_most=1 << 16)
    kernel = gemm(*sizes, tile=(64, 64), stages=2, cluster=cluster, blocks=cluster * n)
    report = prove(kernel)

    assert report, [str(v) for v in report.verdicts if v.outcome.value != "proved"]
    assert kernel.bind(M=64, N=64, K=64, clusters=3).grid == (3 * cluster,)


def test_ctas_of_a_product_are_whole_clusters() -> None:
    with pytest.raises(LayoutError, match="expected blocks in whole clusters of 2, got n; such as 2"):
        gemm(M, N, M, cluster=2, blocks=dim("n"))
