"""``symlayout show LAYOUT``: its size, its grid of offsets, the steps to one value; ``show ATOM``: its tables."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from ..answers import console
from ..errors import InternalError, NotationError, SymlayoutError
from .exits import check_target, fail, write

ATOM = re.compile(r"[a-z]+\.[\w.]+")  # no layout, and no name of C++, is written so


def show(
    layout: Annotated[
        str,
        typer.Argument(
            help='A layout as CuTe prints it: "(4,8):(8,1)", or a C++ type of CuTe or CK Tile; '
            "or a matrix instruction: ldmatrix.x4."
        ),
    ],
    at: Annotated[
        str, typer.Option(metavar="COORD", help="Show the steps from this coordinate to its value; _ slices.")
    ] = "",
    tile: Annotated[str, typer.Option(metavar="M,N", help="Read it as (thread, value) over a tile.")] = "",
    svg: Annotated[Path | None, typer.Option(metavar="FILE", help="Also draw it as SVG.")] = None,
) -> None:
    """Show what a layout does: its size, its grid of offsets or owners, the steps to one value.

    Of a matrix instruction, such as mma.m16n8k16.bf16: the thread and value that have each element of its operands.
    """
    if svg is not None:
        check_target(svg)
    try:
        picture = _show_atom(layout, at, tile) if ATOM.fullmatch(layout) else _show(layout, at, tile, svg is not None)
    except InternalError:
        raise
    except (SymlayoutError, RecursionError, MemoryError, OverflowError) as e:
        fail(str(e) or type(e).__name__)
    if svg is not None:
        write({svg: picture()})
        console.out.print(f"wrote {svg}", markup=False)


def _show_atom(word: str, at: str, tile: str) -> Callable[[], str]:
    """Print the tables of an instruction; how to draw it."""
    from ..atoms import atom
    from ..draw import atom_grids, atom_svg

    row = atom(word)
    if at or tile:
        raise NotationError(f"expected --at and --tile with a layout, got the instruction {word}")
    lines = [line for grid in atom_grids(row) for line in ("", grid.title, grid.table(console.width()))]
    for line in (str(row), f"{row.source}, {row.chips}", *lines):
        console.out.print(line, markup=False, style="bold" if line == str(row) else None)
    return lambda: atom_svg(row)


def _show(source: str, at: str, tile: str, drawn: bool) -> Callable[[], str]:
    """Print a layout, or its slice; how to draw it, which must be possible where it is to be *drawn*."""
    from ..address_map import AddressMap
    from ..draw import offset_grid, steps, svg, thread_value_grid
    from ..int_tuple import has_none
    from ..swizzle import Swizzle
    from ..text.notation import parse, parse_int_tuple

    found = parse(source)
    if isinstance(found, AddressMap):
        return _show_map(found, at, tile, drawn)
    if isinstance(found, Swizzle):
        found = _over_period(found)
    box, coord, lines = _tile(tile), parse_int_tuple(at) if at else (), []
    if has_none(coord):
        if box:
            raise NotationError(f"expected a coordinate of numbers with --tile, got {at}")
        lines, found = [*_facts(found), _slice_line(found, coord)], found(coord)
    small = found.static and found.size() <= 1 << 20
    if not small and (drawn or box):
        what = "(thread, value) layout" if box else "layout"
        raise NotationError(f"expected a {what} of numbers with at most 2^20 elements to draw, got {found}")
    grid = (thread_value_grid(found, box) if box else offset_grid(found)) if small else None
    lines += _facts(found)
    if at and not has_none(coord):
        lines += steps(found, coord, box)
    elif grid is not None:
        lines.append(grid.table(console.width()))
    for line in lines:
        console.out.print(line, markup=False, style="bold" if line == str(found) else None)
    return lambda: svg(grid) if grid is not None else ""


def _show_map(found: Any, at: str, tile: str, drawn: bool) -> Callable[[], str]:
    """Print a distribution, descriptor or adaptor of CK Tile, or the steps to one value; how to draw it."""
    from ..ck_tile import TileDistribution
    from ..ck_tile.explain import explain
    from ..ck_tile.tiles.pictures import distribution_grid
    from ..draw import map_grid, svg
    from ..text.notation import parse_int_tuple

    if tile:
        raise NotationError(f"expected --tile with a layout, got a type of CK Tile, whose tile is its own: {found}")
    small = found.static and found.size() <= 1 << 20
    if drawn and not small:
        raise NotationError(f"expected a map of numbers with at most 2^20 elements to draw, got {found}")
    lines = [str(found)]
    grid: Any = None
    if isinstance(found, TileDistribution):
        lines = [str(found.encoding), str(found), *found.encoding.faults()]
        grid = distribution_grid(found) if small else None
    elif small:
        grid = map_grid(found)
    if at:
        coord: Any = parse_int_tuple(at)
        lines += str(explain(found, coord if isinstance(coord, tuple) else (coord,))).splitlines()
    elif grid is not None:
        lines.append(grid.table(console.width()))
    for line in lines:
        console.out.print(line, markup=False, style="bold" if line == lines[0] else None)
    return lambda: svg(grid) if grid is not None else ""


def _slice_line(layout: Any, coord: Any) -> str:
    """The offset at which the slice at a coordinate with _ begins; in a composed layout it is part of the slice."""
    from ..int_tuple import text
    from ..layout import Layout, slice_layout

    start = f", {slice_layout(coord, layout)[1]} further on" if isinstance(layout, Layout) else ""
    return f"the slice at {text(coord)}{start}"


def _facts(found: Any) -> list[str]:
    from ..int_tuple import depth, rank

    return [str(found), f"size {found.size()}, cosize {found.cosize()}, rank {rank(found)}, depth {depth(found)}"]


def _over_period(sw: Any) -> Any:
    """A swizzle as a layout over one period."""
    from ..layout import ComposedLayout, Layout

    return ComposedLayout(sw, 0, Layout(min(sw.period, 1 << 12)))


def _tile(source: str) -> tuple[int, int] | None:
    from ..text.notation import parse_int_tuple

    if not source:
        return None
    text = source.replace("x", ",")
    parts = parse_int_tuple(text if text.startswith("(") else f"({text})")
    if not (isinstance(parts, tuple) and len(parts) == 2 and all(type(p) is int and p > 0 for p in parts)):
        raise NotationError(f"expected a tile of two extents such as 64,64, got {source!r}")
    return parts
