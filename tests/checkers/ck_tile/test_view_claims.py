"""Claims about views: proofs for all sizes with certificates, refutations with the stated index, repairs."""

from __future__ import annotations

import time

import pytest

from checkers import (
    GuaranteedVectorLength,
    InBounds,
    LdsConflictDegree,
    MaskIsExactly,
    MovingEqualsMaking,
    NoInvalidAccess,
    VectorDoesNotStraddle,
    prove,
    verify,
    view_claims,
)
from symlayout import ClaimError, Layout, dim, dims
from symlayout.address_map import AddressMap
from symlayout.answers.report import Outcome
from symlayout.banks import CDNA_READ_B128, Access
from symlayout.ck_tile import (
    make_indexing_transform,
    make_left_pad_transform,
    make_merge_transform,
    make_modulo_transform,
    make_naive_tensor_descriptor,
    make_naive_tensor_descriptor_packed,
    make_naive_tensor_descriptor_with_offset,
    make_naive_tensor_view,
    make_naive_tensor_view_packed,
    make_pad_transform,
    make_pass_through_transform,
    make_right_pad_transform,
    make_slice_transform,
    make_unmerge_transform,
    make_xor_transform,
    pad_tensor_view,
    slice_tensor_view,
    transform_tensor_descriptor,
)
from tests.support.ck_views import BOTH, im2col, lds_tile, padded_gemm, predicate_of_im2col

M, K, N, C = dims("M K N C")


def verdict(claim, **options):
    return prove(claim, **options).verdicts[0]


def story(claim, **options):
    found = verdict(claim, **options)
    assert found.outcome is Outcome.REFUTED, str(found)
    return found.witness.story


def is_proved(claim, certified=True, **options):
    report = prove(claim, **options)
    if certified:
        assert all(v.certificate is not None for v in report.verdicts if v.outcome is Outcome.PROVED), str(report)
    for v in report.verdicts:
        if v.certificate is not None:
            verify(v.certificate)
    return bool(report)


# -- proofs for all sizes -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "claim",
    [
        lambda: NoInvalidAccess(padded_gemm()),
        lambda: NoInvalidAccess(padded_gemm(), elements=8, given=[K.multiple_of(8)]),
        lambda: VectorDoesNotStraddle(padded_gemm(), 8, given=[K.multiple_of(8)]),
        lambda: GuaranteedVectorLength(padded_gemm(), 8, given=[K.multiple_of(8)]),
        lambda: NoInvalidAccess(im2col()),
        lambda: NoInvalidAccess(im2col(), elements=8, given=[C.multiple_of(8)]),
        lambda: GuaranteedVectorLength(im2col(), 8, given=[C.multiple_of(8)]),
    ],
    ids=["gemm", "gemm vectors", "gemm straddle", "gemm guarantee", "im2col", "im2col vectors", "im2col guarantee"],
)
def test_views_are_proved_for_all_sizes_with_a_certificate(claim):
    made = claim()
    spent = time.process_time()

    assert is_proved(made)
    assert time.process_time() - spent < 1  # tens of milliseconds; the benchmark has the figure


@pytest.mark.parametrize(
    "claim",
    [
        lambda: MaskIsExactly(padded_gemm(), lambda i, k: (i < M, k < K)),
        lambda: MaskIsExactly(im2col(), predicate_of_im2col),
        lambda: MovingEqualsMaking(padded_gemm()),
        lambda: MovingEqualsMaking(im2col()),
        lambda: MovingEqualsMaking(lds_tile(128, 32, 8)),
    ],
    ids=["gemm mask", "im2col mask", "gemm moves", "im2col moves", "lds moves"],
)
def test_views_are_proved_for_all_sizes_by_their_form(claim):
    assert is_proved(claim(), certified=False)


def test_a_mask_in_other_words_needs_a_proof():
    view = padded_gemm()

    assert is_proved(MaskIsExactly(view, lambda i, k: (2 * i < 2 * M - 1, K - k >= 1)))
    assert is_proved(MaskIsExactly(view, lambda i, k: (i < M, k < K, i >= 0, k <= 2 * K)))


