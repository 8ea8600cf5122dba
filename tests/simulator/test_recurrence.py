"""Iterations that repeat are counted: each number is that of each step simulated, and what does not repeat is not."""

from __future__ import annotations

import re
import sys
from functools import cache

import numpy as np
import pytest

from simulator import H200, SimulationError, simulate
from simulator.cache import Cache
from simulator.dram import Dram
from simulator.engine import Engine
from simulator.machine import RATES, TIMES
from simulator.plan import plan_of
from simulator.program import Programs
from simulator.recurrence import _alike
from symlayout.kernel import Builder
from symlayout.kernels import bulk_copy, cp_async_copy, gemm, row_sum, tma_copy, tma_transpose, vector_copy
from symlayout.layout import Layout

run = sys.modules["simulator.simulate"]._run
ONLY = {"what_if": False, "uncertainty": False}
PIPELINES = {
    "a ring": lambda: bulk_copy(1 << 14, chunk=256, slots=3, blocks=1),
    "a ring with a rest": lambda: bulk_copy(20_000, chunk=512, slots=2, blocks=1),
    "a ring for each SM": lambda: bulk_copy(132 * 128 * 120, chunk=128, slots=4, blocks=132),
    "CTAs one after another": lambda: bulk_copy(132 * 8192 * 40, chunk=8192, slots=3, blocks=132 * 40),
    "boxes": lambda: tma_copy(32 * 64, 512, tile=(32, 64), slots=3, blocks=8),
    "boxes of CTAs that differ": lambda: tma_copy(2112, 2000, slots=2, blocks=900),
    "products": lambda: gemm(128, 256, 64 * 48, cluster=1, stages=3, blocks=1),
    "tiles of products, one after another": lambda: gemm(128 * 7, 256, 64 * 20, cluster=1, stages=2, blocks=1),
    "products in a cluster": lambda: gemm(256, 256, 64 * 48, cluster=2, stages=2, blocks=2),
    "products of five slots": lambda: gemm(256, 128, 64 * 120, tile=(128, 128), stages=5, blocks=2),
    "threads": lambda: vector_copy(132 * 4096 * 300, threads=1024),
    "groups": lambda: cp_async_copy(1 << 16, stages=3, blocks=2),
    "tiles through registers": lambda: tma_transpose(1024, 2112, blocks=264),
}
IRREGULAR = ("boxes of CTAs that differ", "tiles through registers")  # clipped ones; DRAM is not steady within a few
REGULAR = [name for name in PIPELINES if name not in IRREGULAR]


@cache
def plan(name):
    bound = PIPELINES[name]().bind()
    return plan_of(Programs(bound), H200, Cache.of(bound, H200, warm=False))


def counted(name, machine, each_step):
    """Everything that a run counts, and the steps that were not simulated."""
    time, chip = run(plan(name), machine, frozenset(), False, each_step=each_step)
    stalls = sorted((s.role, s.cause, s.share) for s in chip.stalls())
    units = [(p.busy, p.queued, p.served) for sm in chip.sms for p in sm.pipes]
    return (time, tuple(chip.uses(time)), stalls, units, chip.memory.dram.ledger[1:]), chip.repeated, chip.steps


def drawn(seed):
    """A machine whose servers take from a third of the time of an H200 to three times as long."""
    rng = np.random.default_rng(seed)
    those = [n for n in H200.numbers.values() if n.unit in (*TIMES, *RATES)]
    values = {n.name: n.value * 3 ** rng.uniform(-1, 1) for n in those}
    return H200.replacing(**values, tma_bytes_in_flight=int(rng.integers(1, 49) * 1024))


@pytest.mark.parametrize("name", PIPELINES)
def test_random_pipelines_are_those_simulated_step_by_step(name, share):
    repeated = 0
    for seed in range(share(60)):
        machine = drawn(seed)
        (found, skipped, steps), (wanted, none, all_of_them) = (counted(name, machine, each) for each in (False, True))

        assert found == wanted, seed
        assert (none, steps) == (0, all_of_them)
        repeated += skipped > steps / 4
    assert repeated or name not in REGULAR


@pytest.mark.parametrize("name", REGULAR)
def test_families_of_regular_pipelines_are_mostly_counted(name):
    _, repeated, steps = counted(name, H200, each_step=False)

    assert repeated > 0.3 * steps


def test_a_trace_is_the_same_but_for_its_notes():
    bound = bulk_copy(1 << 15, chunk=256, slots=3, blocks=1).bind()
    found, wanted = (simulate(bound, each_step=each).row() for each in (False, True))

    assert [n for n in found.pop("notes") if "repeat" not in n] == wanted.pop("notes")
    assert found == wanted


@pytest.mark.parametrize(
    "each, why",
    [(False, r"no state of the SMs came back in \d+ iterations of a role"), (True, "each step was asked for")],
)
def test_what_is_outside_of_the_class_is_told_with_the_reason(each, why):
    bound = tma_transpose(8448, 8960, tile=(64, 64), swizzle=0, stages=2, blocks=264).bind()
    [told] = [n for n in simulate(bound, cache="warm", each_step=each, **ONLY).notes if "each of" in n]

    assert re.fullmatch(rf"each of \d+ steps is simulated: {why}", told)


