"""The partial results that code computes for an expression, in the order of its text.

    >>> from symlayout import dims
    >>> M, N = dims("M N")
    >>> for p in partial_results(128 * M + 4 * (N % 32) + 8):
    ...     print(p)
    N % 32
    4*(N % 32)
    128*M
    4*(N % 32) + 128*M
    4*(N % 32) + 128*M + 8

A sum is computed from its first term on, each term just before it is added; a product from its coefficient on.
Quotients, remainders, minima, maxima and bit operations come after their arguments, a choice after its condition and
both values; ``ceil(x/d)`` is ``(x + d - 1)//d``. A condition is computed as the text of a kernel has it, see
``comparison``. So an expression has one order, and whoever prints code has nothing to decide. Integers are signed,
sums and products wrap, and quotients round down. A sum that is only taken modulo a power of two, such as a count of
uses modulo the slots of a ring, needs its low bits alone.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from .choice import Min, Select
from .division import Quotient, floordiv, mod
from .expression import Atom, Expr, Fact, Int, Symbol, inside, terms_of
from .infix_text import Ceiling, Factor, Remainder, only_remainder, sides, terms_as_read
from .operands import integer

Held: TypeAlias = "Callable[[Symbol], int]"  # the bits in which a symbol is held

LEAST_BITS = 32  # of any partial result


@dataclass(frozen=True)
class Partial:
    """One operation of the code: its word, its operands, and its *value* as an expression."""

    word: str  # of + - * // %, or of the kind of an atom; = for the operand itself
    operands: tuple[Int, ...]
    value: Int
    low: bool = False  # whether all that is used are fewer low bits than any width has

    def __str__(self) -> str:
        return str(self.value)


@dataclass(frozen=True)
class Comparison:
    """A comparison in code: *left* and *right*, each computed on its own."""

    left: Int
    sign: str
    right: Int

    def __str__(self) -> str:
        if self.sign == ">=" and type(self.left) is int:
            return f"{self.right} <= {self.left}"
        return f"{self.left} {self.sign} {self.right}"


def comparison(fact: Fact) -> Comparison:
    """The two sides that code compares for a fact: what the normal form adds, and what it subtracts.

    >>> from symlayout import dims
    >>> i, N = dims("i N")
    >>> print(comparison(i < N), comparison(i + 8 <= N), comparison(i + 8 > N), comparison(i.multiple_of(4)), sep="; ")
    N > i; N >= i + 8; i + 7 >= N; i % 4 == 0
    >>> print(comparison(8 * (i % 4) < N), comparison(i % 4 < 1), comparison(i % 4 < 2), sep="; ")
    N > 8*(i % 4); i % 4 == 0; i % 4 <= 1

    A difference of just 1 is the strict order: ``i < N`` adds nothing to i. No remainder is below 0.
    """
    if fact.relation == "%":
        return Comparison(mod(fact.expr, fact.modulus), "==", 0)
    left, right = sides(fact.expr)
    if left == 0 and (found := only_remainder(right)) is not None:
        return Comparison(found, "==", 0)
    if fact.relation == "==":
        return Comparison(right, "==", left) if type(left) is int else Comparison(left, "==", right)
    if terms_of(right).get((), 0) != 1 or type(fact.expr) is int:
        return Comparison(left, ">=", right)
    if type(left) is int:  # 0 >= right; more than 0 where a remainder has the one that is added: 2 >= (M + 1) % 3
        return Comparison(-1, ">=", right - 1) if left == 0 else Comparison(left, ">=", right)
    return Comparison(left, ">", right - 1)


@functools.lru_cache(maxsize=1 << 14)
def partial_results(*exprs: Int | Fact) -> tuple[Partial, ...]:
    """Every partial result of some expressions and conditions, in order, each once; symbols and numbers are none."""
    order = _Order()
    for x in exprs:
        for side in _sides(x):
            for a in inside(side, order.found.__contains__) if isinstance(side, Expr) else ():
                order.compute(a)
            order.compute(side)
    return tuple(order.found.values())


def computed(x: Int | Fact, known: Callable[[Int], bool]) -> list[Partial]:
    """The partial results that code computes for an expression or a condition where it has the values of some.

    >>> from symlayout import dims
    >>> i, j = dims("i j")
    >>> [str(p) for p in computed(4 * (i % 3) + j // 5, lambda x: x == i % 3)]
    ['4*(i % 3)', 'j//5', '4*(i % 3) + (j//5)']
    """
    found, needed = [], set(_sides(x))
    for p in reversed(partial_results(x)):  # what needs a result comes behind it
        if p.value in needed and not known(p.value):
            found.append(p)
            needed.update(p.operands)
    return found[::-1]


def _sides(x: Int | Fact) -> tuple[Int, ...]:
    if not isinstance(x, Fact):
        return (x,)
    found = comparison(x)
    return found.left, found.right


class _Order:
    """Partial results in the order in which they are computed. *low* is how many low bits are used, 0 for all."""

    def __init__(self) -> None:
        self.found: dict[Int, Partial] = {}
        self._used: dict[Int, int] = {}  # the low bits that any use of a partial result takes, 0 for all

    def compute(self, x: Any, low: int = 0) -> Int:
        """The value of an expression after all its partial results, and it, are found."""
        if not isinstance(x, Expr) or isinstance(x, Symbol) or (x in self.found and not self._more(x, low)):
            return integer(x)
        if isinstance(x, Select):
            return self._add("select", (*self._condition(x.args[0]), *map(self.compute, x.args[1:])), x, low)
        if isinstance(x, Atom):
            operands = tuple(self.compute(a, more) for a, more in zip(x.args, _used(x, low), strict=True))
            return self._add(x.op, operands, x, low)
        total: Int | None = None
        for c, factors in terms_as_read(x):
            term = self._product(abs(c), factors, low)
            if total is None:
                total = term if c > 0 else self._add("-", (term,), -term, low)
            else:
                value = total + term if c > 0 else total - term
                total = self._add("+" if c > 0 else "-", (total, term), value, low)
        assert total is not None
        return total if total == x else self._add("=", (total,), x, low)  # in another normal form

    def _condition(self, q: Int) -> tuple[Int, ...]:
        """The comparison of a choice, for q >= 0; an equality compares a minimum of two."""
        if isinstance(q, Min):
            return (self.compute(q),)
        return tuple(map(self.compute, _sides(Fact(q, ">="))))

    def _product(self, coefficient: int, factors: tuple[Factor, ...], low: int) -> Int:
        """A term from its coefficient on."""
        total: Int = coefficient
        for i, f in enumerate(factors):
            value = self._factor(f, low)
            total = value if i == 0 and coefficient == 1 else self._add("*", (total, value), total * value, low)
        return total

    def _factor(self, f: Factor, low: int) -> Int:
        if isinstance(f, Remainder):
            x, d = self.compute(f.x, _power(f.d)), self.compute(f.d)
            return self._add("%", (x, d), mod(x, d), 0)
        if isinstance(f, Ceiling):
            x, d = self.compute(f.x), self.compute(f.d)
            above = self.compute(x + d - 1)
            return self._add("//", (above, d), floordiv(x - 1, d) + 1, 0)
        return self.compute(f, low)

    def _add(self, word: str, operands: tuple[Int, ...], value: Int, low: int) -> Int:
        known = not isinstance(value, Expr) or isinstance(value, Symbol) or value in self.found
        if not known or (value in self.found and self._more(value, low)):  # what is used in full is used in full
            self.found[value], self._used[value] = Partial(word, operands, value, bool(low)), low
        return value

    def _more(self, x: Int, low: int) -> bool:
        """Whether so many low bits are more than uses of a partial result so far take: of its operands more count."""
        known = self._used[x]
        return known > 0 and (low == 0 or low > known)


def _power(d: Int) -> int:
    """k where a number is 2^k, of no more bits than any width has; else 0."""
    return d.bit_length() - 1 if type(d) is int and d & (d - 1) == 0 and d.bit_length() < LEAST_BITS else 0


def _used(x: Atom, low: int) -> tuple[int, ...]:
    """The number of low bits of each argument that affect as many of the result: a quotient by 2^j drops j."""
    more = low + _power(x.args[1]) if low and isinstance(x, Quotient) and _power(x.args[1]) else 0
    return (more if more < LEAST_BITS else 0, *(0 for _ in x.args[1:]))


# -- widths ---------------------------------------------------------------------------------------------


def wrapped(value: int, bits: int) -> int:
    """The signed integer of so many bits that arithmetic modulo 2^bits leaves of a value.

    >>> wrapped(2**31, 32), wrapped(-5, 32), wrapped(2**32 + 7, 32)
    (-2147483648, -5, 7)
    """
    half = 1 << (bits - 1)
    return (value + half) % (1 << bits) - half


def within(interval: tuple[int, int], bits: int) -> bool:
    """Whether all integers of an interval, both ends included, are signed integers of so many bits.

    >>> within((-(2**31), 2**31 - 1), 32), within((0, 2**31), 32)
    (True, False)
    """
    return -(1 << (bits - 1)) <= interval[0] and interval[1] < 1 << (bits - 1)


def widths(partials: tuple[Partial, ...], bits: int, wide: frozenset[Int], held: Held) -> dict[Int, int]:
    """The bits of each partial result: *bits*, or 64 where it is *wide* or an operand has 64.

    Operands are converted to the width of the result, as in C: a 64-bit operand makes a 64-bit result, a number that
    does not fit 32 bits has 64.

    >>> from symlayout import dims
    >>> i, j = dims("i j")
    >>> found = widths(partial_results(i * j + 4 * i), 32, frozenset({i * j}), lambda s: 32)
    >>> {str(x): n for x, n in found.items()}
    {'i*j': 64, '4*i': 32, 'i*j + 4*i': 64}
    """
    out: dict[Int, int] = {}
    for p in partials:
        operands = (width_of(x, out, held) for x in p.operands)
        out[p.value] = 64 if p.value in wide else max(bits, *operands)
    return out


def width_of(x: Int, known: Mapping[Int, int], held: Held) -> int:
    """The bits of an operand: a partial result whose width is known, a symbol or a number."""
    if isinstance(x, Symbol):
        return held(x)
    return known[x] if isinstance(x, Expr) else 32 if within((x, x), 32) else 64
