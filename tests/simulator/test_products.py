"""What products of the tensor core do to the rest of an SM: its clock, divisions beside them, epilogues, clusters."""

from __future__ import annotations

import pytest

from simulator import H200, simulate
from simulator.commands import between
from simulator.program import Programs
from simulator.timing_classes import Unit
from symlayout import dims
from symlayout.kernels import gemm, tma_copy
from symlayout.ops import For, Map

ONLY = {"what_if": False, "uncertainty": False}
M, N, K = dims("M N K", at_most=1 << 20)


def product(tile=(128, 64), stages=4, cluster=1, blocks=16, **sizes):
    kernel = gemm(M, N, K, tile=tile, stages=stages, cluster=cluster, blocks=blocks)
    return kernel.bind(**{"M": 1024, "N": 512, "K": 512, **sizes})


def test_an_sm_with_a_wgmma_has_another_clock():
    copied, multiplied = (simulate(k, **ONLY).cycle_ps for k in (tma_copy(256, 512).bind(), product()))

    assert copied == H200.cycle
    assert H200.multiplying(0).cycle < multiplied < H200.multiplying(1).cycle


def test_the_clock_falls_by_the_square_of_what_tensor_cores_are_busy():
    """M30: an H200's SMs with products in a seventh of the time lose 0.2 %, those with nothing else 10 %."""
    hardly, half, all_the_time = (1000 / H200.multiplying(use).cycle for use in (0, 0.5, 1))

    assert hardly - all_the_time == pytest.approx(4 * (hardly - half), rel=1e-3)
    assert all_the_time / hardly == pytest.approx(1 - H200["wgmma_clock_fall"].value, rel=1e-4)
    busy, idle = (
        simulate(product(tile, 4, **sizes), **ONLY) for tile, sizes in (((128, 256), {"K": 4096}), ((64, 64), {}))
    )
    used = [next(u.utilisation for u in t.uses if u.name == "tensor core") for t in (busy, idle)]
    assert used[0] > 2 * used[1]
    assert busy.cycle_ps > idle.cycle_ps


def test_a_clock_that_is_given_and_slower_stays():
    slow = H200.replacing(sm_clock=1.5)

    assert slow.multiplying() is slow
    assert simulate(product(), slow, **ONLY).cycle_ps == pytest.approx(1000 / 1.5)


def test_power_limits_products_that_go_on_for_long():
    """Products in a row are slower tens of milliseconds after a rest (benchmarks.hardware.sustained), a single one is not."""
    kernel = gemm(M, N, K, cluster=2).bind(M=8192, N=8192, K=8192)
    once, many = (simulate(kernel, **ONLY, sustained=sustained) for sustained in (False, True))
    at_once = simulate(kernel, H200.replacing(power_delay=1e5), **ONLY)  # a launch longer than the delay

    assert 1.01 < many.time_ps / once.time_ps < 1.1
    assert at_once.time_ps == many.time_ps
    assert [any("power limits it" in note for note in t.notes) for t in (once, many, at_once)] == [False, True, True]
    assert all(u.name != "power" or not u.utilisation for u in once.uses)


def test_divisions_wait_for_the_wgmmas_under_way():
    stalls = {s.role: s for s in simulate(product(), **ONLY).stalls if s.cause == "wgmmas before a division"}

    assert set(stalls) == {"role producer"}  # consumers divide behind their own wait for them
    assert stalls["role producer"].share > 0


def test_a_division_is_made_when_wgmmas_are_over_for_as_long_as_it_takes():
    late = H200.replacing(wgmma_latency=5000)  # products are under way as long as the ring has data
    shares = []
    for machine in (H200, late):
        stalls = simulate(product(), machine, **ONLY).stalls
        shares.append(sum(s.share for s in stalls if s.cause == "wgmmas before a division"))

    assert shares[1] > 1.5 * shares[0] > 0


@pytest.mark.parametrize("kernel, steps", [(product(), 2), (tma_copy(M, N, blocks=16).bind(M=1024, N=512), 1)])
def test_each_division_beside_products_is_a_step(kernel, steps):
    producer = Programs(kernel).of((0,))[0].steps
    divided = [s for s in producer if s.unit is Unit.LOOP and (s.served or s.number or s.lanes)]

    assert [s.served + s.number + s.lanes for s in divided[:steps]] == [1] * steps


# Of a tile, all instructions but those of the two quotients, their roundings and jumps: nvdisasm, NVRTC 13, sm_90a.
@pytest.mark.parametrize("tile, cluster, code", [((128, 64), 1, 12), ((128, 64), 2, 12), ((64, 128), 1, 12)])
def test_instructions_between_tiles_are_about_those_of_machine_code(tile, cluster, code):
    kernel = product(tile, cluster=cluster)
    loops = {id(op): op for top in kernel.plain.body for op in top.walk() if isinstance(op, For)}
    found = between(kernel)

    assert {loops[k].index.name for k in found} == {"wave"}
    assert all(abs(n / code - 1) <= 0.2 for n in found.values())


def test_two_elements_become_16_bit_floats_at_once():
    consumer = Programs(product()).of((0,))[1].steps
    converted = [s for s in consumer if isinstance(s.op, Map)]

    assert {(s.op.function, s.op.count, s.count) for s in converted} == {("convert", 8, 4)}


def test_further_warps_of_a_cluster_come_later_to_its_barrier():
    slow = H200.replacing(cluster_release=H200["cluster_release"].value + 1000)
    slow, fast = (m.replacing(wgmma_clock_fall=1e-12) for m in (slow, H200))
    cycle = H200.multiplying(0).cycle
    for tile, more in (((64, 64), 1), ((128, 64), 2)):  # warps of a scheduler beyond the first
        kernel = product(tile, cluster=2, M=2 * tile[0])
        grown = simulate(kernel, slow, **ONLY).time_ps - simulate(kernel, fast, **ONLY).time_ps

        assert grown == pytest.approx(2 * more * 1000 * cycle, rel=0.01)  # at both ends
