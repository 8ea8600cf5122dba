"""One walk over an expression, many meanings: integers, arrays, solver terms, C text, expressions again."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Collection, Mapping
from typing import Any, Protocol, cast

from ..errors import ExpressionError
from .arithmetic import Terms, defines, plus
from .bits import bit_and, power_of_two, shifted, xor
from .choice import chosen, maximum, minimum
from .division import floordiv
from .expression import SHALLOW, Atom, Expr, Int, Symbol, build, inside, is_deep, terms_of
from .operands import integer, names


class Domain(Protocol):
    """Meanings of the operations: integers, arrays, solver terms, C text."""

    def const(self, value: int) -> Any: ...
    def symbol(self, symbol: Symbol) -> Any: ...
    def add(self, terms: list[Any]) -> Any: ...
    def mul(self, factors: list[Any]) -> Any: ...
    def floordiv(self, a: Any, b: Any) -> Any: ...
    def xor(self, *args: Any) -> Any: ...
    def minimum(self, *args: Any) -> Any: ...
    def maximum(self, *args: Any) -> Any: ...
    def bit_and(self, *args: Any) -> Any: ...
    def power_of_two(self, count: Any) -> Any: ...
    def select(self, test: Any, a: Any, b: Any) -> Any: ...


def interpret(x: Int, domain: Domain, seen: dict[Atom, Any] | None = None) -> Any:
    """Give *x* its meaning in *domain*. In *seen* the meanings of symbols and quotients are kept from call to call.

    >>> from symlayout import dim
    >>> i = dim("i")
    >>> interpret((3 * i + 1) // 4, Integers({"i": 5}))
    4
    """
    seen = {} if seen is None else seen
    if isinstance(x, Expr) and is_deep(x):
        for a in inside(x, seen.__contains__):
            _meaning(a, domain, seen)
    return _meaning(x, domain, seen)


def _meaning(x: Int, domain: Domain, seen: dict[Atom, Any]) -> Any:
    """Each atom is met once, however often it occurs: nested quotients share their insides."""
    if not isinstance(x, Expr):
        return domain.const(x)
    if isinstance(x, Atom):
        if x in seen:
            return seen[x]
        if isinstance(x, Symbol):
            found = domain.symbol(x)
        else:
            found = getattr(domain, x.op)(*(_meaning(a, domain, seen) for a in x.args))
        seen[x] = found
        return found
    total = []
    for m, c in x.terms.items():
        factors = [_meaning(a, domain, seen) for a in m]
        total.append(domain.mul([domain.const(c), *factors] if c != 1 or not m else factors))
    return domain.add(total)


class Integers:
    """Plain integers, of any size; the meaning that the other domains are tested against."""

    def __init__(self, env: Mapping[Any, Any]) -> None:
        self.env = env

    def const(self, value: int) -> int:
        return value

    def symbol(self, symbol: Symbol) -> Any:
        value = self.env.get(symbol, self.env.get(symbol.name))
        if value is None:
            raise ExpressionError(f"expected a value for {symbol.name}, got values for {names(self.env) or 'nothing'}")
        return value

    def add(self, terms: list[Any]) -> Any:
        return sum(terms)

    def mul(self, factors: list[Any]) -> Any:
        return math.prod(factors)

    def floordiv(self, a: Any, b: Any) -> Any:
        if b < 1:
            raise ZeroDivisionError(f"expected a divisor of at least 1, got {b}")
        return a // b

    def xor(self, *args: Any) -> Any:
        out = 0
        for a in args:
            out = out ^ a
        return out

    def minimum(self, *args: Any) -> Any:
        return min(args)

    def maximum(self, *args: Any) -> Any:
        return max(args)

    def bit_and(self, *args: Any) -> Any:
        return functools.reduce(operator.and_, args)

    def power_of_two(self, count: Any) -> Any:
        return shifted(count)

    def select(self, test: Any, a: Any, b: Any) -> Any:
        return a if test >= 0 else b


class Substitution(Integers):
    """Expressions again, with some symbols replaced."""

    @staticmethod
    def forget() -> None:
        """Drop what earlier calls of ``subs`` have found, so that a measurement starts afresh."""
        _put.cache_clear()

    def symbol(self, symbol: Symbol) -> Any:
        value = self.env.get(symbol, self.env.get(symbol.name))
        return symbol if value is None else integer(value)

    def add(self, terms: list[Any]) -> Any:
        if len(terms) == 1:
            return terms[0]
        return build(functools.reduce(plus, map(terms_of, terms), {}))

    def mul(self, factors: list[Any]) -> Any:
        return functools.reduce(operator.mul, factors)

    def floordiv(self, a: Any, b: Any) -> Any:
        return floordiv(a, b)

    def xor(self, *args: Any) -> Any:
        out: Any = 0
        for a in args:
            out = xor(out, a)
        return out

    def minimum(self, *args: Any) -> Any:
        return minimum(*args)

    def maximum(self, *args: Any) -> Any:
        return maximum(*args)

    def bit_and(self, *args: Any) -> Any:
        return functools.reduce(bit_and, args)

    def power_of_two(self, count: Any) -> Any:
        return power_of_two(count)

    def select(self, test: Any, a: Any, b: Any) -> Any:
        return chosen(test, a, b)


@defines
def evaluate(x: Any, env: Mapping[Any, int]) -> int:
    """The integer value of *x* where *env* gives its symbols (or their names) values."""
    if type(x) is int:
        return x
    total = 0
    for m, c in terms_of(integer(x)).items():
        for a in m:
            known = env.get(a)  # a symbol whose value is not given under its name, the common case
            if known is None:
                domain = Integers(env)
                known = _meaning(a, domain, {}) if a.depth < SHALLOW else interpret(a, domain)
            c *= known
        total += c
    return cast(int, integer(total))


@defines
def substituted(x: Expr, values: Mapping[Any, Any]) -> Any:
    """*x* with symbols replaced, which its method ``subs`` gives."""
    put = tuple([values.get(s, values.get(s.name)) for s in x.symbols])
    for value in put:
        if value is not None and type(value) is not int and not isinstance(value, Expr):  # 1.0 and True equal 1
            return interpret(x, Substitution(values))
    return _put(x, put)


@functools.lru_cache(maxsize=1 << 14)  # provers ask four times in five what they have asked before
def _put(x: Expr, values: tuple[Int | None, ...]) -> Any:
    """*x* with a value, where it is not None, for each of its symbols."""
    return interpret(x, Substitution(dict(zip(x.symbols, values, strict=True))))


def substitute(x: Int, values: Mapping[Any, Any]) -> Any:
    """*x* with symbols replaced; integers stay as they are."""
    return x.subs(values) if values and isinstance(x, Expr) else x


def symbols_of(x: Any) -> tuple[Symbol, ...]:
    """The symbols of an expression; an integer has none.

    >>> from symlayout import dims
    >>> symbols_of(4), [s.name for s in symbols_of(sum(dims("M N")))]
    ((), ['M', 'N'])
    """
    return x.symbols if isinstance(x, Expr) else ()


def by_symbols(x: Int, some: Collection[Symbol]) -> tuple[Int, Int, Int]:
    """(the terms of *x* in these symbols alone and without any, those in others alone, those in both), as sums.

    >>> from symlayout import dims
    >>> i, j, N = dims("i j N")
    >>> by_symbols(3 * i + i * j + N * j + 5, {i, j})
    (i*j + 3*i + 5, 0, N*j)
    """
    parts: tuple[Terms, Terms, Terms] = ({}, {}, {})
    for m, c in terms_of(x).items():
        inside = {s for a in m for s in a.symbols}
        own = sum(s in some for s in inside)
        parts[0 if own == len(inside) else 2 if own else 1][m] = c
    return build(parts[0]), build(parts[1]), build(parts[2])
