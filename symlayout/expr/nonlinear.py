"""Quotients, bits and choices inside polynomials: what the normal form does not look into."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .bits import PowerOfTwo
from .choice import Max, Min, Select
from .division import Quotient
from .expression import Atom, Expr, Int, Symbol


def has_opaque(x: Expr) -> bool:
    return any(not isinstance(a, Symbol) for m in x.terms for a in m)


def opaque_atoms(*polys: Any) -> list[Atom]:
    """The operations that occur in polynomials, inner ones too, in a fixed order."""
    found: dict[Atom, None] = {}
    todo = [p for p in polys if isinstance(p, Expr)]
    while todo:
        for m in todo.pop().terms:
            for a in m:
                if not isinstance(a, Symbol) and a not in found:
                    found[a] = None
                    todo += [b for b in a.args if isinstance(b, Expr)]
    return sorted(found, key=lambda a: a.key)


def inner_first(atoms: Iterable[Atom]) -> list[Atom]:
    """Atoms in an order in which each comes after those inside it."""
    return sorted(atoms, key=lambda a: (a.depth, len(a.key), a.key))


def definition(a: Atom) -> list[Int]:
    """Polynomials that are >= 0 by what the atom means; a divisor counts as at least 1."""
    if isinstance(a, Quotient):
        x, d = a.args
        return [x - d * a, d * a + d - 1 - x]
    if isinstance(a, Min):
        return [b - a for b in a.args]
    if isinstance(a, Max):
        return [a - b for b in a.args]
    if isinstance(a, PowerOfTwo):
        return [a, a - a.args[0] - 1]  # 2^k >= k + 1
    if isinstance(a, Select) and type(gap := a.args[1] - a.args[2]) is int:
        low = a.args[2] + min(gap, 0)
        return [a - low, low + abs(gap) - a]
    return []
