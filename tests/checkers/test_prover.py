"""Verdicts: what they say, what they rest on, and that they repeat."""

from __future__ import annotations

import json

import pytest

from checkers import (
    Aligned,
    Bijective,
    Budget,
    Claim,
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
    prove,
    verify,
)
from checkers.cache import Cache, key_of
from symlayout import ComposedLayout, E, Layout, Swizzle, ceil_div, dim, dims, eq, tile_to_shape, zipped_divide
from symlayout.address_map import AddressMap
from symlayout.answers.report import Outcome
from symlayout.errors import AssumptionError, ClaimError
from symlayout.kernels import tma_copy
from symlayout.ops import WaitGroup

M, N, K = dims("M N K")
ld, lda, ldm = dim("ld"), dim("lda"), dim("ldm", at_least=M)

PROVED = [
    Injective(Layout((M, N), (1, ldm))),
    Injective(Layout((M, N, K), (N * K, K, 1))),
    Injective(Layout((3, 2), (2, 3))),
    Injective(ComposedLayout(Swizzle(3, 4, 3), 0, Layout((M, 8), (64, 8)))),
    Injective(AddressMap.over(lambda i, j: (i, i + j), (M, N))),
    Bijective(Layout((M, N), (E(1), E(0))), (N, M)),
    Bijective(tile_to_shape(Layout((8, 8), (8, 1)), (8 * M, 8 * N)), 64 * M * N),
    Surjective(Layout((4, M), (1, 3)), 3 * M + 1),
    InBounds(Layout((M, N), (1, ldm)), ldm * N),
    InBounds(Layout((128, ceil_div(M, 128)), (1, 128)), M, when=lambda r, t: r + 128 * t < M),
    FitsIn(Layout((dim("R", at_most=2**29), 4), (4, 1)), bits=32),
    FitsIn(Layout((4, 8), (-8, 1)), bits=6),
    Partition(Layout((128, (64, 16)), (0, (1, 64))), 1024, copies=128),
    Multiplicity(Layout((M, 32, N), (1, 0, M)), copies=32),
    Aligned(Layout((M, 8 * K), (16 * K, 8)), to_bytes=16, element_bytes=2),
    Vectorizable(Layout((8 * K, M), (1, 8 * K)), elements=8),
    Equal(Layout((8, M), (1, ld)), Layout((2, 4, M), (1, 2, ld))),
    Covers(AddressMap.over(lambda b: (b % M, b // M), (M * N,)), (M, N)),
    ConflictFree(ComposedLayout(Swizzle(3, 3, 3), 0, Layout((8, 8), (64, 8))), 2, 16),
    Holds(M * N >= M),
    Holds((8 * M * N).multiple_of(4)),
]

REFUTED = [
    (Injective(Layout((M, N), (1, lda))), "lda = 1: coordinates (1,0) and (0,1) both map to 1", "lda >= M"),
    (Bijective(Layout((6, 4), (4, 1)), 25), "no coordinate maps to 24", ""),
    (Surjective(Layout((M, 4), (2, 0)), M), "M = 2: no coordinate maps to 1", ""),
    (InBounds(Layout((64, ceil_div(M, 64)), (1, 64)), M), "M = 1: coordinate (1,0) maps to 1", "M % 64 == 0"),
    (FitsIn(Layout((M, 4), (4, 1)), bits=32), "M = 536870913: coordinate (536870912,0)", "M <= 536870912"),
    (FitsIn(Layout((M, 4), (4, 1)), bits=32, unit_bytes=2), "byte 2147483648", "M <= 268435456"),
    (Aligned(Layout((M, K), (K, 1)), 16, 16), "", ""),
    (Aligned(Layout((M, 8), (K, 8)), 16, 2), "K = 1, M = 2: coordinate (1,0) is at byte 2", "K % 8 == 0"),
    (Vectorizable(Layout((K, M), (1, K)), 8), "the size is 1, which 8 does not divide", "K % 8 == 0"),
    (Equal(Layout((M, N), (1, M)), Layout((M, N), (1, ld))), "index 1: 1 at (0,1), but 2 at (0,1)", "M == ld"),
    (Multiplicity(Layout((32, 8), (0, 1)), 16), "value 0 belongs to 32 coordinates, not 16", ""),
    (ConflictFree(Layout((8, 8), (64, 8)), 2, 16), "8-way: lanes 0, 1, 2, 3, 4, 5, 6, 7 on bank 0", ""),
    (Holds(M >= N), "it falls short by 1", "M >= N"),
]


@pytest.mark.parametrize("claim", PROVED, ids=str)
def test_proved_for_all_sizes(claim):
    report = prove(claim)

    assert report, report
    for certificate in report.certificates:
        verify(json.loads(json.dumps(certificate)))


@pytest.mark.parametrize("claim, story, condition", [r for r in REFUTED if r[1]], ids=lambda x: str(x)[:60])
def test_refuted_with_the_smallest_story_and_its_repair(claim, story, condition):
    report = prove(claim)

    assert report.verdicts[0].outcome is Outcome.REFUTED
    assert story in str(report)
    assert condition in report.verdicts[0].condition
    if condition:
        assert prove(claim, given=report.repairs)


def test_a_repair_of_several_claims_holds_for_all_of_them():
    claims = [
        Injective(zipped_divide(Layout((M, N), (N, 1)), (64, 32))),
        Aligned(Layout((M, N), (N, 8)), to_bytes=16, element_bytes=2),
    ]
    repairs = prove(claims).repairs

    assert set(map(str, repairs)) == {"M % 64 == 0", "N % 32 == 0"}
    assert prove(claims, given=repairs)


def test_a_vacuous_claim_names_the_facts_that_clash():
    (v,) = prove(Injective(Layout((M, N), (1, M))), given=[M >= 4, N >= 2, M <= 3]).verdicts

    assert v.outcome is Outcome.VACUOUS
    assert v.reason == "no sizes meet M >= 4 and M <= 3"


def test_an_assumption_that_no_claim_needs_is_named():
    report = prove(Injective(Layout((M, N), (1, ld))), given=[ld >= M, N >= 2])

    assert report
    assert report.notes == ("assumed, but no claim needs it: N >= 2",)


def test_unknown_says_what_is_missing_and_how_far_it_was_tried(tmp_path):
    budget = Budget(solver_ms=20, dump_smt=str(tmp_path))
    (v,) = prove(Injective(AddressMap.over(lambda b: b * b * K + b * (K * K - K), (M,))), budget=budget).verdicts

    if v.outcome is Outcome.UNKNOWN:  # a quicker solver may close it
        assert v.open
        assert "small sizes" in v.checked
        assert [f.suffix for f in tmp_path.iterdir()] == [".smt2"]


def test_an_expected_refutation_is_as_expected_and_no_proof():
    report = prove(Injective(Layout((4, 4), (1, 2)), expect="refuted"))

    assert report.as_expected
    assert not report


def test_no_claims_are_no_proof():
    assert not prove()


def test_a_verdict_has_no_truth_value():
    with pytest.raises(TypeError, match=r"expected verdict.outcome to be compared"):
        bool(prove(PROVED[0]).verdicts[0])


def test_verdicts_repeat_in_any_order_of_claims():
    claims: list[Claim] = [*PROVED, *(r[0] for r in REFUTED)]
    once = {str(c): [str(v) for v in prove(c).verdicts] for c in claims}

    assert {str(c): [str(v) for v in prove(c).verdicts] for c in reversed(claims)} == once


def test_two_symbols_of_one_name_do_not_meet():
    with pytest.raises(AssumptionError, match="expected one set of facts for M, got two"):
        prove(Injective(Layout((M, dim("M", multiple_of=8)), (1, M))))


@pytest.mark.parametrize(
    "make",
    [
        lambda: Injective("(4,8)"),
        lambda: Injective(Layout(4), given=[M == N]),
        lambda: Injective(Layout(4), expect="true"),
        lambda: FitsIn(Layout(4), bits=0),
        lambda: ConflictFree(Layout((8, 8)), element_bytes=2, width_bytes=3),
        lambda: Covers(Layout((4, 4)), (4, 4), tile=(1, 1, 1)),
        lambda: prove("a layout"),
        lambda: prove(Injective(Layout(M)), given=[True]),
        lambda: Holds(True),
    ],
)
def test_what_is_no_claim_is_refused(make):
    with pytest.raises((ClaimError, AssumptionError), match=r"expected .* got"):
        make()


def test_divisors_are_shown_to_be_at_least_one():
    zero = dim("zero", at_least=0)
    (v,) = prove(InBounds(AddressMap.over(lambda i: i // zero, (M,)), M)).verdicts

    assert v.outcome is Outcome.UNKNOWN
    assert "expected a divisor of at least 1, got zero in i//zero" in v.reason


def test_equalities_and_congruences_are_assumptions_too():
    assert prove(Injective(Layout((M, N), (1, ld))), given=[eq(ld, M + 3)])
    assert prove(Aligned(Layout((M, 2), (N, 8)), 16, 2), given=[(N + 8).multiple_of(8)])
    assert not prove(Aligned(Layout((M, 2), (N, 8)), 16, 2), given=[(N + 4).multiple_of(8)])


def test_a_cached_verdict_is_the_same_verdict(tmp_path):
    cache = Cache(tmp_path / "verdicts.sqlite")
    claim = PROVED[0]
    first = prove(claim, cache=cache)
    again = prove(claim, cache=Cache(tmp_path / "verdicts.sqlite"))

    assert str(again) == str(first)
    assert again.certificates == json.loads(json.dumps(first.certificates)) or again.certificates == first.certificates
    assert cache.hits == 0


@pytest.mark.parametrize(
    "claim",
    [
        Injective(Layout((M, N), (1, ld))),
        Aligned(Layout((M, 2), (N, 8)), 16, 2),
        FitsIn(Layout((M, 4), (4, 1)), bits=16),
        InBounds(Layout((M, 8)), M * N),
    ],
    ids=str,
)
def test_a_cached_refutation_keeps_its_repairs(claim, tmp_path):
    first = prove(claim, cache=Cache(tmp_path / "verdicts.sqlite"))
    cache = Cache(tmp_path / "verdicts.sqlite")
    again = prove(claim, cache=cache)

    assert cache.hits == 1
    assert again.repairs == first.repairs != ()
    assert str(again) == str(first)


def test_the_cache_tells_claims_apart():
    wide = dim("M", at_most=2**40)
    claims = [*PROVED, Injective(Layout((wide, N), (1, wide))), Injective(Layout((M, N), (1, M)))]
    keys = {key_of(c, Budget(), "z3") for c in claims}

    assert len(keys) == len(claims)
    assert key_of(claims[0], Budget(), "z3") != key_of(claims[0], Budget(solver_ms=1), "z3")


def test_the_cache_tells_kernels_apart(tmp_path):
    rows, columns = dims("M N", multiple_of=4)
    kernel = tma_copy(rows, columns, tile=(16, 64), slots=2, blocks=2)
    early = kernel.edited(lambda op: () if isinstance(op, WaitGroup) and op.read else (op,))
    cache = Cache(tmp_path / "verdicts.sqlite")

    budget = Budget(repairs=False)
    assert prove(kernel, budget=budget, cache=cache)
    assert not prove(early, budget=budget, cache=cache)
    assert prove(kernel, budget=budget, cache=cache)


def test_a_damaged_cache_is_no_reason_to_fail(tmp_path):
    path = tmp_path / "verdicts.sqlite"
    path.write_bytes(b"not a database" * 100)

    assert prove(PROVED[0], cache=Cache(path))


@pytest.mark.parametrize("levels", [5, 10])
def test_quotients_of_quotients_are_proved_with_certificates(levels):
    x = M
    for i in range(levels):
        x = (x // 3 + N) % (50 - i)

    for claim in (Holds(x >= 0), InBounds(AddressMap.over(lambda i: i, 51 - levels), 51 - levels, given=[x >= 0])):
        (v,) = prove(claim).verdicts
        assert v.outcome is Outcome.PROVED
        verify(v.certificate)
    assert prove(Holds(x <= 40 - levels), budget=Budget(repairs=False)).verdicts[0].outcome is Outcome.REFUTED


@pytest.mark.parametrize(
    "claim, condition",
    [
        (Injective(Layout((ceil_div(M, 64) * 64, N), (1, ld)), given=[M.multiple_of(64)]), "ld >= M, the weakest"),
        (Injective(Layout((ceil_div(M, 64) * 64, N), (1, ld))), "ld >= 64*ceil(M/64), the weakest"),
        (InBounds(Layout((M // 8, 8), (8, 1)), ld, given=[M.multiple_of(8)]), "ld >= M, the weakest"),
        (InBounds(Layout((M // 8, 8), (8, 1)), ld), "ld >= 8*(M//8), the weakest"),
        (InBounds(Layout((M // 8, N), (N, 1)), ld, given=[M.multiple_of(16)]), "ld >= N*(M//8), the weakest"),
    ],
    ids=str,
)
def test_a_condition_is_read_under_what_is_assumed(claim, condition):
    (v,) = prove(claim).verdicts

    assert v.condition.startswith(condition)
    assert prove(claim, given=v.repairs)
