"""insert: a dimension that memory does not have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..expr import Int
from .transform import Indices, Transform


@dataclass(frozen=True)
class Insert(Transform):
    """An upper dimension of *length* that no lower one depends on: every index of it is the same element.

    >>> print(Insert(4), Insert(4).lower((3,)))
    insert(4) ()
    """

    length: Int

    kind: ClassVar[str] = "insert"
    note: ClassVar[str] = "all of its indices are one element: fine to read, never to write"

    @property
    def lower_rank(self) -> int:
        return 0

    @property
    def upper_lengths(self) -> Indices:
        return (self.length,)

    def lower(self, upper: Indices) -> Indices:
        return ()
