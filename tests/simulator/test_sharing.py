"""Bytes that several SMs load: which requests L2 answers together, and how much it holds of what lies in both halves."""

from __future__ import annotations

import numpy as np
import pytest

from simulator import H200
from simulator.calibration.sharing import _answered, l2_merged, l2_reach, l2_shared
from simulator.plan import plan_of
from simulator.program import Programs
from simulator.traffic import Cache
from symlayout.kernels import gemm, tma_copy

MIB = 1 << 20


def shared(apart, reach, part, share=2, grid=132):
    """A row of M21 at 9 TB/s for the requests that are answered one by one, 18 TB/s at most."""
    row = {"id": "M21", "share": share, "apart": apart, "grid": grid, "bytes": 32768, "mode": 1, "trips": 8}
    return {**row, "ns": [32768 * 8 * grid / min(18_000, 9_000 / _answered(row, reach, part))]}


@pytest.mark.parametrize("reach, part", [(16, 0.68), (8, 0.9), (10, 0.5)])
def test_rows_tell_who_is_answered_together(reach, part):
    rows = [shared(apart, reach, part) for apart in (1, 2, 3, 4, 6, 8, 11, 12, 16, 22, 33, 66)]

    assert l2_reach(rows).value == reach
    assert l2_merged(rows).value == pytest.approx(part, abs=0.011)
    assert l2_reach(rows).residual < 0.01


def test_two_in_reach_are_one_request():
    row = {"share": 2, "apart": 4, "grid": 16}

    assert _answered(row, 8, 1.0) == pytest.approx(1 / 2)
    assert _answered(row, 4, 1.0) == pytest.approx(1)


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
    asked = []
    for reach in (16, 10, 8):
        machine = H200.replacing(l2_reach=reach)
        made = plan_of(Programs(bound), machine, Cache.of(bound, machine, False))
        teams = (t for kind in made.courses(machine) for cluster in kind for course in cluster for t in course.teams)
        asked.append(sum(step.l2_bytes for team in teams for step in team.steps))

    assert np.all(np.diff(asked) > 0)
