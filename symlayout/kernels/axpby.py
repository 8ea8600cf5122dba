"""dst = alpha*x + beta*y, as CuTe's axpby: vectors of 16 bytes, the last ones element by element.

>>> from symlayout import dim
>>> print(axpby(dim("N")).text())
kernel axpby(N)
  grid (ceil(N/512),), 128 threads
  64 bits: first + 4
  scalar alpha: f32
  scalar beta: f32
  global x: f32 N:1
  global y: f32 N:1
  global dst: f32 N:1
  register a: f32 4:1
  register b: f32 4:1
  let first = 512*block_x + 4*thread
  if N >= first + 4:
    ld.global.16 x[first] -> a
    ld.global.16 y[first] -> b
    mul beta, b -> b x4
    fma alpha, a, b -> b x4
    st.global.16 b -> dst[first]
  if first + 3 >= N:
    for j < 4:
      if N > first + j:
        ld.global.4 x[first + j] -> a
        ld.global.4 y[first + j] -> b
        mul beta, b -> b x1
        fma alpha, a, b -> b x1
        st.global.4 b -> dst[first + j]
  result dst(i) = fma(alpha, x(i), mul(beta, y(i)))

beta*y is rounded to the type of the tensors, then alpha*x is added and the sum is rounded once. Where beta is 0, y is
read all the same, so that a NaN in it shows; CuTe leaves it out.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtype import DType, DTypeLike
from ..expr import Symbol
from ..int_tuple import ceil_div
from ..kernel import Builder, Kernel
from ..kernel.specification import applied, element, scalar
from ..layout import Layout

SIZES = tuple({"N": n} for n in (1, 3, 4, 5, 511, 512, 513, 1030, 3000, 10001))
VECTOR_BYTES = 16


def axpby(N: int | Symbol, *, dtype: DTypeLike = "f32", threads: int = 128) -> Kernel:
    """dst = alpha*x + beta*y for vectors of N elements and two scalars of their type."""
    kind = DType.of(dtype)
    width = VECTOR_BYTES // kind.bytes
    k = Builder(
        "axpby",
        *(n for n in (N,) if not isinstance(n, int)),
        grid=(ceil_div(N, width * threads),),
        threads=threads,
    )
    alpha, beta = k.parameter("alpha", kind), k.parameter("beta", kind)
    x, y, dst = (k.global_tensor(name, kind, Layout(N)) for name in ("x", "y", "dst"))
    a, b = (k.registers(name, kind, width) for name in "ab")

    def update(at: Any, count: int) -> None:
        """*count* elements of this thread."""
        nbytes = count * kind.bytes
        k.copy(f"ld.global.{nbytes}", x(at), a())
        k.copy(f"ld.global.{nbytes}", y(at), b())
        k.map("mul", (beta, b()), b(), count)
        k.map("fma", (alpha, a(), b()), b(), count)
        k.copy(f"st.global.{nbytes}", b(), dst(at))

    first = k.let("first", width * (threads * k.block[0] + k.thread))
    with k.where(first + width <= N):
        update(first, width)
    with k.otherwise(), k.loop("j", width) as j, k.where(first + j < N):
        update(first + j, 1)
    k.result(
        "dst", lambda i: applied("fma", scalar(alpha), element("x", i), applied("mul", scalar(beta), element("y", i)))
    )
    return k.kernel(reference=reference)


def reference(
    x: np.ndarray[Any, Any], y: np.ndarray[Any, Any], alpha: Any, beta: Any
) -> dict[str, np.ndarray[Any, Any]]:
    """The contents of dst after the kernel, but for rounding: in f64, rounded once."""
    scalars = (np.asarray(s).astype(x.dtype).astype(np.float64) for s in (alpha, beta))
    a, b = scalars
    return {"dst": (a * x.astype(np.float64) + b * y.astype(np.float64)).astype(x.dtype)}


def bound(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any], alpha: Any, beta: Any) -> dict[str, np.ndarray[Any, Any]]:
    """A bound on the error of dst: one rounding of beta*y, one of the sum, one of the reference."""
    digits = {"float32": 24, "float16": 11, "bfloat16": 8, "float64": 53}[x.dtype.name]
    a, b = (np.abs(np.asarray(s).astype(x.dtype).astype(np.float64)) for s in (alpha, beta))
    total = a * np.abs(x.astype(np.float64)) + b * np.abs(y.astype(np.float64))
    return {"dst": 2.0**-digits * 3.1 * total + 2.0**-20 * float(np.finfo(np.float32).tiny)}
