"""SymPy at the border: its integers, symbols and expressions in, and ours out as SymPy expressions.

Nothing on a hot path comes here; SymPy is imported only when one of its objects appears.
"""

from __future__ import annotations

import functools
import operator
from typing import Any

import sympy as sp

from ..errors import ExpressionError
from . import bits
from .bits import power_of_two
from .choice import chosen, maximum, minimum
from .division import ceil_div_int, floordiv, mod
from .domains import interpret
from .expression import SHALLOW, Expr, Symbol, is_deep
from .operands import INT32_MAX, dim


def from_sympy(x: Any) -> Any:
    """Our integer or expression for a SymPy one.

        from_sympy(Symbol("M", integer=True, positive=True) * 8)  ->  8*M, with M >= 1

    Raises ExpressionError for a symbol that SymPy does not know to be an integer, and for functions
    other than +, *, powers, floor, ceiling, Mod, Min, Max and those of this module.
    """
    x = sp.sympify(x)
    if x.is_Integer:
        return int(x)
    if x.is_Symbol:
        return _symbol(x)
    if x.is_Add:
        return sum((from_sympy(a) for a in x.args[1:]), from_sympy(x.args[0]))
    if x.is_Mul:
        return _product(x)
    if x.is_Pow and x.exp.is_Integer and x.exp >= 0:
        return from_sympy(x.base) ** int(x.exp)
    if isinstance(x, sp.floor):
        return floordiv(*map(from_sympy, _fraction(x.args[0])))
    if isinstance(x, sp.ceiling):
        return ceil_div_int(*map(from_sympy, _fraction(x.args[0])))
    if isinstance(x, sp.Mod):
        return mod(*map(from_sympy, x.args))
    if isinstance(x, sp.Min):
        return minimum(*map(from_sympy, x.args))
    if isinstance(x, sp.Max):
        return maximum(*map(from_sympy, x.args))
    if isinstance(x, xor | bit_and):
        return functools.reduce(bits.xor if isinstance(x, xor) else bits.bit_and, map(from_sympy, x.args))
    if x.is_Pow and x.base == 2:
        return power_of_two(from_sympy(x.exp))
    if isinstance(x, sp.Piecewise) and len(x.args) == 2 and isinstance(x.args[0].cond, sp.Ge | sp.Gt | sp.Le | sp.Lt):
        (a, test), (b, _) = x.args
        strict = isinstance(test, sp.Gt | sp.Lt)
        return chosen(from_sympy(test.gts - test.lts) - int(strict), from_sympy(a), from_sympy(b))
    raise ExpressionError(
        "expected an integer expression of +, *, floor, ceiling, Mod, Min, Max, powers of two and the functions "
        f"of symlayout.expr.sympy_bridge, got {x} ({type(x).__name__})"
    )


class xor(sp.Function):  # type: ignore[misc]  # noqa: N801  # SymPy's functions are lower-case, and it has no stubs
    """Bitwise exclusive or of integers."""

    is_integer = True

    @classmethod
    def eval(cls, *args: Any) -> Any:
        return sp.Integer(functools.reduce(operator.xor, map(int, args))) if all(a.is_Integer for a in args) else None


class bit_and(sp.Function):  # type: ignore[misc]  # noqa: N801
    """Bitwise and of integers."""

    is_integer = True

    @classmethod
    def eval(cls, *args: Any) -> Any:
        return sp.Integer(functools.reduce(operator.and_, map(int, args))) if all(a.is_Integer for a in args) else None


def _product(x: Any) -> Any:
    _, denominator = x.as_numer_denom()
    if denominator != 1:
        raise ExpressionError(f"expected an integer expression, got {x}; write floor(...) or ceiling(...)")
    out: Any = 1
    for a in x.args:
        out = out * from_sympy(a)
    return out


def _fraction(x: Any) -> tuple[Any, Any]:
    numerator, denominator = sp.together(x).as_numer_denom()
    return numerator, denominator


def _symbol(x: Any) -> Symbol:
    if not x.is_integer:
        raise ExpressionError(
            f"expected an integer symbol, got Symbol({x.name!r}); "
            f"declare it as Symbol({x.name!r}, integer=True, positive=True) or symlayout.dim({x.name!r})"
        )
    if x.is_positive:
        return dim(x.name)
    if x.is_nonnegative:
        return dim(x.name, at_least=0)
    return dim(x.name, at_least=-INT32_MAX - 1)


def to_sympy(x: Any) -> Any:
    """The SymPy expression for one of ours; symbols carry integer, positive or nonnegative.

    Raises ExpressionError for operations nested so deep that SymPy does not take them.
    """
    if isinstance(x, Expr) and is_deep(x):
        raise ExpressionError(f"expected at most {SHALLOW} operations inside one another for SymPy, got {x}")
    return interpret(x, _Terms())


def latex(x: Any) -> str:
    """LaTeX of an expression."""
    return str(sp.latex(to_sympy(x)))


class _Terms:
    """The operations as SymPy terms."""

    def const(self, value: int) -> Any:
        return sp.Integer(value)

    def symbol(self, s: Symbol) -> Any:
        low = s.lower
        known = {}
        if type(low) is int and low >= 0:
            known = {"positive": True} if low > 0 else {"nonnegative": True}
        return sp.Symbol(s.name, integer=True, **known)

    def add(self, terms: list[Any]) -> Any:
        return sp.Add(*terms)

    def mul(self, factors: list[Any]) -> Any:
        return sp.Mul(*factors)

    def floordiv(self, a: Any, b: Any) -> Any:
        return sp.floor(a / b)

    def xor(self, *args: Any) -> Any:
        return xor(*args)

    def minimum(self, *args: Any) -> Any:
        return sp.Min(*args)

    def maximum(self, *args: Any) -> Any:
        return sp.Max(*args)

    def bit_and(self, *args: Any) -> Any:
        return bit_and(*args)

    def power_of_two(self, count: Any) -> Any:
        return sp.Pow(2, count)

    def select(self, test: Any, a: Any, b: Any) -> Any:
        return sp.Piecewise((a, test >= 0), (b, True))
