"""The steps from a coordinate to its value, as one would write them on a board."""

from __future__ import annotations

from typing import Any

from ..basis import as_tuple, in_words
from ..coordinates import checked_coordinate, crd2crd
from ..errors import LayoutError
from ..int_tuple import has_none, leaves, text
from ..layout import ComposedLayout, Layout
from ..swizzle import Swizzle


def steps(layout: Any, coord: Any, tile: tuple[int, int] | None = None) -> list[str]:
    """Lines that lead from *coord* to the value of *layout*.

    >>> print(*steps(Layout((4, 8), (8, 1)), (3, 5)), sep="\\n")
    coordinate            (3,5)
    inner product         3*8 + 5*1 = 29
    """
    coord = checked_coordinate(coord)
    if has_none(coord):
        raise LayoutError(
            f"expected a coordinate with a number for each _, got {text(coord)}; layout(*coord) is a slice"
        )
    out = [_line("coordinate", text(coord))]
    inner = layout
    while isinstance(inner, ComposedLayout):
        inner = inner.inner
    if not isinstance(inner, Layout):
        raise LayoutError(f"expected a layout to evaluate, got {layout!r}")
    natural = crd2crd(coord, inner.shape, inner.shape) if isinstance(coord, tuple) else _natural(coord, inner)
    if natural != coord:
        out.append(_line("natural coordinate", text(natural)))
    value = inner(natural)
    terms = [f"{_group(c)}*{d}" for c, (_, d) in zip(leaves(natural), inner.modes(), strict=True)]
    shown = in_words(value) if inner.has_bases else value
    out.append(_line("inner product", f"{' + '.join(terms)} = {shown}"))
    if inner.has_bases:
        out.append(_line("as a coordinate", text(as_tuple(value))))
    out += _outside(layout, value)
    final = layout(coord)
    if tile is not None and isinstance(final, int):
        out.append(_line(f"in the {tile[0]} x {tile[1]} tile", f"({final % tile[0]},{final // tile[0]})"))
    return out


def _natural(coord: Any, layout: Layout) -> Any:
    from ..coordinates import idx2crd

    return idx2crd(coord, layout.shape)


def _outside(layout: Any, value: Any) -> list[str]:
    """The offset and the outer function of each composed level, from the inside out."""
    if not isinstance(layout, ComposedLayout):
        return []
    out = _outside(layout.inner, value)
    before = layout.inner
    x = value if not isinstance(before, ComposedLayout) else before.outer(before.offset + value)
    moved = x + layout.offset
    if layout.offset != 0:
        out.append(_line("plus the offset", f"{x} + {layout.offset} = {moved}"))
    if isinstance(layout.outer, Swizzle) and isinstance(moved, int):
        sw = layout.outer
        width = max(moved, sw.period - 1).bit_length()
        out.append(_line(str(sw), f"{moved:0{width}b} xor {moved ^ sw(moved):0{width}b} = {sw(moved):0{width}b}"))
        out.append(_line("", f"{moved} -> {sw(moved)}"))
    else:
        out.append(_line(str(layout.outer), f"{moved} -> {layout.outer(moved)}"))
    return out


def _line(label: str, value: str) -> str:
    return f"{label:<22}{value}"


def _group(c: Any) -> str:
    s = str(c)
    return f"({s})" if " " in s else s
