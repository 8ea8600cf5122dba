"""The same memory in larger or smaller units: upcast, downcast and recast between element types."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .basis import ScaledBasis
from .errors import LayoutError
from .expr import Expr, divides, integer
from .facts import Facts
from .int_tuple import ceil_div, unflatten
from .layout import ComposedLayout, Layout, LayoutLike, expect_layouts, make_raw
from .meter import ends
from .swizzle import Swizzle, downcast_swizzle, upcast_swizzle


@ends
def upcast(n: int, layout: Any) -> Any:
    """The layout in units *n* times larger.

    >>> print(upcast(2, Layout((8, 4), (1, 8))))
    (4,4):(1,4)

    Each stride must divide *n* or be divided by it; swizzles need a power of two.
    """
    n = _factor(n)
    if n == 1:
        return layout
    if isinstance(layout, Swizzle):
        return upcast_swizzle(_power_of_two(n), layout)
    if isinstance(layout, ComposedLayout):
        return ComposedLayout(upcast(n, layout.outer), _exactly(layout.offset, n), upcast(n, layout.inner))

    def leaf(s: Any, d: Any) -> tuple[Any, Any]:
        if isinstance(d, ScaledBasis):
            raise LayoutError(f"expected integer strides to upcast, got {d}")
        if type(d) is int:
            if d == 0:
                return s, 0
            if d % n and n % d:
                raise LayoutError(f"expected a stride that divides {n} or is divided by it, got {d} in {layout}")
            step = -(-abs(d) // n)
            return ceil_div(s, -(-n // abs(d))), step if d > 0 else -step
        return s, _exactly(d, n)

    return _transformed(layout, leaf)


@ends
def downcast(n: int, layout: LayoutLike | Swizzle) -> Any:
    """The layout in units *n* times smaller: the unit-stride mode grows, the other strides scale.

    >>> print(downcast(2, Layout((4, 8), (8, 1))))
    (4,16):(16,1)
    """
    n = _factor(n)
    if n == 1:
        return layout
    if isinstance(layout, Swizzle):
        return downcast_swizzle(_power_of_two(n), layout)
    if isinstance(layout, ComposedLayout):
        return ComposedLayout(downcast(n, layout.outer), layout.offset * n, downcast(n, layout.inner))
    expect_layouts(layout)
    unit = [(s == 1, i) for i, (s, d) in enumerate(layout.modes()) if type(d) is int and abs(d) == 1]
    if not unit:
        raise LayoutError(f"expected a mode of stride 1 to downcast, got {layout}")
    _, grown = min(unit)  # one mode, and one that moves if there is any: an extent of 1 may have any stride
    at = iter(range(len(layout.modes())))
    return _transformed(layout, lambda s, d: (s * n, d) if next(at) == grown else (s, d * n))


@ends
def recast_layout(*args: Any, old: Any = None, new: Any = None) -> Any:
    """The layout of elements of *old* bits as one of elements of *new* bits: ``recast_layout(layout, old=16, new=32)``.

    >>> swizzled = ComposedLayout(Swizzle(3, 3, 3), 0, Layout((8, 64), (64, 1)))
    >>> print(recast_layout(swizzled, old=16, new=32))
    Sw<3,2,3> o 0 o (8,32):(32,1)

    The two widths have names because their order differs: C++ has ``recast_layout<Old, New>(layout)``, the CuTe DSL
    ``recast_layout(new_type_bits, old_type_bits, layout)``. Raises LayoutError where they are given by place.
    """
    if len(args) == 3:
        a, b, _ = args
        raise LayoutError(
            f"expected the widths by name, got {a} and {b} by place: as in C++, recast_layout<Old, New>, that is "
            f"recast_layout(layout, old={a}, new={b}); as in the CuTe DSL, new_type_bits first, "
            f"recast_layout(layout, old={b}, new={a})"
        )
    if len(args) != 1 or old is None or new is None:
        raise LayoutError(f"expected recast_layout(layout, old=16, new=8), got {len(args)} arguments, {old=}, {new=}")
    old_bits, new_bits = _factor(old), _factor(new)
    g = math.gcd(old_bits, new_bits)
    return downcast(old_bits // g, upcast(new_bits // g, args[0]))


recast = recast_layout


@ends
def bytes_of(layout: LayoutLike | Swizzle, element_bytes: int) -> Any:
    """The layout whose offsets are bytes, one coordinate still being one element.

    >>> print(bytes_of(Layout((8, 64), (64, 1)), 2))
    (8,64):(128,2)
    """
    element_bytes = _factor(element_bytes)
    if isinstance(layout, Swizzle):
        return downcast_swizzle(_power_of_two(element_bytes), layout)
    if isinstance(layout, ComposedLayout):
        inner = bytes_of(layout.inner, element_bytes)
        return ComposedLayout(bytes_of(layout.outer, element_bytes), layout.offset * element_bytes, inner)
    expect_layouts(layout)
    return _transformed(layout, lambda s, d: (s, d * element_bytes))


def _exactly(x: Any, n: int) -> Any:
    if isinstance(x, Expr):
        q = Facts.about(x).quotient(x, n)
    else:
        q = divides(n, x)
    if q is None:
        raise LayoutError(f"expected a multiple of {n}, got {x}")
    return q


def _factor(n: Any) -> int:
    n = integer(n)
    if type(n) is not int or n < 1:
        raise LayoutError(f"expected a number of units or bits of at least 1, got {n}")
    return n


def _power_of_two(n: int) -> int:
    if n & (n - 1):
        raise LayoutError(f"expected a power of two to recast a swizzle by, got {n}")
    return n


def _transformed(layout: Layout, f: Callable[[Any, Any], tuple[Any, Any]]) -> Layout:
    """A layout of the same profile with each (extent, stride) replaced."""
    pairs = [f(n, d) for n, d in layout.modes()]
    shape = unflatten(tuple(p[0] for p in pairs), layout.shape)
    stride = unflatten(tuple(p[1] for p in pairs), layout.shape)
    return make_raw(shape, stride, layout.obligations)
