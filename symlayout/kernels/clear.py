"""dst = 0, as CuTe's clear: vectors of 16 bytes, and a tail. Every byte is 0 afterwards, whatever it was.

>>> from symlayout import dim
>>> print(*clear(dim("N"), dtype="bf16").text().splitlines()[-7:], sep=chr(10))
    if N >= at + 8:
      st.global.16 x -> dst[at]
    if at + 7 >= N:
      for j < 8:
        if N > at + j:
          st.global.2 x -> dst[at + j]
  result dst(i) = 0
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtype import DType, DTypeLike
from ..expr import Symbol
from ..kernel import Kernel
from ..kernel.specification import number
from .fill import SIZES, store, vectors

__all__ = ["SIZES", "clear", "reference"]


def clear(N: int | Symbol, *, dtype: DTypeLike = "f32", threads: int = 128) -> Kernel:
    """dst = 0 for vectors of N elements."""
    kind = DType.of(dtype)
    k = vectors("clear", N, kind, threads)
    store(k, N, kind, lambda x, width: k.fill(x, 0, width), number(0))
    return k.kernel(reference=reference)


def reference(dst: np.ndarray[Any, Any]) -> dict[str, np.ndarray[Any, Any]]:
    """The contents of dst after the kernel, whatever they were."""
    return {"dst": np.zeros_like(dst)}
