"""unmerge: several dimensions as the digits of one, the last one fastest."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ..expr import Expr, Int
from ..int_tuple import is_zero, text
from .merge import row_major, total
from .transform import UNKNOWN, Indices, Run, Transform, of_kind

LOW_24_BITS = 0xFFFFFF


@dataclass(frozen=True)
class Unmerge(Transform):
    """``l = sum of u[i]*s[i]``, s being the row-major strides of *lengths*.

    >>> print(Unmerge((3, 6)), Unmerge((3, 6)).lower((2, 5)), Unmerge((3, 6)).lower_lengths())
    unmerge(3, 6) (17,) (18,)

    With *use_24bit* upstream multiplies the low 24 bits of each index, and of each *step* too, so that a step
    backwards goes far away.

    >>> Unmerge((3, 6), use_24bit=True).update((-1, 5), (17,), (1, 10))
    (100663295,)
    """

    lengths: Indices
    use_24bit: bool = False

    kind: ClassVar[str] = "unmerge"
    note: ClassVar[str] = "upstream's guarantee of a run-time last length is too long: take the gcd with it"

    @property
    def upper_lengths(self) -> Indices:
        return self.lengths

    def lower(self, upper: Indices) -> Indices:
        out: Any = 0
        for s, u in zip(row_major(self.lengths), upper, strict=True):
            out = out + ((u & LOW_24_BITS) * (s & LOW_24_BITS) if self.use_24bit and s != 1 else u * s)
        return (out,)

    def inverse(self) -> Transform:
        return of_kind("merge", self.lengths)

    def lower_lengths(self) -> tuple[Int | None, ...]:
        return (None if self.use_24bit else total(self.lengths),)

    def run(self, upper: Run, length: int) -> Run | None:
        """As for any sum of multiples; on 24 bits only along dimensions of stride 1, whose indices are not cut."""
        cut = any(s != 1 and not is_zero(d) for s, d in zip(row_major(self.lengths), upper.steps, strict=True))
        if self.use_24bit and cut and length > 1:
            return None
        (total_step,) = Unmerge(self.lengths).lower(upper.steps)
        return Run(self.lower(upper.starts), (total_step,), upper.needs)

    def update(self, diff: Indices, lower: Indices, upper: Indices) -> Indices:
        return self.lower(diff)

    def guaranteed(self, lengths: Sequence[Int], strides: Sequence[Int], version: str) -> tuple[Indices, Indices]:
        """The last dimension alone: the gcd with its length, of which a run-time one counts as 0."""
        unknown = (UNKNOWN,) * (len(self.lengths) - 1)
        if not self.lengths:
            return (), ()
        last = self.lengths[-1]
        found: Int = lengths[0]
        if type(found) is int and found != UNKNOWN:
            found = math.gcd(found, 0 if isinstance(last, Expr) else last)
        return (*unknown, found), (*unknown, strides[0])

    def __str__(self) -> str:
        flag = ", use_24bit" if self.use_24bit else ""
        return f"{self.kind}({', '.join(map(text, self.lengths))}{flag})"
