"""Layouts made from shapes, from shapes and strides, or from other layouts, under CuTe's names."""

from __future__ import annotations

from typing import Any

from .basis import make_basis_like
from .errors import LayoutError
from .int_tuple import Shape, checked
from .layout import Layout, is_layout, make_raw
from .meter import ends
from .obligations import NONE
from .strides import compact_row_major


@ends
def LayoutLeft(shape: Shape) -> Layout:  # noqa: N802  # CuTe's name
    """The compact column-major layout of a shape."""
    return Layout(shape)


@ends
def LayoutRight(shape: Any) -> Layout:  # noqa: N802  # CuTe's name
    """The compact row-major layout of a shape."""
    shape = checked(shape, "shape")
    return Layout(shape, compact_row_major(shape))


@ends
def make_layout(*parts: Any) -> Any:
    """A layout from a shape, a shape and a stride (or LayoutLeft / LayoutRight), or the concatenation of layouts.

    >>> print(make_layout((4, 8)), make_layout((4, 8), LayoutRight), make_layout(Layout(4), Layout(2, 8)))
    (4,8):(1,4) (4,8):(8,1) (4,2):(1,8)
    """
    if len(parts) == 1 and isinstance(parts[0], tuple | list) and parts[0] and all(map(is_layout, parts[0])):
        parts = tuple(parts[0])
    if all(map(is_layout, parts)) and parts:
        obligations = NONE
        for p in parts:
            obligations |= p.obligations
        return make_raw(tuple(p.shape for p in parts), tuple(p.stride for p in parts), obligations)
    if len(parts) == 2 and parts[1] in (LayoutLeft, LayoutRight):
        return parts[1](parts[0])
    if len(parts) in (1, 2):
        return Layout(*parts)
    raise LayoutError(f"expected a shape, a shape and a stride, or layouts, got {len(parts)} arguments")


@ends
def make_identity_layout(shape: Any) -> Layout:
    """The layout whose value at a coordinate is that coordinate."""
    shape = checked(shape, "shape")
    return Layout(shape, make_basis_like(shape))
