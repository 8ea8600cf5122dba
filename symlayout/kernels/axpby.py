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

beta*y is rounded to the type of the tensors, then alpha*x is added and the sum is rounded once. A factor of 0 leaves
its vector out, as BLAS defines it, where the kernel is told so: a NaN in y then does not show.

>>> print(*axpby(dim("N"), zero="beta").text().splitlines()[-5:], sep=chr(10))
      if N > first + j:
        ld.global.4 x[first + j] -> a
        mul alpha, a -> a x1
        st.global.4 a -> dst[first + j]
  result dst(i) = mul(alpha, x(i))
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..dtype import DType, DTypeLike
from ..errors import LayoutError
from ..expr import Symbol
from ..int_tuple import ceil_div
from ..kernel import Builder, Kernel
from ..kernel.specification import Value, applied, element, scalar
from ..layout import Layout
from ..ops import Param

SIZES = tuple({"N": n} for n in (1, 3, 4, 5, 511, 512, 513, 1030, 3000, 10001))
VECTOR_BYTES = 16


TERMS = (("alpha", "x"), ("beta", "y"))  # factors and vectors


def axpby(N: int | Symbol, *, dtype: DTypeLike = "f32", threads: int = 128, zero: str = "") -> Kernel:
    """dst = alpha*x + beta*y for vectors of N elements and two scalars of their type.

    *zero* is ``alpha`` or ``beta`` where that is 0: its vector is no operand then. Raises LayoutError for another word.
    """
    kind = DType.of(dtype)
    width = VECTOR_BYTES // kind.bytes
    k = Builder(
        "axpby",
        *(n for n in (N,) if not isinstance(n, int)),
        grid=(ceil_div(N, width * threads),),
        threads=threads,
    )
    factors = [k.parameter(name, kind) for name, _ in terms(zero)]
    vectors = [k.global_tensor(name, kind, Layout(N)) for _, name in terms(zero)]
    dst = k.global_tensor("dst", kind, Layout(N))
    held = [k.registers(name, kind, width) for name, _ in zip("ab", vectors, strict=False)]

    def update(at: Any, count: int) -> None:
        """*count* elements of this thread."""
        nbytes = count * kind.bytes
        for vector, registers in zip(vectors, held, strict=True):
            k.copy(f"ld.global.{nbytes}", vector(at), registers())
        add(k, factors, held, count)
        k.copy(f"st.global.{nbytes}", held[-1](), dst(at))

    first = k.let("first", width * (threads * k.block[0] + k.thread))
    with k.where(first + width <= N):
        update(first, width)
    with k.otherwise(), k.loop("j", width) as j, k.where(first + j < N):
        update(first + j, 1)
    k.result("dst", lambda i: stated(zero, i))
    return k.kernel(reference=REFERENCES[zero])


def terms(zero: str) -> tuple[tuple[str, str], ...]:
    """The factors, with their vectors, that are not 0. Raises LayoutError for a word that is none of them."""
    if zero not in REFERENCES:
        raise LayoutError(f'expected alpha or beta as the factor that is 0, or "" for neither, got {zero!r}')
    return tuple(t for t in TERMS if t[0] != zero)


def add(k: Builder, factors: list[Param], held: list[Any], count: int) -> None:
    """The terms in the last registers: it is multiplied, then the other product is added and the sum is rounded."""
    into = held[-1]()
    k.map("mul", (factors[-1], into), into, count)
    for factor, registers in zip(factors[:-1], held[:-1], strict=True):
        k.map("fma", (factor, registers(), into), into, count)


def stated(zero: str, *at: Any) -> Value:
    """What an element of dst is to be."""
    products = [(scalar(Param(factor)), element(vector, *at)) for factor, vector in terms(zero)]
    value = applied("mul", *products[-1])
    return applied("fma", *products[0], value) if len(products) > 1 else value


def reference(
    x: np.ndarray[Any, Any], y: np.ndarray[Any, Any], alpha: Any, beta: Any
) -> dict[str, np.ndarray[Any, Any]]:
    """The contents of dst after the kernel, but for rounding: in f64, rounded once."""
    scalars = (np.asarray(s).astype(x.dtype).astype(np.float64) for s in (alpha, beta))
    a, b = scalars
    return {"dst": (a * x.astype(np.float64) + b * y.astype(np.float64)).astype(x.dtype)}


def scaled(x: np.ndarray[Any, Any], factor: Any) -> dict[str, np.ndarray[Any, Any]]:
    """The same where the other factor is 0."""
    return {"dst": (float(np.asarray(factor).astype(x.dtype)) * x.astype(np.float64)).astype(x.dtype)}


REFERENCES: Mapping[str, Callable[..., dict[str, np.ndarray[Any, Any]]]] = {
    "": reference,
    "beta": lambda x, alpha: scaled(x, alpha),
    "alpha": lambda y, beta: scaled(y, beta),
}


def bound(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any], alpha: Any, beta: Any) -> dict[str, np.ndarray[Any, Any]]:
    """A bound on the error of dst: one rounding of beta*y, one of the sum, one of the reference."""
    digits = {"float32": 24, "float16": 11, "bfloat16": 8, "float64": 53}[x.dtype.name]
    a, b = (np.abs(np.asarray(s).astype(x.dtype).astype(np.float64)) for s in (alpha, beta))
    total = a * np.abs(x.astype(np.float64)) + b * np.abs(y.astype(np.float64))
    return {"dst": 2.0**-digits * 3.1 * total + 2.0**-20 * float(np.finfo(np.float32).tiny)}
