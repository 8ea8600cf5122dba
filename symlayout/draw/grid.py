"""A table of labels over a tile: what a layout puts at each row and column."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ..basis import as_tuple
from ..coordinates import crd2idx
from ..errors import LayoutError
from ..int_tuple import leaves, product, text
from ..layout import ComposedLayout
from ..members import members
from ..strides import as_modes
from ..swizzle import Swizzle, upcast_swizzle

MAX_ROWS = MAX_COLUMNS = 128  # a larger picture is cut at its corner, with a note
LINE = 32  # columns at which a layout of one mode wraps


@dataclass(frozen=True)
class Grid:
    """Labels by row and column; ``group`` is what a cell is coloured by, ``cut`` says what is not shown.

    ``heads`` are the labels of the rows (their numbers unless given), ``band`` the numbers of rows and columns
    after which a gap shows the inner modes, ``marked`` the cells that are framed.
    """

    title: str
    rows: tuple[tuple[str, ...], ...]
    group: tuple[tuple[int, ...], ...]
    cut: str = ""
    heads: tuple[str, ...] = ()
    band: tuple[int, int] = (0, 0)
    marked: frozenset[tuple[int, int]] = frozenset()

    @property
    def labels(self) -> tuple[str, ...]:
        """A label for each row."""
        return self.heads or tuple(map(str, range(len(self.rows))))

    @property
    def columns(self) -> int:
        """The cells of a row."""
        return len(self.rows[0]) if self.rows else 0

    def table(self, width: int = 100) -> str:
        """The grid as aligned text, as many columns as fit *width* characters."""
        cell = max((len(s) for row in self.rows for s in row), default=1)
        head = max(map(len, self.labels), default=1)
        shown = max(1, min(self.columns, (width - head - 2) // (cell + 1)))
        lines = [" " * head + " |" + "".join(f" {j:>{cell}}" for j in range(shown))]
        lines.append("-" * head + "-+" + "-" * (shown * (cell + 1)))
        for label, row in zip(self.labels, self.rows, strict=True):
            lines.append(f"{label:>{head}} |" + "".join(f" {s:>{cell}}" for s in row[:shown]).rstrip())
        if shown < self.columns:
            lines.append(f"({self.columns - shown} more columns)")
        if self.cut:
            lines.append(f"({self.cut})")
        return "\n".join(lines)

    def _repr_svg_(self) -> str:
        return members.picture(self)


def offset_grid(
    layout: Any, rows: int = MAX_ROWS, columns: int = MAX_COLUMNS, marked: Iterable[Any] = (), title: str = ""
) -> Grid:
    """The value of a layout at each (row, column): mode 0 down, all further modes across.

    A layout of one mode is read in lines of 32. *marked* are coordinates to frame. Offsets that a swizzle keeps
    together have one colour. Raises LayoutError for symbolic sizes: bind them first.
    """
    if not layout.static:
        raise LayoutError(f"expected a layout of numbers to draw, got {layout}; bind its symbols first")
    shape = as_modes(layout.shape)
    total = product(shape)
    unit = _unit(layout)
    lined = len(shape) < 2
    m, n = (-(-total // LINE), min(total, LINE)) if lined else (product(shape[0]), product(shape[1:]))
    r, c = min(m, rows), min(n, columns)

    def at(i: int, j: int) -> Any:
        k = i * n + j if lined else i + m * j
        return as_tuple(layout(k)) if k < total else None

    def place(coord: Any) -> tuple[int, int]:
        k = crd2idx(coord, layout.shape)
        return divmod(k, n) if lined else (k % m, k // m)

    def group(v: Any, i: int, j: int) -> int:
        return -1 if v is None else v // unit if isinstance(v, int) else i + j

    values = [[at(i, j) for j in range(c)] for i in range(r)]
    return Grid(
        title or str(layout),
        tuple(tuple("" if v is None else text(v) for v in row) for row in values),
        tuple(tuple(group(v, i, j) for j, v in enumerate(row)) for i, row in enumerate(values)),
        _cut(r, c, m, n, total if lined else 0),
        tuple(str(i * n) for i in range(r)) if lined else (),
        (0, 0) if lined else (_band(shape[:1]), _band(shape[1:])),
        frozenset(map(place, marked)),
    )


def _unit(layout: Any) -> int:
    """Offsets closer than this share a colour: what a swizzle keeps together, or the strides have in common."""
    if isinstance(layout, ComposedLayout):
        return 1 << layout.outer.base if isinstance(layout.outer, Swizzle) else 1
    return max(1, math.gcd(*leaves(layout.stride))) if not layout.has_bases else 1


def swizzle_grid(sw: Swizzle) -> Grid:
    """One period of a swizzle in units of the offsets that stay together: the unit that each unit goes to.

    A row holds the units that the xor permutes; for the 128-byte swizzle, 8 rows of 8 units of 16 bytes.
    """
    units, n = upcast_swizzle(1 << sw.base, sw), 1 << abs(sw.shift)
    m = max(1, units.period // n)
    r, c = min(m, MAX_ROWS), min(n, MAX_COLUMNS)
    values = [[units(i * n + j) for j in range(c)] for i in range(r)]
    return Grid(
        str(sw) if sw.base == 0 else f"{sw} in units of {1 << sw.base}",
        tuple(tuple(map(str, row)) for row in values),
        tuple(tuple(v % n for v in row) for row in values),
        _cut(r, c, m, n),
        tuple(str(i * n) for i in range(r)),
    )


def thread_value_grid(
    layout: Any, tile: tuple[int, int], rows: int = MAX_ROWS, columns: int = MAX_COLUMNS, title: str = ""
) -> Grid:
    """The thread and value that own each element of a tile: ``T5V2`` at (row, column), coloured by thread.

    *layout* maps (thread, value) to row + rows*column, as MMA atoms do, or to (row, column); ``T5V2+3`` has
    three more owners. Raises LayoutError for a layout that is not of rank 2, or that leaves the tile.
    """
    if len(as_modes(layout.shape)) != 2 or not layout.static:
        raise LayoutError(f"expected a (thread, value) layout of numbers, got {layout}")
    m, n = tile
    threads, values = (product(s) for s in layout.shape)
    owners: dict[int, list[tuple[int, int]]] = {}
    for v in range(values):
        for t in range(threads):
            owners.setdefault(_element(layout(t, v), m, n, t, v), []).append((t, v))
    r, c = min(m, rows), min(n, columns)
    cells = [[owners.get(i + m * j, []) for j in range(c)] for i in range(r)]
    return Grid(
        title or f"{layout} over {m} x {n}",
        tuple(tuple(_owners(o) for o in row) for row in cells),
        tuple(tuple(o[0][0] if o else -1 for o in row) for row in cells),
        _cut(r, c, m, n),
    )


def _element(value: Any, m: int, n: int, t: int, v: int) -> int:
    at = as_tuple(value)
    row, column = at if isinstance(at, tuple) and len(leaves(at)) == 2 else (at % m, at // m)
    if not (0 <= row < m and 0 <= column < n):
        raise LayoutError(f"expected values inside the {m} x {n} tile, got {text(at)} at thread {t}, value {v}")
    return int(row + m * column)


def _owners(found: list[tuple[int, int]]) -> str:
    more = f"+{len(found) - 1}" if len(found) > 1 else ""
    return f"T{found[0][0]}V{found[0][1]}{more}" if found else "."


def _cut(r: int, c: int, m: int, n: int, total: int = 0) -> str:
    if (r, c) == (m, n):
        return ""
    return f"the first {r * c} of {total}" if total else f"the first {r} x {c} of {m} x {n}"


def _band(modes: tuple[Any, ...]) -> int:
    """The extent of the first of several leaves, after which a gap helps; 0 for none."""
    flat = [n for n in leaves(modes) if n > 1]
    return flat[0] if len(flat) > 1 else 0
