"""Kernels whose threads meet in shared memory and in registers of wgmma are proved in order for all sizes."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from checkers import Budget, HappensBefore, RingProtocol, prove
from checkers.orders.every import orders
from checkers.orders.footprints import Footprints
from checkers.orders.remainder_values import unturned
from checkers.orders.rules import RULES
from checkers.orders.shared_accesses import accesses
from checkers.orders.ways import ANY, Way, Ways
from symlayout import Layout, dim, dims
from symlayout.answers.report import Outcome, Verdict
from symlayout.atoms import MemorySpace
from symlayout.errors import ExecutionError
from symlayout.expr import xor
from symlayout.kernel import Builder, Kernel
from symlayout.kernel.sites import sites
from symlayout.kernels import cp_async_copy, gemm, tma_copy
from symlayout.ops import Barrier, Commit, Copy, Elect, Fence, Fill, For, Mma, Op, Ref, WaitGroup, WarpBarrier
from symlayout.semantics import execute, expect_reference
from tests.support.kernel_families import FAMILIES
from tests.support.shared_kernels import handed_over, inputs, multiplied, transposed

WHOLE: dict[str, Callable[[], Kernel]] = {
    **{f"cp_async_copy of {s} stages": lambda s=s: cp_async_copy(dim("N"), stages=s) for s in (2, 3, 4, 6)},
    "cp_async_copy by one block": lambda: cp_async_copy(dim("N"), stages=3, threads=64, blocks=1),
    "transposed": transposed,
    "transposed, three slots": lambda: transposed(slots=3),
    "transposed, one slot and two barriers": lambda: transposed(slots=1, barriers=2),
    "handed over": handed_over,
    "handed over, three slots": lambda: handed_over(slots=3),
    "handed over by one barrier, two slots": lambda: handed_over(slots=2, back=False),
    "multiplied": multiplied,
    "multiplied, two groups under way": lambda: multiplied(slots=4, pending=1),
    "multiplied from registers": lambda: multiplied(slots=3, registers=True),
}


def verdict(kernel: Kernel) -> Verdict:
    return prove(HappensBefore(kernel)).verdicts[0]


@pytest.mark.parametrize("name", WHOLE)
def test_a_kernel_is_in_order_for_all_sizes(name: str) -> None:
    kernel = WHOLE[name]()
    begin = time.perf_counter()
    found = verdict(kernel)

    assert found.outcome is Outcome.PROVED, found
    assert time.perf_counter() - begin < 1.5  # 0.15 s on an idle machine


@pytest.mark.parametrize("name", [n for n in WHOLE if "cp_async" not in n])
def test_a_run_finds_nothing(name: str) -> None:
    for n in (1, 2, 5):
        bound = WHOLE[name]().bind(n=n)
        for order in ("eager", "lazy", 1, 2):
            expect_reference(bound, inputs(bound), order)


def test_every_order_is_of_a_rule() -> None:
    kernels = [build() for build in WHOLE.values()] + [f.build() for f in FAMILIES]
    found = [o for k in kernels for o in orders(k)]

    assert {o.rule for o in found} <= set(RULES)
    assert [o for o in found if bool(o.by) + bool(o.missing) + bool(o.beyond) != 1] == []


# -- what is left open ----------------------------------------------------------------------------------


def left_open(kernel: Kernel) -> str:
    found = verdict(kernel)
    assert found.outcome is Outcome.UNKNOWN, found
    return found.open


def test_mbarriers_between_generic_accesses_are_left_open() -> None:
    k = Builder("told", grid=(1,), threads=64)
    x, r, done = k.shared_tensor("x", "f32", Layout(64)), k.registers("r", "f32", 1), k.mbarriers("done", 1, 2)
    k.copy("st.shared.4", r(), x(k.thread))
    with k.elect(each_warp=True):
        k.arrive(done(0))
    k.wait(done(0), 0)
    k.copy("ld.shared.4", x(63 - k.thread), r())

    assert "no barrier between st.shared.4" in left_open(k.kernel())


def test_threads_that_come_to_a_barrier_in_unlike_numbers_hang() -> None:
    k = Builder("turns", grid=(1,), threads=64)
    with k.loop("i", 1 + k.thread // 32):
        k.sync()

    [verdict] = prove(HappensBefore(k.kernel())).verdicts
    assert verdict.outcome is Outcome.REFUTED
    assert "no thread can go on" in str(verdict)


def counted_by_data(at: Callable[[Builder], Any], awaited: bool = True) -> Kernel:
    """Threads wait for a copy in each turn of a loop whose trip count they read, and once more behind it."""
    k = Builder("counted", grid=(2,), threads=64)
    counts = k.global_tensor("counts", "i32", Layout(64))
    src, dst = k.global_tensor("src", "f32", Layout(64)), k.global_tensor("dst", "f32", Layout(64))
    x, r = k.shared_tensor("x", "f32", Layout(64)), k.registers("r", "f32", 1)
    k.copy("ld.global.4", src(k.thread), r())
    n = k.load_index("n", counts(at(k)), within=(0, 8))
    k.copy("cp.async.4", src(k.thread), x(k.thread))
    k.commit("cp.async")
    with k.loop("i", n):
        k.wait_group("cp.async", 0)
        k.sync()
        k.copy("ld.shared.4", x(63 - k.thread), r())
    if awaited:
        k.wait_group("cp.async", 0)
    k.copy("st.global.4", r(), dst(k.thread))
    return k.kernel()


def test_a_trip_count_that_a_cta_reads_alike() -> None:
    mine = counted_by_data(lambda k: k.block[0])
    (early,) = prove(HappensBefore(counted_by_data(lambda k: k.block[0], awaited=False))).verdicts

    assert verdict(mine).outcome is Outcome.PROVED
    assert "for n = 0: at the only iteration (copy_awaited)" in str(early.witness)
    assert "whether all threads take the same iterations" in left_open(counted_by_data(lambda k: k.thread))
    written = mine.edited(
        lambda op: [op, replace(op, dst=Ref("counts", 0))] if isinstance(op, Copy) and op.dst.tensor == "dst" else [op]
    )
    assert "whether all threads take the same iterations" in left_open(written)
    data = {"counts": np.zeros(64, np.int32), "src": np.arange(64, dtype=np.float32)}
    assert np.array_equal(execute(mine, data, "lazy")["dst"], data["src"])
    with pytest.raises(ExecutionError, match="expected a wait_group"):
        execute(counted_by_data(lambda k: k.block[0], awaited=False), data, "lazy")


def test_an_index_that_many_write_is_left_open() -> None:
    k = Builder("flag", grid=(1,), threads=64)
    x, r = k.shared_tensor("x", "f32", Layout(64)), k.registers("r", "f32", 1)
    k.copy("st.shared.4", r(), x(k.thread // 2))

    assert "write the same bytes at once" in left_open(k.kernel())


def test_a_place_that_depends_on_a_size_is_left_open_or_told_apart() -> None:
    n = dim("n", at_most=8)

    def kernel(by: int) -> Kernel:
        k = Builder("moved", n, grid=(1,), threads=64)
        x, r = k.shared_tensor("x", "f32", Layout(1024)), k.registers("r", "f32", 1)
        k.copy("st.shared.4", r(), x(64 * n + k.thread))
        k.copy("ld.shared.4", x(64 * n + by + k.thread), r())
        return k.kernel()

    assert verdict(kernel(64)).outcome is Outcome.PROVED
    assert verdict(kernel(32)).outcome is Outcome.REFUTED


SMALL = {"tile": (64, 64), "stages": 3, "blocks": 2}


@pytest.mark.parametrize(
    "kernel",
    [
        pytest.param(gemm(64, 128, dim("K"), **SMALL), marks=pytest.mark.campaign),
        gemm(128, 64, dim("K"), cluster=2, **SMALL),
        tma_copy(*dims("M N"), tile=(8, 64), slots=3, blocks=2),
    ],
)
def test_groups_are_counted_before_a_slot_is_given_back(kernel: Kernel) -> None:
    late = kernel.edited(
        lambda op: [replace(op, pending=op.pending + 1)] if isinstance(op, WaitGroup) and _of_slots(op) else [op]
    )

    assert verdict(kernel).outcome is Outcome.PROVED
    assert "ends the reads of the use before it is given back" in left_open(late)
    assert any(v.outcome is Outcome.REFUTED for v in prove(RingProtocol(late), budget=Budget(repairs=False)).verdicts)


def _of_slots(op: WaitGroup) -> bool:
    return op.pending == 1 if op.group == "wgmma" else op.read and not op.pending


def fenced(*parts: tuple[int, int]) -> Kernel:
    """Threads of two warps write, fence in turn, part by part, and meet; one stores what all have written."""
    k = Builder("shared_out", grid=(1,), threads=64)
    x, r = k.shared_tensor("x", "f32", Layout(64)), k.registers("r", "f32", 1)
    y = k.global_tensor("y", "f32", Layout(64))
    k.copy("st.shared.4", r(), x(k.thread))
    for low, high in parts:
        with k.where(k.thread >= low, k.thread <= high):
            k.fence("async")
    k.sync()
    with k.elect():
        k.copy("bulk.store", x(), y(), nbytes=256)
        k.commit("bulk")
        k.wait_group("bulk", 0)
    return k.kernel()


@pytest.mark.parametrize("parts", [[(0, 63)], [(0, 31), (32, 63)], [(0, 15), (16, 47), (48, 63)]])
def test_fences_that_threads_share_out_among_them_are_not_refuted(parts: list[tuple[int, int]]) -> None:
    assert verdict(fenced(*parts)).outcome is not Outcome.REFUTED


@pytest.mark.parametrize("parts", [[], [(0, 31)], [(0, 15), (16, 62)], [(1, 63)], [(32, 40), (0, 31)]])
def test_threads_that_do_not_fence_are_found(parts: list[tuple[int, int]]) -> None:
    found = verdict(fenced(*parts))

    assert found.outcome is Outcome.REFUTED
    assert "no fence async after st.shared.4" in str(found.witness)


# -- parts ----------------------------------------------------------------------------------------------


def test_one_warp_needs_its_own_barrier_only() -> None:
    def kernel(*between: Op) -> Kernel:
        k = Builder("own", grid=(1,), threads=64)
        x, r = k.shared_tensor("x", "f32", Layout(64)), k.registers("r", "f32", 1)
        k.copy("st.shared.4", r(), x(k.thread))
        for op in between:
            k.add(op)
        k.copy("ld.shared.4", x(xor(k.thread, 1)), r())
        return k.kernel()

    assert verdict(kernel(WarpBarrier())).outcome is Outcome.PROVED
    assert verdict(kernel(Barrier())).outcome is Outcome.PROVED
    assert verdict(kernel()).outcome is Outcome.REFUTED
    assert "barrier 3 awaits 64 threads, and 1 come" in str(verdict(kernel(Elect((Barrier(3),)))))


def test_remainders_of_several_indices() -> None:
    turn, steps, i, q = dims("turn steps i q", at_least=0)
    use = turn * steps + i

    assert unturned((use % 3, (use + 4) % 3), lambda s: False) == [(0, 1), (1, 2), (2, 0)]
    assert unturned(((i % 4) + 8 * (i // 2 % 2),), lambda s: False) == [(0,), (1,), (10,), (11,)]
    assert unturned((i % 2 + q, (i + 1) % 2 + q), lambda s: False) == [(0, 1), (1, 0)], "q moves both"
    assert unturned((i % 2 + q, (i + 1) % 2), lambda s: False) is None
    assert unturned((i % 1000,), lambda s: False) is None, "too many remainders"


@pytest.mark.parametrize("place", ["u", "u // 2", "0", "w"])
def test_turns_of_a_loop_without_orders(place: str) -> None:
    n = dim("n")
    k = Builder("again", n, grid=(1,), threads=64)
    x, y = k.shared_tensor("x", "f32", Layout(1024)), k.global_tensor("y", "f32", Layout(64))
    with k.loop("u", 4) as u, k.loop("w", n) as w:
        at = {"u": u + 4 * w, "u // 2": u // 2, "0": 0, "w": w}[place]
        k.copy("cp.async.4", y(k.thread), x(64 * at + k.thread))
    k.commit("cp.async")
    k.wait_group("cp.async", 0)

    assert verdict(k.kernel()).outcome is not Outcome.PROVED, "two copies under way may have one target"


def test_turns_of_a_loop_with_targets_of_their_own() -> None:
    k = Builder("apart", grid=(1,), threads=64)
    x, y = k.shared_tensor("x", "f32", Layout(1024)), k.global_tensor("y", "f32", Layout(64))
    with k.loop("t", 3), k.loop("u", 4) as u, k.loop("w", 2) as w:
        k.copy("cp.async.4", y(k.thread), x(64 * (u + 4 * w) + k.thread))
    k.commit("cp.async")
    k.wait_group("cp.async", 0)
    assert verdict(k.kernel()).outcome is Outcome.REFUTED, "the first turn is under way in the second"
    once = k.kernel().edited(lambda op: list(op.body) if isinstance(op, For) and op.index.name == "t" else [op])
    assert verdict(once).outcome is Outcome.PROVED


def test_ways_round_a_loop() -> None:
    kernel = transposed()
    ways = Ways(kernel, sites(kernel))
    store, load = accesses(kernel, MemorySpace.SHARED, ways.every)
    met: list[tuple[str, Way]] = []

    def at(barriers: int, s: object, way: Way) -> int | None:
        if s in (store.site, load.site):
            met.append(("store" if s is store.site else "load", way))
        barriers += isinstance(s.op, Barrier)  # type: ignore[attr-defined]
        return barriers if barriers < 2 else None

    ways.walk(store.site, store.team.warps, 0, at)
    footprints = Footprints(kernel, ways)
    here, on = ("on", 0), ("on", 1)
    kinds = {(name, w.iterations): footprints.meeting(store, store if name == "store" else load, w) for name, w in met}

    assert kinds == {
        ("store", (here, ANY)): "apart",
        ("load", (here, ANY)): "across warps",
        ("store", (on, ANY)): "apart",
    }


# -- registers of wgmma ---------------------------------------------------------------------------------


def changed(kernel: Kernel, change: Callable[[Op], list[Op]]) -> Verdict:
    return verdict(kernel.edited(change))


def test_registers_without_their_fence() -> None:
    no_fence = changed(multiplied(), lambda op: [] if op == Fence("wgmma") else [op])
    assert "no fence wgmma before the first wgmma" in str(no_fence)

    def early(op: Op) -> list[Op]:
        if op == Fence("wgmma"):
            return []
        return [Fence("wgmma"), op] if isinstance(op, WaitGroup) and op.group == "cp.async" else [op]

    assert changed(multiplied(), early).outcome is Outcome.PROVED, "nobody touches the sums in between"
    assert "no fence wgmma between ld.global.4" in str(changed(multiplied(registers=True), early))


def test_registers_of_a_wgmma_under_way() -> None:
    late = changed(multiplied(registers=True, slots=4, pending=1), lambda op: [op])
    assert "no commit and wait_group wgmma before ld.global.4" in str(late), "A is loaded while it is read"

    def cleared(op: Op) -> list[Op]:
        fill = Fill(Ref("acc", 0), 0, 16)
        return [op, fill] if isinstance(op, Commit) and op.group == "wgmma" else [op]

    assert "no commit and wait_group wgmma before fill acc" in str(changed(multiplied(), cleared))


def test_wgmmas_of_other_shapes_on_the_same_sums_are_left_open() -> None:
    def other(op: Op) -> list[Op]:
        first = isinstance(op, Mma) and not isinstance(op.zero, int)
        return [op if not first else Mma("wgmma.m64n16k16.bf16", op.a, op.b, op.acc, op.zero)]  # type: ignore[union-attr]

    assert changed(multiplied(), other).outcome is Outcome.UNKNOWN


def test_an_operand_is_written_again_after_its_wait() -> None:
    def later(op: Op) -> list[Op]:
        return [] if isinstance(op, WaitGroup) and op.group == "wgmma" else [op]

    found = changed(multiplied(), later)
    assert found.outcome is Outcome.REFUTED
    assert any(o.rule == "operand_reuse" and "no commit wgmma" in o.missing for o in orders(multiplied().edited(later)))


def test_a_copy_is_fenced_for_wgmma_by_those_who_made_it() -> None:
    unfenced = changed(multiplied(), lambda op: [] if op == Fence("async") else [op])
    assert "no fence async after cp.async.16" in str(unfenced)

    def too_early(op: Op) -> list[Op]:
        if op == Fence("async"):
            return []
        return [Fence("async"), op] if isinstance(op, WaitGroup) and op.group == "cp.async" else [op]

    assert "no fence async after cp.async.16" in str(changed(multiplied(), too_early)), "before the copy is over"


def test_a_store_of_the_wrong_width_still_ends() -> None:
    """What is broken otherwise is judged all the same."""
    wide = transposed().edited(
        lambda op: [Copy("st.shared.16", op.src, op.dst)] if isinstance(op, Copy) and op.atom == "st.shared.4" else [op]
    )
    assert verdict(wide).outcome is Outcome.REFUTED
