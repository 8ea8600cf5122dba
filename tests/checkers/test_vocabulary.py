"""What provers make of shuffles, reductions, scalars, names, values from memory and registers; and that they know all."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import pytest

import symlayout.ops as ops
from checkers import ArithmeticFits, RegistersFit, WellFormed, claims_of, prove
from checkers.orders.footprints import elements_of
from checkers.prover import Budget
from checkers.rings.recognised import rings_of
from symlayout import Layout, dim, dims
from symlayout.answers.report import Outcome, Report
from symlayout.errors import LayoutError
from symlayout.facts import Facts
from symlayout.kernel import Builder, Kernel
from symlayout.kernel.counting import Counter, Uncounted
from symlayout.kernel.ring import make_ring
from symlayout.kernel.sites import sites, unsteady
from symlayout.kernels import axpby, cp_async_copy, gather_rows, gemm, row_sum, tma_copy, tma_reduce_add, vector_copy
from symlayout.ops import (
    DATA,
    NAMES,
    OPERATIONS,
    ORDER,
    STRUCTURE,
    Box,
    Copy,
    Elect,
    If,
    Let,
    LoadIndex,
    Map,
    Op,
    Param,
    Reduce,
    Ref,
    Role,
    Shuffle,
    Wait,
)
from symlayout.semantics.op_steps import STEPS
from symlayout.tma import TensorMap

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


@pytest.mark.parametrize("name", FAMILIES)
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
}


def classes() -> set[type[Op]]:
    return {c for c in vars(ops).values() if isinstance(c, type) and issubclass(c, Op) and c is not Op}


def test_each_operation_is_known_to_each_walk() -> None:
    assert classes() == {*OPERATIONS}
    assert len(OPERATIONS) == len({*DATA, *NAMES, *ORDER, *STRUCTURE})
    assert classes() == set(STEPS), "what runs"
    assert set(SAMPLES) == set(DATA)


def test_what_operations_of_data_read_and_write() -> None:
    k = Builder("t", grid=(1,), threads=32)
    k.global_tensor("g", "i32", Layout(64))
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
    "no such function": (lambda k: k.map("sqrt", (X,), Y), "sqrt is not a function"),
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


# -- values from memory --------------------------------------------------------------------------------------


def gathered(high: Any) -> Kernel:
    k = Builder("gathered", N, grid=(1,), threads=32)
    idx, g = k.global_tensor("idx", "i32", Layout(32)), k.global_tensor("g", "f32", Layout(N))
    r = k.registers("r", "f32", 1)
    at = k.load_index("at", idx(k.thread), (0, high))
    k.copy("ld.global.4", g(at), r())
    return k.kernel()


def test_a_contract_is_all_that_is_known() -> None:
    assert outcomes(prove(gathered(N)), "in bounds") == {"proved"}
    assert "past the last valid 0" in said(prove(gathered(N + 1)))


def test_a_place_in_the_table_is_in_bounds() -> None:
    k = Builder("past", grid=(1,), threads=64)
    k.load_index("at", k.global_tensor("idx", "i32", Layout(63))(k.thread), (0, 3))
    assert "coordinate 63 maps to 63, past the last valid 62" in said(prove(k.kernel()))


def stored(at: Any, uniform: bool, condition: bool = False) -> Kernel:
    """A warp that stores where a value of memory says, or if it says so."""
    k = Builder("stored", grid=(1,), threads=32)
    table, dst = k.global_tensor("idx", "i32", Layout(32)), k.global_tensor("dst", "f32", Layout(32))
    r = k.registers("r", "f32", 1)
    p = k.load_index("p", table(0 if uniform else k.thread), (0, 32))
    k.fill(r(), 1)
    with k.where(p >= (1 if condition else 0)):
        k.copy("st.global.4", r(), dst(at(k.thread, p)))
    return k.kernel()


@pytest.mark.parametrize(
    "kernel",
    [
        stored(lambda t, p: (t + p) % 32, False),
        stored(lambda t, p: p, False),
        stored(lambda t, p: t, False, condition=True),
        stored(lambda t, p: t, True, condition=True),
    ],
)
def test_stores_that_data_choose_are_not_shown_to_be_once(kernel: Kernel) -> None:
    """A permutation for one value of p is none for a p of each thread."""
    assert outcomes(prove(kernel), "written once") == {"unknown"}


def test_a_schedule_of_tiles_by_data_is_no_cover() -> None:
    k = Builder("tiles", grid=(8,), threads=32)
    idx, dst = k.global_tensor("idx", "i32", Layout(8)), k.global_tensor("dst", "f32", Layout((64, 8)))
    box = k.tensor_map("m", dst(), TensorMap.over(Layout((64, 8)), "f32", (64, 1)))
    tile, (b,) = k.shared_tensor("tile", "f32", Layout(64)), k.block
    with k.elect():
        p = k.load_index("p", idx(b), (0, 8))
        k.fill(tile(), 1, 64)
        k.fence("async")
        k.copy("tma.store", tile(), box(0, (b + p) % 8))
        k.commit("bulk")
        k.wait_group("bulk")

    assert not outcomes(prove(k.kernel()), "covers")
    assert outcomes(prove(k.kernel()), "written once") == {"unknown"}


def varlen(where: str) -> Kernel:
    """A ring whose trips are read from memory: by the CTA, by each thread, or by each role."""
    k = Builder("varlen", grid=(4,), threads=64)
    n, src = k.global_tensor("n", "i32", Layout((64, 4))), k.global_tensor("src", "f32", Layout((64, 100)))
    box = k.tensor_map("m", src(), TensorMap.over(Layout((64, 100)), "f32", (64, 1)))
    ring = make_ring(k, "ring", "f32", Layout(64), slots=2, consumers=1)
    (b,) = k.block
    if where != "role":
        turns = k.load_index("t", n(b if where == "cta" else 64 * b + k.thread), (0, 100))
    with k.role("producer", 1), k.elect():
        if where == "role":
            turns = k.load_index("t", n(b), (0, 100))
        with k.loop("i", turns) as i, ring.produce(i) as slot:
            k.copy("tma.load", box(0, i), slot.at(), slot.full)
    with k.role("consumer", 1), k.elect():
        r = k.registers("r", "f32", 1)
        if where == "role":
            turns = k.load_index("u", n(b), (0, 100))
        with k.loop("j", turns) as i, ring.consume(i) as slot:
            k.copy("ld.shared.4", slot.at(), r())
    return k.kernel()


@pytest.mark.parametrize("where, outcome", [("cta", "proved"), ("thread", "unknown"), ("role", "unknown")])
def test_trips_that_data_say_are_counted_where_all_threads_read_the_same(where: str, outcome: str) -> None:
    report = prove(varlen(where))

    assert outcomes(report, "ring protocol") == {outcome}
    assert outcomes(report, "transaction bytes") == {"proved"}
    assert len(rings_of(varlen(where))) == 1


def test_a_number_of_uses_does_not_take_a_value_out_of_its_loop() -> None:
    """A trip count that is read anew in each turn of a loop is not that of one turn times the turns."""
    k = Builder("inner", grid=(1,), threads=32)
    idx, full = k.global_tensor("idx", "i32", Layout(8)), k.mbarriers("full", 1, 1)
    with k.loop("turn", 8) as turn:
        n = k.load_index("n", idx(turn), (0, 4))
        with k.loop("i", n):
            k.wait(full(), 0)
    kernel = k.kernel()

    assert unsteady(kernel) == {n}
    with pytest.raises(Uncounted, match="a value which differs between threads or iterations"):
        Counter(kernel, Facts.about(n)).total(lambda op: isinstance(op, Wait))


def test_names_are_gone_where_provers_look() -> None:
    kernel = gather_rows(K, M, N)
    assert not any(isinstance(s.op, Let) for s in sites(kernel))
    loads = [s.op for s in sites(kernel) if isinstance(s.op, LoadIndex)]
    assert {x.name for op in loads for x in op.src.offset.symbols} == {"M", "N", "block_x", "i", "r"}  # type: ignore[union-attr]


# -- registers -----------------------------------------------------------------------------------------------


def roles(*rows: tuple[int, int, int], warps: int = 12) -> Kernel:
    """A kernel with roles of (warps, setmaxnreg, registers that tensors take)."""
    k = Builder("roles", grid=(1,), threads=32 * warps)
    for i, (n, registers, held) in enumerate(rows):
        with k.role(f"r{i}", n, registers=registers):
            if held:
                k.registers(f"x{i}", "f32", held)
            k.sync(1 + i, 32 * n)
    return k.kernel()


@pytest.mark.parametrize(
    "kernel",
    [
        roles((4, 24, 0), (8, 240, 240)),
        roles((12, 0, 168)),
        roles((4, 0, 168), (8, 168, 10)),
        roles((8, 0, 255), warps=8),
        roles((16, 0, 128), warps=16),
        roles((4, 24, 0), (12, 160, 132), warps=16),
        vector_copy(N),
        gemm(M, N, K),
    ],
)
def test_registers_that_fit(kernel: Kernel) -> None:
    assert prove(RegistersFit(kernel))


@pytest.mark.parametrize(
    "kernel, message",
    [
        (
            roles((4, 24, 25), (8, 240, 0)),
            "the tensors of role r0 take 25 registers of each thread, 1 more than it has",
        ),
        (roles((12, 0, 169)), "role r0 take 169 registers of each thread, 1 more"),
        (roles((8, 0, 256), warps=8), "take 256 registers of each thread, 1 more"),
        (roles((16, 0, 129), warps=16), "take 129 registers of each thread, 1 more"),
        (roles((4, 20, 0), (8, 240, 0)), "r0 asks for 20 registers, not for a multiple of 8 of 24 .. 256"),
        (roles((4, 28, 0), (8, 240, 0)), "r0 asks for 28 registers"),
        (roles((4, 264, 0), (8, 24, 0)), "r0 asks for 264 registers"),
        (roles((1, 24, 0), (8, 240, 0)), "role r0, warp 0, 24 registers: expected whole warpgroups for setmaxnreg"),
        (
            roles((4, 32, 0), (8, 240, 0)),
            "the roles ask for 65536 registers, 1024 more than a launch of 384 threads has",
        ),
        (roles((4, 24, 0), (12, 240, 0), warps=16), "the roles ask for 95232 registers, 29696 more"),
    ],
)
def test_registers_that_do_not_fit(kernel: Kernel, message: str) -> None:
    (v,) = prove(RegistersFit(kernel)).verdicts
    assert v.outcome is Outcome.REFUTED
    assert message in str(v.witness)
    assert any(isinstance(c, RegistersFit) for c in claims_of(kernel))


@pytest.mark.parametrize("rows", [64, 128, 192])
def test_a_gemm_of_any_number_of_consumers_has_its_registers(rows: int) -> None:
    assert prove(RegistersFit(gemm(M, N, K, tile=(rows, 256), stages=3)))


# -- sizes of 0 ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kernel, fact",
    [
        (vector_copy(dim("N", at_least=0)), "N >= 1"),
        (tma_copy(dim("M", at_least=0), 64), "M >= 1"),
        (cp_async_copy(dim("N", at_least=0)), "N >= 1"),
        (row_sum(dim("M", at_least=0), N, dim("ld", at_least=N, multiple_of=4)), "M >= 1"),
        (gemm(64, 64, dim("K", at_least=0, multiple_of=8), tile=(64, 64), stages=2, blocks=1), "K >= 1"),
    ],
)
def test_a_size_of_zero_is_refuted_with_what_repairs_it(kernel: Kernel, fact: str) -> None:
    report = prove(kernel)
    (v,) = [v for v in report.verdicts if v.outcome is Outcome.REFUTED]

    assert "elements" in str(v.claim)
    assert f"{fact[0]} = 0" in str(v)
    assert str(report.repairs) == f"({fact},)"
    assert prove(kernel.assuming(*report.repairs)) or kernel.name == "cp_async_copy"


def test_roles_and_elections_stay_as_they_are() -> None:
    """Sites of a kernel without values from memory have the teams that they had."""
    kernel = tma_copy(M, N)
    assert {type(s.op) for s in sites(kernel)} >= {Role, Elect}
    assert all(s.varying == frozenset() and s.team is not None for s in sites(kernel))
    assert not any(isinstance(s.op, If) for s in sites(kernel))
