"""What upstream's transforms do without a word, refuted with the index at which it happens.

The numbers are those that upstream's own headers print when they are compiled for a host.
"""

from __future__ import annotations

import itertools

import pytest

from checkers import GuaranteedVectorLength, Injective, NoInvalidAccess, VectorDoesNotStraddle, prove
from checkers.ck_tile import LdsConflictDegree
from symlayout import dim
from symlayout.address_map import AddressMap
from symlayout.answers.report import Outcome
from symlayout.banks import CDNA_READ_B128, Access
from symlayout.ck_tile import (
    make_embed_transform,
    make_left_pad_transform,
    make_merge_transform,
    make_naive_tensor_descriptor,
    make_naive_tensor_descriptor_packed,
    make_naive_tensor_descriptor_with_offset,
    make_pad_transform,
    make_pass_through_transform,
    make_right_pad_transform,
    make_slice_transform,
    make_unmerge_transform,
    make_xor_transform,
    transform_tensor_descriptor,
)
from symlayout.transforms import Indexing
from tests.support.ck_views import BOTH, lds_tile


def offsets(d):
    return {c: d(c) for c in itertools.product(*map(range, d.lengths))}


def on_packed(lengths, transforms, lower, upper, guarantee=-1):
    strides = [1]
    for n in reversed(lengths[1:]):
        strides.insert(0, strides[0] * n)
    d = make_naive_tensor_descriptor(lengths, strides, guarantee, 1)
    return transform_tensor_descriptor(d, transforms, lower, upper)


def refuted(claim):
    """The witness of a claim that the subject itself refutes, obligations aside."""
    found = prove(claim).verdicts[0]
    assert found.outcome is Outcome.REFUTED, str(found)
    return found.witness


# -- xor ------------------------------------------------------------------------------------------------------


def test_xor_of_a_width_that_is_no_power_of_two_collides():
    d = on_packed((8, 6), (make_xor_transform((8, 6)),), ((0, 1),), ((0, 1),))
    found = offsets(d)
    a, b = refuted(Injective(d)).coords

    assert (len(set(found.values())), len(found)) == (40, 48)
    assert found[2, 4] == found[3, 3] == 18
    assert found[a] == found[b]
    assert "second length a power of two in xor(8, 6)" in str(prove(Injective(d)))


def test_xor_of_a_power_of_two_is_proved():
    d = on_packed((8, 4), (make_xor_transform((8, 4)),), ((0, 1),), ((0, 1),))

    assert prove(Injective(d), NoInvalidAccess(d))


def test_the_lds_chain_of_the_gemm_policy_at_96_by_48():
    d = lds_tile(96, 48, 8)
    found = offsets(d)
    a, b = refuted(Injective(d)).coords
    beyond = refuted(NoInvalidAccess(d))

    assert (len(set(found.values())), len(found)) == (3600, 4608)
    assert (max(found.values()), d.element_space_size) == (4623, 4608)
    assert found[a] == found[b]
    assert found[beyond.coords[0]] >= 4608


@pytest.mark.parametrize("shape", [(128, 32, 8), (128, 64, 8), (64, 32, 16)])
def test_the_lds_chain_at_powers_of_two(shape):
    d = lds_tile(*shape)

    assert prove(Injective(d), NoInvalidAccess(d))


# -- vector guarantees ----------------------------------------------------------------------------------------


def test_a_merge_promises_vectors_that_leave_the_row():
    """A last length of 6 under vectors of 4: the one at 4 goes on in the next row, here 8 elements on."""
    d = make_naive_tensor_descriptor((6, 6), (8, 1), 4, 1)
    d = transform_tensor_descriptor(d, (make_merge_transform((6, 6)),), ((0, 1),), ((0,),))
    at, lane = refuted(GuaranteedVectorLength(d)).coords

    assert d.get_top_dimension_safe_vector_length_strides() == ((4,), (1,))
    assert (at, lane) == ((4,), (6,))
    assert (d(at), d(lane)) == (4, 8)


def test_a_right_pad_promises_vectors_across_its_end():
    d = on_packed((10,), (make_right_pad_transform(10, 6),), ((0,),), ((0,),), 4)
    found = refuted(GuaranteedVectorLength(d))

    assert found.story == "the vector at index 8 is valid, its lane 2 at 10 is masked"


def test_a_left_pad_promises_vectors_across_its_end():
    d = on_packed((10,), (make_left_pad_transform(10, 2),), ((0,),), ((0,),), 4)
    found = refuted(GuaranteedVectorLength(d))

    assert found.story == "the vector at index 0 is masked, its lane 2 at 2 is valid"


def test_an_unmerge_at_run_time_promises_more_than_its_last_length():
    n = dim("n")
    d = transform_tensor_descriptor(
        make_naive_tensor_descriptor((16 * n,), (1,), 8, 1), (make_unmerge_transform((16, n)),), ((0,),), ((0, 1),)
    )
    found = prove(GuaranteedVectorLength(d))

    assert d.get_top_dimension_safe_vector_length_strides() == ((-1, 8), (-1, 1))
    assert found.verdicts[0].outcome is Outcome.REFUTED
    assert str(found.repairs) == "(n % 8 == 0,)"
    assert refuted(GuaranteedVectorLength(d.subs({"n": 4}), 8)).story == "the vector at index (0,0) ends at 7, past 3"


def test_xor_promises_vectors_that_it_permutes():
    d = on_packed((8, 8), (make_xor_transform((8, 8)),), ((0, 1),), ((0, 1),), 8)
    at, lane = refuted(GuaranteedVectorLength(d)).coords

    assert d.get_top_dimension_safe_vector_length_strides()[0] == (-1, 8)
    assert (at, lane) == ((1, 0), (1, 1))
    assert (d(at), d(lane)) == (9, 8)


