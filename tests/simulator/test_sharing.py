"""Bytes that several SMs load: which requests L2 answers together, and how much it holds of what lies in both halves."""

from __future__ import annotations

import numpy as np
import pytest

from simulator import H200
from simulator.calibration.sharing import (
    _again,
    _again_of_clusters,
    l2_cluster_merged,
    l2_cluster_places,
    l2_merged,
    l2_reach,
    l2_shared,
)
from simulator.plan import plan_of
from simulator.program import Programs
from simulator.sharers import by_lot
from simulator.traffic import Cache
from symlayout.kernels import gemm, tma_copy

MIB = 1 << 20


def shared(apart, reach, part, share=2, grid=132):
    """A row of M21 at 9 TB/s for the requests that are answered one by one, 18 TB/s at most."""
    row = {"id": "M21", "share": share, "apart": apart, "grid": grid, "bytes": 32768, "mode": 1, "trips": 8}
    return {**row, "ns": [32768 * 8 * grid / min(18_000, 9_000 / (1 - part * _again(row, reach)))]}


@pytest.mark.parametrize("reach, part", [(16, 0.68), (8, 0.9), (10, 0.5)])
def test_rows_tell_who_is_answered_together(reach, part):
    rows = [shared(apart, reach, part) for apart in (1, 2, 3, 4, 6, 8, 11, 12, 16, 22, 33, 66)]

    assert l2_reach(rows).value == reach
    assert l2_merged(rows).value == pytest.approx(part, abs=0.011)
    assert l2_reach(rows).residual < 0.01


def test_two_in_reach_are_one_request():
    row = {"share": 2, "apart": 4, "grid": 16}

    assert _again(row, 8) == pytest.approx(1 / 2)
    assert _again(row, 4) == pytest.approx(0)


@pytest.mark.parametrize("places, part", [(12, 0.86), (8, 0.9), (16, 0.6)])
def test_rows_tell_where_clusters_are_answered_together(places, part):
    rows = []
    for share, apart in [
        (2, 1),
        (2, 2),
        (2, 4),
        (2, 32),
        (4, 1),
        (4, 8),
        (4, 16),
        (4, 32),
        (8, 1),
        (8, 4),
        (8, 8),
        (8, 16),
    ]:
        row = {"id": "M42", "kernel": "ring", "share": share, "apart": apart, "grid": 128, "bytes": 32768, "mode": 1}
        told = min(18_000, 9_000 / (1 - part * _again_of_clusters(row, places)))
        rows.append({**row, "trips": 8, "ns": [32768 * 8 * 128 / told]})

    assert l2_cluster_places(rows).value == places
    assert l2_cluster_merged(rows).value == pytest.approx(part, abs=0.011)
    assert l2_cluster_places(rows).residual < 0.01


def test_clusters_meet_by_lot():
    """At 4 places: of 4 in a row none, of 8 in a row two at each place; of two rows' first ones a quarter."""
    everyone = np.zeros(8, dtype=np.int64)
    far = by_lot(everyone[:2], np.array([0, 4]), 4)

    assert by_lot(everyone[:4], np.arange(4), 4) == pytest.approx(np.ones(4))
    assert by_lot(everyone, np.arange(8), 4) == pytest.approx(2 * np.ones(8))
    assert far == pytest.approx(2 / (4 * (1 - (3 / 4) ** 2)) * np.ones(2))
    assert by_lot(np.array([0, 1]), np.array([0, 0]), 4) == pytest.approx(np.ones(2))


def passes(rates, **knobs):
    """Rows of M41 by the footprint in MB."""
    facts = {"id": "M41", "mode": 1, "sms": 132, "grid": 132, "bytes": 16384, "trips": 10, **knobs}
    return [{**facts, "footprint": mib * MIB, "ns": [16384 * 10 * 132 / rate]} for mib, rate in rates.items()]


def test_l2_holds_what_passes_at_full_rate():
    """Between 48 and 52 MB of what one SM loads, between 28 and 32 of what all do; two are not asked."""
    one = passes({20: 6900, 44: 7600, 48: 7400, 52: 6100, 64: 4300})
    two = passes({20: 7000, 64: 7000}, share=2, apart=66)
    every = passes({16: 15_000, 28: 14_900, 32: 9000, 36: 4000}, share=132, apart=1)

    assert l2_shared([*one, *two, *every]).value == pytest.approx(30 / 50)
    assert l2_shared([*one, *two, *every]).residual == pytest.approx(2 / 30)


def missed(kernel, **numbers):
    """The bytes that come from DRAM in a warm launch."""
    machine = H200.replacing(**numbers)
    return plan_of(Programs(kernel), machine, Cache.of(kernel, machine, True)).dram_bytes


def test_operands_of_a_product_have_places_in_both_halves():
    """36 MB that SMs of both halves load fit L2 once, and not twice."""
    bound = gemm(4096, 640, 3200, tile=(64, 192), stages=5).bind()

    assert missed(bound, l2_shared=1.0) == 0
    assert missed(bound) > 5e6
    assert missed(bound, l2_shared=0.9) < missed(bound)


def test_bytes_of_one_reader_have_one_place():
    bound = tma_copy(2048, 2048, blocks=132).bind()

    assert missed(bound) == missed(bound, l2_shared=1.0) == 0


def test_sms_that_are_further_apart_are_answered_one_by_one():
    """Tiles of A are those of every eighth CTA, which ten in a row have for the first two of them alone."""
    bound = gemm(8 * 128, 2 * 128, 512, tile=(128, 128), cluster=1, blocks=16).bind()

    assert np.all(np.diff([asked(bound, l2_reach=reach) for reach in (16, 10, 8)]) > 0)


def test_clusters_are_answered_together_where_they_meet():
    """Tiles of B are those of eight clusters in a row: none meet at 12 places, two at each of 4."""
    bound = gemm(16 * 128, 4 * 128, 512, tile=(128, 128), cluster=2).bind()

    assert asked(bound) == asked(bound, l2_reach=1)
    assert asked(bound, l2_cluster_places=4) < asked(bound, l2_cluster_places=12)
    assert asked(bound, l2_cluster_places=4) < asked(bound, l2_cluster_places=4, l2_cluster_merged=1e-12)


def asked(bound, **numbers):
    """The bytes that all CTAs ask L2 for."""
    machine = H200.replacing(**numbers)
    made = plan_of(Programs(bound), machine, Cache.of(bound, machine, False))
    teams = (t for kind in made.courses(machine) for cluster in kind for course in cluster for t in course.teams)
    return sum(step.l2_bytes for team in teams for step in team.steps)
