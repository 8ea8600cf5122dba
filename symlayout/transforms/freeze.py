"""freeze: a dimension held at one index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from ..expr import Int, at_least
from ..obligations import Obligations
from .conditions import required
from .transform import Indices, Transform


@dataclass(frozen=True)
class Freeze(Transform):
    """``l = index``, with no upper dimension.

    >>> print(Freeze(3), Freeze(3).lower(()), Freeze(3).upper_lengths)
    freeze(3) (3,) ()
    """

    index: Int

    kind: ClassVar[str] = "freeze"

    @property
    def upper_lengths(self) -> Indices:
        return ()

    def lower(self, upper: Indices) -> Indices:
        return (self.index,)

    def obligations(self) -> Obligations:
        return required(self, index_of_at_least_0=at_least(self.index, 0))

    def lower_lengths(self) -> tuple[Int | None, ...]:
        return (self.index + 1,)

    def update(self, diff: Indices, lower: Indices, upper: Indices) -> Indices:
        return (0,)

    def guaranteed(self, lengths: Sequence[Int], strides: Sequence[Int], version: str) -> tuple[Indices, Indices]:
        return (), ()
