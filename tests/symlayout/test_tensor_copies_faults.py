"""Tensor copies that fault, their neighbours that do not, what is not settled, and bad input."""

from __future__ import annotations

import pickle
import random
from dataclasses import replace

import numpy as np
import pytest

from symlayout import LayoutError, dim
from symlayout.errors import TmaFault
from symlayout.rules.readings import landed_bytes
from symlayout.semantics import Memory, TensorCopy, footprint, tma_load, tma_store
from symlayout.tma import Im2col, TensorMap
from tests.support.slow_copies import (
    F16,
    INTERLEAVED,
    POISON,
    poisoned,
    random_im2col,
    random_interleaved,
    random_tile,
    source,
    tile,
)

# -- faults, and what they leave -----------------------------------------------------------------------------


def faults(make) -> TmaFault:
    with pytest.raises(TmaFault) as caught:
        make()
    return caught.value


def test_a_fault_names_rule_number_and_effect():
    fault = faults(lambda: tile(F16, (4, 0)))

    assert (fault.rule, fault.effect) == ("coord0_multiple_16", "illegal instruction")
    assert str(fault).startswith("illegal instruction, coord0_multiple_16: expected the innermost start coordinate")
    assert "got 8" in str(fault)
    again = pickle.loads(pickle.dumps(fault))
    assert (str(again), again.rule, again.effect) == (str(fault), fault.rule, fault.effect)


@pytest.mark.parametrize("address, legal", [(0, True), (64, False), (120, False), (128, True), (1024 + 16, False)])
def test_shared_addresses_of_loads(address, legal):
    if legal:
        tile(F16, (0, 0), address)
    else:
        assert faults(lambda: tile(F16, (0, 0), address)).effect == "misaligned address"


@pytest.mark.parametrize("coordinate", [(-8, 0), (0, -1)])
def test_negative_stores(coordinate):
    memory = poisoned()

    assert faults(lambda: tma_store(F16, coordinate, memory, source(), 0)).rule == "store_coordinate_nonnegative"
    assert (memory == POISON).all()
    tile(F16, coordinate)


def test_a_tile_must_fit_in_shared_memory():
    m = TensorMap("f16", 0, (64, 16), (256,), (16, 8), swizzle=128)  # 256 bytes that land in 1024
    enough, short = poisoned(2048), poisoned(2047)

    tma_load(m, (0, 0), source(), enough, 1024)
    fault = faults(lambda: tma_load(m, (0, 0), source(), short, 1024))
    assert (fault.rule, fault.effect) == ("memory_bounds", "illegal memory access")
    assert (short == POISON).all()


def test_interleaved_pixels_may_swizzle_past_the_end():
    m = replace(INTERLEAVED, box_dim=(8, 1, 1, 1), element_stride=(2, 1, 1, 1), swizzle=F16.swizzle.__class__(3))
    shared = poisoned(256 + 64)

    assert faults(lambda: tma_load(m, (0, 0, 0, 0), source(), poisoned(64 + 640), 640)).rule == "memory_bounds"
    tma_load(m, (0, 0, 0, 0), source(), shared, 256)
    assert tma_load(m, (0, 0, 0, 0), source(), poisoned(1024), 640).shared_ranges == ((640 + 64, 640 + 128),)


def test_elements_of_the_tensor_must_be_in_memory():
    m = TensorMap("u8", 0, (64, 16), (64,), (16, 16))

    tma_load(m, (48, 0), source()[:1024], poisoned(), 0)
    fault = faults(lambda: tma_load(m, (48, 0), source()[:1023], poisoned(), 0))
    assert "expected addresses of 0..1022, got 48..1023, 1 bytes outside" in str(fault)
    far = TensorMap("u8", 0, (64, 2**32), (2**39,), (16, 1))
    near = replace(far, global_dim=(64, 2**31))
    assert faults(lambda: tile(near, (0, 2**25))).rule == "memory_bounds"  # 2^64 is not address 0
    tile(near, (0, 0))
    assert faults(lambda: tile(far, (0, 0))).rule == "extent_2_31"


def test_what_interleaved_pixels_occupy_is_whole_spans():
    m = replace(INTERLEAVED, box_dim=(8, 1, 1, 1), element_stride=(2, 1, 1, 1), swizzle=F16.swizzle.__class__(3))

    assert (m.transaction_bytes, m.landed_bytes) == (64, 128)
    for address in range(0, 1024, 128):
        (first, end), *more = tma_load(m, (0, 0, 0, 0), source(), poisoned(2048), address).shared_ranges
        assert address <= first
        assert (more[-1][1] if more else end) <= address + m.landed_bytes


@pytest.mark.parametrize("make", [random_tile, random_interleaved, random_im2col])
def test_what_lands_lies_in_the_landed_bytes(make):
    rng = random.Random(9)
    for _ in range(60):
        m, coordinate, address, *offsets = make(rng)
        at = footprint(TensorCopy(m, coordinate, address, offsets=offsets[0] if offsets else ())).shared

        assert address <= at.min()
        assert at.max() < address + m.landed_bytes
        assert landed_bytes(m) == m.landed_bytes
        assert np.unique(at).size == at.size == m.transaction_bytes


