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
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, cast

from ..expr import Atom, Expr, Fact, Int, Max, Min, Quotient, Symbol, divides, evaluate, integer, interpret, terms_of
from ..expr.nonlinear import definition, has_opaque, inner_first, opaque_atoms
from . import samples
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
from .positivity import Bound, Ceiling, Evidence, Floor, Meet, Search, Terms, bounds_by_variable
from .resolution import Resolving

__all__ = [
    "NOTHING",
    "Ceiling",
    "Evidence",
    "Facts",
    "Floor",
    "Meet",
    "OrderedFacts",
    "Row",
    "definition",
    "in_order",
    "inner_first",
    "opaque_atoms",
    "part",
    "ranges",
    "residues_vanish",
    "sample_value",
    "symbols_in",
]


class Facts:
    """What is assumed about some symbols: rows, and the substitutions that remove equalities.

    ``let`` maps a symbol to what replaces it: ``N % 8 == 0`` becomes N := 8*(N/8).
    """

    def __init__(
        self,
        rows: tuple[Row, ...],
        let: Mapping[Symbol, Int],
        symbols: tuple[Symbol, ...],
        given: tuple[Fact, ...],
        parent: Facts | None = None,
    ) -> None:
        self.rows, self.let, self.symbols, self.given = rows, let, symbols, given
        self.parent = parent  # the facts whose rows come first here
        self.origin = parent  # the facts whose points are those of the first rows here
        self.meant: Mapping[Atom, Atom] = {}  # the quotient or extremum that a variable stands for
        self.digits: Sequence[
            tuple[Symbol, Int]
        ] = ()  # variables of 0 .. extent - 1, the last rows here being about them

    @classmethod
    def about(cls, *subjects: Any, given: Iterable[Fact] = ()) -> Facts:
        """The facts of every symbol in *subjects* (expressions, facts, nested tuples) and *given*.

        Raises AssumptionError where one name stands for two different symbols.
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
        return interpret(x, Resolving(self), self._seen if self.parent is None else None)

    @cached_property
    def _seen(self) -> dict[Atom, Any]:
        """What quotients and extrema are under these facts, as far as they were met."""
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
        """(N, 8) for the symbol that stands for N/8."""
        terms = ((s, m, c) for s, value in self.let.items() for m, c in terms_of(value).items())
        return {m[0]: (s, c) for s, m, c in terms if len(m) == 1 and self.let[s] == c * m[0] and m[0] is part(s, c)}

    def with_rows(self, *extra: Row) -> Facts:
        """These facts and some local ones after them, such as n >= 2 inside a gap lemma."""
        if not extra:
            return self
        out = type(self)((*self.rows, *extra), self.let, self.symbols, self.given, self)
        out.meant = self.meant
        return out

    def generators(self, *polys: Any) -> list[Int]:
        """The rows as polynomials, then what defines the quotients and extrema that occur."""
        rows = [r.poly for r in self.rows]
        atoms = opaque_atoms(*polys, *rows)
        floors = ((a, self._floor(a)) for a in inner_first(atoms))
        bits = (g for m in self.meets(atoms) for g in m.rows)
        defined = (g for a in atoms for g in definition(a))
        return [*rows, *defined, *(cast(Int, a - k) for a, k in floors if k >= 0), *bits]

    def _floor(self, a: Atom) -> int:
        """1 or 0 where the atom is a quotient that is at least that, else -1; found once, from those inside it."""
        found = self._known_floors.get(a)
        if found is None:
            found = -1
            if isinstance(a, Quotient):
                atoms = opaque_atoms(a, *(r.poly for r in self.rows))
                inner = itertools.takewhile(lambda b: b is not a, inner_first(atoms))
                rows = [Row(g, "", b) for b in atoms for g in definition(b)]
                rows += [Row(cast(Int, b - k), "", b) for b in inner if (k := self._floor(b)) >= 0]
                known = in_order(self.with_rows(*rows))
                found = next((k for k in (1, 0) if known.nonneg(a.args[0] - k * a.args[1]) is not None), -1)
            self._known_floors[a] = found
        return found

    @cached_property
    def _known_floors(self) -> dict[Atom, int]:
        return {}

    def floors(self, atoms: Sequence[Atom]) -> list[Floor]:
        """A number below each quotient whose dividend these facts bound: ceil(M/64) >= 1 for M >= 1."""
        key = tuple(atoms)
        if key not in self._floors_of:
            self._floors_of[key] = self._found_floors(atoms) if atoms else []
        return self._floors_of[key]

    @cached_property
    def _floors_of(self) -> dict[tuple[Atom, ...], list[Floor]]:
        return {}

    def _found_floors(self, atoms: Sequence[Atom]) -> list[Floor]:
        out: list[Floor] = []
        known = self.with_rows(*(Row(g, f"definition of {a}", a) for a in atoms for g in definition(a)))
        for a in inner_first(atoms):
            if isinstance(a, Quotient):
                for k in (1, 0):
                    why = in_order(known).nonneg(a.args[0] - k * a.args[1])
                    if why is not None:
                        out.append(Floor(a, k, why))
                        known = known.with_rows(Row(a - k, f"{a} >= {k}", a))
                        break
        return out

    def meets(self, atoms: Sequence[Atom]) -> list[Meet]:
        """What the bits of each ``&`` and ``^`` are between, where these facts say that of the arguments."""
        key = tuple(atoms)
        if key not in self._meets_of:
            self._meets_of[key] = self._found_meets(atoms) if any(a.op in BITS for a in atoms) else []
        return self._meets_of[key]

    @cached_property
    def _meets_of(self) -> dict[tuple[Atom, ...], list[Meet]]:
        return {}

    def _found_meets(self, atoms: Sequence[Atom]) -> list[Meet]:
        out: list[Meet] = []
        known = self.with_rows(*(Row(g, f"definition of {a}", a) for a in atoms for g in definition(a)))
        known = known.with_rows(*(Row(f.row, f"{f.atom} >= {f.k}", f.atom) for f in self.floors(atoms)))
        for a in inner_first(atoms):
            if a.op in BITS:
                found = met_bits(a, a.args, in_order(known))
                out += [found] if found.rows else []
                known = known.with_rows(*(Row(r, f"bits of {a}", a) for r in found.rows))
        return out

    def ceilings(self, atoms: Sequence[Atom]) -> list[Ceiling]:
        """A number above each quotient by a number whose dividend ends somewhere: ceil(M/128) <= 2^24 for M < 2^31.

        That is less than M/128 and what rounding adds: 128*ceil(M/128) <= 2^31, which M <= 2^31 - 1 alone does not say.
        """
        out: list[Ceiling] = []
        known = self
        for a in inner_first(atoms):
            x, d = a.args if isinstance(a, Quotient) else (0, 0)
            most = known.most(x) if type(d) is int and d > 1 else None
            if most is not None:
                why = in_order(known).nonneg((most // d + 1) * d - 1 - x)
                if why is not None:
                    out.append(Ceiling(a, most // d, why))
                    known = known.with_rows(Row(out[-1].row, f"{a} <= {most // d}", a))
        return out

    def most(self, x: Int) -> int | None:
        """A number that a sum is never more than, each term of it at an end; None where a term has none."""
        plain, ends = self.plain, self._ends
        total = 0
        for m, c in terms_of(x).items():
            if any(a not in plain or (c > 0 and a not in ends) for a in m):
                return None
            total += c * math.prod(ends[a][1] for a in m) if c > 0 or not m else 0
        return total

    @cached_property
    def plain(self) -> dict[Atom, int]:
        """The number of the row x >= 0 for each variable that has one."""
        return {r.poly: i for i, r in enumerate(self.rows) if isinstance(r.poly, Atom)}

    @cached_property
    def _ranks(self) -> dict[Atom, int]:
        """How deep the bounds of a variable reach through other variables: deep ones are eliminated first."""
        known = self.parent._ranks if self.parent is not None else {}
        needs: dict[Atom, set[Atom]] = {}
        for r in self.rows[len(self.parent.rows) :] if self.parent is not None else self.rows:
            if self.parent is not None and (r.owner is None or r.owner in known):
                continue
            atoms = {a for m in terms_of(r.poly) for a in m}
            lower = {m[0] for m, c in terms_of(r.poly).items() if len(m) == 1 and c == 1}
            for x in {r.owner} if r.owner is not None else lower:
                if x is not None and x in atoms:
                    needs.setdefault(x, set()).update(atoms - {x})
        ranks = dict(known)

        def rank(x: Atom, above: tuple[Atom, ...]) -> int:
            if x in above:
                return 0
            if x not in ranks:
                ranks[x] = 1 + max((rank(y, (*above, x)) for y in needs.get(x, ())), default=0)
            return ranks[x]

        for x in needs:
            rank(x, ())
        return ranks

    @cached_property
    def _bounds(self) -> dict[Atom, tuple[Bound, ...]]:
        if self.parent is None or not isinstance(self, OrderedFacts):  # definitions are numbered after all rows
            return bounds_by_variable(self.generators())
        out = dict(self.parent._bounds)
        first = len(self.parent.rows)
        for x, new in bounds_by_variable((r.poly for r in self.rows[first:]), first).items():
            out[x] = out.get(x, ()) + new
        return out

    @cached_property
    def points(self) -> tuple[samples.Point, ...]:
        """A few admissible values of the variables: what is negative at one of them has no evidence."""
        rows = [r.poly for r in self.rows]
        if self.origin is not None:
            known, new = self.origin.points, rows[len(self.origin.rows) :]
            known = samples.in_box(known, self.digits)
            missing = [a for a in self.meant if a not in known[0]] if known else []
            known = samples.extended(known, {a: self.meant[a] for a in missing})
            if known and symbols_in(new) <= known[0].keys():
                return samples.admitted(known, new)
        return samples.points(rows)

    def nonneg(self, p: Any) -> Evidence | None:
        """Evidence that p >= 0 for all admissible values, or None if the cheap search finds none.

        *p* must be in the form that ``normal`` returns.
        """
        if type(p) is int:
            return Evidence(((p, ()),)) if p >= 0 else None
        plain = self.plain
        if min(p.terms.values()) > 0 and all(a in plain for m in p.terms for a in m):
            return Evidence(tuple((c, tuple(plain[a] for a in m)) for m, c in p.terms.items()))
        for i, r in enumerate(self.rows):
            if r.poly == p:
                return Evidence(((1, (i,)),))
        bounds = self._bounds
        opaque = opaque_atoms(p)
        if any(a not in bounds for a in opaque):
            bounds = bounds_by_variable(self.generators(p))
        ranks = self._ranks
        search = Search(bounds, ranks, self)
        terms = search.run(p)
        if terms is not None:
            return Evidence(terms)
        if search.refuted:
            return None
        terms = self._below_ends(p)
        if terms is not None:
            return Evidence(terms)
        met = (*opaque, *(self.meant[a] for m in p.terms for a in m if a in self.meant))
        quotients = [a.args[1] for a in met if isinstance(a, Quotient)]
        whole = tightened(p)
        if quotients and whole is not p:
            found = self.nonneg(whole)
            return None if found is None else replace(found, multiple=math.gcd(*(c for m, c in p.terms.items() if m)))
        for d in dict.fromkeys(quotients):  # d*p + d - 1 >= 0 is enough for an integer p
            positive = self.nonneg(d - 1)
            terms = None if positive is None else Search(bounds, ranks, self).run(d * p + d - 1)
            if terms is not None:
                return Evidence(terms, d, positive)
        return None

    def _below_ends(self, p: Expr) -> Terms | None:
        """p >= 0 because it is so with every variable of a negative product at the end of its range.

        x*y is U*V - (U - x)*y - U*(V - y), a sum over rows where x and y are at least 0.
        """
        plain, ends = self.plain, self._ends
        out: list[tuple[int, tuple[int, ...]]] = []
        left = p.terms.get((), 0)
        for m, c in p.terms.items():
            if m and c > 0:
                out.append((c, tuple(plain.get(a, -1) for a in m)))
            elif m:
                for i, x in enumerate(m):
                    row, end = ends.get(x, (-1, 0))
                    out.append((-c, (row, *(plain.get(a, -1) for a in m[i + 1 :]))))
                    c *= end
                left += c
        if left < 0 or any(c < 0 or min(rows) < 0 for c, rows in out):
            return None
        return ((left, ()), *out)

    @cached_property
    def _ends(self) -> dict[Atom, tuple[int, int]]:
        """(row, U) with the least U for each variable that a row x <= U bounds from above."""
        out: dict[Atom, tuple[int, int]] = {}
        for i, r in enumerate(self.rows):
            t = terms_of(r.poly)
            alone = [m[0] for m, c in t.items() if len(m) == 1 and c == -1]
            if alone and len(t) == 1 + (() in t) and (alone[0] not in out or t.get((), 0) < out[alone[0]][1]):
                out[alone[0]] = i, t.get((), 0)
        return out

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

    def generators(self, *polys: Any) -> list[Int]:
        return [r.poly for r in self.rows]


def in_order(facts: Facts) -> OrderedFacts:
    """The same rows, fixed."""
    out = OrderedFacts(facts.rows, facts.let, facts.symbols, facts.given)
    out.origin = facts
    return out


def met_bits(a: Atom, args: Sequence[Any], known: Facts) -> Meet:
    """What the bits of an ``&`` or ``^`` of some arguments are between."""
    least = tuple(known.nonneg(x) for x in args)
    if any(e is None for e in least):
        return Meet(a, least)
    ends = [known.most(x) for x in args]
    bits = max(0, *(n.bit_length() for n in ends if n is not None)) if None not in ends else None
    below = () if bits is None else tuple(known.nonneg((1 << bits) - 1 - x) for x in args)
    return Meet(a, least) if None in below else Meet(a, least, bits, cast("tuple[Evidence, ...]", below))


BITS = ("bit_and", "xor")

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


def sample_value(s: Symbol, fallback: int = 8) -> int:
    """A small admissible-looking value of a symbol, for pictures and messages."""
    low = s.lower if type(s.lower) is int else 1
    return max(low, fallback) // s.multiple * s.multiple or s.multiple
