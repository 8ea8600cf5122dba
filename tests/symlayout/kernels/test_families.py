"""Each kernel family, at ten sizes and under five orders, ends with the bytes of its reference; its text is kept.

The orders share the sizes out, and take all of them with ``--campaign``.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from symlayout.semantics import execute, expect_reference
from tests.support.kernel_families import FAMILIES, ORDERS, inputs

SIZES = {"eager": (0,), "lazy": (0, 1, 3), 1: (2,), 2: (3,), 3: (4,)}  # of each five, those of an order

GOLDEN = Path(__file__).parent / "golden"
REFRESH = "SYMLAYOUT_REFRESH_GOLDEN"  # set it to write the files anew


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.word)
def test_a_family_computes_its_reference(family, order, share):
    kernel = family.build()
    assert len(family.sizes) == 10

    for sizes in (sizes for i, sizes in enumerate(family.sizes) if i % 5 in SIZES[order] or share(2) == 2):
        bound = kernel.bind(**sizes)
        expect_reference(bound, inputs(bound), order)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.word)
def test_the_text_of_a_family(family):
    text, path = family.build().text() + "\n", GOLDEN / f"{family.word}.txt"
    if os.environ.get(REFRESH):
        path.write_text(text)

    assert path.read_text() == text, f"set {REFRESH}=1 to write it anew"


def test_a_run_is_reproducible():
    family = next(f for f in FAMILIES if f.word == "tma_transpose")
    bound = family.build().bind(M=136, N=136)

    first, second = (execute(bound, inputs(bound), 7)["dst"].tobytes() for _ in range(2))

    assert first == second
