"""modulo: an index that starts again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..expr import Expr, Fact, Int, at_least, select
from ..facts import Facts
from ..obligations import Obligations
from .conditions import required
from .transform import Indices, Run, Transform, aligned_run, of_kind


@dataclass(frozen=True)
class Modulo(Transform):
    """``l = u % modulus`` over *length* indices.

    >>> print(Modulo(4, 10), Modulo(4, 10).lower((7,)), Modulo(4, 10).upper_lengths)
    modulo(4, 10) (3,) (10,)

    Upstream's step does not compile, and as it is written adds the step to an index that has it already.
    """

    modulus: Int
    length: Int

    kind: ClassVar[str] = "modulo"
    note: ClassVar[str] = "moving is not making: upstream's step takes the remainder of an index moved twice"

    @property
    def upper_lengths(self) -> Indices:
        return (self.length,)

    def lower(self, upper: Indices) -> Indices:
        return (upper[0] % self.modulus,)

    def defined(self, upper: Indices) -> tuple[Fact, ...]:
        return (at_least(upper[0], 0),)

    def inverse(self) -> Transform | None:
        """The identity where no index starts again."""
        gap = self.modulus - self.length
        known = Facts.about(gap).le(0, gap) if isinstance(gap, Expr) else gap >= 0
        return of_kind("pass_through", self.length) if known else None

    def obligations(self) -> Obligations:
        return required(self, modulus_of_at_least_1=at_least(self.modulus, 1))

    def lower_lengths(self) -> tuple[Int | None, ...]:
        return (self.modulus,)

    def run(self, upper: Run, length: int) -> Run | None:
        needs = aligned_run(upper, length, (self.modulus,))
        return None if needs is None else Run(self.lower(upper.starts), upper.steps, (*upper.needs, *needs))

    def update(self, diff: Indices, lower: Indices, upper: Indices) -> Indices:
        """As upstream writes it: from an index that already contains the step, the step is added once more.

        A step backwards may pass 0 then, below which the remainder of C++ has the sign of the index.
        """
        return (_remainder(upper[0] + diff[0], self.modulus) - lower[0],)


def _remainder(x: Int, m: Int) -> Int:
    """x % m as C++ has it: rounded to 0."""
    return select(at_least(x, 0), x % m, -(-x % m))
