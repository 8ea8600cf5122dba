"""Tensor maps proved legal for all sizes, and the conditions that make them so."""

from __future__ import annotations

import itertools

import pytest

import checkers
from checkers import TensorMapValid, prove
from symlayout import ClaimError, dim, dims
from symlayout.answers.report import Outcome
from symlayout.rules.tma import violations
from symlayout.tma import Im2col, TensorMap

M, N, K = dims("M N K")


def row_major(dtype, rows, columns, box, **more):
    """The map of a row-major (rows, columns) tensor."""
    size = TensorMap(dtype, 0, (1,), (), (1,)).element_bytes
    return TensorMap(dtype, 0, (columns, rows), (size * columns,), box, **more)


@pytest.mark.parametrize(
    "dtype, box, swizzle, condition",
    [
        ("bf16", (64, 128), 128, "K % 8 == 0"),
        ("f16", (64, 256), 128, "K % 8 == 0"),
        ("f32", (32, 64), 128, "K % 4 == 0"),
        ("f64", (16, 64), 128, "K % 2 == 0"),
        ("u8", (128, 64), 128, "K % 16 == 0"),
        ("e4m3", (128, 64), 128, "K % 16 == 0"),
    ],
)
def test_rows_must_be_a_multiple_of_16_bytes(dtype, box, swizzle, condition):
    a = TensorMapValid(row_major(dtype, M, K, box, swizzle=swizzle), name="A")

    report = prove(a)

    assert [v.outcome for v in report.verdicts] == [Outcome.REFUTED]
    assert report.verdicts[0].claim.rule.id == "stride_multiple_16"
    assert list(map(str, report.repairs)) == [condition]
    assert "weakest" in report.verdicts[0].condition
    assert prove(a, given=report.repairs)


def test_two_byte_rows_are_named_in_the_witness():
    [v] = prove(TensorMapValid(row_major("bf16", M, K, (64, 128)), name="A")).verdicts

    assert v.witness.sizes == {"K": 1, "M": 1}
    assert v.witness.story == "A: 2 (0*16 + 2) bytes in the stride of dimension 1, expected a multiple of 16"


def test_every_broken_rule_has_its_verdict():
    report = prove(TensorMapValid(row_major("bf16", M, K, (72, 300), swizzle=128, element_stride=(1, 9))))

    assert [v.claim.rule.id for v in report.verdicts] == [
        "stride_multiple_16",
        "element_stride_range",
        "box_range",
        "box_inner_span",
    ]
    assert all(v.outcome is Outcome.REFUTED for v in report.verdicts)


def test_a_symbolic_address_box_and_stride():
    address, ld, box = dim("A"), dim("ld"), dim("box")
    m = TensorMap("f16", address, (K, M), (ld,), (box, 64), swizzle=64)

    report = prove(TensorMapValid(m))

    assert {v.claim.rule.id: v.condition.partition(",")[0] for v in report.verdicts} == {
        "global_address_alignment": "A % 16 == 0",
        "stride_multiple_16": "ld % 16 == 0",
        "box_range": "box <= 256",
        "box_inner_multiple_16": "box % 8 == 0",
        "box_inner_span": "box <= 32",
        "box_fits_encode_limit": "box <= 1824",
    }
    assert prove(TensorMapValid(m), given=report.repairs)


def test_the_proof_lists_what_was_decided_and_its_certificate_verifies():
    report = prove(TensorMapValid(row_major("bf16", M, K, (64, 128))), given=[K.multiple_of(8)])
    [v] = report.verdicts

    assert v.method == "rule by rule"
    assert any("stride_multiple_16" in x for x in v.lemmas)
    checkers.verify(v.certificate)


def test_a_map_of_numbers_that_holds_needs_no_part():
    claim = TensorMapValid(row_major("bf16", 1024, 1024, (64, 128), swizzle=128))

    assert claim.parts() == ()
    assert prove(claim)


def test_an_expected_refutation_is_as_expected():
    claim = TensorMapValid(row_major("bf16", M, K, (64, 300)), expect="refuted")

    assert prove(claim).as_expected
    assert not prove(TensorMapValid(row_major("bf16", 64, 64, (64, 64)), expect="refuted")).as_expected


def test_an_im2col_box_is_empty_where_the_filter_is_wider_than_the_image():
    """Base positions of a 3x3 filter without padding: W - 2 of them."""
    W = dim("W", at_most=2**20)
    m = TensorMap("f16", 0, (64, W, 56, 8), (128, 128 * W, 7168 * W), im2col=Im2col((0, 0), (-2, -2), 64, 128))

    report = prove(TensorMapValid(m))

    assert [(v.claim.rule.id, v.condition.partition(",")[0]) for v in report.verdicts] == [
        ("im2col_box_nonempty", "W >= 3")
    ]
    assert prove(TensorMapValid(m), given=[W >= 3])


def test_a_tensor_ends_inside_its_allocation():
    """A padded matrix: the last row need not be whole."""
    ld = dim("ld", at_least=K, at_most=2**20, multiple_of=8)
    m = TensorMap("bf16", 0, (K, M), (2 * ld,), (64, 64))

    assert m.subs({M: 3, K: 8, ld: 16}).extent_bytes == 2 * 2 * 16 + 2 * 8
    assert prove(TensorMapValid(m, allocation_bytes=2 * ld * M))
    short = prove(TensorMapValid(m, name="A", allocation_bytes=2 * K * M))
    assert [v.outcome for v in short.verdicts] == [Outcome.REFUTED]
    assert "A: the " in str(short)
    assert prove(TensorMapValid(m, allocation_bytes=2 * ld * (M - 1) + 2 * K))
    assert not prove(TensorMapValid(m, allocation_bytes=2 * ld * (M - 1) + 2 * K - 1))


SIZES = [1, 2, 7, 8, 9, 16, 24, 100, 1000, 1024]


@pytest.mark.parametrize("dtype, box", [("bf16", (64, 128)), ("f32", (12, 30)), ("u8", (32, 3))])
def test_the_condition_is_exact_at_sampled_sizes(dtype, box):
    """The repair holds exactly where the rules accept the map of these numbers."""
    m = row_major(dtype, M, K, box)
    repairs = prove(TensorMapValid(m)).repairs

    for rows, columns in itertools.product(SIZES, SIZES):
        env = {M: rows, K: columns}
        assert all(f.subs(env).value for f in repairs) == (violations(m.subs(env)) == [])


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: TensorMapValid(5), "expected a tensor map"),
        (lambda: TensorMapValid(row_major("bf16", M, K, (64, 64)), profile="hopper"), "expected a profile"),
    ],
)
def test_bad_input(make, message):
    with pytest.raises(ClaimError, match=message):
        make()
