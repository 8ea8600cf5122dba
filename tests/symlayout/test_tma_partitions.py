"""The coordinate tensors of make_tma_copy, and their partitions."""

from __future__ import annotations

from fractions import Fraction

import pytest

from symlayout import (
    E,
    Layout,
    LayoutError,
    ScaledBasis,
    Tensor,
    dim,
    dims,
    evaluate,
    group,
    local_tile,
    make_coord_tensor,
)
from symlayout.basis import ArithmeticTupleIterator, as_tuple
from symlayout.tma.tiled_copy import create_tma_multicast_mask, make_tma_copy, tma_partition
from tests.symlayout.test_tma_copy import K_TILE, RECORDED, ROW_MAJOR, made

# -- coordinates ------------------------------------------------------------------------------------------


def test_the_tile_of_a_block_and_its_slices():
    copy = made(ROW_MAJOR, K_TILE)
    tile = local_tile(copy.get_tma_tensor(), (128, 64), (2, None))
    source = copy.get_slice(0).partition_S(tile)

    assert str(tile) == "ArithTuple(0,256) o (128,64,8):(1@1,1@0,64@0)"
    assert str(source) == "ArithTuple(0,256) o (((64,128),1),1,1,8):(((1@0,1@1),0),0,0,64@0)"
    assert source(None, 0, 0, 3).iterator.value == (192, 256)
    assert copy.coordinates(source(None, 0, 0, 3)) == (192, 256)


def test_symbolic_blocks_give_symbolic_operands():
    M, K = dim("M"), dim("K", multiple_of=8)
    copy = make_tma_copy(Layout((M, K), (K, 1)), K_TILE, dtype="bf16")
    m, k = dims("m k", at_least=0)
    tile = local_tile(copy.get_tma_tensor(), (128, 64), (m, k))

    assert copy.coordinates(tile) == (64 * k, 128 * m)


def test_slicing_moves_the_base_and_leaves_the_map_alone():
    copy = made(ROW_MAJOR, K_TILE)
    digest = copy.tensor_map.digest
    whole = copy.get_tma_tensor()
    tile = local_tile(whole, (128, 64), (2, 3))

    assert isinstance(tile.iterator, ArithmeticTupleIterator)
    assert not hasattr(tile, "tensor_map")
    assert (whole.iterator.value, tile.iterator.value) == ((0, 0), (192, 256))
    assert copy.tensor_map.digest == digest == made(ROW_MAJOR, K_TILE).tensor_map.digest
    assert digest != made(ROW_MAJOR, K_TILE, address=16).tensor_map.digest
    assert str(made(ROW_MAJOR, K_TILE, address=4096).get_tma_tensor()) == str(whole)


def test_the_coordinate_tensor_of_another_shape():
    copy = made(ROW_MAJOR, K_TILE)

    assert str(copy.get_tma_tensor((1000, 500))) == "ArithTuple(0,0) o (1000,500):(1@1,1@0)"
    with pytest.raises(LayoutError, match=r"expected a shape congruent to \(1024,512\), got \(10,\(2,3\)\)"):
        copy.get_tma_tensor((10, (2, 3)))