def test_a_mask_through_a_merge_is_seen_by_digits():
    d = transform_tensor_descriptor(
        make_naive_tensor_descriptor_packed((M, K)),
        (make_right_pad_transform(M, 5), make_pass_through_transform(K)),
        BOTH,
        BOTH,
    )
    d = transform_tensor_descriptor(d, (make_merge_transform((M + 5, K)),), ((0, 1),), ((0,),))

    assert is_proved(MaskIsExactly(d, lambda x: x < M * K))
    assert is_proved(NoInvalidAccess(d))


# -- refutations ----------------------------------------------------------------------------------------------


def test_an_unmasked_overhang_is_refuted_with_its_index_and_a_repair():
    found = verdict(NoInvalidAccess(padded_gemm(pads=(True, True)).descriptor.subs({"K": 64}), M * 64 - 1))
    unpadded = make_naive_tensor_view(None, (M, 64), (64, 1))
    rows = transform_tensor_descriptor(
        unpadded.descriptor,
        (make_pad_transform(M, 0, -M % 128, True), make_pass_through_transform(64)),
        BOTH,
        BOTH,
    )
    skipped = verdict(NoInvalidAccess(rows))

    assert found.outcome is Outcome.REFUTED
    assert skipped.witness.story == "index (1,0) has offset 64, in a buffer of 64"
    assert str(skipped.repairs) == "(M % 128 == 0,)"
    assert "a pad masks what lies outside" in skipped.condition


def test_a_vector_at_the_end_of_a_buffer_is_refuted():
    view = make_naive_tensor_view_packed(None, (K,))

    assert story(NoInvalidAccess(view, K - 1)) == "index 0 has offset 0, in a buffer of 0"
    assert story(NoInvalidAccess(view, size=10, given=[K <= 11])) == "index 10 has offset 10, in a buffer of 10"
    d = make_naive_tensor_descriptor((4, 8), (8, 1))
    assert story(NoInvalidAccess(d, 31, elements=4)) == "index (3,4) has offsets 28 .. 31, in a buffer of 31"


def test_the_last_vector_may_reach_past_its_dimension():
    d = make_naive_tensor_descriptor((2, 10), (10, 1))

    assert story(NoInvalidAccess(d, elements=4)) == "index (1,8) has offsets 18 .. 21, in a buffer of 20"
    assert is_proved(NoInvalidAccess(d, 22, elements=4))
    assert is_proved(NoInvalidAccess(d, elements=5))


def test_a_24_bit_unmerge_is_no_run_across_its_cut():
    """Vectors of 3 from multiples of 3 on meet index 2^24, of which the low 24 bits are 0; vectors of 2 do not."""
    n = 3 << 23
    d = transform_tensor_descriptor(
        make_naive_tensor_descriptor_packed((4 * n,)), (make_unmerge_transform((n, 4), True),), ((0,),), ((0, 1),)
    )

    assert (d((2**24 - 1, 0)), d((2**24, 0))) == (4 * (2**24 - 1), 0)
    assert "lane 1 at (16777216,0) has 0 instead of 67108864" in story(GuaranteedVectorLength(d, 3, 0, 4))
    assert is_proved(GuaranteedVectorLength(d, 2, 0, 4))
    assert is_proved(GuaranteedVectorLength(d, 4, 1, 1))


def test_an_offset_is_not_counted_in_the_space():
    d = make_naive_tensor_descriptor_with_offset((3, 4), (4, 1), 5)

    assert story(NoInvalidAccess(d)) == "index (2,0) has offset 13, in a buffer of 12"
    assert is_proved(NoInvalidAccess(d, 17))


def test_a_mask_that_is_not_exact_says_which_way():
    view = padded_gemm((128, 64), (True, False))

    assert (
        story(MaskIsExactly(view, lambda i, k: i <= M)) == "at index (1,0) the mask drops it, and the predicate holds"
    )
    admitted = story(MaskIsExactly(view, lambda i, k: (i < M, i >= 1)))
    assert admitted == "at index (0,0) the mask admits it, and the predicate does not"
    found = verdict(MaskIsExactly(padded_gemm(), lambda i, k: i < M))
    assert str(found.repairs) == "(K % 64 == 0,)"


def test_a_straddling_vector_names_its_lane_and_the_weakest_repair():
    found = verdict(VectorDoesNotStraddle(padded_gemm(), 8))

    assert found.witness.story == "the vector at index (0,0) is valid, its lane 1 at (0,1) is masked"
    assert str(found.repairs) == "(K % 8 == 0,)"
    assert "the weakest condition of this form" in found.condition


