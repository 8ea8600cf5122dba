"""pass_through: the lower index is the upper one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..expr import Int
from .transform import Indices, Transform


@dataclass(frozen=True)
class PassThrough(Transform):
    """``l = u`` over *length* indices.

    >>> print(PassThrough(8), PassThrough(8).lower((5,)))
    pass_through(8) (5,)
    """

    length: Int

    kind: ClassVar[str] = "pass_through"
    keeps_guarantees: ClassVar[bool] = True

    @property
    def upper_lengths(self) -> Indices:
        return (self.length,)

    def lower(self, upper: Indices) -> Indices:
        return upper

    def inverse(self) -> Transform:
        return self

    def lower_lengths(self) -> tuple[Int | None, ...]:
        return (self.length,)
