"""The arithmetic of reductions in memory: what an element becomes, by operation and data type.

    >>> source, target = (np.array([x], np.float16).view(np.uint8) for x in (1.0, 2.0))
    >>> reduced("add", TmaType.FLOAT16, source, target).view(np.float16)
    array([3.], dtype=float16)

Every number is from reductions on an H200 (driver 580.159.04).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import ml_dtypes
import numpy as np

from ..tma import TmaType
from .memory import Bytes

Numbers = np.ndarray[Any, Any]

INTEGERS: Mapping[TmaType, Any] = {
    **{TmaType.UINT32: np.uint32, TmaType.INT32: np.int32},
    **{TmaType.UINT64: np.uint64, TmaType.INT64: np.int64},
}
FLOATS: Mapping[TmaType, Any] = {
    **{TmaType.FLOAT16: np.float16, TmaType.BFLOAT16: ml_dtypes.bfloat16},
    **dict.fromkeys((TmaType.FLOAT32, TmaType.FLOAT32_FTZ, TmaType.TFLOAT32, TmaType.TFLOAT32_FTZ), np.float32),
    TmaType.FLOAT64: np.float64,
}
FLUSHED = (TmaType.FLOAT32_FTZ, TmaType.TFLOAT32_FTZ)  # subnormals, going in and coming out; TF32 sums keep 23 bits
INVALID_F64 = 0xFFF8 << 48  # inf - inf; every other type has one NaN, all ones but the sign


def _increased(source: Numbers, target: Numbers) -> Numbers:
    return np.where(target >= source, 0, target + np.uint32(1))


def _decreased(source: Numbers, target: Numbers) -> Numbers:
    return np.where((target == 0) | (target > source), source, target - np.uint32(1))


ON_INTEGERS: Mapping[str, Callable[[Numbers, Numbers], Numbers]] = {
    **{"add": np.add, "min": np.minimum, "max": np.maximum, "inc": _increased, "dec": _decreased},
    **{"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor},
}
ORDERLESS = ("add", "min", "max", "and", "or", "xor")  # of integers: the order of updates does not show


def reduced(op: str, dtype: TmaType, source: Bytes, target: Bytes) -> Bytes:
    """The bytes of elements of *target* after each is updated by its element of *source*.

    Integers wrap; ``inc`` and ``dec`` wrap at the source. Floats are rounded to nearest even; min and max prefer
    numbers to NaN and order -0 below 0. Raises KeyError for a pair that no copy runs.
    """
    words = np.dtype(INTEGERS.get(dtype) or f"<u{dtype.bits // 8}")
    a, b = (np.ascontiguousarray(x).view(words) for x in (source, target))
    with np.errstate(all="ignore"):
        found = ON_INTEGERS[op](a, b) if dtype in INTEGERS else ON_FLOATS[op](dtype, a, b)
    return found.astype(words, copy=False).view(np.uint8)


def _sum(dtype: TmaType, a: Numbers, b: Numbers) -> Numbers:
    """The bits of sums. Twice the precision and more holds them well enough that rounding again changes nothing."""
    kind = FLOATS[dtype]
    if dtype in FLUSHED:
        a, b = _flushed(a), _flushed(b)
    x, y = a.view(kind), b.view(kind)
    wide = np.float64 if kind is np.float32 else np.float32
    total = x + y if kind is np.float64 else (x.astype(wide) + y.astype(wide)).astype(kind)
    bits = total.view(a.dtype)
    if dtype is TmaType.FLOAT64:  # the source's NaN first, bit for bit, be it signalling
        return np.where(_is_nan(dtype, a), a, np.where(_is_nan(dtype, b), b, _or_nan(dtype, bits, INVALID_F64)))
    return _or_nan(dtype, _flushed(bits) if dtype in FLUSHED else bits, _nan(dtype))


def _least(dtype: TmaType, a: Numbers, b: Numbers) -> Numbers:
    return _chosen(dtype, a, b, _ordered(a) <= _ordered(b))


def _greatest(dtype: TmaType, a: Numbers, b: Numbers) -> Numbers:
    return _chosen(dtype, a, b, _ordered(a) >= _ordered(b))


ON_FLOATS: Mapping[str, Callable[[TmaType, Numbers, Numbers], Numbers]] = {"add": _sum, "min": _least, "max": _greatest}


def _chosen(dtype: TmaType, a: Numbers, b: Numbers, first: Numbers) -> Numbers:
    """The first if it wins or the second is not a number; one NaN for two."""
    no_a, no_b = _is_nan(dtype, a), _is_nan(dtype, b)
    return np.where(no_a & no_b, _nan(dtype), np.where((first & ~no_a) | no_b, a, b))


def _ordered(bits: Numbers) -> Numbers:
    """Signed integers in the order of the 16-bit floats, -0 below 0."""
    signed = bits.astype(np.int32)
    return np.where(signed < 0x8000, signed, 0x7FFF - signed)


def _is_nan(dtype: TmaType, bits: Numbers) -> Numbers:
    return np.asarray(np.isnan(bits.view(FLOATS[dtype])), dtype=bool)


def _nan(dtype: TmaType) -> int:
    return (1 << (dtype.bits - 1)) - 1


def _or_nan(dtype: TmaType, bits: Numbers, nan: int) -> Numbers:
    return np.where(_is_nan(dtype, bits), bits.dtype.type(nan), bits)


def _flushed(bits: Numbers) -> Numbers:
    """Zeros of the same sign for subnormal numbers of 32 bits."""
    return np.where(bits & 0x7F800000, bits, bits & 0x80000000).astype(bits.dtype)
