"""What is assumed where something is shown: facts about sizes and indices, with the certificates that were found.

>>> from symlayout import dim, index
>>> i = index("i", dim("N"))
>>> start = Under((), Shelf())
>>> start.also(i >= 3).shows(i >= 2), start.shows(i >= 2), start.also(i >= 3, i <= 2).empty
(True, False, True)
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias, cast

from symlayout.expr import Fact, Int, Symbol, build, digit, intern, symbols_of, terms_of
from symlayout.facts import Facts
from symlayout.meter import step

from .linear import Certificate, contradictory, implied

Digits: TypeAlias = "dict[Any, tuple[tuple[Any, ...], tuple[Any, ...]]]"


@dataclass(eq=False)
class Shelf:
    """What was shown so far, by facts and goal; names that were made up."""

    shown: dict[Any, bool] = field(default_factory=dict)
    certificates: list[Certificate] = field(default_factory=list)
    names: int = 0

    def digit(self, name: str, n: Int) -> Symbol:
        """A fresh index of 0 .. n - 1."""
        self.names += 1
        return digit(f"{name}.{self.names}", n)

    def integer(self, name: str) -> Symbol:
        """A fresh integer."""
        self.names += 1
        return cast(Symbol, intern(Symbol, (f"[{name}.{self.names}]", None, None, 1)))


@dataclass(frozen=True, eq=False)
class Under:
    """Facts that are assumed, those of the kernel among them; *digits* of numbers of executions, by their extents."""

    given: tuple[Fact, ...]
    shelf: Shelf
    digits: Digits = field(default_factory=dict)

    @cached_property
    def facts(self) -> Facts:
        return Facts.about(given=self.given)

    def also(self, *facts: Fact) -> Under:
        """These facts and some more."""
        new = tuple(f for f in dict.fromkeys(facts) if f.value is not True and f not in self.given)
        return Under((*self.given, *new), self.shelf, self.digits) if new else self

    def with_digits(self, number: Any, extents: tuple[Any, ...], digits: tuple[Any, ...]) -> Under:
        """These facts, which have a number as so many digits, each below its extent."""
        return Under(self.given, self.shelf, {**self.digits, number: (extents, digits)})

    @cached_property
    def empty(self) -> bool:
        """Whether nothing meets these facts, so that all follows from them."""
        found = contradictory(self.facts) or next(filter(None, map(self._uneven, self.given)), None)
        self.shelf.certificates += found or ()
        return found is not None

    def _uneven(self, f: Fact) -> list[Certificate] | None:
        """Certificates that no integers meet an equality g*q + r == 0 with 0 < r < g: q >= 0 and q <= -1."""
        terms = terms_of(f.expr) if f.relation == "==" else {}
        g = math.gcd(*(c for m, c in terms.items() if m))
        r = terms.get((), 0)
        if g <= 1 or r % g == 0:
            return None
        q = build({m: c // g for m, c in terms.items() if m or c // g})
        low, high = implied(q, self.facts), implied(-q - 1, self.facts)
        return None if low is None or high is None else [*low, *high]

    def shows(self, fact: Fact, scales: tuple[Any, ...] = ()) -> bool:
        """Whether a fact is shown to follow; *scales* are positive sizes whose multiples may help."""
        if fact.value is not None:
            return fact.value
        if fact.relation == "==":
            return self._shows(fact.expr, scales) and self._shows(-fact.expr, scales)
        if fact.relation == "%":
            return self._about(fact.expr).divisible(fact.expr, fact.modulus)
        return self._shows(fact.expr, scales)

    def at_least_0(self, x: Any, scales: tuple[Any, ...] = ()) -> bool:
        """Whether x >= 0 is shown."""
        return x >= 0 if type(x) is int else self._shows(x, scales)

    def _shows(self, x: Any, scales: tuple[Any, ...]) -> bool:
        key = self.given, x
        if key not in self.shelf.shown:
            step()
            facts = self._about(x)
            found = next((c for s in (1, *scales) if (c := implied(x, facts, s)) is not None), None)
            self.shelf.certificates += found or ()
            self.shelf.shown[key] = found is not None
        return self.shelf.shown[key]

    def normal(self, x: Any) -> Any:
        """An expression in normal form under these facts."""
        return self._about(x).normal(x)

    def _about(self, x: Any) -> Facts:
        """These facts, and those of the symbols of an expression that has others."""
        return self.facts if self._symbols.issuperset(symbols_of(x)) else Facts.about(x, given=self.given)

    @cached_property
    def _symbols(self) -> frozenset[Symbol]:
        return frozenset(self.facts.symbols)

    def __str__(self) -> str:
        return ", ".join(map(str, self.given))
