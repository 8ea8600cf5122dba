"""A repair is called the weakest of its form only where nothing weaker of that form is proved; it is sufficient elsewhere.

The older tests asked that a repair repairs and excludes the witness. They held the word to the neighbours that the search
itself had looked at: divisors for a divisibility, the constant for an order.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

import pytest

from benchmarks.corpus import rows
from checkers import Holds, InBounds, Injective
from checkers.prover import Budget, decide
from checkers.repairs.weaker import smaller_coefficients
from symlayout import Layout, dims, index
from symlayout.address_map import AddressMap
from symlayout.answers.report import Outcome, Verdict
from symlayout.expr import Fact, Symbol, multiple_of
from symlayout.facts import Facts

K, M, N = dims("K M N")
over = AddressMap.over
WEAKEST = ", the weakest condition of this form"

CASES = {
    "a bound for a divisor": (InBounds(over(lambda i: i // 3 + 3, (K,)), 2 * K), f"K >= 2{WEAKEST}"),
    "a smaller coefficient": (Injective(Layout((6, N), (M, N))), f"N >= 5*M + 1{WEAKEST}"),
    "a divisor stays one": (InBounds(over(lambda i: i, (8 * ((N + 7) // 8),)), N), f"N % 8 == 0{WEAKEST}"),
    "the least bound of a stride": (Injective(Layout((8, N), (1, M))), f"M >= 8{WEAKEST}"),
    "below the largest size": (InBounds(over(lambda i: i, (N + 1,)), 2**31 - 1), f"N <= 2147483646{WEAKEST}"),
}


@pytest.mark.parametrize("name", CASES)
def test_a_repair_is_the_weakest_that_is_proved(name):
    claim, expected = CASES[name]
    found = decide(claim, Budget())
    assert found.outcome is Outcome.REFUTED
    assert found.condition == expected
    assert decide(replace(claim, given=(*claim.given, *found.repairs)), Budget()).outcome is Outcome.PROVED


def weaker(f: Fact, facts: Facts) -> Iterator[Fact]:
    """Conditions of the same form that *f* implies and that do not imply it."""
    if f.relation == "%":
        yield from (multiple_of(f.expr, q) for q in range(1, f.modulus) if f.modulus % q == 0)
        if isinstance(f.expr, Symbol):
            yield from (f.expr >= c for c in (2, f.modulus - 1, f.modulus) if c >= 2)
    if f.relation == ">=":
        yield from (Fact(f.expr + slack, ">=") for slack in (1, 2, 5))
        yield from smaller_coefficients(f)


REFUTED = [r for r in rows() if r.claim.expect == "refuted"]


@pytest.mark.parametrize("part", range(3))
def test_what_is_called_weakest_has_no_weaker_condition_that_is_proved(part):
    wrong, said = [], 0
    for row in REFUTED[part::24]:
        v: Verdict = decide(row.claim, Budget(solver_ms=100))
        if not v.condition.endswith(WEAKEST):
            assert not v.repairs or v.condition.endswith(", a sufficient condition"), v
            continue
        said += 1
        (f,) = v.repairs
        facts = Facts.about(row.claim.parameters(), given=row.claim.given)
        for g in itertools.islice(weaker(f, facts), 12):
            if g.value is None and Facts.about(*facts.symbols, given=(*facts.given, f)).holds(g):
                found = decide(replace(row.claim, given=(*row.claim.given, g)), Budget(solver_ms=50, repairs=False))
                if found.outcome is Outcome.PROVED:
                    wrong.append(f"{row.name}: {f} is called the weakest, {g} will do")
    assert wrong == []
    assert said > 1


def test_a_repair_is_never_about_an_index():
    """An iteration or a block takes every value of its range: a condition on one is no condition on a launch."""
    i = index("i", 40)
    v = decide(Holds(multiple_of(M * 8 + i, 5)), Budget())
    assert v.outcome is Outcome.REFUTED
    assert all(i not in f.symbols for f in v.repairs)
    v = decide(InBounds(over(lambda j: j + 4 * i, (M,)), 200), Budget())
    assert v.outcome is Outcome.REFUTED
    assert v.condition.startswith("M <= 44, ")
