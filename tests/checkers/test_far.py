"""Plainly false claims on more numbers than enumeration takes; and that nothing true is called false on the way."""

from __future__ import annotations

import random

import pytest

from checkers import (
    Aligned,
    Bijective,
    Covers,
    Equal,
    FitsIn,
    InBounds,
    Injective,
    Multiplicity,
    Partition,
    Surjective,
    Vectorizable,
)
from checkers.algebra.probes import clipped, pair_of_modes, places, probes, residue
from checkers.claim import TooLarge
from checkers.prover import decide
from symlayout import ComposedLayout, E, Layout, Swizzle, dim
from symlayout.address_map import AddressMap
from symlayout.answers.report import Outcome
from symlayout.basis import as_tuple
from symlayout.expr import minimum
from tests.support.draw import Draw
from tests.support.plain import QUICK, graph, truth, within

B = 2**40
over = AddressMap.over


def swizzled(layout, *bits):
    return ComposedLayout(Swizzle(*bits), 0, layout)


FALSE = [
    (Bijective(Layout(4), 10**30), "4 coordinates for 1000000000000000000000000000000 values"),
    (Bijective(Layout(B), 4), "1099511627776 coordinates for 4 values"),
    (Bijective(Layout((B, B), (1, B + 1)), B * B), "maps to 1208925819614629174706176, past the last valid"),
    (Bijective(Layout((B, 2), (1, 1)), 2 * B), "coordinates (1,0) and (0,1) both map to 1"),
    (Bijective(Layout((B, 2), (2, 0)), 2 * B), "coordinates (0,0) and (0,1) both map to 0"),
    (Bijective(Layout((B, B, 1), (E(0), E(0), E(1))), (B, B)), "coordinates (1,0,0) and (0,1,0) both map to (1,0)"),
    (Bijective(Layout((B, B), (E(0), E(1))), (B, B + 1)), "coordinates for"),
    (Covers(over(lambda b: (b % B, b // B), B * B), (B, 2 * B)), "coordinates for"),
    (Surjective(Layout(4), 10**30), "4 coordinates for 1000000000000000000000000000000 values"),
    (Surjective(Layout((B, 2), (2, 4)), B), "no coordinate maps to 1: every value leaves 0 when divided by 2"),
    (Surjective(Layout((B, 3), (1, 0)), 2 * B), "no coordinate maps to 2199023255551: values are 0 to 1099511627775"),
    (Surjective(over(lambda i: i + 1, B), B), "no coordinate maps to 0: values are 1 to 1099511627776"),
    (Surjective(over(lambda i: 2 * i - 9, B), 4), "no coordinate maps to 0: every value leaves 1 when divided by 2"),
    (Injective(Layout((B, 4), (1, 0))), "coordinates (0,0) and (0,1) both map to 0"),
    (Injective(Layout((B, 4), (2, 3))), "coordinates (3,0) and (0,2) both map to 6"),
    (Injective(Layout((B, B), (5, -7))), "coordinates (0,0) and (7,5) both map to 0"),
    (Injective(Layout((B, B, B), (B + 1, B + 123457, B + 98765432))), "coordinates have at most 36268"),
    (Injective(Layout((B, (B, 3)), (E(0), (E(1), E(0) + E(1))))), "coordinates (1,(1,0)) and (0,(0,1)) both map to (1,1)"),
    (Injective(swizzled(Layout((B, 4), (1, 2)), 3, 3, 3)), "coordinates (2,0) and (0,1) both map to 2"),
    (Injective(ComposedLayout(Layout((8, 8), (1, 1)), 0, Layout(B))), "coordinates 1 and 8 both map to 1"),
    (Injective(over(lambda i: i // 2, B)), "coordinates 0 and 1 both map to 0"),
    (Injective(over(lambda i: i % 2**30, B)), "both map to"),
    (Injective(over(lambda i: i * (B - i), B)), "both map to"),
    (Equal(Layout(B), Layout(B + 1)), "the sizes are 1099511627776 and 1099511627777"),
    (Equal(Layout((B, 4), (4, 1)), Layout((4, B))), "index 1: 4 at (1,0), but 1 at (1,0)"),
    (Equal(Layout((B, B), (1, B)), Layout((B, B), (1, B + 1))), "index 1099511627776: 1099511627776 at (0,1)"),
    (Equal(over(lambda i: i, B), over(lambda i: minimum(i, B // 2), B)), "1099511627775 at 1099511627775, but 549755813888"),
    (Equal(over(lambda i: i, B, when=lambda i: i < B // 3), over(lambda i: i, B)), "is valid in one of them only"),
    (Equal(over(lambda i: i, B), over(lambda i: i, B, when=lambda i: i < B // 3)), "is valid in one of them only"),
    (Aligned(Layout((B, 4), (8, 4)), 8), "coordinate (0,1) is at byte 4"),
    (Aligned(Layout((B, 4), (8, 16)), 8, base_bytes=4), "coordinate (0,0) is at byte 4"),
    (Aligned(swizzled(Layout((B, 8), (8, 1)), 3, 2, 3), 16), "coordinate (1,0) is at byte 8"),
    (Aligned(over(lambda i: 8 * (i // 3) + i // (B // 2), B), 8), "coordinate 1099511627775 is at byte"),
    (Vectorizable(Layout((B + 1, 3)), 8), "the size is 3298534883331, which 8 does not divide"),
    (Vectorizable(Layout((4, B), (1, 6)), 4), "the run at (0,1) starts at offset 6"),
    (Vectorizable(Layout((8, B), (1, 12)), 8), "the run at (0,1) starts at offset 12"),
    (Vectorizable(Layout((B, 8), (2, 1)), 4), "(offset 0) has (1,0) at offset 2"),
    (InBounds(swizzled(Layout((B, 4), (1, B)), 3, 3, 3), B), "maps to 4398046511047, past the last valid"),
    (InBounds(over(lambda i: i // 2, B), B // 4), "maps to 549755813887, past the last valid"),
    (InBounds(over(lambda i: i, B, when=lambda i: i < B // 4), B // 8), "coordinate 137438953472 maps to 137438953472"),
    (FitsIn(swizzled(Layout((B, 4), (1, B)), 3, 3, 3)), "past the last valid 2147483647"),
    (FitsIn(swizzled(Layout((dim("M"), 64), (64, 1)), 3, 3, 3), bits=33), "fails for M = "),
    (Multiplicity(Layout((B, 3), (1, 0)), 2), "each value belongs to at least 3 coordinates, not 2"),
    (Multiplicity(Layout((B, 3), (1, 0)), 9), "3298534883328 coordinates are not a multiple of 9"),
    (Partition(Layout((B, 3), (1, 0)), B, 2), "3298534883328 coordinates for 1099511627776 values, 2 of each"),
]  # fmt: skip


@pytest.mark.parametrize("claim, story", FALSE, ids=str)
def test_what_is_plainly_false_is_refuted(claim, story):
    with within(5):
        v = decide(claim, QUICK)

    assert v.outcome is Outcome.REFUTED
    assert story in str(v)
    if isinstance(claim, Injective) and v.witness.coords:
        a, b = v.witness.coords
        assert a != b
        assert as_tuple(claim.layout(a)) == as_tuple(claim.layout(b))


@pytest.mark.parametrize(
    "claim",
    [
        Bijective(Layout((B, B), (B, 1)), B * B),
        Bijective(swizzled(Layout((B, 64), (64, 1)), 3, 3, 3), 64 * B),
        Surjective(Layout((B, 4), (1, B - 1)), 4 * B - 3),
        Injective(Layout((B, 4), (3, 3 * B + 1))),
        Injective(over(lambda i, j: i + j, (B, 4), when=lambda i, j: j < 1)),
        Equal(Layout((B, 4)), Layout((4, B))),
        Aligned(Layout((B, 4), (16, -8)), 8),
        Vectorizable(Layout((8, B, 4), (1, 8, 8 * B)), 8),
        InBounds(over(lambda i: i, B, when=lambda i: i < B // 4), B // 4),
        Multiplicity(Layout((B, 3), (1, 0)), 3),
        Partition(Layout((B, 3), (1, 0)), B, 3),
    ],
    ids=str,
)  # fmt: skip
def test_what_is_true_stays_true(claim):
    assert decide(claim, QUICK).outcome is Outcome.PROVED


# -- on small claims, as if they were large ---------------------------------------------------------------------

ENUMERATED = (Aligned, Bijective, Equal, InBounds, Injective, Multiplicity, Partition, Vectorizable)
MODULES = (*(claim.__module__ for claim in ENUMERATED), "checkers.claims.missing_values")  # where the limit is read


def small_claims(seed: int):
    draw, r = Draw(seed), random.Random(seed)
    for _ in range(60):
        x = draw.layout(modes=3, points=200)
        if r.random() < 0.3:
            bits = r.randint(1, 3)
            x = swizzled(x, bits, r.randint(0, 2), r.choice((-1, 1)) * (bits + r.randint(0, 1)))
        y, n = draw.layout(modes=3, points=200), x.size()
        onto = r.choice((n, n, n + 1, max(1, n - 1), 2 * n))
        copies = r.choice((1, 2, 3))
        yield Injective(x)
        yield Bijective(x, onto)
        yield Surjective(x, onto)
        yield InBounds(x, onto)
        yield Equal(x, y)
        yield Aligned(x, r.choice((2, 4, 8)), base_bytes=r.choice((0, 4)))
        yield Vectorizable(x, r.choice((1, 2, 4)))
        yield Multiplicity(x, copies)
        yield Partition(x, max(1, n // copies), copies)
        numbers = [r.randint(0, 6) for _ in range(4)]
        f, g, m = quotients(*numbers), quotients(*numbers[:3], numbers[3] // 2 * 2), numbers[3]
        yield from (Injective(f), InBounds(f, 8 * m + 1), Equal(f, g), Aligned(f, 2), Surjective(f, m + 1))


def quotients(a: int, b: int, c: int, m: int) -> AddressMap:
    return over(lambda i, j: a * i + (b * j + m % 2) // (c + 1), (5, 7), when=lambda i, j: i + j < 5 + m)


@pytest.mark.parametrize("seed", range(4))
def test_what_is_called_false_is_false(monkeypatch, seed):
    for module in MODULES:
        monkeypatch.setattr(f"{module}.POINTS", 0)
    found = left = 0
    for claim in small_claims(seed):
        try:
            refuted = claim.counterexample() is not None
        except TooLarge:
            left += not truth(claim)
            continue
        assert truth(claim) is not refuted, claim
        found += refuted

    assert found > 5 * left


def test_coordinates_that_are_looked_at_are_coordinates():
    draw = Draw(3)
    for _ in range(100):
        x = draw.layout(modes=4, points=300)
        values = graph(x)
        pair = pair_of_modes(x)
        assert pair is None or (pair[0] != pair[1] and x(pair[0]) == x(pair[1]))
        for c in probes(x):
            assert (x(c),) in values.values()
        assert set(places(x)) <= set(values)
        known = residue(x)
        assert known is None or {v % known[1] for (v,) in values.values()} == {known[0]}


def test_a_subject_is_cut_down_to_small_coordinates():
    for x in (
        Layout((B, (3, B)), (1, (B, 3 * B))),
        swizzled(Layout((B, 8), (8, 1)), 3, 0, 3),
        over(lambda i, j: i * j, (B, 5), when=lambda i, j: i + j < 100),
    ):
        small = clipped(x)
        assert 2**12 < small.size() <= 2**16
        for c in probes(small):
            assert small(c) == x(c)
