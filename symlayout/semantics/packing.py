"""Elements of less than a byte in words of 32 bits, the first in the lowest bits, and back.

>>> words = packed(np.array([[1, -2, 3, 0, 0, 0, 0, -8]]), "i4")
>>> hex(words[0, 0]), unpacked(words, "i4").tolist()
('0x800003e1', [[1, -2, 3, 0, 0, 0, 0, -8]])
>>> unpacked(np.array([5], np.uint32), "b1")[:4].tolist()
[1, 0, 1, 0]
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtype import DType, DTypeLike
from ..errors import LayoutError

Numbers = np.ndarray[Any, Any]

WORD_BITS = 32


def unpacked(words: Any, dtype: DTypeLike) -> Numbers:
    """The elements of words of 32 bits: the last mode is as many times longer as a word has elements.

    They are integers of 8 bits. Raises LayoutError for a type that is no integer of less than a byte.
    """
    kind = _expect_small(dtype)
    shifts = np.arange(0, WORD_BITS, kind.bits, dtype=np.uint32)
    held = np.asarray(words, dtype=np.uint32)[..., None] >> shifts & np.uint32((1 << kind.bits) - 1)
    out = held.astype(np.uint8).reshape(*np.shape(words)[:-1], -1)
    if kind.kind == "uint":
        return out
    sign = 1 << (kind.bits - 1)
    found: Numbers = (out.astype(np.int8) ^ sign) - sign
    return found.astype(np.int8)


def packed(elements: Any, dtype: DTypeLike) -> Numbers:
    """Words of 32 bits (u32) that hold some integers, side by side along the last mode.

    Raises LayoutError for a type that is no integer of less than a byte, for elements that do not fit it, and for
    some that fill no whole words.
    """
    kind, given = _expect_small(dtype), np.asarray(elements)
    each = WORD_BITS // kind.bits
    low = -(1 << (kind.bits - 1)) if kind.kind == "int" else 0
    high = low + (1 << kind.bits) - 1
    if given.ndim == 0 or given.shape[-1] % each:
        raise LayoutError(f"expected a multiple of {each} elements of {kind} along the last mode, got {given.shape}")
    if given.size and not low <= int(given.min()) <= int(given.max()) <= high:
        raise LayoutError(f"expected {kind} of {low} .. {high}, got {int(given.min())} .. {int(given.max())}")
    shifts = np.arange(0, WORD_BITS, kind.bits, dtype=np.uint32)
    bits = given.astype(np.int64).astype(np.uint32) & np.uint32((1 << kind.bits) - 1)
    out: Numbers = np.bitwise_or.reduce(bits.reshape(*given.shape[:-1], -1, each) << shifts, axis=-1)
    return out


def _expect_small(dtype: DTypeLike) -> DType:
    kind = DType.of(dtype)
    if kind.bits >= 8 or kind.kind == "float":
        raise LayoutError(f"expected integers of less than a byte (i4, u4, b1), got {kind}")
    return kind
