"""Results that dropped what they rest on: all lanes of a nested mode, and the condition of an integer."""

from __future__ import annotations

import random

import pytest

from benchmarks.soundness import plain
from benchmarks.soundness.row import drawn
from benchmarks.soundness.subjects import Sizes, nested, symbolic_modes
from checkers import Coalesced, ConflictFree, Holds, prove
from symlayout import ComposedLayout, Layout, Swizzle, dim, dims, max_alignment, max_common_layout, max_common_vector
from symlayout.answers.report import Outcome
from symlayout.errors import LayoutError, SymlayoutError
from symlayout.expr import at_least

S = dim("S")
N, M, ld = dims("N M ld")


@pytest.mark.parametrize(
    "claim, story",
    [
        (ConflictFree(Layout(((4, 8), S), ((1, 32), 256)), element_bytes=4, width_bytes=4), "8-way"),
        (ConflictFree(Layout(((4, (2, 4)), S), ((1, (32, 64)), 256)), element_bytes=4, width_bytes=4), "8-way"),
        (ConflictFree(Layout(((1, 4, 8), S), ((7, 1, 32), 32 * N)), element_bytes=4, width_bytes=4), "8-way"),
        (
            ConflictFree(ComposedLayout(Swizzle(1, 2, 5), 0, Layout(((4, 8), S), ((1, 32), 256))), 4, width_bytes=4),
            "way",
        ),
        (Coalesced(Layout(((4, 8), S), ((1, 1024), 8192)), element_bytes=4, width_bytes=4, sectors=4), "8 sectors"),
        (Coalesced(Layout(((4, 8), (S, N)), ((1, 1024), (8192, 64))), 4, width_bytes=4, sectors=4), "8 sectors"),
    ],
    ids=str,
)
def test_all_lanes_of_a_nested_mode_count(claim, story):
    """Where all other modes are symbolic, only the first leaf of the lanes was looked at: 4 lanes of 32.

    The tests had flat lanes, or a number among the other modes; the campaign had no claim about lanes at all.
    """
    verdict = prove(claim).verdicts[0]

    assert verdict.outcome is Outcome.REFUTED
    assert story in str(verdict.witness)


def test_nested_lanes_that_are_right_are_proved():
    claim = ConflictFree(Layout(((4, 8), S), ((1, 4), 256)), element_bytes=4, width_bytes=4)

    assert prove(claim)


# -- integers -------------------------------------------------------------------------------------------------


def test_a_common_vector_needs_no_condition():
    """It was min(4, M*N), though 2 elements are contiguous at N = 2: the layout carries N >= 4, a number cannot.

    The tests asked for vectors of numbers only, where a condition is either met or the result another one.
    """
    a, b = Layout((N, M), (1, ld)), Layout(4, 1)

    with pytest.raises(LayoutError, match=r"contiguous in both only where N >= 4"):
        max_common_vector(a, b)
    assert "N >= 4" in str(max_common_layout(a, b).obligations)


def test_a_condition_that_the_sizes_meet_is_none():
    wide = dim("N", at_least=4)

    assert max_common_vector(Layout((wide, M), (1, ld)), Layout(4, 1)).subs({wide: 4, M: 1}) == 4


def test_a_vector_stays_inside_both_layouts():
    """The chain of b goes on where a has ended: index 12 of a is none of its elements."""
    assert max_common_vector(Layout((4, 3), (8, 1)), Layout((4, 8), (8, 1))) == 3


def test_vectors_and_alignments_at_sizes():
    """By definition: the first v offsets belong to the same indices of both; runs of v start at multiples of v."""
    r, seen, refused = random.Random(11), 0, 0
    for _ in range(260):
        s = Sizes(r)
        a = nested(r, symbolic_modes(r, s))
        b = r.choice(
            (a, Layout(r.choice((2, 4, 8)), 1), Layout((s.M, s.N), (1, s.ld)), nested(r, symbolic_modes(r, s)))
        )
        try:
            v = max_common_vector(a, b)
        except SymlayoutError:
            refused += 1
            continue
        claim = Holds(at_least(s.M + s.N + s.K + s.S + s.ld, 0))
        for env in drawn(claim, r):
            try:
                found = [{x: i for i, x in reversed([*enumerate(plain.values(y, env))])} for y in (a, b)]
            except plain.TooMany:
                continue
            n = plain.number(v, env)
            assert n <= 1 or all(found[0].get(i, -1) == found[1].get(i, -2) for i in range(n)), (a, b, v, env)
            seen += 1

    assert seen > 300
    assert refused > 5
    assert max_alignment(Layout((8, N), (1, 8 * M))) == 8
