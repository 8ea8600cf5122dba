"""Laws 7 to 9: divides and products regroup the same leaves, tiles cover what they tile, partitions partition."""

from __future__ import annotations

import pytest

from symlayout import (
    InexactError,
    Layout,
    LayoutError,
    blocked_product,
    coalesce,
    compatible,
    complement,
    composition,
    cosize,
    evenly_divides,
    flat_divide,
    flat_product,
    local_partition,
    local_tile,
    logical_divide,
    logical_product,
    make_identity_tensor,
    make_layout,
    product_each,
    raked_product,
    size,
    tile_to_shape,
    tiled_divide,
    tiled_product,
    zipped_divide,
    zipped_product,
)
from symlayout.tiling import same_leaves
from tests.support.draw import INJECTIVE, Draw


def leaf(draw: Draw, n: int) -> int | Layout:
    """A tile of one mode: an integer or a strided layout, often a divisor of the extent."""
    divisors = [t for t in range(1, n + 1) if n % t == 0]
    t = draw.choice(divisors) if draw.chance(0.8) else draw.randint(1, n)
    stride = draw.choice([s for s in divisors if s * t <= n] or [1])
    return t if draw.chance(0.5) else Layout(t, stride)


def by_mode(n: int, kinds=INJECTIVE):
    """(seed, layout, tuple tiler) with tiles for some of the modes."""
    for seed in range(n):
        draw = Draw(seed)
        a = draw.layout(draw.choice(kinds), modes=3, extent=12, points=600)
        if isinstance(a.shape, tuple):
            tiles = tuple(leaf(draw, size(s)) for s in a.shape)
            yield seed, draw, a, tiles[: draw.randint(1, len(tiles))]


def test_regroupings_are_permutations_of_the_same_leaves():
    compared = 0
    for seed, _, a, t in by_mode(300):
        try:
            forms = [f(a, t) for f in (logical_divide, zipped_divide, tiled_divide, flat_divide)]
        except InexactError:
            continue
        compared += 1

        assert same_leaves(*forms), (seed, str(a), t)
        assert len({f.obligations for f in forms}) == 1
        assert len(forms[1]) == 2
        assert forms[2][0] == forms[1][0]
    assert compared > 150


def test_products_regroup_the_same_leaves():
    compared = 0
    for seed, draw, a, _ in by_mode(300):
        t = tuple(draw.randint(1, 4) for _ in range(draw.randint(1, len(a))))
        try:
            forms = [f(a, t) for f in (logical_product, zipped_product, tiled_product, flat_product)]
        except (InexactError, LayoutError):
            continue
        compared += 1

        assert same_leaves(*forms), (seed, str(a), t)
        assert len(forms[1]) == 2
    assert compared > 150


def test_the_tile_of_a_zipped_divide_is_the_composition():
    compared = 0
    for seed, _, a, t in by_mode(300):
        try:
            divided, composed = zipped_divide(a, t), composition(a, t)
        except InexactError:
            continue
        compared += 1
        tile = divided[0]

        assert tile.shape == composed.shape
        assert tile.offsets().tolist() == composed.offsets().tolist(), (seed, str(a), t)
        assert all(compatible(size(x), tile[i].size()) for i, x in enumerate(t))
    assert compared > 150


def test_a_divide_has_the_size_of_its_operand_where_the_tiles_divide_evenly():
    for seed, _, a, t in by_mode(300):
        try:
            divided = zipped_divide(a, t)
        except InexactError:
            continue
        even = all(evenly_divides(coalesce(a[i]).shape, x) for i, x in enumerate(t))

        assert even == (divided.size() == a.size()), (seed, str(a), t)
        if even:
            assert not divided.obligations or any(isinstance(x, Layout) for x in t)


def test_evenly_dividing_tiles_partition_the_operand():
    covered = 0
    for seed in range(500):
        draw = Draw(seed)
        a = draw.layout(draw.choice(INJECTIVE), modes=3, extent=12, points=400)
        t = leaf(draw, a.size()) if draw.chance(0.5) else draw.layout("permuted", modes=2, extent=6)
        t = t if isinstance(t, Layout) else Layout(t)
        try:
            divided = logical_divide(a, t)
        except LayoutError:
            continue
        if divided.obligations or not evenly_divides(coalesce(a).shape, t):
            continue
        covered += 1

        assert sorted(divided.offsets().tolist()) == sorted(a.offsets().tolist()), (seed, str(a), str(t))
        assert [divided(i, 0) for i in range(size(divided.shape[0]))] == [a(t(i)) for i in range(t.size())]
    assert covered > 120


