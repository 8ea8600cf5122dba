"""The results of a kernel on NumPy arrays, and runs that are compared with them.

>>> from symlayout.kernels import tma_transpose
>>> k = tma_transpose(8, 16, dtype="u16", blocks=1)
>>> src = np.arange(128, dtype=np.uint16).reshape(8, 16)
>>> bool((expected(k, {"src": src})["dst"] == src.T).all())
True
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import Any

import ml_dtypes
import numpy as np

from ..dtype import DType
from ..errors import LayoutError
from ..expr import extent_of
from ..expr.compiled import value as number
from ..kernel import Kernel
from ..kernel.specification import (
    Applied,
    Dot,
    Element,
    Entry,
    Number,
    PackedDot,
    Result,
    Scalar,
    Total,
    Value,
    elements,
    sum_type,
    sums,
)
from .execute import expect_arrays
from .maps import map_function
from .named_values import scalar
from .packing import unpacked
from .telling import fraction, telling_inputs

Array = np.ndarray[Any, Any]

EXACT_F64 = 1 << 53

OF_NOTHING = {"add": 0.0, "mul": 1.0}  # sums and products of no values


def expected(bound: Kernel, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """The expected contents of each output with a result, rounded once where sums are exact.

    Raises LayoutError for a kernel with symbols or an input that is missing.
    """
    if bound.dims:
        raise LayoutError(f"expected a kernel that is bound to sizes, got symbols {', '.join(map(str, bound.dims))}")
    typed = {p.name: scalar(p, inputs[p.name]) for p in bound.parameters if p.name in inputs}
    return {r.tensor: _result(bound, r, {**inputs, **typed}) for r in bound.results}


def _tells(bound: Kernel, x: Dot | Total) -> bool:
    """Whether loud inputs have exact sums in the type of a result, so that no order of additions makes a difference."""
    of = [bound.tensor(e.tensor).dtype for e in elements(x)]
    kept = DType.of(x.dtype) if x.dtype else sum_type(*of)
    if isinstance(x, PackedDot):
        return False  # whose words have all bits in any case
    if isinstance(x, Total) and x.function != "add":
        return isinstance(x, Total) and x.function != "mul"
    if kept.kind != "float" and all(t.kind != "float" for t in of):
        most = math.prod(max(abs(int(i.min)), int(i.max)) for i in (np.iinfo(t.numpy()) for t in of))
        return int(x.extent) * most <= np.iinfo(kept.numpy()).max and int(x.extent) * most < EXACT_F64
    if kept.kind != "float" or any(t.kind != "float" for t in of):
        return False
    if isinstance(x, Dot) and of[0].bits == 8:
        return False  # tensor cores keep 14 bits of these sums
    digits = sum(map(fraction, of)) + (int(x.extent) * math.ceil(2.5 ** len(of))).bit_length()
    return digits <= int(ml_dtypes.finfo(kept.numpy()).nmant)  # type: ignore[no-untyped-call]


def expect_results(bound: Kernel, order: str | int = "eager", output: str = "", loud: int = 0) -> None:
    """Raise ExecutionError unless a run with telling inputs ends with the results, or with that of one output.

    *loud* ones are left out where the sums of a result would not be exact with them.
    """
    if loud and not all(_tells(bound, x) for r in bound.results for x in sums(r.value)):
        return
    inputs = telling_inputs(bound, loud)
    wanted = {name: x for name, x in expected(bound, inputs).items() if output in ("", name)}
    expect_arrays(bound, inputs, wanted, order)


def _result(bound: Kernel, r: Result, inputs: Mapping[str, Array]) -> Array:
    tensor = bound.tensor(r.tensor)
    shape = tuple(int(extent_of(s)) for s in r.coords)
    env = {s.name: x for s, x in zip(r.coords, np.indices(shape), strict=True)}
    found = value_of(r.value, env, inputs, tensor.dtype)
    if found.dtype != tensor.dtype.numpy():
        found = map_function("convert").result([(DType.of(found.dtype.name), found)], tensor.dtype, 1)
    return np.broadcast_to(found, shape)


def value_of(x: Value, env: Mapping[str, Any], inputs: Mapping[str, Array], dtype: DType) -> Array:
    """A value at coordinates, as numbers of the type that it is rounded to."""
    if isinstance(x, Element):
        if x.tensor not in inputs:
            raise LayoutError(f"expected an array for {x.tensor}, got those of {', '.join(inputs) or 'nothing'}")
        return _at(x, env, inputs)
    if isinstance(x, Scalar):
        if x.name not in inputs:
            raise LayoutError(f"expected a number for {x.name}, got those of {', '.join(inputs) or 'nothing'}")
        return np.asarray(inputs[x.name])
    if isinstance(x, Number):
        return np.asarray(x.value, np.float64 if isinstance(x.value, float) else np.int64)
    if isinstance(x, Dot):
        return _dot(x, env, inputs)
    if isinstance(x, Total):
        return _total(x, env, inputs)
    assert isinstance(x, Applied)
    kind = DType.of(x.dtype) if x.dtype else dtype
    args = [value_of(a, env, inputs, dtype) for a in x.args]
    typed = [(DType.of(a.dtype.name), a) for a in args]
    return map_function(x.function).result(typed, kind, 1)


def _total(x: Total, env: Mapping[str, Any], inputs: Mapping[str, Array]) -> Array:
    """The fold in float64, one index after the other; of nothing a sum is 0 and a product 1. Raises LayoutError."""
    of = map_function(x.function).on
    if int(x.extent) < 1:
        if x.function not in OF_NOTHING:
            raise LayoutError(f"expected at least 1 value of {x.index.name} for {x}, got {x.extent}")
        return np.asarray(OF_NOTHING[x.function])
    every = [_at(x.element, {**env, x.index.name: k}, inputs).astype(np.float64) for k in range(int(x.extent))]
    return functools.reduce(of, every)


def _at(x: Element | Entry, env: Mapping[str, Any], inputs: Mapping[str, Array]) -> Array:
    where = tuple(_at(i, env, inputs) if isinstance(i, Entry) else number(i, env) for i in x.at)
    for i, n in zip(where, inputs[x.tensor].shape, strict=True):
        outside = np.asarray(i)[(np.asarray(i) < 0) | (np.asarray(i) >= n)]
        if outside.size:
            raise LayoutError(f"expected coordinates 0 .. {n - 1} of {x.tensor}, got {outside[0]} of {x}")
    found: Array = inputs[x.tensor][where]
    return found


def _dot(x: Dot, env: Mapping[str, Any], inputs: Mapping[str, Array]) -> Array:
    """The sum in float64, one k after the other."""
    total: Any = 0.0
    for k in range(int(x.extent)):
        at = {**env, x.index.name: k}
        a, b = (_at(e, at, inputs) for e in (x.a, x.b))
        if isinstance(x, PackedDot):
            total = total + _of_words(x, a, b)
        else:
            total = total + a.astype(np.float64) * b.astype(np.float64)
    return np.asarray(total)


def _of_words(x: PackedDot, a: Array, b: Array) -> Array:
    """The product of words: the sum of those of the elements in them."""
    u, v = (unpacked(w[..., None], t).astype(np.int64) for w, t in zip((a, b), x.types, strict=True))
    found: Array = (u ^ v if x.words.endswith("xor") else u * v).sum(axis=-1).astype(np.float64)
    return found
