"""indexing: a dimension read through a table of indices (2025)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from ..errors import LayoutError
from ..expr import Fact, Int, at_least, eq, integer, select
from ..int_tuple import is_zero
from .transform import Indices, Run, Transform, lengths_of

LISTED = 256  # entries of a table that are written out where the index is an expression


@dataclass(frozen=True)
class Indexing(Transform):
    """``l = table[u]`` over *length* indices; the table is a tuple of integers or a function that gives one.

    >>> rows = Indexing(4, (3, 0, 2, 7))
    >>> print(rows, [rows.lower((u,))[0] for u in range(4)])
    indexing(4, (3,0,2,7)) [3, 0, 2, 7]

    Upstream's thread keeps the entry that it read when it was made: its step leaves the lower index where it is, so
    that moving is not making. What it reads outside the table is not known: that no valid index does is an obligation.
    """

    length: Int
    table: tuple[Int, ...] | Callable[[Any], Any]

    kind: ClassVar[str] = "indexing"
    note: ClassVar[str] = "moving is not making: a thread keeps the entry that it first read"

    def __post_init__(self) -> None:
        super().__post_init__()
        if callable(self.table):
            return
        table = lengths_of(self.table)
        if not table or self.length != len(table):
            raise LayoutError(f"expected an index for each of {self.length} entries, got {len(table)}")
        object.__setattr__(self, "table", table)

    @property
    def upper_lengths(self) -> Indices:
        return (self.length,)

    def lower(self, upper: Indices) -> Indices:
        (u,) = upper
        if callable(self.table):
            return (integer(self.table(u)),)
        if type(u) is int:
            return (self.table[u if 0 <= u < len(self.table) else -1],)
        if len(self.table) > LISTED:
            raise LayoutError(f"expected at most {LISTED} entries for a symbolic index, got {len(self.table)}")
        found: Any = self.table[-1]
        for i, entry in reversed([*enumerate(self.table)][:-1]):
            found = select(eq(u, i), entry, found)
        return (found,)

    def defined(self, upper: Indices) -> tuple[Fact, ...]:
        return at_least(upper[0], 0), at_least(self.length, upper[0] + 1)

    def lower_lengths(self) -> tuple[Int | None, ...]:
        entries = () if callable(self.table) else self.table
        numbers = [x for x in entries if type(x) is int and x >= 0]
        return (max(numbers) + 1 if entries and len(numbers) == len(entries) else None,)

    def run(self, upper: Run, length: int) -> Run | None:
        """Nothing is known of neighbouring entries."""
        still = is_zero(upper.steps[0]) or length == 1
        return Run(self.lower(upper.starts), (0,), upper.needs) if still else None

    def update(self, diff: Indices, lower: Indices, upper: Indices) -> Indices:
        """The step goes down, but the entry that was read stays."""
        return (0,)
