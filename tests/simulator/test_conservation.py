"""What a run has done is what its steps ask for: the work of each unit, the bytes in flight, each number so many times."""

from __future__ import annotations

import itertools
import sys
from collections import Counter

import pytest

from simulator import H200, simulate
from simulator.plan import Plans
from simulator.program import Programs
from simulator.runs import READS
from simulator.timing_classes import Unit
from symlayout.kernels import bulk_copy, cp_async_copy, gemm, tma_copy, tma_transpose, vector_copy

ONLY = {"what_if": False, "uncertainty": False}
TMA = (Unit.TMA_LOAD, Unit.TMA_STORE)
KERNELS = {
    "a ring of one CTA": lambda: bulk_copy(1 << 14, chunk=1024, slots=3, blocks=1),
    "rings of all SMs": lambda: tma_copy(4224, 1024, slots=2, blocks=264),
    "tiles through registers": lambda: tma_transpose(512, 2112, blocks=66),
    "groups of cp.async": lambda: cp_async_copy(1 << 16, stages=3, blocks=16),
    "threads": lambda: vector_copy(1 << 18),
    "products": lambda: gemm(512, 512, 512, cluster=1, blocks=8),
    "products in clusters": lambda: gemm(512, 512, 256, cluster=2, blocks=8),
}


def asked(plan):
    """Picoseconds that all steps ask of each unit, and bytes of DRAM by direction."""
    work, dram = Counter(), Counter()
    for kind, clusters in zip(plan.kinds, plan.courses(H200), strict=True):
        for s in (s for cluster in clusters for c in cluster for team in c.teams for s in team.steps):
            reads, writes = s.unit in READS, s.unit in (Unit.STORE, Unit.TMA_STORE)
            work["issue slots"] += s.slot_ps
            work["load/store unit"] += s.unit_ps * (s.unit in (Unit.LOAD, Unit.STORE, Unit.CP_ASYNC))
            work["TMA front end"] += s.unit_ps * (s.unit in TMA)
            work["tensor core"] += s.unit_ps * (s.unit is Unit.MMA)
            work["tensor core"] += max(s.unit_ps, s.shared_ps) * (s.unit is Unit.WGMMA)
            work["mbarrier unit"] += s.unit_ps * (s.unit in (Unit.MBARRIER, Unit.WAIT))
            work["shared memory"] += s.unit_ps * (s.unit in (Unit.SHARED, Unit.MATRIX))
            work["shared memory"] += s.shared_ps * len(s.ranks) * (s.unit in (*TMA, Unit.CP_ASYNC))
            work["SM port"] += s.port_ps * len(s.ranks) * reads
            work["SM port, stores"] += s.port_ps * writes + s.shared_ps * (s.unit is Unit.TMA_LOAD)
            rows, written = H200.exact("l2_request"), H200.exact("l2_write_request") * s.l2_requests
            each = plan.slower * H200.exact("l2_rate")
            work["L2"] += round(max(each * s.l2_bytes, rows * s.l2_requests)) * reads
            kept = H200.exact("l2_rate") * H200.share("l2_fill") * min(s.l2_bytes, s.dram_bytes)
            work["L2"] += round(kept) * (reads and s.dram_bytes > 0)
            work["L2"] += round(max(H200.exact("l2_beside_rate") * s.l2_bytes, written)) * writes
            work["L2 writes"] += round(max(H200.exact("l2_write_rate") * s.l2_bytes, written)) * writes
            power = H200.power("l2_energy") * s.l2_bytes + H200.power("dram_energy") * s.dram_bytes
            work["power"] += round(power) * (reads or writes)
            work["power"] += round(s.power_ps * kind.weight * kind.share) * (s.unit is Unit.WGMMA)
            dram["read"] += s.dram_bytes * reads
            dram["written"] += s.dram_bytes * writes
    return {unit: ps for unit, ps in work.items() if ps}, dram


@pytest.mark.parametrize("name", KERNELS)
def test_each_unit_does_what_the_steps_ask_of_it(name):
    plan = Plans(Programs(KERNELS[name]().bind()), warm=False).of(H200)
    _, chip = sys.modules["simulator.simulate"]._run(plan, H200, frozenset(), False)
    done = Counter()
    for pipe in (*chip.memory.pipes, *(p for sm in chip.sms for p in sm.pipes)):
        done[pipe.name] += pipe.busy
    dram_busy = done.pop("DRAM")
    wanted, dram = asked(plan)

    assert {unit: ps for unit, ps in done.items() if ps} == wanted
    apart = H200.exact("dram_rate") * dram["read"] + H200.exact("dram_write_rate") * dram["written"]
    turns = H200.exact("dram_turnaround_apart") * min(dram.values(), default=0)
    assert apart - 1000 <= dram_busy <= apart + turns + 1000


