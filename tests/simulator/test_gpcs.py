"""Where CTAs lie: the groups of a plan against the SMs that CTAs of an H200 had (M43, M49)."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from simulator import H200
from simulator.cache import Cache
from simulator.gpcs import groups_of
from simulator.plan import plan_of
from simulator.program import Programs
from symlayout.kernels import bulk_copy

STORED = Path(__file__).parents[2] / "benchmarks/results/microbenchmarks/h200"
SMS = 132


def rows(name):
    return [json.loads(line) for line in gzip.decompress((STORED / f"{name}.jsonl.gz").read_bytes()).splitlines()]


PLACES = [r for r in rows("M49") if r.get("cluster") == 1 and r["grid"] <= SMS * r["at_once"]]
BURSTS = [r for r in rows("M43") if r.get("how") == "bulk" and r["mode"] == 3 and r["bytes"] == 16384]


def counts(groups):
    """How many SMs have how many CTAs."""
    return np.bincount(np.bincount(groups, minlength=SMS)).tolist()


@pytest.mark.parametrize("row", PLACES, ids=lambda r: f"{r['grid']} of {r['at_once']} an SM")
def test_as_many_sms_have_as_many_ctas_as_measured(row):
    """Of the grid; of its first 132 CTAs and of the first half as many SMs have one more than the others, up to eight."""
    groups = groups_of(H200, 1, SMS, row["grid"], row["at_once"])

    assert counts(groups) in [counts(seen) for seen in row["seen"]]
    for part in (SMS, row["grid"] // 2):
        told, seen = counts(groups[:part]), min((counts(s[:part]) for s in row["seen"]), key=len)
        assert len(told) == len(seen)
        assert max(abs(a - b) for a, b in zip(told, seen, strict=True)) <= 8


def test_the_first_sms_get_their_second_cta_after_five_eighths_of_the_others():
    seen = [s for r in PLACES if r["grid"] >= 2 * SMS and r["at_once"] > 1 for s in r["seen"]]
    again = [next(k for k, sm in enumerate(s) if sm in s[:k]) for s in seen]

    told = groups_of(H200, 1, SMS, 264, 2).tolist()
    again.append(next(k for k, group in enumerate(told) if group in told[:k]))

    assert 80 <= min(again) <= max(again) <= 90


@pytest.mark.parametrize("row", BURSTS, ids=lambda r: f"{r['tiles']} tiles by {r['grid']} CTAs of {r['slots']} slots")
def test_as_many_sms_have_as_many_tiles_as_measured(row):
    """M43: tile k is moved by CTA k modulo the grid."""
    groups = groups_of(H200, 1, SMS, row["grid"], row["per_sm"])
    tiles = np.bincount(groups[np.arange(row["tiles"]) % row["grid"]], minlength=SMS)

    assert [[n, int(k)] for n, k in enumerate(np.bincount(tiles)) if k] == row["tiles_of_sms"]


def test_ctas_that_wait_for_a_place_are_spread_evenly():
    groups = groups_of(H200, 1, SMS, 40 * SMS, 16)

    assert set(np.bincount(groups).tolist()) == {40}
    assert groups_of(H200, 1, SMS, 100, 2).tolist() == list(range(100))


def test_the_sm_with_the_most_tiles_stands_for_all():
    """Of 396 tiles by 264 CTAs eight SMs have four."""
    kernel = bulk_copy(396 * 4096, chunk=4096, slots=1, blocks=264).bind()
    made = plan_of(Programs(kernel), H200, Cache.of(kernel, H200, warm=True))

    assert "one of 132 SMs stands for all, though 124 have less to do" in made.notes[0]
