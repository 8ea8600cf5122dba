"""Laws 10 and 11: swizzles are involutions, linear over GF(2) and block by block bijective; recasting commutes."""

from __future__ import annotations

import contextlib
import itertools

import pytest

from symlayout import (
    ComposedLayout,
    Layout,
    LayoutError,
    Swizzle,
    bytes_of,
    composition,
    downcast,
    left_inverse,
    recast_layout,
    right_inverse,
    slice_and_offset,
    upcast,
)
from tests.support.draw import Draw

SWIZZLES = [
    Swizzle(bits, base, sign * shift)
    for bits, base, shift, sign in itertools.product(range(4), range(4), range(5), (1, -1))
    if shift >= bits and (shift or sign > 0)
]


def tiles(n: int):
    """(draw, swizzled tile) with power-of-two extents."""
    for seed in range(n):
        draw = Draw(seed)
        extents = [draw.choice([1, 2, 4, 8]) for _ in range(draw.randint(1, 3))]
        inner = Layout(tuple(extents), tuple(draw.strides(extents, draw.choice(["compact", "permuted", "padded"]))))
        yield draw, ComposedLayout(draw.choice(SWIZZLES), draw.choice([0, 0, 3, 8, 40]), inner)


@pytest.mark.parametrize("sw", SWIZZLES, ids=str)
def test_a_swizzle_is_a_linear_involution_on_its_blocks(sw):
    draw = Draw(str(sw))
    n = sw.block
    start = n * draw.randrange(5)
    block = range(start, start + n)

    assert {sw(x) for x in block} == set(block)
    for _ in range(20):
        x, y = draw.randrange(1 << 14), draw.randrange(1 << 14)

        assert sw(sw(x)) == x == sw.inverse(sw(x))
        assert sw(x ^ y) == sw(x) ^ sw(y)
        assert sw(x) & ((1 << sw.base) - 1) == x & ((1 << sw.base) - 1)
        assert sw(x) & sw.source == x & sw.source
        assert sw(x + 7 * sw.period) == sw(x) + 7 * sw.period
        assert (sw(x) ^ x) & ~sw.target == 0


BITS = [0, *(1 << k for k in range(13)), 0x1555, 0x1A63]  # a swizzle is linear over them: on these it is known


def test_composed_swizzles_are_their_composition():
    merged = 0
    for a, b in itertools.product(SWIZZLES, repeat=2):
        try:
            c = composition(a, b)
        except LayoutError:
            continue
        merged += 1

        assert all(c(x) == a(b(x)) for x in BITS), (a, b)
    assert merged > 300


def test_slice_then_evaluate_is_evaluate():
    for draw, tile in tiles(200):
        c = tuple(draw.randrange(n) for n in tile.shape)
        free = draw.randrange(len(c))
        holes = tuple(None if i == free or draw.chance(0.3) else x for i, x in enumerate(c))
        filling = tuple(x for x, h in zip(c, holes, strict=True) if h is None)
        part, offset = slice_and_offset(holes, tile)

        assert offset == 0
        assert part(filling) == tile(c), str(tile)
        assert tile(holes)(filling) == tile(c)


def test_offsets_are_the_values_in_order():
    for _, tile in tiles(200):
        assert tile.offsets().tolist() == [tile(i) for i in range(tile.size())]


def test_composition_and_inverses_act_through_the_swizzle():
    inverted = 0
    for draw, tile in tiles(300):
        b = Layout(draw.choice([1, 2, 4]), draw.choice([1, 2]))
        if b(b.size() - 1) < tile.size():
            with contextlib.suppress(LayoutError):
                assert [composition(tile, b)(i) for i in range(b.size())] == [tile(b(i)) for i in range(b.size())]
        try:
            r, q = right_inverse(tile), left_inverse(tile)
        except LayoutError:
            continue
        inverted += 1

        assert all(tile(r(i)) == i for i in range(r.size())), str(tile)
        assert all(tile(q(tile(i))) == tile(i) for i in range(tile.size())), str(tile)
    assert inverted > 40


@pytest.mark.parametrize("n", [1, 2, 4, 8, 16])
def test_recasting_a_swizzle_commutes_with_evaluation(n):
    for sw in SWIZZLES:
        up, down = upcast(n, sw), downcast(n, sw)
        assert all(up(x // n) == sw(x) // n for x in range(0, 2048, n)), (n, sw)
        assert all(down(x * n) == sw(x) * n for x in range(128))
        assert upcast(n, down) == sw
        assert bytes_of(sw, n) == downcast(n, sw)


def test_recasting_a_layout_round_trips():
    for seed in range(300):
        draw = Draw(seed)
        layout = draw.layout("permuted", modes=3, points=300)
        n = draw.choice([2, 4, 8])
        if not any(d == 1 for _, d in layout.modes()):
            continue
        smaller = downcast(n, layout)

        assert upcast(n, smaller) == layout, (seed, str(layout), n)
        assert smaller.size() == n * layout.size()
        assert sorted(smaller.offsets().tolist()) == list(range(n * layout.size()))


def test_upcast_lists_the_aligned_groups():
    """Where nothing is rounded, the larger elements are the smaller ones' offsets, divided."""
    for seed in range(300):
        draw = Draw(seed)
        layout = draw.layout("permuted", modes=3, points=300)
        n = draw.choice([2, 4])
        if any(d < n and m % (n // d) for m, d in layout.modes() if d):
            continue
        try:
            larger = upcast(n, layout)
        except LayoutError:
            continue
        small = layout.offsets()

        want = small[small % n == 0] // n
        assert sorted(larger.offsets().tolist()) == sorted(want.tolist()), (seed, str(layout), n)


def test_recasting_a_swizzled_tile_moves_swizzle_offset_and_layout_alike():
    for draw, tile in tiles(300):
        n = draw.choice([2, 4])
        if not any(d == 1 for _, d in tile.inner.modes()):
            continue
        smaller = downcast(n, tile)

        assert upcast(n, smaller) == tile
        assert recast_layout(tile, old=8 * n, new=8) == smaller
        want = [n * x + k for x in tile.offsets().tolist() for k in range(n)]
        assert sorted(smaller.offsets().tolist()) == sorted(want)
        assert [bytes_of(tile, n)(i) for i in range(tile.size())] == [n * tile(i) for i in range(tile.size())]
