"""What an attack on the claims about views found: each was proved, or no answer came."""

from __future__ import annotations

import pytest

from checkers import (
    Budget,
    DistributionCovers,
    GuaranteedVectorLength,
    MaskIsExactly,
    MovingEqualsMaking,
    NoInvalidAccess,
    VectorDoesNotStraddle,
    prove,
)
from symlayout import dims
from symlayout.ck_tile import (
    TileDistributionEncoding,
    make_naive_tensor_descriptor,
    make_naive_tensor_descriptor_packed,
    transform_tensor_descriptor,
)
from symlayout.errors import ClaimError
from symlayout.expr import dim
from symlayout.transforms import (
    Embed,
    Freeze,
    Indexing,
    LeftPad,
    Merge,
    Modulo,
    Offset,
    Pad,
    RightPad,
    Slice,
    Transform,
    Xor,
)

M, N = dims("M N")
ONE = ((0,),)
LARGEST = 2**31 - 1  # of an index_t


def below(t: Transform, top: Transform):
    """A packed descriptor under one transform, and another on top of its first dimension."""
    lengths = t.lengths if isinstance(t, Merge | Xor) else (4,)
    d = make_naive_tensor_descriptor(lengths, (*(0,) * (len(lengths) - 1), 1))
    d = transform_tensor_descriptor(d, (t,), (tuple(range(t.lower_rank)),), (tuple(range(t.upper_rank)),))
    if len(d.lengths) == 1:
        return transform_tensor_descriptor(d, (top,), ONE, ONE)
    other = Embed((t.upper_lengths[1],), (1,))
    return transform_tensor_descriptor(d, (top, other), ((0,), (1,)), ((0,), (1,)))


@pytest.mark.parametrize(
    "t", [Merge((4, 6)), Modulo(4, 24), Xor((24, 8)), Indexing(24, tuple(i % 4 for i in range(24)))], ids=str
)
def test_a_division_of_an_index_below_0_is_not_that_of_upstream(t):
    """C++ rounds to 0, magic division reads it as unsigned; floor division kept all offsets inside."""
    found = prove(NoInvalidAccess(below(t, LeftPad(24, 2, skip=True))))
    refuted = [v for v in found.verdicts if v.outcome.value == "refuted"]

    assert str(refuted[0].claim).startswith(f"exact: an index of {t} inside its domain: x0 >= 2")
    assert dict(refuted[0].witness.sizes) == {"x0": 0}
    assert prove(NoInvalidAccess(below(t, LeftPad(24, 2))))
    assert prove(NoInvalidAccess(below(t, Pad(24, 0, 0, skip=True))))


def test_a_pad_beside_a_division_masks_it_too():
    """The pad admits no index of its slice, so that the table is read at none; it is listed before the table."""
    both = ((0,), (1,))
    d = make_naive_tensor_descriptor((1, 3), (3, 1))
    d = transform_tensor_descriptor(d, (Pad(1, 2, 0), Indexing(3, (0, 1, 2))), both, both)

    def seen(begin: int) -> bool:
        tops = Slice(3, begin, begin + 1), Offset(3, 5)
        return bool(prove(NoInvalidAccess(transform_tensor_descriptor(d, tops, both, both))))

    assert [seen(begin) for begin in (0, 1, 2)] == [True, True, False]


def test_a_box_without_indices_divides_nothing():
    """Another dimension is empty, and of the one that is divided nothing is asked."""
    both = ((0,), (1,))
    Z = dim("Z", at_least=0)
    for n, holds in ((0, True), (1, False), (Z, False)):
        d = make_naive_tensor_descriptor((n, 4), (4, 1))
        d = transform_tensor_descriptor(d, (Pad(n, 0, 0), Modulo(4, 4)), both, both)
        d = transform_tensor_descriptor(d, (Pad(n, 0, 0), LeftPad(4, 2, skip=True)), both, both)
        assert bool(prove(NoInvalidAccess(d))) is holds


