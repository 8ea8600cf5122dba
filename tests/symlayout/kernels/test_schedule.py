"""Kernels with a CTA for each tile, as they are by default: proved for all sizes, and equal to their references."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from checkers import prove
from symlayout import dim, dims
from symlayout.kernel import Kernel
from symlayout.kernels import bulk_copy, cp_async_copy, tma_copy, tma_transpose
from symlayout.kernels.families import family
from symlayout.ops import For
from symlayout.semantics import expect_reference
from tests.support.kernel_families import inputs
from tests.support.rows import telling

N = dim("N")
KERNELS: dict[str, tuple[Callable[[], Kernel], tuple[dict[str, int], ...]]] = {
    "bulk_copy": (lambda: bulk_copy(N, chunk=256), ({"N": 4}, {"N": 256}, {"N": 1028})),
    "cp_async_copy": (lambda: cp_async_copy(N, threads=32), ({"N": 4}, {"N": 512}, {"N": 1156})),
    "tma_copy": (lambda: tma_copy(*dims("M N"), tile=(8, 32)), ({"M": 1, "N": 4}, {"M": 24, "N": 100})),
    "tma_transpose": (lambda: tma_transpose(*dims("M N")), ({"M": 8, "N": 8}, {"M": 264, "N": 136})),
    "tma_transpose_f32": (lambda: tma_transpose(*dims("M N"), dtype="f32"), ({"M": 132, "N": 68},)),
    "tma_transpose_narrow": (lambda: tma_transpose(*dims("M N"), tile=(32, 32), swizzle=128), ({"M": 40, "N": 72},)),
}


@pytest.mark.parametrize("name", telling(KERNELS, *KERNELS.keys() - {"tma_transpose_f32"}))
def test_a_cta_for_each_tile_is_proved_and_leaves_the_bytes_of_the_reference(name: str) -> None:
    build, sizes = KERNELS[name]
    kernel = build()
    report = prove(kernel)
    if report.repairs:
        kernel = kernel.assuming(*report.repairs)
        report = prove(kernel)

    assert report
    for at in sizes:
        bound = kernel.bind(**at)
        for order in ("eager", "lazy", 1):
            expect_reference(bound, inputs(bound), order)


def test_the_grid_has_a_cta_for_each_tile() -> None:
    kernel = tma_copy(*dims("M N"), tile=(8, 32))

    assert not any(isinstance(op, For) for op in kernel.walk())
    assert kernel.bind(M=17, N=100).grid == (3 * 4,)
    assert cp_async_copy(N, threads=32, each=3).bind(N=1156).grid == (4,)


def test_tiles_of_a_transposition_follow_one_another_along_rows_of_the_output() -> None:
    """So that concurrent CTAs write whole rows."""
    (store, *_) = [op for op in tma_transpose(*dims("M N")).walk() if getattr(op, "atom", "") == "tma.store"]
    m, n = (x.subs({s: {"M": 256, "N": 128, "block_x": 1}[s.name] for s in x.symbols}) for x in store.dst.coordinate)

    assert (m, n) == (128, 0)


@pytest.mark.parametrize(
    "option, text, value", [("blocks", "none", None), ("blocks", "132", 132), ("tile", "8x32", (8, 32))]
)
def test_an_option_without_a_usual_number_is_none_or_an_integer(option: str, text: str, value: Any) -> None:
    of = family("tma_copy")

    assert of.read(option, text) == value
    assert "blocks=none" in str(of)
