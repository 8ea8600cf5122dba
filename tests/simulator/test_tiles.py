"""Boxes of short rows and single tiles: requests of L2, the front end, what is stored outside, launches and waits."""

from __future__ import annotations

import pytest

from simulator import H200, simulate
from simulator.cache import Cache
from simulator.crossbar import Crossbar
from simulator.engine import NS, Engine
from simulator.memory import Beside, GlobalMemory
from simulator.plan import plan_of
from simulator.program import Programs
from simulator.resource import Pipe
from simulator.timing import Times
from simulator.timing_classes import Unit
from simulator.upkeep import upkeep
from symlayout.kernels import bulk_copy, tma_copy, tma_transpose
from symlayout.ops import Role

CYCLE = H200.cycle


def time_of(kernel, machine=H200, **options):
    return simulate(kernel.bind(), machine, what_if=False, uncertainty=False, cache="warm", **options).time_ps


def test_a_box_of_many_rows_comes_a_latency_after_its_last_row():
    """M6, M32: 256 rows of one SM take 256 cycles beyond what one row takes, however few bytes they are."""
    few, many = (time_of(tma_copy(rows, 8, tile=(rows, 8))) for rows in (16, 256))
    row = H200.exact("tma_row")

    assert many - few == pytest.approx(2 * row * (256 - 16), rel=0.1)  # of the load, and of the store


@pytest.mark.parametrize("number, mode", [("l2_request", "read"), ("l2_write_request", "write")])
def test_a_row_of_a_sector_is_a_request_of_l2(number, mode):
    """M32: all SMs are bound by requests, which take as long as some 50 bytes."""
    memory = GlobalMemory(Engine(), H200)
    rows, each = 100_000, 32
    if mode == "read":
        memory.read((Pipe("port", memory.engine),), 0, l2_bytes=rows * each, requests=rows, dram_bytes=0, late=False)
    else:
        memory.write(rows * each, rows)

    assert memory.l2.busy == pytest.approx(rows * H200.exact(number), rel=1e-6)
    assert memory.l2.busy > rows * each * H200.exact("l2_rate") * 1.5


