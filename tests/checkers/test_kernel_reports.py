"""Reports on kernels: on which architecture, about which kernel, and an answer for every kernel that can be built.

``prove(kernel, arch=SM90)`` is how the design writes it, and no test called it so. Crashes were not met because tests of
small budgets had no kernel, and mutants kept to instructions that fit their operands.
"""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from checkers import Aligned, SharedMemoryFits, prove
from checkers.claims import Holds, Injective, Obeys, WellFormed
from checkers.kernel_claims import claims_of
from checkers.prover import Budget
from symlayout import SM90, Layout, dim, dims
from symlayout.answers.report import Outcome
from symlayout.errors import ClaimError, LayoutError
from symlayout.expr import Fact
from symlayout.kernel import Builder
from symlayout.kernel.readable import unread
from symlayout.kernels import cp_async_copy, tma_copy
from symlayout.ops import Box, Copy, Fill, Map, Ref, Role, Slot, Wait
from symlayout.rules import rule_named
from symlayout.tma import TensorMap

M, N = dims("M N")
KERNEL = tma_copy(M, N, tile=(8, 32), slots=2, blocks=3).assuming(N.multiple_of(4))
QUICK = Budget(refuter_points=1, repairs=False)


def with_atom(atom):
    return KERNEL.edited(lambda op: (replace(op, atom=atom),) if getattr(op, "atom", "") == "tma.load" else (op,))


def test_a_kernel_is_proved_on_an_architecture():
    report = prove(KERNEL, arch=SM90)

    assert report
    assert (report.digest, report.arch) == (KERNEL.digest, "sm_90a")
    assert {(v.digest, v.arch) for v in report.verdicts} == {(KERNEL.digest, "sm_90a")}
    assert report.digest == prove(KERNEL).digest
    told = json.loads(report.to_json())
    assert told["digest"] == told["verdicts"][0]["digest"] == KERNEL.digest
    assert told["arch"] == told["verdicts"][0]["arch"] == "sm_90a"


def test_another_architecture_gives_another_verdict():
    small = replace(SM90, name="small", shared_bytes_per_block=1024)
    report = prove(KERNEL, arch=small)

    assert not report
    assert report.arch == "small"
    assert any(v.outcome is Outcome.REFUTED and "1024 bytes of small" in str(v.claim) for v in report.verdicts)


def test_a_report_is_about_the_kernel_under_the_facts_that_it_was_given():
    bare = replace(KERNEL, given=())
    report = prove(bare, given=[N.multiple_of(4)])

    assert report
    assert report.digest == KERNEL.digest != bare.digest


def test_verdicts_on_claims_say_which_kernel_they_are_about():
    [on] = prove(SharedMemoryFits(KERNEL)).verdicts
    [without] = prove(Injective(Layout((M, N), (1, M)))).verdicts

    assert (on.digest, on.arch) == (KERNEL.digest, "sm_90a")
    assert (without.digest, without.arch) == ("", "")


def test_an_architecture_without_a_kernel_is_refused():
    with pytest.raises(ClaimError, match="expected arch with a kernel, got sm_90a with 1 claims"):
        prove(Aligned(Layout(8), 16), arch=SM90)
    with pytest.raises(ClaimError, match="expected an architecture such as SM90 as arch, got 'sm_90a'"):
        prove(KERNEL, arch="sm_90a")


# -- an answer for every kernel ---------------------------------------------------------------------------


def test_a_rule_about_a_number_is_asked_of_the_solver_as_a_fact():
    """A comparison of numbers is True or False and no fact; with one point for the refuter the solver was asked it."""
    moved = replace(KERNEL, tensors=tuple(replace(t, base=64) if t.name == "ring" else t for t in KERNEL.tensors))

    report = prove(moved, budget=QUICK)
    assert not report
    assert report.count(Outcome.REFUTED)


