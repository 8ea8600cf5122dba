"""An instruction as a picture: the thread and value that have each element of its operands.

>>> from symlayout.atoms import atom
>>> _, b, _ = atom_grids(atom("mma.m16n8k8.tf32"))
>>> print(b.title)
B (register), 8 x 8: ((4,8),2):((8,1),32), turned
>>> print(b.table())
      |     0     1     2     3     4     5     6     7
    --+------------------------------------------------
    0 |  T0V0  T4V0  T8V0 T12V0 T16V0 T20V0 T24V0 T28V0
    1 |  T1V0  T5V0  T9V0 T13V0 T17V0 T21V0 T25V0 T29V0
    2 |  T2V0  T6V0 T10V0 T14V0 T18V0 T22V0 T26V0 T30V0
    3 |  T3V0  T7V0 T11V0 T15V0 T19V0 T23V0 T27V0 T31V0
    4 |  T0V1  T4V1  T8V1 T12V1 T16V1 T20V1 T24V1 T28V1
    5 |  T1V1  T5V1  T9V1 T13V1 T17V1 T21V1 T25V1 T29V1
    6 |  T2V1  T6V1 T10V1 T14V1 T18V1 T22V1 T26V1 T30V1
    7 |  T3V1  T7V1 T11V1 T15V1 T19V1 T23V1 T27V1 T31V1
"""

from __future__ import annotations

from ..atoms import Atom, MatrixCopy, MmaAtom, Table
from ..composition import composition
from ..errors import LayoutError
from ..layout import Layout
from .grid import Grid, thread_value_grid
from .svg import sheet

LARGEST = 64  # rows and columns of one operand that are drawn


def atom_grids(row: Atom) -> tuple[Grid, ...]:
    """A grid for each table of a matrix instruction; that of B is turned to K x N, so that it stands above C.

    Raises LayoutError for an instruction that has no tables.
    """
    if not isinstance(row, MmaAtom | MatrixCopy):
        raise LayoutError(f"expected a matrix instruction (mma, wgmma, ldmatrix, stmatrix) to draw, got {row.word}")
    return tuple(_turned(t) if t.operand == "B" else _grid(t.tv, t.tile, str(t)) for t in row.tables)


def _turned(table: Table) -> Grid:
    rows, columns = table.tile
    across = composition(Layout((rows, columns), (columns, 1)), table.tv)
    return _grid(across, (columns, rows), f"{table}, turned")


def _grid(tv: Layout, tile: tuple[int, int], title: str) -> Grid:
    return thread_value_grid(tv, tile, LARGEST, LARGEST, title)


def atom_svg(row: Atom) -> str:
    """SVG text of an instruction: A at the left, B above, C where they meet; of a copy the source, then the target.

    Raises LayoutError for an instruction that has no tables.
    """
    grids = atom_grids(row)
    if isinstance(row, MmaAtom):
        a, b, c = grids
        return sheet(str(row), ((None, b), (a, c)))
    return sheet(str(row), (grids,))
