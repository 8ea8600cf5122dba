"""Assumptions as labelled rows, and the cheap exact decisions that rest on them.

    >>> M, N = dims("M N")
    >>> facts = Facts.about(M * N, given=[N.multiple_of(8), M <= N])
    >>> facts.nonneg(8 * M * N - 8) is not None, facts.divisible(2 * M * N, 16)
    (True, True)

A decision comes with evidence that an independent checker re-adds: a sum of products of rows
(T9 of the proof notes, written as an identity). Nothing here calls a solver.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias, cast

from . import samples
from .errors import AssumptionError
from .expr import (
    Atom,
    Expr,
    Fact,
    Int,
    Max,
    Min,
    Monomial,
    Quotient,
    Substitution,
    Symbol,
    build,
    coerce_or_none,
    divides,
    evaluate,
    floordiv,
    integer,
    intern,
    interpret,
    split,
    terms_of,
)

# A sum of c * (product of rows), as ((c, (row, row, ...)), ...).
Terms: TypeAlias = "tuple[tuple[int, tuple[int, ...]], ...]"

SEARCH_NODES = 60  # substitutions tried before a sign is left undecided
SHORT_SEARCH = 6  # substitutions after which a search looks whether its goal is false at a point


@dataclass(frozen=True)
class Row:
    """``poly >= 0``, with the assumption that it comes from."""

    poly: Int
    label: str
    owner: Atom | None = None  # the variable whose range or definition this is

    @cached_property
    def positive(self) -> Atom | None:
        """The variable that this keeps at 1 or more: that it is >= 0 keeps products of it one term long."""
        t = terms_of(self.poly)
        alone = [m[0] for m, c in t.items() if len(m) == 1 and c == 1]
        return alone[0] if len(t) == 2 and len(alone) == 1 and t.get((), 0) < 0 else None

    def __str__(self) -> str:
        return self.label


@dataclass(frozen=True)
class Evidence:
    """Why p >= 0: ``scale*p + scale - 1`` is the sum of *terms*, every coefficient is >= 0, and scale >= 1.

    With scale 1 that is p itself; otherwise p > -1 and p is an integer. With a *multiple* m it is about the q of
    p == m*q + r with a number r of 0 .. m - 1.
    """

    terms: Terms
    scale: Int = 1
    positive: Evidence | None = None  # why scale >= 1, where it is not a number
    multiple: int = 1


@dataclass(frozen=True)
class Floor:
    """``atom >= k`` for a quotient x//d, because x - k*d >= 0 and d >= 1."""

    atom: Atom
    k: int
    why: Evidence

    @property
    def row(self) -> Int:
        return cast(Int, self.atom - self.k)


