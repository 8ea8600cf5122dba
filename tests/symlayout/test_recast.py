"""Larger and smaller units: upcast, downcast, recast and bytes, for layouts, swizzles and both together."""

from __future__ import annotations

import pytest

from symlayout import Layout, LayoutError, Swizzle, bytes_of, dim, downcast, recast, recast_layout, upcast
from tests.support.draw import read


@pytest.mark.parametrize(
    "op, n, layout, expected",
    [
        (upcast, 2, "(8,4):(1,8)", "(4,4):(1,4)"),
        (upcast, 2, "(4,8):(8,1)", "(4,4):(4,1)"),
        (upcast, 4, "(8,6):(1,100)", "(2,6):(1,25)"),
        (upcast, 2, "(8,4):(1,0)", "(4,4):(1,0)"),
        (upcast, 2, "8:-1", "4:-1"),
        (upcast, 2, "3:1", "2:1"),
        (upcast, 4, "6:2", "3:1"),
        (upcast, 1, "(8,4):(3,5)", "(8,4):(3,5)"),
        (upcast, 2, "(M,8):(8,1)", "(M,4):(4,1)"),
        (upcast, 2, "(M,2*N):(2*N,1)", "(M,N):(N,1)"),
        (upcast, 16, Swizzle(3, 7, 3), "Sw<3,3,3>"),
        (upcast, 16, Swizzle(3, 3, 3), "Sw<2,0,3>"),
        (downcast, 2, "(4,8):(8,1)", "(4,16):(16,1)"),
        (downcast, 2, "8:-1", "16:-1"),
        (downcast, 2, "(M,N):(N,1)", "(M,2*N):(2*N,1)"),
        (downcast, 16, Swizzle(2, 0, 3), "Sw<2,4,3>"),
        (bytes_of, 2, "(8,64):(64,1)", "(8,64):(128,2)"),
        (bytes_of, 2, "Sw<3,3,3> o 8 o (8,64):(64,1)", "Sw<3,4,3> o 16 o (8,64):(128,2)"),
    ],
)
def test_casts(op, n, layout, expected):
    x = read(layout)

    assert str(op(x, n) if op is bytes_of else op(n, x)) == expected


@pytest.mark.parametrize(
    "old, new, layout, expected",
    [
        (8, 16, Swizzle(3, 4, 3), "Sw<3,3,3>"),
        (16, 128, Swizzle(3, 3, 3), "Sw<3,0,3>"),
        (16, 8, Swizzle(3, 3, 3), "Sw<3,4,3>"),
        (16, 32, "Sw<3,3,3> o 0 o (8,64):(64,1)", "Sw<3,2,3> o 0 o (8,32):(32,1)"),
        (16, 32, "Sw<3,3,3> o 8 o (8,64):(64,1)", "Sw<3,2,3> o 4 o (8,32):(32,1)"),
        (32, 16, "(4,8):(8,1)", "(4,16):(16,1)"),
        (16, 16, "(4,8):(8,1)", "(4,8):(8,1)"),
        (6, 8, "(4,8):(8,1)", "(4,6):(6,1)"),
    ],
)
def test_recast_layout(old, new, layout, expected):
    assert str(recast_layout(read(layout), old=old, new=new)) == expected
    assert recast is recast_layout


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: upcast(4, read("8:3")), "expected a stride that divides 4 or is divided by it, got 3 in 8:3"),
        (lambda: upcast(4, read("(6,4):(1,6)")), "got 6"),
        (lambda: upcast(4, read("(6,4):(1,M)")), "expected a multiple of 4, got M"),
        (lambda: upcast(2, read("(4,2):(1@0,1@1)")), "expected integer strides to upcast, got"),
        (lambda: upcast(2, read("Sw<3,3,3> o 3 o (8,64):(64,1)")), "expected a multiple of 2, got 3"),
        (lambda: upcast(3, Swizzle(3, 3, 3)), "expected a power of two to recast a swizzle by, got 3"),
        (lambda: downcast(2, read("8:2")), "expected a mode of stride 1 to downcast, got 8:2"),
        (lambda: upcast(0, read("8:2")), "expected .* got 0"),
        (lambda: downcast(-2, read("8:1")), "expected .* got -2"),
        (lambda: recast_layout(read("8:1"), old=0, new=16), "expected .* got 0"),
        (lambda: bytes_of(read("8:1"), 0), "expected .* got 0"),
    ],
)
def test_misfits_are_refused(make, message):
    with pytest.raises(LayoutError, match=message):
        make()


def test_a_symbolic_stride_is_divided_where_its_facts_allow():
    ld = dim("ld", multiple_of=8)
    got = upcast(8, Layout((dim("M"), 64), (ld, 1)))

    assert got.shape == (dim("M"), 8)
    assert got.subs({"ld": 64, "M": 2}).stride == (8, 1)
