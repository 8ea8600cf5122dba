"""Strides of shapes: compact ones, leftmost or rightmost fastest, and the size of one."""

from __future__ import annotations

from typing import Any

from .basis import ScaledBasis
from .errors import LayoutError
from .expr import Expr, IntLike
from .facts import Facts
from .int_tuple import IntTuple, is_one


def as_modes(x: IntTuple) -> tuple[Any, ...]:
    """The top-level modes, of an integer too."""
    return x if isinstance(x, tuple) else (x,)


def compact_col_major(shape: IntTuple, start: IntLike = 1) -> IntTuple:
    """Compact strides, leftmost fastest; an extent of exactly 1 gets stride 0, as in CuTe C++."""
    if isinstance(start, tuple):
        return tuple(map(compact_col_major, shape, start))
    return _compact(shape, start, 1)[0]


def compact_row_major(shape: IntTuple, start: IntLike = 1) -> IntTuple:
    """Compact strides, rightmost fastest."""
    if isinstance(start, tuple):
        return tuple(map(compact_row_major, shape, start))
    return _compact(shape, start, -1)[0]


def _compact(shape: IntTuple, current: Any, step: int) -> tuple[IntTuple, Any]:
    if not isinstance(shape, tuple):
        return (0, current) if is_one(shape) else (current, current * shape)
    out = []
    for s in shape[::step]:
        strides, current = _compact(s, current, step)
        out.append(strides)
    return tuple(out[::step]), current


def magnitude(d: Any) -> Any:
    """|d| for a stride; a symbolic one must have a sign that its own range shows."""
    if isinstance(d, ScaledBasis):
        return ScaledBasis(magnitude(d.value), d.path)
    if not isinstance(d, Expr):
        return abs(d)
    facts = Facts.about(d)
    if facts.le(0, d):
        return d
    if facts.le(d, 0):
        return -d
    raise LayoutError(f"expected a stride whose sign is known, got {d}; declare its symbols with at_least=0")
