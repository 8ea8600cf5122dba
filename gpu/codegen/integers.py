"""Integers of a kernel as C: every partial result in the order and the bits that the kernel states.

    >>> from symlayout import dims, index
    >>> N, = dims("N")
    >>> t = index("thread", 128)
    >>> c = Integers(frozenset({4 * t + N}), 32, nonnegative=lambda x: True)
    >>> print(c.text(4 * t + N), c.text(t // 32), c.text(N % 3), sep="; ")
    int64_t(N) + 4 * thread; thread >> 5; N % 3

Quotients and remainders round down. A power of two becomes a shift and a mask, which round down for every sign.
Another number becomes C's ``/`` and ``%`` where the operands are known not to be negative, and helpers of the prelude
elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from symlayout.errors import ExpressionError, LayoutError
from symlayout.expr import (
    And,
    Atom,
    Expr,
    Fact,
    Int,
    Max,
    Min,
    PowerOfTwo,
    Select,
    Symbol,
    Xor,
    floordiv,
    integer,
    mod,
)
from symlayout.expr.division import Quotient
from symlayout.expr.infix_text import Ceiling, Factor, Remainder, terms_as_read
from symlayout.expr.partial_results import comparison

# How tight C binds: what is an operand of something tighter stands in parentheses.
ATOM, UNARY, PRODUCT, SUM, SHIFT, RELATION, BITS, CHOICE = range(8)
WIDE = 64
INT32 = range(-(1 << 31), 1 << 31)


@dataclass(frozen=True)
class C:
    """A piece of C: its text, how tight it binds, the bits of its type, and those in which the kernel states its value.

    The type has fewer bits than are stated where its value is known to fit; what is computed from it need not.
    """

    text: str
    binds: int = ATOM
    bits: int = 32
    stated: int = 32

    def __post_init__(self) -> None:
        object.__setattr__(self, "stated", max(self.bits, self.stated))

    def inside(self, limit: int) -> str:
        """The text as an operand of an operator that binds as *limit*."""
        return f"({self.text})" if self.binds > limit else self.text


@dataclass(frozen=True)
class Integers:
    """Prints expressions. *wide* are the partial results that the kernel holds in 64 bits, *bits* those of the others.

    *names* are C names for expressions that are computed before. *known* says whether a symbol has a value here,
    *nonnegative* whether an expression is at least 0 wherever it is computed, *short* whether 32 bits hold it there.
    """

    wide: frozenset[Any]
    bits: int
    nonnegative: Callable[[Int], bool]
    names: Mapping[Any, C] = field(default_factory=dict)
    known: Callable[[Symbol], bool] = lambda _: True
    short: Callable[[Int], bool] = lambda _: False

    def text(self, x: Int) -> str:
        """The expression as C."""
        return self.of(x).text

    def condition(self, fact: Fact) -> str:
        """The expression that C compares for a fact."""
        found = comparison(fact)
        left, right, sign = found.left, found.right, found.sign
        if sign == ">=" and type(left) is int:
            left, right, sign = right, left, "<="
        return f"{self.of(left).inside(SUM)} {sign} {self.of(right).inside(SUM)}"

    def of(self, x: Int) -> C:
        """The expression as a piece of C."""
        if not isinstance(x, Expr):
            return _number(int(x))
        if x in self.names:
            return self.names[x]
        if isinstance(x, Symbol):
            if not self.known(x):
                raise LayoutError(f"expected names that have a value where they are used, got {x}")
            return C(x.name, ATOM, WIDE if x in self.wide else self.bits)
        if isinstance(x, Atom):
            return self._atom(x)
        return self._sum(x)

    # -- sums and products ------------------------------------------------------------------------------

    def _sum(self, x: Expr) -> C:
        out: C | None = None
        total: Int = 0
        for c, factors in terms_as_read(x):
            value, term = self._product(abs(c), factors)
            if out is None:
                total = value if c > 0 else -value
                out = term if c > 0 else self._negative(total, term)
                continue
            total = total + value if c > 0 else total - value
            sign, limit = ("+", SUM) if c > 0 else ("-", PRODUCT)
            out = self._binary(total, out, sign, term, SUM, limit)
        assert out is not None
        return out

    def _product(self, coefficient: int, factors: tuple[Factor, ...]) -> tuple[Int, C]:
        total: Int = coefficient
        out = _number(coefficient)
        for i, f in enumerate(factors):
            value, piece = self._factor(f)
            if i == 0 and coefficient == 1:
                total, out = value, self.names.get(value, piece)
            else:
                total = total * value
                out = self._binary(total, out, "*", piece, PRODUCT, UNARY)
        return total, out

    def _factor(self, f: Factor) -> tuple[Int, C]:
        if isinstance(f, Remainder):
            value = mod(f.x, f.d)
            return value, self.names.get(value) or self._remainder(value, f.x, f.d)
        if isinstance(f, Ceiling):
            value = floordiv(integer(f.x) - 1, f.d) + 1
            return value, self.names.get(value) or self._quotient(value, integer(f.x) + f.d - 1, f.d)
        return f, self.of(f)

    # -- quotients and other atoms ---------------------------------------------------------------------

    def _atom(self, x: Atom) -> C:
        if isinstance(x, Quotient):
            return self._quotient(x, *x.args)
        if isinstance(x, Xor | And):
            sign = " ^ " if isinstance(x, Xor) else " & "
            first, *parts = (self.of(a) for a in x.args)
            bits, stated = self._bits(x, first, *parts)
            first = first if any(p.bits == bits for p in parts) else _converted(first, bits)
            return C(sign.join(p.inside(UNARY) for p in (first, *parts)), BITS, bits, stated)
        if isinstance(x, Min | Max):
            return self._folded("min" if isinstance(x, Min) else "max", x)
        if isinstance(x, PowerOfTwo):
            count = self.of(x.args[0])
            bits, stated = self._made(x, count)
            return C(f"{_as(C('1'), bits)} << {count.inside(UNARY)}", SHIFT, bits, stated)
        if isinstance(x, Select):
            a, b = (self.of(v) for v in x.args[1:])
            test = self.condition(Fact(x.args[0], ">="))
            bits, stated = self._bits(x, a, b)
            return C(f"{test} ? {_as(a, bits, SUM)} : {_as(b, bits, SUM)}", CHOICE, bits, stated)
        raise ExpressionError(f"expected an operation that has C text, got {x.op} in {x}")

    def _quotient(self, value: Int, x: Int, d: Int) -> C:
        shift = _power(d)
        a = self.of(x)
        if shift is not None:
            bits, stated = self._bits(value, a)
            return C(f"{_as(a, bits, UNARY)} >> {shift}", SHIFT, bits, stated) if shift else a
        b = self.of(d)
        if self.nonnegative(x) and self.nonnegative(d):
            return self._binary(value, a, "/", b, PRODUCT, UNARY)
        bits, stated = self._bits(value, a, b)
        return C(f"floor_div({_as(a, bits)}, {_as(b, bits)})", ATOM, bits, stated)

    def _remainder(self, value: Int, x: Int, d: Int) -> C:
        shift = _power(d)
        a = self.of(x)
        if shift is not None:
            bits, stated = self._bits(value, a)
            return C(f"{_as(a, bits, UNARY)} & {(1 << shift) - 1}", BITS, bits, stated)
        b = self.of(d)
        if self.nonnegative(x) and self.nonnegative(d):
            return self._binary(value, a, "%", b, PRODUCT, UNARY)
        bits, stated = self._bits(value, a, b)
        return C(f"floor_mod({_as(a, bits)}, {_as(b, bits)})", ATOM, bits, stated)

    def _folded(self, name: str, x: Atom) -> C:
        parts = [self.of(a) for a in x.args]
        bits, stated = self._bits(x, *parts)
        out = _as(parts[0], bits)
        for p in parts[1:]:
            out = f"{name}({out}, {_as(p, bits)})"
        return C(out, ATOM, bits, stated)

    # -- widths -------------------------------------------------------------------------------------------

    def _bits(self, value: Int, *operands: C) -> tuple[int, int]:
        """The bits of an operation whose result fits where its operands do, and those that are stated of it."""
        wide = WIDE if value in self.wide else 0
        return max(wide, *(c.bits for c in operands)), max(wide, *(c.stated for c in operands))

    def _made(self, value: Int, *operands: C) -> tuple[int, int]:
        """The same of one whose result may be larger than its operands: it is computed in the stated bits, if it is."""
        bits, stated = self._bits(value, *operands)
        return (stated if bits < stated and not self.short(value) else bits), stated

    def _negative(self, value: Int, a: C) -> C:
        bits, stated = self._made(value, a)
        return C(f"-{_as(a, bits, UNARY)}", UNARY, bits, stated)

    def _binary(self, value: Int, a: C, sign: str, b: C, left: int, right: int) -> C:
        """Two operands, the first of them converted where the result has more bits than both."""
        if value in self.names:
            return self.names[value]
        bits, stated = self._bits(value, a, b) if sign in "/%" else self._made(value, a, b)
        first = a.inside(left) if max(a.bits, b.bits) == bits else f"int64_t({a.text})"
        return C(f"{first} {sign} {b.inside(right)}", left, bits, stated)


def _as(c: C, bits: int, limit: int = CHOICE) -> str:
    """The text as an integer of so many bits, as an operand of an operator that binds as *limit*."""
    return c.inside(limit) if c.bits == bits else f"int{bits}_t({c.text})"


def _converted(c: C, bits: int) -> C:
    """A piece as an integer of so many bits."""
    return c if c.bits == bits else C(_as(c, bits), ATOM, bits, c.stated)


def _number(n: int) -> C:
    wide = n not in INT32
    if n == -(1 << 31):
        return C("(-2147483647 - 1)", ATOM, 32)
    return C(f"{n}{'LL' if wide else ''}", ATOM if n >= 0 else UNARY, WIDE if wide else 32)


def _power(d: Int) -> int | None:
    """k where a number is 2^k."""
    return d.bit_length() - 1 if type(d) is int and d > 0 and d & (d - 1) == 0 else None
