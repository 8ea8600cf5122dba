"""Facts: relations between expressions that are assumed, claimed or tested.

>>> from symlayout import dims
>>> M, N = dims("M N")
>>> M + 1 <= N, eq(M, N), (M * N).multiple_of(8)
(N >= M + 1, M == N, (M*N) % 8 == 0)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import ExpressionError, UndecidedError
from .expression import Expr, Int, Symbol, build, divides, integer, names, stated, terms_of


class Fact:
    """``expr >= 0``, ``expr == 0`` or ``expr % modulus == 0``: an assumption, a goal or a predicate."""

    __slots__ = ("expr", "modulus", "relation")

    def __init__(self, expr: Int, relation: str, modulus: int = 0) -> None:
        self.expr, self.relation, self.modulus = expr, relation, modulus
        stated(self)

    @property
    def value(self) -> bool | None:
        """True or False where the normal form decides it, else None."""
        e = self.expr
        if type(e) is int:
            return e >= 0 if self.relation == ">=" else e == 0 if self.relation == "==" else e % self.modulus == 0
        if self.relation == "%" and divides(self.modulus, e) is not None:
            return True
        return None

    def __bool__(self) -> bool:
        if self.value is None:
            raise UndecidedError(
                f"expected a fact that the normal form decides, got {self}, which depends on "
                f"{names(self.symbols)}; pass it as an assumption or prove it as a claim, do not branch on it"
            )
        return self.value

    def negated(self) -> tuple[Fact, ...]:
        """Facts of which exactly one holds where this one fails (a congruence has no such list)."""
        if self.relation == ">=":
            return (Fact(-self.expr - 1, ">="),)
        if self.relation == "==":
            return (Fact(self.expr - 1, ">="), Fact(-self.expr - 1, ">="))
        raise ExpressionError(f"expected an order or an equality, got {self}")

    # -- as a number: 1 where it holds, else 0 -------------------------------------------------------

    def __add__(self, other: Any) -> Any:
        return truth(self) + _number(other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return truth(self) - _number(other)

    def __rsub__(self, other: Any) -> Any:
        return _number(other) - truth(self)

    def __mul__(self, other: Any) -> Any:
        return truth(self) * _number(other)

    __rmul__ = __mul__

    # -- inspection ------------------------------------------------------------------------------------

    def subs(self, values: Mapping[Any, Any]) -> Fact:
        """The fact about other symbols or numbers."""
        return Fact(substitute(self.expr, values), self.relation, self.modulus)

    def at(self, env: Mapping[Any, int]) -> bool:
        """Whether the fact is true where *env* gives its symbols values; ZeroDivisionError for a divisor below 1."""
        x = evaluate(self.expr, env)
        return x >= 0 if self.relation == ">=" else x == 0 if self.relation == "==" else x % self.modulus == 0

    @property
    def symbols(self) -> tuple[Symbol, ...]:
        return self.expr.symbols if isinstance(self.expr, Expr) else ()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Fact):
            return NotImplemented
        return (self.expr, self.relation, self.modulus) == (other.expr, other.relation, other.modulus)

    def __hash__(self) -> int:
        return hash((self.expr, self.relation, self.modulus))

    def __str__(self) -> str:
        from .infix_text import compared, factor

        if self.relation == "%":
            return f"{factor(self.expr)} % {self.modulus} == 0"
        t = terms_of(self.expr)
        left = build({m: c for m, c in t.items() if c > 0})
        right = build({m: -c for m, c in t.items() if c < 0})
        if self.relation == ">=" and type(left) is int:
            return f"{compared(right)} <= {left}"
        return f"{compared(left)} {self.relation} {compared(right)}"

    __repr__ = __str__


def _number(x: Any) -> Int:
    return truth(x) if isinstance(x, Fact) else integer(x)


def at_least(a: Int, b: Int) -> Fact:
    """The fact a >= b."""
    return Fact(a - b, ">=")


def eq(a: Any, b: Any) -> Fact:
    """The fact that two expressions have the same value; ``==`` compares their form."""
    return Fact(integer(a) - integer(b), "==")


def multiple_of(a: Any, modulus: int) -> Fact:
    """The fact that the positive integer *modulus* divides *a*."""
    modulus = integer(modulus)  # type: ignore[assignment]  # a number, as the next line checks
    if type(modulus) is not int or modulus < 1:
        raise ExpressionError(f"expected a modulus of at least 1, got {modulus!r}")
    return Fact(integer(a), "%", modulus)


from .choice import truth  # noqa: E402  # which is made of facts
from .domains import evaluate, substitute  # noqa: E402
