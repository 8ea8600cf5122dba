"""Tensor copies byte for byte: cases by hand, each of one rule of the instruction."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from symlayout import LayoutError
from symlayout.semantics import byte_ranges, tma_store
from symlayout.tma import Im2col, TensorMap
from tests.support.slow_copies import F16, INTERLEAVED, POISON, poisoned, source, tile


def rows_of(memory: np.ndarray, address: int, length: int, count: int, pitch: int) -> bytes:
    return b"".join(memory[address + i * pitch :][:length].tobytes() for i in range(count))


def test_a_start_of_16_bytes():
    shared, effect = tile(F16, (8, 0))

    assert shared[:128].tobytes() == rows_of(source(), 16, 32, 4, 256)
    assert effect.inside_ranges == ((16, 48), (272, 304), (528, 560), (784, 816))


def test_a_negative_start_fills_then_reads():
    shared, _ = tile(F16, (-8, 0))

    assert shared[:32].tobytes() == bytes(16) + source()[:16].tobytes()


def test_rows_before_the_tensor_are_fill():
    shared, effect = tile(F16, (0, -3))

    assert shared[:128].tobytes() == bytes(96) + source()[:32].tobytes()
    assert effect.transaction_bytes == 128


def test_a_store_skips_rows_behind_the_tensor():
    memory = poisoned(1 << 13)
    effect = tma_store(F16, (0, 14), memory, source(), 0)

    assert effect.inside_ranges == ((14 * 256, 14 * 256 + 32), (15 * 256, 15 * 256 + 32))
    assert memory[14 * 256 :][:32].tobytes() == source()[:32].tobytes()
    assert byte_ranges(np.flatnonzero(memory != POISON)) == effect.inside_ranges


def test_a_load_altogether_outside_credits_all_bytes():
    shared, effect = tile(F16, (64, 16))

    assert effect.transaction_bytes == 128
    assert not shared[:128].any()
    assert (shared[128:] == POISON).all()
    assert effect.inside_ranges == ()


def test_the_swizzle_is_of_absolute_addresses():
    m = replace(F16, box_dim=(64, 16), swizzle=TensorMap("u8", 0, (1,), (), (1,), swizzle=128).swizzle)
    aligned, _ = tile(m, (0, 0), 1024)
    moved, effect = tile(m, (0, 0), 1024 + 128)
    first = source()[:16].tobytes()

    assert aligned[1024:1040].tobytes() == first  # line 8, phase 0: chunk 0 stays
    assert moved[1024 + 128 + 16 :][:16].tobytes() == first  # line 9, phase 1: chunk 0 goes to 1
    assert effect.shared_ranges == ((1152, 1152 + 2048),)


def test_element_strides_take_ceil_steps():
    m = TensorMap("f32", 0, (16, 16), (64,), (8, 5), (1, 2))
    shared, effect = tile(m, (0, 3))

    assert effect.transaction_bytes == 96
    assert shared[:96].tobytes() == rows_of(source(), 3 * 64, 32, 3, 128)


def test_the_element_stride_of_dimension_0_does_nothing():
    m = TensorMap("f32", 0, (16, 16), (64,), (8, 5), (2, 2))

    assert (tile(m, (0, 3))[0] == tile(replace(m, element_stride=(1, 2)), (0, 3))[0]).all()


def test_a_row_that_ends_within_16_bytes_is_filled_by_element():
    m = TensorMap("f16", 0, (12, 4), (32,), (16, 1))
    shared, effect = tile(m, (8, 0))

    assert shared[:32].tobytes() == source()[16:24].tobytes() + bytes(24)
    assert effect.inside_ranges == ((16, 24),)


def test_a_store_writes_whole_16_bytes():
    m = TensorMap("f16", 0, (12, 4), (48,), (16, 4))
    memory = poisoned(1 << 12)
    effect = tma_store(m, (0, 0), memory, source(), 0)

    assert effect.inside_ranges == ((0, 24), (48, 72), (96, 120), (144, 168))
    assert effect.outside_ranges == ((24, 32), (72, 80), (120, 128), (168, 176))
    assert memory[24:32].tobytes() == source()[24:32].tobytes()


def test_narrow_swizzled_rows_take_their_span():
    m = TensorMap("f16", 0, (64, 16), (256,), (16, 8), swizzle=128)
    shared, effect = tile(m, (0, 0))

    assert (effect.transaction_bytes, m.landed_bytes) == (256, 1024)
    assert (shared[:1024] == POISON).sum() > 700
    assert effect.shared_ranges[:3] == ((0, 32), (128, 160), (128 * 2 + 32, 128 * 2 + 64))
    assert shared[144:160].tobytes() == source()[256:272].tobytes()  # line 1: chunk 0 goes to 1


def test_an_interleaved_load_takes_one_slice():
    shared, effect = tile(INTERLEAVED, (0, 1, 2, 0))

    assert effect.transaction_bytes == 256
    assert shared[:256].tobytes() == rows_of(source(), 2 * 1536 + 256, 128, 2, 256)


def test_an_interleaved_load_starts_at_any_pixel():
    shared, _ = tile(INTERLEAVED, (1, 0, 0, 0))

    assert shared[:128].tobytes() == source()[16:144].tobytes()


def test_im2col_steps_over_images():
    m = TensorMap("f16", 0, (8, 4, 9), (16, 64), (), (1, 1, 3), im2col=Im2col((0,), (0,), 8, 10))
    shared, effect = tile(m, (0, 2, 1))
    starts = [16 * w + 64 * n for n, w in [(1, 2), (1, 3)] + [(n, w) for n in (4, 7) for w in range(4)]]

    assert effect.transaction_bytes == 160
    assert shared[:160].tobytes() == b"".join(source()[s : s + 16].tobytes() for s in starts)


def test_an_interleaved_im2col_map_reads_w_first():
    plain = TensorMap("f16", 0, (8, 56, 8), (16, 896), (), im2col=Im2col((0,), (-8,), 8, 4))

    tile(plain, (0, 0, 0))
    with pytest.raises(LayoutError, match=r"im2col_box_nonempty: expected .* got 0 positions in W.*driver refuses"):
        tile(replace(plain, interleave=INTERLEAVED.interleave), (0, 0, 0))
