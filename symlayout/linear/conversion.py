"""Layouts as linear layouts and back, with the reason where one is not linear."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..basis import E, as_tuple, is_basis
from ..errors import LayoutError
from ..int_tuple import leaves, unflatten
from ..layout import ComposedLayout, Layout, LayoutLike
from ..strides import as_modes
from ..swizzle import Swizzle
from .f2 import bit_width, disjoint
from .linear_layout import Fields, LinearLayout, pack, raw_linear, unpack


def linear(layout: LayoutLike | Swizzle, names: Sequence[str] | None = None) -> LinearLayout | None:
    """The F2 form of a Layout, of one under a Swizzle, or of a Swizzle; None where it is not linear.

    >>> print(linear(Layout((4, 2), (1, 8)), names=("lane", "register")))
    lane: 1 2; register: 8 -> offset 16
    >>> linear(Layout(4, 3)), why_not_linear(Layout(4, 3))
    (None, 'carry: f(1) = 3 and f(2) = 6, but f(3) = 9, not 5')

    An input for each top-level mode; one output, or one for each coordinate where strides are bases. Exact:
    all extents must be powers of two, and the columns ``(o + 2^t stride) xor o`` of all digit bits disjoint,
    o being the offset under the swizzle (T13; where o meets no stride, these are the strides).
    """
    out = _analysis(layout)
    if isinstance(out, str):
        return None
    if names is None:
        return out
    if len(names) != len(out.inputs):
        raise LayoutError(f"expected a name for each mode of {layout}, got {len(names)}")
    inputs = tuple((name, n) for name, (_, n) in zip(names, out.inputs, strict=True))
    return LinearLayout(out.columns, inputs, out.outputs, out.offset)


def why_not_linear(layout: LayoutLike | Swizzle) -> str:
    """The reason why a layout is not linear over F2; the empty string if it is."""
    out = _analysis(layout)
    return out if isinstance(out, str) else ""


_MODES = tuple(f"mode{i}" for i in range(64))


def _analysis(layout: Any) -> LinearLayout | str:
    if isinstance(layout, Layout):
        return _of_coordinates(layout) if layout.has_bases else _of_layout(layout, 0, None)
    if isinstance(layout, ComposedLayout):
        if isinstance(layout.outer, Swizzle) and isinstance(layout.inner, Layout):
            return _of_layout(layout.inner, layout.offset, layout.outer)
        return f"expected a swizzle outside a layout, got {layout}"
    if isinstance(layout, Swizzle):
        n = layout.period.bit_length() - 1
        return LinearLayout(tuple(layout(1 << i) for i in range(n)), (("offset", n),), (("offset", n),))
    raise LayoutError(f"expected a layout or a swizzle, got {layout!r}")


def _of_layout(layout: Layout, offset: Any, swizzle: Swizzle | None) -> LinearLayout | str:
    if type(offset) is not int:
        return f"the offset {offset} is not a number"
    columns: list[int] = []
    inputs, seen = [], 0
    strides = as_modes(layout.stride)
    for i, s in enumerate(as_modes(layout.shape)):
        before = len(columns)
        for n, d in zip(leaves(s), leaves(strides[i]), strict=True):
            if type(n) is not int or type(d) is not int:
                return f"the mode {n}:{d} has no numbers for extent and stride"
            if n & (n - 1):
                return f"the extent of the mode {n}:{d} is not a power of two"
            while n > 1:
                column = (offset + d) ^ offset if offset else d
                if column & seen:
                    return _carry(columns, column, offset)
                seen |= column
                columns.append(column)
                d += d
                n >>= 1
        inputs.append((_MODES[i] if i < 64 else f"mode{i}", len(columns) - before))
    if swizzle is not None and swizzle.bits:
        source, down, up = swizzle.source, max(swizzle.shift, 0), max(-swizzle.shift, 0)
        columns = [c ^ (c & source) >> down << up for c in columns]
        offset = swizzle(offset)
    return raw_linear(tuple(columns), tuple(inputs), (("offset", bit_width((*columns, offset))),), offset)


def _carry(columns: list[int], column: int, offset: int) -> str:
    """Two index bits whose sum differs from their xor, with the values there, under the swizzle."""
    i = next(i for i, c in enumerate(columns) if c & column)
    x, y = 1 << i, 1 << len(columns)
    at_x, at_y = columns[i] ^ offset, column ^ offset
    start = f"f(0) = {offset}, " if offset else ""
    values = f"f({x}) = {at_x} and f({y}) = {at_y}, but f({x + y}) = {at_x + at_y - offset}"
    return f"carry: {start}{values}, not {at_x ^ column}"


def _of_coordinates(layout: Layout) -> LinearLayout | str:
    """Components are packed side by side, wide enough for their reach; disjoint there is disjoint in each."""
    sizes, values = leaves(layout.shape), [as_tuple(d) for d in leaves(layout.stride)]
    count = max(len(v) for v in values if isinstance(v, tuple))
    rows = [v + (0,) * (count - len(v)) if isinstance(v, tuple) else (0,) * count for v in values]
    entries = [a for v in (*rows, sizes) for a in v]
    if any(type(a) is not int or a < 0 for a in entries):
        return f"expected numbers of at least 0 in flat coordinates, got {layout}"
    rows = [v if n > 1 else (0,) * count for n, v in zip(sizes, rows, strict=True)]
    reach = [sum((n - 1) * v[k] for n, v in zip(sizes, rows, strict=True)) for k in range(count)]
    outputs = tuple((f"dim{k}", r.bit_length()) for k, r in enumerate(reach))
    stride = unflatten(tuple(pack(v, outputs) for v in rows), layout.shape)
    out = _of_layout(Layout(layout.shape, stride), 0, None)
    return out if isinstance(out, str) else LinearLayout(out.columns, out.inputs, outputs)


# -- and back -------------------------------------------------------------------------------------------


def to_layout(a: LinearLayout) -> Layout | ComposedLayout | None:
    """The CuTe layout, swizzled if need be, that is the same function; None if there is none.

    >>> print(to_layout(LinearLayout((1, 2, 4, 9, 18, 32), (("column", 3), ("row", 3)))))
    Sw<2,0,3> o 0 o (8,8):(1,8)

    A top-level mode for each input. Columns with disjoint bits are strides, negative on the bits of the
    constant (x xor c = x + c - 2*(x and c)); otherwise the simplest swizzle that makes them so is split off.
    """
    from ..fit import swizzles

    if disjoint(a.columns):
        return _layout_of(a, Swizzle(0, 0, 0))
    if len(a.outputs) == 1 and min((*a.columns, a.offset)) >= 0:
        for sw in swizzles(bit_width((*a.columns, a.offset))):
            if disjoint(map(sw, a.columns)):
                return _layout_of(a, sw)
    return None


def _layout_of(a: LinearLayout, sw: Swizzle) -> Layout | ComposedLayout | None:
    offset = sw(a.offset)
    if offset and len(a.outputs) > 1:
        return None  # a layout of coordinates starts at zero
    modes = [_mode([_stride(sw(c), offset, a.outputs) for c in part]) for _, part in a.parts()]
    shape, stride = tuple(s for s, _ in modes), tuple(d for _, d in modes)
    layout = Layout(shape, stride) if len(modes) > 1 else Layout(*modes[0])
    return ComposedLayout(sw, offset, layout) if offset or sw.bits else layout


def _stride(column: int, offset: int, outputs: Fields) -> Any:
    if len(outputs) == 1:
        return column - 2 * (column & offset)
    out: Any = 0
    for i, v in enumerate(unpack(column, outputs)):
        out = out if not v else v * E(i) + out
    return out


def _mode(strides: list[Any]) -> tuple[Any, Any]:
    """(shape, stride) of a bit for each stride, merged where one continues the one before."""
    shape: list[int] = []
    stride: list[Any] = []
    for d in strides:
        if shape and (is_basis(stride[-1]) == is_basis(d)) and shape[-1] * stride[-1] == d:
            shape[-1] *= 2
        else:
            shape, stride = [*shape, 2], [*stride, d]
    if len(shape) > 1:
        return tuple(shape), tuple(stride)
    return (shape[0], stride[0]) if shape else (1, 0)
