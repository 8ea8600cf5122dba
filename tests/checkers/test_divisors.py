"""Divisors and shift counts are judged where the code evaluates them: in predicates, offsets, extents and facts.

Predicates with a divisor that cancels were tested only where the cancelled predicate is true somewhere, and divisors
only with ranges that leave them above 0; so nothing asked for a divisor of a predicate that is false everywhere, nor
for one that an assumption makes 0.
"""

from __future__ import annotations

from typing import Any

import pytest

from checkers import Holds, InBounds, Injective, prove
from checkers.claim_text import claim_from
from symlayout import ClaimError, Layout, dim, dims, eq
from symlayout.address_map import AddressMap
from symlayout.answers.report import Outcome

M, K = dims("M K")
Z = dim("z", at_least=0)
W = dim("w", at_least=-3, at_most=5)
over = AddressMap.over


def verdict(claim: Any, *given: Any) -> Any:
    return prove(claim, given=given).verdicts[0]


def test_a_predicate_that_makes_a_divisor_0_selects_no_point():
    found = verdict(Injective(over(lambda i: i // K, (4 * K,), when=lambda i: eq(2 * i, 2 * i + K))))

    assert found.outcome in (Outcome.PROVED, Outcome.VACUOUS)


@pytest.mark.parametrize(
    "claim, given",
    [
        (InBounds(over(lambda i: i // K, (M,)), M), eq(K, 0)),
        (Injective(over(lambda i: i % K, (M,))), K <= 0),
        (Injective(Layout((M, 2), (1, M // K))), eq(K, 0)),
        (Holds(M // K >= 0), eq(2 * K, 0)),
    ],
    ids=str,
)
def test_an_assumption_that_makes_a_divisor_0_is_vacuous(claim, given):
    assert verdict(claim, given).outcome is Outcome.VACUOUS


@pytest.mark.parametrize(
    "claim",
    [
        InBounds(over(lambda i: i // Z, (M,)), M, given=[eq(Z, 0)]),
        Injective(Layout((M, 2), (1, M // Z)), given=[Z <= 0]),
        Holds(M // Z >= 0),
        Holds(M // (Z * 0 + Z) >= 0, given=[eq(Z, 0)]),
    ],
    ids=str,
)
def test_an_admitted_divisor_of_0_is_complained_about(claim):
    found = verdict(claim)

    assert found.outcome is Outcome.UNKNOWN
    assert found.reason.startswith("expected a divisor of at least 1, got z in ")


PREDICATES = {
    "true somewhere": lambda i: i * Z // Z < 2,
    "false everywhere": lambda i: i * Z // Z > 5,
    "no integer": lambda i: eq(2 * i * Z // Z, 2 * Z + 1),
    "after another": lambda i: (i < 3, i * Z // Z > 5),
    "before its guard": lambda i: (i * Z // Z > 5, Z >= 1),
    "remainder": lambda i: i % Z - i % Z + i > 5,
}


@pytest.mark.parametrize("when", PREDICATES.values(), ids=PREDICATES)
def test_a_divisor_that_only_the_predicate_has_is_at_least_1(when):
    x = over(lambda i: i, (4,), when=when)
    found = verdict(InBounds(x, 2))

    assert found.outcome is Outcome.UNKNOWN
    assert "expected a divisor of at least 1, got z in the code of" in found.reason
    with pytest.raises(ZeroDivisionError):
        x.subs({"z": 0}).table()


def test_a_guard_before_the_divisor_is_enough():
    guarded = over(lambda i: i, (4,), when=lambda i: (Z >= 1, i * Z // Z > 5))

    assert verdict(InBounds(guarded, 2)).outcome is Outcome.PROVED
    assert guarded.subs({"z": 0}).table()[0].shape == (0, 1)
    assert guarded.subs({"z": 3}).guards == ()


def test_the_predicate_of_a_claim_guards_the_map():
    inner = over(lambda i: i * Z // Z, (4,))

    assert verdict(InBounds(inner, 4, when=lambda i: Z >= 1)).outcome is Outcome.PROVED
    assert verdict(InBounds(inner, 4, when=lambda i: Z >= 0)).outcome is Outcome.UNKNOWN
    assert verdict(InBounds(over(lambda i: i, 4), 4, when=lambda i: (Z >= 1, i * Z // Z < 2))).outcome is Outcome.PROVED


def test_counts_of_shifts_are_at_least_0():
    assert "expected to shift by at least 0 bits, got w" in verdict(Holds((M << W) >= 0)).reason
    assert "add the fact w >= 0" in verdict(InBounds(over(lambda i: i << W >> W, (M,)), M)).reason
    assert verdict(Holds((M << Z) >= M)).outcome is Outcome.PROVED
    assert verdict(Holds((M << W) >= M), W >= 0).outcome is Outcome.PROVED
    assert verdict(InBounds(over(lambda i: i >> W, (M,)), M), W >= 0).outcome is Outcome.PROVED


@pytest.mark.parametrize(
    "fields, proved",
    [
        ({"map": "i", "over": "i < 4", "when": "i*z//z > 5"}, False),
        ({"map": "i", "over": "i < 4", "when": "z >= 1 && i*z//z > 5"}, True),
        ({"map": "i*z//z", "over": "i < 2", "when": "z >= 1"}, True),
        ({"map": "i*z//z", "over": "i < 2"}, False),
        ({"map": "i", "over": "i < 2*z//z"}, False),
        ({"map": "i", "over": "i < 2*z//z", "when": "z >= 1"}, False),
    ],
    ids=str,
)
def test_divisors_in_text(fields, proved):
    found = verdict(claim_from("in_bounds", {**fields, "extent": "2"}, (Z,)))

    assert found.outcome is (Outcome.PROVED if proved else Outcome.UNKNOWN)


def test_divisors_that_cancel_in_facts_as_text():
    with pytest.raises(ClaimError, match="given: expected a divisor of at least 1, got z; state z >= 1 before it"):
        claim_from("injective", {"layout": "(4,8)"}, (Z,), given=["8*z//z == 8"])
    assert claim_from("injective", {"layout": "(4,8)"}, (Z,), given=["z >= 1 and 8*z//z == 8"]).given
