"""Tensors: iterators that move under slices, tiles and partitions; CuTe's table on an identity tensor."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from symlayout import (
    ComposedLayout,
    Layout,
    LayoutError,
    Swizzle,
    Tensor,
    dice,
    dims,
    domain_offset,
    index,
    inner_partition,
    local_partition,
    local_tile,
    make_coord_tensor,
    make_identity_layout,
    make_identity_tensor,
    make_tensor,
    outer_partition,
)
from tests.support.draw import read

M, N = dims("M N")
T86 = make_identity_tensor((8, 6))


@pytest.mark.parametrize(
    "got, base, layout",
    [
        (local_tile(T86, (4, 3), (1, 1)), (4, 3), "(4,3):(1@0,1@1)"),
        (local_tile(T86, (4, 3), (1, None)), (4, 0), "(4,3,2):(1@0,1@1,3@1)"),
        (inner_partition(T86, (4, 3), 3), (4, 3), "(4,3):(1@0,1@1)"),
        (outer_partition(T86, (4, 3), 5), (1, 1), "(2,2):(4@0,3@1)"),
        (local_partition(T86, Layout((2, 3)), 3), (1, 1), "(4,2):(2@0,3@1)"),
        (local_partition(T86, read("(2,3):(3,1)"), 3), (1, 0), "(4,2):(2@0,3@1)"),
        (
            local_tile(make_identity_tensor((128, 64, 5)), (32, 16), (1, 2)),
            (32, 32, 0),
            "(32,16,5):(1@0,1@1,1@2)",
        ),
        (
            local_tile(make_identity_tensor((128, 16)), (32, 64, 4), (1, 2, None), (1, None, 1)),
            (32, 0),
            "(32,4,4):(1@0,1@1,4@1)",
        ),
        (
            local_tile(make_identity_tensor((128, 256)), (32, 64, 4), (1, 2, None), (1, 1, None)),
            (32, 128),
            "(32,64):(1@0,1@1)",
        ),
        (domain_offset((2, 3), T86), (2, 3), "(8,6):(1@0,1@1)"),
        (T86(None, 3), (0, 3), "(8,):(1@0,)"),
        (T86(2, None), (2, 0), "(6,):(1@1,)"),
    ],
    ids=str,
)
def test_partitions_of_an_identity_tensor(got, base, layout):
    assert got.iterator.value == base
    assert str(got.layout) == layout


def test_projections_are_dice():
    assert dice((1, None, 1), (32, 64, 4)) == (32, 4)
    assert local_partition(T86, read("(2,3,4)"), 3, (1, None, 1)) == local_partition(T86, read("(2,4):(1,6)"), 3)


def test_elements_are_coordinates():
    assert T86(2, 3) == (2, 3)
    assert T86(13) == (5, 1)
    assert T86(None, 3)(5) == (5, 3)
    assert make_coord_tensor(Layout((128, 64), read("(4,4):(1@1,1@0)").stride))(5, 7) == (7, 5)
    assert make_identity_tensor((4, (2, 3)))(1, (1, 2)) == (1, (1, 2))


def test_symbolic_tiles_have_symbolic_bases():
    i, j = index("i", M), index("j", N)
    tile = local_tile(make_identity_tensor((M, N)), (64, 32), (i, j))

    assert tile.iterator.value == (64 * i, 32 * j)
    assert tile(3, 5) == (64 * i + 3, 32 * j + 5)
    assert str(tile.obligations) == "in domain: needs a predicate unless 64 divides M and 32 divides N"


def test_symbolic_tiles_of_addresses_have_symbolic_offsets():
    i, j = index("i", M), index("j", N)
    tile = local_tile(Layout((M, N), (N, 1)), (64, 32), (i, j))

    assert tile.iterator == 64 * N * i + 32 * j
    assert tile(3, 5) == 64 * N * i + 32 * j + 3 * N + 5


def test_nested_coordinate_layouts_are_partitioned_as_coordinates():
    nested = make_identity_layout(((2, 4), 6))

    assert inner_partition(nested, ((2, 2), 3), 3).iterator.value == ((0, 2), 3)
    assert inner_partition(nested, ((2, 2), 3), 3) == inner_partition(make_coord_tensor(nested), ((2, 2), 3), 3)
    assert local_tile(make_identity_layout(((2, 4),)), ((2, 2),), (1,)).iterator.value == ((0, 2),)


def test_a_tensor_over_an_array_reads_it():
    data = np.arange(48) ** 2
    t = make_tensor(data, (8, 6), (6, 1))

    assert t(2, 3) == 15**2
    assert t(None, 3)(2) == 15**2
    assert t(2, None)(3) == 15**2
    assert local_tile(t, (4, 3), (1, 1))(2, 2) == (6 * 6 + 5) ** 2
    assert data.tolist() == [i * i for i in range(48)]


def test_a_tensor_over_an_offset_adds_it():
    t = make_tensor(100, Layout((8, 6), (6, 1)))

    assert t(2, 3) == 115
    assert t(2, None) == make_tensor(112, Layout((6,), (1,)))
    assert str(t) == "100 o (8,6):(6,1)"


def test_the_offset_of_a_swizzled_tile_stays_inside_its_swizzle():
    tile = ComposedLayout(Swizzle(3, 0, 3), 0, Layout((8, 8), (8, 1)))
    t = make_tensor(0, tile)

    assert [t(None, 3)(i) for i in range(8)] == [tile(i, 3) for i in range(8)]
    assert str(domain_offset((1, 2), t).layout) == "Sw<3,0,3> o 10 o (8,8):(8,1)"
    assert domain_offset((1, 2), t)(0, 0) == tile(1, 2)


def test_local_tiles_partition_the_tensor():
    tiles = [local_tile(T86, (4, 3), (i, j)) for j in range(2) for i in range(2)]

    assert sorted(t(c) for t in tiles for c in range(12)) == sorted(T86(i) for i in range(48))


@pytest.mark.parametrize("threads", ["(2,3)", "(2,3):(3,1)", "((2,2),3)", "(2,3):(1,2)"])
def test_local_partitions_partition_the_tensor_where_the_thread_layout_is_compact(threads):
    layout = read(threads)
    parts = [local_partition(T86, layout, t) for t in range(layout.size())]

    assert sorted(p(c) for p in parts for c in range(p.size())) == sorted(T86(i) for i in range(48))


def test_tensors_are_values():
    twin = pickle.loads(pickle.dumps(T86))

    assert twin == T86 == copy.copy(T86)
    assert hash(twin) == hash(T86)
    assert (T86.shape, T86.stride, T86.size(), len(T86)) == ((8, 6), T86.layout.stride, 48, 2)
    assert T86.compose(4, 3) == Tensor(T86.iterator, T86.layout.compose(4, 3))
    assert make_identity_tensor((M, N)).symbols == (M, N)
    with pytest.raises(AttributeError, match="a Tensor is a value"):
        T86.layout = None


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: Tensor(0, (8, 6)), r"expected a layout for a tensor, got \(8, 6\)"),
        (lambda: local_tile((8, 6), (4, 3), (0, 0)), "expected a tensor or a layout, got"),
        (lambda: local_tile(T86, (4, 3, 2), (0, 0, 0)), "expected at most 2 tiles"),
        (lambda: T86(1, 2, 3), "expected a coordinate for the shape"),
        (lambda: local_tile(T86, (4, 3), (0, 0, 0)), "expected .* got"),
    ],
)
def test_misfits_are_refused(make, message):
    with pytest.raises(LayoutError, match=message):
        make()