def test_a_divide_is_the_composition_with_tile_and_complement():
    compared = 0
    for seed in range(500):
        draw = Draw(seed)
        a = draw.layout(draw.choice(INJECTIVE), modes=3, extent=12, points=400)
        t = draw.choice([Layout(draw.randint(1, 8), draw.randint(1, 4)), draw.randint(1, 12)])
        tile = t if isinstance(t, Layout) else Layout(t, 1 if t > 1 else 0)
        try:
            divided = logical_divide(a, t)
        except InexactError:
            with pytest.raises(InexactError):
                composition(a, make_layout(tile, complement(tile, coalesce(a).shape)))
            continue
        whole = make_layout(tile, complement(tile, coalesce(a).shape))
        compared += 1

        for c in range(whole.size()):
            if whole(c) < a.size():
                assert divided(c) == a(whole(c)), (seed, str(a), str(t), c)
        if any(whole(c) >= a.size() for c in range(whole.size())):
            assert divided.obligations
    assert compared > 200


def test_overhanging_tiles_cover_the_domain_once_with_their_predicate():
    """What InDomain leaves after the predicate is the operand, each element once."""
    for seed in range(200):
        draw = Draw(seed)
        extents = tuple(draw.randint(1, 12) for _ in range(draw.randint(1, 2)))
        tiles = tuple(draw.randint(1, 9) for _ in extents)
        t = make_identity_tensor(extents)
        divided = zipped_divide(t.layout, tiles)
        cells = [t.iterator[divided(i)] for i in range(divided.size())]
        inside = [c for c in cells if all(x < n for x, n in zip(c, extents, strict=True))]

        assert sorted(inside) == sorted(t(i) for i in range(t.size())), seed
        assert bool(divided.obligations) == (len(inside) < len(cells))


def test_a_product_repeats_its_block_without_overlap():
    repeated = 0
    for seed in range(400):
        draw = Draw(seed)
        a = draw.layout("permuted", modes=2, extent=6)
        t = draw.layout("permuted", modes=2, extent=4)
        try:
            p = logical_product(a, t)
        except InexactError:
            continue
        repeated += 1

        assert p[0] == a
        assert compatible(t.shape, p[1].shape)
        assert len(set(p.offsets().tolist())) == a.size() * t.size(), (seed, str(a), str(t))
        if not p.obligations:
            assert cosize(p) == cosize(a) * cosize(t)
    assert repeated > 250


def test_blocked_and_raked_products_cover_block_times_tiles():
    for seed in range(200):
        draw = Draw(seed)
        n = draw.randint(1, 3)
        block, tiles = (
            Layout(e, tuple(draw.strides(list(e), "permuted")))
            for e in (tuple(draw.randint(1, 5) for _ in range(n)) for _ in range(2))
        )
        for product_, fast, slow in ((blocked_product, block, tiles), (raked_product, tiles, block)):
            p = product_(block, tiles)

            assert sorted(p.offsets().tolist()) == list(range(block.size() * tiles.size())), seed
            assert tuple(m.shape for m in p) == tuple(zip(fast.shape, slow.shape, strict=True))
            assert cosize(p) == cosize(block) * cosize(tiles)


def test_tiling_to_a_shape_has_that_shape_and_repeats_the_block():
    for seed in range(200):
        draw = Draw(seed)
        extents = tuple(draw.randint(1, 4) for _ in range(2))
        block = Layout(extents, tuple(draw.strides(list(extents), "permuted")))
        target = tuple(e * draw.randint(1, 4) for e in extents)
        order = tuple(draw.sample(range(2), 2))
        got = tile_to_shape(block, target, order)

        assert product_each(got.shape) == target
        assert compatible(target, got.shape)
        assert sorted(got.offsets().tolist()) == list(range(size(target)))
        assert all(got(i, j) == block(i, j) for i in range(extents[0]) for j in range(extents[1]))


@pytest.mark.parametrize("tiler", [(4, 3), (2, 2), (8, 1), (4,), (3, 4), (Layout(2, 4), 3)])
def test_local_tiles_over_all_coordinates_partition_the_tensor(tiler):
    t = make_identity_tensor((8, 6))
    rests = zipped_divide(t.layout, tiler)[1].shape
    tiles = [local_tile(t, tiler, c) for c in range(size(rests))]
    inside = [x for tile in tiles for x in (tile(i) for i in range(tile.size())) if x[0] < 8 and x[1] < 6]

    assert sorted(inside) == sorted(t(i) for i in range(48))


def test_local_partitions_over_all_threads_partition_the_tensor():
    for seed in range(100):
        draw = Draw(seed)
        shape = tuple(draw.choice([1, 2, 4]) for _ in range(2))
        strides = draw.strides(list(shape), "permuted")
        threads = Layout(shape, tuple(0 if n == 1 else d for n, d in zip(shape, strides, strict=True)))
        t = make_identity_tensor((shape[0] * draw.randint(1, 3), shape[1] * draw.randint(1, 3)))
        parts = [local_partition(t, threads, i) for i in range(threads.size())]

        assert sorted(p(i) for p in parts for i in range(p.size())) == sorted(t(i) for i in range(t.size())), seed
