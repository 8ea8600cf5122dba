"""Expressions as an expert would write them: remainders and ceilings are brought back from the normal form.

>>> from symlayout import dim
>>> M = dim("M")
>>> print(M - 8 * (M // 8), (M + 7) // 8)
M % 8 ceil(M/8)
"""

from __future__ import annotations

import functools
import hashlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from .arithmetic import defines, key_of
from .bits import And, PowerOfTwo, Xor
from .choice import Max, Min, Select
from .division import Quotient, divides, floordiv, mod, without
from .expression import LONGEST, Atom, Expr, Fact, Int, Monomial, Symbol, build, canonical, terms_of
from .operands import decimal


@dataclass(frozen=True)
class Remainder:
    """``x % d``, brought back from x - d*(x//d)."""

    x: Int
    d: Int

    def __str__(self) -> str:
        return f"({factor(self.x)} % {factor(self.d)})"


@dataclass(frozen=True)
class Ceiling:
    """``ceil(x/d)``, brought back from (x - 1)//d + 1; it is computed as (x + d - 1)//d."""

    x: Int
    d: Int

    def __str__(self) -> str:
        return f"ceil({factor(self.x)}/{factor(self.d)})"


Factor: TypeAlias = "Atom | Remainder | Ceiling"
READ_BACK = 4096  # terms of a sum times those of its quotients, beyond which they stand as they are
Term: TypeAlias = "tuple[int, tuple[Factor, ...]]"  # coefficient and factors, as they are read


@defines
def expression_text(x: Expr) -> str:
    """The expression as an expert would write it, with % and ceil recovered from the normal form."""
    return _cut(_atom_text(x) if isinstance(x, Atom) else _sum_text(terms_as_read(x)), x)


def _cut(source: str, x: Expr) -> str:
    """Text of bearable length that still tells different expressions apart."""
    if len(source) <= LONGEST:
        return source
    return f"{source[: LONGEST // 2]}... #{hashlib.sha256(canonical(x).encode()).hexdigest()[:16]}"


def _atom_text(a: Atom) -> str:
    if isinstance(a, Symbol):
        return a.name
    if isinstance(a, Quotient):
        x, d = a.args
        whole = _rounded_up(x, d)
        return f"{factor(x)}//{factor(d)}" if whole is None else f"ceil({factor(whole)}/{factor(d)})"
    if isinstance(a, Xor | And):
        return (" ^ " if isinstance(a, Xor) else " & ").join(factor(b) for b in a.args)
    if isinstance(a, PowerOfTwo):
        return f"1 << {factor(a.args[0])}"
    if isinstance(a, Select):
        return f"select({', '.join((_condition(a.args[0]), *map(str, a.args[1:])))})"
    return f"{'min' if isinstance(a, Min) else 'max'}({', '.join(map(str, a.args))})"


def _rounded_up(x: Int, d: Int) -> Expr | None:
    """The y of a quotient x//d that reads as ceil(y/d), which is (y + d - 1)//d."""
    whole = x - d + 1
    return whole if isinstance(whole, Expr) and len(whole.terms) < len(terms_of(x)) else None


def _condition(q: Int) -> str:
    """The condition q >= 0, with equalities and remainders brought back."""
    if isinstance(q, Min) and len(q.args) == 2 and q.args[0] == -q.args[1]:
        for x in q.args:
            r = terms_of(x).get((), 0)
            if found := _remainder(x - r):
                return f"{found} == {-r}"
        return str(Fact(max(q.args, key=_lead), "=="))
    return str(Fact(q, ">="))


def _remainder(x: Int) -> str:
    """``M % 8`` where x is that, else nothing."""
    for a in (a for m in terms_of(x) for a in m):
        if isinstance(a, Quotient) and x == a.args[0] - a.args[1] * a:
            return f"{factor(a.args[0])} % {factor(a.args[1])}"
    return ""


def _lead(x: Int) -> int:
    """The coefficient of the plainest term."""
    return min((max((a.depth for a in m), default=9), [a.key for a in m], c) for m, c in terms_of(x).items())[2]


@defines
def fact_text(f: Fact) -> str:
    """A relation with positive terms on both sides: ``M + 1 <= 8``, ``N % 8 == 0``, which is ``N % 8 < 1``."""
    if f.relation == "%":
        return f"{factor(f.expr)} % {f.modulus} == 0"
    left, right = sides(f.expr)
    if left == 0 and (found := only_remainder(right)) is not None:
        return f"{found} == 0"
    if type(left) is int:
        return f"{compared(right)} {'<=' if f.relation == '>=' else '=='} {left}"
    return f"{compared(left)} {f.relation} {compared(right)}"


def sides(x: Int) -> tuple[Int, Int]:
    """What a comparison of x with 0 has on its left and on its right: what is added, and what is subtracted.

    A remainder stands whole on one side, but for one of what is rounded up elsewhere:

    >>> from symlayout import dims
    >>> i, N = dims("i N")
    >>> sides(N - 4 * (i % 8) - 1)
    (N, 4*(i % 8) + 1)
    """
    read = terms_as_read(x) if isinstance(x, Expr) else ()
    remainders = [f for _, factors in read for f in factors if isinstance(f, Remainder)]
    if not remainders or any(_rounded_up(f.x, f.d) is not None for f in remainders):
        left, right = (build({m: abs(c) for m, c in terms_of(x).items() if c * sign > 0}) for sign in (1, -1))
        return left, right
    left = right = 0
    for c, factors in read:
        term = math.prod(map(value_of, factors), start=abs(c))
        left, right = (left + term, right) if c > 0 else (left, right + term)
    return left, right