def test_units_of_several_elements_give_whole_coordinates_or_none():
    copy = RECORDED["f16 as u64"][0]
    tensor = copy.get_tma_tensor()
    i, j = dim("i", at_least=0), dim("j", at_least=0, multiple_of=4)

    assert tensor.stride[0] == ScaledBasis(Fraction(1, 4), 0)
    assert tensor(8, 3) == (2, 3)
    assert tensor(j, 3) == (j // 4, 3)
    assert copy.coordinates(local_tile(tensor, (32, 32), (1, 1))) == (8, 32)
    for bad in (3, i):
        with pytest.raises(LayoutError, match=r"expected a .*multiple of 4"):
            tensor(bad, 3)


def test_a_fraction_that_is_whole_is_an_integer():
    half = ScaledBasis(Fraction(1, 2), 1)

    assert str(half) == "1/2@1"
    assert 4 * half == half * 4 == 2 * E(1)
    assert ScaledBasis(Fraction(4, 2), 1) == 2 * E(1)
    assert str(make_coord_tensor(Layout((4, 4), (half, E(0))))) == "ArithTuple(0,0) o (4,4):(1/2@1,1@0)"
    with pytest.raises(LayoutError, match="expected a whole coordinate, a multiple of 2 elements, got 3/2@1"):
        as_tuple(3 * half)


def test_operands_come_from_a_coordinate_tensor_only():
    copy = made(ROW_MAJOR, K_TILE)

    with pytest.raises(LayoutError, match="expected a slice of the coordinate tensor, got 0 o"):
        copy.coordinates(Tensor(0, Layout(4, 1)))


# -- partitions -------------------------------------------------------------------------------------------


def test_threads_and_values_of_several_instructions():
    assert str(RECORDED["two atoms along K"][0].tv_layout) == "(1,((64,128),2)):(0,((128,1),8192))"
    assert str(RECORDED["multicast to 2"][0].tv_layout) == "(2,((64,128),1)):(64,((128,1),0))"
    assert RECORDED["two atoms along K"][0].tiler == (128, 128)


def test_bytes_of_an_instruction():
    two, cast = RECORDED["two atoms along K"][0], RECORDED["multicast to 2"][0]

    assert (two.bytes_per_instruction, two.elements_per_instruction) == (16384, 8192)
    assert two.tensor_map.transaction_bytes == 16384
    assert (cast.bytes_per_instruction, cast.tensor_map.transaction_bytes) == (16384, 8192)


def test_each_cta_of_a_multicast_has_its_part():
    copy = RECORDED["multicast to 2"][0]
    tile = local_tile(copy.get_tma_tensor(), (128, 64), (2, 0))
    parts = [copy.get_slice(cta) for cta in (0, 1)]

    assert [copy.coordinates(p.partition_S(tile)) for p in parts] == [(0, 256), (0, 320)]
    offsets = [p.partition_D(Tensor(0, K_TILE)).layout.offset for p in parts]
    assert [2 * x for x in offsets] == [0, 8192]
    with pytest.raises(LayoutError, match=r"expected a CTA of 0 \.\. 1 of the multicast, got 2"):
        copy.get_slice(2)
    rank = dim("rank", at_least=0, at_most=1)
    assert evaluate(copy.coordinates(copy.get_slice(rank).partition_S(tile))[1], {rank: 1}) == 320


def test_stages_of_shared_memory_are_the_rest():
    copy = RECORDED["two atoms along K"][0]
    stages = Layout((128, 128, 3), (128, 1, 16384))

    assert str(copy.get_slice().partition_D(stages).shape) == "(((64, 128), 2), 1, 1, 3)"


def test_tma_partition_is_the_same_by_atom():
    copy = RECORDED["multicast to 2"][0]
    tile = local_tile(copy.get_tma_tensor(), (128, 64), (2, None))
    shared, moved, still = tma_partition(
        copy,
        *(1, Layout(2)),
        *(group(K_TILE, 0, 2), Tensor(tile.iterator, group(tile.layout, 0, 2)), group(tile.layout, 0, 2)),
    )

    assert str(moved) == "ArithTuple(0,320) o (((64,128),1),8):(((1@0,1@1),0),64@0)"
    assert copy.coordinates(still) == (0, 64)
    assert str(shared) == "0 o Sw<3,3,3> o 4096 o ((8192,1),):((1,0),)"


def test_tma_partition_expects_the_ctas_of_the_multicast():
    with pytest.raises(LayoutError, match="expected a layout of the 1 CTAs of the multicast, got 2:1"):
        tma_partition(RECORDED["K-major SW128"][0], 0, Layout(2), group(K_TILE, 0, 2))


def test_tma_partition_expects_the_tile_in_mode_0():
    copy = RECORDED["K-major SW128"][0]

    with pytest.raises(LayoutError, match=r"expected mode 0 to be a tile of 8192 elements, got \(128,64\)"):
        tma_partition(copy, 0, Layout(1), group(K_TILE, 0, 2), Layout((128, 64), (E(1), E(0))))


@pytest.mark.parametrize(
    "shape, coord, modes, mask",
    [
        ((1, 2, 2, 1), (0, 1, 0, 0), (2,), 0b1010),
        ((1, 2, 4, 1), (0, 0, 3, 0), (1,), 0b11000000),
        ((2, 2), (1, 1), (), 0b1000),
        ((2, 2), (1, 1), (0, 1), 0b1111),
    ],
)
def test_multicast_masks(shape, coord, modes, mask):
    assert create_tma_multicast_mask(Layout(shape), coord, *modes) == mask


def test_a_mask_has_16_bits():
    with pytest.raises(LayoutError, match=r"expected CTA ranks of 0 \.\. 15, got \(0,16\)"):
        create_tma_multicast_mask(Layout((16, 2)), (0, 0), 1)
    with pytest.raises(LayoutError, match=r"expected modes of 0 \.\. 1, got"):
        create_tma_multicast_mask(Layout((2, 2)), (0, 0), 2)
