"""offset: a dimension that begins further on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..expr import Int, at_least
from ..obligations import Obligations
from .conditions import required
from .transform import Indices, Transform, of_kind


@dataclass(frozen=True)
class Offset(Transform):
    """``l = u + offset`` over *length* indices.

    >>> print(Offset(12, 5), Offset(12, 5).lower((11,)))
    offset(12, 5) (16,)
    """

    length: Int
    offset: Int

    kind: ClassVar[str] = "offset"
    note: ClassVar[str] = "the size of a buffer does not count it: the last elements lie past the end"

    @property
    def upper_lengths(self) -> Indices:
        return (self.length,)

    def lower(self, upper: Indices) -> Indices:
        return (upper[0] + self.offset,)

    def inverse(self) -> Transform:
        return of_kind("pad", self.length, self.offset, 0)

    def obligations(self) -> Obligations:
        return required(self, offset_of_at_least_0=at_least(self.offset, 0))

    def lower_lengths(self) -> tuple[Int | None, ...]:
        return (self.length + self.offset,)
