"""Fixes in the numbers of the map that needs them; an empty one leaves the rule's own words."""

from __future__ import annotations

import functools
from typing import Any

from ..expr import Expr
from ..int_tuple import ceil_div
from .readings import alignment, box_row, landed_bytes, row_and_rows, span, tile_steps
from .rule import times


def mergeable(m: Any, i: int) -> str:
    """Neighbours that are one mode: the outer stride is the inner extent times the inner stride."""
    if m.rank < 1:
        return "one element needs no tensor map"
    inner = [m.element_bytes, *m.global_stride_bytes]
    for k in range(len(inner) - 1):
        if inner[k + 1] == m.global_dim[k] * inner[k]:
            return f"dimensions {k} and {k + 1} are one of {m.global_dim[k] * m.global_dim[k + 1]} elements: merge them"
    return ""


def padded_stride(m: Any, i: int) -> str:
    if m.global_dim[i + 1] == 1:
        return "the dimension has size 1, so no copy uses its stride: give 0"
    stride, unit = m.global_stride_bytes[i], alignment(m, i)
    if isinstance(stride, Expr):
        return ""
    return f"pad the rows to {-(-stride // unit) * unit} bytes, the extent may stay"


def shared_element(m: Any, i: int) -> str:
    """Two coordinates of one address, where the two dimensions alone have them."""
    below = m.element_bytes if i == 0 else m.global_stride_bytes[i - 1]
    step = m.global_stride_bytes[i]
    if any(isinstance(x, Expr) for x in (below, step)) or below < 1 or step < 1 or step % below:
        return "the driver accepts it; loads may overlap, stores may not"
    first, second = ["0"] * m.rank, ["0"] * m.rank
    first[i], second[i + 1] = str(step // below), "1"
    return (
        f"coordinates ({','.join(first)}) and ({','.join(second)}) are one element: the driver accepts it, "
        "loads may overlap, stores may not"
    )


def several_boxes(m: Any, i: int) -> str:
    box = m.box_dim[i]
    if isinstance(box, Expr) or box <= 256:
        return ""
    parts = ceil_div(box, 256)
    return f"copy {parts} boxes of {'' if box % parts == 0 else 'at most '}{ceil_div(box, parts)}"


def whole_units(m: Any, i: int) -> str:
    box = m.box_dim[0]
    if isinstance(box, Expr):
        return ""
    unit = 128 // m.element_bits  # elements of 16 bytes
    low = box // unit * unit
    return f"take {low} or {low + unit} elements" if low > 0 else f"take {low + unit} elements"


def narrower_boxes(m: Any, i: int) -> str:
    row, most = box_row(m), span(m)
    if isinstance(row, Expr):
        return ""
    return f"copy {-(-row // most)} boxes of at most {most * 8 // m.element_bits} elements, or take a wider swizzle"


def filled(m: Any, i: int) -> str:
    box, extent = m.box_dim[i], m.global_dim[i]
    if isinstance(box, Expr) or isinstance(extent, Expr):
        return ""
    return f"at least {box - extent} of {box} are filled; the driver accepts it"


def landing(m: Any, i: int) -> str:
    return f"a copy lands {landed_bytes(m)} bytes"


def one_step(m: Any, i: int) -> str:
    row, rows = row_and_rows(m)
    whole = functools.reduce(times, m.box_dim, row // tile_steps(m, 0))
    if isinstance(rows * row, Expr) or isinstance(whole, Expr):
        return ""
    return f"one row of {m.box_dim[i]} lands: {rows * row} bytes, not {whole}"


def overwritten(m: Any, i: int) -> str:
    extent = m.global_dim[0]
    if isinstance(extent, Expr):
        return ""
    row = extent * m.element_bits // 8
    return f"a store overwrites {-row % 16} bytes past the end of each row, unless it stays clear of the last unit"
