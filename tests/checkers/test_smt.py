"""Solver queries: unsat is never wrong, models meet every fact, limits are kept, what has no terms is said."""

from __future__ import annotations

import itertools
import random
import time

import pytest

from checkers import smt
from symlayout import dim, dims, eq, index
from symlayout.expr import Fact, Integers, evaluate, interpret, maximum, minimum, xor
from symlayout.facts import Facts

M, N, K = dims("M N K")


def holds(f: Fact, env: dict) -> bool:
    v = interpret(f.expr, Integers(env))
    return v >= 0 if f.relation == ">=" else v == 0 if f.relation == "==" else v % f.modulus == 0


@pytest.mark.parametrize(
    "facts, status",
    [
        ([], "sat"),
        ([()], "unsat"),
        ([(M >= 3, N >= 3)], "sat"),
        ([M >= 3, M <= 2], "unsat"),
        ([M >= 1, M <= 5, M.multiple_of(7)], "unsat"),
        ([M >= 1, M <= 7, M.multiple_of(7)], "sat"),
        ([eq(2 * M, 2 * N + 1)], "unsat"),
        ([M >= 0, M // 4 >= 1, M <= 3], "unsat"),
        ([eq(M % 4, 3), M.multiple_of(2)], "unsat"),
        ([minimum(M, N) >= 3, M <= 2], "unsat"),
        ([maximum(M, N) >= 3, M <= 2], "sat"),
        ([(M + N).multiple_of(4), eq(M, N), eq(M % 2, 1)], "unsat"),
        ([M >= 10**30, M <= 10**30], "sat"),
        ([Fact(-1, ">=")], "unsat"),
        ([xor(M, N) >= 0], "unknown"),
    ],
    ids=str,
)
def test_a_query_has_its_status(facts, status):
    answer = smt.satisfiable(facts)

    assert answer.status == status
    assert bool(answer.reason) == (status == "unknown")
    assert status != "sat" or all(holds(f, answer.model) for f in facts if not isinstance(f, tuple))


def test_random_queries_agree_with_enumeration():
    r = random.Random(3)
    x, y = dim("x", at_least=0, at_most=6), dim("y", at_least=-3, at_most=3)
    box = [x >= 0, x <= 6, y >= -3, y <= 3]
    statuses = []
    for _ in range(120):

        def term(depth: int):
            if not depth:
                return r.choice((x, y, r.randint(-2, 5)))
            a, b = term(depth - 1), term(depth - 1)
            kind = r.randrange(6)
            return (a + b, a - b, a * b, minimum(a, b), a // r.choice((2, 3)), a % r.choice((2, 4)))[kind]

        facts = [Fact(term(2), r.choice((">=", "==")), 0) for _ in range(2)] + [Fact(term(1), "%", 3)]
        answer = smt.satisfiable([*box, *facts], 500)
        statuses.append(answer.status)
        points = ({x: a, y: b} for a, b in itertools.product(range(7), range(-3, 4)))
        possible = any(all(holds(f, env) for f in facts) for env in points)
        assert answer.status == "unknown" or (answer.status == "sat") is possible, facts
        assert answer.status != "sat" or all(holds(f, {x: 0, y: 0, **answer.model}) for f in (*box, *facts))

    assert statuses.count("unknown") < 12
    assert min(statuses.count("sat"), statuses.count("unsat")) > 12


def test_a_query_keeps_its_time():
    begin = time.perf_counter()
    answer = smt.satisfiable([M >= 1, N >= 1, K >= 1, eq(M * M * M + N * N * N, K * K * K)], 200)

    assert answer.status == "unknown"
    assert answer.reason
    assert time.perf_counter() - begin < 3


def test_symbols_of_one_name_stay_apart():
    """A digit may be named like a size; a query must not take one for the other."""
    digit = dim("M", at_least=0, at_most=3)

    answer = smt.satisfiable([M >= 7, digit <= 3, digit >= 0])

    assert answer.status == "sat"
    assert answer.model[M] >= 7 > answer.model[digit]


def test_a_query_repeats():
    facts = [M >= 2, N >= 2, eq(M * N, 91)]

    assert len({str(sorted((s.name, v) for s, v in smt.satisfiable(facts).model.items())) for _ in range(3)}) == 1


def test_queries_as_text_are_other_solvers_input():
    text = smt.smtlib([M >= 3, (N >= M, N <= 1), (M + N).multiple_of(4), eq(M // 3, N)])

    assert text.startswith("(set-logic ALL)")
    assert text.count("(") == text.count(")")
    assert "(check-sat)" in text
    assert "declare-fun m!" in smt.smtlib([xor(M, N) >= 0])  # bits that are known by their range


def test_bits_of_bounded_symbols_are_decided_and_those_of_others_by_their_range():
    i, j = index("i", 64), index("j", 64)
    box = [i >= 0, i <= 63, j >= 0, j <= 63]

    assert smt.satisfiable([*box, (i ^ j) >= 64]).status == "unsat"
    assert smt.satisfiable([*box, eq(i ^ j, 37), eq(i & j, 8), eq(i, 13)]).model == {i: 13, j: 40}
    assert smt.satisfiable([*box, eq((i ^ (i // 2)) % 2, (i + i // 2) % 2 + 1)]).status == "unsat"
    assert smt.satisfiable([M >= 0, N >= 0, (M & N) >= M + 1]).status == "unsat"
    assert smt.satisfiable([M >= 0, N >= 0, eq(M & N, 5)]).status == "unknown"


def test_a_model_survives_the_facts_it_came_from():
    facts = Facts.about(M, N, given=[M >= 2 * N, N.multiple_of(3), (M + N).multiple_of(5)])
    answer = smt.satisfiable([M >= 1, N >= 1, *facts.given])

    assert facts.admits({M: answer.model[M], N: answer.model[N]})
    assert evaluate(M + N, answer.model) % 5 == 0
