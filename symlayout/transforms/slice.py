"""slice: a part of a dimension."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..expr import Int, at_least
from ..obligations import Obligations
from .conditions import required
from .transform import Indices, Transform, of_kind


@dataclass(frozen=True)
class Slice(Transform):
    """``l = u + begin`` for *begin* <= l < *end*.

    >>> print(Slice(10, 2, 7), Slice(10, 2, 7).lower((0,)), Slice(10, 2, 7).upper_lengths)
    slice(10, 2, 7) (2,) (5,)

    Upstream does not look at *length*, so that an end past it is not seen; here it is an obligation.

    >>> print(Slice(10, 6, 12).obligations())
    exact: needs end within length in slice(10, 6, 12)
    """

    length: Int
    begin: Int
    end: Int

    kind: ClassVar[str] = "slice"
    note: ClassVar[str] = "upstream ignores the length: an end past it is not detected"

    @property
    def upper_lengths(self) -> Indices:
        return (self.end - self.begin,)

    def lower(self, upper: Indices) -> Indices:
        return (upper[0] + self.begin,)

    def inverse(self) -> Transform:
        return of_kind("pad", self.end - self.begin, self.begin, self.length - self.end)

    def obligations(self) -> Obligations:
        return required(
            self,
            begin_of_at_least_0=at_least(self.begin, 0),
            end_after_begin=at_least(self.end, self.begin),
            end_within_length=at_least(self.length, self.end),
        )

    def lower_lengths(self) -> tuple[Int | None, ...]:
        return (self.end,)
