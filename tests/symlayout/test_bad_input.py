"""What cannot be right is refused at once, by name and value: "expected ... got ..."."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
import pytest

import symlayout
from symlayout import (
    ComposedLayout,
    E,
    ExpressionError,
    Layout,
    LayoutError,
    NotationError,
    Swizzle,
    SymlayoutError,
    Tensor,
    append,
    coalesce,
    complement,
    composition,
    cosize,
    crd2idx,
    dim,
    dims,
    elem_scale,
    flatten,
    get,
    idx2crd,
    index,
    inner_product,
    left_inverse,
    local_partition,
    local_tile,
    logical_divide,
    logical_product,
    make_identity_layout,
    make_identity_tensor,
    make_layout,
    make_ordered_layout,
    max_common_vector,
    product,
    rank,
    recast_layout,
    right_inverse,
    size,
    tile_to_shape,
    zipped_divide,
)
from symlayout.address_map import AddressMap
from symlayout.fit import fit

L = Layout((4, (2, 3)))
T = make_identity_tensor((8, 6))
BIG = 10**30


def nested(depth: int) -> Any:
    x: Any = 1
    for _ in range(depth):
        x = (x,)
    return x


DEEP = nested(10_000)

CALLS = {
    # what is no shape, function or name, and what is too much
    "dims of a number": lambda: dims(7),
    "a product of 40 sums": lambda: math.prod(x + 1 for x in dims(" ".join(f"A{i}" for i in range(40)))),
    "a function without names": lambda: AddressMap.over(max, (4, 8)),
    "a fact as predicate": lambda: AddressMap.over(lambda i: i, (8,), when=dim("M") < 4),
    "a layout as target": lambda: tile_to_shape(L, L),
    "a fit of 2^40 points": lambda: fit(lambda i, j: i, (2**20, 2**20)),
    # shapes
    "zero extent": lambda: Layout((4, 0)),
    "negative extent": lambda: Layout((4, -2)),
    "float extent": lambda: Layout((4, 2.0)),
    "NumPy float extent": lambda: Layout((4, np.float64(2))),
    "bool extent": lambda: Layout((4, True)),
    "NumPy bool extent": lambda: Layout((4, np.bool_(True))),
    "string extent": lambda: Layout("4"),
    "None extent": lambda: Layout((4, None)),
    "None shape": lambda: Layout(None),
    "complex extent": lambda: Layout(4j),
    "dict shape": lambda: Layout({4: 1}),
    "set shape": lambda: Layout({4, 8}),
    "array shape": lambda: Layout(np.array([4, 8])),
    "layout as extent": lambda: Layout((4, Layout(2))),
    "basis as extent": lambda: Layout((4, E(0))),
    "deep shape": lambda: Layout(DEEP),
    "identity of nothing": lambda: make_identity_layout((4, 0)),
    "row-major of a float": lambda: symlayout.LayoutRight((4, 2.5)),
    # strides
    "incongruent stride": lambda: Layout((4, 2), (1,)),
    "deeper stride": lambda: Layout((4, 2), (1, (4, 8))),
    "flat stride": lambda: Layout((4, (2, 3)), (1, 4, 8)),
    "scalar stride": lambda: Layout((4, 2), 1),
    "float stride": lambda: Layout((4, 2), (1, 4.0)),
    "None stride": lambda: Layout((4, 2), (1, None)),
    "bool stride": lambda: Layout((4, 2), (True, 4)),
    "string stride": lambda: Layout((4, 2), (1, "4")),
    "float basis": lambda: Layout(4, 0.5 * E(0)),
    "string basis": lambda: E("0"),
    "negative basis": lambda: E(-1),
    # notation
    "open parenthesis": lambda: Layout.parse("(4,2:(1,4)"),
    "closed parenthesis": lambda: Layout.parse("(4,2)):(1,4)"),
    "crossed parentheses": lambda: Layout.parse("((4,2):(1,4))"),
    "incongruent text": lambda: Layout.parse("(4,2):(1,(4))"),
    "no text": lambda: Layout.parse(""),
    "half a text": lambda: Layout.parse("(4,2):"),
    "deep text": lambda: Layout.parse("(" * 10_000 + "4" + ")" * 10_000),
    "long number": lambda: Layout.parse("9" * 100_000 + "x"),
    # coordinates
    "no coordinate": lambda: L(),
    "coordinate of higher rank": lambda: L(1, 2, 3),
    "coordinate of lower rank": lambda: L((1,)),
    "deeper coordinate": lambda: L((1, 0), 2),
    "nested coordinate of wrong rank": lambda: L(1, (1, 2, 0)),
    "negative coordinate": lambda: L(-1),
    "negative coordinate in a mode": lambda: L(1, (1, -2)),
    "NumPy negative coordinate": lambda: L(np.int64(-1)),
    "float coordinate": lambda: L(1.0),
    "bool coordinate": lambda: L(True),
    "string coordinate": lambda: L("1"),
    "deep coordinate": lambda: L(DEEP),
    "coordinate for an integer shape": lambda: Layout(4)((1, 0)),
    "tensor coordinate of wrong rank": lambda: T(1, 2, 3),
    "tensor negative coordinate": lambda: T(-1, 2),
    "slice of wrong rank": lambda: L(None, 1, 2),
    "slice at a negative coordinate": lambda: L(None, -1),
    # operands
    "first operand an integer": lambda: composition(8, Layout(4)),
    "first operand text": lambda: composition("8:1", Layout(4)),
    "second operand text": lambda: composition(Layout(8), "4:1"),
    "second operand a float": lambda: composition(Layout(8), 4.0),
    "second operand zero": lambda: composition(Layout(8), 0),
    "second operand a bool": lambda: composition(Layout(8), True),
    "tiler of text": lambda: zipped_divide(L, ("4", 2)),
    "tiler of a float": lambda: zipped_divide(L, (4.0, 2)),
    "tiler of a bool": lambda: zipped_divide(L, (True, 2)),
    "tiler of zero": lambda: zipped_divide(L, (0, 2)),
    "tiler of higher rank": lambda: zipped_divide(L, (2, 2, 2)),
    "divide an integer": lambda: logical_divide(8, 4),
    "multiply an integer": lambda: logical_product(8, 4),
    "product with zero": lambda: logical_product(L, 0),
    "product with a float": lambda: logical_product(L, 2.0),
    "coalesce an integer": lambda: coalesce(8),
    "coalesce None": lambda: coalesce(None),
    "filter a tuple": lambda: symlayout.filter((4, 2)),
    "filter_zeros a tuple": lambda: symlayout.filter_zeros((4, 2)),
    "complement a tuple": lambda: complement((4, 2), 24),
    "complement to zero": lambda: complement(Layout(4), 0),
    "complement to a negative": lambda: complement(Layout(4), -8),
    "complement to a float": lambda: complement(Layout(4), 8.0),
    "complement to text": lambda: complement(Layout(4), "8"),
    "complement to a tuple with zero": lambda: complement(Layout(4), (8, 0)),
    "invert an integer": lambda: right_inverse(8),
    "invert a tuple": lambda: left_inverse((8, 4)),
    "cosize of an integer": lambda: cosize(8),
    "common vector of integers": lambda: max_common_vector(8, 8),
    "mode of text": lambda: get(L, "1"),
    "mode beyond": lambda: get(L, 2),
    "make_layout of nothing": lambda: make_layout(),
    "make_layout of three integers": lambda: make_layout(4, 1, 2),
    "make_layout of a layout and an integer": lambda: make_layout(Layout(4), 4),
    "append an integer": lambda: append(L, 4),
    "order of wrong rank": lambda: make_ordered_layout((4, 2), (0, 1, 2)),
    "order of text": lambda: make_ordered_layout((4, 2), ("a", "b")),
    "tile to a smaller rank": lambda: tile_to_shape(L, 8),
    "tile to text": lambda: tile_to_shape(L, ("4", 6)),
    "recast to no bits": lambda: recast_layout(L, old=16, new=0),
    "recast to a float": lambda: recast_layout(L, old=16, new=8.0),
    "swizzle of a float": lambda: Swizzle(1.5, 0, 2),
    "composed without a layout": lambda: ComposedLayout(Swizzle(1, 0, 2), 0, (4, 2)),
    "composed at a float": lambda: ComposedLayout(Swizzle(1, 0, 2), 0.5, L),
    "tensor without a layout": lambda: Tensor(0, (4, 2)),
    "tile of a tuple": lambda: local_tile((8, 6), (4, 3), (0, 0)),
    "tile at a coordinate of higher rank": lambda: local_tile(T, (4, 3), (0, 0, 0)),
    "partition among an integer": lambda: local_partition(T, 4, 0),
    # free functions of tuples
    "size of a float": lambda: size((4, 2.0)),
    "size of text": lambda: size("42"),
    "size of None": lambda: size((4, None)),
    "product of bools": lambda: product((True, 4)),
    "flatten text": lambda: flatten(("ab", 4)),
    "size of a deep shape": lambda: size(DEEP),
    "rank of None": lambda: rank(None),
    "inner product of other profiles": lambda: inner_product((1, 2), (1, (2, 3))),
    "elem_scale of other ranks": lambda: elem_scale((1, 2), (1, 2, 3)),
    "crd2idx of a float": lambda: crd2idx(1.5, (4, 2)),
    "crd2idx into a float": lambda: crd2idx(1, (4.0, 2)),
    "crd2idx with incongruent strides": lambda: crd2idx(5, (4, 2), (1, 2, 3)),
    "idx2crd of text": lambda: idx2crd("5", (4, 2)),
    "flatten a deep shape": lambda: flatten(DEEP),
    # symbols
    "symbol of no name": lambda: dim(""),
    "symbol of two words": lambda: dim("M N"),
    "symbol with a float bound": lambda: dim("M", at_most=1e9),
    "coordinate below a float": lambda: index("i", 2.5),
    "modulus of a float": lambda: dim("M").multiple_of(2.0),
}


@pytest.mark.parametrize("name", CALLS)
def test_refused_with_what_was_expected_and_what_came(name):
    with pytest.raises(SymlayoutError, match=r"(?s)expected .* got "):
        CALLS[name]()


@pytest.mark.parametrize(
    "kind, make",
    [
        (LayoutError, CALLS["incongruent stride"]),
        (LayoutError, CALLS["zero extent"]),
        (ExpressionError, CALLS["float extent"]),
        (NotationError, CALLS["open parenthesis"]),
        (ValueError, CALLS["incongruent stride"]),
        (TypeError, CALLS["float extent"]),
    ],
)
def test_errors_have_built_in_bases(kind, make):
    with pytest.raises(kind):
        make()


def test_nesting_up_to_the_limit_works():
    x = nested(64)

    assert Layout(x).size() == 1
    assert len(str(Layout(x))) < 1000
    assert sys.getrecursionlimit() <= 10_000
    with pytest.raises(LayoutError, match="expected a shape nested at most 64 deep, got a deeper one"):
        Layout(nested(65))


@pytest.mark.parametrize(
    "make, text",
    [
        (lambda: Layout((BIG, BIG)), f"({BIG},{BIG}):(1,{BIG})"),
        (lambda: coalesce(Layout((BIG, BIG))), f"{BIG**2}:1"),
        (lambda: complement(Layout(4, BIG), BIG**2), f"({BIG},{BIG // 4}):(1,{4 * BIG})"),
        (lambda: right_inverse(Layout((BIG, 4), (4, 1))), f"(4,{BIG}):({BIG},1)"),
        (lambda: composition(Layout((BIG, 4)), Layout((2, 2), (1, BIG))), f"(2,2):(1,{BIG})"),
        (lambda: zipped_divide(Layout((BIG, 4)), (10, 4)), f"((10,4),({BIG // 10},1)):((1,{BIG}),(10,0))"),
        (lambda: logical_product(Layout(BIG), BIG), f"({BIG},{BIG}):(1,{BIG})"),
        (lambda: make_identity_layout((BIG, 2)), f"({BIG},2):(1@0,1@1)"),
    ],
)  # fmt: skip
def test_sizes_beyond_every_machine_word_work(make, text):
    assert str(make()) == text


@pytest.mark.parametrize(
    "make",
    [
        lambda: Layout(BIG).offsets(),
        lambda: Layout(BIG, 0).offsets(),
        lambda: Layout((2**33, 2**33), (0, 0)).offsets(),
        lambda: ComposedLayout(Swizzle(1, 0, 1), 0, Layout(BIG)).offsets(),
        lambda: composition(Layout((2**40, 2**40), (2**40, 1)), Layout((3, 2**39), (2**39, 1))),
        lambda: composition(Layout((BIG, 7), (7, 1)), Layout((BIG, 3), (3, BIG - 1))),
    ],
)
def test_what_would_need_an_enumeration_beyond_reason_is_refused(make):
    with pytest.raises(SymlayoutError, match=r"expected .* got"):
        make()
