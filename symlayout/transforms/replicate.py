"""replicate: dimensions of threads that hold the same elements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from .transform import Indices, Transform


@dataclass(frozen=True)
class Replicate(Transform):
    """Upper dimensions of *lengths* that no lower one depends on: the R dimensions of a distribution.

    >>> print(Replicate((2, 3)), Replicate((2, 3)).lower((1, 2)))
    replicate(2, 3) ()
    """

    lengths: Indices

    kind: ClassVar[str] = "replicate"
    note: ClassVar[str] = "all of its indices are one element: fine to read, never to write"

    @property
    def lower_rank(self) -> int:
        return 0

    @property
    def upper_lengths(self) -> Indices:
        return self.lengths

    def lower(self, upper: Indices) -> Indices:
        return ()
