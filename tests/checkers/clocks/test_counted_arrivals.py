"""One thread may arrive for many: proved for all sizes; wrong counts, phases, slots and orders refuted, seen by runs."""

from __future__ import annotations

import pytest

from checkers import HappensBefore, RingProtocol, prove
from checkers.budget import Budget
from checkers.clocks.decided import Clocks
from symlayout import LayoutError
from symlayout.answers.report import Outcome
from symlayout.kernel import Kernel
from symlayout.ops import Arrive, Slot
from symlayout.semantics.trials import mishap
from tests.support.counted import counted

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
}


def seen(kernel: Kernel) -> str:
    return str(mishap(kernel.bind(L=5), schedules=("eager", "lazy", 1, 2)) or "")


def test_it_is_proved_for_all_sizes() -> None:
    kernel = counted()

    assert prove(kernel)
    assert Clocks(kernel, ()).protocol_open == ""
    assert seen(kernel) == ""


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_refuted_and_seen_by_runs(name: str) -> None:
    kernel = counted(**WRONG[name])  # type: ignore[arg-type]
    found = prove([RingProtocol(kernel, "full"), HappensBefore(kernel)], budget=QUICK).verdicts

    assert Outcome.REFUTED in {v.outcome for v in found}, found
    assert Clocks(kernel, ()).order_open(("t",)) != ""
    assert seen(kernel) != ""


def test_more_at_once_than_a_phase_awaits_is_said() -> None:
    assert "got 33 at once with 32 pending" in seen(counted(count=33))


@pytest.mark.parametrize("count", [0, 1 << 20, -1])
def test_a_count_out_of_range(count: int) -> None:
    with pytest.raises(LayoutError, match="expected 1 to 1048575 arrivals at once at empty"):
        Arrive(Slot("empty"), count=count)