def test_a_period_ends_where_the_steps_change():
    assert _alike(np.array([1, 2, 1, 2, 1, 2, 3, 2]), 0, 2) == 4
    assert _alike(np.array([1, 2, 1, 2, 1, 2, 3, 2]), 1, 2) == 3
    assert _alike(np.array([1, 2, 1, 2]), 0, 2) == 2
    assert _alike(np.array([1, 2]), 0, 2) == _alike(np.array([1, 2]), 5, 3) == 0


def waiting_for(iteration):
    """A ring whose consumer gives back no slot from an iteration on."""
    k = Builder("ring", grid=(1,), threads=64)
    src, dst = (k.global_tensor(n, "f32", Layout(64 * 100)) for n in ("src", "dst"))
    tile = k.shared_tensor("tile", "f32", Layout(128))
    full, empty = k.mbarriers("full", 2, 1), k.mbarriers("empty", 2, 1)
    with k.role("producer", 1), k.elect(), k.loop("i", 100) as i:
        k.wait(empty(i % 2), (i // 2 + 1) % 2)
        k.expect_tx(full(i % 2), 256)
        k.copy("bulk.load", src(64 * i), tile(64 * (i % 2)), full(i % 2), nbytes=256)
    with k.role("consumer", 1), k.elect(), k.loop("i", 100) as i:
        k.wait(full(i % 2), i // 2 % 2)
        k.copy("bulk.store", tile(64 * (i % 2)), dst(64 * i), nbytes=256)
        k.commit("bulk")
        k.wait_group("bulk", 0, read=True)
        with k.where(i < iteration):
            k.arrive(empty(i % 2))
    return k.kernel()


def test_a_run_that_stops_after_many_iterations_says_when():
    told = []
    for each in (False, True):
        with pytest.raises(SimulationError, match=r"role producer waits for empty\[0\], in phase") as e:
            simulate(waiting_for(80), each_step=each)
        told.append(str(e.value))
        assert len([x for x in e.value.timeline.events if x.what == "land"]) == 82

    assert told[0] == told[1]
    assert simulate(waiting_for(100), **ONLY) is not None


@pytest.mark.parametrize("part", [100, 300, 450, 1000])
def test_a_part_of_a_run_ends_behind_its_steps(part):
    def reached(until, each):
        time, chip = run(plan("a ring"), H200, frozenset(), False, until=until, each_step=each)
        return chip.reached, time

    found, time = reached(part, False)

    if part < 1000:
        assert part <= found[0] < part + 60  # steps of a period
        assert reached(found[0], True)[0] == found
        assert time <= reached(0, True)[1]
    else:  # it ends before
        assert found is None is reached(part, True)[0]


def test_with_a_timeline_or_values_each_step_is_simulated():
    bound = row_sum(64, 512, 512).bind()
    src = np.ones((64, 512), np.float32)

    for options in ({"timeline": True}, {"values": True, "inputs": {"src": src}}):
        assert not any("repeat" in note for note in simulate(bound, **options, **ONLY).notes)


@pytest.mark.parametrize("queue", [20_000, 60_000, 8_000_000])
def test_a_copy_that_writes_less_back_than_it_reads_repeats(queue):
    """What is unpaired grows with each iteration, up to the limit: before and behind it iterations are the same."""
    machine = H200.replacing(l2_bytes=1 << 20, dram_queue_bytes=queue)
    bound = bulk_copy(1 << 18, chunk=512, slots=3, blocks=1).bind()
    plan = plan_of(Programs(bound), machine, Cache.of(bound, machine, warm=False))
    (time, chip), (wanted, each) = (run(plan, machine, frozenset(), False, each_step=x) for x in (False, True))

    assert (time, [*chip.stalls()]) == (wanted, [*each.stalls()])
    assert chip.memory.dram.ledger == each.memory.dram.ledger
    assert chip.repeated > 0.9 * chip.steps
    assert chip.memory.dram.ledger[0] > 10_000


@pytest.mark.parametrize("queue", [1000, 100_000])
@pytest.mark.parametrize("before", [-900, -1, 0, 5, 700, 4000])
@pytest.mark.parametrize(
    "period", [("read", 300), ("write", 300), ("read", 200, "write", 200), ("read", 9, "write", 7)]
)
def test_what_dram_has_still_to_pair_repeats_or_is_known_not_to(before, period, queue):
    """Against the period as often; from where it takes another time than before, ``again`` says so."""
    small = H200.replacing(dram_queue_bytes=queue)

    def after(dram, times):
        taken = []
        for _ in range(times):
            done = [getattr(dram, what)(n) for what, n in zip(period[::2], period[1::2], strict=True)]
            taken.append([end - start for start, end in done])
        return taken

    dram, other = Dram(Engine(), small), Dram(Engine(), small)
    for one in (dram, other):
        (one.read if before > 0 else one.write)(abs(before))
        after(one, 2)
    then, [first], rest = dram.ledger, after(dram, 1), after(other, 1)
    times = min(30, dram.again(then))
    dram.repeat(then, times)

    assert rest + after(other, times) == [first] * (1 + times)
    assert dram.ledger == other.ledger
    assert times or then[0] != dram.ledger[0]
