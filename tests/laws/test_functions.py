"""Laws 1 to 3: one function behind every form of coordinate, kept by every rearrangement; filters and nullspaces."""

from __future__ import annotations

import itertools

import pytest

from symlayout import (
    coalesce,
    compatible,
    cosize,
    crd2idx,
    depth,
    filter,
    filter_zeros,
    flatten_layout,
    group,
    idx2crd,
    inner_product,
    make_identity_layout,
    make_layout,
    make_layout_like,
    make_ordered_layout,
    max_alignment,
    nullspace,
    rank,
    select,
    size,
    unflatten,
    zip_modes,
)
from symlayout.algebra import coalesce_extended, coalesced_modes, from_modes
from symlayout.basis import as_tuple
from tests.support.draw import KINDS, Draw, drawn, same_function


@pytest.mark.parametrize("kind", KINDS)
def test_every_form_of_a_coordinate_gives_the_offset_of_its_index(kind):
    for seed in range(120):
        draw = Draw(seed)
        layout = draw.layout(kind)
        c = draw.coordinate(layout.shape)

        assert layout(c) == layout(crd2idx(c, layout.shape)), (seed, str(layout), c)
        assert layout(c) == crd2idx(c, layout.shape, layout.stride)
        i = draw.randrange(layout.size())
        assert layout(i) == layout(idx2crd(i, layout.shape))


def test_beyond_the_end_the_last_mode_goes_on():
    for seed in range(100):
        layout = Draw(seed).layout()
        n, shape = layout.size(), layout.shape
        last = layout[len(layout) - 1] if isinstance(shape, tuple) else layout
        before = n // last.size()
        for i in range(n, n + 5):
            rest = layout[: len(layout) - 1](i % before) if before > 1 else 0

            assert layout(i) == rest + last(i // before), (seed, str(layout), i)


@pytest.mark.parametrize("kind", KINDS)
def test_coalesce_is_the_same_function_with_the_fewest_modes(kind):
    for layout in drawn(1, 150, kind):
        got = coalesce(layout)
        modes = got.modes()

        assert same_function(got, layout), str(layout)
        assert depth(got) <= 1
        assert coalesce(got) == got
        assert all(n > 1 for n, _ in modes) or modes == [(1, 0)]
        assert all(n * d != e for (n, d), (_, e) in itertools.pairwise(modes))


def test_coalesce_by_profile_keeps_the_profile_and_the_function():
    for layout in drawn(2, 150):
        profile = (1,) * rank(layout) if isinstance(layout.shape, tuple) else 1
        got = coalesce(layout, profile)

        assert same_function(got, layout)
        assert rank(got) == rank(layout)
        assert all(coalesce(got[i]) == got[i] for i in range(rank(got)) if isinstance(layout.shape, tuple))


def test_extended_coalesce_is_the_same_function_everywhere():
    for layout in drawn(3, 150):
        got = from_modes(coalesce_extended(layout.modes()))

        assert all(got(i) == layout(i) for i in range(3 * layout.size())), str(layout)


def test_flatten_unflatten_and_group_keep_the_function():
    for seed in range(150):
        draw = Draw(seed)
        layout = draw.layout()
        flat = flatten_layout(layout)

        assert same_function(flat, layout)
        assert unflatten(flat, layout.shape) == layout
        if isinstance(flat.shape, tuple) and rank(flat) > 1:
            begin = draw.randrange(rank(flat))
            end = draw.randint(begin, rank(flat))
            assert same_function(group(flat, begin, end), flat)
            assert flatten_layout(group(flat, begin, end)) == flat


def test_concatenated_modes_add():
    for seed in range(100):
        draw = Draw(seed)
        a, b = draw.layout(modes=2, points=60), draw.layout(modes=2, points=60)
        both = make_layout(a, b)

        assert all(both(i, j) == a(i) + b(j) for i in range(a.size()) for j in range(b.size()))
        assert select(both, 1, 0) == make_layout(b, a)
        if rank(a) == rank(b) and isinstance(a.shape, tuple) and isinstance(b.shape, tuple):
            assert zip_modes(zip_modes(a, b)) == both


@pytest.mark.parametrize("kind", KINDS)
def test_filter_keeps_the_image_and_nullspace_counts_the_repeats(kind):
    for layout in drawn(4, 150, kind):
        kept, null = filter(layout), nullspace(layout)

        assert set(kept.offsets().tolist()) == set(layout.offsets().tolist())
        assert cosize(kept) == cosize(layout)
        assert filter(kept) == kept
        assert kept == coalesce(filter_zeros(layout))
        assert kept.size() * null.size() == layout.size()
        assert all(layout(null(i)) == 0 for i in range(null.size()))
        assert str(nullspace(null)) == "1:0"
        if kind in ("compact", "permuted", "padded", "zeros"):
            assert kept.size() == len(set(layout.offsets().tolist()))


def test_moving_along_the_nullspace_leaves_the_offset_unchanged():
    for layout in drawn(5, 100, "zeros"):
        null = nullspace(layout)
        zero = [i for i in range(layout.size()) if null.size() > 1 and layout(i) == 0]

        assert {null(i) for i in range(null.size())} <= set(zero or [0])


def test_a_layout_is_the_inner_product_of_the_identity_with_its_stride():
    for seed in range(150):
        draw = Draw(seed)
        layout = draw.layout()
        c = draw.coordinate(layout.shape)
        natural = as_tuple(make_identity_layout(layout.shape)(c))

        assert natural == idx2crd(crd2idx(c, layout.shape), layout.shape)
        assert layout(c) == inner_product(natural, layout.stride)


def test_cosize_is_one_more_than_the_greatest_offset():
    for layout in drawn(6, 150):
        assert cosize(layout) == max(layout.offsets()) + 1
        assert len(set(layout.offsets().tolist())) <= cosize(layout)


def test_ordered_layouts_are_compact_permutations():
    for seed in range(100):
        draw = Draw(seed)
        shape = draw.shape(depth=1)
        if not isinstance(shape, tuple):
            continue
        order = tuple(draw.sample(range(20), len(shape)))
        got = make_ordered_layout(shape, order)

        assert sorted(got.offsets().tolist()) == list(range(size(shape)))
        ranked = sorted((o, n, d) for o, (n, d) in zip(order, got.modes(), strict=True) if n > 1)
        assert [d for _, _, d in ranked] == sorted(d for _, _, d in ranked)


def test_a_layout_like_another_is_compact_in_the_same_order():
    for layout in drawn(7, 150, "padded"):
        got = make_layout_like(layout)

        assert sorted(got.offsets().tolist()) == list(range(layout.size()))
        assert (got.offsets().argsort() == layout.offsets().argsort()).all()
        assert compatible(layout.shape, got.shape)


def test_max_alignment_aligns_every_vector():
    """Along the unit-stride mode, each vector of that length starts at a multiple of it and is contiguous."""
    for layout in drawn(8, 200):
        v = max_alignment(layout)
        modes = coalesced_modes(layout.modes())
        at = next((i for i, (_, d) in enumerate(modes) if d == 1), None)
        if at is None:
            assert v == 1
            continue
        run, _ = modes.pop(at)
        others = from_modes(modes)

        assert run % v == 0
        assert all(others(i) % v == 0 for i in range(others.size())), str(layout)
