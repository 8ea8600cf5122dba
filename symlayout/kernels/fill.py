"""dst = one number, as CuTe's fill: a scalar of the tensor's type, four vectors of 16 bytes a thread, and a tail.

>>> from symlayout import dim
>>> print(fill(dim("N")).text())
kernel fill(N)
  grid (ceil(N/2048),), 128 threads
  64 bits: at + 4
  scalar value: f32
  global dst: f32 N:1
  register x: f32 4:1
  convert value -> x x4
  for v < 4, unrolled:
    let at = 2048*block_x + 4*thread + 512*v
    if N >= at + 4:
      st.global.16 x -> dst[at]
    if at + 3 >= N:
      for j < 4:
        if N > at + j:
          st.global.4 x -> dst[at + j]
  result dst(i) = value
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..dtype import DType, DTypeLike
from ..expr import Symbol
from ..int_tuple import ceil_div
from ..kernel import Builder, Kernel
from ..kernel.specification import Value, scalar
from ..layout import Layout
from ..ops import Ref

SIZES = tuple({"N": n} for n in (1, 3, 4, 5, 511, 512, 513, 1030, 3000, 10001))
VECTOR_BYTES = 16
VECTORS = 4  # of a thread: with one, as many CTAs as an H200 can start in the time leave 0.79 of its copy rate


def fill(N: int | Symbol, *, dtype: DTypeLike = "f32", threads: int = 128) -> Kernel:
    """dst = value for vectors of N elements."""
    kind = DType.of(dtype)
    k = vectors("fill", N, kind, threads)
    value = k.parameter("value", kind)
    store(k, N, kind, lambda x, width: k.map("convert", (value,), x, width), scalar(value))
    return k.kernel(reference=reference)


def vectors(name: str, N: int | Symbol, kind: DType, threads: int) -> Builder:
    """A grid of threads for some vectors each."""
    width = VECTOR_BYTES // kind.bytes
    dims = (n for n in (N,) if not isinstance(n, int))
    return Builder(name, *dims, grid=(ceil_div(N, VECTORS * width * threads),), threads=threads)


def store(k: Builder, N: int | Symbol, kind: DType, value: Callable[[Ref, int], None], stated: Value) -> None:
    """The vectors of each thread, neighbours by neighbouring threads, and the elements of one at the end."""
    width = VECTOR_BYTES // kind.bytes
    dst, x = k.global_tensor("dst", kind, Layout(N)), k.registers("x", kind, width)
    value(x(), width)
    with k.loop("v", VECTORS, unroll="full") as v:
        at = k.let("at", width * (k.threads * (VECTORS * k.block[0] + v) + k.thread))
        with k.where(at + width <= N):
            k.copy("st.global.16", x(), dst(at))
        with k.otherwise(), k.loop("j", width) as j, k.where(at + j < N):
            k.copy(f"st.global.{kind.bytes}", x(), dst(at + j))
    k.result("dst", lambda i: stated)


def reference(dst: np.ndarray[Any, Any], value: Any) -> dict[str, np.ndarray[Any, Any]]:
    """The contents of dst after the kernel, whatever they were."""
    return {"dst": np.full_like(dst, np.asarray(value).astype(dst.dtype))}
