"""Whether the registers that hold a sum, or a fold, on its way are of types that the result allows.

Sums of floats are kept in the type that the result states, or in one that has all its numbers: then what is rounded
differs from the result by the order of the additions alone. Sums of integers are exact: each type on the way has to
have room for all elements at their greatest and at their least.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import ml_dtypes

from symlayout.dtype import DType
from symlayout.expr import Fact
from symlayout.facts import Facts
from symlayout.kernel import Kernel
from symlayout.kernel.specification import Dot, PackedDot, Total, elements, sum_type

from .rounding import exact


class Narrow(Exception):
    """A type on the way of a sum does not hold it; *repair* is a fact under which it would."""

    def __init__(self, why: str, repair: Fact | None = None) -> None:
        super().__init__(why)
        self.repair = repair


def stated(value: Dot | Total, of: tuple[DType, ...]) -> DType:
    """The type of the sums of a result whose elements are of some types."""
    return DType.of(value.dtype) if value.dtype else sum_type(*of)


def types_of(kernel: Kernel, value: Dot | Total) -> tuple[DType, ...]:
    """The types of the elements that a value adds or multiplies: those in words, where it multiplies words."""
    if isinstance(value, PackedDot):
        return value.types
    return tuple(kernel.tensor(e.tensor).dtype for e in elements(value))


def expect_held(value: Dot | Total, of: tuple[DType, ...], kept: Iterable[DType], facts: Facts) -> None:
    """Raise Narrow unless the types *kept* hold all partial results of a value whose elements are *of* some types."""
    wanted, ways = stated(value, of), sorted(kept, key=str)
    if isinstance(value, Total) and value.function in ("min", "max"):
        lost = next((t for t in ways if not exact(of[0], t)), None)
        if lost is not None:
            raise Narrow(f"elements of {of[0]} are compared in {lost}, which does not have all of them")
    elif wanted.kind == "float":
        lost = next((t for t in ways if t.kind != "float" or not exact(wanted, t)), None)
        if lost is not None:
            raise Narrow(f"sums are kept in {lost}, and the result has them in {wanted}")
    elif isinstance(value, Total) and value.function == "mul":
        raise Narrow(f"products of {of[0]} in {', '.join(map(str, ways))}, which may wrap")
    else:
        for kind in sorted({wanted, *ways}, key=lambda kind: _room(of, kind)):  # the tightest first
            each = value.each if isinstance(value, PackedDot) else 1
            _expect_room(value.extent, of, kind, facts, each)


def _expect_room(n: Any, of: tuple[DType, ...], kind: DType, facts: Facts, each: int) -> None:
    """Raise Narrow unless *n* times *each* integers, or products of two, at their ends fit a type."""
    room = _room(of, kind) // each
    if facts.le(n, room) is not True:
        told, way = "*".join(map(str, of)), f": expected {n} <= {room}" if room else ""
        raise Narrow(f"sums of {told} over {n} in {kind}, which may wrap{way}", n <= room if room else None)


def _room(of: tuple[DType, ...], kind: DType) -> int:
    """The number of integers of some types, or products of two, that a type can sum, from their extremes."""
    (low, high), (least, most) = _ends(of), _limits(kind)
    return min(most // high, least // low if low else most // high)


def _ends(of: tuple[DType, ...]) -> tuple[int, int]:
    """The least and greatest element, or product of two."""
    ends = [_limits(t) for t in of]
    corners = [a * b for a in ends[0] for b in ends[-1]] if len(of) == 2 else [*ends[0]]
    return min(corners), max(corners)


def _limits(kind: DType) -> tuple[int, int]:
    """The integers without gaps that a type has."""
    if kind.kind == "float":
        whole = 1 << (ml_dtypes.finfo(kind.numpy()).nmant + 1)  # type: ignore[no-untyped-call]
        return -whole, whole
    low = -(1 << (kind.bits - 1)) if kind.kind == "int" else 0
    return low, low + (1 << (1 if kind.kind == "bool" else kind.bits)) - 1