def test_a_vector_longer_than_a_row():
    d = make_naive_tensor_descriptor((4, 10), (10, 1))

    assert story(VectorDoesNotStraddle(d, 4)) == "the vector at index (0,8) ends at 11, past 9"


@pytest.mark.parametrize(
    "transform, words",
    [
        (make_modulo_transform(4, 10), "moved from 1 to 0, dimension 0 has index -1 instead of 0"),
        (make_indexing_transform(4, (3, 0, 2, 1)), "moved from 1 to 0, dimension 0 has index 0 instead of 3"),
    ],
    ids=["modulo", "indexing"],
)
def test_transforms_that_do_not_move(transform, words):
    d = transform_tensor_descriptor(make_naive_tensor_descriptor_packed((4,)), (transform,), ((0,),), ((0,),))

    assert story(MovingEqualsMaking(d)) == words


def test_a_24_bit_unmerge_does_not_move_backwards():
    d = transform_tensor_descriptor(
        make_naive_tensor_descriptor_packed((18,)), (make_unmerge_transform((3, 6), True),), ((0,),), ((0, 1),)
    )

    assert "dimension 0 has index" in story(MovingEqualsMaking(d))


# -- guarantees -----------------------------------------------------------------------------------------------


def guaranteed(transforms, lower, upper, lengths, length):
    strides = [1]
    for n in reversed(lengths[1:]):
        strides.insert(0, strides[0] * n)
    d = make_naive_tensor_descriptor(lengths, strides, length, 1)
    return transform_tensor_descriptor(d, transforms, lower, upper)


def test_guarantees_that_hold_are_proved():
    swap = guaranteed((make_pass_through_transform(6), make_pass_through_transform(8)), BOTH, ((1,), (0,)), (6, 8), 8)

    assert is_proved(GuaranteedVectorLength(make_naive_tensor_descriptor((M, 8), (8, 1), 8, 1)))
    assert is_proved(GuaranteedVectorLength(swap, along=0))
    assert is_proved(GuaranteedVectorLength(guaranteed((make_merge_transform((6, 8)),), ((0, 1),), ((0,),), (6, 8), 8)))
    assert is_proved(GuaranteedVectorLength(lds_tile(128, 32, 8)))
    sliced = slice_tensor_view(make_naive_tensor_view(None, (M, K), (K, 1)), (0, 3), (M, 3 + 8 * N)).descriptor
    assert is_proved(GuaranteedVectorLength(sliced, 8, 1, 1, given=[K >= 3 + 8 * N]))


def test_a_merge_whose_rows_go_on_is_contiguous_all_the_same():
    """No run stays in a row, and the rows follow one another: the offset is the index."""
    d = guaranteed((make_merge_transform((6, 6)),), ((0, 1),), ((0,),), (6, 6), 4)

    assert is_proved(GuaranteedVectorLength(d), certified=False)


def test_stride_and_length_may_be_asked_for():
    d = make_naive_tensor_descriptor((4, 8), (1, 4))

    assert is_proved(GuaranteedVectorLength(d, elements=4, along=1, stride=4))
    assert story(GuaranteedVectorLength(d, elements=4, along=1, stride=1)).endswith("at (0,1) has 4 instead of 1")
    with pytest.raises(ClaimError, match="none guaranteed along -1"):
        GuaranteedVectorLength(d)


