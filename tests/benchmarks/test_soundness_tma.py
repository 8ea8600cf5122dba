"""The claims about tensor maps and copies against copies that are carried out, and an oracle that is not the prover."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.soundness import tma_oracle
from benchmarks.soundness.campaign import trials
from benchmarks.soundness.row import stated
from benchmarks.soundness.tma import ROWS
from checkers import TmaCopySafe
from symlayout.rules.tma import violations
from symlayout.tma import Im2col, TensorMap, TmaInterleaveLayout, TmaL2FetchSize, TmaOobFill, TmaSwizzle, TmaType
from symlayout.tma.recorded import read

RECORDED = Path(__file__).parents[1] / "data" / "driver_descriptors.jsonl.gz"
COUNTS = {"static": 40, "symbolic": 8}


@pytest.mark.parametrize("mode", COUNTS)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_no_verdict_is_contradicted(row, mode):
    counts, wrong = trials(row, mode, COUNTS[mode], "quick", repairs=False)

    assert wrong == []
    assert counts["proved"] + counts["refuted"] > COUNTS[mode] // 2


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_an_oracle_that_says_the_opposite_is_noticed(row):
    lying = replace(row, holds=lambda claim, env: not row.holds(claim, env))
    _, wrong = trials(lying, "static", 40, "quick")

    assert len(wrong) > 5


def test_copies_of_all_kinds_are_drawn():
    r, row = random.Random(2), next(row for row in ROWS if row.kind is TmaCopySafe)
    claims = [stated(row.symbolic, r) for _ in range(200)]

    assert {c.direction for c in claims} == {"load", "store", "reduce"}
    assert {c.tensor_map.is_im2col for c in claims} == {True, False}
    assert {int(c.tensor_map.interleave) for c in claims} == {0, 1}
    assert max(len(getattr(c.copy, "parts", ())) for c in claims) >= 4
    assert max(getattr(c.copy, "multicast", 1) for c in claims) == 4
    assert sum(not c.tensor_map.static for c in claims) > 60


def test_the_oracle_takes_what_the_rules_take():
    """The conditions of the oracle are written anew; random maps of numbers are judged alike."""
    r, row = random.Random(3), next(row for row in ROWS if row.name == "TensorMapValid")
    maps: list[TensorMap] = [stated(row.static, r).tensor_map for _ in range(400)]
    taken = [tma_oracle.accepted(m) for m in maps]

    assert taken == [not violations(m, "driver") for m in maps]
    assert 60 < sum(taken) < 340


def test_the_oracle_takes_what_the_driver_took():
    rows = [row for row in itertools.islice(read(RECORDED), 0, None, 25) if row["rank"] in range(1, 6)]
    maps = [as_map(row) for row in rows]

    assert len(rows) > 2000
    for m, row in zip(maps, rows, strict=True):
        assert (m is not None and tma_oracle.accepted(m)) is (row["code"] == 0), row


def as_map(row):
    """The map of a recorded call; None where a word of it has no value at all."""
    r = row["rank"]
    walk = None
    if row["mode"] == "im2col":
        corners = tuple(tuple(row[name][: max(0, r - 2)]) for name in ("lower", "upper"))
        walk = Im2col(*corners, row["channels"], row["pixels"])
    try:
        return TensorMap(
            *(TmaType(row["dtype"]), row["addr"], tuple(row["dim"][:r]), tuple(row["stride"][: r - 1])),
            *(() if walk else tuple(row["box"][:r]), tuple(row["estride"][:r])),
            *(TmaInterleaveLayout(row["interleave"]), TmaSwizzle(row["swizzle"])),
            *(TmaL2FetchSize(row["l2"]), TmaOobFill(row["oob"]), walk),
        )
    except ValueError:
        return None