def value_of(f: Factor) -> Int:
    """A factor in normal form."""
    if isinstance(f, Remainder):
        return mod(f.x, f.d)
    return floordiv(f.x - 1, f.d) + 1 if isinstance(f, Ceiling) else f


def only_remainder(x: Int) -> Int | None:
    """The remainder of which an expression is a multiple, by a number, if any: neither is below 0."""
    match terms_as_read(x) if isinstance(x, Expr) else ():
        case ((_, (Remainder() as found,)),):
            return value_of(found)
    return None


def compared(x: Int) -> str:
    """An operand of a relation: bits in parentheses, because C and Python differ in what binds tighter there."""
    return factor(x) if isinstance(x, Xor | And | PowerOfTwo) else str(x)


@functools.lru_cache(maxsize=1 << 14)  # partial results of sums ask for those of their parts again
def terms_as_read(x: Expr) -> tuple[Term, ...]:
    """The terms of a sum in the order in which its text has them: a positive one first, where there is one.

    >>> from symlayout import dims
    >>> M, N = dims("M N")
    >>> terms_as_read(3 - 2 * M + N % 8)
    ((1, (Remainder(x=N, d=8),)), (-2, (M,)), (3, ()))
    """
    parts = list(_terms(x))
    first = next((i for i, (c, _) in enumerate(parts) if c > 0), 0)
    return parts[first], *parts[:first], *parts[first + 1 :]


def _terms(x: Expr) -> Iterator[Term]:
    """The terms, remainders first brought back from quotients."""
    quotients = sorted({a for m in x.terms for a in m if isinstance(a, Quotient)}, key=key_of)
    if len(x.terms) * sum(len(terms_of(p)) for a in quotients for p in a.args) > READ_BACK:
        quotients = []
    for recovered in (_remainders, _ceilings):
        for quotient in quotients:
            linear = build({cast("Monomial", without(m, (quotient,))): c for m, c in x.terms.items() if quotient in m})
            for k, found, rest in recovered(x, quotient, linear, quotients):
                if isinstance(k, Expr) and len(k.terms) > 1:
                    continue
                if len(terms_of(rest)) < len(x.terms) - 1 + (k == linear):
                    ((m, c),) = terms_of(k).items()
                    yield c, (*m, found)
                    if rest != 0:
                        yield from _terms(rest) if isinstance(rest, Expr) else iter([(rest, ())])
                    return
    for m, c in sorted(x.terms.items(), key=lambda t: (-len(t[0]), [a.key for a in t[0]])):
        yield c, m


Recovered: TypeAlias = "Iterator[tuple[Int, Factor, Int]]"


def _remainders(x: Expr, quotient: Quotient, linear: Int, quotients: list[Quotient]) -> Recovered:
    """(factor, remainder, rest) with x == factor*remainder + rest, for the remainders that *quotient* may belong to."""
    p, d = quotient.args
    inner = [(p, d)] + [(q, cast("Int", divides(q.args[1], d))) for q in quotients if _nested(q, quotient)]
    for a, e in inner:
        k = divides(e, -linear)
        if k is not None and k != 0:
            yield k, Remainder(a, e), x + k * e * quotient - k * a


def _ceilings(x: Expr, quotient: Quotient, linear: Int, quotients: list[Quotient]) -> Recovered:
    """The same for ceil_div(y, d), which is (y - 1)//d + 1."""
    p, d = quotient.args
    if type(d) is not int and isinstance(p, Expr) and terms_of(p).get(()) == -1:
        yield linear, Ceiling(p + 1, d), x - linear * quotient - linear


def _nested(inner: Quotient, outer: Quotient) -> bool:
    return inner is not outer and inner.args[0] == outer.args[0] and divides(inner.args[1], outer.args[1]) is not None


def _sum_text(parts: Sequence[Term]) -> str:
    out = ""
    for c, found in parts:
        factors = [str(f) if isinstance(f, Remainder | Ceiling) else factor(f) for f in found]
        magnitude = [decimal(abs(c))] if abs(c) != 1 or not factors else []
        term = "*".join(magnitude + factors)
        if len(parts) == 1 and term.startswith("(") and len(factors) == 1 and c == 1:
            return term[1:-1]
        out += (" - " if c < 0 else " + ") + term if out else ("-" if c < 0 else "") + term
    return out


def factor(x: Any) -> str:
    """An expression as a factor of a product, in parentheses where it needs them."""
    s = decimal(x) if type(x) is int else str(x)
    simple = isinstance(x, (int, Symbol, Min, Max, Select)) or (s.startswith("ceil(") and _closes_at_end(s))
    return s if simple else f"({s})"


def _closes_at_end(s: str) -> bool:
    """Whether the first parenthesis of a text closes with its last character."""
    level = 0
    for i, c in enumerate(s):
        level += (c == "(") - (c == ")")
        if c == ")" and level == 0:
            return i == len(s) - 1
    return False
