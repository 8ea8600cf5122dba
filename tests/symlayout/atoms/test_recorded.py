"""What an H200 (driver 580.159.04) left in registers and shared memory, case by case: the semantics leave the same.

The rows are those of ``benchmarks/hardware/matrix_probe.py``: 400 pairs of descriptors, 36 moves of rows, one mma.
"""

from __future__ import annotations

import collections
import gzip
import json
from pathlib import Path

import pytest

from benchmarks.hardware.matrix_probe import cases, descriptor, digest, expected, record, shared_memory

DATA = Path(__file__).parents[2] / "data" / "matrix_probe.jsonl.gz"
ROWS = [json.loads(line) for line in gzip.decompress(DATA.read_bytes()).splitlines()]
SHARED = shared_memory(whole=True)


def replayed(row, **change):
    """The digest of what the semantics leave, with some fields of both operands changed."""
    moved = {name: row[name] | change for name in ("a", "b") if name in row}
    return digest(expected(row | moved, SHARED)[0])


def test_every_case_ends_as_on_the_device():
    assert collections.Counter(r["family"] for r in ROWS) == {
        **dict.fromkeys(("canonical", "phase", "base_offset", "steps", "start"), 80),
        **{"ldmatrix": 18, "stmatrix": 18, "mma": 1},
    }
    assert [i for i, r in enumerate(ROWS) if replayed(r) != r["sha"]] == []
    assert all(r["same"] for r in ROWS)


def test_the_rows_are_the_cases_of_the_probe():
    assert [record(c) for c in cases()] == [record(r) for r in ROWS]


@pytest.mark.parametrize("change, families", [({"base": 0}, ["base_offset"]), ({"swizzle": 0}, ["phase", "canonical"])])
def test_another_reading_is_refuted_by_the_device(change, families):
    rows = [r for r in ROWS if r["family"] in families and r["a"]["swizzle"] == 128]

    assert sum(replayed(r, **change) != r["sha"] for r in rows) > 0.9 * len(rows)


def test_the_leading_offset_of_a_swizzled_k_major_matrix_is_not_read():
    rows = [
        r
        for r in ROWS
        if r["family"] == "steps" and descriptor(r["a"]).swizzle and r["a"]["major"] == r["b"]["major"] == "K"
    ]

    assert len({r["a"]["leading"] for r in rows}) > 10
    assert all(replayed(r, leading=16) == r["sha"] for r in rows)
