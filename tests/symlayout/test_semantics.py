"""Tensor copies byte for byte: recorded copies of an H200, a slow reference, cases by hand."""

from __future__ import annotations

import collections
import itertools
import math
import random
import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.hardware.replay import COPIED, FAULTED, MISMATCH, REFUSED, replay, replayed
from symlayout import LayoutError
from symlayout.semantics import Memory, byte_ranges, round_to_tf32, tma_load, tma_store
from symlayout.tma import Im2col, TensorMap, TmaType

DATA = Path(__file__).parents[1] / "data"
POISON = 0xEE
PLAIN = ("u8", "u16", "f16", "bf16", "u32", "i32", "f32", "u64", "i64", "f64")
SWIZZLES = (0, 32, 64, 128)


def source(size: int = 1 << 16) -> np.ndarray:
    return np.frombuffer(random.Random(1).randbytes(size), dtype=np.uint8)


def poisoned(size: int = 1 << 17) -> np.ndarray:
    return np.full(size, POISON, dtype=np.uint8)


def tile(m: TensorMap, coordinate: tuple, address: int = 0, **more):
    """(shared memory after the load, its effect)."""
    shared = poisoned()
    return shared, tma_load(m, coordinate, source(), shared, address, **more)


# -- recorded copies -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "file, copied, faulted, refused",
    [
        ("tma_loads", 1443, 3, 54),
        ("tma_loads_base", 1145, 59, 46),
        ("tma_stores", 413, 60, 0),
        ("tma_stores_start", 692, 32, 0),
    ],
)
def test_recorded_copies(file, copied, faulted, refused):
    found = list(replayed(DATA / f"{file}.jsonl.gz"))

    assert [(line, r.text) for line, r in found if r.outcome == MISMATCH] == []
    assert collections.Counter(r.outcome for _, r in found) == {
        name: n for name, n in ((COPIED, copied), (FAULTED, faulted), (REFUSED, refused)) if n
    }


ROW = {
    **{"mode": "tiled", "dtype": 7, "rank": 2, "addr": 32, "dim": [30, 9], "stride": [128], "box": [8, 4]},
    **{"estride": [1, 1], "interleave": 0, "swizzle": 1, "l2": 0, "oob": 0, "off": [0, 0, 0], "coord": [4, 1]},
    **{"bytes": 128, "code": 0, "completed": 1, "dumped": 1024, "sha": "f49347c23f6950576b43e7aebdb020ab"},
}
WRONG = [
    {"sha": "0" * 32}, {"bytes": 144}, {"bytes": 112}, {"completed": 0}, {"dumped": 512}, {"coord": [8, 1]}, {"addr": 16},
    {"code": 1}, {"error": "illegal instruction"}, {"base": 64}, {"base": 64, "error": "illegal instruction"},
    {"coord": [2, 1]}, {"box": [8, 3]}, {"box": [12, 4]}, {"dim": [8, 9]}, {"stride": [144]}, {"swizzle": 2},
    {"estride": [1, 2]}, {"dtype": 11}, {"edge": 1},
]  # fmt: skip


@pytest.mark.parametrize("change", WRONG, ids=str)
def test_a_row_that_says_otherwise_is_a_mismatch(change):
    assert replay(ROW).outcome == COPIED
    assert replay(ROW | change).outcome == MISMATCH


@pytest.mark.parametrize("change", [{"estride": [2, 1]}, {"dim": [12, 9]}, {"arm": [64], "completed": 1}], ids=str)
def test_a_row_that_says_the_same_otherwise_is_none(change):
    assert replay(ROW | change).outcome == COPIED


def test_rows_of_an_unknown_form_are_unsettled():
    assert replay(ROW | {"form": "gather4"}).outcome == "unsettled"


# -- a slow reference: every element by itself ---------------------------------------------------------------


def rounded(word: int) -> int:
    if word & 0x7FFFFFFF > 0x7F800000:
        return 0x7FFFE000
    low, up = word & 0x1FFF, word & ~0x1FFF
    return up + 0x2000 if low > 0x1000 or (low == 0x1000 and up & 0x2000) else up


def swizzled(m: TensorMap, address: int) -> int:
    return address ^ ((address >> 7) & ((1 << m.swizzle) - 1)) << 4


