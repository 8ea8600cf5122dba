"""Linear consequences of facts about integers, as sums that the independent checker re-adds (Farkas' lemma).

>>> from symlayout import dim, index
>>> S, i, j = dim("S"), index("i", dim("N")), index("j", dim("N"))
>>> facts = Facts.about(i, j, given=(i >= j + S, j >= 4))
>>> implied(i - 5, facts) is None, len(implied(i - 5, facts)), implied(i - 6, facts)
(False, 1, None)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, TypeAlias

from symlayout.expr import Expr, terms_of
from symlayout.facts import Evidence, Facts
from symlayout.facts.samples import negative
from symlayout.meter import step

from ..trusted.certificate_json import Setting, hint, poly

MOST_PRODUCTS = 48  # products of two rows that a sum may use beside the rows
MOST_PIVOTS = 400

Certificate: TypeAlias = "dict[str, Any]"
Monomial: TypeAlias = "tuple[Any, ...]"
Row: TypeAlias = "dict[Monomial, int]"


def implied(p: Any, facts: Facts, scale: Any = 1) -> list[Certificate] | None:
    """Certificates that p >= 0 follows from the facts, or that nothing meets these; None if none is found.

    With a *scale* K, at least 1 by the facts, K*p + K - 1 >= 0 will do, since p is an integer.
    """
    p, scale = facts.normal(p), facts.normal(scale)
    if type(p) is int and p >= 0:
        return []
    if negative(p, facts.points):
        return None
    if type(p) is not int:
        found = facts.nonneg(p)
        if found is not None:
            setting = Setting.of(facts, p)
            again = setting.facts.nonneg(p) if setting.usable else None
            if again is not None:
                return [{"claim": setting.claim("nonneg", poly=poly(p)), "proof": hint(again)}]
    setting = Setting.of(facts, p)
    if not setting.usable:
        return None
    rows = [terms_of(r.poly) for r in setting.facts.rows]
    goal = p if type(scale) is int else scale * p + scale - 1
    added = _sum(terms_of(goal), rows)
    if added is None:
        return None
    c, terms = added
    if c == 0:  # the facts exclude each other
        return [{"claim": setting.claim("nonneg", poly=-1), "proof": hint(Evidence(terms))}]
    if type(scale) is int:
        return [{"claim": setting.claim("nonneg", poly=poly(p)), "proof": hint(Evidence(terms, c))}]
    positive = setting.facts.nonneg(scale - 1)
    if positive is None or c != 1:
        return None
    return [{"claim": setting.claim("nonneg", poly=poly(p)), "proof": hint(Evidence(terms, scale, positive))}]


def contradictory(facts: Facts) -> list[Certificate] | None:
    """Certificates that no integers meet the facts; None if none is found."""
    return None if facts.points else implied(-1, facts)


def _sum(goal: Row, rows: Sequence[Row]) -> tuple[int, tuple[tuple[int, tuple[int, ...]], ...]] | None:
    """(c, terms) with c*goal + c - 1 equal to the sum of the terms; with c = 0 the sum of them is -1 less a number."""
    columns: list[tuple[Row, tuple[int, ...]]] = [(r, (i,)) for i, r in enumerate(rows) if r]
    columns += _products(goal, rows)
    columns = _relevant(goal, columns)
    negated: Row = {m: -c for m, c in goal.items()}
    negated[()] = negated.get((), 0) - 1
    monomials = sorted({m for r, _ in (*columns, (negated, ())) for m in r if m}, key=lambda m: [a.key for a in m])
    matrix = [[r.get(m, 0) for r, _ in columns] + [negated.get(m, 0)] for m in monomials]
    matrix.append([r.get((), 0) for r, _ in columns] + [negated[()]])
    wanted = [0] * len(monomials) + [-1]
    found = feasible(matrix, wanted)
    if found is None:
        return None
    whole = math.lcm(*(x.denominator for x in found))
    counts = [int(x * whole) for x in found]
    terms = tuple((n, which) for n, (_, which) in zip(counts, columns, strict=False) if n)
    # sum of counts*rows + c*(-goal - 1) == -whole, so c*goal + c - 1 == sum + whole - 1
    rest = whole - 1
    return counts[-1], ((*terms, (rest, ())) if rest else terms)


def _products(goal: Row, rows: Sequence[Row]) -> list[tuple[Row, tuple[int, ...]]]:
    """Products of two rows whose leading parts make a product that occurs."""
    wanted = {frozenset(m) for r in (goal, *rows) for m in r if len(m) == 2}
    if not wanted:
        return []
    about = [{a for m in r if len(m) == 1 for a in m} for r in rows]
    out: list[tuple[Row, tuple[int, ...]]] = []
    for i, a in enumerate(about):
        for j in range(i, len(rows)):
            if a and len(a) <= 3 and about[j] and len(about[j]) <= 3:
                pairs = {frozenset((x, y)) for x in a for y in about[j]}
                if pairs & wanted and len(pairs - wanted) <= len(pairs & wanted):
                    out.append((_times(rows[i], rows[j]), (i, j)))
    out.sort(key=lambda p: len(p[0]))
    return out[:MOST_PRODUCTS]


def _times(p: Row, q: Row) -> Row:
    out: Row = {}
    for a, c in p.items():
        for b, d in q.items():
            m = tuple(sorted(a + b, key=lambda x: x.key))
            out[m] = out.get(m, 0) + c * d
    return {_ordered(m): c for m, c in out.items() if c}


def _ordered(m: Monomial) -> Monomial:
    """The monomial as expressions have it."""
    if len(m) < 2:
        return m
    product: Any = m[0]
    for a in m[1:]:
        product = product * a
    assert isinstance(product, Expr)
    (found,) = product.terms
    return found


def _relevant(goal: Row, columns: list[tuple[Row, tuple[int, ...]]]) -> list[tuple[Row, tuple[int, ...]]]:
    """Columns without those that have a monomial which nothing can cancel."""
    while True:
        signs: dict[Monomial, set[int]] = {}
        for r in (*(r for r, _ in columns), {m: -c for m, c in goal.items()}):
            for m, c in r.items():
                signs.setdefault(m, set()).add(1 if c > 0 else -1)
        dead = {m for m, found in signs.items() if m and len(found) == 1}
        kept = [(r, which) for r, which in columns if not dead & r.keys()]
        if len(kept) == len(columns):
            return kept
        columns = kept


def feasible(matrix: Sequence[Sequence[int]], wanted: Sequence[int]) -> list[Fraction] | None:
    """x >= 0 with matrix x == wanted, or None where there is none: the first phase of the simplex method, exact.

    >>> [int(x) for x in feasible([[1, 1, 0], [1, 0, -1]], [3, 1])]
    [1, 2, 0]
    """
    n = len(matrix[0])
    rows = [[-c if b < 0 else c for c in r] + [abs(b)] for r, b in zip(matrix, wanted, strict=True)]
    basis = [n + i for i in range(len(rows))]  # one artificial variable for each row, which has no column
    cost = [sum(r[k] for r in rows) for k in range(n + 1)]
    unit = 1  # integers throughout: each entry is a numerator over this
    for _ in range(MOST_PIVOTS):
        if cost[n] == 0:
            out = [Fraction(0)] * n
            for b, r in zip(basis, rows, strict=True):
                if b < n:
                    out[b] = Fraction(r[n], unit)
            return out
        step(len(rows))
        column = next((k for k in range(n) if cost[k] > 0), None)  # Bland's rule, which ends
        if column is None:
            return None
        ratios = [(Fraction(r[n], r[column]), basis[i], i) for i, r in enumerate(rows) if r[column] > 0]
        if not ratios:
            return None
        _, _, pivot = min(ratios)
        _pivot(rows, cost, pivot, column, unit)
        basis[pivot], unit = column, rows[pivot][column]
    return None


def _pivot(rows: list[list[int]], cost: list[int], pivot: int, column: int, unit: int) -> None:
    """Entries over *unit* become entries over the pivot, without a fraction: both are minors (Bareiss 1968)."""
    mine = rows[pivot]
    by = mine[column]
    for r in (*(r for i, r in enumerate(rows) if i != pivot), cost):
        factor = r[column]
        r[:] = [(by * x - factor * y) // unit for x, y in zip(r, mine, strict=True)]
