"""The rows of claims about kernels: their kernels have slips, and an oracle that a wrong proof does not pass."""

from __future__ import annotations

import random

import pytest

from benchmarks.soundness.campaign import trials
from benchmarks.soundness.kernels import ROWS, KernelRow
from benchmarks.soundness.row import stated
from symlayout.answers.report import Outcome, Verdict

BY_NAME = {row.name: row for row in ROWS if isinstance(row, KernelRow)}


@pytest.mark.parametrize("name", BY_NAME)
def test_a_row_states_claims_of_its_kind(name: str) -> None:
    row, r = BY_NAME[name], random.Random(2)

    for make in (row.static, row.symbolic):
        claims = [stated(make, r) for _ in range(3)]
        assert {type(c) for c in claims} == {row.kind}
        assert all(hasattr(c, "_drawn") for c in claims), "sizes at which it is tried"


class Credulous(KernelRow):
    """A row of a prover that proves everything."""

    def decided(self, claim, budget):
        return Verdict(claim, Outcome.PROVED, method="none")


class Stubborn(KernelRow):
    """A row of a prover that refutes everything."""

    def decided(self, claim, budget):
        return Verdict(claim, Outcome.REFUTED)


CAUGHT = {
    "ApartInTime": ("static", 40),
    "Computes": ("static", 40),
    "GlobalOrder": ("symbolic", 10),
    "HappensBefore": ("static", 45),
    "Launchable": ("symbolic", 15),
    "RegistersFit": ("static", 20),
    "RingProtocol": ("static", 60),
    "SharedMemoryFits": ("static", 60),
    "UpdatedOnce": ("static", 60),
    "WrittenOnce": ("static", 40),
}


def like(row: KernelRow, kind: type[KernelRow]) -> KernelRow:
    return kind(row.kind, row.static, row.symbolic, row.holds, row.weight, row.sizes, row.exact)


SLOW = ("Computes", "HappensBefore", "RingProtocol", "UpdatedOnce")  # whose oracles run many kernels in many orders


@pytest.mark.parametrize("name", CAUGHT)
def test_a_prover_that_proves_everything_is_caught(name: str, request: pytest.FixtureRequest) -> None:
    if name in SLOW and not request.config.getoption("--campaign"):
        pytest.skip("takes seconds: python -m pytest --campaign")
    _, wrong = trials(like(BY_NAME[name], Credulous), *CAUGHT[name], "7")

    assert wrong
    assert all("fails at" in w for w in wrong)


@pytest.mark.parametrize("name", ["HappensBefore", "RingProtocol", "WrittenOnce"])
def test_a_prover_that_refutes_everything_is_caught(name: str) -> None:
    _, wrong = trials(like(BY_NAME[name], Stubborn), "static", 25, "7")

    assert any("a kernel without a slip is refuted" in w for w in wrong)


@pytest.mark.parametrize("name", ["GlobalOrder", "RegistersFit", "ApartInTime"])
def test_the_provers_are_right_in_a_short_campaign(name: str) -> None:
    counts, wrong = trials(BY_NAME[name], "symbolic", 12, "3")

    assert not wrong
    assert counts["proved"] >= 3
