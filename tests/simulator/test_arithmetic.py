"""Divisions by run-time values, and the iterations of loops."""

from __future__ import annotations

import pytest

from simulator import H200, simulate
from simulator.arithmetic import Divisions, divisions
from simulator.program import Programs
from simulator.timing_classes import Unit
from symlayout import Layout, dims
from symlayout.kernel import Builder
from symlayout.kernels import bulk_copy, gemm, tma_copy, tma_transpose, vector_copy
from symlayout.ops import Copy, For


def test_a_quotient_and_its_remainder_are_one_division_of_the_loop_that_they_depend_on():
    M, N, K = dims("M N K")
    product = divisions(gemm(M, N, K, blocks=132).bind(M=1024, N=1024, K=1024))
    copy = divisions(tma_copy(M, N, blocks=132).bind(M=1024, N=1024))

    assert [d for d in product.values() if any(d)] == [Divisions(0, 2)] * 2  # of the producer and of the consumers
    assert [d for d in copy.values() if any(d)] == [Divisions(0, 1)] * 2


def test_a_division_stands_before_the_operation_that_needs_it_and_so_behind_a_wait():
    M, N = dims("M N")
    teams = Programs(tma_copy(M, N, blocks=132).bind(M=1024, N=1024)).of((0,))
    for team in teams[:2]:
        units = [s.unit for s in team.steps]
        wide = next(k for k, s in enumerate(team.steps) if s.unit is Unit.LOOP and s.number)

        assert Unit.WAIT in units[:wide]
        assert units[wide + 1] in (Unit.TMA_LOAD, Unit.TMA_STORE)


@pytest.mark.parametrize("slots", [2, 3, 6])
def test_loops_that_go_round_a_ring_divide_by_no_slots(slots):
    M, N, K = dims("M N K")
    copy = tma_copy(M, N, slots=slots, blocks=132).bind(M=1024, N=1024)
    product = gemm(M, N, K, stages=slots, blocks=132).bind(M=1024, N=1024, K=1024)

    assert not any(d.fixed for kernel in (copy, product) for d in divisions(kernel).values())


@pytest.mark.parametrize("each, rounds, made", [(0, 0, []), (1, 0, ["wave"]), (0, 1, ["i"])])
def test_a_cursor_is_divided_for_where_it_begins_and_nowhere_else(each, rounds, made):
    """In a ring that the next iteration outside goes on with; that it begins anew; whose rounds are used as they are."""
    (T,) = dims("T")
    k = Builder("ring", T, grid=(1,), threads=32)
    full = k.mbarriers("full", 3, 1)
    with k.loop("wave", 7) as wave, k.loop("i", T) as i:
        use = wave * (T + each) + i
        k.wait(full(use % 3), use // 3 % 2)
        k.expect_tx(full(use % 3), 16 + 16 * rounds * (use // 3))
    kernel = k.kernel().bind(T=5)
    found = divisions(kernel)
    [outside] = (op for op in kernel.walk() if isinstance(op, For) and op.index.name == "wave")
    [inside] = outside.inside
    charged = {"wave": outside, "i": inside}  # at its top, as two operations need it

    assert [name for name, op in charged.items() if id(op) in found and found[id(op)].fixed == 1] == made
    assert sum(d.fixed for d in found.values()) == len(made)


def test_a_quotient_that_several_boxes_need_is_made_at_the_top_of_an_iteration():
    """Generated code names it there, before all waits: I2F of its machine code stands before DEPBAR and TRYWAIT."""
    M, N = dims("M N")
    for swizzle, kind in ((64, For), (128, Copy)):
        kernel = tma_transpose(M, N, tile=(64, 64), swizzle=swizzle, blocks=132).bind(M=1024, N=1024)
        found = divisions(kernel)
        places = [op for top in kernel.plain.body for op in top.walk() if any(found.get(id(op), ()))]

        assert [type(op) for op in places] == [kind, kind]


def test_divisions_by_numbers_of_the_code_cost_little():
    assert not any(any(d) for d in divisions(tma_copy(1024, 1024, blocks=132).bind()).values())
    assert not any(any(d) for d in divisions(bulk_copy(4096).bind()).values())


@pytest.mark.parametrize("unroll, jumps", [(None, 8), (1, 16), (4, 4), ("full", 0)])
def test_each_iteration_jumps_unless_it_is_unrolled(unroll, jumps):
    k = Builder("loop", grid=(1,), threads=32)
    x = k.registers("x", "f32", 16)
    with k.loop("i", 16, unroll=unroll):
        k.fill(x(), 1.0)
    kernel = k.kernel().bind()
    steps = [s for team in Programs(kernel).of((0,)) for s in team.steps if s.unit is Unit.LOOP]

    assert sum(s.count for s in steps) == jumps
    fast, slow = (
        simulate(kernel, H200.replacing(loop_trip=n), what_if=False, uncertainty=False).time_ps for n in (1, 1001)
    )
    assert slow - fast == pytest.approx(jumps * 1000 * H200.cycle, abs=20)


def test_small_boxes_wait_for_their_divisions():
    M, N = dims("M N")
    kernel = tma_copy(M, N, tile=(2, 64), slots=4, blocks=1).bind(M=64, N=4096)
    machines = [H200.replacing(divide_64=n) for n in (1, 1001)]
    times = [simulate(kernel, m, cache="warm", what_if=False, uncertainty=False).cycles for m in machines]

    assert times[1] - times[0] > 1000 * 32 * 64 * 0.9  # tiles


def test_a_kernel_without_loops_pays_once():
    N, ld = dims("N ld")
    k = Builder("one", N, ld, grid=(N // ld,), threads=32)
    src, x = k.global_tensor("src", "f32", Layout(N)), k.registers("x", "f32", 1)
    k.copy("ld.global.4", src((k.block[0] + k.thread) // ld), x())
    kernel = k.kernel().bind(N=1024, ld=512)

    assert [str(d) for d in divisions(kernel).values()] == ["1 of 64 bits"]
    assert sum(s.served for s in Programs(kernel).of((0,))[0].steps if s.unit is Unit.LOOP) == 0
    assert sum(s.number for s in Programs(kernel).of((0,))[0].steps if s.unit is Unit.LOOP) == 1


def test_no_operation_is_counted_twice():
    steps = [s for team in Programs(vector_copy(1024).bind()).of((0,)) for s in team.steps]

    assert sum(s.bytes for s in steps if s.unit in (Unit.LOAD, Unit.STORE)) == sum(s.bytes for s in steps)
