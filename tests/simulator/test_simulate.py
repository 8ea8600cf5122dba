"""Simulated kernels: conservation, bounds, exact latencies, deadlocks, refusals, and stored measurements."""

from __future__ import annotations

import gzip
import json
import statistics
from pathlib import Path

import pytest

import simulator
from simulator import H200, SimulationError, machine, simulate
from simulator.program import Programs
from simulator.timing_classes import Unit
from symlayout import Layout, dim
from symlayout.kernel import Builder
from symlayout.kernels import axpby, bulk_copy, cp_async_copy, gemm, tma_copy, tma_transpose, vector_copy
from symlayout.ops import Arrive, Slot, WaitGroup

WORDS = 1056 * 1024  # the same for each of 132 SMs
ONLY = {"what_if": False, "uncertainty": False}
COPIES = {
    "vector_copy": lambda: vector_copy(WORDS),
    "cp_async_copy": lambda: cp_async_copy(WORDS, stages=3, blocks=264),
    "bulk_copy": lambda: bulk_copy(WORDS, chunk=1024, slots=3, blocks=264),
    "tma_copy": lambda: tma_copy(1056, 1024, slots=2, blocks=132),
}
SPEEDS = Path(__file__).parents[2] / "benchmarks/results/generated/schedules_h200.jsonl.gz"
N28, SQUARE = 1 << 28, 16384
MEASURED = {  # schedules that were measured with L2 warm, and how far a prediction may be off
    "vector_copy": (lambda: vector_copy(N28), 0.01),
    "bulk_copy": (lambda: bulk_copy(N28, chunk=8192, slots=2, blocks=32768), 0.03),
    "tma_copy": (lambda: tma_copy(SQUARE, SQUARE, slots=2, blocks=32768), 0.02),
    "cp_async_copy": (lambda: cp_async_copy(N28, stages=3, threads=256, blocks=16384), 0.03),
    "axpby": (lambda: axpby(N28), 0.02),
    "tma_transpose_128": (lambda: tma_transpose(SQUARE, 2 * SQUARE, tile=(128, 128), stages=1, blocks=32768), 0.06),
    "gemm_4096": (lambda: gemm(4096, 4096, 4096, cluster=2), 0.04),
}


@pytest.mark.parametrize("family", COPIES)
@pytest.mark.parametrize("name", [n for n in simulator.machines() if n not in ("a100", "mi300x")])
def test_a_copy_moves_its_bytes_once_and_no_server_is_above_its_rate(family, name):
    trace = simulate(COPIES[family]().bind(), machine(name), uncertainty=False)

    assert trace.bytes == 2 * 4 * WORDS
    assert trace.dram_bytes == 4 * WORDS  # what is written stays in L2, which holds both tensors
    assert all(0 <= use.utilisation <= 1 for use in trace.uses)
    for role in {s.role for s in trace.stalls}:
        assert sum(s.share for s in trace.stalls if s.role == role) <= 1 + 1e-9
    assert trace.time_ps >= machine(name).transfer("dram_rate", trace.dram_bytes)
    assert all(time <= trace.time_ps for time in trace.what_if.values())


@pytest.mark.parametrize("family", COPIES)
def test_a_machine_without_tma_refuses_what_needs_it(family):
    bound, a100 = COPIES[family]().bind(), machine("a100")

    if family in ("bulk_copy", "tma_copy"):
        message = r"expected instructions that NVIDIA A100 .* \(compute capability 8.0\) has, got .*(tma|bulk).load, "
        with pytest.raises(SimulationError, match=message):
            simulate(bound, a100)
    else:
        assert simulate(bound, a100, **ONLY).bytes == 2 * 4 * WORDS


@pytest.mark.parametrize("family", COPIES)
def test_runs_are_equal_and_a_warm_cache_is_faster(family):
    bound = COPIES[family]().bind()

    assert simulate(bound) == simulate(bound)
    warm = simulate(bound, cache="warm", **ONLY)
    assert warm.dram_bytes == 0
    assert warm.time_ps < simulate(bound, **ONLY).time_ps