def test_dram_that_reads_and_writes_turns_for_all_that_is_paired():
    """A copy that fits no L2: as much is written as read, near each other."""
    bound = bulk_copy(132 * 8192 * 40, chunk=8192, slots=2, blocks=132).bind()
    plan = Plans(Programs(bound), warm=False).of(H200)
    _, chip = sys.modules["simulator.simulate"]._run(plan, H200, frozenset(), False)
    _, dram = asked(plan)

    apart = H200.exact("dram_rate") * dram["read"] + H200.exact("dram_write_rate") * dram["written"]
    turns = H200.exact("dram_turnaround_apart") * min(dram.values())
    assert plan.apart
    assert dram["written"] > 0
    assert chip.memory.dram.pipe.busy == pytest.approx(apart + turns, rel=0.01)


def test_littles_law_of_the_bytes_in_flight():
    """The mean of the bytes in flight is the sum, over loads, of their bytes and their time, by the time of the run."""
    bound = bulk_copy(1 << 14, chunk=1024, slots=3, blocks=1).bind()
    trace = simulate(bound, timeline=True, **ONLY)
    port = H200.transfer("sm_port_rate", 4096)
    reads = [m for m in trace.timeline.moves if m.what == "read"]
    [held] = [u.utilisation for u in trace.uses if u.name == "TMA bytes in flight"]

    assert len(reads) == 16
    inside = sum(m.bytes * (m.end - port / 2 - m.start) for m in reads)  # bytes come one by one at the end
    assert held * H200.count("tma_bytes_in_flight") == pytest.approx(inside / trace.time_ps, rel=1e-3)


US = 1000  # nanoseconds
ALONE = {"launch": 1000}
STEADY = {"wgmma_clock_fall": 1e-12}  # a clock that does not depend on how busy tensor cores are
SLOW_STORES = {"sm_write_rate": 0.01}  # a store of 4 KB takes 0.2 ms
COUNTS = {  # a kernel, what makes one path the longest, a time that grows, and how often it counts on that path
    "a load and a store by threads": (lambda: vector_copy(128 * 4), SLOW_STORES, "l2_latency", 1),
    "a miss": (lambda: vector_copy(128 * 4), SLOW_STORES, "dram_latency", 1),
    "a dispatched CTA": (lambda: bulk_copy(1024, chunk=1024, blocks=1), ALONE, "cta_dispatch", 1),
    "a retired CTA": (lambda: bulk_copy(1024, chunk=1024, blocks=1), ALONE, "cta_retire", 1),
    "CTAs in one place": (
        lambda: bulk_copy(132 * 49152 * 3, chunk=49152, blocks=132 * 3),
        ALONE | {"dram_read_wait": 0.001, "dram_write_wait": 0.001},  # less, the longer DRAM has nothing to do
        "cta_turnover",
        2,
    ),
    "waits of a ring of one slot, of both roles at a time": (
        lambda: bulk_copy(256 * 5, chunk=256, slots=1, blocks=1),
        ALONE,
        "mbarrier_wait",
        5,
    ),
    "threads of a ring of one slot that are woken": (  # but for the first load
        lambda: bulk_copy(256 * 5, chunk=256, slots=1, blocks=1),
        ALONE,
        "mbarrier_wake",
        9,
    ),
    "sources that are read": (lambda: bulk_copy(256 * 5, chunk=256, slots=1, blocks=1), ALONE, "tma_store_read", 5),
    "commands of a ring of one slot": (lambda: bulk_copy(1280, chunk=256, slots=1, blocks=1), ALONE, "tma_issue", 10),
    "arrivals of a ring of one slot": (
        lambda: bulk_copy(1280, chunk=256, slots=1, blocks=1),
        ALONE,
        "mbarrier_arrive",
        5,
    ),
    "products of a tile": (lambda: gemm(128, 256, 64, cluster=1, blocks=1), STEADY, "wgmma_latency", 1),
}


@pytest.mark.parametrize("what", COUNTS)
def test_a_time_counts_as_often_as_the_kernel_says(what):
    build, others, number, times = COUNTS[what]
    bound = build().bind()
    found = []
    for us in (100, 200, 300):
        machine = H200.multiplying(0) if number.startswith("wgmma") else H200
        value = us * US * (1 if H200[number].unit == "ns" else machine["sm_clock"].value)
        found.append(simulate(bound, H200.replacing(**others, **{number: value}), **ONLY).time_ps)

    grown = [b - a for a, b in itertools.pairwise(found)]
    assert grown == pytest.approx([times * 100 * US * 1000] * 2, abs=10)
