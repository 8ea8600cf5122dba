"""Banks and sectors of lanes whose strides are sizes: what is proved of residues holds lane by lane at sizes.

Strides of lanes were numbers in every test and in the prover, so that an odd row, the padded tile of every textbook,
was UNKNOWN: nothing asked for it.
"""

from __future__ import annotations

import copy
import json
import random

import pytest

from checkers import Coalesced, ConflictFree, prove, verify
from checkers.algebra.residues import residues
from symlayout import CertificateError, ComposedLayout, Layout, Swizzle, dim, dims, eq
from symlayout.address_map import AddressMap
from symlayout.answers.report import Outcome
from symlayout.facts import Facts
from tests.corpus import oracle

k, ld, M, S = dims("k ld M S")
b = dim("b", at_least=0)
ODD = (ld + 1).multiple_of(2)
PADDED = Layout((32, 32), (ld, 1))

PROVED = [
    (ConflictFree(Layout((32, 32), (32 * k + 1, 1)), 4, 4), ()),
    (ConflictFree(PADDED, 4, 4), (ODD,)),
    (ConflictFree(PADDED, 4, 4), (eq(ld % 2, 1),)),
    (ConflictFree(PADDED, 4, 4), (eq(ld, 2 * M + 1),)),
    (ConflictFree(PADDED, 4, 4, degree=2), ((ld + 2).multiple_of(4),)),
    (ConflictFree(Layout(((4, 8), 32), ((1, 4 * k), 1)), 4, 4), ((k + 1).multiple_of(2),)),
    (ConflictFree(Layout((8, S), (ld, 8)), 2, 16), ((ld - 8).multiple_of(16),)),
    (ConflictFree(AddressMap.over(lambda lane, c: lane * ld + c + b, (32, 32)), 4, 4), (ODD,)),
    (ConflictFree(AddressMap.over(lambda lane, c: lane * ld + c + b, (32, 32)), 2, 2), (eq(ld, 4 * M + 2),)),
    (
        ConflictFree(ComposedLayout(Swizzle(3, 3, 3), 0, Layout((8, 8, S), (64 * k, 8, 512 * k))), 2, 16),
        ((k + 1).multiple_of(2),),
    ),
    (Coalesced(Layout(((8, 4), M), ((1, ld), 8)), 4, 4), (ld.multiple_of(8),)),
    (Coalesced(Layout((32, M), (ld, 1)), 4, 4, sectors=32), ()),
]


@pytest.mark.parametrize("claim, given", PROVED, ids=str)
def test_residues_decide_and_the_checker_derives_them(claim, given):
    (verdict,) = prove(claim, given=given).verdicts

    assert verdict.outcome is Outcome.PROVED
    assert not verdict.unused
    assert "trusts" not in verdict.certificate
    verify(json.loads(json.dumps(verdict.certificate)))


@pytest.mark.parametrize(
    "claim, given, sizes",
    [
        (ConflictFree(PADDED, 4, 4), (), {"ld": 2}),
        (ConflictFree(PADDED, 4, 4), (ld.multiple_of(2),), {"ld": 2}),
        (ConflictFree(PADDED, 2, 4), (ODD,), {"ld": 1}),
        (Coalesced(Layout(((8, 4), M), ((1, ld), 8)), 4, 4), ((ld + 1).multiple_of(2),), {"M": 1, "ld": 9}),
    ],
    ids=str,
)
def test_what_some_residue_breaks_is_refuted(claim, given, sizes):
    (verdict,) = prove(claim, given=given).verdicts

    assert verdict.outcome is Outcome.REFUTED
    assert verdict.witness.sizes == sizes


def test_residues_of_sizes():
    facts = Facts.about(ld, k, given=[ODD, eq(k, 4 * M + 3)])

    found = residues([(facts.normal(ld), 4), (facts.normal(k), 8)], facts)

    assert sorted(found) == [(1, 3), (1, 7), (3, 3), (3, 7)]
    assert residues([(32 * k + 1, 32), (k * (k + 1), 2)], Facts.about(k)) == [(1, 0)]
    assert residues([(k * ld * M * S, 32)], Facts.about(k, ld, M, S)) is None


def test_a_certificate_of_other_strides_lanes_or_assumptions_is_refused():
    certificate = json.loads(json.dumps(prove(ConflictFree(PADDED, 4, 4), given=[ODD]).verdicts[0].certificate))

    def refused(change) -> bool:
        changed = copy.deepcopy(certificate)
        change(changed["statement"])
        try:
            verify(changed)
        except CertificateError:
            return True
        return False

    layout = certificate["statement"]["access"]["layout"]
    assert not refused(lambda s: s)
    assert refused(lambda s: s.update(given=[]))
    assert refused(lambda s: s["given"][0].__setitem__(2, 3))
    assert refused(lambda s: s["access"]["layout"].update(stride=[{"poly": [[2, "ld"]]}, 1]))
    assert refused(lambda s: s["access"]["layout"].update(shape=[64, 32]))
    assert refused(lambda s: s.update(element_bytes=8))
    assert not refused(lambda s: s["access"]["layout"].update(stride=[{"poly": [[3, "ld"]]}, 1]))  # odd as well
    assert layout["shape"] == [32, 32]


def test_what_is_proved_holds_lane_by_lane(share):
    r, count = random.Random(11), share(600)
    proved = 0
    for _ in range(count):
        element, width = r.choice((1, 2, 4)), r.choice((2, 4, 16))
        lanes = r.choice((8, 32, (4, 8), (8, 4)))
        strides = [ld, r.choice((1, 2, 4, k, 2 * ld, 8 * k + 4, 16))]
        first = ld * r.choice((1, 2, 4)) + r.choice((0, 1, 4, 8)) if isinstance(lanes, int) else tuple(strides)
        inner = Layout((lanes, 2, S), (first, r.choice((1, 4, 32)), r.choice((8, 64, 32 * k, ld))))
        sw = Swizzle(r.randint(0, 2), r.randint(0, 4), 3)
        access = ComposedLayout(sw, r.choice((0, 64, 4 * M)), inner)
        given = (r.choice((ODD, ld.multiple_of(8), (ld + 4).multiple_of(8), (k + 1).multiple_of(2))),)
        claim = (
            ConflictFree(access, element, width, degree=r.choice((1, 2, 4)), given=given)
            if r.random() < 0.6
            else Coalesced(access, element, width, sectors=r.choice((8, 32)), given=given)
        )
        facts = Facts.about(claim.parameters(), given=given)
        if claim.certify(facts) is None:
            continue
        proved += 1
        for at in ({ld: 3, k: 1}, {ld: 8, k: 3}, {ld: 4, k: 2}, {ld: 12, k: 5}, {ld: 31, k: 1}, {ld: 40, k: 7}):
            sizes = {**at, S: 3, M: 2}
            if not all(f.at({s.name: v for s, v in sizes.items()}) for f in given):
                continue
            x, n = access.subs(sizes), 8 if lanes == 8 else 32
            found = [element * x(i) for i in range(x.size())]
            for request in (found[i : i + n] for i in range(0, len(found), n)):
                if isinstance(claim, ConflictFree):
                    assert all(a % width == 0 for a in request), (claim, sizes)
                    assert oracle._degree(request, width) <= claim.degree, (claim, sizes)
                else:
                    assert oracle._sectors(request, width) <= claim.sectors, (claim, sizes)
    assert proved > count // 10
