"""The place of a claim.

>>> place = Place("kernels/load.cuh", 12, 4, "no overlap")
>>> print(place, "|", place.where, "|", Place(name="my.module:claims"))
kernels/load.cuh:12:4 | 12:4 | my.module:claims
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True)
class Place:
    """A file with a line and a column, both from 1 and 0 where they are not known; else a name alone."""

    file: str = ""
    line: int = 0
    column: int = 0
    name: str = ""  # of the claim, or ``module:name``

    @property
    def where(self) -> str:
        """Line and column."""
        return ":".join(str(n) for n in (self.line, self.column) if n)

    @property
    def group(self) -> str:
        """The file, or its substitute."""
        return self.file or self.name

    def named(self, name: str) -> Place:
        """The same place under a name."""
        return replace(self, name=name)

    def at(self, line: int, column: int = 0) -> Place:
        """A line and column of the same file."""
        return replace(self, line=line, column=column)

    def to_json(self) -> dict[str, Any]:
        """Plain data for ``json``; what is not known is left out."""
        parts = {"file": self.file, "line": self.line, "column": self.column, "name": self.name}
        return {k: v for k, v in parts.items() if v}

    def __bool__(self) -> bool:
        return bool(self.file or self.name)

    def __str__(self) -> str:
        return ":".join(p for p in (self.file, self.where) if p) if self.file else self.name


NOWHERE = Place()
