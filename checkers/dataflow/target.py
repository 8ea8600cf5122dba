"""Elements of an output that a store is held against, and what is raised where they are not seen to be right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from symlayout.expr import Expr, Fact, Symbol
from symlayout.facts import Facts

from .contents import Numbers
from .state import Known

ROWS = 256  # combinations of deltas that are looked at one by one


class Differs(Exception):
    """The stored value is not known to be the expected one; *stale* if a value of an earlier iteration may be stored.

    *narrow* where a type on the way does not hold a sum, *repair* a fact under which it would, as far as is known.
    """

    def __init__(self, why: str, stale: bool = False, narrow: bool = False, repair: Fact | None = None) -> None:
        super().__init__(why)
        self.stale, self.narrow, self.repair = stale, narrow, repair


@dataclass(frozen=True, eq=False)
class Target:
    """Elements of an output: a coordinate, deltas for each element and mode, and what is known there."""

    at: tuple[Any, ...]
    deltas: Numbers  # (elements, modes)
    known: Known
    coords: tuple[Symbol, ...]
    free: frozenset[Symbol]  # of the loops around

    def put(self, x: Any) -> tuple[Any, Numbers]:
        """(expression, integer for each element) whose sum is *x* at these coordinates.

        Raises Differs where a coordinate stands in a quotient or product there.
        """
        steps = np.zeros(len(self.deltas), np.int64)
        if not isinstance(x, Expr):
            return x, steps
        for m, c in x.terms.items():
            mine = [i for i, s in enumerate(self.coords) if any(s in a.symbols for a in m)]
            if mine and (len(m) != 1 or m[0] is not self.coords[mine[0]]):
                raise Differs(f"expected multiples of coordinates, got {x}; a tensor may have a mode for each part")
            for i in mine:
                steps += c * self.deltas[:, i]
        known = {s: a for s, a in zip(self.coords, self.at, strict=True) if s in x.symbols}
        return x.subs(known), steps

    def expect_bound(self, *loops: Symbol) -> None:
        """Raise Differs where the index of a sum is that of a loop around, too."""
        for s in loops:
            if s in self.free:
                raise Differs(f"a sum over the loop {s}, stored in a loop over {s}; expected another name for one")

    def inside(self, x: Any, at: Any, deltas: Numbers) -> bool:
        """Whether *x* is at + delta for each element that is inside of the output, as only those are stored."""
        used = [i for i, s in enumerate(self.coords) if isinstance(x, Expr) and s in x.symbols]
        rows = np.unique(np.column_stack([self.deltas[:, used], deltas]), axis=0)
        for row in rows.tolist() if len(rows) <= ROWS else ():
            here = {self.coords[i]: self.at[i] + d for i, d in zip(used, row, strict=False)}
            ends = [f for s, a in here.items() for f in (Fact(a, ">="), Fact(s.upper - a, ">="))]
            facts = Facts.about(at, *here.values(), given=(*self.known.facts.given, *ends))
            if facts.normal((x.subs(here) if here else x) - at - row[-1]) != 0:
                return False
        return len(rows) <= ROWS

    def number(self, x: Any) -> int | None:
        """The integer that an expression is here, or None. An index of one value, as of a grid of one CTA, is that."""
        found = self.known.normal(x)
        if isinstance(found, Expr):
            found = self.known.normal(found.subs({s: s.lower for s in found.symbols if s.lower == s.upper}))
        return found if type(found) is int else None

    def expect_equal(self, x: Any, at: Any, deltas: Numbers, what: str) -> None:
        """Raise Differs unless *x* is at + delta for each element; *what* it is, in words."""
        base, steps = self.put(x)
        c = self.number(base - at)
        if c is None and self.inside(x, at, deltas):
            return
        if c is None:
            raise Differs(f"{what} is {base}, and {at} is loaded")
        wrong = np.flatnonzero(steps + c != deltas)
        if len(wrong):
            i = int(wrong[0])
            raise Differs(f"{what} is {base + int(steps[i])}, and {at + int(deltas[i])} is loaded")
