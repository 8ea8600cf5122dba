"""embed: several dimensions in one, by strides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ..errors import LayoutError
from ..expr import Int
from ..int_tuple import text
from .merge import Merge, row_major
from .transform import Indices, Transform


@dataclass(frozen=True)
class Embed(Transform):
    """``l = sum of coefficients[i]*u[i]``: strides, the taps of a convolution, a broadcast where one is 0.

    >>> print(Embed((4, 5), (2, 3)), Embed((4, 5), (2, 3)).lower((3, 4)))
    embed((4,5), (2,3)) (18,)
    """

    lengths: Indices
    coefficients: Indices

    kind: ClassVar[str] = "embed"
    note: ClassVar[str] = "different indices may have one lower index: taps of a convolution overlap"

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.lengths) != len(self.coefficients):
            raise LayoutError(
                f"expected a coefficient for each of {len(self.lengths)} lengths {text(self.lengths)}, "
                f"got {text(self.coefficients)}"
            )

    @property
    def upper_lengths(self) -> Indices:
        return self.lengths

    def lower(self, upper: Indices) -> Indices:
        total: Any = 0
        for c, u in zip(self.coefficients, upper, strict=True):
            total = total + c * u
        return (total,)

    def inverse(self) -> Transform | None:
        """The merge where the coefficients are those of a packed row-major tensor; of others none is known."""
        return Merge(self.lengths) if self.coefficients == row_major(self.lengths) else None

    def lower_lengths(self) -> tuple[Int | None, ...]:
        if any(type(c) is int and c < 0 for c in self.coefficients):
            return (None,)
        total: Any = 1
        for n, c in zip(self.lengths, self.coefficients, strict=True):
            total = total + (n - 1) * c
        return (total,)