def test_the_requests_of_all_sms_are_asked_for():
    kernel = tma_copy(2048, 512, tile=(128, 8), slots=2, blocks=132).bind()
    plan = plan_of(Programs(kernel), H200, Cache.of(kernel, H200, True))
    teams = [t for kind in plan.courses(H200) for cluster in kind for course in cluster for t in course.teams]
    loads = sum(s.l2_requests for t in teams for s in t.steps if s.unit is Unit.TMA_LOAD)

    assert loads == pytest.approx(2048 * 512 // 8)


def test_what_is_stored_outside_takes_a_wavefront_a_line():
    """M32: a box has 64 rows of 256 bytes and 16 of them lie inside. Its store takes 232 cycles, not 128 or 513."""
    walk = Programs(tma_copy(16, 64, tile=(64, 64)).bind()).walk([(0,)])
    [store] = [p for parts in walk.parts for p in parts if p.row.unit is Unit.TMA_STORE]
    [port] = Times(H200).of(store)[4].tolist()

    assert port / CYCLE == pytest.approx(232, rel=0.05)


def test_reads_by_tma_wait_for_writes_of_l2():
    memory, port = GlobalMemory(Engine(), H200), Pipe("port", Engine())
    how = {"l2_bytes": 128, "dram_bytes": 0, "late": False, "boxed": True}
    [quiet] = memory.read((port,), 0, **how)
    [wait] = memory.read((port,), 0, **how, beside=Beside(0.5, (0.0, 0.0)))

    assert wait - quiet == pytest.approx(H200.exact("l2_write_wait"), rel=0.01)


@pytest.mark.parametrize("beside, kind", [((0.1, 0.0), "dram_read_wait"), ((0.0, 0.1), "dram_write_wait")])
def test_reads_of_dram_wait_for_what_it_does_meanwhile(beside, kind):
    """One line waits half of the longest wait, on average, in whole nanoseconds."""
    dram = GlobalMemory(Engine(), H200).dram

    assert dram.waits(1, ((0.0, 0.0), 0.0)) == dram.waits(1) == 0
    assert dram.waits(1, (beside, 0.0)) == pytest.approx(0.1 * H200.exact(kind) / 2, abs=500)


@pytest.mark.parametrize("least", [4, 8])
@pytest.mark.parametrize("cache", ["warm", "cold"])
def test_a_ring_of_one_slot_is_no_faster_by_what_its_iterations_take(cache, least):
    """Wherever stores of all SMs come in an iteration, loads wait for as much of them."""
    small = 2048 if cache == "warm" else 8192
    kernel = tma_transpose(small, small, tile=(64, 64), swizzle=64, blocks=132).bind()
    times = [
        simulate(kernel, H200.replacing(fence=n), cache=cache, what_if=False, uncertainty=False).time_ps
        for n in (least, 24, 60, 120)
    ]

    assert times == sorted(times)


def test_loads_by_tma_wait_for_others_in_the_crossbar():
    """M30: 280 ns r^3 / (1 - r), where r is the part of its time for which a port takes bytes in."""
    wanted = H200.exact("crossbar_wait")
    for percent in (30, 50, 70):
        crossbar, port = Crossbar(H200), Pipe("port", Engine())
        waits = [crossbar.wait(port, percent * NS, 100 * NS * k) for k in range(60)]

        assert waits[0] == crossbar.wait(Pipe("other", port.engine), NS, 0) == 0
        part = percent / 100
        most, least = (round(wanted * r**3 / (1 - r)) for r in (part, part - 0.08))  # a step of what is remembered
        assert least <= waits[-1] <= most
        assert waits[-1] == waits[-20]


def test_only_bytes_of_tma_wait_in_the_crossbar():
    for boxed in (True, False):
        engine = Engine()
        memory, port = GlobalMemory(engine, H200), Pipe("port", engine)
        ends = []
        for k in range(30):
            engine.now = 100 * NS * k
            [end] = memory.read((port,), 70 * NS, l2_bytes=0, dram_bytes=0, late=False, boxed=boxed)
            ends.append(end - engine.now)

        assert (ends[-1] > ends[0] + 150 * NS) == boxed
        assert boxed or len(set(ends)) == 1


def test_mbarriers_and_maps_are_set_up_before_all_else():
    """M31: 164 cycles before a launch has its mbarriers, and 28 for each map that is prefetched."""
    times = []
    for kernel in (tma_copy(16, 256), bulk_copy(4096, chunk=4096)):
        without = H200.replacing(mbarrier_setup=1, map_prefetch=1)
        times.append(time_of(kernel) - time_of(kernel, without))

    setup, maps = (H200.ps(x) - round(CYCLE) for x in ("mbarrier_setup", "map_prefetch"))
    assert times == pytest.approx([setup + 2 * maps, setup], rel=0.02)


def test_a_role_is_entered_before_its_first_loop():
    """Machine code of copies: 150 to 200 cycles from the barrier of all threads to the first wait of a role."""
    kernel = tma_copy(4096, 4096, slots=2, blocks=132).bind()
    found, roles = upkeep(kernel), [op for top in kernel.plain.body for op in top.walk() if isinstance(op, Role)]

    assert len(roles) == 2
    for role in roles:
        assert found[id(role)].constants == 1
        assert found[id(role)].branches == 3
        assert 15 <= found[id(role)].instructions <= 40


def test_ctas_that_move_nothing_are_run_by_sms_that_are_free():
    """Of 528 CTAs, one at a time on an SM, 24 have a tile: no SM with a tile waits for three that have none."""
    sizes = {"tile": (256, 128), "dtype": "f32"}
    machine = H200.replacing(gpc_rate=H200["l2_rate"].value)  # so it does not matter on which GPCs the 24 are
    few, many = (time_of(tma_copy(24 * 256, 128, blocks=n, **sizes), machine) for n in (24, 528))

    assert many - few < H200.ps("cta_turnover")
