"""The signs of expressions under some rows: why one is at least 0, and what bounds quotients and bits.

>>> from symlayout import dims
>>> M, N = dims("M N")
>>> signs = Signs((Row(M - 1, "M >= 1"), Row(N - M, "M <= N")))
>>> signs.nonneg(M * N - M) is not None, signs.nonneg(N - 2) is None
(True, True)
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Self, cast

from ..expr import Atom, Expr, Fact, Int, Quotient, Symbol, divides, terms_of
from ..expr.nonlinear import definition, inner_first, opaque_atoms
from ..meter import spent, step
from . import samples
from .assumptions import Row, symbols_in, tightened
from .positivity import Bound, Ceiling, Evidence, Floor, Meet, Search, Terms, bounds_by_variable


class Signs:
    """Rows, and what they say about the signs of expressions, with evidence.

    ``let``, ``symbols`` and ``given`` say where the rows come from; they go along with them.
    """

    ordered = False  # whether rows keep their numbers: definitions were appended before, none are added on demand

    def __init__(
        self,
        rows: tuple[Row, ...],
        let: Mapping[Symbol, Int] | None = None,
        symbols: tuple[Symbol, ...] = (),
        given: tuple[Fact, ...] = (),
        parent: Signs | None = None,
    ) -> None:
        self.rows, self.let, self.symbols, self.given = rows, let or {}, symbols, given
        self.parent = parent  # the facts whose rows come first here
        self.origin = parent  # the facts whose points are those of the first rows here
        self.meant: Mapping[Atom, Atom] = {}  # the quotient or extremum that a variable replaces
        self.digits: Sequence[tuple[Symbol, Int]] = ()  # variables of 0 .. extent - 1; the last rows are about them

    def with_rows(self, *extra: Row) -> Self:
        """These facts and some local ones after them, such as n >= 2 inside a gap lemma."""
        if not extra:
            return self
        out = type(self)((*self.rows, *extra), self.let, self.symbols, self.given, self)
        out.meant, out.ordered = self.meant, self.ordered
        return out

    def in_order(self) -> Self:
        """The same rows, fixed: they keep their numbers."""
        out = type(self)(self.rows, self.let, self.symbols, self.given)
        out.origin, out.ordered = self, True
        return out

    def generators(self, *polys: Any) -> list[Int]:
        """The rows as polynomials, then what defines the quotients and extrema that occur."""
        rows = [r.poly for r in self.rows]
        if self.ordered:
            return rows
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
                known = self.with_rows(*rows).in_order()
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
                    why = known.in_order().nonneg(a.args[0] - k * a.args[1])
                    if why is not None:
                        out.append(Floor(a, k, why))
                        known = known.with_rows(Row(a - k, f"{a} >= {k}", a))
                        break
        return out

    def meets(self, atoms: Sequence[Atom]) -> list[Meet]:
        """Bounds of each ``&`` and ``^``, if these facts imply them for the arguments."""
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
                found = met_bits(a, a.args, known.in_order())
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
                why = known.in_order().nonneg((most // d + 1) * d - 1 - x)
                if why is not None:
                    out.append(Ceiling(a, most // d, why))
                    known = known.with_rows(Row(out[-1].row, f"{a} <= {most // d}", a))
        return out

    def ends_of_quotients(self, atoms: Sequence[Atom]) -> list[Ceiling]:
        """What rows say of quotients by sizes: x//(H*W) <= N - 1 where a row is N*H*W - 1 - x."""
        out: list[Ceiling] = []
        for a in atoms:
            if isinstance(a, Quotient) and type(a.args[1]) is not int:
                x, d = a.args
                for i, row in enumerate(self.rows):
                    end = divides(d, row.poly + x + 1)
                    if end is not None:
                        out.append(Ceiling(a, end - 1, Evidence(((1, (i,)),))))
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
        """The depth of a variable: how far its bounds reach through other variables. Deep ones are eliminated first."""
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
        for x in needs:
            _rank(x, needs, ranks, ())
        return ranks

    @cached_property
    def _bounds(self) -> dict[Atom, tuple[Bound, ...]]:
        if self.parent is None or not self.ordered:  # definitions are numbered after all rows
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
        if p not in self._found:
            begin = spent()
            evidence = self._sought(p)
            self._found[p] = evidence, spent() - begin
            return evidence
        evidence, steps = self._found[p]
        step(steps)  # what is known costs as much as it did: a budget ends where it would have ended
        return evidence

    @cached_property
    def _found(self) -> dict[Expr, tuple[Evidence | None, int]]:
        """The evidence for each polynomial that was asked about, and the steps that it took."""
        return {}

    def _sought(self, p: Expr) -> Evidence | None:
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


def _rank(x: Atom, needs: Mapping[Atom, set[Atom]], ranks: dict[Atom, int], above: tuple[Atom, ...]) -> int:
    """1 more than the deepest variable that the bounds of this one reach; none of those *above*."""
    if x in above:
        return 0
    if x not in ranks:
        ranks[x] = 1 + max((_rank(y, needs, ranks, (*above, x)) for y in needs.get(x, ())), default=0)
    return ranks[x]


def met_bits(a: Atom, args: Sequence[Any], known: Signs) -> Meet:
    """Bounds of an ``&`` or ``^`` of some arguments."""
    least = tuple(known.nonneg(x) for x in args)
    if any(e is None for e in least):
        return Meet(a, least)
    ends = [known.most(x) for x in args]
    bits = max(0, *(n.bit_length() for n in ends if n is not None)) if None not in ends else None
    below = () if bits is None else tuple(known.nonneg((1 << bits) - 1 - x) for x in args)
    return Meet(a, least) if None in below else Meet(a, least, bits, cast("tuple[Evidence, ...]", below))


BITS = ("bit_and", "xor")
