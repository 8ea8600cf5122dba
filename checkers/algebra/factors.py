"""Signs of sums by taking sizes out: x*q + r is at least 0 where x, q and r are. Rows of a matrix, places in a row.

>>> from symlayout import dim, index
>>> from symlayout.facts import Facts
>>> M, N = dim("M"), dim("N")
>>> i, j = index("i", M), index("j", N)
>>> nonneg_by_factors(M * N - 1 - (N * i + j), Facts.about(M * N, i, j)) is not None
True
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, TypeAlias, cast

from symlayout.expr import Expr, Int, Quotient, Symbol, split, terms_of
from symlayout.facts import Evidence, Facts, tightened

from ..trusted.certificate_json import Setting, hint, poly
from .certificates import Certificate

FACTORS = 4  # sizes that are taken out one after the other: one more than a tensor of four modes has strides
WAYS = 8  # to take a size out that are tried

Terms: TypeAlias = "tuple[tuple[int, tuple[int, ...]], ...]"  # of ``Evidence``


def nonneg_by_factors(p: Int, facts: Facts) -> Certificate | None:
    """p >= 0 as x*q + r for a size x, with q and r at least 0, and q so again: rows of a matrix, places in a row."""
    setting = Setting.of(facts, p, ends=True)
    if not setting.usable or not isinstance(p, Expr):
        return None
    found = _by_factors(p, setting.facts, FACTORS)
    if found is None:
        return None
    return {"claim": setting.claim("nonneg", poly=poly(p)), "proof": hint(Evidence(found))}


def _by_factors(p: Expr, known: Facts, depth: int) -> Terms | None:
    """Rests that are rows come first, then short ones: what lies inside a row says least of the other sizes."""
    sizes = dict.fromkeys(a for m in p.terms if len(m) > 1 for a in m if isinstance(a, Symbol))
    ways = [(x, *way) for x in sizes for way in _taken_out(p, x)]
    ways.sort(key=lambda way: (_as_row(known, way[2]) is None, len(terms_of(way[2]))))
    for x, quotient, rest in ways[:WAYS]:
        inside = _sum(known, rest)
        times = None if inside is None else _sum(known, x)
        if inside is None or times is None:
            continue
        rows = _as_row(known, quotient)
        if rows is None and depth > 1 and isinstance(quotient, Expr):
            rows = _by_factors(quotient, known, depth - 1)
        rows = rows or _sum(known, quotient)
        if rows is not None:
            return (*((a * b, (*i, *j)) for a, i in times for b, j in rows), *inside)
    return None


def _as_row(known: Facts, p: Int) -> Terms | None:
    """A multiple of a row, with a number that rounding left."""
    if not isinstance(p, Expr):
        return None
    whole = tightened(p)
    found = next((i for i, r in enumerate(known.rows) if r.poly == whole), None)
    if found is None:
        return None
    times = math.gcd(*(c for m, c in p.terms.items() if m))
    return _rounded(((1, (found,)),), p, times)


def _rounded(terms: Terms, p: Int, times: int) -> Terms:
    """Evidence of q as that of p == times*q + r."""
    left = terms_of(p).get((), 0) % times
    return (*((c * times, rows) for c, rows in terms), *(((left, ()),) if left else ()))


def _taken_out(p: Expr, x: Symbol) -> Iterator[tuple[Any, Any]]:
    """(q, r) with p == x*q + r: all that x divides, and a row less; where y//x is in it, with y % x in the rest too."""
    q, r = split(p, x)
    held = {m: c for m, c in terms_of(q).items() if len(m) == 1 and isinstance(m[0], Quotient) and m[0].args[1] == x}
    for out in (held, {}) if held else ({},):
        least = sum((c * m[0] for m, c in out.items()), start=cast(Any, 0))
        quotient, rest = q - least, r + x * least
        row = math.gcd(*terms_of(quotient).values())  # x*row is one row of the matrix
        yield from ((quotient, rest), (quotient - row, rest + row * x))


def _sum(known: Facts, p: Int) -> Terms | None:
    """A number that is at least 0 as a sum of products of rows, where it needs no rounding by a divisor."""
    row = _as_row(known, p)
    found = known.nonneg(p) if row is None else None
    if found is None or found.scale != 1:
        return row
    return _rounded(found.terms, p, found.multiple)
