"""Division of expressions: what the normal form shows to divide, quotients, remainders and ceilings.

    >>> from symlayout import dims
    >>> M, N = dims("M N")
    >>> (64 * M + 5) // 64, (M // 8) * 8 + M % 8, (M // 4) // 8
    (M, M, M//32)

A quotient stays only where nothing can be divided out, and ``a % b`` is ``a - b*(a//b)``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, cast

from ..errors import ExpressionError
from ..meter import step as spend
from .arithmetic import defines
from .expression import Expr, Int, Monomial, Operation, build, intern, terms_of
from .operands import integer
from .written import evaluated, tracing


class Quotient(Operation):
    """``args[0] // args[1]``, towards minus infinity, where nothing could be divided out."""

    __slots__ = ()
    op = "floordiv"

    def divided(self, d: Int) -> Int:
        """(a // b) // d is a // (b*d) for d >= 1."""
        return floordiv(self.args[0], self.args[1] * d)


def divides(d: Int, x: Int) -> Int | None:
    """x / d where the normal form shows that *d* divides *x*, else None.

    >>> from symlayout import dim
    >>> M = dim("M")
    >>> divides(4 * M, 8 * M * M), divides(4, M)
    (2*M, None)
    """
    if type(d) is int and type(x) is int:
        return x // d if d and x % d == 0 else None
    if d == x:
        return 1
    quotient, rest = split(x, d)
    return quotient if type(rest) is int and rest == 0 else None


def split(x: Int, d: Int) -> tuple[Int, Int]:
    """(q, r) with x == d*q + r, where q takes every term that *d* divides (T10, termwise).

    >>> from symlayout import dim
    >>> M = dim("M")
    >>> split(64 * M + 70, 64), split(M * M + 3, M)
    ((M + 1, 6), (M, 3))
    """
    dt = terms_of(d)
    if not dt:
        raise ExpressionError("expected a divisor of at least 1, got 0")
    if len(dt) == 1:
        return _split_by_monomial(x, *next(iter(dt.items())))
    return _split_by_polynomial(x, d)


def _split_by_monomial(x: Int, factor: Monomial, c: int) -> tuple[Int, Int]:
    q: dict[Monomial, int] = {}
    r: dict[Monomial, int] = {}
    for m, a in terms_of(x).items():
        rest = without(m, factor)
        if rest is None:
            r[m] = a
            continue
        whole, part = divmod(a, c)
        if whole:
            q[rest] = whole
        if part:
            r[m] = part
    return build(q), build(r)


def _split_by_polynomial(x: Int, d: Int) -> tuple[Int, Int]:
    """Division with remainder by the leading term, kept only where it comes out even."""
    lead, c = max(terms_of(d).items(), key=lambda t: _order(t[0]))
    q: Int = 0
    rest = x
    for _ in range(64):  # each round removes the leading term; polynomials here have few
        spend(len(terms_of(rest)))
        candidates = [(m, a) for m, a in terms_of(rest).items() if without(m, lead) is not None and a % c == 0]
        if not candidates:
            break
        m, a = max(candidates, key=lambda t: _order(t[0]))
        step = build({cast("Monomial", without(m, lead)): a // c})
        q, rest = q + step, rest - step * d
    if type(rest) is int and rest == 0:
        return q, 0
    return 0, x


def _order(m: Monomial) -> tuple[int, list[str]]:
    return len(m), [a.key for a in m]


def without(m: Monomial, factor: Monomial) -> Monomial | None:
    """m / factor for monomials, or None."""
    if not factor:
        return m
    rest = list(m)
    for a in factor:
        if a not in rest:
            return None
        rest.remove(a)
    return tuple(rest)


@defines
def floordiv(x: Int, d: Int) -> Int:
    """x // d, with everything divided out that the normal form shows to be divisible."""
    if tracing.divisors is not None:
        evaluated(d)
    if type(d) is int:
        if d <= 0:
            raise ExpressionError(f"expected a divisor of at least 1, got {d}")
        if d == 1:
            return x
        if type(x) is int:
            return x // d
    q, r = split(x, d)
    if type(r) is int and (r == 0 or (type(d) is int and 0 <= r < d)):
        return q
    return q + _quotient(*_reduced(r, d))


def _reduced(x: Int, d: Int) -> tuple[Int, Int]:
    """The same quotient with common factors cancelled: (8*M + 3, 64) gives (M, 8)."""
    dt = terms_of(d)
    if len(dt) != 1:
        return x, d
    ((dm, dc),) = dt.items()
    xt = dict(terms_of(x))
    constant = xt.pop((), 0)
    g = math.gcd(dc, *xt.values())
    if g > 1 and not dm:
        return build({m: a // g for m, a in xt.items()}) + constant // g, dc // g
    if dm and dc > 1:  # floor((c*a + r) / (c*b)) is floor(a / b) for each r of 0 .. c - 1
        rest = {m: c for m, c in xt.items() if c % dc}
        most = constant % dc + sum(c * _most(m) if c > 0 else math.inf for m, c in rest.items())
        if rest and most < dc:
            whole = {m: c // dc for m, c in xt.items() if m not in rest}
            return build(whole) + constant // dc, build({dm: 1})
    if dm and not constant:
        common = _common(dm, xt)
        g = math.gcd(dc, *xt.values())
        divisor = build({common: g})
        if divisor != 1:
            return cast("Int", divides(divisor, x)), cast("Int", divides(divisor, d))
    return x, d


def _most(m: Monomial) -> float:
    """The most that a monomial is; infinite unless it is an index of 0 .. n with a number n."""
    (a, *more) = m
    lower, upper = (getattr(a, end, None) for end in ("lower", "upper"))
    return upper if not more and lower == 0 and type(upper) is int else math.inf


def _common(m: Monomial, terms: Iterable[Monomial]) -> Monomial:
    common = list(m)
    for n in terms:
        kept, rest = [], list(n)
        for a in common:
            if a in rest:
                rest.remove(a)
                kept.append(a)
        common = kept
    return tuple(common)


def _quotient(x: Int, d: Int) -> Int:
    if type(d) is int and d == 1:
        return x
    if type(x) is int and type(d) is int:
        return x // d
    known = x.divided(d) if isinstance(x, Operation) else None
    return intern(Quotient, (x, d)) if known is None else known


@defines
def mod(x: Int, d: Int) -> Int:
    """x % d, in [0, d)."""
    if type(x) is int and type(d) is int and d > 0:
        return x % d
    return x - d * floordiv(x, d)


def ceil_div_int(x: Any, d: Any) -> Any:
    """The least q with q*d >= x."""
    x, d = integer(x), integer(d)
    if not isinstance(d, Expr):
        return floordiv(x + d - 1, d)
    evaluated(d)
    whole = divides(d, x)
    return floordiv(x + d - 1, d) if whole is None else whole
