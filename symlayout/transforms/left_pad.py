"""left_pad: indices before a dimension that are there, and not valid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..expr import Fact, Int, at_least
from ..obligations import Obligations
from .conditions import required
from .transform import Indices, Run, Transform, aligned_run, of_kind


@dataclass(frozen=True)
class LeftPad(Transform):
    """``l = u - left``, valid where ``0 <= l``: there is no test of the other end.

    >>> print(LeftPad(10, 2), LeftPad(10, 2).upper_lengths, LeftPad(10, 2).lower((5,)))
    left_pad(10, 2) (12,) (3,)

    ``transform_tensor_descriptor`` of upstream rejects it at compile time; ``pad(L, a, 0)`` is what compiles.
    """

    length: Int
    left: Int
    skip: bool = False

    kind: ClassVar[str] = "left_pad"
    note: ClassVar[str] = "upstream does not compile it in transform_tensor_descriptor; pad(L, a, 0) compiles"
    keeps_guarantees: ClassVar[bool] = True

    @property
    def upper_lengths(self) -> Indices:
        return (self.length + self.left,)

    def lower(self, upper: Indices) -> Indices:
        return (upper[0] - self.left,)

    def valid(self, upper: Indices) -> tuple[Fact, ...]:
        return () if self.skip else (at_least(upper[0], self.left),)

    def inverse(self) -> Transform:
        return of_kind("slice", self.length + self.left, self.left, self.left + self.length)

    def obligations(self) -> Obligations:
        return required(self, left_of_at_least_0=at_least(self.left, 0))

    def lower_lengths(self) -> tuple[Int | None, ...]:
        return (None if self.skip else self.length,)

    def run(self, upper: Run, length: int) -> Run | None:
        needs = () if self.skip else aligned_run(upper, length, (self.left,))
        return None if needs is None else Run(self.lower(upper.starts), upper.steps, (*upper.needs, *needs))
