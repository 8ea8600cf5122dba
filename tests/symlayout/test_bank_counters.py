"""Bank wavefronts as an H200 counts them, for each stored access pattern, swizzled, padded and vectorised ones included."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from symlayout.banks import ldmatrix_rows, load_wavefronts, wavefronts

ROWS = Path(__file__).parents[2] / "benchmarks/results/microbenchmarks/bank_wavefronts.jsonl"
COUNTED = [json.loads(line) for line in ROWS.read_text().splitlines()]


def test_there_are_patterns_of_each_kind():
    names = " ".join(r["pattern"] for r in COUNTED)

    assert len(COUNTED) >= 100
    assert all(word in names for word in ("swizzle", "padded", "load_16", "store_8", "ldmatrix_trans", "stmatrix"))


@pytest.mark.parametrize("word", ["load", "store", "ldmatrix", "ldmatrix_trans", "stmatrix"])
def test_wavefronts_are_those_that_the_hardware_counts(word):
    for row in COUNTED:
        kind, _, width = row["kernel"].rpartition("_")
        if kind != word:
            continue
        at = row["addresses"]
        if kind == "load":
            predicted = load_wavefronts(at, int(width))
        elif kind == "store":
            predicted = sum(wavefronts(at, int(width)))
        else:
            predicted = sum(ldmatrix_rows(at[: 8 * int(width)]))
        assert (row["pattern"], predicted * row["instructions"]) == (row["pattern"], row["loads"] + row["stores"])


def test_pairs_of_lanes_matter_for_loads_alone():
    pairs = [16 * (lane // 2) for lane in range(32)]

    assert (load_wavefronts(pairs, 16), sum(wavefronts(pairs, 16))) == (2, 4)
    assert load_wavefronts([64 if lane == 5 else a for lane, a in enumerate(pairs)], 16) == 4
