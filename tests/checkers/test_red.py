"""Reductions of threads into global memory: split-K row sums whose partial sums are added with red."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from benchmarks.kernel_slips import mutants
from checkers import prove
from checkers.claims.computes import Computes
from checkers.claims.global_order import GlobalOrder
from checkers.claims.updated_once import updated_once
from checkers.prover import Budget
from symlayout import Layout, dim
from symlayout.answers.report import Outcome, Report
from symlayout.atoms import ATOMS, AccessKind, Extent
from symlayout.dtype import DType
from symlayout.errors import ExecutionError
from symlayout.int_tuple import ceil_div
from symlayout.kernel import Builder, Kernel
from symlayout.kernel.specification import applied, element, total
from symlayout.ops import WARP
from symlayout.semantics import execute
from tests.support.red_kernels import CHUNK, TURNS, VECTOR, split_row_sum

M, N = dim("M", at_most=4096), dim("N", at_most=1 << 20)
LD = dim("ld", at_least=N, multiple_of=4)


def prepared(**changes: Any) -> Kernel:
    return split_row_sum(M, N, LD, **changes)


def outcomes(report: Report) -> dict[str, set[Outcome]]:
    found: dict[str, set[Outcome]] = {}
    for v in report.verdicts:
        found.setdefault(v.claim.kind, set()).add(v.outcome)
    return found


def test_a_split_row_sum_is_right_for_all_sizes() -> None:
    report = prove(prepared())

    assert report, [(str(v.claim), v.open, str(v.witness)) for v in report.verdicts if v.outcome is not Outcome.PROVED]
    assert {"updated once", "computes"} <= outcomes(report).keys()
    assert "written once" not in outcomes(report)
    (computes,) = (v for v in report.verdicts if v.claim.kind == "computes")
    assert "add of f32: subnormal numbers count as 0" in computes.lemmas


def test_more_parts_than_are_needed_add_nothing() -> None:
    assert prove(prepared(parts=ceil_div(N, CHUNK) + 1))


WRONG = {
    "two lanes add": {"lanes": 2},
    "chunks overlap": {"chunk": CHUNK - WARP * VECTOR},
    "chunks leave a gap": {"chunk": CHUNK + 4},
    "half of a chunk": {"trips": TURNS - 1},
    "half of the parts": {"parts": ceil_div(N, 2 * CHUNK)},
    "stores": {"stores": "st.global.4"},
    "integers": {"word": "red.global.add.u32"},
    "the least": {"word": "red.global.min.i32"},
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_split_is_refuted(name: str) -> None:
    report = prove(Computes(split_row_sum(3, N, LD, **WRONG[name]), "dst"), budget=Budget(repairs=False))

    assert outcomes(report) == {"computes": {Outcome.REFUTED}}


def test_what_is_added_is_read_by_nobody_meanwhile() -> None:
    kernel = prepared(early=True)

    assert prove(GlobalOrder(kernel, "dst")).verdicts[0].outcome is Outcome.REFUTED
    assert Outcome.PROVED not in outcomes(prove(kernel))["global order"]


def test_reductions_of_other_functions_do_not_commute() -> None:
    def both(first: str, second: str) -> Kernel:
        k = Builder("both", grid=(1,), threads=32)
        dst, x = k.global_tensor("dst", "i32", Layout(1)), k.registers("x", "i32", 1)
        k.fill(x(), 3)
        k.copy(first, x(), dst())
        with k.where(k.thread < 1):
            k.copy(second, x(), dst())
        return k.kernel()

    alike = prove(GlobalOrder(both("red.global.add.i32", "red.global.add.i32"), "dst"))
    other = prove(GlobalOrder(both("red.global.add.i32", "red.global.max.i32"), "dst"))

    assert alike
    assert other.verdicts[0].outcome is Outcome.REFUTED


def test_parts_that_lanes_add_by_themselves_are_left_open() -> None:
    k = Builder("each", grid=(1,), threads=32)
    src, dst, x = (
        k.global_tensor("src", "f32", Layout(32)),
        k.global_tensor("dst", "f32", Layout(1)),
        k.registers("x", "f32", 1),
    )
    k.copy("ld.global.4", src(k.thread), x())
    k.copy("red.global.add.f32", x(), dst())
    k.result("dst", lambda i: applied("add", element("dst", i), total(32, lambda n: element("src", n))))

    assert outcomes(prove(k.kernel()))["computes"] == {Outcome.UNKNOWN}
    assert prove(updated_once(k.kernel(), "dst")).verdicts[0].outcome is Outcome.UNKNOWN


def test_slips_are_not_proved() -> None:
    kernel = split_row_sum(3, 2 * CHUNK + 5, 2 * CHUNK + 8)
    atoms = [(name, mutant) for name, mutant in mutants(kernel) if "red.global" in name and "->" in name]

    assert len(atoms) > 5
    for name, mutant in atoms:
        assert outcomes(prove(Computes(mutant, "dst"), budget=Budget(repairs=False)))["computes"] != {Outcome.PROVED}, (
            name
        )


# -- runs ------------------------------------------------------------------------------------------------

REDUCTIONS = {
    w: row for w, row in ATOMS.items() if row.extent is Extent.INSTRUCTION and row.change is AccessKind.REDUCE
}
FUNCTIONS = {
    **{"add": np.add, "min": np.minimum, "max": np.maximum},
    **{"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor},
}


def updating(word: str) -> tuple[Kernel, np.dtype[Any], int]:
    """A kernel whose 64 threads update 16 places, four of them each."""
    row = ATOMS[word]
    assert row.reduction is not None
    kind = DType.of(row.reduction.dtype)
    n = row.bytes // kind.bytes
    k = Builder("update", grid=(1,), threads=64)
    src, dst = k.global_tensor("src", kind, Layout(64 * n)), k.global_tensor("dst", kind, Layout(16 * n))
    x = k.registers("x", kind, n)
    k.copy(f"ld.global.{row.bytes}", src(n * k.thread), x())
    k.copy(word, x(), dst(n * (k.thread % 16)))
    return k.kernel(), kind.numpy(), n


@pytest.mark.parametrize("word", REDUCTIONS)
def test_a_run_combines_each_value_once(word: str) -> None:
    row, (kernel, kind, n) = ATOMS[word], updating(word)
    draw = np.random.default_rng(3)
    src, dst = (draw.integers(0, 9, count * n).astype(kind) for count in (64, 16))
    found = execute(kernel, {"src": src, "dst": dst})["dst"]

    assert row.reduction is not None
    of = FUNCTIONS[row.reduction.function]
    parts = src.reshape(4, 16 * n)
    assert found.tolist() == of.reduce([dst, *parts]).tolist()


def test_additions_of_f32_flush_subnormal_numbers() -> None:
    kernel, kind, _ = updating("red.global.add.f32")
    tiny = np.full(64, 1e-40, kind)

    assert execute(kernel, {"src": tiny, "dst": np.zeros(16, kind)})["dst"].tolist() == [0.0] * 16


def test_what_was_never_written_is_not_combined() -> None:
    k = Builder("poison", grid=(1,), threads=32)
    dst, x = k.global_tensor("dst", "f32", Layout(32)), k.registers("x", "f32", 1)
    k.copy("red.global.add.f32", x(), dst(k.thread))

    with pytest.raises(ExecutionError, match="with poison"):
        execute(k.kernel(), {"dst": np.zeros(32, np.float32)})
