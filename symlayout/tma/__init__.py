"""Tensor maps and the copies through them: as data, from layouts and tiles, from DLPack, and as recorded calls.

Another way to come by a tensor map belongs here. What makes one legal is a row of ``symlayout.rules``, and what a copy
does to memory stands in ``symlayout.semantics``.
"""

from __future__ import annotations

from .enumerations import (
    SPAN_BYTES,
    TYPE_WORDS,
    TmaInterleaveLayout,
    TmaL2FetchSize,
    TmaOobFill,
    TmaSwizzle,
    TmaType,
)
from .tensor_map import Im2col, TensorMap

__all__ = [
    "SPAN_BYTES",
    "TYPE_WORDS",
    "Im2col",
    "TensorMap",
    "TmaInterleaveLayout",
    "TmaL2FetchSize",
    "TmaOobFill",
    "TmaSwizzle",
    "TmaType",
]
