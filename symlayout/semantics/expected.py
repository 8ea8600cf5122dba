"""What the results of a kernel are on NumPy arrays, and runs that are compared with them.

>>> from symlayout.kernels import tma_transpose
>>> k = tma_transpose(8, 16, dtype="u16", blocks=1)
>>> src = np.arange(128, dtype=np.uint16).reshape(8, 16)
>>> bool((expected(k, {"src": src})["dst"] == src.T).all())
True
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..dtype import DType
from ..errors import LayoutError
from ..kernel import Kernel
from ..results import Applied, Dot, Element, Result, Value, elements
from .compiled import value as number
from .execute import expect_arrays
from .maps import map_function

Array = np.ndarray[Any, Any]

FEW = np.array([-2.0, -1.0, 1.0, 2.0])  # of which sums of products are exact


def expected(bound: Kernel, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """What each output with a result holds after a run, rounded once where sums are exact.

    Raises LayoutError for a kernel with symbols or an input that is missing.
    """
    if bound.dims:
        raise LayoutError(f"expected a kernel that is bound to sizes, got symbols {', '.join(map(str, bound.dims))}")
    return {r.tensor: _result(bound, r, inputs) for r in bound.results}


def telling_inputs(bound: Kernel) -> dict[str, Array]:
    """Arrays for the inputs of the results, of which elements and sums tell where they come from.

    Elements that are only moved get bits of a hash of their place; those that are added or multiplied small integers.
    """
    moved = all(isinstance(r.value, Element) for r in bound.results)
    out = {}
    for i, name in enumerate(dict.fromkeys(e.tensor for r in bound.results for e in elements(r.value))):
        tensor = bound.tensor(name)
        n = np.arange(int(tensor.layout.size()), dtype=np.uint64)
        hashed = (n + np.uint64(7919 * i + 1)) * np.uint64(0x9E3779B97F4A7C15)
        hashed ^= hashed >> np.uint64(29)
        shape = tensor.layout.shape if isinstance(tensor.layout.shape, tuple) else (tensor.layout.shape,)
        kind = tensor.dtype.numpy()
        if moved:
            held = (hashed >> np.uint64(8)).astype(f"u{np.dtype(kind).itemsize}").view(kind)
        else:
            held = FEW[hashed >> np.uint64(13) & np.uint64(3)].astype(kind)
        out[name] = held.reshape(shape)
    return out


def expect_results(bound: Kernel, order: str | int = "eager", output: str = "") -> None:
    """Raise ExecutionError unless a run with telling inputs ends with the results, or with that of one output."""
    inputs = telling_inputs(bound)
    wanted = {name: x for name, x in expected(bound, inputs).items() if output in ("", name)}
    expect_arrays(bound, inputs, wanted, order)


def _result(bound: Kernel, r: Result, inputs: Mapping[str, Array]) -> Array:
    tensor = bound.tensor(r.tensor)
    shape = tuple(int(s.upper) + 1 for s in r.coords)  # type: ignore[arg-type]
    env = {s.name: x for s, x in zip(r.coords, np.indices(shape), strict=True)}
    found = _value(r.value, env, inputs, tensor.dtype)
    return np.broadcast_to(found, shape).astype(tensor.dtype.numpy())


def _value(x: Value, env: Mapping[str, Any], inputs: Mapping[str, Array], dtype: DType) -> Array:
    if isinstance(x, Element):
        if x.tensor not in inputs:
            raise LayoutError(f"expected an array for {x.tensor}, got those of {', '.join(inputs) or 'nothing'}")
        found: Array = inputs[x.tensor][tuple(number(i, env) for i in x.at)]
        return found
    if isinstance(x, Dot):
        return _dot(x, env, inputs)
    assert isinstance(x, Applied)
    kind = DType.of(x.dtype) if x.dtype else dtype
    args = [_value(a, env, inputs, kind) for a in x.args]
    typed = [(DType.of(a.dtype.name), a) for a in args]
    return map_function(x.function).result(typed, kind, 1)


def _dot(x: Dot, env: Mapping[str, Any], inputs: Mapping[str, Array]) -> Array:
    """The sum in float64, one k after the other."""
    total: Any = 0.0
    for k in range(int(x.extent)):
        at = {**env, x.index.name: k}
        a, b = (inputs[e.tensor][tuple(number(i, at) for i in e.at)].astype(np.float64) for e in (x.a, x.b))
        total = total + a * b
    return np.asarray(total)
