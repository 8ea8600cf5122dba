"""The picture of anything that has one, as notebooks show it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..address_map import AddressMap
from ..errors import LayoutError
from ..facts import Facts
from ..layout import ComposedLayout, Layout
from ..swizzle import Swizzle
from .grid import Grid, offset_grid, swizzle_grid
from .maps import map_grid
from .svg import card, svg

ROWS = COLUMNS = 32  # what a notebook shows of a large layout


def picture(x: Any, rows: int = ROWS, columns: int = COLUMNS) -> str:
    """SVG text of the offsets of a layout or a map, a swizzle or a Grid; of modes and assumptions of symbolic sizes.

    >>> from symlayout import dims
    >>> M, N = dims("M N")
    >>> "extent M, stride N" in picture(Layout((M, N), (N, 1)))
    True
    """
    if isinstance(x, Grid):
        return svg(x)
    if isinstance(x, Swizzle):
        return svg(swizzle_grid(x))
    if isinstance(x, AddressMap):
        return svg(map_grid(x, rows, columns)) if x.static else card(str(x), map(str, x.valid))
    if not isinstance(x, Layout | ComposedLayout):
        raise LayoutError(f"expected a layout, a map, a swizzle or a Grid to draw, got {x!r} ({type(x).__name__})")
    return svg(offset_grid(x, rows, columns)) if x.static else card(str(x), _lines(x))


def _lines(x: Any) -> Iterator[str]:
    inner = x
    while isinstance(inner, ComposedLayout):
        yield f"{inner.outer} after adding {inner.offset}"
        inner = inner.inner
    for i, (n, d) in enumerate(inner.modes()):
        yield f"leaf {i}: extent {n}, stride {d}"
    for label in Facts.about(x).labels:
        yield f"assumes {label}"
    if x.obligations:
        yield from str(x.obligations).splitlines()
