"""Every call ends within its budget, and says so; what it had found by then stands.

The older tests gave the provers claims that they decide. None asked what happens beside those: a chain of 60
remainders, 40 modes with strides of their own, or an expression thousands deep kept a call for minutes, or ended it
with an exception of Python.
"""

from __future__ import annotations

import time
from typing import Any

import pytest

from checkers import Bijective, FitsIn, Holds, InBounds, Injective, Multiplicity, Surjective, prove, with_widths
from checkers.cache import Cache
from checkers.prover import Budget
from checkers.refuter import Refuter
from symlayout import Layout, ceil_div, dims, make_layout, minimum
from symlayout.address_map import AddressMap
from symlayout.answers.report import Outcome
from symlayout.facts import Facts
from symlayout.kernels import gemm
from symlayout.meter import Exhausted, metered, remaining, step
from tests.support.plain import within

M, N, ld = dims("M N ld")
SHORT = Budget(steps=4_000, seconds=2, solver_ms=50)


def chain(x: Any, steps: int = 60) -> Any:
    for i in range(steps):
        x = (x * 3 + i) // (5 + i % 7) + x % (7 + i % 3)
    return x


def deep(x: Any, steps: int) -> Any:
    for i in range(steps):
        x = minimum(x + 1, N) if i % 2 else x // 3 + N
    return x


MODES = dims(" ".join(f"A{i}" for i in range(40)))
RANK_40 = Layout(MODES, dims(" ".join(f"s{i}" for i in range(40))))
CHAIN = AddressMap.over(lambda i: chain(i), (M,))
LONG_CHAIN = AddressMap.over(lambda i: chain(i), (1000,))
EXTENTS = Layout((chain(M, 30), N), (1, chain(M, 30)))
POWERS = AddressMap.over(lambda i, j: (i + j + M + N + ld) ** 7, (M, N))


@pytest.mark.parametrize(
    "claim",
    [
        *(Injective(x) for x in (RANK_40, CHAIN, LONG_CHAIN, EXTENTS, POWERS)),
        *(InBounds(x, M * N) for x in (RANK_40, LONG_CHAIN, EXTENTS, POWERS)),
        *(Surjective(x, x.size()) for x in (RANK_40, LONG_CHAIN, EXTENTS)),
        *(Multiplicity(x, 1) for x in (RANK_40, make_layout(MODES), EXTENTS)),
        Bijective(LONG_CHAIN, 1000),
        FitsIn(CHAIN, 32),
        Holds(chain(M) >= 0),
        Holds(chain(M) >= chain(M, 59)),
        Holds(deep(M, 60) >= 0),
    ],
    ids=lambda c: f"{c.kind} {type(c).__name__}",
)
def test_what_is_too_much_work_ends_with_an_answer(claim):
    with within(4):
        found = prove(claim, budget=SHORT).verdicts[0]
    if found.outcome is Outcome.UNKNOWN:
        assert "budget of" in found.reason or "solver" in found.reason, found
    if found.outcome is Outcome.REFUTED:
        sizes = found.witness.sizes
        assert claim.bind({s: sizes[s.name] for s in Facts.about(claim.parameters()).symbols}).counterexample()


def test_an_answer_repeats_since_steps_are_counted():
    answers = {str(prove(Holds(chain(M, 12) >= 0), budget=Budget(steps=5000)).verdicts[0]) for _ in range(3)}
    assert len(answers) == 1
    assert "the budget of 5000 steps ended during the search for a certificate" in answers.pop()


def test_the_clock_ends_what_counts_no_steps():
    begin = time.perf_counter()
    found = prove(Holds(chain(M, 40) >= 0), budget=Budget(seconds=0.05)).verdicts[0]
    assert "the budget of 0.05 s ended during" in found.reason
    assert time.perf_counter() - begin < 5


def test_a_refutation_stands_though_no_repair_was_found_in_time():
    claim = Injective(Layout((M, N), (1, ld)))
    assert prove(claim).repairs
    found = [prove(claim, budget=Budget(steps=n)).verdicts[0] for n in (300, 400, 600, 800, 1200)]
    refuted = [v for v in found if v.outcome is Outcome.REFUTED]
    assert any(not v.repairs and v.witness is not None for v in refuted)


def test_what_a_budget_ended_is_not_remembered(tmp_path):
    cache = Cache(tmp_path / "verdicts")
    claim, short = Holds(chain(M, 12) >= 0), Budget(seconds=0)
    assert prove(claim, budget=short, cache=cache).verdicts[0].outcome is Outcome.UNKNOWN
    assert prove(claim, budget=short, cache=cache).verdicts[0].outcome is Outcome.UNKNOWN
    assert cache.hits == 0


class TestMeter:
    def test_outside_of_a_budget_nothing_ends(self):
        step(10**12)
        assert remaining() is None

    def test_a_budget_inside_another_has_no_more_than_that(self):
        with metered(60, 10), pytest.raises(Exhausted, match="5 steps"), metered(60, 5):
            step(6)
        with pytest.raises(Exhausted), metered(60, 10), metered(60, 50):
            step(11)

    def test_what_is_spent_inside_counts_outside(self):
        with metered(60, 10):
            with metered(60, 50):
                step(8)
            with pytest.raises(Exhausted, match="10 steps"):
                step(3)

    def test_a_budget_ends_with_its_block(self):
        with pytest.raises(Exhausted), metered(60, 1):
            step(2)
        step(2)


class TestFailures:
    def test_without_a_search_for_failures_a_claim_is_proved_or_open(self):
        proved, false = Holds(M + N >= 2), Holds(M >= N)

        assert prove(proved, budget=Budget(failures=False)).verdicts[0].outcome is Outcome.PROVED
        assert prove(false).verdicts[0].outcome is Outcome.REFUTED
        assert prove(false, budget=Budget(failures=False)).verdicts[0].outcome is not Outcome.PROVED

    def test_widths_of_a_large_product_need_none(self, monkeypatch):
        def searched(*_):
            raise AssertionError("nobody asks for sizes at which a partial result does not fit")

        for method in ("small", "large", "more"):
            monkeypatch.setattr(Refuter, method, searched)
        rows, columns, depth = dims("M N K", at_most=2**31 - 256)
        kernel = gemm(rows, columns, depth, tile=(64, 64), cluster=1)
        kernel = kernel.assuming(ceil_div(rows, 64) * ceil_div(columns, 64) <= 1 << 30)

        assert len(kernel.wide) == 1
        assert with_widths(kernel).wide == ()
