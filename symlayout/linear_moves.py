"""Moving a swizzle through a layout: L o Sw as Sw' o L, for layouts that permute address bits."""

from __future__ import annotations

from typing import Any

from .errors import LayoutError
from .layout import ComposedLayout, Layout
from .swizzle import Swizzle, make_swizzle


def through_layout(layout: Layout, sw: Swizzle) -> Any:
    """The composed layout of i -> layout(sw(i)): the masks of *sw*, mapped by *layout*.

        through_layout((8,8):(8,1), Sw<3,0,3>)  ->  Sw<3,0,-3> o 0 o (8,8):(8,1)

    Raises LayoutError where the images of the masks are not those of a swizzle, or where bits of the
    layout meet (it is then not linear over GF(2)).
    """
    if not sw.bits:
        return layout
    if not layout.static or layout.has_bases:
        raise LayoutError(f"expected a static layout to move {sw} through, got {layout}")
    size = layout.size()
    if size & (size - 1) or (sw.source | sw.target >= size and (sw.source | sw.target) & ~(size - 1)):
        raise LayoutError(f"expected a power-of-two size that holds the bits of {sw}, got {layout} of size {size}")
    columns = [layout(1 << t) for t in range(size.bit_length() - 1)]
    seen = 0
    for c in columns:
        if c & seen:
            raise LayoutError(f"expected strides whose bits do not meet, got {layout}")
        seen |= c
    source = sum(c for t, c in enumerate(columns) if sw.source >> t & 1)
    target = sum(c for t, c in enumerate(columns) if sw.target >> t & 1)
    moved = make_swizzle(source, target)
    for t, c in enumerate(columns):  # the pairing of bits must survive, not only the masks
        if layout(sw(1 << t)) != moved(c):
            raise LayoutError(f"expected {layout} to keep the order of the bits of {sw}, got none at bit {t}")
    return ComposedLayout(moved, 0, layout)
