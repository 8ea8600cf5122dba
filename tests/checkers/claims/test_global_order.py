"""Races on global memory: a claim of their own, so that no report is True about one.

``HappensBefore`` is about shared memory, ``WrittenOnce`` about stores alone, and every test of a kernel read one tensor
and wrote another: a[i] = a[i+1] in place had nothing to fail.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from benchmarks.inplace_kernels import random_kernel
from checkers import GlobalOrder, claims_of, prove
from checkers.claim import TooLarge
from checkers.races.access_pairs import shared
from checkers.races.bound_runs import Run
from symlayout import Layout, ceil_div, dim, dims
from symlayout.answers.report import Outcome, Verdict
from symlayout.errors import ClaimError
from symlayout.expr import minimum
from symlayout.kernel import Builder, Kernel
from symlayout.kernels import axpby, bulk_copy, row_sum, tma_copy, tma_reduce_add, vector_copy
from symlayout.ops import Box, Copy, Ref, Wait
from symlayout.semantics import execute

N = dim("N")


def asked(kernel: Kernel, tensor: str = "a") -> Verdict:
    """The verdict on the order of accesses to a tensor; it is among the claims of the kernel."""
    assert "global order" in [c.kind for c in claims_of(kernel)]
    (verdict,) = prove(GlobalOrder(kernel, tensor)).verdicts
    return verdict


class Made:
    """A kernel with a tensor *a* of N numbers and a register *x*, thread by thread."""

    def __init__(self, threads: int = 128, grid: Any = None, n: Any = N, **stated: Any) -> None:
        dims = () if isinstance(n, int) else (n,)
        self.k = Builder("made", *dims, grid=(ceil_div(n, threads) if grid is None else grid,), threads=threads)
        self.a = self.k.global_tensor("a", "f32", Layout(n))
        self.b = self.k.global_tensor("b", "f32", Layout(n), **stated)
        self.x = self.k.registers("x", "f32", 4)
        self.i = threads * self.k.block[0] + self.k.thread

    def load(self, at: Any, bytes: int = 4) -> None:
        self.k.copy(f"ld.global.{bytes}", self.a(at), self.x())

    def store(self, at: Any, bytes: int = 4) -> None:
        self.k.copy(f"st.global.{bytes}", self.x(), self.a(at))


def test_neighbours_in_place_race() -> None:
    m = Made()
    with m.k.where(m.i < N):
        m.load(minimum(m.i + 1, N - 1))
        m.store(m.i)
    verdict = asked(m.k.kernel())
    assert verdict.outcome is Outcome.REFUTED
    said = str(verdict.witness)
    assert said.startswith("for N = 2: element 1 of a") or "element 1 of a" in said
    assert "ld.global.4" in said
    assert "by CTA 0, thread 0" in said
    assert "by CTA 0, thread 1" in said
    assert not prove(m.k.kernel())
    bound, data = m.k.kernel().bind(N=600), np.arange(600, dtype=np.float32)
    wanted = np.minimum(np.arange(600) + 1, 599)
    runs = (execute(bound, {"a": data}, seed)["a"] for seed in range(30))
    assert any(not np.array_equal(got, wanted) for got in runs), "a random order shows it"


def test_lanes_that_stay_together_are_in_program_order() -> None:
    m = Made(threads=32, grid=1, n=33)
    m.load(m.k.thread + 1)
    m.store(m.k.thread)
    assert asked(m.k.kernel()).outcome is Outcome.REFUTED
    assert asked(m.k.kernel().assuming(converged_warps=True)).outcome is not Outcome.REFUTED


def test_an_update_in_place_is_of_one_thread() -> None:
    m = Made()
    with m.k.where(m.i < N):
        m.load(m.i)
        m.store(m.i)
    assert asked(m.k.kernel()).outcome is Outcome.PROVED


def in_place(kernel: Kernel, name: str, instead: str) -> Kernel:
    """A kernel that uses one of its tensors for another too."""

    def moved(x: Any) -> Any:
        return replace(x, tensor=name) if isinstance(x, Ref) and x.tensor == instead else x

    maps = tuple(replace(m, tensor=name) if m.tensor == instead else m for m in kernel.maps)
    tensors = tuple(t for t in kernel.tensors if t.name != instead)
    kernel = replace(kernel, maps=maps, tensors=tensors, results=(), reference=None)
    return kernel.edited(lambda op: [replace(op, src=moved(op.src), dst=moved(op.dst)) if isinstance(op, Copy) else op])


FAMILIES: dict[str, Callable[[], Kernel]] = {
    "axpby": lambda: in_place(axpby(N), "y", "dst"),
    "vector_copy": lambda: in_place(vector_copy(N), "src", "dst"),
    "bulk_copy": lambda: in_place(bulk_copy(dim("N", multiple_of=4), chunk=64, slots=2, blocks=3), "src", "dst"),
    "tma_copy": lambda: in_place(tma_copy(*dims("M N", multiple_of=4), tile=(16, 64)), "src", "dst"),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_in_place_is_in_order(family: str) -> None:
    kernel = FAMILIES[family]()
    (name,) = shared(kernel)
    verdict = asked(kernel, name)
    assert verdict.outcome is Outcome.PROVED, verdict


def shifted(kernel: Kernel, by: int) -> Kernel:
    """Stores to the memory or the box behind theirs."""

    def change(op: Any) -> list[Any]:
        if isinstance(op, Copy) and isinstance(op.dst, Box):
            x, *rest = op.dst.coordinate
            return [replace(op, dst=replace(op.dst, coordinate=(x + by, *rest)))]
        if isinstance(op, Copy) and isinstance(op.dst, Ref) and kernel.tensor(op.dst.tensor).space == "global":
            return [replace(op, dst=replace(op.dst, offset=op.dst.offset + by))]
        return [op]

    return kernel.edited(change)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_that_stores_elsewhere_in_place_is_not(family: str) -> None:
    kernel = shifted(FAMILIES[family](), 4)
    (name,) = shared(kernel)
    assert asked(kernel, name).outcome is not Outcome.PROVED


def test_without_the_wait_a_copy_in_place_is_not_in_order() -> None:
    kernel = FAMILIES["tma_copy"]()
    kernel = kernel.edited(lambda op: [] if isinstance(op, Wait) and op.barrier.barrier == "full" else [op])
    assert asked(kernel, "src").outcome is not Outcome.PROVED


def test_two_ctas_that_write_an_element_race() -> None:
    m = Made()
    with m.k.where(m.i < N):
        m.load(m.i)
    with m.k.elect():
        m.store(0)
    verdict = asked(m.k.kernel())
    assert verdict.outcome is Outcome.REFUTED


@pytest.mark.parametrize("barrier", [True, False])
def test_threads_of_a_cta_need_a_barrier(barrier: bool) -> None:
    m = Made()
    with m.k.where(m.i < N):
        m.load(m.i)
    if barrier:
        m.k.sync()
    back = 128 * m.k.block[0] + 127 - m.k.thread
    with m.k.where(back < N):
        m.store(back)
    assert asked(m.k.kernel()).outcome is (Outcome.PROVED if barrier else Outcome.REFUTED)


def test_a_barrier_orders_no_other_cta() -> None:
    m = Made()
    with m.k.where(m.i < N):
        m.load(m.i)
    m.k.sync()
    with m.k.where(m.i + 1 < N):
        m.store(m.i + 1)
    verdict = asked(m.k.kernel())
    assert verdict.outcome is Outcome.REFUTED
    assert "no CTA waits for another" in str(verdict) or "CTA 1" in str(verdict)


def test_rows_that_lane_0_of_a_warp_stores_are_stored_once() -> None:
    M, ld = dim("M"), dim("ld", at_least=N, multiple_of=4)
    assert prove(GlobalOrder(row_sum(M, N, ld, warps=2), "dst"))


@pytest.mark.parametrize("step,outcome", [(2, Outcome.PROVED), (1, Outcome.REFUTED)])
def test_even_elements_are_not_odd_ones(step: int, outcome: Outcome) -> None:
    m = Made()
    with m.k.where(2 * m.i + 2 <= N):
        m.load(2 * m.i)
        m.store(step * m.i + 1)
    assert asked(m.k.kernel()).outcome is outcome


def test_halves_that_meet_nowhere() -> None:
    n = dim("n", multiple_of=256)
    m = Made(n=n, grid=n // 256)
    m.load(m.i)
    m.store(m.i + n // 2)
    assert asked(m.k.kernel()).outcome is Outcome.PROVED
    m = Made(n=n, grid=n // 256)
    m.load(m.i + 1)
    m.store(m.i + n // 2)
    assert asked(m.k.kernel()).outcome is Outcome.REFUTED


def test_roles_have_the_same_thread_numbers_and_are_not_the_same_threads() -> None:
    m = Made(threads=64, grid=1, n=32)
    with m.k.role("one", 1):
        m.load(m.k.thread)
    with m.k.role("two", 1):
        m.store(m.k.thread)
    verdict = asked(m.k.kernel())
    assert verdict.outcome is Outcome.REFUTED
    assert "thread 32" in str(verdict)


def test_one_thread_in_two_loops() -> None:
    m = Made(threads=32, grid=4)
    first = m.k.block[0] * 32 + m.k.thread
    for name, access in (("i", m.load), ("j", m.store)):
        with m.k.loop(name, ceil_div(N, 128)) as turn, m.k.where(128 * turn + first < N):
            access(128 * turn + first)
    assert asked(m.k.kernel()).outcome is Outcome.PROVED


def test_rows_by_warps_in_place() -> None:
    M, ld = dim("M"), dim("ld", at_least=N)
    k = Builder("rows", M, N, ld, grid=(ceil_div(M, 4),), threads=128, index_bits=64)
    a, x = k.global_tensor("a", "f32", Layout((M, N), (ld, 1))), k.registers("x", "f32", 1)
    row, lane = 4 * k.block[0] + k.thread // 32, k.thread % 32
    for name in ("ld", "st"):
        with k.loop(name + "_j", ceil_div(N, 32)) as j, k.where(row < M, 32 * j + lane < N):
            at = a(ld * row + 32 * j + lane)
            k.copy("ld.global.4", at, x()) if name == "ld" else k.copy("st.global.4", x(), at)
    assert asked(k.kernel()).outcome is Outcome.PROVED


# -- asynchronous copies and reductions -----------------------------------------------------------------


def test_reductions_commute_and_a_read_beside_them_races() -> None:
    kernel = tma_reduce_add(3, *dims("M N", multiple_of=4, at_most=1 << 16), tile=(8, 32), slots=2, blocks=2)
    assert shared(kernel) == ()
    assert prove(GlobalOrder(kernel, "dst")), "only reductions"
    x = replace(kernel.tensors[-1], name="peek", space="register", layout=Layout(1), base=0, role="")
    peek = Copy("ld.global.4", Ref("dst", 0), Ref("peek", 0))
    reading = replace(kernel, tensors=(*kernel.tensors, x), body=(*kernel.body, peek))
    assert shared(reading) == ("dst",)
    verdict = asked(reading, "dst")
    assert verdict.outcome is Outcome.REFUTED
    assert "tma.reduce.add" in str(verdict)


@pytest.mark.parametrize(
    "fence,barrier,outcome",
    [(True, True, Outcome.PROVED), (False, True, Outcome.REFUTED), (True, False, Outcome.REFUTED)],
)
def test_what_threads_write_is_loaded_by_a_bulk_copy_behind_a_fence(
    fence: bool, barrier: bool, outcome: Outcome
) -> None:
    m = Made(threads=32, grid=4, n=128)
    tile, full = m.k.shared_tensor("tile", "f32", Layout(32)), m.k.mbarriers("full", 1, 1)
    m.store(m.i)
    if fence:
        m.k.fence("async")
    if barrier:
        m.k.sync()
    with m.k.elect():
        m.k.expect_tx(full(), 128)
        m.k.copy("bulk.load", m.a(32 * m.k.block[0]), tile(), full(), nbytes=128)
    m.k.wait(full(), 0)
    assert asked(m.k.kernel()).outcome is outcome


@pytest.mark.parametrize("waits", [True, False])
def test_a_store_that_is_under_way_is_awaited_before_its_bytes_are_read(waits: bool) -> None:
    m = Made(threads=32, grid=4, n=128)
    tile = m.k.shared_tensor("tile", "f32", Layout(32))
    with m.k.elect():
        m.k.copy("bulk.store", tile(), m.a(32 * m.k.block[0]), nbytes=128)
        m.k.commit("bulk")
        m.k.wait_group("bulk", 0, read=not waits)
    m.k.sync()
    m.load(m.i)
    assert (asked(m.k.kernel()).outcome is Outcome.PROVED) is waits


# -- aliases --------------------------------------------------------------------------------------------


def copied(shift: int, **stated: Any) -> Kernel:
    m = Made(**stated)
    with m.k.where(m.i + shift < N):
        m.load(m.i + shift)
        m.k.copy("st.global.4", m.x(), m.b(m.i))
    return m.k.kernel()


def test_tensors_at_one_address_are_looked_at_together() -> None:
    assert shared(copied(1)) == ()
    assert shared(copied(0, may_alias="a")) == ("b",)
    assert asked(copied(0, may_alias="a"), "b").outcome is Outcome.PROVED
    verdict = asked(copied(1, may_alias="a"), "b")
    assert verdict.outcome is Outcome.REFUTED
    assert "and to a, which may be at its address" in str(verdict)


def test_a_claim_is_about_a_tensor_in_global_memory() -> None:
    with pytest.raises(ClaimError, match=r"expected a tensor in global memory \(src, dst\), got 'x'"):
        GlobalOrder(vector_copy(N), "x")


# -- random kernels -------------------------------------------------------------------------------------

SIZES = (1, 2, 33, 65, 129, 257)


@pytest.mark.seeds(16)
def test_no_random_kernel_that_is_proved_races_in_a_run(seed: int) -> None:
    kernel = random_kernel(seed)
    if "a" not in shared(kernel) or not prove(GlobalOrder(kernel, "a")):
        return
    for n in SIZES:
        with nullcontext() if n else pytest.raises(TooLarge):
            assert Run(kernel.bind(N=n), "a").race() == ""
    data = np.arange(257, dtype=np.float32)
    every = [execute(kernel.bind(N=257), {"a": data}, order)["a"] for order in ("eager", 1, 2)]
    assert all(np.array_equal(every[0], x) for x in every[1:])


def test_random_kernels_are_proved_and_refuted() -> None:
    found = [prove(GlobalOrder(k, "a")).verdicts[0].outcome for s in range(16) if "a" in shared(k := random_kernel(s))]
    assert min(found.count(Outcome.PROVED), found.count(Outcome.REFUTED)) >= 2


def test_no_size_is_said_to_repair_a_race_and_sizes_are_shown() -> None:
    m = Made()
    m.load(minimum(m.i + 1, N - 1))
    with m.k.where(m.i < N):
        m.store(m.i)
    report = prove(GlobalOrder(m.k.kernel(), "a"))
    assert report.repairs == ()
    assert report.sizes == prove(GlobalOrder(vector_copy(N), "dst")).sizes != ()
