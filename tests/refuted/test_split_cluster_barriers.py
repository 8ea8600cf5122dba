"""Arrivals at the barrier of a cluster with the wait for it later: proved, run and timed; what is wrong is refuted."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from checkers import HappensBefore, prove
from checkers.budget import Budget
from gpu.codegen import emit
from simulator import simulate
from symlayout.answers.report import Outcome
from symlayout.errors import ExecutionError
from symlayout.kernel import Kernel
from symlayout.ops import ClusterArrive, ClusterBarrier, ClusterWait, Fence, Op
from symlayout.semantics.execute import expect_reference
from tests.support.cluster_kernels import everyone, inputs

QUICK = Budget(solver_ms=500, repairs=False)


def nth(kind: type[Op], n: int, put: Iterable[Op] = ()) -> Callable[[Kernel], Kernel]:
    """The kernel with other operations for the n-th of a kind."""

    def change(kernel: Kernel) -> Kernel:
        found = [op for op in kernel.walk() if isinstance(op, kind)][n]
        return kernel.edited(lambda op: tuple(put) if op is found else (op,))

    return change


def late_init(kernel: Kernel) -> Kernel:
    """The threads arrive before the mbarriers are initialised."""
    start, arrive = kernel.body[:2]
    return kernel.edited(lambda op: () if op is arrive else (arrive, op) if op is start else (op,))


# What is done to the kernel, and what a run at sizes says; "" where a run needs luck to show it.
WRONG: dict[str, tuple[Callable[[Kernel], Kernel], str]] = {
    "nobody waits at the start": (nth(ClusterWait, 0), "to be initialised before it is used"),
    "nobody arrives at the start": (nth(ClusterArrive, 0), "expected an arrival at the barrier of the cluster"),
    "nobody waits at the end": (nth(ClusterWait, 1), ""),
    "a relaxed arrival at the end": (nth(ClusterArrive, 1, [ClusterArrive(relaxed=True)]), ""),
    "two arrivals": (nth(ClusterArrive, 0, [ClusterArrive()] * 2), "expected a cluster wait behind each arrival"),
    "a barrier between": (nth(ClusterArrive, 0, [ClusterArrive(), ClusterBarrier()]), "expected a cluster wait behind"),
    "mbarriers initialised behind the arrival": (late_init, ""),
    "no fence before the arrival": (nth(Fence, 0), ""),
}


def test_it_is_proved_for_all_sizes() -> None:
    assert prove(everyone(split=True), budget=QUICK)


def test_it_is_run_timed_and_printed() -> None:
    kernel = everyone(5, split=True).bind()
    for order in ("eager", "lazy", 1, 2):
        expect_reference(kernel, inputs(kernel), order)
    text = emit(kernel).text

    assert simulate(kernel).time_ps == pytest.approx(simulate(everyone(5).bind()).time_ps, rel=0.01)
    assert "barrier.cluster.arrive.relaxed.aligned" in text
    assert text.index("cluster_arrive_relaxed();") < text.index("cluster_wait();") < text.index("cluster_arrive();")


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_refuted(name: str) -> None:
    change, says = WRONG[name]
    kernel = change(everyone(split=True))
    found = prove(HappensBefore(kernel), budget=QUICK).verdicts

    assert {v.outcome for v in found} == {Outcome.REFUTED}, found
    if says:
        with pytest.raises(ExecutionError, match=says):
            expect_reference(change(everyone(5, split=True)).bind(), inputs(everyone(5).bind()), "eager")
