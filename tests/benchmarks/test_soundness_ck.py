"""The claims about views and distributions against careless graphs of transforms, in upstream's arithmetic."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest

from benchmarks.soundness import ck_oracle
from benchmarks.soundness.campaign import trials
from benchmarks.soundness.ck_tile import ROWS, descriptor
from benchmarks.soundness.row import stated
from symlayout.errors import SymlayoutError
from symlayout.transforms import TRANSFORMS

COUNTS = {"static": 30, "symbolic": 8}


@pytest.mark.parametrize("mode", COUNTS)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_no_verdict_is_contradicted(row, mode):
    counts, wrong = trials(row, mode, COUNTS[mode], "quick", solver_ms=100, repairs=False)

    assert wrong == []
    assert min(counts["proved"], counts["refuted"]) > 2 or mode == "symbolic"
    assert counts["proved"] + counts["refuted"] > 0.5 * COUNTS[mode]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_an_oracle_that_says_the_opposite_is_noticed(row):
    lying = replace(row, holds=lambda claim, env: not row.holds(claim, env))
    _, wrong = trials(lying, "static", 10, "quick")

    assert len(wrong) > 2


def test_careless_graphs_have_every_transform_and_break_their_rules():
    rng, kinds, broken = random.Random(5), Counter[str](), 0
    for _ in range(300):
        try:
            d = descriptor(rng, False)
        except SymlayoutError:
            continue
        kinds.update(t.kind for t in d.graph.transforms)
        broken += not ck_oracle.legal(d, {})

    assert {t.kind for t in TRANSFORMS} <= set(kinds)
    assert 50 < broken < 250


def test_windows_are_among_the_subjects():
    rng = random.Random(3)
    row = next(row for row in ROWS if row.name == "NoInvalidAccess")
    names = [str(c) for claim in (stated(row.static, rng) for _ in range(40)) for c in claim.layout.coords]

    assert {"b0", "lane", "y0"} <= set(names)
