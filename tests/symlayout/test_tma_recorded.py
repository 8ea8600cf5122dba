"""What an H200 answered to the probe of tensor copies: a sample of every family, and every pair of a rule."""

from __future__ import annotations

import collections
import random
from pathlib import Path

import pytest

from benchmarks.hardware import models
from benchmarks.hardware.cases import PLAIN
from benchmarks.hardware.replay import COPIED, FAULTED, MISMATCH, REFUSED, UNSETTLED, replay
from symlayout.semantics import phase_completes
from symlayout.tma.recorded import read

ROWS = list(read(Path(__file__).parents[1] / "data" / "tma_probe.jsonl.gz"))
FAMILIES = sorted({row["family"] for row in ROWS if "rule" not in row})
RULES = sorted({row["rule"] for row in ROWS if "rule" in row})
FEW = ("far_inner", "multicast_beyond", "far_im2col_reduce", "null_address")
UNSETTLED_FAMILIES = {"store_overlap": 23, "reduce_overlap": 5}


@pytest.mark.parametrize("family", FAMILIES)
def test_rows_of_a_family(family):
    rows = [row for row in ROWS if row["family"] == family]
    found = [(row, replay(row)) for row in rows]
    score = collections.Counter(r.outcome for _, r in found)

    assert [r.text for _, r in found if r.outcome == MISMATCH] == []
    assert score[UNSETTLED] == UNSETTLED_FAMILIES.get(family, 0)
    assert score[FAULTED] == sum("error" in row for row in rows)
    assert score[REFUSED] == sum(row["code"] != 0 for row in rows)
    assert len(rows) >= 30 or family in FEW


@pytest.mark.parametrize("rule", RULES)
def test_pairs_of_a_rule(rule, share):
    """Of the pairs, which are drawn alike, a third, or all in a campaign."""
    every = sorted({row["pair"] for row in ROWS if row.get("rule") == rule})
    some = every if share(2) == 2 else random.Random(rule).sample(every, len(every) // 3)
    found = collections.defaultdict(dict)
    for row in ROWS:
        if row.get("rule") == rule and row["pair"] in some:
            found[row["pair"]][row["side"]] = replay(row).outcome
    outcomes = collections.Counter((pair["ok"], pair["fault"]) for pair in found.values())

    assert len(every) == (64 if rule == "shared_end_by" else 210)
    if rule == "map_mode":  # corners that no store may have, in both cases of 64 pairs
        assert outcomes.keys() == {(COPIED, FAULTED), (FAULTED, FAULTED)}
        assert outcomes[FAULTED, FAULTED] == 64 or share(2) < 2
    else:
        assert outcomes == {(COPIED, FAULTED): len(some)}


CHANGES = [
    ("im2col_store_clipped", {"upper": [-1, -1, -1]}),
    ("im2col_interleaved", {"dim": [1, 1, 1, 1, 1]}),
    ("interleaved_store", {"addr": 512}),
    ("reduce_documented", {"base": 1024}),
    ("tf32_store", {"fill": "s9"}),
    ("multicast", {"mask": 0}),
    ("bulk_credit", {"size": 2048}),
    ("expect_tx", {"completed": 2}),
    ("multicast_im2col", {"off": [3, 3, 3]}),
    ("wide_load", {"addr": 512}),
]


@pytest.mark.parametrize("family, change", CHANGES, ids=[f for f, _ in CHANGES])
def test_a_row_that_says_otherwise_is_a_mismatch(family, change):
    rows = [row for row in ROWS if row["family"] == family and "error" not in row and row["code"] == 0]
    changed = [
        replay(row | {k: v[: len(row[k])] if isinstance(v, list) else v for k, v in change.items()}) for row in rows
    ]

    assert sum(r.outcome == MISMATCH for r in changed) > len(rows) // 4


def test_faults_are_expected_where_they_were_seen_only():
    ran = next(row for row in ROWS if row.get("rule") == "inner_start_store" and row["side"] == "ok")

    assert replay(ran | {"error": "illegal instruction"}).outcome == MISMATCH
    assert replay(ran | {"coord": [ran["coord"][0] + 1, *ran["coord"][1:]]}).outcome == MISMATCH


def test_the_model_that_needs_only_numpy_says_what_the_recorded_copies_say():
    """The probe checks itself with it on a machine without this package."""
    compared = collections.Counter()
    for row in ROWS:
        if "error" in row or row["code"] or row["family"] == "encode_null" or ("rule" in row and row["pair"] % 7):
            continue
        model = models.expected(PLAIN | row)
        if model is not None:
            compared[row["form"]] += 1
            assert model == ([row["sha"]] if "sha" in row else [cta["sha"] for cta in row["ctas"]]), row
    assert min(compared[form] for form in ("load", "load_im2col", "multicast", "store", "store_im2col")) >= 30


# -- in which pieces a barrier is credited -------------------------------------------------------------------

CREDITS = list(read(Path(__file__).parents[1] / "data" / "tma_credit.jsonl.gz"))


def flips(row, cta):
    """Bytes armed -> how often the phase ended."""
    return {16 * (i + 1): n for i, n in enumerate(row["flips"][cta :: row["ctas"]])}


@pytest.mark.parametrize("row", CREDITS, ids=lambda r: r["box"])
def test_credits_come_in_sectors_of_32_bytes_and_never_too_many(row):
    """Row starts and widths that are multiples of 32 bytes give multiples of 32, others any multiple of 16."""
    whole = not any(x in row["box"] for x in ("16 bytes", "48 bytes", "80 bytes", "not at sectors", "from 16 on"))
    for cta in range(row["ctas"]):
        found = flips(row, cta)
        partial = [v for v, n in found.items() if n and v < row["bytes"]]

        assert found[row["bytes"]] == row["rounds"]
        assert not any(n for v, n in found.items() if v > row["bytes"])
        assert all(v % 32 == 0 for v in partial) == whole
        assert len(partial) > 0.4 * (row["bytes"] // (32 if whole else 16) - 1)
        for v, n in found.items():
            assert phase_completes(v, row["bytes"]) in (None, bool(n))
