"""Operators of expressions: sums and products term by term, all others by their definitions in other modules.

A quotient, the bits of an integer, the least of two are kinds of expressions that are built on sums and products. The
module that has one enters it in the table ``defined`` when the package is imported, and operators look there. A new
operator is a method here, a row of ``Operations``, and ``@defines`` where it is defined.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, TypeAlias

from ..definitions import Definitions
from ..errors import ExpressionError

Factors: TypeAlias = "tuple[Any, ...]"  # of a term: variables, in the order of their keys
Terms: TypeAlias = "dict[Factors, int]"  # no coefficient is 0

LARGEST = 1 << 16  # terms of a product: of dozens of sums there would be no end
LONGEST_POWER = 1 << 12  # factors of one term; nothing that indexes memory has as many


class Operations(Definitions):
    """Implementations of the operators, each under the name of the function that defines it."""

    build: Callable[[Terms], Any]
    coerce_or_none: Callable[[Any], Any]
    integer: Callable[[Any], Any]
    floordiv: Callable[[Any, Any], Any]
    mod: Callable[[Any, Any], Any]
    xor: Callable[[Any, Any], Any]
    bit_and: Callable[[Any, Any], Any]
    bit_or: Callable[[Any, Any], Any]
    shift_left: Callable[[Any, Any], Any]
    shift_right: Callable[[Any, Any], Any]
    power_of_two: Callable[[Any], Any]
    multiple_of: Callable[[Any, int], Any]
    truth: Callable[[Any], Any]
    evaluate: Callable[[Any, Any], int]
    substituted: Callable[[Any, Any], Any]
    expression_text: Callable[[Any], str]
    fact_text: Callable[[Any], str]
    from_sympy: Callable[[Any], Any]
    to_sympy: Callable[[Any], Any]
    latex: Callable[[Any], str]


defined = Operations()
defines = defined.defines


class Arithmetic:
    """The operators of objects with *terms*. With an operand that is not an integer they return NotImplemented."""

    __slots__ = ()
    terms: Terms

    # -- sums and products --------------------------------------------------------------------------

    def __add__(self, other: Any) -> Any:
        if type(other) is int:
            return _plus_constant(self, other)
        if not isinstance(other, Arithmetic):
            other = defined.coerce_or_none(other)
            return NotImplemented if other is None else self + other
        a, b = (self.terms, other.terms) if len(self.terms) >= len(other.terms) else (other.terms, self.terms)
        return defined.build(plus(dict(a), b))

    __radd__ = __add__

    def __neg__(self) -> Any:
        return defined.build({m: -c for m, c in self.terms.items()})

    def __pos__(self) -> Any:
        return self

    def __sub__(self, other: Any) -> Any:
        if type(other) is int:
            return _plus_constant(self, -other)
        if not isinstance(other, Arithmetic):
            other = defined.coerce_or_none(other)
            return NotImplemented if other is None else self - other
        out = dict(self.terms)
        for m, c in other.terms.items():
            s = out.get(m, 0) - c
            if s:
                out[m] = s
            else:
                del out[m]
        return defined.build(out)

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __mul__(self, other: Any) -> Any:
        if type(other) is int:
            if other == 1:
                return self
            return defined.build({m: c * other for m, c in self.terms.items()}) if other else 0
        if not isinstance(other, Arithmetic):
            other = defined.coerce_or_none(other)
            return NotImplemented if other is None else self * other
        if len(self.terms) * len(other.terms) > LARGEST:
            counts = f"{len(self.terms)} and {len(other.terms)}"
            raise ExpressionError(f"expected a product of at most {LARGEST} terms, got factors of {counts} terms")
        out: Terms = {}
        for m, c in self.terms.items():
            for n, d in other.terms.items():
                k = merge(m, n)
                out[k] = out.get(k, 0) + c * d
        return defined.build({m: c for m, c in out.items() if c})

    __rmul__ = __mul__

    def __pow__(self, exponent: Any) -> Any:
        if type(exponent) is not int or exponent < 0:
            raise ExpressionError(f"expected a non-negative integer exponent, got {exponent!r}")
        most = LONGEST_POWER if len(self.terms) == 1 else LONGEST_POWER // 64  # whose terms become many
        if exponent > most:
            raise ExpressionError(f"expected a power of at most {most} of {self}, got {exponent}")
        out: Any = 1
        for _ in range(exponent):
            out = out * self
        return out

    def __rpow__(self, base: Any) -> Any:
        if type(base) is not int or base < 2 or base & (base - 1):
            raise ExpressionError(f"expected a power of a power of two, got {base!r}**({self})")
        return defined.power_of_two((base.bit_length() - 1) * self)

    # -- division and bits ---------------------------------------------------------------------------

    def __floordiv__(self, other: Any) -> Any:
        d = defined.coerce_or_none(other)
        return NotImplemented if d is None else defined.floordiv(self, d)

    def __rfloordiv__(self, other: Any) -> Any:
        return defined.floordiv(defined.integer(other), self)

    def __mod__(self, other: Any) -> Any:
        d = defined.coerce_or_none(other)
        return NotImplemented if d is None else defined.mod(self, d)

    def __rmod__(self, other: Any) -> Any:
        return defined.mod(defined.integer(other), self)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __xor__(self, other: Any) -> Any:
        x = defined.coerce_or_none(other)
        return NotImplemented if x is None else defined.xor(self, x)

    __rxor__ = __xor__

    def __and__(self, other: Any) -> Any:
        x = defined.coerce_or_none(other)
        return NotImplemented if x is None else defined.bit_and(self, x)

    __rand__ = __and__

    def __or__(self, other: Any) -> Any:
        x = defined.coerce_or_none(other)
        return NotImplemented if x is None else defined.bit_or(self, x)

    __ror__ = __or__

    def __invert__(self) -> Any:
        return -self - 1

    def __lshift__(self, count: Any) -> Any:
        k = defined.coerce_or_none(count)
        return NotImplemented if k is None else defined.shift_left(self, k)

    def __rlshift__(self, other: Any) -> Any:
        return defined.shift_left(defined.integer(other), self)

    def __rshift__(self, count: Any) -> Any:
        k = defined.coerce_or_none(count)
        return NotImplemented if k is None else defined.shift_right(self, k)

    def __rrshift__(self, other: Any) -> Any:
        return defined.shift_right(defined.integer(other), self)

    def __truediv__(self, other: Any) -> Any:
        raise ExpressionError(f"expected // or ceil_div, got /: ({self})/({other}) need not be an integer")


def plus(out: Terms, more: Terms) -> Terms:
    """The terms of a sum, in *out* itself where that has no fewer than *more*: sums of many need no copy each."""
    if len(out) < len(more):
        out, more = dict(more), out
    for m, c in more.items():
        s = out.get(m, 0) + c
        if s:
            out[m] = s
        else:
            del out[m]
    return out


def merge(m: Factors, n: Factors) -> Factors:
    """The product of two products of variables."""
    if not m:
        return n
    if not n:
        return m
    return tuple(sorted(m + n, key=key_of))


key_of = operator.attrgetter("key")


def _plus_constant(x: Arithmetic, c: int) -> Any:
    if not c:
        return x
    out = dict(x.terms)
    s = out.pop((), 0) + c
    if s:
        out[()] = s
    return defined.build(out)
