"""Laws of simulated kernels: monotone in each number, no server above its rate, conservation, parts of runs."""

from __future__ import annotations

import sys

import pytest

from simulator import H200, simulate
from simulator.machine import RATES, TIMES
from simulator.memory import POWER
from simulator.plan import Plans
from simulator.program import Programs
from simulator.timing_classes import Unit
from symlayout import dims
from symlayout.kernels import bulk_copy, cp_async_copy, gemm, tma_copy, tma_transpose

KERNELS = {
    "a ring of one CTA": lambda: bulk_copy(1 << 16, chunk=1024, slots=3, blocks=1).bind(),
    "rings of all SMs": lambda: tma_copy(*dims("M N"), slots=2, blocks=264).bind(M=4224, N=1024),
    "tiles through registers": lambda: tma_transpose(512, 2112, blocks=66).bind(),
    "groups of cp.async": lambda: cp_async_copy(1 << 17, stages=3, blocks=16).bind(),
    "products in clusters": lambda: gemm(512, 512, 256, cluster=2, blocks=8).bind(),
    "sectors that several SMs read": lambda: bulk_copy(864, chunk=4, blocks=133).bind(),
    "more CTAs than work": lambda: cp_async_copy(656, threads=256, stages=2, blocks=1000).bind(),
}
BEGIN = ("cta_dispatch", "warp_dispatch")
ONLY = {"what_if": False, "uncertainty": False}


def time_on(plans, machine):
    """Picoseconds, as ``simulate`` has them, with a plan for all machines that agree in what it asks for."""
    return sys.modules["simulator.simulate"]._run(plans.of(machine), machine, frozenset({POWER}), False)[0]


def test_the_time_of_a_plan_is_that_of_a_simulation():
    bound = KERNELS["groups of cp.async"]()

    assert time_on(Plans(Programs(bound), warm=False), H200) == simulate(bound, **ONLY).time_ps


@pytest.mark.parametrize("name", KERNELS)
def test_a_number_that_gets_worse_makes_nothing_faster(name):
    """Servers take turns in another order then, which may gain a percent: anomalies of schedules (Graham 1969).

    CTAs that begin later are less in each other's way: the one that has work may end earlier then.
    """
    plans = Plans(Programs(KERNELS[name]()), warm=False)
    base, worse = time_on(plans, H200), {}
    for n in H200.numbers.values():
        if n.unit in (*TIMES, *RATES) and n.name not in BEGIN:
            value = n.value * 3 if n.unit in TIMES else n.value / 3
            worse[n.name] = time_on(plans, H200.replacing(**{n.name: value}))

    assert {k: x / base for k, x in worse.items() if x < 0.98 * base} == {}
    assert sum(x > 1.02 * base for x in worse.values()) >= 3  # and some matter


@pytest.mark.parametrize("name", KERNELS)
def test_no_server_is_above_its_rate_and_what_is_free_costs_no_more(name):
    trace = simulate(KERNELS[name](), uncertainty=False)

    assert all(0 <= use.utilisation <= 1 + 1e-9 for use in trace.uses)
    assert trace.time_ps >= 0.999 * max(
        H200.transfer("dram_rate", trace.dram_bytes / 2), H200.transfer("l2_rate", trace.bytes)
    )
    assert all(time <= 1.01 * trace.time_ps for time in trace.what_if.values())


def test_bytes_in_flight_are_no_more_than_a_window_holds():
    """Each box has 64 KB, so a window of 8 KB holds an eighth of a box at a time."""
    bound = tma_copy(4096, 512, tile=(64, 256), slots=3, blocks=8).bind()
    trace = simulate(bound, H200.replacing(tma_bytes_in_flight=8192, tma_latency=1000), **ONLY)

    [held] = [u.utilisation for u in trace.uses if u.name == "TMA bytes in flight"]
    assert 0.9 < held <= 1


@pytest.mark.parametrize("name", KERNELS)
def test_bytes_that_land_are_those_that_phases_await(name):
    """Of each mbarrier: what copies credit is what is expected, and arrivals are those of whole phases."""
    bound = KERNELS[name]()
    arrivals = {b.name: b.arrivals for b in bound.barriers}
    grid = [(n,) for n in range(int(bound.grid[0]))][:4]
    ctas = Programs(bound).walk(grid).of()
    expected, credited, arrived = {}, {}, {}
    for rank, teams in enumerate(ctas):
        for step in (s for t in teams for s in t.steps if s.barrier[0]):
            for there in step.ranks:
                peer = rank if there < 0 else rank // 2 * 2 + there  # clusters of two
                at = (peer, *step.barrier)
                if step.unit is Unit.TMA_LOAD:
                    credited[at] = credited.get(at, 0) + step.number
                elif step.unit is Unit.MBARRIER:
                    arrived[at] = arrived.get(at, 0) + step.lanes
                    expected[at] = expected.get(at, 0) + step.number * step.lanes

    assert {k: n for k, n in expected.items() if n} == credited
    assert all(n % arrivals[name] == 0 for (_, name, _), n in arrived.items())


def test_a_part_of_a_run_sees_the_changes_that_the_whole_does():
    """What-ifs of a long run are those of its first part; here against whole runs."""
    bound = gemm(8192, 4096, 4096, cluster=2).bind()
    trace = simulate(bound, uncertainty=False, sustained=True)

    assert any("what-ifs" in note for note in trace.notes)
    assert trace.what_if["power"] == pytest.approx(simulate(bound, **ONLY).time_ps, rel=0.03)