# -- LDS ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("banks", [32, 64])
def test_conflicts_by_banks_and_phases(banks):
    rows = Layout((64, 4), (32, 8))  # 64 rows of 32 halves, 16 bytes of each
    served = Access(16, lanes=64, banks=banks)

    assert [len(group) for group in served.groups] == [banks // 4] * (256 // banks)
    assert is_proved(LdsConflictDegree(rows, 2, served, at_most=4), certified=False)
    assert "4-way: lanes 0, " in story(LdsConflictDegree(rows, 2, served, at_most=3))


def test_phases_are_data():
    offsets = AddressMap.over(lambda lane: 8 * (lane % 32 ^ lane // 4 % 2), (64,))
    runs, cdna = Access(16, lanes=64), Access(16, lanes=64, groups=CDNA_READ_B128)

    assert is_proved(LdsConflictDegree(offsets, 2, runs), certified=False)
    assert verdict(LdsConflictDegree(offsets, 2, cdna)).outcome is Outcome.PROVED


def test_misaligned_lanes_are_refuted():
    assert "no multiple of its 16 bytes" in story(LdsConflictDegree(Layout(64, 4), 2, Access(16, lanes=64)))


# -- claims as values -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: NoInvalidAccess(Layout(8)), "expected the size of the buffer"),
        (lambda: NoInvalidAccess(padded_gemm(), elements=0), "expected an access of at least 1 element"),
        (lambda: NoInvalidAccess(5), "expected a Layout, ComposedLayout or AddressMap, got 5"),
        (lambda: MaskIsExactly(padded_gemm(), 5), "expected a function of coordinates that gives facts"),
        (lambda: MaskIsExactly(padded_gemm(), lambda i: i < M), "expected a predicate of 2 coordinates"),
        (lambda: MaskIsExactly(padded_gemm(), lambda i, k: i), "expected facts such as i < M"),
        (lambda: MaskIsExactly(Layout(8), lambda i: i < M), "expected a tensor view, a descriptor or an AddressMap"),
        (lambda: VectorDoesNotStraddle(padded_gemm(), 0), "expected a vector of at least 1 element, got 0"),
        (lambda: VectorDoesNotStraddle(padded_gemm(), 4, along=2), r"expected a dimension of 0 .. 1, got 2"),
        (lambda: MovingEqualsMaking(AddressMap.over(lambda i: i, (4,))), "expected a descriptor or an adaptor"),
        (lambda: LdsConflictDegree(Layout(32), 2, Access(16, lanes=64)), "expected 64 lanes in the first mode, got 32"),
        (lambda: LdsConflictDegree(Layout(64), 2, 16), r"expected banks.Access\(width"),
    ],
)
def test_claims_that_cannot_be_read(make, message):
    with pytest.raises(ClaimError, match=message):
        make()


def test_the_claims_of_a_view_as_one_list():
    view = padded_gemm()
    report = prove(view_claims(view), given=[K.multiple_of(8), dim("lda", at_least=K) * M <= 1 << 20])

    assert report, str(report)
    assert {c.kind for c in view_claims(view)} == {"no invalid access", "moving equals making", "fits in"}
    kinds = [c.kind for c in view_claims(lds_tile(128, 32, 8))]
    assert kinds == ["no invalid access", "moving equals making", "guaranteed vector length", "fits in"]
    assert prove(view_claims(lds_tile(128, 32, 8)))
    with pytest.raises(ClaimError, match="expected a tensor view or a descriptor, got 5"):
        view_claims(5)


def test_every_other_claim_takes_a_descriptor():
    assert is_proved(InBounds(padded_gemm().descriptor, padded_gemm().buffer.size))


def test_wrong_parameters_are_obligations_of_every_claim():
    d = transform_tensor_descriptor(
        make_naive_tensor_descriptor_packed((10,)), (make_slice_transform(10, 4, 12),), ((0,),), ((0,),)
    )
    found = prove(InBounds(d, 20))

    assert [v.outcome for v in found.verdicts] == [Outcome.PROVED, Outcome.REFUTED]
    assert "end within length in slice(10, 4, 12)" in str(found)


def test_pads_of_one_side_need_the_other_end():
    left = transform_tensor_descriptor(
        make_naive_tensor_descriptor_packed((M,)), (make_left_pad_transform(M, 3),), ((0,),), ((0,),)
    )
    beyond = transform_tensor_descriptor(left, (make_slice_transform(M + 3, 0, M + 5),), ((0,),), ((0,),))

    assert is_proved(NoInvalidAccess(left))
    assert story(NoInvalidAccess(beyond)) == "index 4 has offset 1, in a buffer of 1"


def test_xor_is_proved_where_it_permutes():
    d = transform_tensor_descriptor(
        make_naive_tensor_descriptor((M, 8, 8), (64, 8, 1)),
        (make_xor_transform((M, 8)), make_pass_through_transform(8)),
        ((0, 1), (2,)),
        ((0, 1), (2,)),
    )

    assert is_proved(NoInvalidAccess(d))
    assert is_proved(GuaranteedVectorLength(d, 8, along=2))


def test_a_padded_view_of_numbers():
    view = pad_tensor_view(make_naive_tensor_view_packed(None, (6, 10)), (8, 16), (True, True))

    assert is_proved(NoInvalidAccess(view))
    assert story(VectorDoesNotStraddle(view, 4)) == "the vector at index (0,8) is valid, its lane 2 at (0,10) is masked"
