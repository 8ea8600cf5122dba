"""One thread may arrive for many: proved for all sizes; wrong counts, phases, slots and orders refuted, seen by runs."""

from __future__ import annotations

from typing import Any

import pytest

from checkers import HappensBefore, RingProtocol, prove
from checkers.budget import Budget
from checkers.clocks.decided import Clocks
from symlayout import LayoutError
from symlayout.answers.report import Outcome
from symlayout.kernel import Kernel
from symlayout.ops import Arrive, Slot, Wait
from symlayout.semantics.trials import mishap
from tests.support.counted import counted, last_by_another

QUICK = Budget(solver_ms=500, repairs=False)
WRONG: dict[str, dict[str, int | bool]] = {
    "one arrival less": {"count": 31},
    "one arrival more": {"count": 33},
    "half of them": {"count": 16},
    "once for all": {"count": 1},
    "one awaited": {"awaited": 1},
    "the next phase": {"parity": 0},
    "the next slot": {"on": 1},
    "lanes that do not meet": {"meet": False},
    "noComplete, and none behind it": {"complete": False},
    "noComplete behind the last": {"count": 1, "early": 31, "swap": True},
    "noComplete for all, and one more": {"count": 1, "early": 32},
    "noComplete twice": {"count": 1, "early": 31, "complete": False},
    "tries of 500 ns for the next phase": {"suspend_ns": 500, "parity": 0},
}
RIGHT: dict[str, dict[str, int | bool]] = {
    "one arrival": {},
    "noComplete first": {"count": 1, "early": 31},
    "tries of 500 ns": {"suspend_ns": 500},
}


def seen(kernel: Kernel) -> str:
    return str(mishap(kernel.bind(L=5), schedules=("eager", "lazy", 1, 2)) or "")


@pytest.mark.parametrize("name", RIGHT)
def test_it_is_proved_for_all_sizes(name: str) -> None:
    kernel = counted(**RIGHT[name])  # type: ignore[arg-type]

    assert prove(kernel)
    assert Clocks(kernel, ()).protocol_open == ""
    assert seen(kernel) == ""


def test_another_thread_may_arrive_last() -> None:
    kernel = last_by_another()

    assert prove(kernel)
    assert Clocks(kernel, ()).protocol_open == ""
    assert seen(kernel) == ""


@pytest.mark.parametrize(
    "how", [{"met": False}, {"complete": (True, False)}, {"complete": (False, False)}, {"awaited": 1}]
)
def test_who_arrives_last_has_to_know(how: dict[str, object]) -> None:
    kernel = last_by_another(**how)  # type: ignore[arg-type]

    assert Clocks(kernel, ()).protocol_open != ""
    assert prove(RingProtocol(kernel, "full"), budget=QUICK).verdicts[0].outcome is Outcome.REFUTED


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_refuted_and_seen_by_runs(name: str) -> None:
    kernel = counted(**WRONG[name])  # type: ignore[arg-type]
    found = prove([RingProtocol(kernel, "full"), HappensBefore(kernel)], budget=QUICK).verdicts

    assert Outcome.REFUTED in {v.outcome for v in found}, found
    assert Clocks(kernel, ()).order_open(("t",)) != ""
    assert seen(kernel) != ""


def test_more_at_once_than_a_phase_awaits_is_said() -> None:
    assert "got 33 at once with 32 pending" in seen(counted(count=33))


@pytest.mark.parametrize("how", [{"peer": 0}, {"scope": "cluster"}])
def test_an_arrival_that_does_not_complete_is_for_its_own_cta(how: dict[str, Any]) -> None:
    with pytest.raises(LayoutError, match="does not complete at empty"):
        Arrive(Slot("empty"), complete=False, **how)


@pytest.mark.parametrize("ns", [0, 1 << 32])
def test_a_time_out_of_range(ns: int) -> None:
    with pytest.raises(LayoutError, match="expected 1 to 4294967295 ns"):
        Wait(Slot("full"), 0, suspend_ns=ns)


@pytest.mark.parametrize("count", [0, 1 << 20, -1])
def test_a_count_out_of_range(count: int) -> None:
    with pytest.raises(LayoutError, match="expected 1 to 1048575 arrivals at once at empty"):
        Arrive(Slot("empty"), count=count)
