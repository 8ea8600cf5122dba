"""merge: one index as the digits of several dimensions, the last one fastest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ..expr import Fact, Int, at_least
from ..expr.operands import wrapped32
from ..int_tuple import is_one, is_zero
from .transform import UNKNOWN, Indices, Run, Transform, of_kind


def row_major(lengths: Sequence[Int]) -> Indices:
    """The strides of a packed tensor whose last dimension is contiguous.

    >>> row_major((2, 3, 4))
    (12, 4, 1)
    """
    out: list[Any] = []
    stride: Any = 1
    for n in reversed(lengths):
        out.insert(0, stride)
        stride = stride * n
    return tuple(out)


def total(lengths: Sequence[Int]) -> Any:
    """The product of some lengths."""
    out: Any = 1
    for n in lengths:
        out = out * n
    return out


@dataclass(frozen=True)
class Merge(Transform):
    """``l[i] = u // s[i] % lengths[i]``, s being row-major strides; the first digit is *not* reduced, as upstream.

    >>> t = Merge((2, 3, 4))
    >>> print(t, t.lower((23,)), t.lower((6,)), t.lower((24,)))
    merge(2, 3, 4) (1, 2, 3) (0, 1, 2) (2, 0, 0)

    Upstream divides by multiplication (v2, the default) or by ``/`` (v3): both are this formula for 0 <= u < 2^31 and
    two others for u < 0, which :func:`digits_by_magic` and :func:`digits_truncated` give. That no valid index is
    below 0 is an obligation of the descriptor.
    """

    lengths: Indices

    kind: ClassVar[str] = "merge"
    note: ClassVar[str] = "the first digit is not reduced: an index past the end leaves the first dimension unmasked"

    @property
    def lower_rank(self) -> int:
        return len(self.lengths)

    @property
    def upper_lengths(self) -> Indices:
        return (total(self.lengths),)

    def lower(self, upper: Indices) -> Indices:
        (u,) = upper
        if not self.lengths:
            return ()
        s = row_major(self.lengths)
        first, *rest = zip(s, self.lengths, strict=True)
        return (u // first[0], *((u // d) % n for d, n in rest))

    def defined(self, upper: Indices) -> tuple[Fact, ...]:
        return (at_least(upper[0], 0),) if len(self.lengths) > 1 else ()

    def inverse(self) -> Transform:
        return of_kind("unmerge", self.lengths)

    def lower_lengths(self) -> tuple[Int | None, ...]:
        return self.lengths

    def run(self, upper: Run, length: int) -> Run | None:
        """An aligned run stays in one row of the last dimension iff the vector divides its length."""
        (start,), (step,) = upper.starts, upper.steps
        if is_zero(step) or length == 1 or not self.lengths:
            return Run(self.lower(upper.starts), (0,) * self.lower_rank, upper.needs)
        if not is_one(step):
            return None
        needs = (Fact(start, "%", length), Fact(self.lengths[-1], "%", length))
        return Run(self.lower((start,)), (*(0,) * (self.lower_rank - 1), 1), (*upper.needs, *needs))

    def update(self, diff: Indices, lower: Indices, upper: Indices) -> Indices:
        return self.computed_anew(lower, upper)

    def guaranteed(self, lengths: Sequence[Int], strides: Sequence[Int], version: str) -> tuple[Indices, Indices]:
        return ((lengths[-1],), (strides[-1],)) if lengths else ((UNKNOWN,), (UNKNOWN,))


def magic_division(u: int, d: int) -> int:
    """u // d by multiplication as merge v2 computes it, on 32 bits: exact for 0 <= u < 2^31 and d >= 1.

    >>> magic_division(2**31 - 1, 3), magic_division(0xC0000000, 3)
    (715827882, 0)
    """
    u, shift = u % 2**32, (d - 1).bit_length()
    multiplier = ((((1 << shift) - d) << 32) // d + 1) % 2**32
    return ((((u * multiplier) >> 32) + u) % 2**32) >> shift


def digits_by_magic(lengths: Sequence[int], u: int) -> tuple[int, ...]:
    """The lower index of merge v2 for any 32-bit u: a negative one is read as unsigned.

    >>> digits_by_magic((4, 6), 23), digits_by_magic((4, 6), -1)
    ((3, 5), (178956970, -1073741821))
    """
    out: list[int] = []
    for n in reversed(lengths[1:]):
        q = magic_division(u, n)
        out.insert(0, wrapped32(u - q * n))
        u = q
    return (wrapped32(u), *out)


def digits_truncated(lengths: Sequence[int], u: int) -> tuple[int, ...]:
    """The lower index of merge v3 for any u: ``/`` and ``%`` of C++ round towards 0.

    >>> digits_truncated((4, 6), 23), digits_truncated((4, 6), -1)
    ((3, 5), (0, -1))
    """
    out: list[int] = []
    for n in reversed(lengths[1:]):
        q = abs(u) // n * (1 if u >= 0 else -1)
        out.insert(0, u - q * n)
        u = q
    return (u, *out)
