"""Facts that are written as functions: relations that no operator of expressions says.

>>> from symlayout import dims
>>> M, N = dims("M N")
>>> M + 1 <= N, eq(M, N), (M * N).multiple_of(8)
(N >= M + 1, M == N, (M*N) % 8 == 0)
"""

from __future__ import annotations

from typing import Any

from ..errors import ExpressionError
from .arithmetic import defines
from .expression import Fact, Int
from .operands import integer


def at_least(a: Int, b: Int) -> Fact:
    """The fact a >= b."""
    return Fact(a - b, ">=")


def eq(a: Any, b: Any) -> Fact:
    """The fact that two expressions have the same value; ``==`` compares their form."""
    return Fact(integer(a) - integer(b), "==")


@defines
def multiple_of(a: Any, modulus: int) -> Fact:
    """The fact that the positive integer *modulus* divides *a*."""
    modulus = integer(modulus)  # type: ignore[assignment]  # a number, as the next line checks
    if type(modulus) is not int or modulus < 1:
        raise ExpressionError(f"expected a modulus of at least 1, got {modulus!r}")
    return Fact(integer(a), "%", modulus)