def test_pixels_of_an_interleaved_im2col_map():
    m = TensorMap("f16", 0, (6, 3, 2), (96, 288), (), interleave=32, im2col=Im2col((-1,), (0,), 16, 9))
    shared, effect = tile(m, (4, 1, 0), offsets=(1,))

    # W 5, 6 (outside), then 0..5 and 6 (outside) of the next image, slice 1
    assert effect.inside_ranges == ((96 + 160, 96 + 192), (288 + 96, 288 + 96 + 192))
    assert (m.transaction_bytes, str(m.landing)) == (9 * 32, "(1,9):(32,32)")
    assert shared[:32].tobytes() == source()[256:288].tobytes()
    assert not shared[32:64].any()
    assert shared[64:96].tobytes() == source()[384:416].tobytes()


def test_the_last_rows_of_a_store_are_not_read_behind_the_tensor():
    m = replace(F16, global_dim=(64, 3), box_dim=(16, 6))

    tma_store(m, (0, 0), poisoned(), source()[: 3 * 32], 0)
    assert faults(lambda: tma_store(m, (0, 0), poisoned(), source()[: 3 * 32 - 1], 0)).rule == "memory_bounds"
    assert tma_store(m, (0, 3), poisoned(), source()[:16], 0).shared_ranges == ()
    assert tma_store(m, (64, 0), poisoned(), source()[:16], 0).shared_ranges == ()


def test_gigantic_boxes_do_not_run():
    m = TensorMap("u8", 0, (64,) * 5, (64, 2**12, 2**18, 2**24), (256, 256, 256, 256, 1), (1, 1, 1, 1, 8))

    assert faults(lambda: tile(m, (0,) * 5)).rule == "memory_bounds"
    assert faults(lambda: tma_store(m, (0,) * 5, poisoned(), source(), 0)).rule == "memory_bounds"
    assert tma_store(m, (0, 0, 0, 64, 0), poisoned(), source(), 0).inside_ranges == ()


# -- what is not settled, and bad input ----------------------------------------------------------------------


def test_overlapping_rows_of_a_store():
    m = TensorMap("u8", 0, (16, 4), (0,), (16, 2))

    tma_store(replace(m, box_dim=(16, 1)), (0, 1), poisoned(), source(), 0)
    tma_store(m, (0, 3), poisoned(), source(), 0)  # the second row lies outside
    with pytest.raises(NotImplementedError, match="expected rows at least 16 bytes apart, got 0"):
        tma_store(m, (0, 0), poisoned(), source(), 0)
    tile(m, (0, 0))


IM2COL = TensorMap("f16", 0, (8, 6, 3), (16, 96), (), im2col=Im2col((-1,), (1,), 8, 4))


def test_a_store_past_2_31_elements_faults():
    m = TensorMap("u8", 0, (64, 2**31 + 1), (64,), (16, 1))

    assert faults(lambda: tma_store(m, (0, 0), poisoned(), source(), 0)).rule == "extent_2_31"


def test_a_load_wholly_outside_touches_the_first_byte_of_its_tensor():
    m = TensorMap("u8", 4096, (64, 4), (64,), (16, 2))

    for start in ((0, 4), (64, 0), (0, -2)):
        assert tma_load(m, start, Memory(np.zeros(1, np.uint8), 4096), poisoned(), 0).inside.size == 0
        fault = faults(lambda start=start: tma_load(m, start, Memory(np.zeros(64, np.uint8), 4097), poisoned(), 0))
        assert fault.effect == "illegal memory access"
    assert tma_store(m, (0, 4), Memory(np.zeros(1, np.uint8)), source(), 0).inside.size == 0  # a store does not


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: tile(F16, (0,)), "expected 2 entries of coordinate for a tiled map of rank 2, got "),
        (lambda: tile(F16, (0, 0), offsets=(1,)), "expected 0 entries of offsets for a tiled map of rank 2"),
        (lambda: tile(IM2COL, (0, 0, 0), offsets=(1, 1)), "expected 1 entries of offsets for a im2col map of rank 3"),
        (lambda: tile(F16, (0, dim("k"))), "expected a copy of plain integers, got load of"),
        (lambda: tile(replace(F16, global_dim=(dim("M"), 16)), (0, 0)), "expected a copy of plain integers"),
        (
            lambda: tile(replace(F16, box_dim=(12, 1)), (0, 0)),
            "box_inner_multiple_16: .*: the driver refuses TensorMap",
        ),
        (lambda: tma_load(F16, (0, 0), source(), poisoned().astype(np.int32), 0), "uint8, got int32 of shape"),
        (lambda: tma_load(F16, (0, 0), b"1234", poisoned(), 0), "expected memory as .* uint8, got bytes"),
        (lambda: TensorCopy(F16, (0, 0), 0, "copy"), "expected one of load, store, reduce as direction, got 'copy'"),
    ],
)
def test_bad_input(make, message):
    with pytest.raises(LayoutError, match=message):
        make()


def test_footprints_of_symbols_are_refused_and_of_numbers_need_no_memory():
    at = footprint(TensorCopy(F16, (8, 2), 256))

    assert at.rows.tolist() == [512, 768, 1024, 1280]
    assert at.row_inside.all()
    assert (at.columns[0], at.columns[-1], at.extent_bytes) == (16, 47, 128)
    assert at.shared[1, 0] == 288
