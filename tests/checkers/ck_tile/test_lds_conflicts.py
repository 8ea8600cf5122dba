"""Conflicts in LDS by rank and by counting: two methods, one answer, with phases and banks as data."""

from __future__ import annotations

import random

import pytest

from checkers import Bijective, GuaranteedVectorLength, Injective, LdsConflictDegree, NoInvalidAccess, prove
from symlayout import ComposedLayout, Layout, Swizzle, dim
from symlayout.address_map import AddressMap
from symlayout.banks import CDNA_READ_B128, Access, conflict_degree, linear_degree
from symlayout.ck_tile import layout_of
from symlayout.errors import LayoutError
from tests.support.ck_views import Columns, lds_tile

READS = Access(16, lanes=64, groups=CDNA_READ_B128), Access(16, lanes=64), Access(16, lanes=64, banks=64)


def by_counting(claim: LdsConflictDegree) -> bool:
    return claim.counterexample() is None


# -- two methods ----------------------------------------------------------------------------------------------


def random_access(r: random.Random) -> LdsConflictDegree:
    """Lanes of powers of two in rows of a tile, perhaps swizzled, served in runs or in cosets of some lanes."""
    width, banks, lanes = r.choice((2, 4, 8, 16)), r.choice((32, 64)), r.choice((32, 64))
    groups = CDNA_READ_B128 if lanes == 64 and r.random() < 0.5 else ()
    low = r.choice((4, 8, lanes))
    strides = tuple(r.choice((width // 2, 4 * width, 32 * width, 16 * width)) for _ in range(2))
    tile = Layout(((low, lanes // low), 2), (strides, 4096))
    access = ComposedLayout(Swizzle(r.choice((1, 2, 3)), r.choice((2, 3)), 4), 0, tile) if r.random() < 0.5 else tile
    return LdsConflictDegree(access, 2, Access(width, lanes, groups, banks), r.choice((1, 2, 4)))


def test_rank_and_counting_agree() -> None:
    """Where addresses are linear over GF(2) the rank decides both ways."""
    r, decided, ranked = random.Random(4), 0, {True: 0, False: 0}
    for _ in range(400):
        claim = random_access(r)
        by_rank = claim._by_rank()
        holds = by_counting(claim)
        ranked[by_rank is not None] += 1
        assert by_rank is None or holds, claim
        decided += holds
    assert decided > 50
    assert ranked[True] > 40


def test_the_degree_of_cosets_is_that_of_each_phase() -> None:
    r = random.Random(1)
    for access in (*READS, Access(8, lanes=64), Access(4, lanes=32, banks=64)):
        for _ in range(40):
            unit = access.width_bytes
            columns = [unit * r.choice((1, 2, 3, 8, 32, 40, 64)) for _ in range(access.lanes.bit_length() - 1)]
            lanes = [0]
            for c in columns:
                lanes += [a ^ c for a in lanes]
            assert conflict_degree(lanes, access) == linear_degree(columns, access)


def test_phases_that_are_no_cosets_are_counted() -> None:
    odd = Access(4, lanes=8, groups=((0, 1, 2, 4), (3, 5, 6, 7)))

    assert odd.directions is None
    with pytest.raises(LayoutError, match="expected phases that are alike"):
        linear_degree([4, 8, 16], odd)
    assert "enumeration" in str(prove(LdsConflictDegree(Layout((8, 2), (1, 8)), 4, odd)))


@pytest.mark.parametrize(
    "wrong, message",
    [
        ({"lanes": 0}, "lanes of at least 1, got 0"),
        ({"banks": 0}, "banks of at least 1, got 0"),
        ({"banks": 2}, "at least 4 banks for 16 bytes at once, got 2"),
        ({"banks": 32.0}, "banks of at least 1, got 32.0"),
    ],
)
def test_an_access_that_no_memory_serves(wrong, message) -> None:
    with pytest.raises(LayoutError, match=message):
        Access(16, **wrong)


# -- symbolic stages ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("served", READS[1:], ids=str)
def test_stages_of_any_number_are_proved(served: Access) -> None:
    S = dim("S")
    tile = ComposedLayout(Swizzle(3, 3, 3), 0, Layout((64, 8, S), (64, 8, 4096)))

    assert "the other modes move all lanes together" in str(prove(LdsConflictDegree(tile, 2, served, 2)))
    assert prove(LdsConflictDegree(tile, 2, served, 2))
    bad = prove(LdsConflictDegree(Layout((64, 8, S), (64, 8, 4096)), 2, served, 2))
    assert "-way: lanes 0, " in str(bad)


def test_a_symbolic_stride_by_its_residues() -> None:
    M, S = dim("M"), dim("S")
    served = Access(4, lanes=64, banks=64)

    assert prove(LdsConflictDegree(Layout((64, S), (2 * M + 1, 64)), 4, served, 1))
    assert "fails for M = 1" in str(prove(LdsConflictDegree(Layout((64, S), (2 * M, 64)), 4, served, 1)))


# -- tiles of upstream ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("tile", [Columns(128, 64, 16, 64), Columns(128, 32, 8, 128), Columns(64, 32, 8, 64)], ids=str)
def test_the_column_major_chain_of_the_gemm_policy(tile: Columns) -> None:
    d = tile.descriptor()

    assert d.lengths == (tile.M, tile.K)
    assert all(d((m, k)) == tile.offset(m, k) for m in range(tile.M) for k in range(tile.K))
    assert prove(Bijective(d, onto=tile.M * tile.K), NoInvalidAccess(d))
    assert prove(GuaranteedVectorLength(d, tile.pack, -1, 1))


def test_reads_of_the_column_major_chain() -> None:
    """32 rows, 8 elements of K at once; the second half of the lanes 8 further along K."""
    d = Columns(256, 64, 16, 128).descriptor()
    read = AddressMap.over(lambda lane, k: d((lane % 32, 8 * (lane // 32) + 16 * k)), (64, 4))
    degrees = [next(n for n in (1, 2, 4, 8) if prove(LdsConflictDegree(read, 2, s, n))) for s in READS]

    assert degrees == [2, 2, 2]


def test_the_odd_tile_of_the_row_major_chain_collides_and_overruns() -> None:
    """M = 96, K = 48, pack 8: K0*LL is 12, no power of two."""
    d = lds_tile(96, 48, 8)
    offsets = [d((m, k)) for m in range(96) for k in range(48)]

    assert (len(set(offsets)), len(offsets), max(offsets), d.element_space_size) == (3600, 4608, 4623, 4608)
    injective, inside = prove(Injective(d)), prove(NoInvalidAccess(d))
    assert "second length a power of two" in str(injective)
    assert injective.verdicts[0].outcome.value == inside.verdicts[0].outcome.value == "refuted"
    assert str(layout_of(lds_tile(128, 32, 8))) == "Sw<3,3,3> o 0 o ((2,64),(8,4)):((8,64),(1,16))"
