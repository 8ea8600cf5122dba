"""Names that users of pycute and of the CuTe DSL look for mean what they mean there; widths of a recast are named."""

from __future__ import annotations

import numpy as np
import pytest

from symlayout import (
    ComposedLayout,
    Integer,
    Layout,
    LayoutBase,
    LayoutError,
    Swizzle,
    dim,
    leading_dim,
    make_composed_layout,
    make_layout_tv,
    recast,
    recast_layout,
    shiftl,
    shiftr,
    size,
)


@pytest.mark.parametrize(
    "x, yes", [(3, True), (np.int64(3), True), (dim("M"), True), (True, False), (3.0, False), ("3", False)]
)
def test_integers(x, yes):
    assert isinstance(x, Integer) is yes


def test_layouts_have_one_base():
    assert isinstance(Layout(4), LayoutBase)
    assert isinstance(ComposedLayout(Swizzle(1, 0, 1), 0, Layout(4)), LayoutBase)
    assert not isinstance((4, 1), LayoutBase)


@pytest.mark.parametrize("a, s", [(a, s) for a in (0, 1, 5, 96) for s in range(-4, 5)])
def test_shifts_go_both_ways(a, s):
    assert shiftl(a, s) == (a << s if s >= 0 else a >> -s)
    assert shiftr(a, s) == shiftl(a, -s)


def test_a_composed_layout_applies_the_inner_one_last():
    x = make_composed_layout(Swizzle(2, 0, 3), 8, Layout((8, 8), (8, 1)))
    assert [x(i) for i in range(64)] == [Swizzle(2, 0, 3)(8 + Layout((8, 8), (8, 1))(i)) for i in range(64)]


@pytest.mark.parametrize(
    "threads, values, tile",
    [
        (Layout((4, 8), (8, 1)), Layout((2, 2), (2, 1)), (8, 16)),
        (Layout((32, 4), (4, 1)), Layout((1, 8), (8, 1)), (32, 32)),
        (Layout((4, 32), (32, 1)), Layout((4, 4), (4, 1)), (16, 128)),
        (Layout(32), Layout(4), 128),
    ],
)
def test_threads_and_values_of_a_tile(threads, values, tile):
    """Thread t holds with value v the element (thread's place, value's place), each mode by blocks of values."""
    extents, tv = make_layout_tv(threads, values)
    assert extents == tile or extents == (tile,)
    assert tv.shape[0] == size(threads) or size(tv.shape[0]) == size(threads)
    flat = tile if isinstance(tile, tuple) else (tile,)
    shapes = [x.shape if isinstance(x.shape, tuple) else (x.shape,) for x in (threads, values)]
    for tc in np.ndindex(*shapes[0]):
        for vc in np.ndindex(*shapes[1]):
            t, v = (x(tuple(map(int, c)) if len(c) > 1 else int(c[0])) for x, c in ((threads, tc), (values, vc)))
            at = [c * n + d for c, d, n in zip(tc, vc, shapes[1], strict=True)]
            step = [1, *np.cumprod(flat)[:-1]]
            assert tv(t, v) == sum(int(a * s) for a, s in zip(at, step, strict=True))


@pytest.mark.parametrize(
    "shape, stride, expected",
    [
        (4, 1, 0),
        ((4, 8), (1, 4), 0),
        ((4, 8), (8, 1), 1),
        ((1, 8), (1, 1), 1),
        ((1, 8), (1, 4), None),
        ((4, (2, 8)), (16, (8, 1)), (1, 1)),
        ((4, 8), (dim("ld"), 1), 1),
    ],
)
def test_leading_dimension(shape, stride, expected):
    assert leading_dim(shape, stride) == expected


def test_a_stride_of_another_profile_is_refused():
    with pytest.raises(LayoutError, match="expected a stride of the shape's profile"):
        leading_dim((4, 8), 1)


@pytest.mark.parametrize("call", [recast, recast_layout])
def test_widths_by_place_are_refused_with_both_readings(call):
    """C++ reads (old, new) and the CuTe DSL (new, old): the same call gave another layout, silently."""
    x = Layout((8, 4), (1, 8))
    with pytest.raises(LayoutError) as e:
        call(16, 8, x)
    assert "recast_layout(layout, old=16, new=8)" in str(e.value)
    assert "recast_layout(layout, old=8, new=16)" in str(e.value)
    assert str(call(x, old=16, new=8)) == "(16,4):(1,16)"
    assert str(call(x, old=8, new=16)) == "(4,4):(1,4)"
    with pytest.raises(LayoutError, match="expected recast_layout"):
        call(x, old=16)
