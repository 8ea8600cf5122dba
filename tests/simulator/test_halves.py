"""Halves of the chip that come ahead by turns: conservation, who is concerned, and rows of M48."""

import gzip
import json
import math
import re
from pathlib import Path
from statistics import median

import pytest

from simulator import H200, simulate
from simulator.cache import Cache
from simulator.calibrate import calibrated
from simulator.halves import Flow, Halves, Served, ahead_of, halves, parted_runs
from simulator.plan import plan_of
from simulator.program import Programs
from symlayout.kernels import bulk_copy, gemm, row_sum, tma_copy, tma_transpose

M48 = Path(__file__).parents[2] / "benchmarks/results/microbenchmarks/h200/M48.jsonl.gz"
ROWS = [r for r in map(json.loads, gzip.decompress(M48.read_bytes()).splitlines()) if r.get("kernel") == "ways"]
ONLY = {"what_if": False, "uncertainty": False}
COPIED = Flow(142e6, 142e6, 12e6)


def flow(kernel, warm=True):
    return plan_of(Programs(kernel), H200, Cache.of(kernel, H200, warm)).flow


@pytest.mark.parametrize("ahead", [0.0, 20e6, 60e6])
@pytest.mark.parametrize("landed", [0.0, 15e6])
def test_dram_moves_the_bytes_of_both_halves(ahead, landed):
    """The half behind stands for both until the other is through, then for itself: each byte is moved once."""
    found, step = Halves(285e6, ahead, 1.0, landed), 1e4
    moved = sum(step * found.factor(k * step) for k in range(int(285e6 / step)))

    assert moved == pytest.approx(285e6, rel=1e-3)


@pytest.mark.parametrize("whole", [50e6, 100e6, 300e6, 1e9, 1e10])
@pytest.mark.parametrize("room", [1.05, 1.5, math.inf])
def test_a_half_comes_no_further_ahead_than_it_can(whole, room):
    """Less than half of all bytes, no faster than its SMs are alone, and at most what its share adds up to."""
    ahead = ahead_of(whole, 0.34, 450e6, 40e6, room)

    assert 0 <= ahead < whole / 2
    assert ahead <= (room - 1) * (whole - ahead) * 1.001
    assert ahead <= 0.34 * 450e6
    assert ahead <= ahead_of(2 * whole, 0.34, 450e6, 40e6, room) + 1


def test_short_waits_for_dram_keep_the_halves_together():
    """M40, M48: of 2.1 us, and a tenth less."""
    wait = H200.exact("dram_even_wait")

    assert halves(COPIED, Served(0.89 * wait, 2.0), H200) is None
    near, far = (halves(COPIED, Served(x * wait, 2.0), H200) for x in (1.0, 1.2))
    assert near.apart == pytest.approx(0.5)
    assert far.apart == 1.0
    assert near.ahead < far.ahead
    assert halves(COPIED, Served(2 * wait, 1.0), H200) is None  # SMs that need all the time for themselves
    assert halves(Flow(142e6, 0.0, 12e6), Served(2 * wait, 2.0), H200) is None  # nothing to be written
    assert halves(Flow(142e6, 142e6, 1e6), Served(2 * wait, 2.0), H200) is None  # too little under way to wait so long


def test_halves_that_part_leave_runs_alone_that_l2_has_lost_by_then():
    lost = H200.count("l2_lost_bytes")

    assert [parted_runs(Halves(1e9, x * lost, 1.0), H200) for x in (0.9, 2, 5)] == pytest.approx([0, 0.25, 0.4])
    assert parted_runs(None, H200) == 0


