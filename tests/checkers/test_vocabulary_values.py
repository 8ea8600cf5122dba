"""What provers make of values from memory, registers, and sizes of 0."""

from __future__ import annotations

from typing import Any

import pytest

from checkers import RegistersFit, claims_of, prove
from checkers.rings.recognised import rings_of
from symlayout import Layout, dim
from symlayout.answers.report import Outcome
from symlayout.facts import Facts
from symlayout.kernel import Builder, Kernel
from symlayout.kernel.counting import Counter, Uncounted
from symlayout.kernel.ring import make_ring
from symlayout.kernel.sites import sites, unsteady
from symlayout.kernels import cp_async_copy, gather_rows, gemm, row_sum, tma_copy, vector_copy
from symlayout.ops import (
    Elect,
    If,
    Let,
    LoadIndex,
    Role,
    Wait,
)
from symlayout.tma import TensorMap
from tests.checkers.test_vocabulary import K, M, N, outcomes, said

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


@pytest.mark.parametrize("where, outcome", [("cta", "proved"), ("thread", "refuted"), ("role", "unknown")])
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


@pytest.mark.parametrize("rows, columns", [(64, 256), (128, 256), (192, 192)])
def test_a_gemm_of_any_number_of_consumers_has_its_registers(rows: int, columns: int) -> None:
    assert prove(RegistersFit(gemm(M, N, K, tile=(rows, columns), stages=3)))


# -- sizes of 0 ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kernel, fact",
    [
        (vector_copy(dim("N", at_least=0)), "N >= 1"),
        (tma_copy(dim("M", at_least=0), 64), "M >= 1"),
        (cp_async_copy(dim("N", at_least=0)), "N >= 1"),
        (row_sum(dim("M", at_least=0), N, dim("ld", at_least=N, multiple_of=4)), "M >= 1"),
        (gemm(64, 64, dim("K", at_least=0, multiple_of=8), tile=(64, 64), stages=2, cluster=1, blocks=1), "K >= 1"),
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
