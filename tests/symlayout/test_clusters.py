"""Kernels whose CTAs fill each other's slots: proved for all trip counts, run in every order, left open where unsure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from checkers import Budget, HappensBefore, RingProtocol, TmaCopySafe, TransactionBytes, claims_of, prove, smt
from checkers.orders.cluster_exit import RULES, cluster_orders
from checkers.rings.programs import machine
from checkers.rings.ring_lemmas import CLUSTER_LEMMAS, LEMMAS, lemmas
from symlayout import Layout, TensorMap, dim
from symlayout.expr import index
from symlayout.kernel import Builder, Kernel
from symlayout.kernel.clusters import blocks_of, by_rank, ctas, places
from symlayout.kernel.ring import make_ring
from symlayout.kernels import gemm, tma_copy
from symlayout.ops import (
    Arrive,
    ClusterBarrier,
    Copy,
    ExpectTx,
    For,
    If,
    LoadIndex,
    Op,
    Ref,
    Role,
    Slot,
    Wait,
    rewritten,
)
from symlayout.semantics import expect_reference
from tests.support.cluster_kernels import everyone, inputs, once, rows_and_columns
from tests.support.rows import telling

M, N, K = dim("M"), dim("N", multiple_of=8), dim("K", multiple_of=8)
BUDGET = Budget(repairs=False)
KERNELS: dict[str, Kernel] = {
    "two": everyone(),
    "one slot": everyone(slots=1),
    "four, two warps": everyone(ctas=4, slots=3, warps=2),
    "rows and columns": rows_and_columns(),
    "two dimensions": rows_and_columns(flat=False, slots=3),
    "slots used once": once(ctas=3),
}


def verdicts(kernel: Kernel) -> list[Any]:
    """What is said of the claims that clusters are about."""
    claims = (TransactionBytes(kernel, "full"), RingProtocol(kernel, "full"), HappensBefore(kernel))
    return [v for c in claims for v in prove(c, budget=BUDGET).verdicts]


def said(kernel: Kernel) -> set[str]:
    return {v.outcome.value for v in verdicts(kernel)}


def changed(kernel: Kernel, kind: type[Op], change: Any) -> Kernel:
    def made(op: Op) -> Iterable[Op]:
        return change(op) if isinstance(op, kind) else (op,)

    return kernel.edited(made)


@pytest.mark.parametrize("name", KERNELS)
def test_all_claims_hold_for_all_trip_counts(name: str) -> None:
    report = prove(KERNELS[name], budget=BUDGET)
    assert report, report


@pytest.mark.parametrize("order", telling(["eager", "lazy", 1, 2], "eager", "lazy", 1))
@pytest.mark.parametrize("name", KERNELS)
def test_a_run_agrees(name: str, order: str | int) -> None:
    for steps in (1, 3, 5) if KERNELS[name].dims else ({},):
        bound = KERNELS[name].bind(**({"T": steps} if steps else {}))
        expect_reference(bound, inputs(bound), order)


@pytest.mark.parametrize("cluster", [2, 4])
def test_a_product_is_proved_for_all_sizes(cluster: int) -> None:
    kernel = gemm(M, N, K, cluster=cluster)
    found = verdicts(kernel)
    assert {v.outcome.value for v in found} == {"proved"}, found
    assert f"all CTAs of a cluster of ({cluster},)" in found[1].method
    assert (
        f"empty in CTA 1 of its cluster awaits {8 * cluster} and gets {8 * cluster} arrivals of a use"
        in found[1].lemmas
    )


def test_every_lemma_is_proved_and_none_is_empty() -> None:
    assert len(lemmas(True)) == len(LEMMAS) + len(CLUSTER_LEMMAS)
    for text, given, _ in CLUSTER_LEMMAS:
        assert smt.satisfiable(list(given)).status == "sat", text


@pytest.mark.parametrize("kernel", [everyone(2), everyone(2, slots=1), once()], ids=["two", "one slot", "once"])
def test_no_interleaving_of_the_machine_is_a_fault(kernel: Kernel) -> None:
    made = machine(kernel)
    assert made.ctas == 2
    assert made.search(states=60_000) is None
    assert all(made.run(n) is None for n in range(made.tries))


# -- who is who -----------------------------------------------------------------------------------------


def test_ranks_count_x_first() -> None:
    kernel = rows_and_columns(flat=False)
    assert places(kernel) == ((0, 0), (1, 0), (0, 1), (1, 1))
    assert blocks_of(kernel, (3, 1)) == ((2, 0), (3, 0), (2, 1), (3, 1))
    copies = [[op for op in cta.kernel.walk() if isinstance(op, Copy) and op.barrier] for cta in ctas(kernel)]
    assert [tuple(cta.lands(op) for op in mine) for cta, mine in zip(ctas(kernel), copies, strict=True)] == [
        ((0, 1), (0, 2)),
        ((0, 1), (1, 3)),
        ((2, 3), (0, 2)),
        ((2, 3), (1, 3)),
    ]


def test_copies_are_proved_for_all_ranks_at_once() -> None:
    copies = [c for c in claims_of(gemm(M, N, K, cluster=4)) if isinstance(c, TmaCopySafe)]
    for c in copies:
        (v,) = prove(c, budget=BUDGET).verdicts
        assert v.outcome.value == "proved"
        assert not any("z3" in lemma for lemma in v.lemmas)
    assert {str(s) for c in copies for s in c.coordinate[1].symbols} >= {"[block_x_cluster]", "[block_x_rank]"}
    x = tma_copy(M, N).block[0]
    assert by_rank(tma_copy(M, N))(x) is x, "as it is, without clusters"


def test_conditions_on_the_rank_are_decided() -> None:
    loads = [sum(isinstance(op, Copy) and op.barrier is not None for op in c.kernel.walk()) for c in ctas(once(ctas=3))]
    assert loads == [1, 0, 0]


def test_each_cta_reads_values_of_its_own() -> None:
    """A number of steps that is read from memory may be another one in each CTA."""
    n = dim("n", at_least=0, at_most=100)

    def read(op: Op) -> Iterable[Op]:
        if not isinstance(op, For):
            return (op,)
        i = index(op.index.name, n)
        return (For(i, rewritten(op.inside, lambda x: x.subs({op.index: i}))),)

    kernel = everyone()
    counts = replace(kernel.tensor("dst"), name="counts", layout=Layout(8))
    kernel = replace(kernel.edited(read), tensors=(*kernel.tensors, counts))
    kernel = replace(kernel, body=(LoadIndex(n, Ref("counts", 0)), *kernel.body))
    (v,) = prove(RingProtocol(kernel, "full"), budget=BUDGET).verdicts
    assert v.outcome.value == "unknown"
    assert "the trip count [n of CTA 0] of i, which is not the same each time" in v.open


def test_a_cluster_whose_ctas_do_not_meet_is_as_good_as_none() -> None:
    kernel = replace(tma_copy(M, N, tile=(16, 64), slots=2, blocks=4), cluster=(2,))
    assert prove(RingProtocol(kernel, "full"))


# -- rows -----------------------------------------------------------------------------------------------


def test_each_row_is_asked() -> None:
    found = list(cluster_orders(everyone()))
    asked = set(RULES) - {"peer_exists", "peer_access"}  # said where it is not so, and where there is one
    assert {o.rule for o in found} == asked
    assert all(o.by for o in found)
    assert not list(cluster_orders(tma_copy(M, N)))


def test_what_proofs_leave_open_a_run_decides() -> None:
    kernel = everyone()
    ends = [op for op in kernel.walk() if isinstance(op, ClusterBarrier)]
    by_role = kernel.edited(lambda op: (Role("some", 0, 1, (op,)),) if op is ends[1] else (op,))
    (v,) = prove(HappensBefore(by_role)).verdicts
    assert "no thread can go on" in str(v.witness)
    unknown = changed(kernel, Copy, lambda op: (replace(op, multicast=op.multicast and dim("mask", at_most=3)),))
    assert said(unknown) == {"unknown"}
    many = replace(everyone(ctas=2), grid=(18,), cluster=(9,))
    assert "that a launch opts in to more than 8 CTAs" in [o.beyond for o in cluster_orders(many)]


def test_a_kernel_without_clusters_names_no_other_cta() -> None:
    alone = tma_copy(64, 256, tile=(16, 64), slots=2, blocks=1)
    own = changed(alone, Arrive, lambda op: (replace(op, peer=0),))
    assert said(own) == {"proved"}
    beyond = changed(alone, Copy, lambda op: (replace(op, multicast=3),) if op.barrier else (op,))
    assert "there is no CTA 1 in a cluster of 1" in str(prove(RingProtocol(beyond, "full"), budget=BUDGET))
    assert "expected CTAs of 0 .. 0, got 1 (peer_exists)" in str(prove(HappensBefore(beyond)))


def test_a_grid_of_parts_of_clusters() -> None:
    odd = replace(everyone(), grid=(3,))
    assert "expected 3 % 2 == 0; choose the grid so" in str(prove(HappensBefore(odd)))
    found = prove(RingProtocol(odd, "full"), budget=BUDGET)
    assert "a grid of 3 blocks is not one of clusters of 2" in str(found)
    G = dim("G", at_most=1000)
    assert said(everyone(clusters=G)) == {"proved"}
    some = replace(everyone(), grid=(G,), dims=(*everyone().dims, G))
    assert "that G % 2 == 0" in [o.beyond for o in cluster_orders(some)]


def test_arrivals_that_are_awaited_need_no_barrier_at_the_end() -> None:
    """The first CTA waits for the others, so they reach it in time; where it does not, it may have exited."""
    k = Builder("answer", grid=(4,), threads=32, cluster=(2,))
    answer = k.mbarriers("answer", 1, 1)
    k.cluster_sync()
    with k.where(k.block[0] % 2 >= 1), k.elect():
        k.arrive(answer(), 0)
    with k.where(k.block[0] % 2 <= 0):
        k.wait(answer(), 0)
    assert prove(HappensBefore(k.kernel()))
    nobody = changed(k.kernel(), Wait, lambda op: ())
    (v,) = prove(HappensBefore(nobody)).verdicts
    assert v.outcome.value == "refuted"
    assert "expected CTA 0 to be running, but it has exited" in str(v)


# -- what was proved and is wrong -----------------------------------------------------------------------


def late(arrivals: int, slots: int = 2, before: bool = True) -> Kernel:
    """A producer that waits for one slot ahead of its fills, and consumers that give back *arrivals* uses later."""
    U = dim("U", at_least=4)
    k = Builder("late", U, grid=(1,), threads=64)
    a = k.global_tensor("a", "bf16", Layout((64, 64), (64, 1)))
    box = k.tensor_map("a_map", a(), TensorMap.over(Layout((64, 64), (1, 64)), "bf16", (64, 64), swizzle=128))
    ring = make_ring(k, "ring", "bf16", Layout((64, 64)), slots=slots, consumers=1)

    def wait(use: Any) -> None:
        k.wait(Slot("empty", use % slots), (use // slots + 1) % 2)

    def fill(use: Any) -> None:
        k.copy("tma.load", box(0, 0), Ref("ring", use % slots * ring.elements), Slot("full", use % slots))

    with k.role("producer", 1), k.elect():
        wait(0)
        with k.loop("i", U - 1) as i:
            if before:
                wait(i + 1)
            k.expect_tx(Slot("full", i % slots), 8192)
            if not before:
                wait(i + 1)
            fill(i)
        with k.loop("last", 1) as j:
            k.expect_tx(Slot("full", (U - 1 + j) % slots), 8192)
            fill(U - 1 + j)
    with k.role("consumer", 1):
        out = k.registers("r", "bf16", 8)
        with k.loop("i", U) as i:
            k.wait(Slot("full", i % slots), i // slots % 2)
            k.copy("ld.shared.16", Ref("ring", i % slots * ring.elements), out())
            with k.where(i >= arrivals), k.elect(each_warp=True):
                k.arrive(Slot("empty", (i - arrivals) % slots))
        for n in range(arrivals):
            with k.elect(each_warp=True):
                k.arrive(Slot("empty", (U - arrivals + n) % slots))
    return k.kernel()


@pytest.mark.parametrize("arrivals, slots, before", [(1, 2, True), (0, 1, False), (1, 2, False)])
def test_both_sides_late_wait_for_each_other(arrivals: int, slots: int, before: bool) -> None:
    (v,) = prove(RingProtocol(late(arrivals, slots, before), "full"), budget=BUDGET).verdicts
    assert v.outcome.value == "refuted", v
    assert "deadlock: producer stays at wait empty" in str(v)


def test_both_sides_late_in_a_ring_that_is_long_enough() -> None:
    assert prove(RingProtocol(late(1, 3), "full"))
    assert prove(RingProtocol(late(0, 2), "full"))


def test_parts_that_land_on_one_another() -> None:
    over = changed(
        everyone(), Copy, lambda op: (replace(op, dst=Ref("ring", 64 * (index_of(op) % 2))) if op.barrier else op,)
    )
    (v,) = prove(RingProtocol(over, "full"), budget=BUDGET).verdicts
    assert v.outcome.value == "refuted", v
    assert "while a fill of it is under way" in str(v)


def index_of(op: Copy) -> Any:
    assert op.barrier is not None
    return next(s for s in op.barrier.slot.symbols if s.name == "i")  # type: ignore[union-attr]


def test_bytes_awaited_by_an_arrival_that_gives_back() -> None:
    kernel = tma_copy(M, N, tile=(16, 64), slots=2, blocks=4)
    odd = changed(kernel, Arrive, lambda op: (ExpectTx(op.barrier, 16),))
    (v,) = prove(RingProtocol(odd, "full"), budget=BUDGET).verdicts
    assert v.outcome.value == "refuted", v


def test_a_copy_under_a_condition_of_its_own() -> None:
    kernel = tma_copy(64, 256, tile=(16, 64), slots=2, blocks=1)
    some = changed(kernel, Copy, lambda op: (If((index_of(op) >= 1,), (op,)),) if op.barrier else (op,))
    (v,) = prove(TransactionBytes(some, "full")).verdicts
    assert v.outcome.value == "unknown"
    assert "is issued wherever its bytes are awaited" in v.open


def test_a_copy_that_stands_elsewhere() -> None:
    """Which expect_tx awaits it the phases say."""
    kernel = once()
    apart = changed(kernel, ExpectTx, lambda op: (For(index("once", 1), (op,)),))
    assert prove(TransactionBytes(apart, "full"))
    expect_reference(apart.bind(), inputs(apart.bind()), "lazy")
    none = changed(kernel, Copy, lambda op: () if op.barrier else (op,))
    assert "the difference is 128" in str(prove(TransactionBytes(none, "full")))
