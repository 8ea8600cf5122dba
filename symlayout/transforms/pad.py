"""pad: indices before and after a dimension that are there, and not valid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..expr import Fact, Int, at_least
from ..obligations import Obligations
from .conditions import required
from .transform import Indices, Run, Transform, aligned_run, of_kind


@dataclass(frozen=True)
class Pad(Transform):
    """``l = u - left``, valid where ``0 <= l < length``; *skip* asks for no check.

    >>> t = Pad(10, 2, 3)
    >>> print(t, t.upper_lengths, t.lower((1,)), [f.value for f in t.valid((1,))], [f.value for f in t.valid((11,))])
    pad(10, 2, 3) (15,) (-1,) [False, True] [True, True]

    Upstream keeps no vector guarantee through it, so that ``pad(L, 0, b)`` in place of ``right_pad(L, b)`` turns
    vector accesses off.
    """

    length: Int
    left: Int
    right: Int
    skip: bool = False

    kind: ClassVar[str] = "pad"
    note: ClassVar[str] = "it drops vector guarantees, which right_pad and left_pad keep"

    @property
    def upper_lengths(self) -> Indices:
        return (self.length + self.left + self.right,)

    def lower(self, upper: Indices) -> Indices:
        return (upper[0] - self.left,)

    def valid(self, upper: Indices) -> tuple[Fact, ...]:
        if self.skip:
            return ()
        return at_least(upper[0], self.left), at_least(self.length + self.left, upper[0] + 1)

    def inverse(self) -> Transform:
        return of_kind("slice", self.length + self.left + self.right, self.left, self.left + self.length)

    def obligations(self) -> Obligations:
        return required(self, left_of_at_least_0=at_least(self.left, 0), right_of_at_least_0=at_least(self.right, 0))

    def lower_lengths(self) -> tuple[Int | None, ...]:
        return (None if self.skip else self.length,)

    def run(self, upper: Run, length: int) -> Run | None:
        needs = () if self.skip else aligned_run(upper, length, (self.left, self.left + self.length))
        return None if needs is None else Run(self.lower(upper.starts), upper.steps, (*upper.needs, *needs))
