"""Assumptions as labelled rows, and the cheap exact decisions that rest on them.

    >>> M, N = dims("M N")
    >>> facts = Facts.about(M * N, given=[N.multiple_of(8), M <= N])
    >>> facts.nonneg(facts.normal(8 * M * N - 8)) is not None, facts.divisible(2 * M * N, 16)
    (True, True)

A decision comes with evidence that an independent checker re-adds: a sum of products of rows
(T9 of the proof notes, written as an identity). Nothing here calls a solver.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

from ..expr import Atom, Expr, Fact, Max, Min, Symbol, divides, evaluate, integer, interpret, terms_of
from ..expr.nonlinear import has_opaque
from .assumptions import (
    Row,
    at_least_0,
    checked,
    closure,
    ends_of,
    met,
    moved_row,
    part,
    ranges,
    restored,
    substitutions,
    symbols_in,
    through,
    tightened,
)
from .resolution import Resolving
from .signs import Signs


class Facts(Signs):
    """Assumptions about some symbols: rows, and the substitutions that remove equalities.

    ``let`` maps a symbol to what replaces it: ``N % 8 == 0`` becomes N := 8*(N/8).
    """

    @classmethod
    def about(cls, *subjects: Any, given: Iterable[Fact] = ()) -> Facts:
        """The facts of every symbol in *subjects* (expressions, facts, nested tuples) and *given*.

        Raises AssumptionError if one name is that of two different symbols.
        """
        given = tuple(checked(f) for f in given)
        return cls._of(closure(set().union(*map(symbols_in, (*subjects, *given)), set())), given)

    @classmethod
    def forget(cls) -> None:
        """Drop what was found out from earlier facts, so that a measurement starts afresh."""
        cls._of.cache_clear()

    @classmethod
    @functools.lru_cache(maxsize=256)
    def _of(cls, symbols: tuple[Symbol, ...], given: tuple[Fact, ...]) -> Facts:
        """Claims of one kernel assume the same few things; what is found out from them is kept."""
        let, equalities, orders = substitutions(symbols, given)
        rows: list[Row] = []
        for s in symbols:
            rows += [moved_row(r, s, let) for r in ends_of(s)] if let and met(let, s) else ends_of(s)
        for f in orders:
            rows.append(Row(tightened(through(let, f.expr)), str(f)))
        for f in equalities:
            rows += [Row(through(let, f.expr), str(f)), Row(-through(let, f.expr), str(f))]
        rows += [at_least_0(x) for x in dict.fromkeys(r.positive for r in rows) if x is not None]
        kept = tuple(r for r in rows if not (type(r.poly) is int and r.poly >= 0))
        return cls(kept, let, symbols, given)

    # -- using them ---------------------------------------------------------------------------------

    def normal(self, x: Any) -> Any:
        """*x* with equalities and divisibility substituted, and quotients and extrema resolved (T10)."""
        return self.resolved(through(self.let, x)) if isinstance(x, Expr) else x

    def resolved(self, x: Any) -> Any:
        """*x* in its own symbols, with the quotients and extrema resolved that these facts decide (T10)."""
        if not isinstance(x, Expr) or not has_opaque(x):
            return x
        return interpret(x, Resolving(self._is_nonneg), self._seen if self.parent is None else None)

    def _is_nonneg(self, p: Any) -> bool:
        return self.nonneg(through(self.let, p)) is not None

    @cached_property
    def _seen(self) -> dict[Atom, Any]:
        """Values of quotients and extrema under these facts, as far as they were needed."""
        return {}

    def restored(self, x: Any) -> Any:
        """A form that ``normal`` returns in the symbols of the user again: 8*(N/8) is N where 8 divides it.

        >>> N = dims("N")[0]
        >>> facts = Facts.about(N, given=[N.multiple_of(8)])
        >>> facts.normal((N + 7) // 8 * 16), facts.restored(facts.normal((N + 7) // 8 * 16))
        (16*(N/8), 2*N)
        """
        return restored(x, self._wholes) if isinstance(x, Expr) and self._wholes else x

    @cached_property
    def _wholes(self) -> dict[Atom, tuple[Symbol, int]]:
        """(N, 8) for the symbol that replaces N/8."""
        terms = ((s, m, c) for s, value in self.let.items() for m, c in terms_of(value).items())
        return {m[0]: (s, c) for s, m, c in terms if len(m) == 1 and self.let[s] == c * m[0] and m[0] is part(s, c)}

    def le(self, a: Any, b: Any) -> bool | None:
        """Whether a <= b: True or False where decided for all values, else None."""
        gap = self.normal(integer(b) - integer(a))
        if type(gap) is int:
            return gap >= 0
        if self.nonneg(gap) is not None or self._in_each_case(gap):
            return True
        return False if self.nonneg(-gap - 1) is not None else None

    def _in_each_case(self, p: Expr) -> bool:
        """Whether p >= 0 with each argument in place of a minimum that is added or a maximum that is taken away."""
        for m, c in p.terms.items():
            if len(m) == 1 and isinstance(m[0], Min if c > 0 else Max):
                rest = p - c * m[0]
                return all(self.le(0, rest + c * x) for x in m[0].args)
        return False

    def lt(self, a: Any, b: Any) -> bool | None:
        """Whether a < b."""
        return self.le(integer(a) + 1, b)

    def divisible(self, x: Any, modulus: int) -> bool:
        """Whether *modulus* divides x for all values (T12); False only means that this is not shown."""
        return residues_vanish(self.normal(integer(x)), modulus)

    def quotient(self, x: Any, d: Any) -> Any:
        """x / d where d divides x under these facts, else None."""
        plain = divides(integer(d), integer(x))
        if plain is not None or not self.let:
            return plain
        return self.restored(divides(self.normal(integer(d)), self.normal(integer(x))))

    def holds(self, fact: Fact) -> bool | None:
        """Whether a fact follows: True, False (fails for all values), or None."""
        if fact.value is not None:
            return fact.value
        if fact.relation == ">=":
            return self.le(0, fact.expr)
        if fact.relation == "%":
            return True if self.divisible(fact.expr, fact.modulus) else None
        x = self.normal(fact.expr)
        if type(x) is int:
            return x == 0
        if self.nonneg(x - 1) is not None or self.nonneg(-x - 1) is not None:
            return False
        return True if self.nonneg(x) is not None and self.nonneg(-x) is not None else None

    def admits(self, env: Mapping[Any, int]) -> bool:
        """Whether integer values for the symbols meet every assumption."""
        for s in self.symbols:
            v = env[s]
            if s.lower is not None and v < evaluate(s.lower, env):
                return False
            if s.upper is not None and v > evaluate(s.upper, env):
                return False
            if v % s.multiple:
                return False
        return all(f.at(env) for f in self.given)

    @cached_property
    def ranges(self) -> list[Fact]:
        """The range and divisibility of each symbol as facts."""
        return ranges(self.symbols)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Every assumption as text, ranges merged: ``1 <= M <= 2147483647``, ``N % 8 == 0``."""
        out = []
        for s in self.symbols:
            low = "" if s.lower is None else f"{s.lower} <= "
            high = "" if s.upper is None else f" <= {s.upper}"
            if low or high:
                out.append(f"{low}{s}{high}")
            if s.multiple > 1:
                out.append(f"{s} % {s.multiple} == 0")
        return (*out, *map(str, self.given))


class OrderedFacts(Facts):
    """Facts whose rows keep their numbers: definitions were appended before, none are added on demand."""

    ordered = True


NOTHING = Facts((), {}, (), ())


# -- T12: divisibility ----------------------------------------------------------------------------------


def residues_vanish(x: Any, modulus: int) -> bool:
    """Whether modulus | x for all integers in place of the atoms (exact for independent unbounded ones).

    >>> k = dim("k")
    >>> residues_vanish(k * (k + 1), 2), residues_vanish(k * k, 2)
    (True, False)
    """
    if type(x) is int:
        return x % modulus == 0
    if all(c % modulus == 0 for c in x.terms.values()):
        return True
    atoms = sorted({a for m in x.terms for a in m}, key=lambda a: a.key)
    if modulus ** len(atoms) > 4096:
        return False
    for values in itertools.product(range(modulus), repeat=len(atoms)):
        env = dict(zip(atoms, values, strict=True))
        if sum(c * math.prod(env[a] for a in m) for m, c in x.terms.items()) % modulus:
            return False
    return True
