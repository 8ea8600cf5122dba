"""Facts as repairs: thresholds, weakest divisors, and the plainest form of an inequality (T22, T23)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from symlayout.expr import Expr, Fact, Max, Min, Quotient, Symbol, at_least, divides, terms_of
from symlayout.facts import residues_vanish


def simplest(f: Fact) -> Fact:
    """a*s + b >= 0 in one symbol as s >= c or s <= c; other facts divided by their content."""
    t = terms_of(f.expr)
    if f.relation == ">=" and len([m for m in t if m]) == 1:
        ((m, c),) = ((m, c) for m, c in t.items() if m)
        b = t.get((), 0)
        product: Any = 1
        for a in m:
            product = product * a
        return Fact(product + b // c, ">=") if c > 0 else Fact(b // -c - product, ">=")
    return f


def without_quotient(f: Fact) -> Fact | None:
    """c - a*(x // d) >= 0 as a bound of x; None for facts of another form.

    >>> from symlayout import ceil_div, dim
    >>> M = dim("M")
    >>> print(without_quotient(ceil_div(M, 32) <= 65535), without_quotient(M <= 65535))
    M <= 2097120 None
    """
    terms = dict(terms_of(f.expr))
    constant = terms.pop((), 0)
    if f.relation != ">=" or len(terms) != 1:
        return None
    ((m, a),) = terms.items()
    if a >= 0 or len(m) != 1 or not isinstance(m[0], Quotient) or type(m[0].args[1]) is not int:
        return None
    x, d = m[0].args
    return at_least(d * (constant // -a) + d - 1, x)


def plain(f: Fact) -> Fact:
    """The fact with positive factors that all its terms share cancelled: C*W >= C*S as W >= S, 2*N % 16 as N % 8.

    >>> from symlayout import dim
    >>> N = dim("N")
    >>> print(plain((127 * N).multiple_of(128)), plain((6 * N).multiple_of(16)))
    N % 128 == 0 N % 8 == 0
    """
    t = terms_of(f.expr)
    if f.relation == "%" and len(t) == 1:
        ((m, c),) = t.items()
        return Fact(divides(c, f.expr), "%", f.modulus // math.gcd(c, f.modulus)) if m else f  # type: ignore[arg-type]
    if f.relation == "%" or len(t) < 2:
        return f
    shortest = min(t, key=len)
    common = [*shortest]
    for m in t:
        common = [a for a in common if a in m]
    shared = [a for a in dict.fromkeys(common) if isinstance(a, Symbol) and type(a.lower) is int and a.lower >= 1]
    g = math.gcd(*t.values())
    factor: Any = g
    for a in shared:
        factor = factor * a
    reduced = divides(factor, f.expr)
    return f if factor == 1 or reduced is None else Fact(reduced, f.relation)


def least_divisor(p: Expr, s: Symbol, modulus: int) -> int | None:
    """The q for which s % q == 0 is the weakest divisibility that makes *modulus* divide p, or None (T23)."""
    q = 1
    for prime in primes(modulus):
        power, w = prime, 1
        while modulus % (power * prime) == 0:
            power *= prime
        while not residues_vanish(p.subs({s: w * s}), power):
            if w == power:
                return None
            w *= prime
        q *= w
    return q


def divisibility(p: Any, modulus: int) -> Iterator[Fact]:
    """For each symbol of p the weakest divisibility of it alone that makes *modulus* divide p."""
    if not isinstance(p, Expr):
        return
    for s in p.symbols:
        q = least_divisor(p, s, modulus)
        if q is not None and q > 1:
            yield s.multiple_of(q)


def each_case(p: Any) -> tuple[Any, ...]:
    """p with each argument in place of a minimum or maximum in it: one of them is its value, whichever that is.

    >>> from symlayout import dims
    >>> from symlayout.expr import minimum
    >>> M, N = dims("M N")
    >>> each_case(4 * minimum(M, N) + 1), each_case(M)
    ((4*M + 1, 4*N + 1), (M,))
    """
    for m, c in terms_of(p).items():
        if len(m) == 1 and isinstance(m[0], Min | Max):
            return tuple(x for a in m[0].args for x in each_case(p - c * m[0] + c * a))
    return (p,)


def threshold(f: Fact) -> tuple[Symbol, int] | None:
    """(s, c) for a fact that reads s >= c or s <= c with a number c."""
    t = dict(terms_of(f.expr))
    constant = t.pop((), 0)
    if f.relation != ">=" or len(t) != 1:
        return None
    ((m, c),) = t.items()
    if len(m) != 1 or not isinstance(m[0], Symbol):
        return None
    return (m[0], constant // -c) if c < 0 else (m[0], -(constant // c))


def primes(n: int) -> list[int]:
    out, p = [], 2
    while n > 1:
        if n % p == 0:
            out.append(p)
            while n % p == 0:
                n //= p
        p += 1
    return out
