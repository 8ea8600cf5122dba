"""What code does beside its operations, and the loads that it takes ahead: against counts of machine code, and in time."""

from __future__ import annotations

import pytest

from simulator import H200, simulate
from simulator.ahead import ahead
from simulator.program import Programs
from simulator.timing_classes import Unit
from simulator.upkeep import short_loops, upkeep
from symlayout import dim
from symlayout.kernel import Builder
from symlayout.kernels import axpby, cp_async_copy, row_sum, tma_transpose, vector_copy
from symlayout.layout import Layout
from symlayout.ops import Copy, For


def loops(kernel):
    return [op for top in kernel.plain.body for op in top.walk() if isinstance(op, For)]


def time_of(kernel, machine=H200, **options):
    return simulate(kernel, machine, what_if=False, uncertainty=False, **options).time_ps


# Of one iteration, all instructions but those for memory, barriers and groups: nvdisasm, NVRTC 13, sm_90a.
MACHINE_CODE = {(8, 128, 8): 34, (5, 128, 8): 42, (4, 512, 132): 32}


@pytest.mark.parametrize("schedule", MACHINE_CODE)
def test_instructions_of_a_copy_are_those_of_machine_code(schedule):
    stages, threads, blocks = schedule
    kernel = cp_async_copy(dim("N"), stages=stages, threads=threads, blocks=blocks).bind(N=1 << 20)
    [loop] = (x for x in loops(kernel) if x.index.name == "i")
    found = upkeep(kernel)[id(loop)]

    assert found.constants == 1
    assert abs(found.instructions / MACHINE_CODE[schedule] - 1) <= 0.2


# Whether the loop of a consumer has no jump, of 71 transpositions: dtype, tile, swizzle.
@pytest.mark.parametrize(
    "dtype, tile, swizzle, copies",
    [
        *(
            ("f32", (32, 128), 64, 8),
            ("f32", (64, 128), 32, 16),
            ("f32", (128, 128), 0, 32),
            ("bf16", (64, 128), 128, 8),
        ),
        *(("f32", (128, 64), 128, 2), ("f32", (128, 128), 32, 2), ("bf16", (128, 128), 64, 2)),
    ],
)
def test_loops_are_unrolled_as_in_machine_code(dtype, tile, swizzle, copies):
    kernel = tma_transpose(dim("M"), dim("N"), dtype=dtype, tile=tile, swizzle=swizzle, blocks=132).bind(M=512, N=512)
    [loop] = (x for x in loops(kernel) if x.index.name == "j")

    assert (id(loop) in short_loops(kernel)) == (copies == loop.extent)


def test_a_condition_around_a_loop_of_loads_is_jumped_over():
    kernel = row_sum(dim("M"), dim("N"), dim("L")).bind(M=64, N=4096, L=4096)
    [loop] = (x for x in loops(kernel) if x.index.name == "j")

    assert upkeep(kernel)[id(loop)].jumps == 1


def test_what_no_loop_changes_is_not_counted():
    assert not upkeep(vector_copy(dim("N")).bind(N=4096))


def test_an_iteration_takes_its_instructions_longer():
    kernel = cp_async_copy(1 << 16, stages=8, threads=64, blocks=1).bind()
    [loop] = (x for x in loops(kernel) if x.index.name == "i")
    found, trips = upkeep(kernel)[id(loop)], (1 << 16) // 256
    more = [H200.replacing(constant_read=H200["constant_read"].value + n) for n in (0, 1000)]
    times = [time_of(kernel, m, cache="warm") for m in more]

    assert times[1] - times[0] == pytest.approx(1000 * H200.cycle * trips * found.constants, rel=0.01)


@pytest.mark.parametrize("family, loads", [(vector_copy, 1), (axpby, 2), (cp_async_copy, 1)])
def test_loads_of_an_unrolled_loop_come_before_its_stores(family, loads):
    kernel = family(4096 + 3 if family is not cp_async_copy else 4096).bind()
    found = ahead(kernel, short_loops(kernel))
    ops = {id(op): op for top in kernel.plain.body for op in top.walk()}

    assert len(found) == loads
    assert all(ops[loop].index.name == "j" for loop in found.values())


def test_loads_do_not_pass_stores_that_may_be_to_the_same_bytes():
    """Through shared memory, and of a global tensor that the kernel writes."""
    turned = tma_transpose(512, 512, tile=(64, 64), blocks=4).bind()
    k = Builder("move", grid=(1,), threads=32)
    a, x = k.global_tensor("a", "f32", Layout(256)), k.registers("x", "f32", 1)
    with k.loop("j", 4) as j:
        k.copy("ld.global.4", a(32 * j + k.thread), x())
        k.copy("st.global.4", x(), a(32 * j + k.thread + 32))
    moved = k.kernel().bind()

    assert not ahead(turned, short_loops(turned))
    assert not ahead(moved, short_loops(moved))


def test_a_tail_waits_once_for_all_of_its_loads():
    whole, tail = (time_of(vector_copy(4 * 4096 + n).bind(), cache="warm") for n in (0, 3))

    assert tail - whole < 2 * H200.ps("l2_latency")


def test_steps_ahead_are_as_many_as_without():
    kernel = cp_async_copy(8192, stages=3, threads=64, blocks=2).bind()
    teams = Programs(kernel).of((0,))
    copies = [s.unit for team in teams for s in team.steps if isinstance(s.op, Copy)]

    assert copies.count(Unit.SHARED) == copies.count(Unit.STORE) == 4 * 8192 // 512
    assert copies[-8:] == [Unit.SHARED] * 4 + [Unit.STORE] * 4


def test_fewer_groups_than_may_be_under_way_are_not_waited_for():
    """Of a ring of eight with room for six groups, time is that of its iterations, not of the latency of memory."""
    times = [time_of(cp_async_copy(n, stages=8, threads=64, blocks=1).bind(), cache="warm") for n in (1 << 15, 1 << 16)]

    assert (times[1] - times[0]) / ((1 << 15) // 256) < 0.6 * H200.ps("l2_latency")


def test_each_warp_waits_for_its_own_loads():
    """A warp of sixteen goes on when its bytes are there; the CTA ends when those of the last are."""
    few, many = (time_of(row_sum(n, 1 << 14, 1 << 14, warps=n).bind(), cache="warm") for n in (2, 16))

    assert many / few < 1.25
