"""A table of an instruction: where the elements of an operand are, by thread and value.

>>> from symlayout.atoms import atom
>>> for table in atom("mma.m16n8k16.bf16").tables:
...     print(table)
A (register), 16 x 16: ((4,8),(2,2,2)):((32,1),(16,8,128))
B (register), 8 x 16: ((4,8),(2,2)):((16,1),(8,64))
C (register), 16 x 8: ((4,8),(2,2)):((32,1),(16,8))
>>> print(atom("ldmatrix.x1").tables[0], atom("ldmatrix.x1").tables[0].copies)
source (shared), 8 x 8: ((8,4),8):((1,0),8) 4
"""

from __future__ import annotations

from dataclasses import dataclass

from ..layout import Layout
from .access import MemorySpace


@dataclass(frozen=True)
class Table:
    """(thread, value) to row + rows*column of the *tile* (rows, columns) of an operand, and its memory space."""

    operand: str
    tv: Layout
    tile: tuple[int, int]
    space: MemorySpace

    @property
    def copies(self) -> int:
        """How many (thread, value) have each element: more than 1 where threads see the same memory."""
        rows, columns = self.tile
        return int(self.tv.size()) // (rows * columns)

    def __str__(self) -> str:
        rows, columns = self.tile
        return f"{self.operand} ({self.space}), {rows} x {columns}: {self.tv}"