@pytest.mark.parametrize(
    "kernel, warm, dirty",
    [
        (bulk_copy(1 << 25, chunk=2048, slots=4, blocks=132), True, 0.5),
        (bulk_copy(1 << 25, chunk=2048, slots=4, blocks=132), False, 0.0),  # behind another kernel
        (bulk_copy(1 << 22, chunk=2048, slots=4, blocks=132), True, 0.0),  # L2 has all of it
        (bulk_copy(1 << 25, chunk=2048, slots=2, blocks=8192), True, 0.0),  # CTAs start as others end
        (row_sum(8192, 8192, ld=8192), True, 0.0),
        (gemm(8192, 8192, 512, tile=(128, 128), blocks=132, cluster=1), True, 0.0),
    ],
)
def test_it_is_said_of_launches_in_a_row_that_copy_more_than_l2_holds(kernel, warm, dirty):
    assert flow(kernel.bind(), warm).dirty == pytest.approx(dirty, abs=0.01)


def test_what_is_under_way_is_what_loads_fill():
    assert flow(tma_copy(8192, 8192, tile=(64, 64), slots=5, blocks=132).bind()).under_way == 5 * 4 * 64 * 64 * 132
    turned = tma_transpose(8192, 8192, dtype="bf16", tile=(128, 64), swizzle=128, stages=3, blocks=132)
    assert flow(turned.bind()).under_way == 3 * 2 * 128 * 64 * 132  # the tile that is stored is none of it


@pytest.mark.parametrize("slots", [3, 4, 8])
@pytest.mark.parametrize("trips", [96, 192, 384])
def test_rings_take_as_long_as_measured(slots, trips):
    """M48: rings of all SMs that copy 0.4 to 1.7 GB, served alike with three slots and not with more."""
    [row] = [r for r in ROWS if (r["slots"], r["per_sm"], r["trips"], r["sms"]) == (slots, 1, trips, 132)]
    trace = simulate(
        tma_copy(64 * 132, 64 * trips, dtype="f32", tile=(64, 64), slots=slots, blocks=132).bind(), cache="warm", **ONLY
    )

    assert trace.time_ps / 1e3 == pytest.approx(median(row["ns"][5:]), rel=0.04)


def megabytes_ahead(trace):
    """How far one half of the SMs comes ahead, by the notes."""
    found = [re.search(r"one half of the SMs comes ahead, by (\d+) of", note) for note in trace.notes]
    return next((int(x[1]) for x in found if x), 0)


def test_what_sms_need_for_themselves_is_lost_when_half_of_them_are_through():
    """On an H200 three slots of 32 KB took 11 % longer than three of 16 KB, whose halves hardly part."""
    deep, even = (
        simulate(
            tma_transpose(8704, 8192, dtype="bf16", tile=tile, swizzle=128, stages=3, blocks=132).bind(),
            cache="warm",
            **ONLY,
        )
        for tile in ((128, 128), (128, 64))
    )

    assert deep.seconds > even.seconds
    assert megabytes_ahead(deep) > 2 * megabytes_ahead(even)


def test_iterations_that_repeat_change_nothing_where_halves_part():
    kernel = bulk_copy(1 << 24, chunk=4096, slots=6, blocks=132).bind()
    counted, each = (simulate(kernel, cache="warm", each_step=x, **ONLY) for x in (False, True))

    assert counted.time_ps == each.time_ps
    assert counted.uses == each.uses


def test_ends_of_what_is_tried_are_no_fit():
    """Halves that are through at a tenth of the time: no share of what DRAM moves says that."""
    wrong = [{**r, "quarter": [x // 10 for x in r["quarter"]] if r["slots"] > 4 else r["quarter"]} for r in ROWS]
    rows = [r for card in ("M4", "M7") for r in _rows(card)]
    answers = {a.number: a for a in calibrated([*rows, *wrong], H200, "test").answers}

    assert "expected a best between" in answers["dram_ahead"].refused
    assert not {a.number: a for a in calibrated([*rows, *ROWS], H200, "test").answers}["dram_ahead"].refused


def _rows(name):
    return [json.loads(x) for x in gzip.decompress(M48.with_name(f"{name}.jsonl.gz").read_bytes()).splitlines()]
