"""Pictures of distributions and of windows: the thread and the register that hold each element.

>>> from symlayout.ck_tile import TileDistribution, TileDistributionEncoding
>>> e = TileDistributionEncoding((), ((2, 2), (2, 2)), (((1, 0),), ((2, 0),)), ((1, 1), (2, 1)))
>>> print(distribution_grid(TileDistribution(e)).table())
  |    0    1    2    3
--+--------------------
0 | T0V0 T0V1 T1V0 T1V1
1 | T0V2 T0V3 T1V2 T1V3
2 | T2V0 T2V1 T3V0 T3V1
3 | T2V2 T2V3 T3V2 T3V3
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import product as boxes
from typing import TypeAlias

from ...draw.grid import MAX_COLUMNS, MAX_ROWS, Grid
from ...errors import LayoutError
from ...int_tuple import text
from ...transforms.merge import total
from .distribution import TileDistribution, numbers
from .tile_window import TileWindow

FREE, MASKED = ".", "-"  # an element that no thread holds, and one that a pad masks

Owners: TypeAlias = "dict[tuple[int, ...], list[tuple[int, int]]]"  # tile index -> (thread, register) of its holders


def distribution_grid(
    distribution: TileDistribution, rows: int = MAX_ROWS, columns: int = MAX_COLUMNS, title: str = ""
) -> Grid:
    """The thread (warp * lanes + lane) and register of each element, coloured by thread; ``+1``: so many more hold it.

    A tile of one dimension is a line; of more than two, all but the last are down. Raises LayoutError for symbolic
    lengths, and where an index leaves the tile.
    """
    tile = numbers(distribution.lengths, str(distribution))
    found = _owners(distribution)
    outside = next((x for x in found if any(i >= n for i, n in zip(x, tile, strict=True))), None)
    if outside is not None:
        raise LayoutError(f"expected indices inside of the tile {text(tile)}, got {text(outside)}")
    return _grid(tile, (rows, columns), title or f"{distribution.encoding}", lambda x: _label(found.get(x, ())))


def window_grid(window: TileWindow, rows: int = MAX_ROWS, columns: int = MAX_COLUMNS, title: str = "") -> Grid:
    """The indices of a view, those of the window framed with the thread and register that access them.

    >>> from symlayout.ck_tile import *
    >>> e = TileDistributionEncoding((), ((2, 2), (2, 2)), (((1, 0),), ((2, 0),)), ((1, 1), (2, 1)))
    >>> view = make_naive_tensor_view_packed(None, (3, 6))
    >>> print(window_grid(make_tile_window(view, (4, 4), (1, 1), TileDistribution(e))).table())
      |    0    1    2    3    4    5
    --+------------------------------
    0 |    0    1    2    3    4    5
    1 |    6 T0V0 T0V1 T1V0 T1V1   11
    2 |   12 T0V2 T0V3 T1V2 T1V3   17
    (8 of 16 elements of the window lie outside of the view)

    Other elements show their offset, masked ones ``-``. Raises LayoutError for symbolic sizes.
    """
    descriptor = window.view.descriptor
    lengths = numbers(descriptor.lengths, str(window.view))
    origin = numbers(window.origin, "the origin of a window")
    size = numbers(window.lengths, "the lengths of a window")
    found = {} if window.distribution is None else _owners(window.distribution)

    def cell(at: tuple[int, ...]) -> tuple[str, int]:
        if not descriptor.valid_at(at):
            return MASKED, -1
        here = tuple(i - o for i, o in zip(at, origin, strict=True))
        if _inside(here, size):
            return _label(found.get(here, ())) if found else (str(descriptor(at)), 0)
        return str(descriptor(at)), -1

    inside = [
        x for x in boxes(*map(range, size)) if _inside(tuple(o + i for o, i in zip(origin, x, strict=True)), lengths)
    ]
    out = _grid(lengths, (rows, columns), title or f"window {text(size)} at {text(origin)}", cell)
    overhang = total(size) - len(inside)
    note = f"{overhang} of {total(size)} elements of the window lie outside of the view" if overhang else ""
    marked = frozenset(_place(tuple(o + i for o, i in zip(origin, x, strict=True)), lengths) for x in inside)
    shown = frozenset((i, j) for i, j in marked if i < len(out.rows) and j < out.columns)
    cut = "; ".join(filter(None, (out.cut, note)))
    return Grid(out.title, out.rows, out.group, cut, out.heads, out.band, shown)


def _owners(d: TileDistribution) -> Owners:
    """Who holds each element, in the order of threads and registers."""
    lanes = numbers(d.encoding.p_lengths, str(d))
    out: Owners = {}
    registers = [(y, int(d.register(y))) for y in boxes(*map(range, numbers(d.encoding.y_lengths, str(d))))]
    for p in d.partitions():
        thread = p[0] * lanes[1] + p[1] if len(p) == 2 else p[0]
        for y, register in registers:
            out.setdefault(d.partition(p, y), []).append((thread, register))
    return out


def _label(holders: Iterable[tuple[int, int]]) -> tuple[str, int]:
    found = list(holders)
    if not found:
        return FREE, -1
    more = f"+{len(found) - 1}" if len(found) > 1 else ""
    return f"T{found[0][0]}V{found[0][1]}{more}", found[0][0]


def _grid(
    lengths: tuple[int, ...], limits: tuple[int, int], title: str, cell: Callable[[tuple[int, ...]], tuple[str, int]]
) -> Grid:
    """A grid over a box: the last dimension across, all others down."""
    *outer, across = lengths
    down = [*boxes(*map(range, outer))]
    r, c = min(len(down), limits[0]), min(across, limits[1])
    cells = [[cell((*row, j)) for j in range(c)] for row in down[:r]]
    return Grid(
        title,
        tuple(tuple(s for s, _ in row) for row in cells),
        tuple(tuple(g for _, g in row) for row in cells),
        "" if (r, c) == (len(down), across) else f"the first {r} x {c} of {len(down)} x {across}",
        tuple(",".join(map(str, row)) for row in down[:r]),
    )


def _inside(x: tuple[int, ...], lengths: tuple[int, ...]) -> bool:
    return all(0 <= i < n for i, n in zip(x, lengths, strict=True))


def _place(x: tuple[int, ...], lengths: tuple[int, ...]) -> tuple[int, int]:
    """The row and the column of an index."""
    row = 0
    for i, n in zip(x[:-1], lengths[:-1], strict=True):
        row = row * n + i
    return row, x[-1]


__all__ = ["distribution_grid", "window_grid"]
