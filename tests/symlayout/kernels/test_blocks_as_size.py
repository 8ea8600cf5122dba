"""Persistent kernels take the number of CTAs as a size: one proof, one text, for cards of any number of SMs."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from checkers import prove
from gpu.codegen import emit
from symlayout import dim, dims
from symlayout.kernel import Kernel
from symlayout.kernels import bulk_copy, cp_async_copy, gather_rows, tma_copy, tma_reduce_add, tma_transpose
from symlayout.semantics import expect_reference
from tests.support.kernel_families import inputs

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
