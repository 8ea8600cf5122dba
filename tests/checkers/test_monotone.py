"""More assumptions never turn PROVED into UNKNOWN: what some of them prove, all of them prove.

The older tests gave each claim just the facts that it needs. A divisibility puts another name in place of a size, and a
bound is tried before the row that decides: beside such facts a fifth of a percent of the corpus was left open.
"""

from __future__ import annotations

import random

import pytest

from benchmarks.corpus import rows
from benchmarks.monotone import Extra, with_more
from checkers import Bijective, Injective, verify
from checkers.prover import Budget, decide
from checkers.views import views
from symlayout import Layout, dim, dims
from symlayout.address_map import AddressMap
from symlayout.answers.report import Outcome
from symlayout.facts import Facts
from tests.support.plain import QUICK

M, N, L, ld, s = dims("M N L ld s")
PROVED = [r for r in rows() if r.claim.expect == "proved" and Facts.about(r.claim.parameters()).symbols]
SHARE = 3  # of the claims, another third with each seed


@pytest.mark.parametrize("seed", range(SHARE))
def test_what_is_proved_stays_proved(seed):
    r = random.Random(seed)
    lost = []
    for row in PROVED[seed::SHARE]:
        claim = with_more(row.claim, r)
        v = decide(claim, QUICK)
        if v.outcome is not Outcome.PROVED and "expected a divisor" not in v.reason:
            lost.append(f"{row.name} given {claim.given}: {v}")
        if v.certificate is not None:
            verify(v.certificate)
    assert lost == []


LED_ASTRAY = {
    "a divisor of another stride": Injective(
        Layout((M, N, L), (1, ld, s)), given=[ld >= M, s >= N * ld, s.multiple_of(4), N <= 100_000, L <= 100_000]
    ),
    "a raster of three rows": Bijective(
        AddressMap.over(lambda b: (b % M, b // M), (M * N,)), (M, N), given=[M >= N, M.multiple_of(3), N * M >= 8]
    ),
    "few sizes beside a size without end": Injective(
        AddressMap.over(lambda i: i * i * i - 21 * i * i, (M,)), given=[M <= 8, Extra.multiple_of(16), Extra >= M]
    ),
}


@pytest.mark.parametrize("name", LED_ASTRAY)
def test_facts_that_a_claim_does_not_need_do_no_harm(name):
    v = decide(LED_ASTRAY[name], Budget(solver_ms=100, repairs=False))
    assert v.outcome is Outcome.PROVED, v


def test_a_proof_from_fewer_facts_names_those_left_out():
    v = decide(LED_ASTRAY["a divisor of another stride"], QUICK)
    assert "s % 4 == 0" in v.unused
    assert "s % 4 == 0" in str(v.assumptions)
    assert "trusts" not in v.certificate
    verify(v.certificate)


def test_a_failure_under_fewer_facts_is_no_failure():
    """A part of the assumptions that admits a counterexample proves nothing, and refutes nothing."""
    claim = Injective(Layout((M, N), (1, ld)), given=[ld >= M, N.multiple_of(2)])
    assert decide(claim, QUICK).outcome is Outcome.PROVED
    weaker = Injective(Layout((M, N), (1, ld)), given=[ld + 1 >= M, N.multiple_of(2)])
    v = decide(weaker, QUICK)
    assert v.outcome is Outcome.REFUTED
    assert v.witness.sizes["N"] % 2 == 0


def test_views_leave_something_out_and_are_few():
    given = tuple(dim(f"A{i}") >= i + 2 for i in range(12))
    found = list(views(given, given[0].symbols))
    assert len(found) == len(set(found)) == 48
    assert all(set(v) < set(given) for v in found)
    few = list(views(given[:4], ()))
    assert len(few) == 2**4 - 1
