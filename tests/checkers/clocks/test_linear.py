"""The exact simplex behind clocks: what it finds solves the system, and what has a solution is found."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from checkers.clocks.linear import feasible


def times(matrix: list[list[int]], x: list[Fraction]) -> list[Fraction]:
    return [sum((a * b for a, b in zip(row, x, strict=True)), Fraction(0)) for row in matrix]


@pytest.mark.parametrize("solvable", [True, False])
def test_drawn_systems(solvable: bool) -> None:
    chance = random.Random(3)
    found = 0
    for _ in range(200):
        rows, columns = chance.randint(1, 9), chance.randint(1, 14)
        matrix = [
            [chance.choice((0, 0, 1, -1, 5, chance.randint(-40, 40))) for _ in range(columns)] for _ in range(rows)
        ]
        if solvable:
            of = [Fraction(chance.choice((0, 0, 1, 2, 7))) for _ in range(columns)]
            wanted = [int(x) for x in times(matrix, of)]
        else:
            wanted = [chance.randint(-9, 9) for _ in range(rows)]
        x = feasible(matrix, wanted)
        found += x is not None
        assert not solvable or x is not None, (matrix, wanted)
        assert x is None or (times(matrix, x) == wanted and min(x) >= 0), (matrix, wanted)
    assert found == 200 if solvable else 20 < found < 180


def test_systems_without_a_solution() -> None:
    assert feasible([[1, 1]], [-1]) is None
    assert feasible([[1, -1], [-1, 1]], [1, 0]) is None
    assert feasible([[2, 0], [1, 1], [0, 3]], [3, 1, 1]) is None