@pytest.mark.parametrize("given", [(), (M <= 8,)], ids=["no facts", "facts"])
@pytest.mark.parametrize(
    "fact, outcome",
    [
        *((Fact(66, "%", 128), Outcome.REFUTED), (Fact(256, "%", 128), Outcome.PROVED)),
        *((Fact(-1, ">="), Outcome.REFUTED), (Fact(0, ">="), Outcome.PROVED), (Fact(3, "=="), Outcome.REFUTED)),
    ],
    ids=str,
)
def test_facts_about_numbers_are_decided_by_every_method(fact, outcome, given):
    claim = Holds(fact, given=given)
    facts = [q for query in claim.violations(None) for q in query]

    assert all(isinstance(f, Fact) for q in facts for f in (q if isinstance(q, tuple) else (q,)))
    assert [v.outcome for v in prove(claim, budget=QUICK).verdicts] == [outcome]
    address = TensorMap.over(Layout((64, 64), (1, 64)), "f32", (32, 8), address=8)
    assert not prove(Obeys(address, rule_named("global_address_alignment"), given=given), budget=QUICK)


def test_a_reduction_that_loads_is_refuted():
    """It made a claim about a copy that there is not, which was refused with an error in the midst of a proof."""
    report = prove(with_atom("tma.reduce.min"))

    assert [v.outcome for v in report.verdicts] == [Outcome.REFUTED]
    assert isinstance(report.verdicts[0].claim, WellFormed)
    assert "expected a place in a tensor as its source, got src_map" in str(report.verdicts[0])
    assert report.notes == ("not asked: anything else, since an operation cannot be read",)


@pytest.mark.parametrize(
    "kind, field, value, said",
    [
        (Copy, "atom", "nope", "nope is not an instruction"),
        (Copy, "atom", "ld.global.4", "expected a place in a tensor as its source"),
        (Copy, "src", Ref("nope"), "expected a"),
        (Copy, "src", Box("nope", (0, 0)), "expected a tensor map of src_map, dst_map, got nope"),
        (Copy, "src", Box("src_map", (0,)), "expected 2 coordinates of src_map"),
        (Copy, "bytes", 16, "expected no number of bytes"),
        (Wait, "parity", dim("nowhere"), "nowhere has no value there"),
        (Wait, "barrier", Slot("nope"), "expected an mbarrier of full, empty, got nope"),
        (Role, "warps", -1, "expected a number of at least 1 as warps, got -1"),
    ],
)
def test_an_operation_that_cannot_be_read_refutes_the_kernel(kind, field, value, said):
    broken = KERNEL.edited(lambda op: (replace(op, **{field: value}),) if isinstance(op, kind) else (op,))

    report = prove(broken, budget=QUICK)
    assert [v.outcome for v in report.verdicts] == [Outcome.REFUTED]
    assert said in str(report)


@pytest.mark.parametrize("low, proofs", [(1, True), (3, False)])
def test_conditions_of_numbers_are_facts(low, proofs):
    """A comparison of numbers in a builder is True or False, which was kept as a condition and failed later."""
    n = dim("N")
    k = Builder("where", n, grid=(n,), threads=32)
    y, r = k.global_tensor("y", "f32", Layout((32, n))), k.registers("r", "f32", 1)
    k.fill(r(), 1.0)
    with k.where(low < 2, k.thread < 32):
        k.copy("st.global.4", r(), y(32 * k.block[0] + k.thread))

    assert bool(prove(k.kernel(), budget=QUICK)) is proofs


def test_what_is_no_fact_and_no_number_is_refused_where_it_is_said():
    k = Builder("where", N, grid=(1,), threads=32)
    with pytest.raises(LayoutError, match="expected facts such as i < N as a condition, got 3"), k.where(3):
        pass
    with pytest.raises(LayoutError, match=r"expected facts such as N.multiple_of\(8\) as given, got True in tma_copy"):
        KERNEL.assuming(64 % 8 == 0)


def test_operations_of_registers_are_read_too():
    kernel = cp_async_copy(dim("L"))
    register = next(t.name for t in kernel.tensors if t.space == "register")

    assert not list(unread(kernel, Fill(Ref(register), 0.0, 1)))
    assert list(unread(kernel, Fill(Ref(register), 0.0, 0))) == ["expected a number of at least 1 as count, got 0"]
    assert "nope is not a function" in next(unread(kernel, Map("nope", (Ref(register),), Ref(register))))
    assert len(claims_of(kernel)) > 1
