"""ConflictFree and Coalesced: widths, element sizes, lanes, misaligned bases, swizzles, against counting words."""

import random

import pytest

from checkers import Coalesced, ConflictFree
from checkers.prover import decide
from symlayout import ComposedLayout, E, Layout, Swizzle, dim, dims
from symlayout.address_map import AddressMap
from symlayout.answers.report import Outcome
from symlayout.errors import ClaimError
from tests.support.plain import QUICK, graph, judged, truth

M, N = dims("M N")
L = dim("L", at_most=32)
over = AddressMap.over


def swizzled(layout, *bits, offset=0):
    return ComposedLayout(Swizzle(*bits), offset, layout)


@pytest.mark.parametrize(
    "claim, outcome, phrase",
    [
        (ConflictFree(Layout(32), 4, 4), "proved", "T16"),
        (ConflictFree(Layout(32), 1, 1), "proved", "T16"),
        (ConflictFree(Layout(32), 2, 2), "proved", "T16"),
        (ConflictFree(Layout(32, 32), 4, 4), "refuted", "32-way: lanes 0, 1, 2, 3, ..., 31 on bank 0"),
        (ConflictFree(Layout(32, 33), 4, 4), "proved", "T16"),
        (ConflictFree(Layout(32, 2), 4, 4), "refuted", "2-way: lanes 0, 16 on bank 0"),
        (ConflictFree(Layout(32, 2), 4, 4, degree=2), "proved", "2-way in every phase"),
        (ConflictFree(Layout(32, 2), 4, 8), "proved", "T16"),
        (ConflictFree(Layout(32, 4), 4, 16), "proved", "T16"),
        (ConflictFree(Layout(32, 0), 4, 4), "proved", ""),
        (ConflictFree(Layout(32, 1), 4, 8), "refuted", "lane 1 accesses byte 4, no multiple of its 8 bytes"),
        (ConflictFree(Layout(1), 4, 16), "proved", ""),
        (ConflictFree(Layout((1, 4), (5, 2)), 1, 16), "refuted", "no multiple of its 16 bytes"),
        (ConflictFree(Layout((8, 8), (64, 8)), 2, 16), "refuted", "8-way"),
        (ConflictFree(swizzled(Layout((8, 8), (64, 8)), 3, 3, 3), 2, 16), "proved", "T16"),
        (ConflictFree(swizzled(Layout((8, 8), (64, 8)), 2, 3, 3), 2, 16), "refuted", "2-way"),
        (ConflictFree(swizzled(Layout((8, 8), (64, 8)), 3, 3, 4), 2, 16), "refuted", "2-way"),
        (ConflictFree(swizzled(Layout((8, 8), (64, 8)), 3, 3, 3, offset=8), 2, 16), "proved", "enumeration"),
        (ConflictFree(swizzled(Layout((8, 8), (64, 8)), 3, 3, 3, offset=4), 2, 16), "refuted", "no multiple of its 16"),
        (ConflictFree(swizzled(Layout((8, 8), (72, 8)), 0, 3, 3), 2, 16), "proved", ""),
        (ConflictFree(Layout((32, 4), (1, 1)), 2, 4), "refuted", "no multiple of its 4 bytes"),
        (ConflictFree(Layout((32, 4), (4, 2)), 1, 4), "refuted", "no multiple of its 4 bytes at coordinate (_,1)"),
        (ConflictFree(Layout((8, 3), (8, 3)), 2, 16), "refuted", "at coordinate (_,1)"),
        (ConflictFree(Layout((12, 2), (1, 12)), 4, 4), "proved", "enumeration"),
        (ConflictFree(Layout(32, 3), 3, 1), "refuted", "-way: lanes"),
        (ConflictFree(Layout(32, -1), 4, 4), "proved", "enumeration"),
        (ConflictFree(over(lambda lane: lane ^ 3, 32), 4, 4), "proved", ""),
        (ConflictFree(over(lambda lane, k: 32 * lane + (k + lane) % 32, (32, 32)), 4, 4), "proved", "enumeration"),
        (ConflictFree(over(lambda lane, k: 32 * lane + k, (32, 2)), 4, 4), "refuted", "32-way"),
        (ConflictFree(over(lambda lane, k: 32 * lane + (k + lane) % 32, (32, M)), 4, 4), "unknown", "needs numbers"),
        (ConflictFree(Layout((32, M), (1, 32)), 4, 4), "proved", "the other modes move all lanes together"),
        (ConflictFree(Layout((32, M), (1, M)), 4, 8), "refuted", "fails for M = 1"),
        (Coalesced(Layout(32), 4, 4), "proved", "enumeration"),
        (Coalesced(Layout((32, 4), (1, 33)), 4, 4), "refuted", "touches 5 sectors at coordinate (_,1)"),
        (Coalesced(Layout((32, 4), (1, 33)), 4, 4, sectors=5), "proved", ""),
        (Coalesced(Layout(32, 8), 4, 4), "refuted", "touches 32 sectors"),
        (Coalesced(Layout((L, 4), (1, 32)), 4, 4), "proved", "L lanes of 4 bytes in at most ceil(L/8) sectors"),
        (Coalesced(Layout((L, 4), (1, 32)), 4, 16), "proved", "L lanes of 16 bytes in at most ceil(L/2) sectors"),
        (Coalesced(Layout((L, 4), (2, 64)), 4, 4), "refuted", "fails for L = 5: a request touches 2 sectors"),
        (Coalesced(Layout((L, 4), (2, 64)), 4, 4, sectors=8), "proved", "in at most 8 sectors"),
        (Coalesced(Layout(32, 8), 4, 4, sectors=32), "proved", ""),
        (Coalesced(Layout(32, 0), 4, 4), "proved", ""),
    ],
    ids=str,
)
def test_of_one_access(claim, outcome, phrase):
    judged(claim, outcome, phrase)