@pytest.mark.parametrize("family", COPIES)
def test_slower_memory_is_not_faster(family):
    bound = COPIES[family]().bind()
    times = [
        simulate(bound, H200.replacing(dram_rate=rate, dram_latency=latency), **ONLY).time_ps
        for rate, latency in ((4200, 175), (2100, 175), (2100, 700))
    ]

    assert times == sorted(times)
    assert times[0] < times[-1]


@pytest.mark.parametrize("chunks, slots, rounds", [(1, 1, 1), (5, 1, 5), (6, 3, 2), (7, 3, 3)])
def test_latency_counts_once_for_each_round_of_a_ring(chunks, slots, rounds):
    """One CTA, so that no server is busy for long: a load that takes 100 us longer delays each round by as much."""
    bound = bulk_copy(256 * chunks, chunk=256, slots=slots, blocks=1).bind()
    times = [simulate(bound, H200.replacing(dram_latency=ns), **ONLY).time_ps for ns in (100_000, 200_000, 300_000)]

    assert times[1] - times[0] == times[2] - times[1] == rounds * 100_000_000


def test_launch_stands_apart():
    bound = COPIES["bulk_copy"]().bind()
    slow = simulate(bound, H200.replacing(launch=10_000), **ONLY)
    trace = simulate(bound, **ONLY)

    assert slow.time_ps == trace.time_ps
    assert slow.seconds - trace.seconds == pytest.approx((10_000 - H200["launch"].value) * 1e-9)


def test_the_limiting_resource_is_the_one_that_was_made_scarce():
    bound = tma_copy(1024, 1024, tile=(64, 16), slots=4).bind()

    assert simulate(bound, H200.replacing(tma_command=20_000), uncertainty=False).limiting == "TMA front end"
    assert simulate(bound, H200.replacing(sm_port_rate=1), uncertainty=False).limiting == "SM port"
    assert simulate(bound, H200.replacing(dram_rate=100), uncertainty=False).limiting == "DRAM"
    window = simulate(bound, H200.replacing(tma_bytes_in_flight=4096), uncertainty=False)
    assert window.what_if["TMA bytes in flight"] < 0.8 * window.time_ps


def test_a_ring_that_gives_no_slot_back_stops_with_who_waits_for_what():
    kernel = bulk_copy(4096, chunk=256, slots=2, blocks=1).edited(lambda op: () if isinstance(op, Arrive) else (op,))

    with pytest.raises(SimulationError) as e:
        simulate(kernel.bind())

    told = str(e.value)
    assert "no process can go on at" in told
    assert "CTA 0, role producer waits for empty[0], in phase 0: 1 of 1 arrivals pending, 0 bytes pending" in told
    assert "CTA 0, role consumer waits for full[0], in phase 1: 1 of 1 arrivals pending, 0 bytes pending" in told


def test_each_thread_executes_what_is_its_own():
    producer, consumer = Programs(bulk_copy(4096, chunk=1024, slots=2, blocks=2).bind()).of((0,))
    words = [[str(step.op).split()[0] for step in team.steps] for team in (producer, consumer)]

    assert words[0] == ["init", "init", "fence", "barrier", "role", *["for", "wait", "expect_tx", "bulk.load"] * 2]
    trip = ["for", "wait", "bulk.store", "commit", "wait_group.read", "arrive"]
    assert words[1] == ["barrier", "role", *trip * 2, "wait_group"]


def test_a_slot_that_is_given_back_early_is_faster():
    """The wait for the source of a store is what it costs to be right."""
    kernel = bulk_copy(1 << 15, chunk=256, slots=1, blocks=16)
    early = kernel.edited(lambda op: () if isinstance(op, WaitGroup) and op.read else (op,))

    assert simulate(early.bind(), **ONLY).time_ps < simulate(kernel.bind(), **ONLY).time_ps


@pytest.mark.parametrize("stride, wavefronts", [(1, 1), (2, 2), (32, 32), (33, 1)])
def test_bank_conflicts_come_from_the_addresses(stride, wavefronts):
    k = Builder("banks", grid=(1,), threads=32)
    tile, x = k.shared_tensor("tile", "f32", Layout(32 * 33)), k.registers("x", "f32", 1)
    k.copy("ld.shared.4", tile(stride * k.thread), x())
    [team] = Programs(k.kernel()).of((0,))

    assert [step.served for step in team.steps if step.unit is Unit.SHARED] == [wavefronts]


