"""Sizes that are tried: admissible, least first, and found without building all combinations."""

from __future__ import annotations

import itertools
import time

import pytest

from checkers import Injective
from checkers.prover import Budget, decide
from checkers.refuter import Refuter
from checkers.trial_sizes import drawn_sizes, every_small_size, small_sizes
from symlayout import dim, dims, eq
from symlayout.address_map import AddressMap
from symlayout.answers.report import Outcome
from symlayout.facts import Facts

A, B, C, D, E, F, G, H = dims("A B C D E F G H")
even = dim("even", multiple_of=2)


def listed(facts, hints=(), n=60):
    return list(itertools.islice(small_sizes(facts.symbols, facts, hints), n))


@pytest.mark.parametrize(
    "given",
    [
        (),
        (A >= B,),
        (A >= B * C, C >= 2),
        (A.multiple_of(12), B <= 3),
        (eq(A, 2 * B), C >= A + B),
        (A + B <= 9, C >= A),
        ((A + 1).multiple_of(7),),
        (even >= A, A >= 3),
    ],
    ids=str,
)
def test_sizes_come_in_order_of_their_sum(given):
    facts = Facts.about(A, B, C, even, given=given)
    found = listed(facts, (8,))

    assert len(found) == 60
    assert all(map(facts.admits, found))
    assert [sum(e.values()) for e in found] == sorted(sum(e.values()) for e in found)
    assert len({tuple(e.items()) for e in found}) == 60
    assert found == listed(facts, (8,))


def test_the_first_sizes_are_the_least_of_all():
    facts = Facts.about(A, B, given=[A + 2 * B >= 7, (A + B).multiple_of(3)])
    best = min(a + b for a in range(1, 12) for b in range(1, 12) if a + 2 * b >= 7 and (a + b) % 3 == 0)

    assert sum(listed(facts)[0].values()) == best


def test_the_first_size_of_many_symbols_is_found_at_once():
    symbols = (A, B, C, D, E, F, G, H)
    chain = [y >= 2 * x for x, y in itertools.pairwise(symbols)]
    begin = time.perf_counter()
    (first,) = listed(Facts.about(*symbols, given=[*chain, H.multiple_of(64)]), (64, 128), 1)

    assert first[H] % 64 == 0
    assert first[H] >= 128
    assert time.perf_counter() - begin < 1


def test_sizes_that_contradict_each_other_end():
    facts = Facts.about(A, B, C, D, given=[A >= B + 1, B >= C + 1, C >= D + 1, D >= A])

    assert listed(facts) == []
    assert list(drawn_sizes(facts.symbols, facts)) == []


def test_drawn_sizes_are_admissible_and_the_same_each_time():
    facts = Facts.about(A, B, C, given=[C >= A * B])
    drawn = [list(itertools.islice(drawn_sizes(facts.symbols, facts, (16, 48)), 50)) for _ in range(2)]

    assert drawn[0] == drawn[1]
    assert all(map(facts.admits, drawn[0]))
    assert any(e[A] > e[B] + 10 for e in drawn[0])
    assert any(e[B] > e[A] + 10 for e in drawn[0])


def test_every_small_size_of_two_symbols():
    facts = Facts.about(A, B, given=[A >= B])

    assert len(list(every_small_size(facts.symbols, facts))) == 40 * 41 // 2
    assert list(every_small_size((A, B, C), Facts.about(A, B, C))) == []


def test_a_failure_between_the_small_sizes_is_found():
    """At A = 17 alone, which is not among 1 to 5, or near a number of the claim."""
    claim = Injective(AddressMap.over(lambda i, j: (i, j * (A - 17) * (A - 17)), (2, 3)))
    found = decide(claim, Budget(repairs=False))

    assert found.outcome is Outcome.REFUTED
    assert found.witness.sizes == {"A": 17}


def test_the_refuter_says_how_far_it_came():
    claim = Injective(AddressMap.over(lambda i: i * A, (B,)))
    refuter = Refuter(claim, Facts.about(claim.parameters()), 400_000)

    assert refuter.small() is None
    assert refuter.checked.startswith("no failure at ")
    before = int(refuter.checked.split()[3])
    assert refuter.more() is None
    assert int(refuter.checked.split()[3]) > before + 5
