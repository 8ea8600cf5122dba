"""Runs with values: what a kernel leaves is what it says, and a mistake leaves something else or stops the run."""

from __future__ import annotations

from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest

from simulator import H200, SimulationError, simulate
from symlayout.errors import LayoutError
from symlayout.kernel import Builder
from symlayout.kernels import (
    bulk_copy,
    cp_async_copy,
    gather_rows,
    gemm,
    row_sum,
    tma_copy,
    tma_reduce_add,
    tma_transpose,
    vector_copy,
)
from symlayout.layout import Layout
from symlayout.ops import Arrive, Copy, Fence, Ref, Slot, Wait, WaitGroup
from symlayout.semantics import execute


def numbers(seed, *shape):
    return np.random.default_rng(seed).random(shape, np.float32)


def bf16(seed, *shape):
    return numbers(seed, *shape).astype(ml_dtypes.bfloat16)


CASES = {
    "vector_copy": (lambda: vector_copy(1003), lambda: {"src": numbers(0, 1003)}),
    "cp_async_copy": (lambda: cp_async_copy(9000, stages=3, blocks=3), lambda: {"src": numbers(0, 9000)}),
    "bulk_copy": (lambda: bulk_copy(9000, chunk=1024, slots=2, blocks=3), lambda: {"src": numbers(0, 9000)}),
    "tma_copy": (lambda: tma_copy(100, 300, tile=(16, 64), blocks=5), lambda: {"src": numbers(0, 100, 300)}),
    "tma_transpose": (lambda: tma_transpose(72, 136, tile=(64, 64), blocks=2), lambda: {"src": bf16(0, 72, 136)}),
    "row_sum": (lambda: row_sum(9, 300, 300), lambda: {"src": numbers(0, 9, 300)}),
    "tma_reduce_add": (
        lambda: tma_reduce_add(3, 17, 68),
        lambda: {"src": numbers(0, 3, 17, 68), "dst": numbers(1, 17, 68)},
    ),
    "gather_rows": (
        lambda: gather_rows(10, 40, 64, tile=(16, 64), blocks=2),
        lambda: {"src": numbers(0, 10, 64), "idx": np.arange(40, dtype=np.int32) % 10},
    ),
    "gemm": (
        lambda: gemm(200, 136, 200, blocks=2, tile=(128, 64)),
        lambda: {"a": bf16(0, 200, 200), "b": bf16(1, 136, 200)},
    ),
    "gemm, clusters": (
        lambda: gemm(200, 136, 200, blocks=2, cluster=2, tile=(128, 64)),
        lambda: {"a": bf16(0, 200, 200), "b": bf16(1, 136, 200)},
    ),
}


def run(kernel, inputs, machine=H200, **options):
    return simulate(kernel.bind(), machine, values=True, inputs=inputs, what_if=False, uncertainty=False, **options)


def without(*kinds, where=lambda op: True):
    return lambda op: () if isinstance(op, kinds) and where(op) else (op,)


def same(trace, wanted):
    return all(np.array_equal(trace.arrays[name], x, equal_nan=True) for name, x in wanted.items())


@pytest.mark.parametrize("name", CASES)
def test_a_timed_run_leaves_what_the_untimed_run_does(name):
    build, inputs = CASES[name]
    kernel = build()
    trace = run(kernel, inputs())

    assert same(trace, execute(kernel.bind(), inputs()))
    assert "SMs is simulated" in trace.notes[0]
    assert (
        trace.time_ps
        == simulate(kernel.bind(), detail="all", inputs=inputs(), what_if=False, uncertainty=False).time_ps
    )


MUTANTS = {  # what is left out, and of which kernel: each leaves other bytes on H200 or on a machine that is slower
    "the wait for a slot to be filled": ("tma_copy", without(Wait, where=lambda op: op.barrier.barrier == "full")),
    "the wait for a slot to be empty": ("bulk_copy", without(Wait, where=lambda op: op.barrier.barrier == "empty")),
    "the wait for the source of a store": ("bulk_copy", without(WaitGroup, where=lambda op: op.read)),
    "the wait for cp.async": ("cp_async_copy", without(WaitGroup)),
    "the wait before a tile is written again": ("tma_transpose", without(WaitGroup, where=lambda op: op.read)),
    "the wait for products": ("gemm", without(WaitGroup, where=lambda op: op.group == "wgmma")),
}


