"""Idioms of threads that meet at barriers are proved, their wrong neighbours refuted."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from checkers import HappensBefore, prove
from checkers.budget import Budget
from symlayout.answers.report import Outcome
from symlayout.kernel import Kernel
from tests.support.idioms import block_sum, half_warp, halo, tail_barrier, two_roles

QUICK = Budget(solver_ms=500, repairs=False)

RIGHT: dict[str, Callable[[], Kernel]] = {
    "a sum of a block": block_sum,
    "a sum of a block by lane 0": lambda: block_sum("lane 0"),
    "a halo": halo,
    "half a warp copies": half_warp,
    "a named barrier for each role": two_roles,
}
WRONG: dict[str, Callable[[], Kernel]] = {
    "a sum of a block, nobody meets": lambda: block_sum(meet=False),
    "a halo, nobody meets": lambda: halo(meet=False),
    "half a warp copies, nobody meets": lambda: half_warp(meet=False),
    "half a warp copies, and does not wait": lambda: half_warp(pending=1),
    "a barrier under the predicate of the tail": tail_barrier,
    "one named barrier for two roles": lambda: two_roles((1, 1)),
}


@pytest.mark.parametrize("name", RIGHT)
def test_it_is_proved(name: str) -> None:
    assert prove(HappensBefore(RIGHT[name]()), budget=QUICK)


@pytest.mark.parametrize("name", WRONG)
def test_it_is_refuted(name: str) -> None:
    assert prove(HappensBefore(WRONG[name]()), budget=QUICK).verdicts[0].outcome is Outcome.REFUTED


def test_all_claims_hold() -> None:
    for name in RIGHT:
        assert prove(RIGHT[name]()), name


def test_threads_that_write_one_element_are_not_in_order() -> None:
    found = prove(HappensBefore(block_sum("all")), budget=QUICK).verdicts[0]
    assert found.outcome is not Outcome.PROVED
