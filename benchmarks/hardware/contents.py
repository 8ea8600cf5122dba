"""What memory holds before a copy: named runs of bytes, the same on every machine.

``source`` is the global memory that loads read; ``ee`` poison; ``s9`` and ``edge`` shared memory for stores; a
pair ``NAME.src``, ``NAME.dst`` the shared and the global operand of a reduction, rich in the numbers where
arithmetic differs: ties, subnormals, infinities, NaNs of both signs, limits.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.random import RandomState

SOURCE = 2 << 20  # bytes; the second half is full of ties of the TF32 rounding
TARGET = 256 << 10  # bytes of every other run
POISON = 0xEE

LOW_13 = (0x1000, 0x1000, 0x0FFF, 0x1001, 0, 0x1FFF)  # the bits that TF32 drops: a tie, its neighbours, the ends


def source() -> bytes:
    """1 MiB of random bytes, then 1 MiB of floats at the edges of the TF32 rounding."""
    rs = RandomState(8)
    words = rs.randint(0, 1 << 19, 1 << 18).astype(np.uint32) << np.uint32(13)
    words |= rs.choice(list(LOW_13), 1 << 18).astype(np.uint32)
    kind = rs.rand(1 << 18)
    words = np.where(kind < 0.05, (words & np.uint32(0x80001FFF)) | np.uint32(0x7F7FE000), words)
    words = np.where(kind > 0.97, (words & np.uint32(0x80000000)) | np.uint32(0x7F800000), words)
    return RandomState(7).bytes(1 << 20) + words.astype("<u4").tobytes()


def tile() -> bytes:
    """Random bytes without the poison."""
    plain = np.frombuffer(RandomState(9).bytes(1 << 17), np.uint8).copy()
    plain[plain == POISON] = 0x11
    return plain.tobytes() * 2


def edge() -> bytes:
    """Floats at ties of the TF32 rounding, subnormals, infinities, NaNs of both signs, random bits."""
    rs = RandomState(12)
    n = TARGET // 4
    sign = rs.randint(0, 2, n).astype(np.uint32) << np.uint32(31)
    low = rs.choice(list(LOW_13), n).astype(np.uint32)
    high = rs.randint(0, 1 << 18, n).astype(np.uint32) << np.uint32(13)
    kind = rs.rand(n)
    words = sign | high | low
    words = np.where(kind < 0.05, sign | np.uint32(0x7F7FE000) | low, words)  # rounds to infinity, or stays
    words = np.where((kind >= 0.05) & (kind < 0.20), sign | (words & np.uint32(0x007FFFFF)), words)  # subnormal
    words = np.where((kind >= 0.20) & (kind < 0.23), sign | np.uint32(0x7F800000), words)
    words = np.where((kind >= 0.23) & (kind < 0.30), sign | np.uint32(0x7F800000) | words & np.uint32(0x7FFFFF), words)
    anything = rs.randint(0, 1 << 32, n, dtype=np.uint64).astype(np.uint32)
    return np.where(kind > 0.85, anything, words).astype("<u4").tobytes()


def integers(width: int, seed: int) -> bytes:
    """Small counts, the limits of both signs and random words of ``width`` bits."""
    rs = RandomState(seed)
    n = TARGET * 8 // width
    top = 1 << width
    few = [*range(8), 100, top - 1, top - 2, top // 2, top // 2 - 1, top // 2 + 1]
    chosen = np.array(few, np.uint64)[rs.randint(0, len(few), n)]
    anything = np.frombuffer(rs.bytes(8 * n), "<u8") & np.uint64(top - 1)
    return np.where(rs.rand(n) < 0.7, chosen, anything).astype(f"<u{width // 8}").tobytes()


def floats(width: int, exponent: int, seed: int) -> bytes:
    """IEEE-like numbers of ``width`` bits with ``exponent`` bits: special ones, close ones and random bits."""
    rs = RandomState(seed)
    n = TARGET * 8 // width
    mantissa = width - 1 - exponent
    one, infinity = ((1 << (exponent - 1)) - 1) << mantissa, ((1 << exponent) - 1) << mantissa
    special = [0, 1, 2, (1 << mantissa) - 1, 1 << mantissa, (1 << mantissa) + 1, one, one + 1, one - 1]
    special += [infinity, infinity - 1, infinity + 1, infinity | 1 << (mantissa - 1), infinity + (1 << mantissa) - 1]
    sign = rs.randint(0, 2, n).astype(np.uint64) << np.uint64(width - 1)
    anything = np.frombuffer(rs.bytes(8 * n), "<u8")
    fraction = anything & np.uint64((1 << mantissa) - 1)
    near = (one >> mantissa) + rs.randint(-mantissa - 2, mantissa + 3, n)
    close = near.astype(np.uint64) << np.uint64(mantissa) | fraction
    rarely = np.array(special, np.uint64)[rs.randint(0, len(special), n)]
    kind = rs.rand(n)
    words = np.select([kind < 0.25, kind < 0.40, kind < 0.75], [rarely, fraction, close], anything) | sign
    return (words & np.uint64((1 << width) - 1)).astype(f"<u{width // 8}").tobytes()


CONTENTS: dict[str, Callable[[], bytes]] = {
    "source": source,
    "ee": lambda: bytes([POISON]) * TARGET,
    "s9": tile,
    "edge": edge,
    "bits.src": lambda: RandomState(21).bytes(TARGET),
    "bits.dst": lambda: RandomState(22).bytes(TARGET),
    "int32.src": lambda: integers(32, 23),
    "int32.dst": lambda: integers(32, 24),
    "int64.src": lambda: integers(64, 25),
    "int64.dst": lambda: integers(64, 26),
    "f16.src": lambda: floats(16, 5, 27),
    "f16.dst": lambda: floats(16, 5, 28),
    "bf16.src": lambda: floats(16, 8, 29),
    "bf16.dst": lambda: floats(16, 8, 30),
    "f32.src": lambda: floats(32, 8, 31),
    "f32.dst": lambda: floats(32, 8, 32),
    "f64.src": lambda: floats(64, 11, 33),
    "f64.dst": lambda: floats(64, 11, 34),
}


def write(path: Path) -> None:
    """Pack every run into one file: how many, then offset and length of each, then the bytes."""
    runs = [make() for make in CONTENTS.values()]
    table, at = [len(runs)], 0
    for run in runs:
        table += [at, len(run)]
        at += len(run)
    path.write_bytes(struct.pack(f"<{len(table)}q", *table) + b"".join(runs))