@pytest.mark.parametrize("what", MUTANTS)
def test_what_is_not_waited_for_is_not_there(what):
    name, edit = MUTANTS[what]
    build, inputs = CASES[name]
    broken = build().edited(edit)
    slow = H200.replacing(tma_store_read=5000, wavefront_interval=60)
    wanted = execute(build().bind(), inputs())

    def fails(machine):
        try:
            return not same(run(broken, inputs(), machine), wanted)
        except SimulationError as e:  # an arrival that comes too early
            return "arrivals in phase" in str(e)

    assert fails(H200) or fails(slow)
    assert same(run(build(), inputs(), slow), wanted)


def test_groups_without_copies_count_as_long_as_one_before_them_is_under_way():
    """The last iterations of a ring commit nothing: each of them has still its own tile to wait for."""
    k = Builder("ring", grid=(1,), threads=32)
    src, dst = (k.global_tensor(n, "f32", Layout(32 * 8)) for n in ("src", "dst"))
    tile, x = k.shared_tensor("tile", "f32", Layout(32 * 4)), k.registers("x", "f32", 1)
    for i in range(8 + 3):
        if i < 8:
            k.copy("cp.async.4", src(32 * i + k.thread), tile(32 * (i % 4) + k.thread))
        k.commit("cp.async")
        if i >= 3:
            k.wait_group("cp.async", 3)
            k.copy("ld.shared.4", tile(32 * ((i - 3) % 4) + k.thread), x())
            k.copy("st.global.4", x(), dst(32 * (i - 3) + k.thread))
    src = numbers(4, 256)

    found = run(k.kernel(), {"src": src}, H200.replacing(l2_latency=5000))
    assert np.array_equal(found.arrays["dst"], src)


def test_a_role_of_warps_that_a_cta_does_not_have_is_none():
    k = Builder("half", grid=(1,), threads=64)
    src, dst = (k.global_tensor(n, "f32", Layout(32)) for n in ("src", "dst"))
    x = k.registers("x", "f32", 1)
    with k.role("copier", 1):
        k.copy("ld.global.4", src(k.thread), x())
        k.copy("st.global.4", x(), dst(k.thread))
    with k.role("nobody", 1):
        k.copy("st.global.4", x(), dst(k.thread))
    inputs = {"src": numbers(5, 32)}

    assert np.array_equal(run(replace(k.kernel(), threads=32), inputs).arrays["dst"], inputs["src"])


def test_who_waits_at_a_barrier_of_threads_says_how_many_have_come():
    k = Builder("alone", grid=(1,), threads=64)
    with k.role("one", 1):
        k.sync(1, 64)

    with pytest.raises(SimulationError, match="role one waits for barrier 1 of 64 threads: 32 of 64 threads have come"):
        simulate(k.kernel().bind())


def test_the_wrong_slot_is_another_tile():
    kernel = tma_copy(64, 64, tile=(16, 64), slots=2, blocks=1)
    src = numbers(0, 64, 64)

    def other(op):
        if isinstance(op, Copy) and op.atom == "tma.store":
            return (replace(op, src=Ref("ring", (op.src.offset + 1024) % 2048)),)
        return (op,)

    assert np.array_equal(run(kernel, {"src": src}).arrays["dst"], src)
    assert not np.array_equal(run(kernel.edited(other), {"src": src}).arrays["dst"], src)


