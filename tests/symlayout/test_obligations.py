"""Obligations: what a result still needs, where it travels, and when it goes away."""

from __future__ import annotations

import pickle

import pytest

from symlayout import (
    ComposedLayout,
    E,
    Layout,
    Obligations,
    Swizzle,
    append,
    bytes_of,
    coalesce,
    complement,
    composition,
    dim,
    dims,
    domain_distribute,
    downcast,
    filter,
    filter_zeros,
    flat_divide,
    flatten_layout,
    group,
    left_inverse,
    local_tile,
    logical_divide,
    logical_product,
    make_identity_tensor,
    make_layout,
    max_common_layout,
    nullspace,
    prepend,
    replace,
    right_inverse,
    select,
    slice_,
    slice_and_offset,
    take,
    tile_to_shape,
    tiled_divide,
    unflatten,
    upcast,
    zip_modes,
    zipped_divide,
)
from symlayout.obligations import EXACT, IN_DOMAIN, NONE
from tests.support.draw import read

M, N = dims("M N")
TILED = zipped_divide(Layout((M, N), (N, 1)), (64, 64))
OVER = logical_divide(Layout(10), 4)  # (4,3):(1,4), two points past the end


def test_the_words():
    assert str(TILED.obligations) == "in domain: needs a predicate unless 64 divides M and N"
    assert str(OVER.obligations) == "in domain: needs a predicate"
    assert str(NONE) == "none"
    assert str(composition(read("(N,4):(4,1)"), Layout(8)).obligations).startswith("exact: needs N >= 8")


def test_they_hold_at_some_sizes():
    assert TILED.obligations.hold({M: 128, N: 64})
    assert TILED.obligations.hold({"M": 128, "N": 64})
    assert not TILED.obligations.hold({M: 128, N: 65})
    assert [o.holds() for o in TILED.obligations] == [None, None]
    assert [o.holds(given=(M.multiple_of(64),)) for o in TILED.obligations] == [True, None]
    assert [o.kind for o in TILED.obligations] == [IN_DOMAIN, IN_DOMAIN]
    assert [o.holds() for o in OVER.obligations] == [False]


def test_binding_drops_what_has_become_true():
    assert TILED.subs({M: 128, N: 64}).obligations == NONE
    assert str(TILED.subs({M: 128, N: 65}).obligations) == "in domain: needs a predicate"
    assert str(TILED.subs({M: 128}).obligations) == "in domain: needs a predicate unless 64 divides N"
    assert TILED.subs({M: 64 * dim("m"), N: 64}).obligations == NONE


def test_they_are_a_set_in_order():
    a, b = TILED.obligations

    assert TILED.obligations | TILED.obligations == TILED.obligations
    assert Obligations((a,)) | (b,) == TILED.obligations
    assert NONE | TILED.obligations == TILED.obligations | NONE == TILED.obligations
    assert {a, b, a} == {a, b}
    assert pickle.loads(pickle.dumps(TILED.obligations)) == TILED.obligations
    assert EXACT != IN_DOMAIN


PLAIN = Layout((4, 3), (1, 4))
CARRIERS = {
    "append": lambda x: append(x, Layout(2, 12)),
    "append of it": lambda x: append(PLAIN, x),
    "bytes_of": lambda x: bytes_of(x, 2),
    "call with underscore": lambda x: x(None, 1),
    "coalesce": coalesce,
    "coalesce by profile": lambda x: coalesce(x, (1, 1)),
    "complement": lambda x: complement(x, 24),
    "composed": lambda x: ComposedLayout(Swizzle(1, 0, 1), 0, x),
    "composed outside": lambda x: ComposedLayout(x, 0, PLAIN),
    "composition, left": lambda x: composition(x, Layout(4)),
    "composition, right": lambda x: composition(Layout(64), x),
    "composition by mode": lambda x: composition(x, (2, 3)),
    "composition by mode, tiler": lambda x: composition(Layout((64, 8)), (x, 2)),
    "composition by basis": lambda x: composition(x, Layout((4, 3), (E(0), E(1)))),
    "downcast": lambda x: downcast(2, x),
    "filter": filter,
    "filter_zeros": filter_zeros,
    "flat_divide": lambda x: flat_divide(x, (2, 1)),
    "flatten": flatten_layout,
    "group": lambda x: group(x, 0, 2),
    "left_inverse": left_inverse,
    "local_tile": lambda x: local_tile(x, (2, 1), (0, 0)),
    "logical_divide": lambda x: logical_divide(x, 2),
    "logical_divide, tiler": lambda x: logical_divide(Layout(96), x),
    "logical_product, left": lambda x: logical_product(x, 2),
    "logical_product, right": lambda x: logical_product(PLAIN, x),
    "make_layout": lambda x: make_layout(PLAIN, x),
    "max_common_layout": lambda x: max_common_layout(x, PLAIN),
    "max_common_layout, right": lambda x: max_common_layout(PLAIN, x),
    "mode": lambda x: x[0],
    "modes": lambda x: x[0:1],
    "nullspace": nullspace,
    "prepend": lambda x: prepend(x, n=3),
    "prepend of it": lambda x: prepend(PLAIN, x),
    "replace": lambda x: replace(x, 0, Layout(4)),
    "replace by it": lambda x: replace(PLAIN, 0, x),
    "right_inverse": right_inverse,
    "select": lambda x: select(x, 1, 0),
    "slice_": lambda x: slice_((None, 1), x),
    "slice_and_offset": lambda x: slice_and_offset((None, 1), x)[0],
    "swizzled": lambda x: composition(Swizzle(1, 0, 1), x),
    "take": lambda x: take(x, 0, 1),
    "tile_to_shape": lambda x: tile_to_shape(x, (8, 6)),
    "tiled_divide": lambda x: tiled_divide(x, (2, 1)),
    "unflatten": lambda x: unflatten(x, (0, (0,))),
    "upcast": lambda x: upcast(2, x),
    "zip_modes": lambda x: zip_modes(x, PLAIN),
    "zipped_divide": lambda x: zipped_divide(x, (2, 1)),
}


@pytest.mark.parametrize("name", CARRIERS)
def test_every_operation_passes_them_on(name):
    got = CARRIERS[name](OVER)

    assert set(OVER.obligations) <= set(got.obligations), (str(got), str(got.obligations))


def test_coordinate_tensors_carry_them():
    tile = local_tile(make_identity_tensor((M, N)), (64, 64), (0, 0))

    assert tile.obligations == TILED.obligations
    assert tile(None, 3).obligations == TILED.obligations


def test_a_shape_alone_has_none():
    assert domain_distribute(OVER.shape, 4).obligations == NONE
    assert Layout(OVER.shape, OVER.stride).obligations == NONE


def test_a_common_layout_past_the_end_of_the_smaller_one_needs_a_predicate():
    common = max_common_layout(Layout(4), Layout(8))

    assert (str(common), str(common.obligations)) == ("8:1", "in domain: needs a predicate")
