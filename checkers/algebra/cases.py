"""Small proofs that a number is not negative: by certificates, case by case, or by enumeration.

>>> from symlayout import dims
>>> from symlayout.expr import maximum
>>> M, N = dims("M N")
>>> len(shown(maximum(M, N) - 1, Facts.about(M, N))), shown(maximum(M, N) - 2, Facts.about(M, N))
(1, None)
"""

from __future__ import annotations

import math
from typing import Any

from symlayout.address_map import AddressMap
from symlayout.expr import Fact, Max, Substitution, interpret, symbols_of
from symlayout.facts import Facts, opaque_atoms

from ..exhaustive import POINTS
from .certificates import nonneg


def shown(x: Any, facts: Facts, depth: int = 3) -> list[Any] | None:
    """Certificates that x >= 0, by cases of which argument is the maximum; None if some case has none."""
    p = facts.normal(x)
    if type(p) is int:
        return [] if p >= 0 else None
    found = nonneg(p, facts)
    extremum = next((a for a in opaque_atoms(p) if isinstance(a, Max)), None)
    if found is not None or extremum is None or not depth:
        return None if found is None else [found]
    out: list[Any] = []
    for a in extremum.args:
        orders = [Fact(a - b, ">=") for b in extremum.args if b is not a]
        if any(facts.holds(f) is False for f in orders):
            continue
        case = Facts.about(*facts.symbols, given=(*facts.given, *orders))
        rest = shown(interpret(x, _Chosen(extremum, a)), case, depth - 1)
        if rest is None:
            return None
        out += rest
    return out


def within(x: Any, n: int) -> bool:
    """Whether 0 <= x < n by enumeration, where the indices in x have few values: what swizzles need."""
    found = ends(x)
    return found is not None and found[0] >= 0 and found[1] < n


def ends(x: Any, most: int = POINTS) -> tuple[int, int] | None:
    """The least and the greatest value by enumeration, where there are at most so many values of the indices in x."""
    symbols = symbols_of(x)
    extents: tuple[Any, ...] = tuple(s.upper + 1 for s in symbols if s.lower == 0 and type(s.upper) is int)
    if len(extents) < len(symbols) or math.prod(extents) > most:
        return None
    _, values = AddressMap(symbols, extents, x).table()
    return int(values.min()), int(values.max())


class _Chosen(Substitution):
    """Expressions again, with one maximum replaced by one of its arguments."""

    def __init__(self, extremum: Max, chosen: Any) -> None:
        super().__init__({})
        self.extremum, self.chosen = extremum, chosen

    def maximum(self, *args: Any) -> Any:
        return self.chosen if args == self.extremum.args else super().maximum(*args)