@pytest.mark.parametrize("name", ["bulk_copy", "tma_copy", "gemm", "gemm, clusters"])
def test_a_slot_that_does_not_come_back_stops_the_run_with_its_timeline(name):
    build, inputs = CASES[name]
    broken = build().edited(without(Arrive))
    if name == "tma_copy":
        broken = tma_copy(400, 300, tile=(16, 64), blocks=5).edited(without(Arrive))
        inputs = lambda: {"src": numbers(0, 400, 300)}  # noqa: E731
    if name.startswith("gemm"):
        broken = gemm(200, 136, 1000, blocks=2, cluster=1 + ("clusters" in name), tile=(128, 64)).edited(
            without(Arrive)
        )
        inputs = lambda: {"a": bf16(0, 200, 1000), "b": bf16(1, 136, 1000)}  # noqa: E731

    with pytest.raises(SimulationError, match=r"role producer waits for empty\[0\], in phase 0: ") as e:
        run(broken, inputs())

    assert e.value.timeline.spans
    landed = [x for x in e.value.timeline.events if x.what == "land"]
    waited = [x for x in e.value.timeline.events if x.what == "wait" and x.barrier[0] == "full"]
    assert len(landed) >= len(waited) > 0  # what was waited for had come


def test_who_waits_is_told_of_a_few_of_many_ctas():
    broken = bulk_copy(1 << 16, chunk=256, slots=2, blocks=20).edited(without(Arrive))

    with pytest.raises(SimulationError, match=r"ns: CTA 0, role producer waits .*; and 32 more wait$"):
        run(broken, {"src": numbers(0, 1 << 16)})


def test_a_deadlock_without_values_has_its_timeline_too():
    broken = bulk_copy(4096, chunk=256, slots=2, blocks=1).edited(without(Arrive))

    with pytest.raises(SimulationError) as e:
        simulate(broken.bind())
    assert e.value.timeline.events


def test_a_store_is_there_when_it_has_arrived_and_not_before():
    """One CTA stores, another loads at once: the loads find what the machine's latencies leave them."""
    k = Builder("late", grid=(1,), threads=64)
    src, dst = k.global_tensor("src", "f32", Layout(256)), k.global_tensor("dst", "f32", Layout(256))
    tile = k.shared_tensor("tile", "f32", Layout(256))
    k.mbarriers("full", 1, 1)
    with k.role("loader", 1), k.elect():
        k.expect_tx(Slot("full", 0), 1024)
        k.copy("bulk.load", src(), tile(), Slot("full", 0), nbytes=1024)
    with k.role("storer", 1), k.elect():
        k.wait(Slot("full", 0), 0)
        k.fence("async")
        k.copy("bulk.store", tile(), dst(), nbytes=1024)
        k.commit("bulk")
        k.wait_group("bulk", 0)
    kernel = k.kernel()
    x = numbers(3, 256)

    assert np.array_equal(run(kernel, {"src": x}).arrays["dst"], x)
    early = kernel.edited(without(Wait, Fence))
    found = run(early, {"src": x}).arrays["dst"]
    assert np.isnan(found).all()  # bytes that nobody had written


def test_inputs_that_do_not_fit_are_refused():
    with pytest.raises(SimulationError, match=r"expected inputs of vector_copy \(src, dst\), got 'source'"):
        run(vector_copy(64), {"source": numbers(0, 64)})
    with pytest.raises(LayoutError, match=r"expected an array of shape \(64,\) and type float32 for src, got \(3,\)"):
        run(vector_copy(64), {"src": numbers(0, 3)})
    with pytest.raises(
        SimulationError, match="expected idx among the inputs, whose values gather_rows takes for indices"
    ):
        run(CASES["gather_rows"][0](), {})
    with pytest.raises(SimulationError, match=r"expected a kernel, and a machine such as .*, got Kernel and str"):
        simulate(vector_copy(64).bind(), "h200")
    with pytest.raises(SimulationError, match=r"expected a resource that was tried .*, got 'L3'"):
        simulate(vector_copy(64).bind()).gain("L3")
    with pytest.raises(SimulationError, match="expected a grid that can be simulated CTA by CTA"):
        run(vector_copy(1 << 22), {"src": np.zeros(1 << 22, np.float32)})
