"""Tensor copies element by element: a slow reference, and random maps on which it is held against the quick one."""

from __future__ import annotations

import itertools
import math
import random
import struct
from dataclasses import replace

import numpy as np

from symlayout.semantics import tma_load
from symlayout.tma import Im2col, TensorMap, TmaType

POISON = 0xEE
PLAIN = ("u8", "u16", "f16", "bf16", "u32", "i32", "f32", "u64", "i64", "f64")
SWIZZLES = (0, 32, 64, 128)
F16 = TensorMap("f16", 0, (64, 16), (256,), (16, 4))
INTERLEAVED = TensorMap("f16", 0, (16, 6, 4, 2), (256, 1536, 6144), (8, 2, 3, 1), interleave=16)


def source(size: int = 1 << 16) -> np.ndarray:
    return np.frombuffer(random.Random(1).randbytes(size), dtype=np.uint8)


def poisoned(size: int = 1 << 17) -> np.ndarray:
    return np.full(size, POISON, dtype=np.uint8)


def tile(m: TensorMap, coordinate: tuple, address: int = 0, **more):
    """(shared memory after the load, its effect)."""
    shared = poisoned()
    return shared, tma_load(m, coordinate, source(), shared, address, **more)


# -- the reference -------------------------------------------------------------------------------------------


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


# -- random maps ---------------------------------------------------------------------------------------------


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
