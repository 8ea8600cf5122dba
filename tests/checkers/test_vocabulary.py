"""What provers make of shuffles, reductions, scalars and names; and that they know all."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import pytest

import symlayout.ops as ops
from checkers import ArithmeticFits, WellFormed, claims_of, prove
from checkers.orders.footprints import elements_of
from checkers.prover import Budget
from symlayout import Layout, dim, dims
from symlayout.answers.report import Outcome, Report
from symlayout.errors import LayoutError
from symlayout.kernel import Builder, Kernel
from symlayout.kernels import axpby, gather_rows, row_sum, tma_reduce_add
from symlayout.ops import (
    DATA,
    NAMES,
    OPERATIONS,
    ORDER,
    STRUCTURE,
    Box,
    Copy,
    Let,
    LoadIndex,
    Map,
    Op,
    Param,
    Reduce,
    Ref,
    Shuffle,
)
from symlayout.semantics.op_steps import STEPS
from symlayout.tma import TensorMap
from tests.support.rows import telling

M, N, K, S = dims("M N K S")
LD = dim("ld", at_least=N)


def outcomes(report: Report, kind: str) -> set[str]:
    return {v.outcome.value for v in report.verdicts if v.claim.kind == kind}


def said(report: Report) -> str:
    return "\n".join(f"{v.witness} {v.open}" for v in report.verdicts if v.outcome is not Outcome.PROVED)


# -- the families --------------------------------------------------------------------------------------------

FAMILIES = {
    "row_sum": (lambda: row_sum(M, N, LD), "(ld % 4 == 0,)"),
    "row_max": (lambda: row_sum(M, N, LD, function="max", warps=4), "(ld % 4 == 0,)"),
    "axpby": (lambda: axpby(N), "()"),
    "axpby_bf16": (lambda: axpby(N, dtype="bf16"), "()"),
    "gather_rows": (lambda: gather_rows(K, M, N), "(N % 4 == 0,)"),
    "tma_reduce_add": (lambda: tma_reduce_add(S, M, N), "(M*N <= 274877906943,)"),
    "tma_reduce_max": (lambda: tma_reduce_add(S, M, N, dtype="i32", function="max"), "(M*N <= 274877906943,)"),
}


@pytest.mark.parametrize("name", telling(FAMILIES, "row_sum", "axpby", "gather_rows", "tma_reduce_add"))
def test_a_family_is_proved_under_its_repairs(name: str) -> None:
    build, repairs = FAMILIES[name]
    kernel = build()
    found = prove(kernel)
    assert str(found.repairs) == repairs

    again = prove(kernel.assuming(*found.repairs))
    assert again, said(again)


def test_indices_of_32_bits_do_not_reach_far_enough() -> None:
    kernel = row_sum(M, N, dim("ld", at_least=N, multiple_of=4))
    assert prove(ArithmeticFits(kernel))
    found = prove(ArithmeticFits(replace(kernel, index_bits=32, wide=())), budget=Budget(repairs=False)).verdicts

    assert {v.outcome for v in found} == {Outcome.REFUTED}
    assert any("ld*row = " in str(v.witness) and "past the last valid 2147483647" in str(v.witness) for v in found)


def test_what_is_assumed_of_the_data_is_said() -> None:
    notes = prove(gather_rows(10, 16, 64, tile=(4, 32), slots=2, blocks=1)).notes
    assert any(n.startswith("assumed: the data hold picked = idx[") and n.endswith("within (0,10)") for n in notes)


# -- every operation is known --------------------------------------------------------------------------------

X, Y = Ref("x", 0), Ref("y", 0)
SAMPLES: dict[type[Op], Op] = {
    Copy: Copy("ld.global.4", Ref("g", 0), X),
    ops.Mma: ops.Mma("mma.m16n8k16.bf16", X, Y, Ref("acc", 0)),
    Map: Map("scale", (X, Y), Ref("acc", 0), 4),
    ops.Fill: ops.Fill(X, 0, 3),
    Shuffle: Shuffle("up", X, Y, 1, 2),
    Reduce: Reduce("add", X, Y, 4),
    LoadIndex: LoadIndex(dim("p"), Ref("g", 0)),
    ops.Prefetch: ops.Prefetch("m"),
    ops.PrefetchL2: ops.PrefetchL2(Ref("g", 0)),
    ops.PeerCopy: ops.PeerCopy("ld.cluster.4", Ref("t", 0), X, 0),
}


def classes() -> set[type[Op]]:
    return {c for c in vars(ops).values() if isinstance(c, type) and issubclass(c, Op)} - {Op, ops.ByAtom}


def test_each_operation_is_known_to_each_walk() -> None:
    assert classes() == {*OPERATIONS}
    assert len(OPERATIONS) == len({*DATA, *NAMES, *ORDER, *STRUCTURE})
    assert classes() == set(STEPS), "what runs"
    assert set(SAMPLES) == set(DATA)


def test_what_operations_of_data_read_and_write() -> None:
    k = Builder("t", grid=(1,), threads=32)
    k.global_tensor("g", "i32", Layout(64))
    k.shared_tensor("t", "f32", Layout(64))
    for name in ("x", "y", "acc"):
        k.registers(name, "bf16" if name != "acc" else "f32", 8)
    kernel = k.kernel()
    found = {
        c.__name__: (
            [(r.tensor, elements_of(kernel, op, r)) for r in op.sources],
            [(r.tensor, elements_of(kernel, op, r)) for r in op.targets],
        )
        for c, op in SAMPLES.items()
    }
    assert found == {
        "Copy": ([("g", 1)], [("x", 2)]),
        "Mma": ([("x", 8), ("y", 4)], [("acc", 4)]),
        "Map": ([("x", 4), ("y", 1)], [("acc", 4)]),
        "Fill": ([], [("x", 3)]),
        "PeerCopy": ([("t", 1)], [("x", 2)]),
        "Shuffle": ([("x", 2)], [("y", 2)]),
        "Reduce": ([("x", 4)], [("y", 1)]),
        "LoadIndex": ([("g", 1)], []),
        "Prefetch": ([], []),
        "PrefetchL2": ([], []),
    }


def test_the_same_place_twice_is_as_wide_as_its_widest_use() -> None:
    k = Builder("t", grid=(1,), threads=32)
    x = k.registers("x", "f32", 4)
    k.map("scale", (x(), x()), x(), 4)
    kernel = k.kernel()
    op = kernel.body[0]

    assert {elements_of(kernel, op, r) for r in (*op.sources, *op.targets)} == {4}
    assert elements_of(kernel, replace(op, count=5), x()) == 5  # type: ignore[call-arg]


def test_an_operation_that_nobody_knows_is_left_open() -> None:
    class Unheard(Op):
        pass

    k = Builder("t", grid=(1,), threads=32)
    k.add(Unheard())
    report = prove(k.kernel())

    assert not report
    assert outcomes(report, "well formed") == {"unknown"}
    assert "Unheard is not an operation that provers know" in said(report)


# -- well formed ---------------------------------------------------------------------------------------------


def warp(body: Any, threads: int = 32) -> Kernel:
    """A kernel of registers x, y of f32, h of f16, an index table idx and a tensor g."""
    k = Builder("warp", dim("n"), grid=(1,), threads=threads)
    k.global_tensor("idx", "i32", Layout(threads))
    k.global_tensor("g", "f32", Layout(threads))
    k.shared_tensor("s", "f32", Layout(threads))
    for name, kind in (("x", "f32"), ("y", "f32"), ("h", "f16")):
        k.registers(name, kind, 4)
    k.tensor_map("m", Ref("g"), TensorMap.over(Layout((threads, 1)), "f32", (threads, 1)))
    body(k)
    return k.kernel()


def half(k: Builder) -> None:
    with k.where(k.thread < 16):
        k.shuffle("bfly", X, Y, 1)


def elected(k: Builder) -> None:
    with k.elect():
        k.reduce("add", X, Y, lanes=8)


def late(k: Builder) -> None:
    with k.where(k.thread < 32):
        at = k.load_index("at", Ref("idx", k.thread), (0, 32))
    k.copy("ld.global.4", Ref("g", at), X)


def of_fewer(k: Builder) -> None:
    with k.where(k.thread < 33):
        k.shuffle("bfly", X, Y, 1)


def indexed(unroll: Any, extent: Any = 4) -> Callable[[Builder], None]:
    def body(k: Builder) -> None:
        with k.loop("q", extent, unroll=unroll) as q:
            k.map("neg", (Ref("x", q),), Ref("y", q), 1)

    return body


REFUTED = {
    **{
        f"registers by a loop of unroll {way}": (indexed(way), 'expected q to be unrolled, unroll="full"')
        for way in (None, 1, 2)
    },
    "a loop of sizes unrolled": (indexed("full", dim("n")), "expected a number for the trip count"),
    "registers by thread": (
        lambda k: k.map("neg", (Ref("x", k.thread % 4),), Y, 1),
        "expected numbers and unrolled loops to say which register it is, got thread in x[thread % 4]",
    ),
    "half a warp": (half, "expected all 32 lanes of its warps, got warp 0, 16 lanes each"),
    "one lane": (elected, "expected all 32 lanes of its warps, got warp 0, 1 lane each"),
    "two types": (lambda k: k.shuffle("bfly", X, Ref("h"), 1), "expected registers of one type, got f32 and f16"),
    "half a word": (lambda k: k.shuffle("bfly", Ref("h"), Ref("h", 1), 1), "expected whole words of 32 bits"),
    "shared memory": (lambda k: k.reduce("add", Ref("s"), X), r"expected registers, got s in shared"),
    "a map in shared memory": (lambda k: k.map("neg", (X,), Ref("s"), 1), "expected registers, got s in shared"),
    "no such function": (lambda k: k.map("tan", (X,), Y), "tan is not a function"),
    "a function of other types": (
        lambda k: k.map("lg2.approx", (Ref("h"),), Ref("h")),
        "expected lg2.approx of f32, got f16",
    ),
    "an approximation of two types": (
        lambda k: k.map("ex2.approx", (X,), Ref("h")),
        "expected numbers of one type, got ex2.approx of f32 to f16",
    ),
    "packed f32": (lambda k: k.map("add.x2", (X, Y), X, 2), "expected add.x2 of f16, bf16, got f32"),
    "half a pair": (lambda k: k.map("neg.x2", (Ref("h"),), Ref("h"), 3), "expected an even number of elements"),
    "an odd pair": (lambda k: k.map("neg.x2", (Ref("h"),), Ref("h", 1), 2), "expected pairs from an even register on"),
    "too few sources": (lambda k: k.map("fma", (X, Y), Y), "expected 3 sources of fma, got 2"),
    "no such scalar": (lambda k: k.map("mul", (Param("alpha"), Y), Y), "alpha is not a scalar parameter of warp"),
    "no such instruction": (lambda k: k.copy("ld.global.3", Ref("g"), X), "ld.global.3 is not an instruction"),
    "another space": (lambda k: k.copy("ld.global.4", Ref("s"), X), "expected its source in global, got s in shared"),
    "sums in shared memory": (lambda k: k.mma("mma.m16n8k16.bf16", X, Y, Ref("s")), "expected sums in registers"),
    "a box for a vector": (lambda k: k.copy("ld.global.4", Box("m", (0, 0)), X), "expected a place in a tensor"),
    "a value after its body": (late, "ld.global.4 g[at] -> x: at has no value there"),
    "a value of floats": (lambda k: k.load_index("at", Ref("g"), (0, 4)), "expected integers in global memory"),
}


@pytest.mark.parametrize("name", REFUTED)
def test_what_is_not_well_formed_is_refuted(name: str) -> None:
    body, message = REFUTED[name]
    (v,) = prove(WellFormed(warp(body))).verdicts

    assert v.outcome is Outcome.REFUTED
    assert message in str(v.witness)
    assert any(isinstance(c, WellFormed) for c in claims_of(warp(body)))


def test_registers_by_an_unrolled_loop_are_well_formed() -> None:
    assert prove(WellFormed(warp(indexed("full"))))


@pytest.mark.parametrize("way", [0, -1, "all"])
def test_a_loop_is_unrolled_in_full_or_by_a_number(way: Any) -> None:
    with pytest.raises(LayoutError, match='expected "full", a number of copies or None as unroll of for q < 4'):
        warp(indexed(way))


def varying(k: Builder) -> None:
    at = k.load_index("at", Ref("idx", k.thread), (0, 32))
    with k.where(at < 3):
        k.shuffle("bfly", X, Y, 1)


def written(k: Builder) -> None:
    k.load_index("at", Ref("idx", 0), (0, 32))
    k.copy("st.global.4", X, Ref("idx", k.thread))


def twice(k: Builder) -> None:
    k.let("a", 1)
    k.add(Let(k._open[-1][-1].name, 2))  # type: ignore[attr-defined]
    k.copy("ld.global.4", Ref("g", k._open[-1][0].name), X)  # type: ignore[attr-defined]


def nested(k: Builder) -> None:
    with k.loop("i", 4), k.loop("i", 5) as i:
        k.copy("ld.global.4", Ref("g", i), X)


OPEN = {
    "lanes that data choose": (varying, 32, "whether all lanes of their warps issue shfl.bfly"),
    "lanes of some warps": (of_fewer, 64, "whether all lanes of their warps issue shfl.bfly"),
    "a table that is written": (written, 32, "the kernel writes idx"),
    "a name with two values": (twice, 32, "let a = 2: a has a value already"),
    "an index in a loop of its own": (nested, 32, "for i < 5:: i has a value already"),
}


@pytest.mark.parametrize("name", OPEN)
def test_what_may_not_be_well_formed_is_left_open(name: str) -> None:
    body, threads, message = OPEN[name]
    report = prove(warp(body, threads))

    assert outcomes(report, "well formed") == {"unknown"}
    assert message in said(report)


def test_a_name_that_is_swapped_with_what_it_needs_is_refuted() -> None:
    """Names are looked for where they are written: without ``Let`` nothing would be amiss."""

    def swapped(op: Op) -> tuple[Op, ...]:
        lets = [i for i, x in enumerate(op.body) if isinstance(x, Let)]
        if len(lets) < 3:
            return (op,)
        first, second, *rest = op.body
        return (op.with_body((second, first, *rest)),)

    kernel = gather_rows(K, M, N, tile=(4, 32), slots=2, blocks=2)
    report = prove(WellFormed(kernel.edited(swapped)))
    assert "let row = 4*(load//ceil(N/32)): load has no value there" in said(report)
    assert prove(WellFormed(kernel))


@pytest.mark.parametrize("unit, outcome", [(32, "proved"), (64, "proved"), (16, "unknown"), (1, "unknown")])
def test_a_condition_that_lanes_share_takes_whole_warps(unit: int, outcome: str) -> None:
    def body(k: Builder) -> None:
        with k.where(4 * (k.thread // unit) + k.block[0] < dim("n")), k.elect() if unit == 1 else nullcontext():
            k.reduce("add", X, Y, lanes=32)

    assert outcomes(prove(warp(body, 128)), "well formed") == {outcome}


def test_a_value_from_memory_fits_the_indices() -> None:
    def wide(high: int, bits: int) -> Report:
        k = Builder("wide", grid=(1,), threads=32, index_bits=bits)
        k.load_index("at", k.global_tensor("idx", "i64", Layout(32))(k.thread), (0, high))
        return prove(k.kernel())

    assert wide(2**31, 32)
    assert "past the last valid 2147483647" in said(wide(2**31 + 1, 32))
    assert wide(2**40, 64)


def test_a_lane_is_below_32() -> None:
    good = prove(warp(lambda k: k.shuffle("idx", X, Y, k.thread % 32)))
    bad = prove(warp(lambda k: k.shuffle("idx", X, Y, k.thread), threads=64))

    assert outcomes(good, "in bounds") <= {"proved"}
    assert "past the last valid 31" in said(bad)


@pytest.mark.parametrize("count, refuted", [(4, False), (5, True)])
def test_registers_of_a_reduction_are_in_bounds(count: int, refuted: bool) -> None:
    report = prove(warp(lambda k: k.reduce("add", X, Y, count)))
    assert (Outcome.REFUTED in {v.outcome for v in report.verdicts}) is refuted
