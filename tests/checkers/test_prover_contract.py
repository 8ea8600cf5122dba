"""What every verdict promises: its method in order, a least witness that replays, repairs that repair, text that repeats."""

from __future__ import annotations

import itertools
import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.soundness.layouts import ROWS, random_symbolic
from benchmarks.soundness.row import stated
from checkers import (
    Aligned,
    Bijective,
    Budget,
    ConflictFree,
    Covers,
    Equal,
    FitsIn,
    InBounds,
    Injective,
    Surjective,
    prove,
    verify,
)
from checkers.prover import decide
from symlayout import ComposedLayout, Layout, Swizzle, ceil_div, composition, dim, dims, eq, zipped_divide
from symlayout.address_map import AddressMap
from symlayout.answers.report import SCHEMA, Outcome, Report
from symlayout.errors import SymlayoutError
from symlayout.facts import Facts
from tests.support.plain import QUICK, within

M, N, K, ld = dims("M N K ld")
ENDLESS = dim("U", at_most=None)  # no word holds its bits
over = AddressMap.over

# Each claim with the method that comes first in the order: certificate, enumeration or small sizes, large sizes, solver.
METHODS = [
    (Injective(Layout((4, 8))), "chain of strides, T2"),
    (Injective(Layout((2, 2, 2, 2), (3, 5, 6, 7))), "enumeration of 16 points"),
    (Injective(Layout((M, N))), "chain of strides, T2"),
    (Injective(Layout((M, N), (1, ld))), "small sizes"),
    (Injective(over(lambda i, j: (i + j, i - j), (M, N))), "z3"),
    (Injective(over(lambda i: (i % 4, i // 4), M)), "digits and quotients, T10, T18, T19"),
    (Bijective(Layout((M, N, 2), (2, 2, 1)), 2 * M * N, given=M <= 1), "counting, T7"),
    (InBounds(over(lambda i: i % 8, M), 8), "positivity, T9"),
    (FitsIn(Layout((M, 4), (4, 1)), bits=32), "corners of large sizes"),
    (FitsIn(M * N, bits=32), "z3"),
    (ConflictFree(Layout(32), 4, 4), "linear over GF(2), T16"),
    (Equal(Layout((M, N)), Layout(M * N)), "normal form, T17"),
]


@pytest.mark.parametrize("claim, method", METHODS, ids=str)
def test_methods_come_in_order(claim, method):
    assert decide(claim, QUICK).method.startswith(method)


def test_a_witness_of_small_sizes_is_the_least(share):
    """No admissible sizes with a smaller sum, of numbers up to 5, fail too."""
    r = random.Random(7)
    holds = {row.kind: row.holds for row in ROWS}
    seen = 0
    for _ in range(share(500)):
        claim = random_symbolic(r)
        v = decide(claim, QUICK)
        if v.outcome is not Outcome.REFUTED or v.method != "small sizes":
            continue
        facts = Facts.about(claim.parameters(), given=claim.given)
        total = sum(v.witness.sizes.values())
        choices = [[n for n in range(1, 6) if n % s.multiple == 0] for s in facts.symbols]
        for sizes in itertools.product(*choices):
            env = dict(zip(facts.symbols, sizes, strict=True))
            if sum(sizes) < total and facts.admits(env):
                assert holds[type(claim)](claim, {s.name: n for s, n in env.items()}), (v, env)
        seen += 1

    assert seen > share(100)


@pytest.mark.parametrize(
    "claim, coords",
    [
        (Injective(Layout((4, 4), (1, 3))), ((3, 0), (0, 1))),
        (InBounds(Layout((4, 4), (1, 4)), 10), ((2, 2),)),
        (Bijective(Layout((4, 4), (1, 2)), 16), ((2, 0), (0, 1))),
        (Equal(Layout(8), Layout((4, 2), (1, 5))), (4,)),
        (Aligned(Layout((4, 4), (4, 2)), 4), ((0, 1),)),
    ],
    ids=str,
)
def test_a_witness_on_numbers_is_the_first(claim, coords):
    assert decide(claim, QUICK).witness.coords == coords


def test_repairs_repair_and_exclude_the_witness(share):
    r, count = random.Random(9), share(300)
    kinds = ("Aligned", "Bijective", "FitsIn", "Holds", "InBounds", "Injective", "Vectorizable")  # that have repairs
    rows = [row for row in ROWS if row.name in kinds]
    repaired = 0
    for _ in range(count):
        claim = stated(r.choice(rows).symbolic, r)
        report = prove(claim, budget=Budget(solver_ms=1000))
        v = report.verdicts[0]
        if not v.repairs:
            assert not v.condition or v.outcome is not Outcome.REFUTED
            continue
        repaired += 1
        assert prove(claim, given=v.repairs), (v, v.repairs)
        assert not all(f.subs(v.witness.sizes).value for f in v.repairs), (v, v.repairs)

    assert repaired > count // 5


def test_weakest_means_that_the_next_weaker_fails():
    for claim, weaker in (
        (FitsIn(Layout((M, 4), (4, 1)), bits=32), M <= 2**29 + 1),
        (Injective(Layout((M, N), (1, ld))), ld >= M - 1),
        (Aligned(Layout((M, K), (K, 8)), 16, 2), K.multiple_of(4)),
    ):
        assert "the weakest condition of this form" in decide(claim, Budget()).condition
        assert not prove(claim, given=[weaker])


# -- obligations ----------------------------------------------------------------------------------------------


def test_obligations_of_every_subject_are_in_the_report():
    tiled = zipped_divide(Layout((M, N), (N, 1)), (64, 32))
    outcomes = [v.outcome for v in prove(Injective(tiled)).verdicts]

    assert len(outcomes) == 3
    assert outcomes[1:] == [Outcome.REFUTED] * 2
    assert not prove(Injective(tiled))
    assert prove(Injective(tiled), given=[M.multiple_of(64), N.multiple_of(32)])
    assert len(prove(Equal(tiled, tiled)).verdicts) == 3
    assert len(prove(Injective(ComposedLayout(Swizzle(2, 0, 2), 0, tiled))).verdicts) == 3


def test_an_obligation_is_refuted_at_sizes_that_fail_it():
    v = prove(Injective(composition(Layout((M, 4), (1, M)), Layout(8)))).verdicts[1]

    assert v.outcome is Outcome.REFUTED
    assert v.witness.sizes == {"M": 1}


# -- expectations, assumptions ------------------------------------------------------------------------------


@pytest.mark.parametrize("expect", ["proved", "refuted", "unknown", "vacuous"])
def test_expect_changes_what_counts_and_not_what_is_found(expect):
    claims = {
        "proved": Injective(Layout((M, N)), expect=expect),
        "refuted": Injective(Layout((M, N), (1, 1)), expect=expect),
        "vacuous": Injective(Layout((M, N)), given=[M <= 0], expect=expect),
        "unknown": Injective(over(lambda i: i ^ 8, ENDLESS), expect=expect),
    }
    for outcome, claim in claims.items():
        v = decide(claim, QUICK)
        assert (v.outcome.value, v.as_expected) == (outcome, outcome == expect)
        assert bool(Report((v,))) is (outcome == "proved")
        assert Report((v,)).as_expected is (outcome == expect)


def test_given_to_prove_and_to_the_claim_are_one():
    claim = Injective(Layout((M, N), (1, ld)))

    assert prove(claim, given=[ld >= M])
    assert prove(Injective(Layout((M, N), (1, ld)), given=ld >= M))
    assert prove([claim, [claim, (claim,)]], given=[ld >= M, N >= 2])
    assert not prove(Injective(Layout((M, N), (1, ld)), given=[ld >= M - 1]), given=[N >= 1])


@pytest.mark.parametrize(
    "given",
    [
        5,
        True,
        "M >= 2",
        [None],
        [M >= 2, True],
        [[M >= 2]],
    ],
    ids=str,
)
def test_what_is_no_assumption_is_refused(given):
    for make in (lambda: prove(Injective(Layout(M)), given=given), lambda: Injective(Layout(M), given=given)):
        with pytest.raises(SymlayoutError, match=r"expected .* got"):
            make()


def test_one_fact_may_stand_alone():
    assert prove(Injective(Layout((M, N), (1, ld))), given=ld >= M)


@pytest.mark.parametrize(
    "given, core",
    [
        ([M >= 5, N >= 2, M <= 4], "no sizes meet M >= 5 and M <= 4"),
        ([M >= 2**31], "no sizes meet M <= 2147483647 and M >= 2147483648"),
        ([M.multiple_of(4), (M + 2).multiple_of(4)], "no sizes meet"),
        ([eq(2 * M, 2 * N + 1)], "no sizes meet"),
        ([eq(M, N), M >= N + 1], "no sizes meet"),
        ([M * N <= 3, M >= 2, N >= 2], "no sizes meet"),
    ],
    ids=str,
)
def test_contradicting_assumptions_are_vacuous(given, core):
    v = decide(Injective(Layout((M, N)), given=given), QUICK)

    assert v.outcome is Outcome.VACUOUS
    assert core in v.reason


def test_a_multiple_outside_its_range_is_vacuous():
    assert decide(Injective(Layout(dim("P", at_most=7, multiple_of=8))), QUICK).outcome is Outcome.VACUOUS
    assert decide(Injective(Layout(dim("P", at_most=8, multiple_of=8))), QUICK).outcome is Outcome.PROVED


def test_a_proof_says_where_no_sizes_are_known():
    """M/N is no square root of 2, which neither small sizes nor the solver show."""
    v = decide(Injective(Layout((M, N)), given=[eq(M * M, 2 * N * N)]), Budget(repairs=False, solver_ms=200))

    assert v.outcome is Outcome.PROVED
    assert v.reason == "no sizes are known that meet the assumptions, and whether any do is open"
    assert decide(Injective(Layout((M, N)), given=[eq(M * M, 4 * N * N)]), QUICK).reason == ""


def test_an_empty_domain_is_not_vacuous():
    """A predicate that nothing meets contradicts no assumption; all that is said of no coordinate holds."""
    assert decide(InBounds(over(lambda i: i, M, when=lambda i: i < 0), 1), QUICK).outcome is Outcome.PROVED


# -- divisors that cancel -------------------------------------------------------------------------------------

z = dim("z", at_least=0)


@pytest.mark.parametrize(
    "make, divisor",
    [
        (lambda given: Injective(over(lambda i: i * z // z, M), given=given), "z"),
        (lambda given: Injective(over(lambda i: i * z // z * 0, M), given=given), "z"),
        (lambda given: Injective(over(lambda i: i + z % z, M), given=given), "z"),
        (lambda given: Injective(over(lambda i: i // z * z + i % z, M), given=given), "z"),
        (lambda given: Injective(over(lambda i: i, M, when=lambda i: i * z // z < 4), given=given), "z"),
        (lambda given: InBounds(Layout((8, 8)), 64, when=lambda i, j: i * z // z < 4, given=given), "z"),
        (lambda given: InBounds(over(lambda i: i, 8), 8, when=lambda i: i * z // z < 4, given=given), "z"),
        (lambda given: InBounds(over(lambda i: i + ceil_div(z, z), 8), 9, given=given), "z"),
        (lambda given: Equal(over(lambda i: i * (N - 1) // (N - 1), M), over(lambda i: i, M), given=given), "N - 1"),
        (lambda given: FitsIn(over(lambda i: i * z // z, M).subs({M: 8}), given=given), "z"),
    ],
)
def test_a_divisor_counts_where_it_cancels(make, divisor):
    v = decide(make(()), QUICK)

    assert v.outcome is Outcome.UNKNOWN
    assert v.reason.startswith(f"expected a divisor of at least 1, got {divisor} in the code of")
    assert "the code of" not in str(decide(make([z >= 1, N >= 2]), QUICK))


def test_divisors_of_numbers_count_too():
    zero = over(lambda i: i * z // z * 0, M).subs({z: 0, M: 8})
    guarded = over(lambda i: i * (4 - i) // (4 - i), 8, when=lambda i: i < 4)
    bare = over(lambda i: i * (4 - i) // (4 - i), 8)

    assert decide(Injective(zero), QUICK).reason == f"expected a divisor of at least 1, got 0 in the code of {zero}"
    assert decide(Injective(guarded), QUICK).outcome is Outcome.PROVED
    assert decide(Injective(bare), QUICK).outcome is Outcome.UNKNOWN
    for x in (zero, bare):
        with pytest.raises(ZeroDivisionError, match="expected divisors of at least 1"):
            x.table()


# -- unknown --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "claim",
    [
        Injective(over(lambda i: i ^ 8, ENDLESS)),
        FitsIn(over(lambda i: (i ^ 8) * i, M), bits=63),
        ConflictFree(over(lambda lane, i: lane ^ i, (32, M)), 4, 4),
        InBounds(over(lambda i: i // (N - 1), M), M),
        Surjective(over(lambda i: i * i // M, M), 1),
    ],
    ids=str,
)
def test_unknown_carries_its_open_lemma_and_the_reason(claim):
    v = decide(claim, Budget(solver_ms=50))

    assert v.outcome is Outcome.UNKNOWN
    assert v.open
    assert v.reason
    assert v.certificate is None
    assert v.witness is None


def test_checked_up_to_a_bound_is_not_proved():
    """A failure that only starts at M = 5000, where no small size and no corner looks."""
    claim = InBounds(over(lambda i: i + i // 4999 * M, M), 2 * M - 4999)

    assert decide(claim, Budget(solver_ms=50)).outcome is not Outcome.PROVED


# -- repeating ------------------------------------------------------------------------------------------------

SCRIPT = """
from benchmarks.soundness.layouts import ROWS, random_symbolic
from benchmarks.soundness.row import stated
from checkers import prove
import random
r = random.Random(5)
print(*(prove(random_symbolic(r)) for _ in range(25)), sep="\\n")
"""


def test_verdicts_repeat_in_other_processes():
    """The order of sets differs between these two."""
    root = Path(__file__).parents[2]
    said = [
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(root)},
            cwd=root,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]

    assert said[0] == said[1]


def test_verdicts_repeat_with_other_claims_between():
    claims = [c for c, _ in METHODS]
    alone = [str(decide(c, QUICK)) for c in claims]
    order = random.Random(3).sample(range(len(claims)), len(claims))

    assert [str(decide(claims[i], QUICK)) for i in order] == [alone[i] for i in order]


def test_a_report_survives_json():
    report = prove([c for c, _ in METHODS], budget=Budget(solver_ms=300))
    data = json.loads(report.to_json())

    assert data["schema"] == SCHEMA
    assert [v["outcome"] for v in data["verdicts"]] == [v.outcome.value for v in report.verdicts]
    assert [v["claim"] for v in data["verdicts"]] == [str(v.claim) for v in report.verdicts]
    for stored, v in zip(data["verdicts"], report.verdicts, strict=True):
        if v.certificate is not None:
            verify(stored["certificate"])
        if v.witness is not None:
            assert stored["witness"]["sizes"] == dict(v.witness.sizes)


# -- time -----------------------------------------------------------------------------------------------------


def test_many_modes_are_quick():
    sizes = dims("A B C D E2 F G")
    strides = [1]
    for s in sizes[:-1]:
        strides.append(strides[-1] * s)
    with within(8):
        assert prove(Injective(Layout(sizes, tuple(strides))))
        assert prove(Bijective(Layout(sizes[::-1], tuple(strides[::-1])), strides[-1] * sizes[-1]))
        assert not prove(Injective(Layout(sizes, (*strides[:-1], strides[-1] - 1))))


@pytest.mark.parametrize(
    "claim",
    [
        Bijective(Layout(4), 10**30),
        Surjective(Layout(4), 10**30),
        Injective(Layout((4096, 4096, 2), (1, 4096, 8388608))),
        Equal(Layout((2**20, 2**20)), Layout((2**20, 2**20), (2**20, 1))),
        Covers(over(lambda b: b, 2**40), 2**41, 2),
    ],
    ids=str,
)
def test_more_points_than_are_enumerated_is_quick_and_never_proved_wrongly(claim):
    with within(5):
        v = decide(claim, QUICK)

    assert (v.outcome is Outcome.PROVED) is isinstance(claim, Covers)


def test_around_the_limit_of_enumeration():
    """2^22 points are enumerated; one mode more and the verdict may stay open, but is never wrong."""
    assert decide(Injective(Layout((2048, 2048), (3, 2048))), QUICK).outcome is Outcome.PROVED
    assert decide(Injective(Layout((2048, 2048), (2, 2048))), QUICK).outcome is Outcome.REFUTED
    assert decide(Injective(Layout((2048, 2049), (3, 2048))), QUICK).outcome is not Outcome.REFUTED
    assert decide(Injective(Layout((2049, 2049), (2, 2048))), QUICK).outcome is not Outcome.PROVED
    assert decide(InBounds(Layout((4, ceil_div(2**23, 4))), 2**23 - 1), QUICK).outcome is Outcome.REFUTED