def test_verdicts_agree_with_counting_words():
    """All widths and element sizes, lanes that are no power of two, strides and offsets of any kind."""
    r = random.Random(11)
    outcomes = []
    for _ in range(1200):
        lanes, rest = r.choice((1, 2, 3, 8, 12, 16, 32, 32, 32)), r.choice((1, 1, 2, 3, 4))
        shape = ((lanes // 2, 2), rest) if lanes % 2 == 0 and r.random() < 0.3 else (lanes, rest)

        def stride(s):
            return (
                tuple(map(stride, s)) if isinstance(s, tuple) else r.choice((0, 1, 2, 4, 8, 16, 32, 64, 3, 33, 36, 512))
            )

        x = Layout(shape, stride(shape))
        if r.random() < 0.5:
            bits = r.randint(0, 3)
            shift = r.choice((1, 1, -1)) * r.randint(max(bits, 1), 4)
            x = swizzled(x, bits, r.randint(0, 4), shift, offset=r.choice((0, 0, 0, 1, 4, 8, 100)))
        claim = ConflictFree(
            x, r.choice((1, 2, 3, 4, 8, 16)), r.choice((1, 2, 4, 8, 16)), degree=r.choice((1, 1, 2, 4))
        )
        v = decide(claim, QUICK)
        assert v.outcome is (Outcome.PROVED if truth(claim) else Outcome.REFUTED), v
        outcomes.append(v.outcome)

    assert min(outcomes.count(o) for o in (Outcome.PROVED, Outcome.REFUTED)) > 200


def test_sectors_agree_with_counting_bytes():
    r = random.Random(12)
    for _ in range(300):
        lanes, rest, width = r.choice((1, 7, 16, 32)), r.choice((1, 3)), r.choice((1, 2, 4, 8, 16))
        x = Layout((lanes, rest), (r.choice((0, 1, 2, 3, 8, -1)), r.choice((0, 1, 32, 33))))
        element, limit = r.choice((1, 2, 4, 8)), r.randint(1, 12)
        values = [v * element for (v,) in graph(x).values()]
        touched = max(
            len({b // 32 for a in values[i : i + lanes] for b in range(a, a + width)})
            for i in range(0, len(values), lanes)
        )
        v = decide(Coalesced(x, element, width, sectors=limit), QUICK)
        assert v.outcome is (Outcome.PROVED if touched <= limit else Outcome.REFUTED), (v, touched)


@pytest.mark.parametrize("kind", [ConflictFree, Coalesced])
@pytest.mark.parametrize(
    "access, options",
    [
        (Layout((8, 4), (E(0), E(1))), {}),
        (over(lambda lane, k: lane, (32, 2), when=lambda lane, k: lane < 5), {}),
        (Layout(32), {"width_bytes": 3}),
        (Layout(32), {"width_bytes": "4"}),
        (Layout(32), {"element_bytes": 0}),
        (Layout(32), {"element_bytes": 0.5}),
        ("32:1", {}),
    ],
    ids=str,
)
def test_what_is_no_access_is_refused(kind, access, options):
    with pytest.raises(ClaimError, match=r"expected .* got"):
        decide(kind(access, **{"element_bytes": 4, "width_bytes": 4, **options}), QUICK)


@pytest.mark.parametrize("kind", [ConflictFree, Coalesced])
def test_a_warp_has_32_lanes(kind):
    with pytest.raises(ClaimError, match=r"expected 1 to 32 lanes in the first mode, got 64"):
        decide(kind(Layout((64, 2), (1, 64)), 4, 4), QUICK)


@pytest.mark.parametrize("kind", [ConflictFree, Coalesced])
def test_an_access_without_coordinates_is_one_lane(kind):
    assert decide(kind(AddressMap((), (), 8), 4, 4), QUICK).outcome is Outcome.PROVED
