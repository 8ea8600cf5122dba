"""Layouts over F2: each bit of an index adds, by xor, one fixed column of bits.

    >>> from symlayout import ComposedLayout, Layout, Swizzle
    >>> tile = linear(ComposedLayout(Swizzle(3, 3, 3), 0, Layout((8, 64), (64, 1))))
    >>> print(tile, tile.is_bijective())
    mode0: 72 144 288; mode1: 1 2 4 8 16 32 -> offset 512 True

The theorems are T13 to T15 of docs/theorems.md. Bit 0 of an index is the lowest, the first named input or
output lies in the lowest bits, and a value with several outputs is one packed integer.

``f2`` is arithmetic on columns of bits, ``linear_layout`` the value, ``conversion`` the way from layouts and back.
"""

from __future__ import annotations

from .conversion import linear, to_layout, why_not_linear
from .f2 import f2_rank
from .linear_layout import LinearLayout

__all__ = ["LinearLayout", "f2_rank", "linear", "to_layout", "why_not_linear"]
