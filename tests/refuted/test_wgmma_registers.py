"""Registers of wgmma without a fence, or used while it is under way: the run shows poison or stops, as the proof says."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from checkers import HappensBefore, prove
from symlayout.answers.report import Outcome
from symlayout.errors import ExecutionError
from symlayout.kernel import Kernel
from symlayout.ops import Barrier, Commit, Fence, Fill, Map, Mma, Op, Ref, WaitGroup
from symlayout.semantics import execute
from symlayout.semantics.fences import RegisterFences
from tests.support.shared_kernels import inputs, multiplied

Change = Callable[[Op], list[Op]]
FENCE = Fence("wgmma")


def is_wait(op: Op) -> bool:
    return isinstance(op, WaitGroup) and op.group == "wgmma"


def behind(kind: Callable[[Op], bool], more: Op) -> Change:
    return lambda op: [op, more] if kind(op) else [op]


CLEAR, TOUCH = Fill(Ref("acc", 4), 0, 2), Map("add", (Ref("acc", 0), Ref("acc", 0)), Ref("acc", 0), 2)
MUTANTS: dict[str, tuple[Kernel, Change, str, str]] = {
    "no fence": (
        multiplied(),
        lambda op: [] if op == FENCE else [op],
        "puts poison into byte 0 of c: no fence wgmma before wgmma.m64n32k16.bf16 .*, since acc was touched",
        "no fence wgmma before the first",
    ),
    "a fence before A is loaded": (
        multiplied(registers=True),
        lambda op: [] if op == FENCE else [op, FENCE] if isinstance(op, Barrier) else [op],
        r"no fence wgmma before wgmma.m64n32k16.bf16.rs .*, since held.* was touched",
        "no fence wgmma between ld.global.4",
    ),
    "sums changed behind the fence": (
        multiplied(),
        behind(lambda op: op == FENCE, TOUCH),
        "no fence wgmma before wgmma.m64n32k16.bf16 .*, since acc was touched",
        "no fence wgmma between add acc",
    ),
    "sums cleared under way": (
        multiplied(),
        behind(lambda op: isinstance(op, Commit) and op.group == "wgmma", CLEAR),
        r"fill acc\[4\].*: overwrites acc, which wgmma.* may still be using; expected a wait_group wgmma before",
        r"no commit and wait_group wgmma before fill acc[4]",
    ),
    "sums cleared before the commit": (
        multiplied(),
        behind(lambda op: isinstance(op, Mma), CLEAR),
        r"fill acc\[4\].*: overwrites acc",
        r"no commit and wait_group wgmma before fill acc[4]",
    ),
    "A loaded while it is read": (
        multiplied(registers=True, slots=4, pending=1),
        lambda op: [op],
        r"ld.global.4 .* -> held\[2\*v\]: overwrites held, which wgmma",
        "no commit and wait_group wgmma before ld.global.4",
    ),
    "A read while it is read": (
        multiplied(registers=True),
        behind(lambda op: isinstance(op, Mma), Map("add", (Ref("held", 0), Ref("held", 0)), Ref("other", 0), 2)),
        r"add held, held -> other x2: reads held, which wgmma",
        "no commit and wait_group wgmma before add held",
    ),
    "no wait": (
        multiplied(),
        lambda op: [] if is_wait(op) else [op],
        "which warp 0 may still be reading|was under way",
        "no commit wgmma and wait_group wgmma that ends its group|no commit and wait_group wgmma before",
    ),
}


def with_other(kernel: Kernel) -> Kernel:
    """The kernel with some more registers."""
    return replace(kernel, tensors=(*kernel.tensors, replace(kernel.tensor("held"), name="other")))


def mutant(name: str) -> Kernel:
    kernel, change, _, _ = MUTANTS[name]
    return with_other(kernel.edited(change))


@pytest.mark.parametrize("order", ["lazy", 1, 2, 3])
@pytest.mark.parametrize("name", MUTANTS)
def test_a_run_shows_it(name: str, order: str | int) -> None:
    bound = mutant(name).bind(n=3)

    with pytest.raises(ExecutionError) as e:
        execute(bound, inputs(bound), order)
    assert re.search(MUTANTS[name][2], str(e.value)), e.value


@pytest.mark.parametrize("name", MUTANTS)
def test_the_proof_says_it(name: str) -> None:
    (v,) = prove(HappensBefore(mutant(name))).verdicts

    assert v.outcome is Outcome.REFUTED
    assert any(says in str(v) for says in MUTANTS[name][3].split("|")), v


@pytest.mark.parametrize("name", MUTANTS)
def test_without_asynchrony_nothing_is_asked(name: str) -> None:
    bound = mutant(name).bind(n=1)

    assert execute(bound, inputs(bound), "eager")["c"].shape == (64, 32)


def test_what_a_fence_covers() -> None:
    fences = RegisterFences(2)
    both, at = np.array([[0], [1]]), np.array([[0, 1], [0, 1]])

    assert fences.touched("acc", 4, both, at).all(), "nobody has fenced"
    fences.fence(np.array([1]))
    assert fences.touched("acc", 4, both, at).tolist() == [[True, True], [False, False]]
    fences.touch("acc", 4, np.array([[1]]), np.array([[1]]))
    assert fences.touched("acc", 4, both, at)[1].tolist() == [False, True]
    assert not fences.touched("other", 4, np.array([[1]]), np.array([[1]])).any()
