"""What one role leaves in global memory for another is in order where an mbarrier tells, and not otherwise."""

from __future__ import annotations

import pytest

from checkers import GlobalOrder, RingProtocol, prove
from checkers.budget import Budget
from checkers.claim import Claim
from symlayout import dim
from symlayout.answers.report import Outcome
from symlayout.expr import Int
from tests.support.relays import relay

QUICK = Budget(solver_ms=500, repairs=False)


def outcome(claim: Claim) -> Outcome:
    return prove(claim, budget=QUICK).verdicts[0].outcome


@pytest.mark.parametrize("tiles", [None, 3, dim("T", at_most=1 << 16)], ids=["one loop", "3 tiles", "T tiles"])
def test_it_is_proved_for_all_sizes(tiles: Int | None) -> None:
    (found,) = prove(GlobalOrder(relay(tiles=tiles), "scratch")).verdicts

    assert found.outcome is Outcome.PROVED
    assert "by symbolic clocks" in found.method


def test_a_race_of_those_that_never_meet_is_refuted() -> None:
    assert outcome(GlobalOrder(relay(tell=False, met=False), "scratch")) is Outcome.REFUTED


@pytest.mark.parametrize("how", [{"tell": False}, {"told_before": True}, {"ahead": 1}])
@pytest.mark.parametrize("tiles", [None, 2])
def test_nothing_is_shown_where_the_reader_is_told_too_soon(how: dict[str, object], tiles: int | None) -> None:
    assert outcome(GlobalOrder(relay(**how, tiles=tiles), "scratch")) is not Outcome.PROVED  # type: ignore[arg-type]


@pytest.mark.parametrize("how", [{"arrivals": 31}, {"arrivals": 33}, {"parity": 1}, {"met": False}])
def test_nothing_is_shown_where_phases_are_wrong(how: dict[str, object]) -> None:
    kernel = relay(**how)  # type: ignore[arg-type]

    assert outcome(GlobalOrder(kernel, "scratch")) is not Outcome.PROVED
    assert outcome(RingProtocol(kernel, "full")) is Outcome.REFUTED
