"""Integer expressions: the normal form, its operations, its text, and SymPy at the border.

A new operation of expressions belongs here: its atom beside its like in ``division``, ``bits`` or ``choice``, its
operator in ``arithmetic``, what it means in ``domains``, how it is written in ``infix_text`` and ``c_text``. A module
imports only those before it, in the order ``arithmetic``, ``expression``, ``operands``, ``division``, ``bits``,
``fact``, ``choice``, ``domains``, all others.
"""

from __future__ import annotations

from . import infix_text, sympy_at_use  # noqa: F401  # they define text and SymPy's forms for expressions
from .bits import And, PowerOfTwo, Xor, xor
from .choice import Max, Min, Select, chosen, maximum, minimum, select, truth
from .division import Quotient, ceil_div_int, divides, floordiv, mod, split
from .domains import Integers, Substitution, by_symbols, evaluate, interpret, substitute, symbols_of
from .expression import Atom, Expr, Fact, Int, Monomial, Symbol, build, canonical, inside, intern, is_deep, terms_of
from .fact import at_least, eq, multiple_of
from .operands import INT32_MAX, IntLike, coerce_or_none, digit, dim, dims, extent_of, index, integer, names
from .written import written_divisors

__all__ = [
    "INT32_MAX",
    "And",
    "Atom",
    "Expr",
    "Fact",
    "Int",
    "IntLike",
    "Integers",
    "Max",
    "Min",
    "Monomial",
    "PowerOfTwo",
    "Quotient",
    "Select",
    "Substitution",
    "Symbol",
    "Xor",
    "at_least",
    "build",
    "by_symbols",
    "canonical",
    "ceil_div_int",
    "chosen",
    "coerce_or_none",
    "digit",
    "dim",
    "dims",
    "divides",
    "eq",
    "evaluate",
    "extent_of",
    "floordiv",
    "index",
    "inside",
    "integer",
    "intern",
    "interpret",
    "is_deep",
    "maximum",
    "minimum",
    "mod",
    "multiple_of",
    "names",
    "select",
    "split",
    "substitute",
    "symbols_of",
    "terms_of",
    "truth",
    "written_divisors",
    "xor",
]
