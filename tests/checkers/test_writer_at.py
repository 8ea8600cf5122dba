"""Who writes an element, by numbers alone: the same operation as an untimed run saw, for every family."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from checkers.claim import TooLarge
from checkers.coverage.writes import writer_at
from symlayout import Layout, dims
from symlayout.kernel import Builder
from symlayout.kernels import gemm, tma_copy, vector_copy
from symlayout.semantics.execute import run
from tests.support.kernel_families import FAMILIES, inputs

PLACES = 12  # of each output that are asked for


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.word)
def test_it_is_the_operation_that_a_run_saw(family: Any) -> None:
    draw, bound = random.Random(1), family.build().bind(**family.sizes[-1]).plain
    machine = run(bound, inputs(bound), "eager")
    for name in bound.written:
        layout = bound.tensor(name).layout
        for i in {0, int(layout.size()) - 1, *(draw.randrange(int(layout.size())) for _ in range(PLACES))}:
            offset = int(layout.offsets()[i])
            at = np.unravel_index(i, machine.memory[name].get().shape, order="F")
            saw = machine.memory[name].written_by(tuple(int(x) for x in at)).removeprefix("written by ")
            assert writer_at(bound, name, offset).startswith(saw + ", CTA")


def test_large_sizes_are_looked_at_some_ctas_at_a_time() -> None:
    bound = vector_copy(dims("N")[0]).bind(N=(1 << 23) - 1)

    assert writer_at(bound, "dst", (1 << 23) - 2) == (
        "st.global.4 x -> dst[512*block_x + j + 4*thread], CTA 16383, thread 127, j = 2"
    )


def test_tiles_of_a_product_are_found_in_clusters() -> None:
    bound = gemm(*dims("M N K", at_most=1 << 20)).bind(M=2048, N=2048, K=64)

    assert "tma.store buffer" in writer_at(bound, "c", 2000 * 2048 + 77)
    assert ", CTA 15, thread 160, wave = 0" in writer_at(bound, "c", 2000 * 2048 + 77)


def test_nobody_writes_what_no_box_covers() -> None:
    k = Builder("half", grid=(1,), threads=32)
    x, r = k.global_tensor("x", "f32", Layout(64)), k.registers("r", "f32", 1)
    k.fill(r())
    k.copy("st.global.4", r(), x(k.thread))

    assert writer_at(k.kernel(), "x", 31).endswith("CTA 0, thread 31")
    assert writer_at(k.kernel(), "x", 32) == ""


def test_a_grid_that_takes_too_long_is_said() -> None:
    with pytest.raises(TooLarge, match="CTAs are more than the 131072 that are looked at"):
        writer_at(tma_copy(*dims("M N"), tile=(1, 16)).bind(M=1 << 14, N=1 << 10), "dst", 0)
