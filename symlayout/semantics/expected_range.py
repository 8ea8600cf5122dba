"""The range in which hardware's results are, where a result has approximate functions: an interval for each element.

    >>> from symlayout import Layout
    >>> from symlayout.kernel import Builder
    >>> from symlayout.kernel.specification import applied, element
    >>> k = Builder("powers", grid=(1,), threads=32)
    >>> x, y = (k.global_tensor(name, "f32", Layout(32)) for name in "xy")
    >>> r = k.registers("r", "f32", 1)
    >>> k.copy("ld.global.4", x(k.thread), r())
    >>> k.map("ex2.approx", (r(),), r())
    >>> k.copy("st.global.4", r(), y(k.thread))
    >>> k.result("y", lambda i: applied("ex2.approx", element("x", i)))
    >>> low, high = expected_range(k.kernel(), {"x": np.full(32, 3, np.float32)})["y"]
    >>> low[0], high[0]
    (np.float32(7.999998), np.float32(8.000002))

A run computes one value in this range: the exact one, rounded. Sums are as ``expected`` has them, in float64: how far
the order of additions may take them is not part of the range.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from ..dtype import DType
from ..errors import LayoutError
from ..expr import extent_of
from ..kernel import Kernel
from ..kernel.specification import Applied, Value
from .expected import expected, value_of
from .maps import FUNCTIONS, converted, map_function

Array = np.ndarray[Any, Any]
Range = tuple[Array, Array]


def expected_range(bound: Kernel, inputs: Mapping[str, Array]) -> dict[str, Range]:
    """(least, greatest) of each element of each output with a result, in its type; equal where nothing is approximate.

    Raises LayoutError for what ``expected`` raises it, and for approximate functions whose results are no floats.
    """
    exact, out = expected(bound, inputs), {}
    for r in bound.results:
        if not is_approximate(r.value):
            out[r.tensor] = (exact[r.tensor], exact[r.tensor])
            continue
        kind = bound.tensor(r.tensor).dtype
        shape = tuple(int(extent_of(s)) for s in r.coords)
        env = {s.name: x for s, x in zip(r.coords, np.indices(shape), strict=True)}
        low, high = _range(r.value, env, inputs, kind)
        with np.errstate(over="ignore"):
            low, high = (np.broadcast_to(converted(x, kind), shape) for x in (low, high))
        out[r.tensor] = low, high
    return out


def is_approximate(value: Value) -> bool:
    """Whether hardware may compute another number than a run."""
    return any(True for _ in approximate(value))


def approximate(value: Value) -> Iterator[str]:
    """The approximate functions in a value."""
    if isinstance(value, Applied):
        yield from (value.function,) if FUNCTIONS[value.function].errors else ()
        for x in value.args:
            yield from approximate(x)


def _range(x: Value, env: Mapping[str, Any], inputs: Mapping[str, Array], dtype: DType) -> Range:
    """The range of a value as float64; of functions that rise or fall in each argument its ends are at corners."""
    if not is_approximate(x):
        at = np.asarray(value_of(x, env, inputs, dtype)).astype(np.float64)
        return at, at
    assert isinstance(x, Applied)
    row, kind = map_function(x.function), DType.of(x.dtype) if x.dtype else dtype
    if kind.kind != "float":
        raise LayoutError(f"expected approximate functions whose results are floats, got {x} in {kind}")
    args = [_range(a, env, inputs, dtype) for a in x.args]
    if row.value in CHOICES:
        return CHOICES[row.value](*args)
    lows, highs = [], []
    for corner in itertools.product(*args):
        typed = [(kind, a) for a in np.broadcast_arrays(*corner)]
        made = row.result(typed, kind, 1).astype(np.float64)
        exact = row.exact(typed) if row.errors else made  # what is too large for the type is infinite when it is made
        off = row.error_bound(typed, kind, 1)
        lows.append(np.minimum(made, exact - off))
        highs.append(np.maximum(made, exact + off))
    low, high = np.minimum.reduce(lows), np.maximum.reduce(highs)
    if row.value.startswith("rcp") or row.value == "div":
        divisor = np.broadcast_arrays(*args[-1], low)[:2]
        around = (divisor[0] < 0) & (divisor[1] > 0)
        low, high = np.where(around, -np.inf, low), np.where(around, np.inf, high)
    return low, high


def _picked(c: Range, a: Range, b: Range) -> Range:
    """The range of a where *c* may be another number than 0, and of b where it may be 0."""
    first, second = (c[0] != 0) | (c[1] != 0), (c[0] <= 0) & (c[1] >= 0)
    lows, highs = (
        [np.where(may, x[end], empty) for may, x in ((first, a), (second, b))]
        for end, empty in ((0, np.inf), (1, -np.inf))
    )
    return np.minimum(*lows), np.maximum(*highs)


def _equal(a: Range, b: Range) -> Range:
    """1 where both are one number, 0 where they cannot be the same."""
    may = (a[0] <= b[1]) & (b[0] <= a[1])
    return np.where(may & (a[0] == a[1]) & (b[0] == b[1]), 1.0, 0.0), np.where(may, 1.0, 0.0)


def _unequal(a: Range, b: Range) -> Range:
    low, high = _equal(a, b)
    return 1 - high, 1 - low


# Functions that neither rise nor fall in each argument; comparisons by order do.
CHOICES: Mapping[str, Callable[..., Range]] = {"select": _picked, "eq": _equal, "ne": _unequal}
