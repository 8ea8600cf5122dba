"""``Computes``: kernels that do what their results say, and what is left open or refuted where they do not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from checkers import Budget, Computes, prove
from checkers.claims.updated_once import updates
from symlayout import Layout, dim, dims
from symlayout.answers.report import Outcome
from symlayout.errors import ClaimError, ExecutionError, LayoutError
from symlayout.kernel import Builder, Kernel
from symlayout.kernel.specification import applied, element, total
from symlayout.kernels import (
    axpby,
    cp_async_copy,
    gather_rows,
    gemm,
    row_sum,
    tma_copy,
    tma_reduce_add,
    tma_transpose,
    vector_copy,
)
from symlayout.ops import Box, Copy, Fill, For, If, LoadIndex, Map, Mma, Param, Reduce, Ref
from symlayout.semantics.expected import expect_results, expected
from symlayout.semantics.telling import telling_inputs
from symlayout.tma import TmaOobFill

M, N, K = dims("M N K", multiple_of=8)
L = dim("L")


def outcome(kernel: Kernel) -> Any:
    """The verdict on the first result of a kernel."""
    (v,) = prove(Computes(kernel, kernel.results[0].tensor), budget=Budget(repairs=False)).verdicts
    return v


FAMILIES = {
    "vector_copy": vector_copy(L),
    "vector_copy of bf16": vector_copy(L, dtype="bf16", vector_bytes=8, threads=64),
    "cp_async_copy": cp_async_copy(L),
    "cp_async_copy of 2": cp_async_copy(L, stages=2, threads=64),
    "cp_async_copy of 7": cp_async_copy(L, stages=7, blocks=3),
    "tma_copy": tma_copy(M, N),
    "tma_copy of u8": tma_copy(M, N, dtype="u8", tile=(4, 32), slots=3),
    "tma_copy of one slot": tma_copy(M, N, dtype="f64", tile=(8, 8), slots=1),
    "tma_transpose": tma_transpose(M, N),
    "tma_transpose of f32": tma_transpose(M, N, dtype="f32", tile=(32, 64), stages=3),
    "tma_transpose of u8": tma_transpose(M, N, dtype="u8", tile=(64, 128), swizzle=64),
    "tma_transpose, flat": tma_transpose(M, N, tile=(64, 64), swizzle=0),
    "gemm": gemm(M, N, K, cluster=1),
    "gemm of f16": gemm(M, N, K, dtype="f16", tile=(64, 64), stages=2, cluster=1, group=1),
    "gemm of 192 columns": gemm(M, N, K, tile=(64, 192), stages=3, cluster=1),
    "gemm of pairs": gemm(M, N, K, cluster=2),
    "gemm of fours": gemm(M, N, K, tile=(64, 128), cluster=4),
    "axpby": axpby(L),
    "axpby of bf16": axpby(L, dtype="bf16"),
    "gather_rows": gather_rows(K, M, N),
    "tma_reduce_add": tma_reduce_add(L, M, N),
    "tma_reduce_add of f16": tma_reduce_add(3, M, N, dtype="f16"),
    "tma_reduce_max": tma_reduce_add(L, M, N, dtype="i32", function="max"),
    **{
        f"row_sum by {f}": row_sum(L, dim("P"), dim("ld", at_least=dim("P"), multiple_of=4), function=f)
        for f in ("add", "max")
    },
    "gemm of one size": gemm(200, 136, 136, cluster=1, blocks=2),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_families_compute_their_results(name: str) -> None:
    v = outcome(FAMILIES[name])
    assert v.outcome is Outcome.PROVED, v


# -- results on arrays ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kernel, sizes",
    [
        (vector_copy(L), {"L": 77}),
        (tma_transpose(M, N), {"M": 24, "N": 40}),
        (gemm(M, N, K, tile=(64, 64), cluster=1), {"M": 8, "N": 16, "K": 72}),
    ],
)
def test_results_are_what_the_references_say(kernel: Kernel, sizes: dict[str, int]) -> None:
    bound = kernel.bind(**sizes)
    inputs = telling_inputs(bound)
    assert bound.reference is not None
    for name, want in bound.reference(**inputs).items():
        assert np.array_equal(expected(bound, inputs)[name].view(np.uint8), want.view(np.uint8))
    expect_results(bound, "lazy")


def test_a_result_belongs_to_tensors_of_the_kernel() -> None:
    k = Builder("k", grid=(1,), threads=32)
    k.global_tensor("x", "f32", Layout((4, 8), (8, 1)))
    with pytest.raises(LayoutError, match="expected a tensor in global memory"):
        k.result("y", lambda i: element("x", i, i))
    with pytest.raises(LayoutError, match="expected 2 coordinates of x"):
        k.result("x", lambda i, j: element("x", i))
    with pytest.raises(LayoutError, match="expected a value of 2 coordinates"):
        k.result("x", lambda i: element("x", i, i))
    with pytest.raises(ClaimError, match="expected an output with a result"):
        Computes(k.kernel(), "x")


# -- kernels of other kinds -----------------------------------------------------------------------------


def flat(body: Any, *, results: Any = lambda i: element("x", i), blocks: Any = L, threads: int = 32) -> Kernel:
    """A kernel of f32 vectors x, y, z of *threads* elements a block; *body* builds it."""
    k = Builder("flat", L, grid=(blocks,), threads=threads)
    x, y, z = (k.global_tensor(name, "f32", Layout(threads * L)) for name in "xyz")
    body(k, x, y, z)
    k.result("z", results)
    return k.kernel()


def test_arithmetic_is_followed() -> None:
    def body(k: Builder, x: Any, y: Any, z: Any) -> None:
        a, b = k.registers("a", "f32", 1), k.registers("b", "f32", 1)
        at = 32 * k.block[0] + k.thread
        k.copy("ld.global.4", x(at), a())
        k.copy("ld.global.4", y(at), b())
        k.map("add", (a(), b()), a())
        k.copy("st.global.4", a(), z(at))

    right = flat(body, results=lambda i: applied("add", element("x", i), element("y", i)))
    assert outcome(right).outcome is Outcome.PROVED
    exchanged = flat(body, results=lambda i: applied("add", element("y", i), element("x", i)))
    assert outcome(exchanged).outcome is Outcome.PROVED
    for wrong in (
        lambda i: applied("sub", element("x", i), element("y", i)),
        lambda i: applied("add", element("x", i), element("x", i)),
    ):
        assert outcome(flat(body, results=wrong)).outcome is not Outcome.PROVED


def test_a_value_that_is_rounded_on_the_way_is_not_the_value() -> None:
    def body(k: Builder, x: Any, y: Any, z: Any) -> None:
        a, b = k.registers("a", "f32", 1), k.registers("b", "bf16", 1)
        at = 32 * k.block[0] + k.thread
        k.copy("ld.global.4", x(at), a())
        k.map("convert", (a(),), b())
        k.map("convert", (b(),), a())
        k.copy("st.global.4", a(), z(at))

    v = outcome(flat(body))
    assert v.outcome is Outcome.REFUTED, v


def prefetched(first: int, ahead: int = 1) -> Kernel:
    """Each thread loads the next of 4 L values before it stores the one at hand, from value *first* on."""
    k = Builder("prefetched", L, grid=(1,), threads=32)
    x, z = (k.global_tensor(name, "f32", Layout(32 * (L + 4))) for name in "xz")
    now, following = k.registers("now", "f32", 1), k.registers("following", "f32", 1)
    k.copy("ld.global.4", x(32 * first + k.thread), now())
    with k.loop("i", L) as i:
        k.copy("ld.global.4", x(32 * (i + ahead) + k.thread), following())
        k.copy("st.global.4", now(), z(32 * i + k.thread))
        k.map("convert", (following(),), now())
    k.result("z", lambda i: element("x", i))
    return k.kernel()


def test_what_a_turn_leaves_to_the_next_is_followed() -> None:
    assert outcome(prefetched(0)).outcome is Outcome.PROVED
    assert outcome(prefetched(1)).outcome is Outcome.REFUTED  # wrong in the first turn only
    assert outcome(prefetched(0, 2)).outcome is Outcome.REFUTED  # wrong in all but the first


def reversed_tile(at: Any, order: Any = lambda t: 63 - t, sync: bool = True) -> Kernel:
    """Each block turns 64 elements around in shared memory; *at* says where a thread puts its own."""
    k = Builder("reversed", L, grid=(L,), threads=64)
    x, z = (k.global_tensor(name, "f32", Layout((64, L))) for name in "xz")
    tile, a = k.shared_tensor("tile", "f32", Layout(64)), k.registers("a", "f32", 1)
    k.copy("ld.global.4", x(64 * k.block[0] + k.thread), a())
    k.copy("st.shared.4", a(), tile(at(k.thread)))
    if sync:
        k.sync()
    k.copy("ld.shared.4", tile(order(k.thread)), a())
    k.copy("st.global.4", a(), z(64 * k.block[0] + k.thread))
    k.result("z", lambda i, j: element("x", 63 - i, j))
    return k.kernel()


def test_a_tile_is_turned_around_in_shared_memory() -> None:
    assert outcome(reversed_tile(lambda t: t)).outcome is Outcome.PROVED
    assert outcome(reversed_tile(lambda t: 63 - t, lambda t: t)).outcome is Outcome.PROVED
    assert outcome(reversed_tile(lambda t: t, lambda t: t)).outcome is Outcome.REFUTED


def rows_of(columns: Any, guard: Any = lambda k, n, c: [n >= c + 1], transposed: bool = False) -> Kernel:
    """A row-major matrix is copied by blocks of 4 x 32 elements, a row for each warp."""
    k = Builder("rows", *dict.fromkeys((L, N)), grid=(-(-L // 4), -(-N // 32)), threads=128)
    x, z = (k.global_tensor(name, "f32", Layout((L, N), (N, 1))) for name in "xz")
    a = k.registers("a", "f32", 1)
    row, column = 4 * k.block[0] + k.thread // 32, columns(k)
    with k.where(row + 1 <= L, *guard(k, N, column)):
        k.copy("ld.global.4", x(N * row + column), a())
        k.copy("st.global.4", a(), z(N * row + column))
    k.result("z", lambda i, j: element("x", i, j))
    return k.kernel()


def test_a_row_major_matrix_is_copied_by_offsets() -> None:
    v = outcome(rows_of(lambda k: 32 * k.block[1] + k.thread % 32))
    assert v.outcome is Outcome.PROVED, v
    other = outcome(rows_of(lambda k: 32 * k.block[1] + 31 - k.thread % 32))
    assert other.outcome is Outcome.PROVED, other
    loose = outcome(rows_of(lambda k: 32 * k.block[1] + k.thread % 32, guard=lambda k, n, c: []))
    assert loose.outcome is not Outcome.PROVED  # a column behind the last is the next row


# -- what must not be proved ----------------------------------------------------------------------------


def changed(kernel: Kernel, change: Any) -> Kernel:
    return kernel.edited(lambda op: (change(op),))


def test_a_fill_of_nan_behind_the_last_k_is_not_zero() -> None:
    kernel = FAMILIES["gemm of f16"]
    maps = tuple(replace(m, tensor_map=replace(m.tensor_map, oob_fill=TmaOobFill.nan)) for m in kernel.maps)
    assert outcome(replace(kernel, maps=maps)).outcome is Outcome.REFUTED


def test_sums_that_never_start_anew_are_not_the_sums() -> None:
    for zero in (0, 1):
        wrong = changed(FAMILIES["gemm of f16"], lambda op, z=zero: replace(op, zero=z) if isinstance(op, Mma) else op)
        assert outcome(wrong).outcome is Outcome.REFUTED


def test_a_pipeline_one_slot_short_reads_other_turns() -> None:
    def slots(op: Any) -> Any:
        if isinstance(op, Copy) and isinstance(op.src, Ref) and op.atom.startswith("ld.shared"):
            return replace(op, src=Ref("tile", op.src.offset + 512 * ((i + 1) % 4) - 512 * (i % 4)))
        return op

    kernel = cp_async_copy(L)
    (i,) = (op.index for op in kernel.walk() if isinstance(op, For) and op.index.name == "i")
    assert outcome(changed(kernel, slots)).outcome is Outcome.REFUTED


ROWS = row_sum(L, dim("P"), dim("ld", at_least=dim("P"), multiple_of=4), warps=2)


def test_rows_that_miss_or_repeat_an_element_are_refuted() -> None:
    assert outcome(ROWS).outcome is Outcome.PROVED
    wrong: dict[str, Any] = {
        "half of the lanes": lambda op: replace(op, lanes=16) if isinstance(op, Reduce) else op,
        "three of four": lambda op: replace(op, count=3) if isinstance(op, Reduce) else op,
        "begins with 1": lambda op: replace(op, value=1.0) if isinstance(op, Fill) else op,
        "greatest": lambda op: replace(op, function="max") if isinstance(op, Map) and op.dst.offset == 0 else op,
        "the tail once more": lambda op: replace(op, condition=op.condition[:1]) if _vectors(op) else op,
    }
    for name, change in wrong.items():
        assert outcome(changed(ROWS, change)).outcome is Outcome.REFUTED, name


def _vectors(op: Any) -> bool:
    """Whether this is the condition of the tail of row_sum."""
    return isinstance(op, If) and len(op.condition) == 2 and isinstance(op.inside[0], For)


def by_shuffles(steps: tuple[int, ...], extent: int = 32) -> Kernel:
    """A warp for each row of *extent* elements, summed by butterflies at some distances."""
    k = Builder("shuffled", L, grid=(L,), threads=32)
    x, z = k.global_tensor("x", "f32", Layout((extent, L))), k.global_tensor("z", "f32", Layout(L))
    a, b = k.registers("a", "f32", 1), k.registers("b", "f32", 1)
    k.fill(a(), 0)
    k.copy("ld.global.4", x(extent * k.block[0] + k.thread), b())
    k.map("add", (a(), b()), a())
    for distance in steps:
        k.shuffle("bfly", a(), b(), distance)
        k.map("add", (a(), b()), a())
    with k.where(k.thread <= 0):
        k.copy("st.global.4", a(), z(k.block[0]))
    k.result("z", lambda j: total(extent, lambda i: element("x", i, j)))
    return k.kernel()


def test_a_reduction_by_shuffles_is_followed() -> None:
    assert outcome(by_shuffles((16, 8, 4, 2, 1))).outcome is Outcome.PROVED
    assert outcome(by_shuffles((1, 2, 4, 8, 16))).outcome is Outcome.PROVED
    assert outcome(by_shuffles((16, 8, 4, 2))).outcome is Outcome.REFUTED
    assert outcome(by_shuffles((16, 8, 4, 2, 2))).outcome is Outcome.REFUTED


ADDED = tma_reduce_add(L, M, N, tile=(8, 32), slots=2, blocks=2)


def test_tiles_that_are_added_twice_elsewhere_or_never_are_refuted() -> None:
    def edited(change: Any) -> Kernel:
        return ADDED.edited(lambda op: change(op) if isinstance(op, Copy) else (op,))

    def shifted(op: Copy) -> tuple[Copy, ...]:
        if not isinstance(op.dst, Box):
            return (op,)
        column, row = op.dst.coordinate
        return (replace(op, dst=Box(op.dst.tensor_map, (column, row + 1))),)

    (once,) = updates(ADDED)
    assert prove(once)
    for change in (
        lambda op: (op, op) if op.atom.startswith("tma.reduce") else (op,),
        lambda op: () if op.atom.startswith("tma.reduce") else (op,),
        shifted,
    ):
        assert outcome(edited(change)).outcome is Outcome.REFUTED

    def another_part(op: Copy) -> tuple[Copy, ...]:
        if not isinstance(op.src, Box):
            return (op,)
        return (replace(op, src=Box(op.src.tensor_map, (*op.src.coordinate[:2], op.src.coordinate[2] + 1))),)

    (once,) = updates(edited(another_part))
    assert prove(once).verdicts[0].outcome is Outcome.REFUTED


def test_other_scalars_and_other_entries_are_other_values() -> None:
    swap = {"alpha": "beta", "beta": "alpha"}

    def scalars(op: Any) -> Any:
        if isinstance(op, Map):
            return replace(op, srcs=tuple(Param(swap[x.name]) if isinstance(x, Param) else x for x in op.srcs))
        return op

    assert outcome(changed(axpby(L), scalars)).outcome is Outcome.REFUTED

    def first(op: Any) -> Any:
        return replace(op, src=Ref("idx", 0)) if isinstance(op, LoadIndex) else op

    assert outcome(changed(gather_rows(K, M, N, tile=(4, 32), blocks=2), first)).outcome is Outcome.REFUTED


def test_a_loop_of_no_turn_leaves_no_sum() -> None:
    none = gemm(M, N, dim("K", at_least=0, multiple_of=8), tile=(64, 64), cluster=1, blocks=1)
    proof = Budget(repairs=False, refuter_points=1)  # it may be refuted or left open
    assert not prove(Computes(none, "c"), budget=proof)


def test_a_refutation_names_the_first_wrong_element() -> None:
    def moved(op: Any) -> Any:
        if isinstance(op, Copy) and isinstance(op.dst, Box):
            return replace(op, dst=Box("dst_map", (op.dst.coordinate[0], op.dst.coordinate[1] + 1)))
        return op

    v = outcome(changed(tma_copy(M, N, tile=(8, 64)), moved))
    assert v.outcome is Outcome.REFUTED
    with pytest.raises(ExecutionError) as e:
        expect_results(changed(tma_copy(M, N, tile=(8, 64)), moved).bind(**v.witness.sizes))
    assert str(e.value) in str(v)
