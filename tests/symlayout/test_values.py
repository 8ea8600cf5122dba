"""Values as arrays against one evaluation for each coordinate, also where 64 bits do not suffice."""

from __future__ import annotations

import random

import numpy as np
import pytest

from symlayout import ComposedLayout, E, Layout, Swizzle, dims
from symlayout.basis import as_tuple
from symlayout.errors import LayoutError
from symlayout.int_tuple import leaves
from symlayout.values import by_entry, rows
from tests.support.draw import Draw

M, N = dims("M N")
composed = ComposedLayout


def one_by_one(x) -> list[list[int]]:
    return [leaves(as_tuple(x(i))) for i in range(x.size())]


@pytest.mark.parametrize(
    "x, dtype",
    [
        (Layout(4), np.int64),
        (Layout(()), np.int64),
        (Layout((4, 8), (8, -1)), np.int64),
        (Layout((4, 1), (1, 2**70)), np.int64),
        (Layout((2, 3), (2**62, 2**63)), object),
        (Layout((4, 8), (E(1), E(0))), np.int64),
        (Layout(((4, 2), 3), ((E(0, 1), E(0, 0)), E(1))), np.int64),
        (Layout((2, 2), (E(0) + E(1), 3 * E(1))), np.int64),
        (Layout((2, 2, 2), (E(0) * 2**70, E(1), E(0) * 2**70)), object),
        (composed(Swizzle(2, 0, 2), 0, Layout((4, 4))), np.int64),
        (composed(Swizzle(2, 0, -2), -3, Layout((4, 4), (4, 1))), np.int64),
        (composed(Swizzle(0, 0, 0), 10**30, Layout((4, 3))), object),
        (composed(Swizzle(3, 0, -62), 0, Layout(2, 4)), object),
        (composed(Swizzle(1, 63, 1), 0, Layout((4, 3), (1, 5))), object),
        (composed(Layout((2, 2), (1, 2**50)), 0, Layout(64)), np.int64),
        (composed(Layout((2, 2), (1, 2**60)), 0, Layout(64)), object),
        (composed(Layout((2**70, 1), (1, 8)), 1, Layout((2, 2))), object),
        (composed(Layout(()), 0, Layout(4)), np.int64),
        (composed(Layout((4, (2, 3)), (3, (7, 1))), 2, Layout((4, 4))), np.int64),
        (composed(composed(Swizzle(2, 0, 2), 3, Layout((4, 8), (8, 1))), 2, Layout((4, 4))), np.int64),
        (composed(Layout((4, 8)), 1, composed(Swizzle(2, 0, 2), 3, Layout((4, 4)))), np.int64),
        (composed(Layout((4, 8), (1, 4)), (0, 1), Layout((4, 8), (E(0), E(1)))), np.int64),
        (composed(Layout((4, 8), (E(0), E(1))), (1, 2), Layout((2, 2), (E(0), E(0)))), np.int64),
        (composed(Layout((4, 8, 3), (1, 4, 9)), (0, 1, 2), Layout((4, 8), (E(0), E(1)))), np.int64),
        (composed(Layout((4, (2, 2)), (1, (4, 8))), (0, (1, 1)), Layout((2, 2), (E(0), E(1, 0)))), np.int64),
        (composed(Layout((4, 8), (E(0), E(1))), 1, Layout((4, 8))), np.int64),
    ],
    ids=str,
)  # fmt: skip
def test_values_are_those_of_each_coordinate(x, dtype):
    found = rows(x)

    assert found.tolist() == one_by_one(x)
    assert found.dtype == dtype
    assert found.flags.writeable


def test_drawn_layouts():
    draw, r = Draw(11), random.Random(11)
    for _ in range(150):
        x = draw.layout(points=64)
        bits = r.randint(0, 3)
        sw = Swizzle(bits, r.randint(0, 2), r.choice((-1, 1)) * (bits + r.randint(0, 1)))
        for y in (x, composed(sw, r.randint(0, 9), x)):
            assert rows(y).tolist() == one_by_one(y), y
            assert y.offsets().tolist() == rows(y)[:, 0].tolist()


def test_no_coordinate_is_evaluated_alone(monkeypatch):
    monkeypatch.setattr(Layout, "__call__", lambda *_: pytest.fail("one coordinate was evaluated"))

    assert rows(Layout((512, 512), (E(0), E(1)))).shape == (1 << 18, 2)
    assert rows(composed(Layout((512, 512), (512, 1)), 0, Layout(1 << 18))).shape == (1 << 18, 1)


@pytest.mark.parametrize(
    "x, message",
    [
        (Layout(M), "expected a layout of plain integers, got M:1; bind its symbols first"),
        (composed(Layout(4), N, Layout(4)), "expected a layout of plain integers"),
        (Layout((2**20, 2**20)), "expected at most 1073741824 coordinates to list, got 1099511627776"),
        (Layout((4, 4), (E(0), E(0, 1))), r"expected coordinates of one profile, such as \(0,0\), got the integer 1"),
        (Layout((4, 4), (E(0), 1)), "expected coordinates of one profile"),
        (composed(Layout((4, 8)), -3, Layout(32)), "expected coordinates of at least 0 for .*, got -3"),
        (composed(Layout((4, 8)), 0, Layout((4, 8, 2), (E(0), E(1), E(2)))), r"expected coordinates for .* \(rank 2\), got 3 entries"),
        (composed(Layout((4, 8)), (0, 1), Layout(4)), "expected an offset and values of one profile"),
    ],
    ids=str,
)  # fmt: skip
def test_what_has_no_values_is_refused(x, message):
    with pytest.raises(LayoutError, match=message):
        rows(x)


def test_offsets_are_integers_of_64_bits():
    for x in (composed(Layout((2, 2), (1, 2**60)), 0, Layout(64)), Layout((2, 3), (2**62, 2**63))):
        with pytest.raises(LayoutError, match="expected offsets within int64"):
            x.offsets()
    with pytest.raises(LayoutError, match="expected a layout of plain integers"):
        composed(Layout((4, 8), (E(0), E(1))), 0, Layout(32)).offsets()
    with pytest.raises(LayoutError, match=r"expected an integer as the offset inside Sw<1,0,1>, got \(0,1\)"):
        composed(Swizzle(1, 0, 1), (0, 1), Layout(4))


def test_strides_by_entry_of_the_value():
    assert by_entry(Layout((4, 8), (8, 1))) == [8, 1]
    assert by_entry(Layout(((4, 2), M), ((E(0, 1), 0), N * E(1)))) == (([0, 0, 0], [1, 0, 0]), [0, 0, N])
    assert by_entry(Layout((4, 2), (E(0) + 2 * E(1), E(1)))) == ([1, 0], [2, 1])


def test_a_coordinate_as_offset_is_bound_like_a_number():
    x = composed(Layout((8, 8), (1, 8)), (M, 1), Layout((2, 2), (E(0), E(1))))

    assert x.subs({M: 3}).static
    assert rows(x.subs({M: 3})).tolist() == [[11], [12], [19], [20]]
