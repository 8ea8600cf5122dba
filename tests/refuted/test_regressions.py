"""Wrong answers that were given once, each with the answer that it must have."""

import pytest

from checkers import Bijective, ConflictFree, Equal, FitsIn, InBounds, Surjective, prove
from symlayout import Layout, dims
from symlayout.address_map import AddressMap
from symlayout.answers.report import Outcome
from symlayout.errors import LayoutError

M, n = dims("M n")


def outcome(claim):
    return prove(claim).verdicts[0].outcome


def test_the_box_of_a_map_follows_its_sizes():
    doubled = AddressMap.over(lambda i: i, n).subs({n: 2 * n})

    assert outcome(InBounds(doubled, n)) is Outcome.REFUTED


def test_a_box_does_not_depend_on_its_coordinates():
    inner = AddressMap.over(lambda i, j: i + j, (4, 4))
    i, j = inner.coords

    with pytest.raises(LayoutError, match=r"expected a coordinate 0 <= j < i, got 0 <= j <= 3"):
        AddressMap((i, j), (4, i), i + j)


def test_a_refuted_width_is_not_a_proof_by_enumeration():
    assert outcome(FitsIn(Layout((4, 8), (8, 1)), bits=4)) is Outcome.REFUTED


def test_an_empty_domain_reaches_nothing():
    assert outcome(Surjective(AddressMap.over(lambda i: i, (M // 2,)), 1)) is Outcome.REFUTED


def test_a_layout_and_a_map_are_compared_by_coordinate():
    by_rows = AddressMap.over(lambda i, j: 4 * i + j, (2, 4))

    assert outcome(Equal(Layout((2, 4), (4, 1)), by_rows)) is Outcome.PROVED
    assert outcome(Equal(Layout((2, 4)), by_rows)) is Outcome.REFUTED


def test_a_mixing_function_that_is_no_layout_has_its_conflicts_counted():
    mixed = AddressMap.over(lambda i, j: 32 * i + (j ^ ((i ^ i // 4 ^ i * 8) % 32)), (32, 32))

    assert "2-way" in str(prove(ConflictFree(mixed, element_bytes=4, width_bytes=4)))


def test_a_repair_is_about_sizes_and_never_about_coordinates():
    unclipped = AddressMap.over(lambda b: (b % 8 + 8 * (b // (8 * n)), b // 8 % n), (M * n,))

    assert all(str(s) in "Mn" for f in prove(Bijective(unclipped, (M, n))).repairs for s in f.symbols)


def test_conflict_freedom_looks_at_the_alignment_of_every_coordinate():
    assert outcome(ConflictFree(Layout((8, 8), (64, 9)), element_bytes=2, width_bytes=16)) is Outcome.REFUTED
    assert "accesses byte 18" in str(prove(ConflictFree(Layout((8, 2), (8, 9)), element_bytes=2, width_bytes=16)))
