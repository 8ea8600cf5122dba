"""Inputs made to fool the provers: what each may be answered, and what it must never be answered.

Most of these rows were answered wrongly once, with PROVED, with a traceback, or not at all.
"""

from __future__ import annotations

import pytest

from checkers import (
    Aligned,
    Bijective,
    ConflictFree,
    Covers,
    Equal,
    FitsIn,
    Holds,
    InBounds,
    Injective,
    Multiplicity,
    Partition,
    Surjective,
    Vectorizable,
)
from symlayout import ComposedLayout, E, Layout, Swizzle, dim, dims, index
from symlayout.address_map import AddressMap
from symlayout.expr import minimum
from tests.support.plain import answer, within

M, N, K = dims("M N K")
z = dim("z", at_least=0)
over = AddressMap.over
SW = Swizzle(1, 1, 1)
NOT_PROVED = ("refuted", "refused", "unknown")

# (name, claim, answers that are right)
ATTACKS = [
    # -- domains of maps ----------------------------------------------------------------------------------
    (
        "maps over different boxes of one size are not equal",
        lambda: Equal(over(lambda i, j: i + 2 * j, (2, 4)), over(lambda i, j: i + 4 * j, (4, 2))),
        ("refuted", "refused"),
    ),
    (
        "maps with different predicates are not equal",
        lambda: Equal(
            over(lambda i: i, 8, when=lambda i: i < 4), over(lambda i: i - 4, 8, when=lambda i: i >= 4)
        ),
        ("refuted", "refused"),
    ),
    (
        "maps to coordinates of different profiles are not equal",
        lambda: Equal(over(lambda i, j: (i, (j, 0)), (2, 2)), over(lambda i, j: ((i, j), 0), (2, 2))),
        ("refuted", "refused"),
    ),
    (
        "maps to values of different width are not equal",
        lambda: Equal(over(lambda i: i, 8), over(lambda i: (i, 0), 8)),
        ("refuted", "refused"),
    ),
    (
        "a substituted extent takes the range of its coordinate along",
        lambda: InBounds(over(lambda i: i, dim("P", at_most=16)).subs({dim("P", at_most=16): N}), 16),
        ("refuted",),
    ),
    (
        "a coordinate is not narrower than its extent",
        lambda: InBounds(AddressMap((index("i", 4),), (8,), index("i", 4)), 4),
        ("refuted", "refused"),
    ),
    (
        "a digit of a layout is no parameter of the same name and range",
        lambda: InBounds(Layout(1_000_000), index("c0", 1_000_000) + 1),
        NOT_PROVED,
    ),
    (
        "a coordinate in the extent is no parameter",
        lambda: InBounds(over(lambda i: i, M), index("i", M) + 1),
        ("refuted", "refused"),
    ),
    (
        "a fact about a coordinate is no predicate",
        lambda: InBounds(over(lambda i: i, 8), 4, given=[index("i", 8) <= 3]),
        ("refuted", "refused"),
    ),
    # -- extents below 1 ----------------------------------------------------------------------------------
    ("a negative extent is no points", lambda: Injective(over(lambda i: i * 0, K - 2)), ("refuted",)),
    (
        "two negative extents have a product and no points",
        lambda: Injective(over(lambda i, j: i * 0 + j * 0, (K - 2, K - 2))),
        ("refuted",),
    ),
    ("nothing maps onto one point", lambda: Bijective(over(lambda i, j: i * j, (-1, -1)), 1), ("refuted",)),
    ("nothing is injective", lambda: Injective(over(lambda i, j: i * j, (-1, -1))), ("proved",)),
    ("nothing times much is nothing", lambda: Injective(over(lambda i, j: i * j, (0, 2**45))), ("proved",)),
    (
        "(K-2)*(K-2) points are no bijection at K = 1",
        lambda: Bijective(over(lambda i, j: i + (K - 2) * j, (K - 2, K - 2)), (K - 2) * (K - 2)),
        ("refuted", "unknown"),
    ),
    ("an empty range below zero", lambda: Surjective(over(lambda i: i, K - 2), K - 2), ("proved", "unknown")),
    # -- empty predicates ---------------------------------------------------------------------------------
    ("no valid point is in bounds", lambda: InBounds(over(lambda i: i * i, 8, when=lambda i: i >= 8), 4), ("proved",)),
    ("no valid point is onto", lambda: Surjective(over(lambda i: i, 8, when=lambda i: i >= 8), 4), ("refuted",)),
    (
        "no valid point twice is equal",
        lambda: Equal(
            over(lambda i: i, 8, when=lambda i: i >= 8), over(lambda i: i * i, 8, when=lambda i: i >= 8)
        ),
        ("proved",),
    ),
    # -- machine integers in enumeration --------------------------------------------------------------------
    (
        "a swizzle beyond 64 bits does not wrap",
        lambda: InBounds(ComposedLayout(Swizzle(3, 0, -62), 0, Layout(2, 4)), 8),
        ("refuted",),
    ),
    (
        "a divisor beyond 64 bits does not wrap",
        lambda: Injective(over(lambda i: (i + 5) // (minimum(4 * i, 100) * 2**62 + 1), 8)),
        ("refuted",),
    ),
    (
        "a swizzle at bit 63",
        lambda: InBounds(ComposedLayout(Swizzle(1, 63, 1), 0, Layout((4, 3), (1, 5))), 14),
        ("proved",),
    ),
    (
        "an offset beyond 64 bits",
        lambda: Injective(ComposedLayout(SW, 10**30, Layout((4, 3), (1, 2)))),
        ("refuted", "refused"),
    ),
    (
        "strides beyond 64 bits are counted",
        lambda: Multiplicity(Layout((2, 3), (2**62, 2**63)), copies=2),
        ("refuted",),
    ),
    (
        "a predicate beyond 64 bits",
        lambda: InBounds(over(lambda i: i, 8, when=lambda i: (i * 2**70).multiple_of(2**72)), 5),
        ("proved",),
    ),
    # -- divisors -----------------------------------------------------------------------------------------
    (
        "a predicate guards its divisor",
        lambda: FitsIn(over(lambda i: 12 // (4 - i), 8, when=lambda i: i < 4), bits=3),
        ("refuted",),
    ),
    (
        "a predicate guards its divisor, true",
        lambda: FitsIn(over(lambda i: 12 // (4 - i), 8, when=lambda i: i < 4), bits=5),
        ("proved",),
    ),
    (
        "the predicate of one map does not guard the other",
        lambda: Equal(over(lambda i: 12 // (4 - i), 8), over(lambda i: i, 8, when=lambda i: i < 4)),
        NOT_PROVED,
    ),
    (
        "a predicate does not guard itself",
        lambda: Injective(over(lambda i: i // 2, 8, when=lambda i: i // (4 - i) >= 0)),
        NOT_PROVED,
    ),
    (
        "a divisor in a bound",
        lambda: Injective(Layout((M, dim("Q", at_least=K // (N - 3))), (1, M - 1))),
        NOT_PROVED,
    ),
    (
        "a divisor in an assumption",
        lambda: FitsIn(Layout((M, N), (1, M)), given=[M // (K - N) >= 0]),
        ("refuted", "refused", "unknown"),
    ),
    ("a divisor of 0 in a fact", lambda: Holds(M // z >= 0), NOT_PROVED),
    ("a negative divisor in a fact", lambda: Holds(M // (N - 4) >= 0), NOT_PROVED),
    ("a divisor that a fact guards", lambda: Holds(M // z >= 0, given=[z >= 1]), ("proved",)),
    # -- coordinates as values ------------------------------------------------------------------------------
    ("lanes of coordinates have no banks", lambda: ConflictFree(Layout((8, 4), (E(0), E(1))), 2, 2), ("refused",)),
    ("coordinates have no address", lambda: Aligned(Layout((4, 4), (E(0), E(1))), 2, 2), ("refused",)),
    (
        "one aligned entry is no aligned coordinate",
        lambda: Aligned(over(lambda i, j: (8 * i, j), (4, 4)), to_bytes=8),
        ("refused", "refuted"),
    ),
    (
        "symbolic coordinates have no address",
        lambda: Aligned(over(lambda i, j: (8 * i * N, j), (M, 4)), to_bytes=8),
        ("refused", "refuted"),
    ),
    (
        "coordinates are not offsets",
        lambda: Equal(Layout(4, E(0)), ComposedLayout(Swizzle(0, 0, 0), 0, Layout(4))),
        ("refuted", "refused"),
    ),
    ("offsets are not onto a box", lambda: Surjective(Layout((4, 8)), (4, 8)), ("refuted", "refused")),
    ("one coordinate onto a box of one", lambda: Surjective(Layout(4, E(0)), (4,)), ("proved", "refused")),
    ("coordinates are not onto an extent", lambda: Bijective(Layout((4, 8), (E(0), E(1))), 32), ("refused",)),
    ("mixed depths are no coordinate", lambda: Injective(Layout((4, 4), (E(0), E(0, 1)))), ("refused", "refuted")),
    ("one coordinate is no offset", lambda: Vectorizable(Layout((16,), (E(0) * 2,)), 8), ("refused",)),
    ("one coordinate has no address", lambda: Aligned(Layout((4,), (E(0),)), 2), ("refused",)),
    (
        "coordinates beyond 64 bits",
        lambda: Injective(Layout((2, 2, 2), (E(0) * 2**70, E(1), E(0) * 2**70))),
        ("refuted",),
    ),
    (
        "an outer layout past its size and 64 bits",
        lambda: Injective(ComposedLayout(Layout((2, 2), (1, 2**60)), 0, Layout(64))),
        ("proved",),
    ),
    # -- banks --------------------------------------------------------------------------------------------
    (
        "alignment is asked of every other coordinate",
        lambda: ConflictFree(Layout((8, 4), (8, 1)), 2, 16),
        ("refuted",),
    ),
    (
        "alignment under a swizzle too",
        lambda: ConflictFree(ComposedLayout(Swizzle(2, 2, 3), 0, Layout((4, 2), (8, 3))), 2, 16, degree=4),
        ("refuted",),
    ),
    ("a map is an access", lambda: ConflictFree(over(lambda lane: lane, 32), 4, 4), ("proved",)),
    (
        "masked lanes do not mix warps",
        lambda: ConflictFree(over(lambda w, r: 32 * w + 512 * r, (32, 2), when=lambda w, r: w < 16), 4, 4),
        ("refused", "refuted"),
    ),
    ("an access without lanes", lambda: ConflictFree(AddressMap((), (), 0), 4, 4), ("refused", "proved")),
    ("more than a warp", lambda: ConflictFree(Layout((64, 2), (1, 64)), 4, 4), ("refused",)),
    # -- parts that do not fit --------------------------------------------------------------------------------
    ("a swizzle inside a swizzle", lambda: Injective(ComposedLayout(SW, 0, ComposedLayout(SW, 0, Layout(M)))),
     ("proved", "unknown")),
    ("copies are a number", lambda: Partition(Layout(4), 4, copies="2"), ("refused",)),
    ("a tile is at least 1", lambda: Covers(over(lambda b: b, M), M, tile=0), ("refused",)),
    (
        "a preimage has a coordinate for each of the schedule",
        lambda: Covers(
            over(lambda b, i: b + 4 * i, (4, -(-M // 4)), when=lambda b, i: b + 4 * i < M), M, by=lambda w: w % 4
        ),
        ("refused", "unknown"),
    ),
    (
        "a predicate may call its coordinate layout",
        lambda: InBounds(Layout((128, 8), (1, 128)), M, when=lambda layout, t: 128 * t + layout < M),
        ("proved",),
    ),
    (
        "a coordinate named like its size is another symbol",
        lambda: InBounds(over(lambda M, j: M + j, (M, N)), M + N),
        ("refused", "proved"),
    ),
]  # fmt: skip


@pytest.mark.parametrize("claim, right", [pytest.param(c, right, id=name) for name, c, right in ATTACKS])
def test_an_attack_is_answered_rightly(claim, right):
    with within(10):
        assert answer(claim) in right