def test_an_index_past_a_table_is_an_obligation():
    table = Indexing(3, (0, 1, 2))
    d = transform_tensor_descriptor(make_naive_tensor_descriptor_packed((3,)), (table,), ONE, ONE)
    padded = transform_tensor_descriptor(d, (RightPad(3, 5),), ONE, ONE)
    skipped = transform_tensor_descriptor(d, (RightPad(3, 5, skip=True),), ONE, ONE)

    assert prove(NoInvalidAccess(padded))
    assert not prove(NoInvalidAccess(skipped))


def test_a_step_of_modulo_backwards_takes_the_remainder_of_c():
    """From 5 to 2 the step is added again: -1 % 3 is -1 and not 2, with which the move was proved right."""
    d = make_naive_tensor_descriptor((3,), (1,))
    d = transform_tensor_descriptor(d, (Modulo(3, 6),), ONE, ONE)
    d = transform_tensor_descriptor(d, (Offset(4, 2),), ONE, ONE)
    d = transform_tensor_descriptor(d, (Embed((2,), (3,)),), ONE, ONE)

    assert prove(MovingEqualsMaking(d)).verdicts[0].outcome.value == "refuted"
    assert Modulo(3, 6).update((-3,), (2,), (2,)) == (-3,)


def test_moves_in_a_huge_dimension_are_not_listed():
    """All of 2^31 indices were written out first."""
    d = make_naive_tensor_descriptor_packed((7,))
    found = prove(MovingEqualsMaking(transform_tensor_descriptor(d, (Modulo(7, LARGEST),), ONE, ONE)))

    assert "moved from 1 to 0, dimension 0 has index -1 instead of 0" in str(found)


def test_huge_masks_and_vectors_are_refuted_by_a_model():
    d = make_naive_tensor_descriptor_packed((LARGEST,))
    d = transform_tensor_descriptor(d, (RightPad(LARGEST, 1),), ONE, ONE)
    mask = prove(MaskIsExactly(d, lambda i: i < LARGEST - 1))
    vectors = prove(VectorDoesNotStraddle(d, 8))

    assert f"at index {LARGEST - 1} the mask admits it" in str(mask)
    assert f"its lane 7 at {LARGEST} is masked" in str(vectors)
    cut = prove(VectorDoesNotStraddle(make_naive_tensor_descriptor_packed((2**31,)), 3))
    assert f"ends at {2**31}, past {2**31 - 1}" in str(cut)


def test_huge_vectors_that_are_elsewhere():
    d = make_naive_tensor_descriptor((2**20, 2**20), (2**20 + 1, 2))
    found = prove(GuaranteedVectorLength(d, 4, 1, 1), budget=Budget(seconds=5))

    assert "instead of" in str(found)


@pytest.mark.parametrize("along", [1, 7, -2, "x"])
def test_a_dimension_that_is_not_there(along):
    d = make_naive_tensor_descriptor_packed((8,))
    for claim in (
        lambda: NoInvalidAccess(d, elements=2, along=along),
        lambda: VectorDoesNotStraddle(d, 2, along),
        lambda: GuaranteedVectorLength(d, along=along),
    ):
        with pytest.raises(ClaimError, match=r"expected a dimension of 0 \.\. 0, got"):
            claim()


def test_a_size_that_no_index_depends_on_is_a_size_all_the_same():
    """A factor without an owner, and a hidden dimension of stride 0: the claim was taken for one about numbers."""
    e = TileDistributionEncoding((), ((M, 3), (N, 2)), (((2, 0),),), ())
    assert "fails for M = 1, N = 1" in str(prove(DistributionCovers(e)))

    s = dim("s")
    d = make_naive_tensor_descriptor((8, 8), (0, 1))
    d = transform_tensor_descriptor(d, (Modulo(s, 8), Freeze(0)), ((0,), (1,)), (ONE[0], ()))
    assert d.symbols == (s,)
    assert dict(prove(MovingEqualsMaking(d)).verdicts[0].witness.sizes)["s"] > 1
