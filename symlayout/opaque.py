"""Quotients and extrema inside polynomials: what the normal form does not look into."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .expr import (
    Atom,
    Expr,
    Int,
    Max,
    Min,
    Quotient,
    Symbol,
    terms_of,
)


def has_opaque(x: Expr) -> bool:
    return any(not isinstance(a, Symbol) for m in x.terms for a in m)


def opaque_atoms(*polys: Any) -> list[Atom]:
    """The quotients and extrema that occur in polynomials, inner ones too, in a fixed order."""
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
    depths: dict[Atom, int] = {}

    def depth(x: Any) -> int:
        return max((of(a) for m in terms_of(x) for a in m), default=0)

    def of(a: Atom) -> int:
        if isinstance(a, Symbol):
            return 0
        if a not in depths:
            depths[a] = 1 + max(map(depth, a.args))
        return depths[a]

    return sorted(atoms, key=lambda a: (of(a), len(a.key), a.key))


def definition(a: Atom) -> list[Int]:
    """Polynomials that are >= 0 by what the atom means; a divisor counts as at least 1."""
    if isinstance(a, Quotient):
        x, d = a.args
        return [x - d * a, d * a + d - 1 - x]
    if isinstance(a, Min):
        return [b - a for b in a.args]
    if isinstance(a, Max):
        return [a - b for b in a.args]
    return []
