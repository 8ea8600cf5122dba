"""Protocols that clocks once proved, though some run of them hangs."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from checkers import RingProtocol, prove
from checkers.budget import Budget
from symlayout import dims
from symlayout.answers.report import Outcome
from symlayout.kernel import Builder, Kernel
from symlayout.semantics.trials import mishap

QUICK = Budget(solver_ms=500, repairs=False)
SCHEDULES = ("eager", "lazy", *range(1, 9))


def one_arrival_more(step: int) -> Kernel:
    """A third role arrives again in every other phase from K on: of ``2w - K`` no form tells whether 2 divides it."""
    K, M = dims("K M")
    k = Builder("one_arrival_more", M, K, grid=(1,), threads=96)
    full, n = k.mbarriers("full", 61, 1), K + step * M
    with k.role("tell", 1), k.elect(), k.loop("i", n) as i:
        k.arrive(full(i % 61))
    with k.role("ask", 1), k.elect(), k.loop("i", n) as i:
        k.wait(full(i % 61), i // 61 % 2)
    with k.role("again", 1), k.elect(), k.loop("j", M) as j:
        k.arrive(full((K + step * j) % 61))
    return k.kernel(n <= 61)


def one_parity(parity: int, arrivals: str) -> Kernel:
    """A loop of waits with one parity, while arrivals may end more phases than one: no wait is for a phase below -1."""
    (L,) = dims("L")
    k = Builder("one_parity", L, grid=(1,), threads=64)
    bar = k.mbarriers("bar", 1, 1)
    with k.role("tell", 1), k.elect():
        if arrivals == "many":
            with k.loop("i", L):
                k.arrive(bar(0))
        elif arrivals == "one":
            k.arrive(bar(0))
    with k.role("ask", 1), k.elect(), k.loop("i", L):
        k.wait(bar(0), parity)
    return k.kernel()


WRONG: dict[str, Callable[[], Kernel]] = {
    "one arrival more, each second phase": lambda: one_arrival_more(2),
    "one arrival more, each third phase": lambda: one_arrival_more(3),
    "one parity, many phases": lambda: one_parity(0, "many"),
    "one parity, nobody arrives": lambda: one_parity(0, "none"),
    "the other parity, one phase": lambda: one_parity(1, "one"),
}


@pytest.mark.parametrize("name", WRONG)
def test_some_schedule_hangs_and_it_is_refuted(name: str) -> None:
    kernel = WRONG[name]()

    assert any(mishap(kernel.bind(**{d.name: n for d in kernel.dims}), schedules=SCHEDULES) for n in (1, 2, 3))
    found = prove(RingProtocol(kernel, kernel.barriers[0].name), budget=QUICK).verdicts
    assert Outcome.PROVED not in {v.outcome for v in found}, found


@pytest.mark.parametrize("parity, arrivals", [(0, "one"), (1, "none")])
def test_waits_for_one_phase_in_a_loop_are_right(parity: int, arrivals: str) -> None:
    kernel = one_parity(parity, arrivals)

    assert mishap(kernel.bind(L=3), schedules=SCHEDULES) is None
    assert prove(RingProtocol(kernel, "bar"), budget=QUICK)