@pytest.mark.parametrize("shift, nbytes", [(0, 128), (1, 160)])
def test_sectors_come_from_the_addresses(shift, nbytes):
    k = Builder("sectors", grid=(1,), threads=32)
    src, x = k.global_tensor("src", "f32", Layout(64)), k.registers("x", "f32", 1)
    k.copy("ld.global.4", src(k.thread + shift), x())
    [team] = Programs(k.kernel()).of((0,))

    assert [step.bytes for step in team.steps if step.unit is Unit.LOAD] == [nbytes]


def test_each_elected_thread_issues_a_copy():
    k = Builder("copies", grid=(1,), threads=128)
    src, tile = k.global_tensor("src", "f32", Layout(1024)), k.shared_tensor("tile", "f32", Layout(1024))
    k.mbarriers("full", 1, 4)
    with k.elect(each_warp=True):
        k.expect_tx(Slot("full", 0), 1024)
        k.copy("bulk.load", src(256 * (k.thread // 32)), tile(256 * (k.thread // 32)), Slot("full", 0), nbytes=1024)
    k.wait(Slot("full", 0), 0)
    trace = simulate(k.kernel())

    assert trace.bytes == 4096
    assert {u.name: u.requests for u in trace.uses}["TMA front end"] == 1  # commands of one step are taken together


def test_boxes_past_the_end_move_what_is_inside_and_land_whole():
    bound = tma_copy(10, 12, tile=(8, 8), slots=2, blocks=1).bind()
    loads = [s for team in Programs(bound).of((0,)) for s in team.steps if s.unit is Unit.TMA_LOAD]

    assert [s.number for s in loads] == [4 * 64] * 4
    assert [s.bytes for s in loads] == [8 * 32, 8 * 32, 2 * 32, 2 * 32]  # 4 words of a row are in a sector


def test_rows_narrower_than_their_swizzle_credit_their_bytes_without_the_gaps():
    """The phase awaits 64 rows of 64 bytes; the gaps behind them were credited too, and no phase was over."""
    kernel = tma_transpose(192, 1088, dtype="bf16", tile=(128, 32), swizzle=128, stages=2, blocks=132)
    [loaded] = {m.tensor_map.transaction_bytes for m in kernel.maps if m.tensor_map.landed_bytes == 16384}

    assert loaded == 8192
    assert simulate(kernel.bind()).bytes == 2 * 192 * 1088 * 2


def test_other_families_run():
    for kernel in (tma_transpose(512, 512), gemm(512, 512, 512, cluster=1)):
        trace = simulate(kernel.bind(), uncertainty=False)
        assert trace.time_ps > 0
        assert trace.limiting


@pytest.mark.parametrize(
    "bound, message",
    [
        (lambda: vector_copy(dim("N")), "expected a kernel that is bound to sizes, got symbols N of vector_copy"),
        (lambda: gemm(512, 512, 512, cluster=32, blocks=32).bind(), "expected clusters that fit a GPC of NVIDIA H200"),
        (lambda: tma_copy(8, 6).bind(), "expected a tensor map that the driver takes, got src_map of tma_copy: .*24"),
        (lambda: bulk_copy(4096, chunk=32768, slots=4).bind(), "expected a CTA that fits an SM of NVIDIA H200"),
    ],
)
def test_what_is_not_modelled_is_refused(bound, message):
    with pytest.raises(SimulationError, match=message):
        simulate(bound())


def test_a_wrong_cache_is_refused():
    with pytest.raises(SimulationError, match="expected a cache of cold or warm, got 'hot'"):
        simulate(vector_copy(512).bind(), cache="hot")


@pytest.mark.parametrize("name", MEASURED)
def test_predictions_stay_as_near_to_measurements_as_they_are(name):
    build, aim = MEASURED[name]
    with gzip.open(SPEEDS, "rt", encoding="utf-8") as file:
        [row] = [r for r in map(json.loads, file) if r["name"] == name]
    measured = statistics.median(next(iter(row["seconds"].values()))["warm"])

    predicted = simulate(build().bind(), **ONLY).seconds

    assert abs(predicted / measured - 1) <= aim
