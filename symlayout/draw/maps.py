"""Pictures of address maps: the value at each index, and the indices that a predicate masks."""

from __future__ import annotations

from ..address_map import AddressMap
from ..errors import LayoutError
from ..int_tuple import leaves, text
from .grid import LINE, MAX_COLUMNS, MAX_ROWS, Grid

MASKED = "-"  # a cell of an index that the predicate does not admit


def map_grid(x: AddressMap, rows: int = MAX_ROWS, columns: int = MAX_COLUMNS, title: str = "") -> Grid:
    """The value of a map at each index: the last coordinate across, all others down, the one before it fastest.

    >>> from symlayout.ck_tile import make_naive_tensor_view_packed, pad_tensor_view
    >>> view = pad_tensor_view(make_naive_tensor_view_packed(None, (2, 3)), (1, 4), (False, True))
    >>> print(map_grid(view.descriptor).table())
      | 0 1 2 3
    --+--------
    0 | 0 1 2 -
    1 | 3 4 5 -

    A map of one coordinate is read in lines of 32. Equal values have one colour, of tuples their last entry has, and
    masked indices none. Raises
    LayoutError for a map with sizes: bind them first.
    """
    if x.symbols:
        raise LayoutError(f"expected a map of numbers to draw, got {x}; bind its symbols first")
    lengths = [max(0, int(n)) for n in x.extents]
    *outer, across = lengths or [1]
    lined = len(lengths) == 1 and across > LINE
    down = -(-across // LINE) if lined else _product(outer)
    across = LINE if lined else across
    r, c = min(down, rows), min(across, columns)

    def at(i: int, j: int) -> tuple[int, ...] | None:
        if not lengths:
            return ()
        if lined:
            return (i * LINE + j,) if i * LINE + j < lengths[0] else None
        return (*_unravelled(i, outer), j)

    def shown(index: tuple[int, ...] | None) -> tuple[str, int]:
        if index is None:
            return "", -1
        if not x.valid_at(index):
            return MASKED, -1
        value = x(index)
        parts = leaves(value)
        return text(parts[0] if len(parts) == 1 else value) if parts else ".", int(parts[-1]) if parts else 0

    cells = [[shown(at(i, j)) for j in range(c)] for i in range(r)]
    cut = "" if (r, c) == (down, across) else f"the first {r} x {c} of {down} x {across}"
    heads = tuple(_head(i, outer, lined) for i in range(r))
    return Grid(
        title or str(x),
        tuple(tuple(s for s, _ in row) for row in cells),
        tuple(tuple(g for _, g in row) for row in cells),
        cut,
        heads,
    )


def _product(lengths: list[int]) -> int:
    out = 1
    for n in lengths:
        out *= n
    return out


def _unravelled(i: int, lengths: list[int]) -> tuple[int, ...]:
    """The index of a row, its last entry fastest."""
    out: list[int] = []
    for n in reversed(lengths):
        i, c = divmod(i, n)
        out.insert(0, c)
    return tuple(out)


def _head(i: int, outer: list[int], lined: bool) -> str:
    """The label of a row: its indices, or the first index of a line."""
    if lined:
        return str(i * LINE)
    return ",".join(map(str, _unravelled(i, outer))) if outer else ""
