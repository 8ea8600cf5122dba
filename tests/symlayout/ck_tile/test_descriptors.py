"""Descriptors against upstream's own numbers, and the graph that they are."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest

from symlayout import LayoutError, dim, dims
from symlayout.address_map import AddressMap
from symlayout.canonical import digest
from symlayout.ck_tile import (
    Graph,
    TensorAdaptor,
    chain_tensor_adaptors,
    coordinate_has_valid_offset,
    coordinate_has_valid_offset_assuming_top_index_is_valid,
    make_embed_transform,
    make_freeze_transform,
    make_insert_transform,
    make_merge_transform,
    make_modulo_transform,
    make_naive_tensor_descriptor,
    make_naive_tensor_descriptor_aligned,
    make_naive_tensor_descriptor_packed,
    make_naive_tensor_descriptor_packed_with_offset,
    make_naive_tensor_descriptor_with_offset,
    make_pad_transform,
    make_pass_through_transform,
    make_right_pad_transform,
    make_single_stage_tensor_adaptor,
    make_slice_transform,
    make_tensor_coordinate,
    make_tensor_descriptor_from_adaptor,
    make_unmerge_transform,
    make_xor_transform,
    move_tensor_coordinate,
    transform_tensor_descriptor,
)
from symlayout.transforms import Merge, PassThrough, Unmerge

M, K = dims("M K")
BOTH = ((0,), (1,))


def lds_tile(M, K, q, element_bytes=2):
    """The row-major A tile of upstream's universal GEMM policy: naive, xor, unmerge, two merges."""
    k0, rows = K // q, max(1, 128 // K // element_bytes)
    d = make_naive_tensor_descriptor((k0 * rows, M // rows, q), (q, K * rows, 1))
    d = transform_tensor_descriptor(
        d,
        (make_xor_transform((M // rows, k0 * rows)), make_pass_through_transform(q)),
        ((1, 0), (2,)),
        ((1, 0), (2,)),
    )
    d = transform_tensor_descriptor(
        d,
        (make_unmerge_transform((k0, rows)), make_pass_through_transform(M // rows), make_pass_through_transform(q)),
        ((0,), (1,), (2,)),
        ((0, 2), (1,), (3,)),
    )
    return transform_tensor_descriptor(
        d, (make_merge_transform((M // rows, rows)), make_merge_transform((k0, q))), ((1, 2), (0, 3)), BOTH
    )


def offsets(d):
    return np.array([d(c) for c in itertools.product(*map(range, d.lengths))]).reshape(d.lengths)


def test_a_blocked_descriptor_visits_every_offset_once():
    d = make_naive_tensor_descriptor((2, 2, 1, 4), (8, 1, 2, 2))

    assert sorted(offsets(d).ravel().tolist()) == [*range(16)]


def test_accesses_beyond_lengths_as_upstream_tests_them():
    """They read past lengths and size on purpose: nothing there checks either."""
    first = make_naive_tensor_descriptor((2, 3), (5, 2))
    second = make_naive_tensor_descriptor((2, 2), (3, 4))
    third = make_naive_tensor_descriptor((3, 3), (5, 1))

    assert offsets(first).tolist() == [[0, 2, 4], [5, 7, 9]]
    assert [second((1 + i, 2 + j)) for i in range(2) for j in range(2)] == [11, 15, 14, 18]
    assert [third((4 + i, 1 + j)) for i in range(3) for j in range(3)] == [21, 22, 23, 26, 27, 28, 31, 32, 33]
    assert (second.element_space_size, third.element_space_size) == (8, 13)


def test_an_aligned_descriptor():
    d = make_naive_tensor_descriptor_aligned((5, 13), 8)

    assert (d.element_space_size, d((1, 0))) == (77, 16)
    assert d.get_top_dimension_safe_vector_length_strides() == ((-1, -1), (-1, -1))


def test_an_offset_is_not_counted_in_the_space_and_drops_the_guarantee():
    d = make_naive_tensor_descriptor_with_offset((3, 4), (4, 1), 5, 4, 1)

    assert (d((2, 3)), d.element_space_size) == (16, 12)
    assert d.get_top_dimension_safe_vector_length_strides() == ((-1, -1), (-1, -1))
    packed = make_naive_tensor_descriptor_packed_with_offset((3, 4), 5, 4)
    assert packed((2, 3)) == 16
    assert packed.get_top_dimension_safe_vector_length_strides() == ((-1, 4), (-1, 1))


def test_a_slice_of_a_packed_tensor():
    d = make_naive_tensor_descriptor_packed((10, 10))
    tile = transform_tensor_descriptor(d, (make_slice_transform(10, 2, 7), make_slice_transform(10, 3, 8)), BOTH, BOTH)

    assert (tile((0, 0)), tile((4, 4)), tile.element_space_size, tile.lengths) == (23, 67, 100, (5, 5))


def test_a_transpose_takes_guarantees_along():
    d = make_naive_tensor_descriptor((100, 64), (64, 1), 8, 1)
    both = make_pass_through_transform(100), make_pass_through_transform(64)
    t = transform_tensor_descriptor(d, both, BOTH, ((1,), (0,)))

    assert d.get_top_dimension_safe_vector_length_strides() == ((-1, 8), (-1, 1))
    assert t.get_top_dimension_safe_vector_length_strides() == ((8, -1), (1, -1))
    assert (t((3, 5)), t.lengths) == (323, (64, 100))


def test_a_padded_tensor():
    d = make_naive_tensor_descriptor((100, 64), (64, 1), 8, 1)
    t = transform_tensor_descriptor(d, (make_right_pad_transform(100, 28), make_pass_through_transform(64)), BOTH, BOTH)

    assert t.lengths == (128, 64)
    assert [(t(c), t.valid_at(c)) for c in ((99, 63), (100, 0), (0, 64))] == [(6399, True), (6400, False), (64, True)]
    assert t.get_top_dimension_safe_vector_length_strides() == ((-1, 8), (-1, 1))
    c = make_tensor_coordinate(t, (0, 64))
    assert coordinate_has_valid_offset_assuming_top_index_is_valid(t, c)
    assert not coordinate_has_valid_offset(t, c)


def test_a_guarantee_through_a_run_time_unmerge_is_too_long():
    d = make_naive_tensor_descriptor((64,), (1,), 8, 1)
    n = dim("n")
    known = transform_tensor_descriptor(d, (make_unmerge_transform((16, 4)),), ((0,),), ((0, 1),))
    run_time = transform_tensor_descriptor(d, (make_unmerge_transform((16, n)),), ((0,),), ((0, 1),))

    assert known.get_top_dimension_safe_vector_length_strides()[0] == (-1, 4)
    assert run_time.get_top_dimension_safe_vector_length_strides()[0] == (-1, 8)


def test_packed_guarantees_by_version():
    old, new = (make_naive_tensor_descriptor_packed((4, 16), 8, version=v) for v in ("V24", "V25"))
    run_time = make_naive_tensor_descriptor_packed((4, K), 8, version="V25")

    assert old.get_top_dimension_safe_vector_length_strides()[0] == (-1, 8)
    assert new.get_top_dimension_safe_vector_length_strides()[0] == (-1, 16)
    assert new.graph.guarantees("V25")[0][0] == 64
    assert run_time.get_top_dimension_safe_vector_length_strides() == ((-1, -1), (-1, 1))


def test_dimensions_left_out_are_an_error_and_0_upstream():
    d = make_naive_tensor_descriptor_packed((10, 10))
    rows = (make_pass_through_transform(10),)

    with pytest.raises(LayoutError, match="expected transforms of all 2 top dimensions, got 1"):
        transform_tensor_descriptor(d, rows, ((0,),), ((0,),))
    assert transform_tensor_descriptor(d, rows, ((0,),), ((0,),), mode="ck")((3,)) == 30


def test_freeze_and_insert():
    d = make_naive_tensor_descriptor_packed((4, 6))
    t = transform_tensor_descriptor(
        d, (make_freeze_transform(2), make_pass_through_transform(6), make_insert_transform(3)), ((0,), (1,), ()), ((), (1,), (0,))
    )  # fmt: skip

    assert t.lengths == (3, 6)
    assert [t((r, 5)) for r in range(3)] == [17, 17, 17]


@pytest.mark.parametrize(
    "transforms, lower, upper, message",
    [
        ((PassThrough(10),), BOTH, BOTH, "for each of 1 transforms, got 2 and 2"),
        ((PassThrough(10), PassThrough(10)), ((0,), (0,)), BOTH, r"expected each old dimension of 0 .. 1 once, got \(0,0\)"),
        ((PassThrough(10), PassThrough(10)), BOTH, ((0,), (2,)), r"expected each new dimension of 0 .. 1 once, got \(0,2\)"),
        ((Merge((10, 10)),), ((0,),), ((0,),), r"expected a tuple of 2 as the old dimensions of merge\(10, 10\), got \(0,\)"),
        ((Unmerge((10, 1)), PassThrough(1), PassThrough(1)), ((0,), (1,), (2,)), ((0, 1), (2,), (3,)), "all 2 top dimensions, got 3"),
        ((PassThrough(5), PassThrough(5)), (2, 3), BOTH, "expected a tuple of 1 as the old dimensions of"),
        ((5, PassThrough(5)), BOTH, BOTH, "expected a transform such as"),
    ],
)  # fmt: skip
def test_wrong_lists_of_dimensions(transforms, lower, upper, message):
    with pytest.raises(LayoutError, match=message):
        transform_tensor_descriptor(make_naive_tensor_descriptor_packed((10, 10)), transforms, lower, upper)


def test_a_graph_out_of_order_is_an_error():
    t = PassThrough(4)

    with pytest.raises(LayoutError, match="expected dimension 2 before it is used"):
        TensorAdaptor(Graph((t, t), ((2,), (0,)), ((1,), (2,)), (0,), (1,)))
    with pytest.raises(LayoutError, match="expected each dimension defined once"):
        TensorAdaptor(Graph((t, t), ((0,), (0,)), ((1,), (1,)), (0,), (1,)))
    with pytest.raises(LayoutError, match="top dimensions that a transform defines, got 7"):
        TensorAdaptor(Graph((t,), ((0,),), ((1,),), (0,), (7,)))


@pytest.mark.parametrize("shape", [(128, 32, 8), (128, 64, 8), (64, 32, 16)])
def test_swizzled_tiles_of_the_gemm_policy_are_bijective(shape):
    rows, columns, _ = shape
    d = lds_tile(*shape)

    assert d.lengths == (rows, columns)
    assert np.array_equal(np.sort(offsets(d), axis=None), np.arange(rows * columns))


def test_swizzled_tile_by_its_formula():
    d = lds_tile(128, 32, 8)

    for m, k in itertools.product(range(128), range(32)):
        r, z = divmod(m, 2)
        k0, k1 = divmod(k, 8)
        assert d((m, k)) == ((k0 * 2 + z) ^ (r % 8)) * 8 + r * 64 + k1


def test_the_padded_chain_of_the_lds():
    d = make_naive_tensor_descriptor((4, 128, 8), (129 * 8, 8, 1))
    t = transform_tensor_descriptor(
        d, (make_pass_through_transform(128), make_merge_transform((4, 8))), ((1,), (0, 2)), BOTH
    )

    assert (t.element_space_size, t.lengths) == (4120, (128, 32))


def test_adaptors_chain_and_become_descriptors():
    low = make_single_stage_tensor_adaptor((make_embed_transform((4, 5), (10, 2)),), ((0,),), ((0, 1),))
    high = make_single_stage_tensor_adaptor((make_merge_transform((4, 5)),), ((0, 1),), ((0,),))
    d = make_tensor_descriptor_from_adaptor(chain_tensor_adaptors(low, high), 40)

    assert [d((u,)) for u in range(20)] == [10 * (u // 5) + 2 * (u % 5) for u in range(20)]
    assert (d.get_num_of_dimension(), d.get_num_of_hidden_dimension(), d.get_element_size()) == (1, 4, 20)
    swizzle = make_single_stage_tensor_adaptor((make_xor_transform((4, 4)),), ((0, 1),), ((0, 1),))
    with pytest.raises(LayoutError, match="expected 1 bottom dimensions to glue on, got 2"):
        chain_tensor_adaptors(high, swizzle)


def test_sizes_are_put_in_and_the_names_stay():
    d = transform_tensor_descriptor(
        make_naive_tensor_descriptor((M, K), (K, 1)),
        (make_pad_transform(M, 0, -M % 64), make_merge_transform((K,))),
        BOTH,
        BOTH,
    )
    bound = d.subs({"M": 100, "K": 7})

    assert (bound.lengths, bound.element_space_size, bound.static) == ((128, 7), 700, True)
    assert [c.name for c in bound.coords] == [c.name for c in d.coords]
    assert d.symbols == (K, M)
    assert not d.static


def test_names_of_indices_give_way_to_sizes():
    x0 = dim("x0")

    assert [c.name for c in make_naive_tensor_descriptor((x0, 4), (4, 1)).coords] == ["xx0", "xx1"]


def test_descriptors_are_values():
    a, b = (make_naive_tensor_descriptor((M, 4), (4, 1), 4, 1) for _ in range(2))

    assert a == b
    assert hash(a) == hash(b)
    assert a != make_naive_tensor_descriptor((M, 4), (4, 1))
    assert pickle.loads(pickle.dumps(a)) == a
    plain = AddressMap(a.coords, a.extents, a.offset, a.valid, divisors=a.divisors)
    assert (a == plain, plain == a, a == TensorAdaptor(a.graph), a == 5) == (False, False, False, False)
    assert digest(a) == digest(b) != digest(make_naive_tensor_descriptor((M, 4), (4, 1)))


def test_tables_of_a_descriptor_are_those_of_its_map():
    d = lds_tile(64, 32, 16).subs({})
    at, values = d.table()

    assert [d(tuple(map(int, c))) for c in at[::37]] == values[::37, 0].tolist()


def test_moving_equals_making_in_every_hidden_dimension():
    d = lds_tile(16, 32, 8)
    for old, new in itertools.product([(0, 0), (3, 9), (15, 31), (7, 16)], repeat=2):
        step = tuple(b - a for a, b in zip(old, new, strict=True))
        assert move_tensor_coordinate(d, make_tensor_coordinate(d, old), step) == make_tensor_coordinate(d, new)


def test_moving_through_a_modulo_is_not_making():
    d = transform_tensor_descriptor(
        make_naive_tensor_descriptor_packed((4,)), (make_modulo_transform(4, 10),), ((0,),), ((0,),)
    )
    start = make_tensor_coordinate(d, (0,))

    assert move_tensor_coordinate(d, start, (1,)).offset == 2
    assert make_tensor_coordinate(d, (1,)).offset == 1


def test_coordinates_of_symbols():
    d = make_naive_tensor_descriptor((M, K), (K, 1))
    c = make_tensor_coordinate(d, (M - 1, 0))

    assert (c.get_offset(), c.get_index()) == (K * M - K, (M - 1, 0))
    assert move_tensor_coordinate(d, c, (0, K - 1)).offset == K * M - 1
    assert str(make_tensor_coordinate(make_naive_tensor_descriptor((4, 4), (4, 1)), (1, 2))) == "(1,2) at (6,)"
    with pytest.raises(LayoutError, match="expected 2 indices, got"):
        make_tensor_coordinate(d, (1,))
