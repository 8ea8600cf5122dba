"""The conversion of values by a load: the TF32 rounding, and the fill of elements outside the tensor."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..tma import TensorMap, TmaOobFill, TmaType
from .memory import Bytes

ROUNDED = (TmaType.TFLOAT32, TmaType.TFLOAT32_FTZ)  # FLOAT32_FTZ moves bits: its subnormals survive

SIGN, MAGNITUDE, INFINITY = np.uint32(0x80000000), np.uint32(0x7FFFFFFF), np.uint32(0x7F800000)
TF32_NAN = np.uint32(0x7FFFE000)  # of either sign
DROPPED = 13  # of the 23 bits of a mantissa, TF32 keeps 10
NAN_HALF = 0x7FF7  # in every half of every float type; not turned into the NaN of TF32


def round_to_tf32(words: np.ndarray[Any, np.dtype[np.uint32]]) -> np.ndarray[Any, np.dtype[np.uint32]]:
    """The bits of f32 numbers, rounded to the 10 mantissa bits of TF32: to nearest, ties to even.

    >>> [hex(x) for x in round_to_tf32(np.array([0x3F801000, 0x3F803000, 0x7F7FFFFF, 0xFF800001], np.uint32))]
    ['0x3f800000', '0x3f804000', '0x7f800000', '0x7fffe000']

    Subnormals and infinities survive, numbers may round to infinity, every NaN becomes 0x7FFFE000
    (measured on an H200, driver 580.159.04).
    """
    magnitude = words & MAGNITUDE
    half, odd = np.uint32((1 << (DROPPED - 1)) - 1), (magnitude >> np.uint32(DROPPED)) & np.uint32(1)
    rounded = (magnitude + half + odd) & ~np.uint32((1 << DROPPED) - 1)
    return np.where(magnitude > INFINITY, TF32_NAN, (words & SIGN) | rounded)


def loaded(dtype: TmaType, data: Bytes) -> Bytes:
    """The bytes that a load writes for the bytes of whole elements in global memory."""
    if dtype not in ROUNDED or not data.size:
        return data
    return round_to_tf32(np.ascontiguousarray(data).view("<u4")).view(np.uint8)


def filled(m: TensorMap, rows: int, columns: int) -> Bytes:
    """Rows of bytes that lie outside the tensor altogether, as a load writes them."""
    half = NAN_HALF if m.oob_fill is TmaOobFill.nan else 0
    return np.full((rows, columns // 2), half, dtype="<u2").view(np.uint8)
