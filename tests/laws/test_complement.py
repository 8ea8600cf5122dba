"""Law 5: the table of what a complement promises, each line with its conditions."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings

from symlayout import LayoutError, coalesce, complement, cosize, filter, make_layout, round_up, size
from symlayout.strategies import layouts
from tests.support.draw import INJECTIVE, KINDS, Draw


def divides_along(modes) -> bool:
    """*div*: in ascending order each stride is a multiple of the extent of the modes below it."""
    end = 1
    for n, d in sorted(modes, key=lambda m: m[1]):
        if d % end:
            return False
        end = n * d
    return True


def cases(n: int, kinds=KINDS):
    for seed in range(n):
        draw = Draw(seed)
        layout = draw.layout(draw.choice(kinds), modes=3, extent=6, points=200)
        target = draw.randint(1, 3 * cosize(layout))
        try:
            yield seed, layout, target, complement(layout, target)
        except LayoutError:
            continue


def test_a_complement_is_ordered_and_meets_the_layout_only_at_zero():
    seen = 0
    for seed, layout, target, k in cases(600):
        values, image = k.offsets().tolist(), set(layout.offsets().tolist())
        seen += 1

        assert all(a < b for a, b in itertools.pairwise(values)), (seed, str(layout), target)
        assert not image & set(values[1:]), (seed, str(layout), target)
        assert size(complement(make_layout(layout, k))) == 1, (seed, str(layout), str(k))
        assert k == coalesce(k)
    assert seen > 300


def test_a_complement_fills_the_target_where_strides_divide():
    seen = 0
    for seed, layout, target, k in cases(600):
        kept = filter(layout)
        if not divides_along([m for m in kept.modes() if m[1]]):
            continue
        seen += 1
        both = make_layout(kept, k)

        assert cosize(both) >= target, (seed, str(layout), target)
        assert k.size() >= target // kept.size()
        assert sorted(both.offsets().tolist()) == list(range(cosize(both))), (seed, str(layout), str(k))
        assert complement(complement(k, cosize(layout)), target) == k, (seed, str(layout), target)
    assert seen > 250


def test_a_complement_ends_within_one_copy_past_the_target():
    for seed, layout, target, k in cases(400):
        kept = [(n, d) for n, d in filter(layout).modes() if d]
        last = max((n * d for n, d in kept), default=1)

        assert cosize(k) <= round_up(target, last), (seed, str(layout), target)


@settings(max_examples=100, derandomize=True, deadline=None)
@given(layouts())
def test_the_default_target_is_the_extent_of_the_filtered_layout(layout):
    try:
        found = complement(layout)
    except LayoutError:  # which has none, to no target
        with pytest.raises(LayoutError):
            complement(layout, cosize(filter(layout)))
    else:
        assert found == complement(layout, cosize(filter(layout)))


def test_a_shape_as_target_counts_mode_by_mode():
    for seed, layout, _, k in cases(200, INJECTIVE):
        shape = Draw(seed).shape(modes=3, depth=1)
        by_shape = complement(layout, shape)

        assert by_shape == coalesce(by_shape)
        assert size(complement(make_layout(layout, by_shape))) == 1
        assert complement(layout, (k.size(),)) == complement(layout, k.size())


def test_overlapping_modes_are_refused_and_others_are_not():
    """The test is CuTe's: a stride below the end of the modes under it."""
    for seed in range(400):
        layout = Draw(seed).layout("random", modes=3, points=100)
        modes = sorted((d, n) for n, d in filter(layout).modes() if d)
        overlapping, end = False, 1
        for d, n in modes:
            overlapping, end = overlapping or d < end, n * d
        if overlapping:
            with pytest.raises(LayoutError, match="expected modes that do not overlap"):
                complement(layout, 100)
        else:
            complement(layout, 100)