def test_the_repair_of_a_promise_is_a_divisibility():
    n = dim("n")
    d = on_packed((n,), (make_right_pad_transform(n, -n % 64),), ((0,),), ((0,),), 4)
    found = prove(GuaranteedVectorLength(d))

    assert str(found.repairs) == "(n % 4 == 0,)"
    assert prove(GuaranteedVectorLength(d), given=found.repairs)


# -- bounds and collisions ------------------------------------------------------------------------------------


def test_taps_of_a_convolution_overlap():
    d = on_packed((6,), (make_embed_transform((3, 4), (1, 1)),), ((0,),), ((0, 1),))

    assert refuted(Injective(d)).coords == ((1, 0), (0, 1))
    assert d((1, 0)) == d((0, 1)) == 1
    assert prove(NoInvalidAccess(d))


def test_the_space_does_not_count_an_offset():
    d = make_naive_tensor_descriptor_with_offset((3, 4), (4, 1), 5)

    assert (d((2, 3)), d.element_space_size) == (16, 12)
    assert refuted(NoInvalidAccess(d)).coords == ((2, 0),)


def test_the_space_is_wrong_for_a_negative_stride():
    d = make_naive_tensor_descriptor((4,), (-1,))

    assert d.element_space_size == -2
    assert refuted(NoInvalidAccess(d)).story == "index 0 has offset 0, in a buffer of -2"


def test_a_slice_past_the_end_is_not_seen_upstream():
    d = on_packed((10,), (make_slice_transform(10, 6, 12),), ((0,),), ((0,),))

    assert refuted(NoInvalidAccess(d)).story == "index 4 has offset 10, in a buffer of 10"


def test_a_merge_past_its_end_leaves_the_first_dimension():
    d = on_packed((4, 5), (make_merge_transform((4, 5)),), ((0, 1),), ((0,),))
    wider = transform_tensor_descriptor(d, (make_slice_transform(20, 0, 24),), ((0,),), ((0,),))

    assert refuted(NoInvalidAccess(wider)).story == "index 20 has offset 20, in a buffer of 20"


def test_dimensions_that_are_left_out_are_zero():
    d = transform_tensor_descriptor(
        make_naive_tensor_descriptor_packed((10, 10)), (make_pass_through_transform(10),), ((0,),), ((0,),), mode="ck"
    )

    assert d((3,)) == 30
    assert prove(NoInvalidAccess(d))


def test_a_pad_of_two_sides_turns_vectors_off():
    one = on_packed((8,), (make_right_pad_transform(8, 8),), ((0,),), ((0,),), 8)
    two = on_packed((8,), (make_pad_transform(8, 0, 8),), ((0,),), ((0,),), 8)

    assert one.get_top_dimension_safe_vector_length_strides()[0] == (8,)
    assert two.get_top_dimension_safe_vector_length_strides()[0] == (-1,)
    assert prove(GuaranteedVectorLength(one), VectorDoesNotStraddle(two, 8), GuaranteedVectorLength(two, 8))


# -- conflicts of the LDS -------------------------------------------------------------------------------------

READ, WRITE = Access(16, lanes=64, groups=CDNA_READ_B128), Access(16, lanes=64)


def padded(K):
    """One row of 8 elements more between columns of 8."""
    d = make_naive_tensor_descriptor((K // 8, 128, 8), (129 * 8, 8, 1))
    return transform_tensor_descriptor(
        d, (make_pass_through_transform(128), make_merge_transform((K // 8, 8))), ((1,), (0, 2)), BOTH
    )


# layout: conflict degrees of 32-row reads, of 16-row reads and of the write of a tile, for K = 32 and for K = 64
DEGREES = {
    "naive": (lambda K: make_naive_tensor_descriptor_packed((128, K)), (4, 2, 1), (8, 4, 1)),
    "padded": (padded, (1, 2, 2), (1, 2, 1)),
    "xor, K0 LL": (lambda K: lds_tile(128, K, 8), (2, 4, 1), (1, 1, 1)),
    "xor, LL K0": (lambda K: lds_tile(128, K, 8, order="LL K0"), (1, 1, 1), (1, 1, 1)),
}


def accesses(d, K):
    """The offsets of the lanes of a wave: two kinds of reads, and the write of the DRAM distribution."""
    lanes = range(64)
    tables = (
        [d((i % 32, 8 * (i // 32))) for i in lanes],
        [d((i % 16, 8 * (i // 16))) for i in lanes],
        [d((i // (K // 8), 8 * (i % (K // 8)))) for i in lanes],
    )
    return [AddressMap.over(listed(t), (64,)) for t in tables]


def listed(table):
    return lambda lane: Indexing(64, tuple(table)).lower((lane,))[0]


@pytest.mark.parametrize("name", DEGREES)
def test_conflict_degrees_of_lds_layouts(name):
    make, *degrees = DEGREES[name]
    for K, expected in zip((32, 64), degrees, strict=True):
        for access, served, degree in zip(accesses(make(K), K), (READ, READ, WRITE), expected, strict=True):
            assert prove(LdsConflictDegree(access, 2, served, at_most=degree))
            if degree > 1:
                story = refuted(LdsConflictDegree(access, 2, served, at_most=degree - 1)).story
                assert story.startswith(f"{degree}-way: lanes ")


def test_the_degree_depends_on_the_table_of_phases():
    """With runs of 8 lanes as phases of reads, the order of the policies has other conflicts."""
    read32, read16, _ = accesses(lds_tile(128, 32, 8), 32)

    assert prove(LdsConflictDegree(read32, 2, WRITE, at_most=2), LdsConflictDegree(read16, 2, WRITE, at_most=2))
    assert refuted(LdsConflictDegree(read16, 2, READ, at_most=3))
