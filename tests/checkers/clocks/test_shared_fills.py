"""Slots that two producers fill, and tiles over the slots of a ring: proved for all sizes, wrong neighbours refuted."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from checkers import ApartInTime, Computes, HappensBefore, RingProtocol, TransactionBytes, prove
from checkers.budget import Budget
from checkers.rings.recognised import rings_of
from symlayout.answers.report import Outcome
from symlayout.kernel import Kernel
from symlayout.semantics.trials import mishap
from tests.support.cluster_kernels import everyone, rows_and_columns
from tests.support.shared_fills import HALF, by_halves, tail_over_ring, two_arrays

QUICK = Budget(solver_ms=500, repairs=False)

RIGHT: dict[str, Callable[[], Kernel]] = {
    "halves": by_halves,
    "halves of one slot": lambda: by_halves(1),
    "halves, given back late": lambda: by_halves(3, late=1),
    "halves on two arrays": two_arrays,
    "halves of one slot on two arrays": lambda: two_arrays(1),
    "halves on two arrays, the high one first": lambda: two_arrays(order="hlg"),
    "a tail over the ring": tail_over_ring,
    "a tail over one slot": lambda: tail_over_ring(slots=1),
}
WRONG: dict[str, Callable[[], Kernel]] = {
    "halves, one arrival awaited": lambda: by_halves(awaited=1),
    "halves, three arrivals awaited": lambda: by_halves(awaited=3),
    "halves, the next phase": lambda: by_halves(parity=0),
    "halves, the next slot": lambda: by_halves(on=1),
    "halves, one producer does not wait": lambda: by_halves(waits=(True, False)),
    "halves, given back too late": lambda: by_halves(2, late=2),
    "halves on two arrays, one is not awaited": lambda: two_arrays(order="lHg"),
    "halves on two arrays, one is read before its wait": lambda: two_arrays(order="Hlhg"),
    "halves on two arrays, given back before one is read": lambda: two_arrays(order="lgh"),
    "halves on two arrays, given back twice": lambda: two_arrays(order="lghg"),
    "halves on two arrays, the other phase of one": lambda: two_arrays(parity=1),
    "halves on two arrays, the other slot of one": lambda: two_arrays(on=1),
    "halves on two arrays, one lands over the other": lambda: two_arrays(at=HALF - 4),
    "a tail that nobody tells": lambda: tail_over_ring(""),
    "a tail that is told before": lambda: tail_over_ring("before"),
    "a tail that awaits one warp of two": lambda: tail_over_ring(arrivals=1),
    "a tail that waits for the phase before": lambda: tail_over_ring(parity=1),
    "a tail without a fence": lambda: tail_over_ring(fence=False),
    "a tail over a slot that nobody reads": lambda: tail_over_ring(drop=1),
}
MULTICAST: dict[str, Callable[[], Kernel]] = {  # the wrong ones are in tests/refuted/test_cluster_mutants
    "two CTAs": everyone,
    "four CTAs by rows and columns": rows_and_columns,
}


def claims(kernel: Kernel) -> list[object]:
    """The claims about phases and order."""
    armed = sorted({op.expects.barrier for op in kernel.walk() if op.expects is not None})
    rings = [RingProtocol(kernel, r.full) for r in rings_of(kernel)]
    return [*(TransactionBytes(kernel, b) for b in armed), *rings, HappensBefore(kernel)]


def seen(kernel: Kernel) -> str:
    """The first that untimed runs find, at two sizes."""
    runs = (kernel.bind(**{d.name: n for d in kernel.dims}) for n in (4, 7))
    return next((str(found) for bound in runs if (found := mishap(bound, schedules=("eager", "lazy", 1)))), "")


@pytest.mark.parametrize("name", {**RIGHT, **MULTICAST})
def test_it_is_proved_for_all_sizes(name: str) -> None:
    assert prove(claims({**RIGHT, **MULTICAST}[name]()), budget=QUICK)


@pytest.mark.parametrize("order", ["lhg", "hlg"])
def test_what_halves_on_two_arrays_bring_is_known(order: str) -> None:
    assert prove(Computes(two_arrays(order=order), "o"), budget=QUICK)


@pytest.mark.parametrize("name", RIGHT)
def test_untimed_runs_find_nothing(name: str) -> None:
    assert seen(RIGHT[name]()) == ""


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_refuted_and_seen_by_runs(name: str) -> None:
    kernel = WRONG[name]()

    found = (v for c in reversed(claims(kernel)) for v in prove(c, budget=QUICK).verdicts)
    assert any(v.outcome is Outcome.REFUTED for v in found)  # by the first that says so: orders are decided sooner
    assert seen(kernel) != ""


@pytest.mark.parametrize("slots", [1, 2])
def test_a_tile_over_a_ring_is_apart_where_an_mbarrier_tells(slots: int) -> None:
    (found,) = prove(ApartInTime(tail_over_ring(slots=slots), "t", "out")).verdicts

    assert found.outcome is Outcome.PROVED
    assert "by symbolic clocks" in found.method


@pytest.mark.parametrize("how", [{"tell": "before"}, {"arrivals": 1}, {"drop": 1}])
def test_a_tile_over_a_ring_is_not_shown_apart(how: dict[str, object]) -> None:
    kernel = tail_over_ring(**how)  # type: ignore[arg-type]
    assert prove(ApartInTime(kernel, "t", "out"), budget=QUICK).verdicts[0].outcome is not Outcome.PROVED