@dataclass(frozen=True)
class Ceiling:
    """``atom <= k`` for a quotient x//d, because (k + 1)*d - 1 - x >= 0 and d >= 1."""

    atom: Atom
    k: int
    why: Evidence

    @property
    def row(self) -> Int:
        return cast(Int, self.k - self.atom)


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
        given = tuple(_checked(f) for f in given)
        return cls._of(_closure(set().union(*map(symbols_in, (*subjects, *given)), set())), given)

    @classmethod
    def forget(cls) -> None:
        """Drop what was found out from earlier facts, so that a measurement starts afresh."""
        cls._of.cache_clear()

    @classmethod
    @functools.lru_cache(maxsize=256)
    def _of(cls, symbols: tuple[Symbol, ...], given: tuple[Fact, ...]) -> Facts:
        """Claims of one kernel assume the same few things; what is found out from them is kept."""
        let, equalities, orders = _substitutions(symbols, given)
        rows: list[Row] = []
        for s in symbols:
            rows += [_moved(r, s, let) for r in _ends(s)] if let and _met(let, s) else _ends(s)
        for f in orders:
            rows.append(Row(_tightened(_through(let, f.expr)), str(f)))
        for f in equalities:
            rows += [Row(_through(let, f.expr), str(f)), Row(-_through(let, f.expr), str(f))]
        rows += [_at_least_0(x) for x in dict.fromkeys(r.positive for r in rows) if x is not None]
        kept = tuple(r for r in rows if not (type(r.poly) is int and r.poly >= 0))
        return cls(kept, let, symbols, given)

    # -- using them ---------------------------------------------------------------------------------

    def normal(self, x: Any) -> Any:
        """*x* with equalities and divisibility substituted, and quotients and extrema resolved (T10)."""
        return self.resolved(_through(self.let, x)) if isinstance(x, Expr) else x

    def resolved(self, x: Any) -> Any:
        """*x* in its own symbols, with the quotients and extrema resolved that these facts decide (T10)."""
        if not isinstance(x, Expr) or not _opaque(x):
            return x
        return interpret(x, _Resolving(self), self._seen if self.parent is None else None)

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
        return _restored(x, self._wholes) if isinstance(x, Expr) and self._wholes else x

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
        return [*rows, *(g for a in atoms for g in definition(a)), *(cast(Int, a - k) for a, k in floors if k >= 0)]

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

    def ceilings(self, atoms: Sequence[Atom]) -> list[Ceiling]:
        """A number above each quotient by a number whose dividend ends somewhere: ceil(M/128) <= 2^24 for M < 2^31.

        That is less than M/128 and what rounding adds: 128*ceil(M/128) <= 2^31, which M <= 2^31 - 1 alone does not say.
        """
        out: list[Ceiling] = []
        known = self
        for a in inner_first(atoms):
            x, d = a.args if isinstance(a, Quotient) else (0, 0)
            most = known._most(x) if type(d) is int and d > 1 else None
            if most is not None:
                why = in_order(known).nonneg((most // d + 1) * d - 1 - x)
                if why is not None:
                    out.append(Ceiling(a, most // d, why))
                    known = known.with_rows(Row(out[-1].row, f"{a} <= {most // d}", a))
        return out

    def _most(self, x: Int) -> int | None:
        """A number that a sum is never more than, each term of it at an end; None where a term has none."""
        plain, ends = self._plain, self._ends
        total = 0
        for m, c in terms_of(x).items():
            if any(a not in plain or (c > 0 and a not in ends) for a in m):
                return None
            total += c * math.prod(ends[a][1] for a in m) if c > 0 or not m else 0
        return total

    @cached_property
    def _plain(self) -> dict[Atom, int]:
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
        plain = self._plain
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
        search = _Search(bounds, ranks, self)
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
        whole = _tightened(p)
        if quotients and whole is not p:
            found = self.nonneg(whole)
            return None if found is None else replace(found, multiple=math.gcd(*(c for m, c in p.terms.items() if m)))
        for d in dict.fromkeys(quotients):  # d*p + d - 1 >= 0 is enough for an integer p
            positive = self.nonneg(d - 1)
            terms = None if positive is None else _Search(bounds, ranks, self).run(d * p + d - 1)
            if terms is not None:
                return Evidence(terms, d, positive)
        return None

    def _below_ends(self, p: Expr) -> Terms | None:
        """p >= 0 because it is so with every variable of a negative product at the end of its range.

        x*y is U*V - (U - x)*y - U*(V - y), a sum over rows where x and y are at least 0.
        """
        plain, ends = self._plain, self._ends
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


NOTHING = Facts((), {}, (), ())


def _owner(let: Mapping[Symbol, Int], s: Symbol) -> Atom | None:
    """The variable that a range is about after substitution."""
    moved = let.get(s, s)
    if isinstance(moved, Expr) and len(moved.terms) == 1:
        ((m, _),) = moved.terms.items()
        return m[0] if len(m) == 1 else None
    return None


@functools.lru_cache(4096)
def _ends(s: Symbol) -> tuple[Row, ...]:
    """The range of a symbol as rows."""
    out = []
    if s.lower is not None:
        out.append(Row(_tightened(s - s.lower), f"{s} >= {s.lower}", s))
    if s.upper is not None:
        out.append(Row(_tightened(s.upper - s), f"{s} <= {s.upper}", s))
    return tuple(out)


def _met(let: Mapping[Symbol, Int], s: Symbol) -> bool:
    """Whether a substitution is about a symbol or about its bounds."""
    return s in let or any(isinstance(e, Expr) and not let.keys().isdisjoint(e.symbols) for e in (s.lower, s.upper))


def _moved(r: Row, s: Symbol, let: Mapping[Symbol, Int]) -> Row:
    """A range after substitution."""
    return Row(_tightened(_through(let, r.poly)), r.label, _owner(let, s))


@functools.lru_cache(4096)
def _at_least_0(x: Atom) -> Row:
    return Row(x, f"{x} >= 0", x)


def ranges(symbols: Iterable[Symbol]) -> list[Fact]:
    """The range and divisibility of each symbol as facts."""
    out: list[Fact] = []
    for s in symbols:
        if s.lower is not None:
            out.append(s >= s.lower)
        if s.upper is not None:
            out.append(s <= s.upper)
        if s.multiple > 1:
            out.append(s.multiple_of(s.multiple))
    return out


def symbols_in(x: Any) -> set[Symbol]:
    """Every symbol in nested tuples of expressions, facts and objects that have ``symbols``."""
    if isinstance(x, tuple | list):
        return set().union(*map(symbols_in, x)) if x else set()
    if type(x).__module__.startswith("sympy"):
        x = coerce_or_none(x)
    return set(getattr(x, "symbols", ()))


def _checked(fact: Any) -> Fact:
    if isinstance(fact, Fact):
        return fact
    raise AssumptionError(
        f"expected a fact such as M >= 2, N.multiple_of(8) or eq(M, N), got {fact!r} ({type(fact).__name__}); "
        "== compares forms and gives a plain bool"
    )


def _closure(symbols: set[Symbol]) -> tuple[Symbol, ...]:
    todo, seen = list(symbols), set(symbols)
    while todo:
        s = todo.pop()
        ends = [e for e in (s.lower, s.upper) if isinstance(e, Expr)]
        if ends:
            new = set().union(*map(symbols_in, ends)) - seen
            seen |= new
            todo += new
    ordered = sorted(seen, key=lambda s: s.name)
    for s, t in itertools.pairwise(ordered):
        if s.name == t.name:
            s, t = sorted((s, t), key=lambda s: str(s.args))
            raise AssumptionError(
                f"expected one set of facts for {s.name}, got two: "
                f"{_described(s)} and {_described(t)}; use one dim(...) object, or two names"
            )
    return tuple(ordered)


def _described(s: Symbol) -> str:
    return f"{s.lower} <= {s} <= {s.upper}" + (f", {s} % {s.multiple} == 0" if s.multiple > 1 else "")


def _tightened(p: Int) -> Int:
    """8*k - 1 >= 0 as k - 1 >= 0: integers allow the constant to be rounded."""
    t = terms_of(p)
    g = math.gcd(*(c for m, c in t.items() if m))
    return p if g <= 1 else build({m: c // g for m, c in t.items() if m or c // g})


def _through(let: Mapping[Symbol, Int], x: Any) -> Any:
    return interpret(x, Substitution(let)) if let and isinstance(x, Expr) else x


def _substitutions(
    symbols: tuple[Symbol, ...], given: tuple[Fact, ...]
) -> tuple[dict[Symbol, Int], list[Fact], list[Fact]]:
    """(let, equalities that could not be solved, orders): x == y and x % m == 0 become substitutions."""
    let: dict[Symbol, Int] = {}

    def define(s: Symbol, value: Int) -> None:
        for k, v in let.items():
            let[k] = _through({s: value}, v)
        let[s] = value

    equalities, orders = [], []
    for f in given:
        if f.relation == ">=":
            orders.append(f)
        elif f.relation == "==":
            solved = _solved(_through(let, f.expr))
            if solved is None:
                equalities.append(f)
            else:
                define(*solved)
    moduli = {s: s.multiple for s in symbols}
    for f in given:
        if f.relation == "%":
            if isinstance(f.expr, Symbol):
                moduli[f.expr] = math.lcm(moduli[f.expr], f.modulus)
            else:
                equalities.append(Fact(f.expr - f.modulus * floordiv(f.expr, f.modulus), "=="))
    for s, m in moduli.items():
        if m == 1:
            continue
        if s not in let:
            define(s, m * part(s, m))
        else:
            equalities.append(Fact(s - m * floordiv(let[s], m), "=="))
    return let, equalities, orders


def part(s: Symbol, m: int) -> Symbol:
    """The symbol that stands for s/m where m divides s."""
    return cast(Symbol, intern(Symbol, (f"({s}/{m})", None, None, 1)))


def _restored(x: Int, wholes: Mapping[Atom, tuple[Symbol, int]]) -> Any:
    """x with N for 8*(N/8), N//4 for 2*(N/8), and N//8 where nothing goes with it."""
    out: Any = 0
    for m, c in terms_of(x).items():
        product: Any = 1
        for a in m:
            factor: Any = a
            if a in wholes:
                s, d = wholes[a]
                g = math.gcd(c, d)
                c, factor = c // g, floordiv(s, d // g)
            elif not isinstance(a, Symbol):
                factor = getattr(Substitution({}), a.op)(*(_restored(b, wholes) for b in a.args))
            product = product * factor
        out = out + c * product
    return out


def _solved(x: Any) -> tuple[Symbol, Int] | None:
    """(symbol, value) from x == 0, for a symbol that occurs once with coefficient 1 or -1."""
    if not isinstance(x, Expr):
        return None
    for m, c in sorted(x.terms.items(), key=lambda t: [a.key for a in t[0]], reverse=True):
        if len(m) == 1 and isinstance(m[0], Symbol) and abs(c) == 1:
            rest = -c * (x - c * m[0])
            if m[0] not in symbols_in((rest,)):
                return m[0], rest
    return None


# -- opaque atoms ---------------------------------------------------------------------------------------


def _opaque(x: Expr) -> bool:
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


class _Resolving(Substitution):
    """Quotients whose rest is small are divided out, extrema whose order is known are chosen."""

    def __init__(self, facts: Facts) -> None:
        super().__init__({})
        self.facts = facts

    def floordiv(self, a: Any, b: Any) -> Any:
        q, r = split(a, b)
        for part_q, part_r in _rests(q, r, b):
            if self._nonneg(part_r) and self._nonneg(b - 1 - part_r):
                return part_q
        return floordiv(a, b)

    def _nonneg(self, p: Any) -> bool:
        return self.facts.nonneg(_through(self.facts.let, p)) is not None

    def minimum(self, *args: Any) -> Any:
        return self._choose(args, -1)

    def maximum(self, *args: Any) -> Any:
        return self._choose(args, 1)

    def xor(self, *args: Any) -> Any:
        """(h + l) ^ c is h + (l ^ c) where 2^k divides h and 0 <= c < 2^k: such bits pass by (T14)."""
        for i, a in enumerate(args):
            others = (*args[:i], *args[i + 1 :])
            t = terms_of(a)
            for block in sorted({c & -c for m, c in t.items() if m}, reverse=True):
                high = build({m: c - c % block for m, c in t.items() if c // block and (not m or c % block == 0)})
                if all(self._nonneg(b) and self._nonneg(block - 1 - b) for b in others):
                    return high + super().xor(a - high, *others)
        return super().xor(*args)

    def _choose(self, args: tuple[Any, ...], sign: int) -> Any:
        for a in args:
            if all(a is b or self._nonneg(sign * (a - b)) for b in args):
                return a
        return super().maximum(*args) if sign > 0 else super().minimum(*args)


def _rests(q: Int, r: Int, d: Int) -> Iterable[tuple[Int, Int]]:
    """Candidate splits of d*q + r: as they are, and with d moved over once where r is negative."""
    yield q, r
    if isinstance(r, Expr) or r < 0:
        yield q - 1, r + d


# -- T9: shift positivity -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bound:
    """One row seen from a variable: ``row == c*x + rest`` with no x in *c* and *rest*."""

    row: Symbol
    c: Int
    rest: Int
    lower: bool

    @property
    def end(self) -> bool:
        """Whether this is the end of a range, such as x <= 2^31 - 1."""
        return abs(terms_of(self.rest).get((), 0)) >= 1 << 30


def bounds_by_variable(gens: Iterable[Int], first: int = 0) -> dict[Atom, tuple[Bound, ...]]:
    """For each variable the rows in which it occurs once; x >= 0 is left out, a tighter row always follows."""
    found: dict[Atom, list[Bound]] = {}
    gens = tuple(gens)
    pairs = [t for t in map(terms_of, gens) if len(t) == 2 and () in t]
    tight = {a for t in pairs for m, c in t.items() if len(m) == c == 1 for a in m}
    for i, g in enumerate(gens, first):
        if isinstance(g, Atom) and g in tight:
            continue
        for x in {a for m in terms_of(g) for a in m}:
            split_off = _linear(g, x)
            if split_off is not None:
                c, rest = split_off
                found.setdefault(x, []).append(Bound(_row_symbol(i), c, rest, min(terms_of(c).values()) > 0))
    return {x: tuple(bs) for x, bs in found.items()}


def _row_symbol(i: int) -> Symbol:
    while i >= len(_ROWS):
        symbol = cast(Symbol, intern(Symbol, (f"#{len(_ROWS)}", None, None, 1)))
        _NUMBER[symbol] = len(_ROWS)
        _ROWS.append(symbol)
    return _ROWS[i]


_ROWS: list[Symbol] = []  # stand-ins for the value of row i inside the search
_NUMBER: dict[Atom, int] = {}


class _Search:
    """Rewrite p in terms of the rows until only non-negative coefficients are left."""

    def __init__(self, bounds: Mapping[Atom, tuple[Bound, ...]], ranks: Mapping[Atom, int], facts: Facts) -> None:
        self.bounds, self.ranks, self.facts = bounds, ranks, facts
        self.nodes = 0
        self.refuted = False  # by a point, looked at once the search turns out to be long
        self.ends = self.skipped = False  # whether ends of ranges are used, and were left out

    def run(self, p: Int) -> Terms | None:
        """The sum of products of rows that p is; the ends of ranges, which few proofs need, are tried last."""
        self.goal = p
        found = self._solve(p, frozenset())
        if found is None and not self.refuted and self.skipped:
            self.skipped, self.ends, self.nodes = False, True, SHORT_SEARCH
            found = self._solve(p, frozenset())
        return found

    def _solve(self, p: Int, done: frozenset[Atom]) -> Terms | None:
        if not isinstance(p, Expr):
            return ((p, ()),) if p >= 0 else None
        left = {a for m in p.terms for a in m if a not in _NUMBER}
        if not left:
            if min(p.terms.values()) < 0:
                return None
            return tuple((c, tuple(_NUMBER[a] for a in m)) for m, c in p.terms.items())
        plain = self.facts._plain
        if min(p.terms.values()) > 0 and left <= plain.keys():
            return tuple((c, tuple(plain[a] if a in plain else _NUMBER[a] for a in m)) for m, c in p.terms.items())
        if left & done or not left <= self.bounds.keys() or _hopeless(p):
            return None
        x = max(left, key=self._eagerness)
        for q in self._rewritten(p, x):
            self.nodes += 1
            if self.nodes == SHORT_SEARCH:
                self.refuted = samples.negative(self.goal, self.facts.points)
            if self.refuted or self.nodes > SEARCH_NODES:
                return None
            found = self._solve(q, done | {x})
            if found is not None:
                return found
        return None

    def _eagerness(self, x: Atom) -> tuple[bool, int, str]:
        """Quotients and variables whose bounds mention others go first, so that those can still be eliminated."""
        return not isinstance(x, Symbol), self.ranks.get(x, 0), x.key

    def _rewritten(self, p: Expr, x: Atom) -> Iterable[Int]:
        """p with x eliminated through one row; the bound that the sign of x in p asks for comes first."""
        wanted = sum(c for m, c in p.terms.items() if x in m) > 0
        inside = {a for m in p.terms for a in m}
        bounds = [b for b in self.bounds[x] if self.ends or not b.end]
        self.skipped = self.skipped or len(bounds) < len(self.bounds[x])
        bounds.sort(key=lambda b: (b.lower != wanted, b.end, *_remoteness(b.rest, inside)))
        if x in self.facts._plain:
            yield from _mixed(p, x, _row_symbol(self.facts._plain[x]), (b for b in bounds if not b.lower and not b.end))
        for b in bounds:
            q = _replaced(p, x, b)
            if q is not None:
                yield q


def _mixed(p: Expr, x: Atom, row: Symbol, above: Iterable[Bound]) -> Iterable[Int]:
    """p with products of x >= 0 and rows as they are, and x at an upper bound where its sign is negative."""
    settled = {m for m, c in p.terms.items() if x in m and c > 0 and all(a is x or a in _NUMBER for a in m)}
    if settled and any(c < 0 for m, c in p.terms.items() if x in m):
        kept: Any = 0
        for m in settled:
            kept = kept + p.terms[m] * math.prod((row if a is x else a for a in m), start=cast(Any, 1))
        rest = build({m: c for m, c in p.terms.items() if m not in settled})
        for b in above:
            q = _replaced(rest, x, b) if isinstance(rest, Expr) else None
            if q is not None:
                yield kept + q


def _remoteness(rest: Int, inside: set[Atom]) -> tuple[int, bool, int]:
    """Bounds that bring in few variables come first, relations before numbers, short ones before long ones."""
    t = terms_of(rest)
    return len({a for m in t for a in m} - inside), type(rest) is int, len(t)


def _hopeless(p: Expr) -> bool:
    """Whether a negative product of rows is left that no later elimination can cancel."""
    for m, c in p.terms.items():
        if c < 0 and all(a in _NUMBER for a in m):
            for n, d in p.terms.items():
                if d > 0 and len(n) > len(m) and all(n.count(a) >= m.count(a) for a in m):
                    break
            else:
                return True
    return False


def _linear(g: Int, x: Atom) -> tuple[Int, Int] | None:
    """(c, rest) with g == c*x + rest and no x left at top level, or None."""
    linear: dict[Monomial, int] = {}
    rest: dict[Monomial, int] = {}
    for m, c in terms_of(g).items():
        n = m.count(x)
        if n > 1:
            return None
        if n:
            i = m.index(x)
            linear[m[:i] + m[i + 1 :]] = c
        else:
            rest[m] = c
    return build(linear), build(rest)


def _replaced(p: Expr, x: Atom, b: Bound) -> Int | None:
    """p with c*x replaced by row - rest, or None where some term has x without c."""
    if type(b.c) is int and abs(b.c) == 1:
        value = b.c * (b.row - b.rest)
        kept: dict[Monomial, int] = {}
        out: Any = 0
        for m, a in p.terms.items():
            n = m.count(x)
            if n:
                out = out + build({tuple(y for y in m if y is not x): a}) * value**n
            else:
                kept[m] = a
        return cast(Int, out + build(kept))
    parts = _linear(p, x)
    if parts is None:
        return None
    factor = divides(b.c, parts[0])
    return None if factor is None else cast(Int, factor * (b.row - b.rest) + parts[1])


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
