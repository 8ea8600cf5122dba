"""A copy through registers: each thread moves one vector, the last ones element by element.

>>> from symlayout import dim
>>> print(vector_copy(dim("N"), dtype="bf16", vector_bytes=16).text())
kernel vector_copy(N)
  grid (ceil(N/1024),), 128 threads
  64 bits: 1024*block_x + 8*thread + 8
  global src: bf16 N:1
  global dst: bf16 N:1
  register x: bf16 8:1
  if N >= 1024*block_x + 8*thread + 8:
    ld.global.16 src[1024*block_x + 8*thread] -> x
    st.global.16 x -> dst[1024*block_x + 8*thread]
  if 1024*block_x + 8*thread + 7 >= N:
    for j < 8:
      if N > 1024*block_x + j + 8*thread:
        ld.global.2 src[1024*block_x + j + 8*thread] -> x
        st.global.2 x -> dst[1024*block_x + j + 8*thread]
  result dst(i) = src(i)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..dtype import DType, DTypeLike
from ..expr import Symbol
from ..int_tuple import ceil_div
from ..kernel import Builder, Kernel
from ..kernel.specification import element
from ..layout import Layout

if TYPE_CHECKING:
    from ..ck_tile.tensor_view import TensorView

SIZES = tuple({"N": n} for n in (1, 3, 7, 8, 9, 1023, 1024, 1025, 3000, 10000))


def vector_copy(
    N: int | Symbol | tuple[TensorView, TensorView],
    *,
    dtype: DTypeLike = "f32",
    vector_bytes: int = 16,
    threads: int = 128,
    loads: str = "",
    stores: str = "",
) -> Kernel:
    """dst = src for vectors of N elements, *vector_bytes* at a time.

    *loads* and *stores* are cache policies, such as ``"nc L1::no_allocate"`` and ``"cs"``. A pair of tensor views of CK
    Tile in place of N is copied one to the other: see ``ck_tile.copy_views``.
    """
    if isinstance(N, tuple):
        from ..ck_tile.kernels import copy_views  # with all that views need, of which vectors need nothing

        elements = vector_bytes // N[0].buffer.dtype.bytes
        return copy_views(*N, elements=elements, threads=threads, name="vector_copy", loads=loads, stores=stores)
    kind = DType.of(dtype)
    width = vector_bytes // kind.bytes
    k = Builder(
        "vector_copy",
        *(x for x in (N,) if not isinstance(x, int)),
        grid=(ceil_div(N, width * threads),),
        threads=threads,
    )
    src, dst = (k.global_tensor(name, kind, Layout(N)) for name in ("src", "dst"))
    x = k.registers("x", kind, width)
    first = width * (threads * k.block[0] + k.thread)
    with k.where(first + width <= N):
        k.copy(f"ld.global.{vector_bytes}", src(first), x(), cache=loads)
        k.copy(f"st.global.{vector_bytes}", x(), dst(first), cache=stores)
    with k.where(first + width > N), k.loop("j", width) as j, k.where(first + j < N):
        k.copy(f"ld.global.{kind.bytes}", src(first + j), x(), cache=loads)
        k.copy(f"st.global.{kind.bytes}", x(), dst(first + j), cache=stores)
    k.result("dst", lambda i: element("src", i))
    return k.kernel(reference=reference)


def reference(src: np.ndarray[Any, Any]) -> dict[str, np.ndarray[Any, Any]]:
    """The contents of dst after the kernel."""
    return {"dst": src.copy()}
