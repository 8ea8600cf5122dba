"""Values chosen among others: the least, the greatest, and one of two by a condition.

>>> from symlayout import dims, index
>>> M, i = dims("M")[0], index("i", 64)
>>> select(i < M, i, 0), select(i < M, i, M), truth(eq(i % 2, 0))
(select(M >= i + 1, i, 0), min(M, i), select(i % 2 == 0, 1, 0))

A condition is a fact, several of them, a truth value, or an integer, which is true unless it is 0, as in C. Both
values count as computed, unlike those of ``c ? a : b``: a divisor in either must be at least 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from ..errors import ExpressionError
from .arithmetic import defines, key_of
from .division import mod
from .expression import Fact, Int, Monomial, Operation, build, intern, terms_of
from .fact import eq
from .operands import integer


class Min(Operation):
    """The least of its arguments."""

    __slots__ = ()
    op = "minimum"


class Max(Operation):
    """The greatest of its arguments."""

    __slots__ = ()
    op = "maximum"


class Select(Operation):
    """``args[1]`` where ``args[0] >= 0``, else ``args[2]``."""

    __slots__ = ()
    op = "select"


def _extremum(kind: type[Operation], sign: int, xs: Iterable[Any]) -> Int:
    flat = [b for a in map(integer, xs) for b in (a.args if isinstance(a, kind) else (a,))]
    if not flat:
        raise ExpressionError("expected at least one integer to compare, got none")
    kept: list[Int] = []
    for a in flat:
        gaps = [(b, sign * (b - a)) for b in kept]
        if any(type(g) is int and g >= 0 for _, g in gaps):
            continue
        kept = [*(b for b, g in gaps if type(g) is not int), a]
    return kept[0] if len(kept) == 1 else intern(kind, tuple(sorted(kept, key=str)))


def maximum(*xs: Any) -> Int:
    """The greatest of the arguments."""
    return _extremum(Max, 1, xs)


def minimum(*xs: Any) -> Int:
    """The least of the arguments."""
    return _extremum(Min, -1, xs)


def select(condition: Any, a: Any, b: Any) -> Int:
    """*a* where the condition holds, else *b*: ``condition ? a : b``.

    >>> from symlayout import dims
    >>> M, N = dims("M N")
    >>> select(M < N, 1, 2), select((M >= 1, N < 8), M, 0), select(M & 1, 3, 4)
    (select(M >= N, 2, 1), select(min(7 - N, M - 1) >= 0, M, 0), select(M % 2 == 0, 4, 3))

    Raises ExpressionError for a condition that is none of a fact, facts, a truth value and an integer.
    """
    return chosen(test_of(condition), integer(a), integer(b))


@defines
def truth(condition: Any) -> Int:
    """1 where a condition holds, else 0: the value that a comparison has in C."""
    return select(condition, 1, 0)


def test_of(condition: Any) -> Int:
    """An expression that is at least 0 exactly where a condition holds."""
    if isinstance(condition, bool):
        return 0 if condition else -1
    if isinstance(condition, tuple | list):
        return minimum(*map(test_of, condition)) if condition else 0
    if not isinstance(condition, Fact):
        return -1 - test_of(eq(condition, 0))
    x = condition.expr
    if condition.relation == ">=":
        return x
    return minimum(x, -x) if condition.relation == "==" else -mod(x, condition.modulus)


def chosen(q: Int, a: Int, b: Int) -> Int:
    """*a* where q >= 0, else *b*."""
    if type(q) is int:
        return a if q >= 0 else b
    gap = b - a
    if gap == 0:
        return a
    if q in (gap, gap - 1):
        return minimum(a, b)
    if q in (-gap, -gap - 1):
        return maximum(a, b)
    t = terms_of(q)
    if _opposite(t):
        return chosen(-q - 1, b, a)
    g = math.gcd(*(c for m, c in t.items() if m))
    if g > 1:
        q = build({m: c // g for m, c in t.items() if m or c // g})
    return intern(Select, (q, a, b))


def _opposite(t: dict[Monomial, int]) -> bool:
    """Whether the opposite condition is the one that is kept: i < M, and not i >= M; x == y, and not x != y."""
    plain = [m for m in t if m and not any(a.depth for a in m)]
    lead = t[max(plain or filter(None, t), key=lambda m: (len(m), *map(key_of, m)))]
    return lead > 0 if plain else lead < 0
