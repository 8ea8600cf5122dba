"""Enumeration against Python loops, also where values or extents leave 64 bits, are negative or absent."""

from __future__ import annotations

import collections
import itertools
import random

import numpy as np
import pytest

from checkers.exhaustive import (
    counts,
    first_collision,
    first_difference,
    first_missing,
    first_outside,
    first_unshared,
    repeats,
    unravel,
)

BIG = 2**70


def rows(r: random.Random, width: int, span: int, n: int) -> list[tuple[int, ...]]:
    return [tuple(r.randint(-2, span) for _ in range(width)) for _ in range(n)]


def array(values: list[tuple[int, ...]], width: int, big: bool) -> np.ndarray:
    if not values:
        return np.zeros((0, width), dtype=np.int64)
    return np.array([[BIG + v for v in row] for row in values], dtype=object) if big else np.array(values)


def cases(seed: int):
    r = random.Random(seed)
    for _ in range(300):
        width = r.choice((1, 1, 2, 3))
        yield r, width, rows(r, width, r.choice((3, 8, 30)), r.choice((0, 1, 2, 5, 20))), r.random() < 0.2


def test_the_earliest_pair_that_collides():
    for _, width, values, big in cases(1):
        pairs = [(j, i) for i in range(len(values)) for j in range(i) if values[i] == values[j]]
        assert first_collision(array(values, width, big)) == (pairs[0] if pairs else None), values


@pytest.mark.parametrize("spans", [(4, 4), (2**31, 2**31, 4), (2**40, 2**40, 2**40), (2**62, 2**62)], ids=str)
def test_entries_far_apart_collide_only_together(spans):
    r = random.Random(7)
    some = [(-s, r.randrange(1 - s, s - 1), s - 1) for s in spans]
    values = list(itertools.product(*some))
    values.append(values[5])

    assert first_collision(np.array(values)) == (5, len(values) - 1)
    assert first_collision(np.array(values[:-1])) is None


def test_how_often_each_row_occurs():
    for _, width, values, big in cases(5):
        found, times = repeats(array(values, width, big))
        shift = BIG if big else 0
        counted = sorted(collections.Counter(tuple(v + shift for v in row) for row in values).items())
        assert list(zip(map(tuple, found.tolist()), times.tolist(), strict=True)) == counted


def test_the_first_row_outside():
    for r, width, values, big in cases(2):
        low, high = [r.randint(-2, 2) for _ in range(width)], [r.randint(1, 20) for _ in range(width)]
        out = [
            i for i, row in enumerate(values) if any(not a <= v <= b for v, a, b in zip(row, low, high, strict=True))
        ]
        shift = BIG if big else 0
        found = first_outside(array(values, width, big), [a + shift for a in low], [b + shift for b in high])
        assert found == (out[0] if out else None), (values, low, high)


@pytest.mark.parametrize("limit", [2**31, 2**62, 2**63 - 1, 2**63, 2**64, 10**30])
def test_limits_beyond_machine_integers_are_exact(limit):
    values = np.array([[0], [2**62 - 1], [-(2**62)]])

    assert first_outside(values, [-limit], [limit]) == next(
        (i for i, (v,) in enumerate(values.tolist()) if not -limit <= v <= limit), None
    )
    assert first_outside(values, [-limit], [limit * 10]) == first_outside(values, [-limit], [limit])
    assert first_outside(values, [1], [limit]) == 0


def test_the_first_point_that_is_missed():
    for r, width, values, _ in cases(3):
        extents = tuple(r.randint(1, 4) for _ in range(width))
        box = [c[::-1] for c in itertools.product(*(range(n) for n in reversed(extents)))]
        holes = [c for c in box if c not in set(values)]
        assert first_missing(array(values, width, False), extents) == (holes[0] if holes else None)


def test_the_first_point_of_one_array_only():
    for r, width, values, _ in cases(6):
        extents = tuple(r.randint(1, 4) for _ in range(width))
        other = [row for row in values if r.random() < 0.8]
        box = [c[::-1] for c in itertools.product(*(range(n) for n in reversed(extents)))]
        only = [c for c in box if (c in values) != (c in other)]
        found = first_unshared(array(values, width, False), array(other, width, False), extents)
        assert found == (only[0] if only else None)


def test_nothing_misses_nothing():
    empty = np.zeros((0, 1), dtype=np.int64)

    assert first_missing(empty, (0,)) is None
    assert first_missing(empty, (1,)) == (0,)
    assert first_collision(empty) is None
    assert first_outside(empty, [0], [3]) is None
    assert first_difference(empty, empty) is None


def test_the_first_difference():
    for r, width, values, big in cases(4):
        other = [tuple(v + (r.random() < 0.05) for v in row) for row in values]
        differ = [i for i, (a, b) in enumerate(zip(values, other, strict=True)) if a != b]
        found = first_difference(array(values, width, big), array(other, width, big))
        assert found == (differ[0] if differ else None)


def test_counts_and_coordinates_of_an_index():
    assert counts(np.array([0, 2, 2]), 4).tolist() == [1, 0, 2, 0]
    assert [unravel(i, (2, 3)) for i in range(6)] == [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2), (1, 2)]
    assert unravel(0, ()) == ()
