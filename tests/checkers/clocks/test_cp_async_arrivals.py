"""Arrivals that come when copies by cp.async have landed: rings that they fill are proved, wrong neighbours refuted."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from checkers import Computes, prove
from checkers.clocks.decided import Clocks
from symlayout.answers.report import Outcome
from symlayout.kernel import Kernel
from symlayout.semantics.trials import mishap
from tests.checkers.clocks.test_protocols import QUICK, order_claims
from tests.support.cp_async_rings import cp_async_ring as ring

RIGHT: dict[str, Callable[[], Kernel]] = {
    "a ring": ring,
    "one slot": lambda: ring(1),
    "an arrival more, then a plain one": lambda: ring(noinc=False, tells="both"),
    "read by the async proxy": lambda: ring(store="bulk, fenced"),
    "awaited by the writer": lambda: ring(tells="plain", group=True),
}
WRONG: dict[str, Callable[[], Kernel]] = {
    "the arrival before the copy": lambda: ring(early=True),
    "a plain arrival": lambda: ring(tells="plain"),
    "an arrival more awaited": lambda: ring(arrivals=33),
    "half of the arrivals awaited": lambda: ring(arrivals=16),
    "the phase before": lambda: ring(full_parity=1),
    "nobody waits for a free slot": lambda: ring(free=False),
    "another slot": lambda: ring(shift=1),
    "one lane for all": lambda: ring(one=True, arrivals=1),
    "an arrival more, and no plain one": lambda: ring(noinc=False),
    "two arrivals of each lane": lambda: ring(tells="both"),
    "a store of the thread too": lambda: ring(own=True),
    "read by the async proxy, no fence": lambda: ring(store="bulk"),
    "a fence before the copies have landed": lambda: ring(
        store="bulk, fenced by the writer", noinc=False, tells="both"
    ),
    "a fence before the writer has waited": lambda: ring(store="bulk, fenced by the writer", tells="plain", group=True),
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_ring_filled_by_cp_async_is_proved_for_all_sizes(name: str) -> None:
    kernel = RIGHT[name]()

    assert prove(order_claims(kernel), budget=QUICK)
    assert bool(prove(Computes(kernel, "o"), budget=QUICK)) == (name != "awaited by the writer")
    assert mishap(kernel.bind(L=7), schedules=("eager", "lazy", 0, 1, 2)) is None


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_refuted(name: str) -> None:
    found = prove(order_claims(WRONG[name]()), budget=QUICK).verdicts

    assert Outcome.REFUTED in {v.outcome for v in found}, found


def test_what_threads_hand_over_by_themselves_is_not_followed() -> None:
    """A slot is filled by copies of which an arrival tells, and by nothing else."""
    kernel = ring(tells="plain")

    assert Clocks(kernel, ()).told_ring("t") is None
    assert prove(Computes(kernel, "o"), budget=QUICK).verdicts[0].outcome is not Outcome.PROVED


def test_a_copy_tells_at_two_arrivals_behind_it() -> None:
    """The arrivals of later copies come when the earlier ones have landed too."""
    kernel = ring(3)

    assert [mishap(kernel.bind(L=n), schedules=("lazy", *range(6))) for n in (2, 5)] == [None, None]
