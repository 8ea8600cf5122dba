"""xor: the columns of a tile permuted by its row, so that a column of it meets different banks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..errors import LayoutError
from ..expr import Fact, Int, at_least, eq, xor
from ..int_tuple import is_one, is_zero, text
from ..obligations import Obligations
from .conditions import required
from .transform import Indices, Run, Transform


@dataclass(frozen=True)
class Xor(Transform):
    """``l0 = u0``, ``l1 = u1 ^ (u0 % L1)`` for lengths (L0, L1).

    >>> print(Xor((8, 4)), Xor((8, 4)).lower((5, 2)))
    xor(8, 4) (5, 3)

    For each u0 it permutes [0, L1) iff L1 is a power of two; of another L1 columns collide and leave the dimension.

    >>> max(Xor((8, 6)).lower((r, c))[1] for r in range(8) for c in range(6))
    7
    """

    lengths: Indices

    kind: ClassVar[str] = "xor"
    note: ClassVar[str] = "it needs a second length that is a power of two; other lengths collide without a word"
    keeps_guarantees: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.lengths) != 2:
            raise LayoutError(f"expected two lengths for xor, got {text(self.lengths)}")

    @property
    def lower_rank(self) -> int:
        return 2

    @property
    def upper_lengths(self) -> Indices:
        return self.lengths

    def lower(self, upper: Indices) -> Indices:
        u0, u1 = upper
        return u0, xor(u1, u0 % self.lengths[1])

    def defined(self, upper: Indices) -> tuple[Fact, ...]:
        return (at_least(upper[0], 0),)

    def inverse(self) -> Transform | None:
        """Itself where the width is a power of two."""
        return self if self.permutes else None

    @property
    def permutes(self) -> bool:
        """Whether the width is a number and a power of two."""
        n = self.lengths[1]
        return type(n) is int and n >= 1 and n & (n - 1) == 0

    def obligations(self) -> Obligations:
        width = self.lengths[1]
        return required(self, second_length_a_power_of_two=eq(width & (width - 1), 0))

    def lower_lengths(self) -> tuple[Int | None, ...]:
        return self.lengths[0], self.lengths[1] if self.permutes else None

    def run(self, upper: Run, length: int) -> Run | None:
        """A run along the columns where the row changes none of the low bits; none along the rows."""
        lower, still = self.lower(upper.starts), all(map(is_zero, upper.steps))
        if still or length == 1:
            return Run(lower, (0, 0), upper.needs)
        if not is_zero(upper.steps[0]) or not is_one(upper.steps[1]) or length & (length - 1):
            return None
        column = upper.starts[0] % self.lengths[1]
        needs = (Fact(upper.starts[1], "%", length), Fact(column, "%", length))
        return Run(lower, (0, 1), (*upper.needs, *needs))

    def update(self, diff: Indices, lower: Indices, upper: Indices) -> Indices:
        return self.computed_anew(lower, upper)
