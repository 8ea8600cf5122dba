"""Expressions as Python functions, one for each expression, made once: fast on integers and on arrays.

>>> from symlayout import dim
>>> i = dim("i")
>>> compiled((3 * i + 1) // 4)({"i": np.arange(4)})
array([0, 1, 1, 2])
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

from ..errors import ExpressionError
from .bits import shifted
from .domains import interpret
from .expression import Expr, Fact, Symbol

Env: TypeAlias = Mapping[str, Any]  # the value of each symbol, by name: an integer or an array of int64


class Source:
    """A domain of ``interpret``: each operation becomes an assignment, so that what is shared is computed once."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def _named(self, source: str) -> str:
        self.lines.append(f"t{len(self.lines)} = {source}")
        return f"t{len(self.lines) - 1}"

    def const(self, value: int) -> str:
        return str(value) if value >= 0 else f"({value})"

    def symbol(self, symbol: Symbol) -> str:
        return self._named(f"env[{symbol.name!r}]")

    def add(self, terms: list[str]) -> str:
        return f"({' + '.join(terms)})"

    def mul(self, factors: list[str]) -> str:
        return "*".join(factors)

    def floordiv(self, a: str, b: str) -> str:
        return self._named(f"{a} // {b}" if b.isdigit() else f"quotient({a}, {b})")

    def xor(self, *args: str) -> str:
        return self._named(" ^ ".join(args))

    def minimum(self, *args: str) -> str:
        return self._named(f"least({', '.join(args)})")

    def maximum(self, *args: str) -> str:
        return self._named(f"greatest({', '.join(args)})")

    def bit_and(self, *args: str) -> str:
        return self._named(" & ".join(args))

    def power_of_two(self, count: str) -> str:
        return self._named(f"power_of_two({count})")

    def select(self, test: str, a: str, b: str) -> str:
        return self._named(f"select({test}, {a}, {b})")


def _quotient(a: Any, b: Any) -> Any:
    if b < 1 if type(b) is int else np.any(np.less(b, 1)):
        raise ZeroDivisionError(f"expected divisors of at least 1, got {np.min(b)}")
    return a // b


def power_of_two(count: Any) -> Any:
    """``1 << count`` for an integer or an array, 0 where the count is negative."""
    if type(count) is int:
        return shifted(count)
    return np.where(count < 0, 0, 1 << np.maximum(count, 0))


def chosen(test: Any, a: Any, b: Any) -> Any:
    """a where the test is at least 0, else b, for integers and arrays."""
    return (a if test >= 0 else b) if type(test) is int else np.where(test >= 0, a, b)


def _least(*xs: Any) -> Any:
    return min(xs) if all(type(x) is int for x in xs) else functools.reduce(np.minimum, xs)


def _greatest(*xs: Any) -> Any:
    return max(xs) if all(type(x) is int for x in xs) else functools.reduce(np.maximum, xs)


@functools.lru_cache(maxsize=1 << 14)
def compiled(x: Expr) -> Callable[[Env], Any]:
    """The function of an environment that an expression is. It raises ExpressionError for a symbol without a value."""
    source = Source()
    result = interpret(x, source)
    names: dict[str, Any] = {"quotient": _quotient, "least": _least, "greatest": _greatest}
    names |= {"power_of_two": power_of_two, "select": chosen}
    body = "\n    ".join((*source.lines, f"return {result}"))
    exec(f"def run(env):\n    {body}", names)
    run: Callable[[Env], Any] = names["run"]

    def checked(env: Env) -> Any:
        try:
            return run(env)
        except KeyError as e:
            raise ExpressionError(
                f"expected a value for {e.args[0]} in {x}, got values for {', '.join(env) or 'nothing'}"
            ) from None

    return checked


def value(x: Any, env: Env) -> Any:
    """The value of an integer or an expression: an integer, or an array where a symbol has one."""
    return compiled(x)(env) if isinstance(x, Expr) else x


def holds(fact: Fact, env: Env) -> Any:
    """Whether a fact holds: a truth value, or an array of them."""
    x = value(fact.expr, env)
    if fact.relation == ">=":
        return x >= 0
    return x == 0 if fact.relation == "==" else x % fact.modulus == 0