def elements(m: TensorMap, coordinate: tuple, offsets: tuple = ()):
    """(row, number in the row, coordinates) of every element, or pixel with interleave, in order."""
    if m.is_im2col:
        for row, x in enumerate(pixels(m, coordinate, offsets)):
            yield from ((row, t, (coordinate[0] + t, *x)) for t in range(m.channels_per_pixel))
        return
    every = list(m.element_stride)
    n = [math.ceil(b / e) for b, e in zip(m.box_dim, every, strict=True)]
    if m.interleave:
        n[m.rank - 2] = 1
    else:
        n[0], every[0] = m.box_dim[0], 1
    for row, outer in enumerate(itertools.product(*map(range, reversed(n[1:])))):
        for t in range(n[0]):
            yield row, t, tuple(c + k * e for c, k, e in zip(coordinate, (t, *reversed(outer)), every, strict=True))


def pixels(m: TensorMap, coordinate: tuple, offsets: tuple):
    """The walk of an im2col load, step by step."""
    at = list(coordinate[1:])
    for _ in range(m.pixels_per_column):
        yield (*(c + o for c, o in zip(at, offsets, strict=False)), at[-1])
        for i in range(m.rank - 2):
            at[i] += m.element_stride[1 + i]
            if at[i] <= m.global_dim[1 + i] - 1 + m.upper_corner[i]:
                break
            at[i] = m.lower_corner[i]
        else:
            at[-1] += m.element_stride[-1]


