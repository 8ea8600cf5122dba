"""right_pad: indices after a dimension that are there, and not valid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..expr import Fact, Int, at_least
from ..obligations import Obligations
from .conditions import required
from .transform import Indices, Run, Transform, aligned_run, of_kind


@dataclass(frozen=True)
class RightPad(Transform):
    """``l = u``, valid where ``u < length``: there is no test of the other end.

    >>> t = RightPad(100, 28)
    >>> print(t, t.upper_lengths, [f.value for f in t.valid((99,))], [f.value for f in t.valid((100,))])
    right_pad(100, 28) (128,) [True] [False]
    """

    length: Int
    right: Int
    skip: bool = False

    kind: ClassVar[str] = "right_pad"
    note: ClassVar[str] = "its vector guarantee needs a length that the vector divides, which nothing checks"
    keeps_guarantees: ClassVar[bool] = True

    @property
    def upper_lengths(self) -> Indices:
        return (self.length + self.right,)

    def lower(self, upper: Indices) -> Indices:
        return upper

    def valid(self, upper: Indices) -> tuple[Fact, ...]:
        return () if self.skip else (at_least(self.length, upper[0] + 1),)

    def inverse(self) -> Transform:
        return of_kind("slice", self.length + self.right, 0, self.length)

    def obligations(self) -> Obligations:
        return required(self, right_of_at_least_0=at_least(self.right, 0))

    def lower_lengths(self) -> tuple[Int | None, ...]:
        return (None if self.skip else self.length,)

    def run(self, upper: Run, length: int) -> Run | None:
        needs = () if self.skip else aligned_run(upper, length, (self.length,))
        return None if needs is None else Run(upper.starts, upper.steps, (*upper.needs, *needs))
