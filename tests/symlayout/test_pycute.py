"""Code written for pycute runs unchanged after ``from symlayout import *``: its call forms, one by one."""

from __future__ import annotations

from typing import Any

import pytest

NAMES: dict[str, Any] = {}
exec("from symlayout import *", NAMES)

PYCUTE = (
    *("is_int", "is_tuple", "flatten", "signum", "product", "inner_product", "tuple_max", "elem_scale", "shape_div"),
    *("prefix_product", "idx2crd", "crd2idx", "crd2crd", "slice_", "has_none", "is_layout", "Layout", "make_layout"),
    *("size", "cosize", "coalesce", "filter", "composition", "complement", "right_inverse", "left_inverse"),
    *("logical_divide", "logical_product", "hier_unzip", "zipped_divide", "tiled_divide", "zipped_product"),
    *("tiled_product", "slice_and_offset", "Swizzle", "ComposedLayout"),
)


def test_every_name_is_there():
    assert [name for name in PYCUTE if name not in NAMES] == []


@pytest.mark.parametrize(
    "call, result",
    [
        # layouts
        ("Layout(8)", "8:1"),
        ("Layout((4, 8))", "(4,8):(1,4)"),
        ("Layout((4, 8), (8, 1))", "(4,8):(8,1)"),
        ("Layout(((2, 2), 8), ((1, 8), 2))", "((2,2),8):((1,8),2)"),
        ("make_layout(Layout(4), Layout(8, 4))", "(4,8):(1,4)"),
        ("is_layout(Layout(4)), is_layout(4)", "(True, False)"),
        ("Layout((4, 8), (8, 1)).shape", "(4, 8)"),
        ("Layout((4, 8), (8, 1)).stride", "(8, 1)"),
        ("Layout((4, 8), (8, 1)).size(), Layout((4, 8), (8, 1)).cosize()", "(32, 32)"),
        ("size(Layout((4, 8))), cosize(Layout((4, 8), (1, 16)))", "(32, 116)"),
        ("len(Layout((4, 8))), len(Layout(4))", "(2, 1)"),
        ("Layout((4, (2, 3)))[1]", "(2,3):(4,8)"),
        ("Layout((4, 8)) == Layout((4, 8), (1, 4)), Layout(4) == Layout((4,))", "(True, False)"),
        ("[Layout((4, 8), (8, 1))(i) for i in range(5)]", "[0, 8, 16, 24, 1]"),
        ("Layout((4, 8), (8, 1))(2, 3), Layout((4, 8), (8, 1))((2, 3))", "(19, 19)"),
        ("Layout((4, (2, 3)))(1, (1, 2)), Layout((4, (2, 3)))(1, 5)", "(21, 21)"),
        ("Layout((4, (2, 3)))(1, None)", "((2,3),):((4,8),)"),
        ("Layout((4, (2, 3)))(None, (1, None))", "(4,3):(1,8)"),
        ("slice_and_offset((1, None), Layout((4, 8), (8, 1)))[1]", "8"),
        ("slice_and_offset((1, None), Layout((4, 8), (8, 1)))[0]", "(8,):(1,)"),
        # algebra
        ("coalesce(Layout((2, (1, 6)), (1, (6, 2))))", "12:1"),
        ("coalesce(Layout((2, (1, 6)), (1, (6, 2))), (1, 1))", "(2,6):(1,2)"),
        ("filter(Layout((2, 4, 3), (1, 0, 2)))", "6:1"),
        ("filter(Layout((2, (4, 3)), (0, (1, 0))), (1, 1))", "(1,4):(0,1)"),
        ("composition(Layout((6, 2), (8, 2)), Layout((4, 3), (3, 1)))", "((2,2),3):((24,2),8)"),
        ("composition(Layout((12, (4, 8)), (59, (13, 1))), (Layout(3, 4), Layout(8, 2)))", "(3,(2,4)):(236,(26,1))"),
        ("composition(Layout((12, (4, 8)), (59, (13, 1))), (3, 8))", "(3,(4,2)):(59,(13,1))"),
        ("composition(Layout((4, 8)), None)", "(4,8):(1,4)"),
        ("composition(Layout(20, 2), 5)", "5:2"),
        ("complement(Layout(4, 2), 24)", "(2,3):(1,8)"),
        ("complement(Layout(4))", "1:0"),
        ("right_inverse(Layout((8, 4), (4, 1)))", "(4,8):(8,1)"),
        ("left_inverse(Layout((8, 4), (4, 1)))", "(4,8):(8,1)"),
        ("logical_divide(Layout((4, 2, 3), (2, 1, 8)), Layout(4, 2))", "((2,2),(2,3)):((4,1),(2,8))"),
        ("logical_divide(Layout((8, 6)), (4, 2))", "((4,2),(2,3)):((1,4),(8,16))"),
        ("zipped_divide(Layout((8, 6)), (4, 2))", "((4,2),(2,3)):((1,8),(4,16))"),
        ("tiled_divide(Layout((8, 6)), (4, 2))", "((4,2),2,3):((1,8),4,16)"),
        ("hier_unzip(logical_divide, Layout((8, 6)), (4, 2))", "((4,2),(2,3)):((1,8),(4,16))"),
        ("logical_product(Layout((2, 2), (4, 1)), Layout(6, 1))", "((2,2),(2,3)):((4,1),(2,8))"),
        ("zipped_product(Layout((2, 5), (5, 1)), (Layout(3, 5), Layout(4, 6)))", "((2,5),(3,4)):((5,1),(10,30))"),
        ("tiled_product(Layout((2, 5), (5, 1)), (Layout(3, 5), Layout(4, 6)))", "((2,5),3,4):((5,1),10,30)"),
        # integer tuples
        ("is_int(3), is_int((3,)), is_tuple((3,)), is_tuple(3)", "(True, False, True, False)"),
        ("flatten(((2, 3), 4))", "(2, 3, 4)"),
        ("signum(-7), product((2, (3, 4))), tuple_max((2, (9, 4)))", "(-1, 24, 9)"),
        ("inner_product((1, (2, 3)), (4, (5, 6))), elem_scale((2, 3), (4, (5, 6)))", "(32, (8, 90))"),
        ("shape_div((4, 5, 6), 40), shape_div(12, (2, 3))", "((1, 1, 3), 2)"),
        ("prefix_product((2, (3, 4))), prefix_product((2, 3), 5)", "((1, (2, 6)), (5, 10))"),
        ("crd2idx((1, 5), (3, (2, 3)), (3, (12, 1))), crd2idx(16, (3, (2, 3)))", "(17, 16)"),
        ("idx2crd(16, (3, (2, 3)), (1, (3, 6))), idx2crd(16, (3, (2, 3)))", "((1, (1, 2)), (1, (1, 2)))"),
        ("crd2crd((1, 5), (3, 6), (3, (2, 3)))", "(1, (1, 2))"),
        ("slice_((None, 1), (5, 6)), slice_((1, (None, 2)), (5, (6, 7)))", "((5,), (6,))"),
        ("has_none((1, (None, 2))), has_none((1, 2))", "(True, False)"),
        # swizzles
        ("[Swizzle(2, 0, 2)(i) for i in range(8)]", "[0, 1, 2, 3, 5, 4, 7, 6]"),
        ("Swizzle(2, 0, -2)(1), Swizzle(3, 4, 3)(160)", "(5, 176)"),
        ("ComposedLayout(Swizzle(3, 0, 3), 8, Layout(8))(0)", "9"),
        ("ComposedLayout(Swizzle(3, 0, 3), 0, Layout((8, 8), (8, 1))).size()", "64"),
        ("ComposedLayout(Layout(8, 3), 1, Layout(4))(2)", "9"),
        ("ComposedLayout(Swizzle(1, 0, 1), 0, Layout((2, 2)))", "Sw<1,0,1> o 0 o (2,2):(1,2)"),
    ],
)
def test_call_forms(call, result):
    assert str(eval(call, dict(NAMES))) == result


def test_the_docs_of_layout_algebra_in_ten_lines():
    """The worked example of CuTe's divide: 9 by (4,8), in tiles of 3:3 and (2,4):(1,8)."""
    code = """
A = Layout((9, (4, 8)), (59, (13, 1)))
tiler = (Layout(3, 3), Layout((2, 4), (1, 8)))
ld = logical_divide(A, tiler)
zd = zipped_divide(A, tiler)
tile = zd((None, (1, 0)))
same = [zd(i, 0) for i in range(size(zd[0]))] == [composition(A, tiler)(i) for i in range(size(zd[0]))]
"""
    names = dict(NAMES)
    exec(code, names)

    assert str(names["ld"]) == "((3,3),((2,4),(2,2))):((177,59),((13,2),(26,1)))"
    assert str(names["zd"]) == "((3,(2,4)),(3,(2,2))):((177,(13,2)),(59,(26,1)))"
    assert str(names["tile"]) == "((3,(2,4)),):((177,(13,2)),)"
    assert names["same"]