def places(m: TensorMap, x: tuple, row: int, t: int, address: int, per_row: int):
    """(global address, shared address) of one element."""
    unit = (m.dtype.bits // 8, 16, 32)[m.interleave]
    pitch = (0, 32, 64, 128)[m.swizzle] if m.swizzle and not m.interleave else per_row * unit
    start = m.global_address + x[0] * unit + sum(c * s for c, s in zip(x[1:], m.global_stride_bytes, strict=True))
    return start, address + row * pitch + t * unit, unit


def slow_load(m: TensorMap, coordinate: tuple, memory: bytes, shared: bytearray, address: int, offsets: tuple = ()):
    found = list(elements(m, coordinate, offsets))
    per_row = 1 + max(t for _, t, _ in found)
    for row, t, x in found:
        start, to, unit = places(m, x, row, t, address, per_row)
        if all(0 <= c < n for c, n in zip(x, m.global_dim, strict=True)):
            value = memory[start : start + unit]
            if m.dtype in (TmaType.TFLOAT32, TmaType.TFLOAT32_FTZ):
                words = struct.unpack(f"<{unit // 4}I", value)
                value = struct.pack(f"<{unit // 4}I", *map(rounded, words))
        else:
            value = (b"\xf7\x7f" if m.oob_fill else b"\0\0") * unit
        for k in range(unit):
            shared[swizzled(m, to + k)] = value[k]
    return len(found) * unit


def slow_store(m: TensorMap, coordinate: tuple, memory: bytearray, shared: bytes, address: int):
    end = math.ceil(m.global_dim[0] * m.unit_bytes / 16) * 16
    found = list(elements(m, coordinate, (0,) * (m.rank - 2)))
    per_row = 1 + max(t for _, t, _ in found)
    for row, t, x in found:
        start, to, unit = places(m, x, row, t, address, per_row)
        for k in range(unit):
            if all(0 <= c < n for c, n in zip(x[1:], m.global_dim[1:], strict=True)) and x[0] * unit + k < end:
                memory[start + k] = shared[swizzled(m, to + k)]


def strides(rng: random.Random, row_bytes: int, extents: tuple, unit: int) -> tuple:
    out, at = [], (row_bytes + unit - 1) // unit * unit
    for n in extents[1:]:
        out.append(at + unit * rng.choice((0, 0, 1)))
        at = out[-1] * n
    return tuple(out)


def random_tile(rng: random.Random, types: tuple = (*PLAIN, "tf32"), lowest: int = -3) -> tuple:
    """A tiled map without interleave, a start coordinate, an address in shared memory."""
    dtype, rank, swizzle = (
        TensorMap(rng.choice(types), 0, (1,), (), (1,)).dtype,
        rng.randint(1, 5),
        rng.choice(SWIZZLES),
    )
    size = dtype.bits // 8
    if dtype is TmaType.TFLOAT32:
        dtype = rng.choice((dtype, TmaType.TFLOAT32_FTZ, TmaType.FLOAT32_FTZ))
    extents = (rng.randint(1, 120 // size), *(rng.randint(1, 5) for _ in range(rank - 1)))
    box = (rng.randint(1, (swizzle or 144) // 16) * 16 // size, *(rng.randint(1, 4) for _ in range(rank - 1)))
    m = TensorMap(
        dtype,
        16 * rng.randrange(9),
        extents,
        strides(rng, extents[0] * size, extents, 16),
        box,
        tuple(rng.choice((1, 1, 1, 2, 3)) for _ in extents),
        swizzle=swizzle,
        oob_fill=rng.choice(("none", "nan")) if dtype.is_float else "none",
    )
    inner = rng.randint(lowest, math.ceil(extents[0] * size / 16)) * 16 // size
    others = (rng.randint(lowest, n) if rng.random() < 0.3 else rng.randrange(n) for n in extents[1:])
    return m, (inner, *others), 128 * rng.randrange(16)


def random_interleaved(rng: random.Random) -> tuple:
    interleave = rng.choice((16, 32))
    dtype, rank = TmaType(rng.randrange(13)), rng.randint(3, 5)
    extents = tuple(rng.randint(1, 6) for _ in range(rank))
    box = (16 * 8 // dtype.bits * rng.randint(1, 2), *(rng.randint(1, 4) for _ in range(rank - 1)))
    m = TensorMap(
        dtype,
        interleave * rng.randrange(5),
        extents,
        strides(rng, extents[0] * interleave, extents, interleave),
        box,
        tuple(rng.choice((1, 1, 2, 3)) for _ in extents),
        interleave=interleave,
        swizzle=rng.choice(SWIZZLES) if interleave == 16 else 32,
        oob_fill=rng.choice(("none", "nan")) if dtype.is_float else "none",
    )
    return (
        m,
        tuple(rng.randint(-2, n) if rng.random() < 0.3 else rng.randrange(n) for n in extents),
        128 * rng.randrange(16),
    )


def random_im2col(rng: random.Random) -> tuple:
    dtype, rank, swizzle = TmaType(rng.randrange(13)), rng.randint(3, 5), rng.choice(SWIZZLES)
    size = dtype.bits // 8
    space = tuple(rng.randint(1, 6) for _ in range(rank - 2))
    extents = (rng.randint(1, 48 // size), *space, rng.randint(1, 3))
    lower = tuple(rng.randint(-3, 1) for _ in space)
    upper = tuple(max(rng.randint(-3, 2), lo + 1 - n) for lo, n in zip(lower, space, strict=True))
    m = TensorMap(
        dtype,
        16 * rng.randrange(9),
        extents,
        strides(rng, extents[0] * size, extents, 16),
        (),
        (1, *(rng.randint(1, 3) for _ in extents[1:])),
        swizzle=swizzle,
        oob_fill=rng.choice(("none", "nan")) if dtype.is_float else "none",
        im2col=Im2col(lower, upper, rng.randint(1, (swizzle or 64) // 16) * 16 // size, rng.randint(1, 40)),
    )
    start = tuple(rng.randint(lo, n - 1 + up) for lo, n, up in zip(lower, space, upper, strict=True))
    channel, image = 16 // size * rng.randrange(2), rng.randrange(extents[-1])
    return m, (channel, *start, image), 128 * rng.randrange(16), tuple(rng.randrange(3) for _ in space)


@pytest.mark.parametrize("make, count", [(random_tile, 150), (random_interleaved, 80), (random_im2col, 80)])
def test_loads_are_those_of_the_slow_reference(make, count):
    rng = random.Random(5)
    touched = 0
    for _ in range(count):
        m, coordinate, address, *offsets = make(rng)
        slow, shared = bytearray(poisoned()), poisoned()
        credited = slow_load(m, coordinate, source().tobytes(), slow, address, *offsets)
        effect = tma_load(m, coordinate, source(), shared, address, offsets=offsets[0] if offsets else ())

        assert shared.tobytes() == slow, (m, coordinate, address, offsets)
        assert effect.transaction_bytes == credited == effect.shared.size
        assert not effect.outside_ranges
        touched += bool(effect.inside_ranges)

    assert touched > count // 3


def stored_tile(rng: random.Random) -> tuple:
    return random_tile(rng, (*PLAIN, "tf32"), lowest=0)


def stored_interleaved(rng: random.Random) -> tuple:
    m, coordinate, address = random_interleaved(rng)
    return m, tuple(max(0, x) for x in coordinate), address


def stored_im2col(rng: random.Random) -> tuple:
    """Corners within the tensor, where im2col stores run."""
    m, (channel, *_, image), address, _ = random_im2col(rng)
    space = m.global_dim[1:-1]
    lower = tuple(rng.randrange(n) for n in space)
    upper = tuple(-rng.randint(0, n - 1 - low) for low, n in zip(lower, space, strict=True))
    start = tuple(rng.randint(low, n - 1 + up) for low, n, up in zip(lower, space, upper, strict=True))
    corners = replace(m.im2col, lower_corner=lower, upper_corner=upper)
    return replace(m, im2col=corners), (channel, *start, image), address


@pytest.mark.parametrize(
    "make, count, clipped", [(stored_tile, 150, 20), (stored_interleaved, 80, 0), (stored_im2col, 80, 20)]
)
def test_stores_are_those_of_the_slow_reference(make, count, clipped):
    rng = random.Random(6)
    touched = tails = 0
    for _ in range(count):
        m, coordinate, address = make(rng)
        slow, memory = bytearray(poisoned(1 << 16)), poisoned(1 << 16)
        shared = np.where(source(1 << 17) == POISON, 0, source(1 << 17)).astype(np.uint8)
        slow_store(m, coordinate, slow, shared.tobytes(), address)
        effect = tma_store(m, coordinate, memory, shared, address)
        written = np.concatenate([effect.inside.ravel(), effect.outside.ravel()])

        assert memory.tobytes() == slow, (m, coordinate, address)
        assert byte_ranges(written) == byte_ranges(np.flatnonzero(memory != POISON))
        assert len(written) == effect.shared.size
        assert effect.transaction_bytes == 0
        touched += bool(effect.inside_ranges)
        tails += bool(effect.outside_ranges)

    assert touched > count // 3
    assert tails >= clipped


def test_copies_of_a_memory_that_starts_elsewhere():
    m, coordinate = TensorMap("f32", 0, (20, 6), (96,), (8, 4), swizzle=32), (16, 2)
    away = replace(m, global_address=1 << 40)
    here, there = poisoned(), poisoned()

    first = tma_load(m, coordinate, source(), here, 0)
    second = tma_load(away, coordinate, Memory(source(), 1 << 40), Memory(there, 4096), 4096)

    assert (here == there).all()
    assert (second.inside - first.inside == 1 << 40).all()


def test_large_boxes():
    m = TensorMap("tf32", 0, (100, 300), (1024,), (256, 226))
    shared = np.zeros(232448, dtype=np.uint8)
    effect = tma_load(m, (0, 0), source(1 << 19), shared, 0)

    assert effect.transaction_bytes == 231424
    assert len(effect.inside_ranges) == 226
    assert effect.shared_ranges == ((0, 231424),)


# -- values --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "word, expected",
    [
        (0x3F800FFF, 0x3F800000),
        (0x3F801000, 0x3F800000),  # a tie goes to even: down
        (0x3F801001, 0x3F802000),
        (0x3F803000, 0x3F804000),  # a tie goes to even: up
        (0xBF803000, 0xBF804000),
        (0x00001000, 0x00000000),
        (0x00003000, 0x00004000),  # subnormals round too, none is flushed
        (0x80000001, 0x80000000),
        (0x7F7FF000, 0x7F800000),
        (0x7F7FEFFF, 0x7F7FE000),
        (0x7F800000, 0x7F800000),
        (0xFF800000, 0xFF800000),
        (0x7F800001, 0x7FFFE000),
        (0xFF800001, 0x7FFFE000),
        (0xFFFFFFFF, 0x7FFFE000),
    ],
)
def test_rounding_to_tf32(word, expected):
    assert round_to_tf32(np.array([word], dtype=np.uint32)).tolist() == [expected]
    assert rounded(word) == expected


def test_rounding_agrees_with_its_definition():
    rng = random.Random(3)
    words = [rng.getrandbits(32) & ~rng.choice((0, 0xFFF, 0x1FFF)) for _ in range(3000)]

    assert round_to_tf32(np.array(words, dtype=np.uint32)).tolist() == [*map(rounded, words)]


@pytest.mark.parametrize(
    "dtype, fill", [("f16", 0x7FF77FF7), ("f32", 0x7FF77FF7), ("tf32", 0x7FF77FF7), ("f64", 0x7FF77FF7), ("u8", 0)]
)
def test_fill_is_written_after_the_rounding(dtype, fill):
    m = TensorMap(dtype, 0, (64, 4), (512,), (16, 4), oob_fill="nan" if fill else "none")
    shared, effect = tile(m, (0, 4))

    assert set(shared[: effect.transaction_bytes].view("<u4").tolist()) == {fill}
    assert effect.inside_ranges == ()


# -- cases by hand -------------------------------------------------------------------------------------------

F16 = TensorMap("f16", 0, (64, 16), (256,), (16, 4))


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


INTERLEAVED = TensorMap("f16", 0, (16, 6, 4, 2), (256, 1536, 6144), (8, 2, 3, 1), interleave=16)


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
