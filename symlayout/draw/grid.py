"""A table of labels over a tile: what a layout puts at each row and column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..basis import as_tuple
from ..errors import LayoutError
from ..int_tuple import product, text
from ..layout import as_modes

MAX_CELLS = 128 * 128  # a larger picture is sampled at its corner


@dataclass(frozen=True)
class Grid:
    """Labels by row and column; ``group`` is what a cell is coloured by, ``cut`` says what is not shown."""

    title: str
    rows: tuple[tuple[str, ...], ...]
    group: tuple[tuple[int, ...], ...]
    cut: str = ""

    def table(self, width: int = 100) -> str:
        """The grid as aligned text, as many columns as fit *width* characters."""
        cell = max((len(s) for row in self.rows for s in row), default=1)
        head = len(str(len(self.rows) - 1))
        columns = len(self.rows[0]) if self.rows else 0
        shown = max(1, min(columns, (width - head - 2) // (cell + 1)))
        lines = [" " * head + " |" + "".join(f" {j:>{cell}}" for j in range(shown))]
        lines.append("-" * head + "-+" + "-" * (shown * (cell + 1)))
        for i, row in enumerate(self.rows):
            lines.append(f"{i:>{head}} |" + "".join(f" {s:>{cell}}" for s in row[:shown]))
        if shown < columns:
            lines.append(f"({columns - shown} more columns)")
        if self.cut:
            lines.append(f"({self.cut})")
        return "\n".join(lines)


def offset_grid(layout: Any, rows: int = 128, columns: int = 128) -> Grid:
    """The value of a layout at each (row, column): mode 0 down, all further modes across.

    Raises LayoutError for symbolic sizes: bind them first.
    """
    shape = as_modes(layout.shape)
    m, n = product(shape[0]) if shape else 1, product(tuple(shape[1:]))
    if not layout.static:
        raise LayoutError(f"expected a layout of numbers to draw, got {layout}; bind its symbols first")
    if len(shape) < 2:
        m, n = 1, m
    r, c = min(m, rows), min(n, columns)
    values = [[as_tuple(layout(i + m * j) if len(shape) > 1 else layout(j)) for j in range(c)] for i in range(r)]
    return Grid(
        str(layout),
        tuple(tuple(text(v) for v in row) for row in values),
        tuple(tuple(v if isinstance(v, int) else i + j for j, v in enumerate(row)) for i, row in enumerate(values)),
        "" if (r, c) == (m, n) else f"the first {r} x {c} of {m} x {n}",
    )


def thread_value_grid(layout: Any, tile: tuple[int, int]) -> Grid:
    """Which thread and value own each element of a tile: ``T5V2`` at (row, column).

    *layout* maps (thread, value) to row + rows*column, as MMA atoms do. Raises LayoutError for a layout that
    is not of rank 2, or that leaves the tile.
    """
    if len(as_modes(layout.shape)) != 2 or not layout.static:
        raise LayoutError(f"expected a (thread, value) layout of numbers, got {layout}")
    m, n = tile
    threads, values = (product(s) for s in layout.shape)
    owner: dict[int, tuple[int, int]] = {}
    for v in range(values):
        for t in range(threads):
            at = layout(t, v)
            if not isinstance(at, int) or not 0 <= at < m * n:
                raise LayoutError(f"expected values inside the {m} x {n} tile, got {at} at thread {t}, value {v}")
            owner.setdefault(at, (t, v))
    r, c = min(m, 128), min(n, 128)
    cells = [[owner.get(i + m * j) for j in range(c)] for i in range(r)]
    return Grid(
        f"{layout} over {m} x {n}",
        tuple(tuple("." if o is None else f"T{o[0]}V{o[1]}" for o in row) for row in cells),
        tuple(tuple(-1 if o is None else o[0] for o in row) for row in cells),
        "" if (r, c) == (m, n) else f"the first {r} x {c} of {m} x {n}",
    )
