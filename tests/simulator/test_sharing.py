"""Bytes that several SMs load: which requests L2 answers together, and how much it holds of what lies in both halves."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from simulator import H200
from simulator.cache import Cache
from simulator.calibration.sharing import (
    _alike,
    _alike_of_clusters,
    first_tpcs,
    gpc_rate,
    l2_cluster_merged,
    l2_merged,
    l2_outside_rate,
    l2_reach,
    l2_shared,
)
from simulator.gpcs import answered
from simulator.plan import plan_of
from simulator.program import Programs
from symlayout.kernels import gemm, tma_copy

MIB = 1 << 20


def shared(apart, reach, part, share=2, grid=132):
    """A row of M21 at 9 TB/s for the requests that are answered one by one, 18 TB/s at most."""
    row = {"id": "M21", "share": share, "apart": apart, "grid": grid, "bytes": 32768, "mode": 1, "trips": 8}
    return {**row, "ns": [32768 * 8 * grid / min(18_000, 9_000 / answered(_alike(row, reach), part).mean())]}


@pytest.mark.parametrize("reach, part", [(14, 0.86), (8, 0.9), (10, 0.5)])
def test_rows_tell_who_is_answered_together(reach, part):
    rows = [shared(apart, reach, part) for apart in (1, 2, 3, 4, 6, 8, 11, 12, 16, 22, 33, 66)]

    assert l2_reach(rows).value == reach
    assert l2_merged(rows).value == pytest.approx(part, abs=0.011)
    assert l2_reach(rows).residual < 0.01


def test_two_in_reach_are_one_request():
    row = {"share": 2, "apart": 4, "grid": 8}

    assert set(_alike(row, 8)) == {2}
    assert set(_alike(row, 4)) == {1}


def test_two_of_other_gpcs_are_two_requests():
    """CTAs 0 to 15 are in the first GPC, and 16 to 31 in the next."""
    assert set(_alike({"share": 2, "apart": 16, "grid": 132}, 16)) == {1}
    assert set(_alike({"share": 2, "apart": 8, "grid": 128}, 16)) == {2}


@pytest.mark.parametrize("part", [0.54, 0.9])
def test_rows_tell_what_clusters_of_a_gpc_are_answered_together(part):
    rows = []
    for share, apart in itertools.product((2, 4, 8), (2, 4, 8, 16)):
        row = {"id": "M42", "kernel": "ring", "share": share, "apart": apart, "grid": 128, "bytes": 32768, "mode": 1}
        told = min(18_000, 9_000 / answered(_alike_of_clusters(row, 120), part).mean())
        rows.append({**row, "trips": 8, "ns": [32768 * 8 * 128 / told]})

    assert l2_cluster_merged(rows).value == pytest.approx(part, abs=0.011)
    assert l2_cluster_merged(rows).residual < 0.01


def test_clusters_go_to_gpcs_in_turn():
    """Both CTAs of a cluster are in one; of the next ones, four are in the first GPC, and then each in another."""
    assert set(_alike_of_clusters({"share": 2, "apart": 1, "grid": 128}, 120)) == {2}
    assert _alike_of_clusters({"share": 2, "apart": 2, "grid": 16}, 120).tolist() == [2] * 8 + [1] * 8
    assert max(_alike_of_clusters({"share": 2, "apart": 16, "grid": 64}, 120)) == 2  # eight clusters further on


@pytest.mark.parametrize("part", [0.0, 0.32, 0.84, 1.0])
def test_of_many_requests_all_but_one_are_saved(part):
    """The k-th is asked for if it has met none of the k - 1 before it."""
    numbers = np.arange(1, 9)
    told = [sum((1 - part) ** k for k in range(n)) / n for n in numbers]

    assert answered(numbers, part) == pytest.approx(told)


def near(chosen, count, sms, **knobs):
    """A row of M44: so many SMs of a GPC that take in 600 bytes a cycle together, or a launch of so many CTAs."""
    facts = {"id": "M44", "chosen": chosen, "count": count, "mode": 1, "bytes": 32768, "trips": 128, "cluster": 1}
    return {**facts, "ghz": 2.0, "sms": sms, "each": [32768 * 128 * len(sms) / 600] * len(sms), **knobs}


def test_many_sms_of_a_gpc_tell_what_it_takes_in():
    rows = [near("pairs", 8, list(range(16))), near("pairs", 2, [0, 1, 16, 17], each=[1] * 4)]

    assert gpc_rate(rows).value == pytest.approx(1200)


def test_the_smallest_grid_tells_which_tpcs_come_first():
    """Six CTAs on both SMs of two TPCs and one each of two others."""
    rows = [near("grid", 6, [0, 2, 8, 9, 10, 11]), near("grid", 12, list(range(12)))]

    assert first_tpcs(rows).value == 2


def test_rows_of_boxes_outside_of_a_tensor_tell_what_l2_takes_for_them():
    """At 2 GHz 132 SMs wait 10 cycles for each row outside."""
    rows = []
    for tall, parts in itertools.product((64, 128), (0, 1, 2, 3)):
        inside = tall - tall // 4 * parts
        facts = {"id": "M45", "grid": 132, "slots": 4, "rows_a": tall, "inside": inside, "trips": 8, "ghz": 2.0}
        rows.append({**facts, "cycles": [8 * (300 + 10 * (tall - inside))]})

    assert l2_outside_rate(rows).value == pytest.approx(132 * 128 * 2 / 10)
    assert l2_outside_rate(rows).residual < 0.01


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
    """Tiles of A are those of every eighth CTA: of those in a row of a GPC eight share none."""
    bound = gemm(8 * 128, 16 * 128, 512, tile=(128, 128), cluster=1, blocks=128).bind()
    near, some, far = (asked(bound, l2_reach=reach) for reach in (16, 10, 8))

    assert near < some < far


def test_clusters_of_a_gpc_are_answered_together():
    """Tiles of A are those of every eighth cluster, which is in the same GPC; those of B are loaded by multicast."""
    bound = gemm(16 * 128, 8 * 128, 512, tile=(128, 128), cluster=2).bind()

    assert asked(bound) == asked(bound, l2_reach=1)
    assert asked(bound) < asked(bound, l2_cluster_merged=0.1) < asked(bound, l2_cluster_merged=1e-12)


def asked(bound, **numbers):
    """The bytes that all CTAs ask L2 for."""
    machine = H200.replacing(**numbers)
    made = plan_of(Programs(bound), machine, Cache.of(bound, machine, False))
    teams = (t for kind in made.courses(machine) for cluster in kind for course in cluster for t in course.teams)
    return sum(step.l2_bytes for team in teams for step in team.steps)
