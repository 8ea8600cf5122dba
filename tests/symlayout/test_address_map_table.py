"""The table of a map: each valid point once, the first coordinate fastest, whatever its predicate is about."""

from __future__ import annotations

import itertools
import random

import pytest

from symlayout.address_map import AddressMap
from symlayout.expr import Fact, index


def drawn(draw: random.Random) -> AddressMap:
    """A map of one to three coordinates, with up to three facts about one of them, several or none."""
    extents = tuple(draw.randrange(1, 6) for _ in range(draw.randrange(1, 4)))
    coords = tuple(index(f"c{i}", n) for i, n in enumerate(extents))

    def term():
        x = sum(draw.randrange(-3, 4) * c for c in coords) + draw.randrange(-3, 4)
        return x if draw.random() < 0.6 else x // draw.choice([2, 3])

    def about_one():
        return draw.randrange(-2, 3) * draw.choice(coords) + draw.randrange(-3, 4)

    facts = (Fact(draw.choice([term, about_one])(), draw.choice([">=", "=="])) for _ in range(draw.randrange(4)))
    return AddressMap(coords, extents, term(), tuple(facts))


@pytest.mark.parametrize("seed", range(4))
def test_a_table_has_the_valid_points_in_order(seed):
    draw = random.Random(seed)
    for _ in range(60):
        m = drawn(draw)
        points = (c[::-1] for c in itertools.product(*(range(n) for n in m.extents[::-1])))
        want = [c for c in points if m.valid_at(c)]
        at, values = m.table()
        assert [tuple(row) for row in at.tolist()] == want, m
        assert values[:, 0].tolist() == [m(*c) for c in want], m
