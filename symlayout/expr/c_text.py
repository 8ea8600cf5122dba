"""Expressions as C: one operation for each node, by default on signed 64-bit integers.

    >>> from symlayout import dims, index
    >>> M, t = dims("M")[0], index("t", 256)
    >>> print(c_text(8 * (t // 8) + (t % 8 ^ t // 32)))
    (8LL*floor_div(t, 8LL) + ((t + (-8LL)*floor_div(t, 8LL)) ^ floor_div(t, 32LL)))
    >>> print(c_text(t // 3))
    floor_div(t, 3LL)

``floor_div`` rounds towards minus infinity, as ``//`` does; C's ``/`` rounds towards zero. The helpers are ``HELPERS``.
Whether every partial result fits is for the caller to know: the expressions here are integers without end.
"""

from __future__ import annotations

from typing import Any

from ..errors import ExpressionError
from .domains import interpret
from .expression import SHALLOW, Expr, Int, Symbol, is_deep

HELPERS = """\
static inline long long floor_div(long long a, long long b) { return a / b - (a % b < 0); }
static inline long long least(long long a, long long b) { return a < b ? a : b; }
static inline long long greatest(long long a, long long b) { return a > b ? a : b; }
static inline long long power_of_two(long long k) { return k < 0 ? 0 : 1LL << k; }
"""


def c_text(x: Int) -> str:
    """The expression in C, over the names of its symbols and ``HELPERS``.

    Raises ExpressionError for operations nested so deep that their text, which shares nothing, has no end in sight.
    """
    if isinstance(x, Expr) and is_deep(x):
        raise ExpressionError(f"expected at most {SHALLOW} operations inside one another, got {x}; name its parts")
    return str(interpret(x, CText()))


class CText:
    """The operations as C text, in parentheses wherever they are operands."""

    def const(self, value: int) -> str:
        return f"{value}LL" if value >= 0 else f"({value}LL)"

    def symbol(self, symbol: Symbol) -> str:
        return symbol.name

    def add(self, terms: list[str]) -> str:
        return f"({' + '.join(terms)})"

    def mul(self, factors: list[str]) -> str:
        return "*".join(factors)

    def floordiv(self, a: str, b: str) -> str:
        return f"floor_div({a}, {b})"

    def xor(self, *args: str) -> str:
        return f"({' ^ '.join(args)})"

    def bit_and(self, *args: str) -> str:
        return f"({' & '.join(args)})"

    def minimum(self, *args: str) -> str:
        return self._folded("least", args)

    def maximum(self, *args: str) -> str:
        return self._folded("greatest", args)

    def _folded(self, name: str, args: tuple[Any, ...]) -> str:
        out, *others = args
        for a in others:
            out = f"{name}({out}, {a})"
        return str(out)

    def power_of_two(self, count: str) -> str:
        return f"power_of_two({count})"

    def select(self, test: str, a: str, b: str) -> str:
        return f"({test} >= 0 ? {a} : {b})"
