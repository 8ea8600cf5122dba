"""Symbolic modes that move all lanes together: what is proved about them holds at sizes, counted lane by lane."""

from __future__ import annotations

import random

import pytest

from checkers import Coalesced, ConflictFree, prove, verify
from symlayout import ComposedLayout, Layout, Swizzle, dim, dims
from symlayout.address_map import AddressMap
from symlayout.answers.report import Outcome
from tests.corpus import oracle

S, K = dims("S K")


def addresses(access, lanes, element_bytes):
    """The byte addresses of each request."""
    found = [element_bytes * access(i) for i in range(access.size())]
    return [found[i : i + lanes] for i in range(0, len(found), lanes)]


@pytest.mark.parametrize(
    "claim",
    [
        ConflictFree(ComposedLayout(Swizzle(3, 3, 3), 0, Layout((8, 8, S), (64, 8, 512))), 2, 16),
        ConflictFree(ComposedLayout(Swizzle(3, 3, 3), 0, Layout((8, 8, S), (64, 8, 256))), 2, 16),
        ConflictFree(ComposedLayout(Swizzle(3, 3, 3), 512 * K, Layout((8, 8, S), (64, 8, 512))), 2, 16),
        ConflictFree(Layout((32, S), (1, 4 * K)), 4, 4),
        Coalesced(Layout((32, S), (1, 8 * K)), 4, 4),
        Coalesced(Layout((32, 4, S), (1, 8 * K, 64)), 4, 4),
        Coalesced(AddressMap.over(lambda lane, s: 4 * lane + 128 * s, (32, S)), 1, 4),
    ],
    ids=str,
)
def test_the_rest_moves_all_lanes_together(claim):
    report = prove(claim)

    (verdict,) = report.verdicts
    assert verdict.outcome is Outcome.PROVED
    assert verdict.method.startswith("the other modes move all lanes together")
    verify(verdict.certificate)


@pytest.mark.parametrize(
    "claim",
    [
        ConflictFree(ComposedLayout(Swizzle(2, 3, 3), 0, Layout((8, 8, S), (64, 8, 512))), 2, 16),
        ConflictFree(Layout((8, 8, S), (64, 8, 512)), 2, 16),
        ConflictFree(Layout((32, S), (1, 1)), 2, 4),
        Coalesced(Layout((32, S), (1, K)), 4, 4),
        Coalesced(Layout((32, S), (1, 33)), 4, 4),
    ],
    ids=str,
)
def test_what_depends_on_the_rest_is_refuted(claim):
    assert prove(claim).verdicts[0].outcome is Outcome.REFUTED


def test_what_is_proved_holds_lane_by_lane():
    r = random.Random(3)
    proved = 0
    for _ in range(400):
        element, width = r.choice((1, 2, 4)), r.choice((1, 4, 16))
        lanes = r.choice((8, 32))
        stride = r.choice((1, 2, 4, 8, 16, 33, 64))
        inner = Layout((lanes, 2, S), (stride, r.choice((1, 4, 32, 256)), r.choice((4, 8, 24, 64, 128, 512, 32 * K))))
        bits = r.randint(0, 3)
        access = ComposedLayout(Swizzle(bits, r.randint(0, 4), r.choice((1, -1)) * max(bits, 2)), 0, inner)
        claim = (
            ConflictFree(access, element, width, degree=r.choice((1, 2)))
            if r.random() < 0.5
            else Coalesced(access, element, width, sectors=r.choice((0, 8, 32)))
        )
        proof = claim.certify(facts_of(claim))
        if proof is None:
            continue
        proved += 1
        for s, k in ((1, 1), (2, 3), (5, 2)):
            for request in addresses(access.subs({S: s, K: k}), lanes, element):
                if isinstance(claim, ConflictFree):
                    assert oracle._degree(request, width) <= claim.degree, claim
                else:
                    assert oracle._sectors(request, width) <= claim.sectors, claim
    assert proved > 40


def facts_of(claim):
    from symlayout.facts import Facts

    return Facts.about(claim.parameters())


def test_a_symbolic_lane_stays_open():
    n = dim("n", at_most=32)

    assert (
        Coalesced(Layout((n, S), (1, 32)), 4, 4, sectors=4).certify(
            facts_of(Coalesced(Layout((n, S), (1, 32)), 4, 4, 4))
        )
        is None
    )
