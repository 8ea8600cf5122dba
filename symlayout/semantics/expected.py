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

from ..atoms import MemorySpace
from ..dtype import DType
from ..errors import LayoutError
from ..expr import extent_of
from ..expr.compiled import value as number
from ..kernel import Kernel, KernelTensor
from ..kernel.specification import (
    Applied,
    Dot,
    Element,
    Entry,
    Number,
    Result,
    Scalar,
    Total,
    Value,
    elements,
    sum_type,
    sums,
)
from ..ops import LoadIndex
from ..strides import as_modes
from .execute import expect_arrays
from .maps import map_function
from .named_values import scalar

Array = np.ndarray[Any, Any]

EXACT_F64 = 1 << 53
EXACT = 1 << 24  # integers below are exact in f32
STRIDE = np.uint64(1001)  # multiples of this are not exact in bf16, and few in f16: rounding shows
FEW = np.array([-2.0, -1.0, 1.0, 2.0])  # sums of products of these are exact


def expected(bound: Kernel, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """The expected contents of each output with a result, rounded once where sums are exact.

    Raises LayoutError for a kernel with symbols or an input that is missing.
    """
    if bound.dims:
        raise LayoutError(f"expected a kernel that is bound to sizes, got symbols {', '.join(map(str, bound.dims))}")
    typed = {p.name: scalar(p, inputs[p.name]) for p in bound.parameters if p.name in inputs}
    return {r.tensor: _result(bound, r, {**inputs, **typed}) for r in bound.results}


def telling_inputs(bound: Kernel, loud: int = 0) -> dict[str, Any]:
    """Arrays for the tensors that are not outputs, and scalars. Their elements and sums identify where they come from.

    Elements that are only moved get 1001, 2002, .., or in few bits a hash of their place; those that are summed small
    integers; those of other functions digits of all bits; tensors of indices what their contract allows. With *loud*,
    1 or -1 for their sign, elements that are summed are what types too narrow for the sums do not hold: the greatest
    integers of their type, fractions.
    """
    updated = {r.tensor for r in bound.results if r.tensor in r.inputs}
    outputs = {r.tensor for r in bound.results} - updated
    moved = {e.tensor for r in bound.results if isinstance(r.value, Element) for e in elements(r.value)}
    summed = updated | {e.tensor for r in bound.results for x in sums(r.value) for e in elements(x)}
    totals = (x for r in bound.results for x in sums(r.value) if isinstance(x, Total))
    folded = updated | {e.tensor for x in totals for e in elements(x)}
    within = {op.src.tensor: op.name for op in bound.walk() if isinstance(op, LoadIndex)}
    out: dict[str, Any] = {p.name: p.within[0] if p.within else 2 + i for i, p in enumerate(bound.parameters)}
    for i, tensor in enumerate(t for t in bound.tensors if t.space is MemorySpace.GLOBAL and t.name not in outputs):
        kind = np.dtype(tensor.dtype.numpy())
        n = np.arange(int(tensor.layout.size()), dtype=np.uint64)
        hashed = (n + np.uint64(7919 * i + 1)) * np.uint64(0x9E3779B97F4A7C15)
        hashed ^= hashed >> np.uint64(29)
        if tensor.name in within:
            low, high = (int(x) for x in within[tensor.name].args[1:3])
            held = (low + (hashed >> np.uint64(13)).astype(np.int64) % (high - low + 1)).astype(kind)
        elif tensor.name in moved and kind.itemsize >= 4 and STRIDE * n.size < EXACT:
            held = (STRIDE * (n + np.uint64(1))).astype(kind)
        elif tensor.name in moved:
            held = _numbers((hashed >> np.uint64(8)).astype(f"u{kind.itemsize}"), tensor.dtype)
        else:
            if loud and tensor.name in summed:
                out[tensor.name] = _shaped(_loud(tensor.dtype, hashed, loud), tensor)
                continue
            few = np.abs(FEW) if kind.kind == "u" else FEW
            held = few[hashed >> np.uint64(13) & np.uint64(3)].astype(kind)
            if tensor.name in folded and kind.itemsize >= 4:
                held = ((hashed >> np.uint64(13)).astype(np.int64) % 1000 - (kind.kind != "u") * 500).astype(kind)
            elif tensor.name not in summed and tensor.dtype.kind == "float":
                held = ((1 + (hashed >> np.uint64(40)) / (1 << 24)) * held.astype(np.float64)).astype(kind)
        out[tensor.name] = _shaped(held, tensor)
    return out


def _shaped(held: Array, tensor: KernelTensor) -> Array:
    return held.reshape(as_modes(tensor.layout.shape))


FRACTION = 4  # bits behind the point, where a type has so many


def _loud(dtype: DType, hashed: Array, sign: int) -> Array:
    """Elements whose sums leave types that are too narrow: the last of all integers, 17/16 and 17/8."""
    kind = np.dtype(dtype.numpy())
    odd = (hashed >> np.uint64(13) & np.uint64(1)).astype(np.int64)
    if dtype.kind != "float":
        ends = np.iinfo(kind)
        return (ends.max - odd if sign > 0 or kind.kind == "u" else ends.min + odd).astype(kind)
    return (sign * (1 + 2.0 ** -_fraction(dtype)) * (1 + odd)).astype(kind)


def _fraction(dtype: DType) -> int:
    return min(FRACTION, int(ml_dtypes.finfo(dtype.numpy()).nmant))  # type: ignore[no-untyped-call]


def _tells(bound: Kernel, x: Dot | Total) -> bool:
    """Whether loud inputs have exact sums in the type of a result, so that no order of additions makes a difference."""
    of = [bound.tensor(e.tensor).dtype for e in elements(x)]
    kept = DType.of(x.dtype) if x.dtype else sum_type(*of)
    if isinstance(x, Total) and x.function != "add":
        return isinstance(x, Total) and x.function != "mul"
    if kept.kind != "float" and all(t.kind != "float" for t in of):
        most = math.prod(max(abs(int(i.min)), int(i.max)) for i in (np.iinfo(t.numpy()) for t in of))
        return int(x.extent) * most <= np.iinfo(kept.numpy()).max and int(x.extent) * most < EXACT_F64
    if kept.kind != "float" or any(t.kind != "float" for t in of):
        return False
    if isinstance(x, Dot) and of[0].bits == 8:
        return False  # tensor cores keep 14 bits of these sums
    digits = sum(map(_fraction, of)) + (int(x.extent) * math.ceil(2.5 ** len(of))).bit_length()
    return digits <= int(ml_dtypes.finfo(kept.numpy()).nmant)  # type: ignore[no-untyped-call]


def _numbers(bits: Array, dtype: DType) -> Array:
    """Bits as numbers of a type. Conversions keep of a NaN only that it is one, so one of its bits is cleared."""
    out: Array = bits.view(dtype.numpy())
    if dtype.kind == "float":
        with np.errstate(invalid="ignore"):
            nan = np.isnan(out)
        bits[nan] &= ~bits.dtype.type(1 << (dtype.bits - 2))
    return out


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
    """The fold in float64, one index after the other."""
    of = map_function(x.function).on
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
        a, b = (_at(e, at, inputs).astype(np.float64) for e in (x.a, x.b))
        total = total + a * b
    return np.asarray(total)
