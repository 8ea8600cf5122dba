"""The leaves of expressions: integers of any library, symbols with their ranges, and their names in messages."""

from __future__ import annotations

import operator
import reprlib
from collections.abc import Iterable
from typing import Any, Protocol, SupportsIndex, TypeAlias, cast

from ..errors import ExpressionError
from .arithmetic import defined, defines
from .expression import Expr, Int, Symbol, intern

INT32_MAX = 2**31 - 1


def wrapped32(x: Any) -> Any:
    """A number, or an array of numbers, as signed 32-bit integers hold it.

    >>> wrapped32(2**31), wrapped32(-1)
    (-2147483648, -1)
    """
    return (x + 2**31) % 2**32 - 2**31


MOST_BITS = 4096  # of an integer that is given; Python writes no number of more than 4300 digits
_LEAST, _MOST = -(1 << MOST_BITS), 1 << MOST_BITS


def decimal(n: int) -> str:
    """The digits of a number, or how many bits it has where Python writes none: from 4300 digits on."""
    return str(n) if n.bit_length() <= 3 * MOST_BITS else f"(a number of {n.bit_length()} bits)"


class SympyLike(Protocol):
    """An expression of SymPy for annotations: modules that only pass it on do not depend on SymPy."""

    @property
    def is_integer(self) -> bool | None: ...


IntLike: TypeAlias = "int | Expr | SupportsIndex | SympyLike"  # what ``integer`` takes; SupportsIndex are NumPy's


@defines
def coerce_or_none(x: Any) -> Int | None:
    """An integer or expression from *x* (NumPy and SymPy integers and expressions included), else None."""
    if isinstance(x, Expr) or type(x) is int:
        return x
    if isinstance(x, bool):
        return None
    if type(x).__module__.startswith(("sympy", "symlayout.expr.sympy")):
        return defined.from_sympy(x)
    try:
        return operator.index(x)
    except TypeError:
        return None


@defines
def integer(x: Any) -> Int:
    """*x* as an integer or an expression.

    Raises ExpressionError for anything else, floats and booleans included, and for integers beyond 4096 bits.
    """
    out = x if type(x) is int else coerce_or_none(x)
    if out is None:
        raise ExpressionError(f"expected an integer or an integer expression, got {_shown(x)} ({type(x).__name__})")
    if type(out) is int and not _LEAST <= out <= _MOST:
        raise ExpressionError(f"expected an integer of at most {MOST_BITS} bits, got one of {out.bit_length()} bits")
    return out


def _shown(x: object) -> str:
    """A value in an error; one that is nested too deep for its repr is cut short."""
    return reprlib.repr(x) if isinstance(x, tuple | list) else repr(x)


def dim(name: str, *, at_least: Any = 1, at_most: Any = INT32_MAX, below: Any = None, multiple_of: int = 1) -> Symbol:
    """A size: an integer symbol with its range (default 1 .. 2^31 - 1) and divisibility.

    >>> N = dim("N", multiple_of=8)
    >>> N // 8 * 8
    8*(N//8)
    >>> ld = dim("ld", at_least=N)          # bounds may be expressions

    Two different symbols of one name may not meet in a claim.
    Raises ExpressionError for a name that is not an identifier or a multiple below 1.
    """
    if not isinstance(name, str) or not all(part.isidentifier() for part in name.split(".")):
        raise ExpressionError(f"expected an identifier as the name of a dimension, got {_shown(name)}")
    multiple_of = integer(multiple_of)  # type: ignore[assignment]  # a number, as the next line checks
    if type(multiple_of) is not int or multiple_of < 1:
        raise ExpressionError(f"expected multiple_of to be an integer of at least 1, got {multiple_of!r}")
    upper = at_most if below is None else integer(below) - 1
    lower = None if at_least is None else integer(at_least)
    return cast(Symbol, intern(Symbol, (name, lower, None if upper is None else integer(upper), multiple_of)))


def dims(text: str, **facts: Any) -> tuple[Symbol, ...]:
    """Several sizes at once: ``M, N = dims("M N", multiple_of=8)``."""
    if not isinstance(text, str):
        raise ExpressionError(f"expected names such as 'M N', got {_shown(text)} ({type(text).__name__})")
    return tuple(dim(name, **facts) for name in text.replace(",", " ").split())


def index(name: str, below: Any) -> Symbol:
    """A coordinate: 0 <= name < below."""
    return dim(name, at_least=0, below=below)


def extent_of(i: Symbol) -> Int:
    """The n of a coordinate 0 <= i < n.

    >>> print(extent_of(index("i", 8)), extent_of(index("j", dim("N"))))
    8 N

    Raises ExpressionError for a symbol without an upper end.
    """
    if i.upper is None:
        raise ExpressionError(f"expected a coordinate with an upper end, got {i}; make it by index(name, below)")
    return integer(i.upper + 1)


def digit(name: str, n: Int) -> Symbol:
    """A coordinate 0 .. n - 1 whose name is not an identifier, so it cannot be a symbol of the user's.

    >>> print(digit("slot", 4))
    [slot]
    """
    return cast(Symbol, intern(Symbol, (f"[{name}]", 0, n - 1, 1)))


def names(xs: Iterable[Any]) -> str:
    """Names for a message: ``M, N``."""
    return ", ".join(str(x) for x in xs)
