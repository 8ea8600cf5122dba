"""The search for why a polynomial is at least 0: as a sum of products of rows (T9, shift positivity).

Variables are eliminated one by one through a row in which they occur once, until only rows are left, with coefficients
that are not negative.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, cast

from ..expr import Atom, Expr, Int, Monomial, Symbol, build, divides, intern, terms_of
from ..expr.arithmetic import merge, plus
from ..meter import step
from . import samples

# A sum of c * (product of rows), as ((c, (row, row, ...)), ...).
Terms: TypeAlias = "tuple[tuple[int, tuple[int, ...]], ...]"

SEARCH_NODES = 60  # substitutions tried before a sign is left undecided
SEARCH_TERMS = 2000  # of a polynomial in between: products of dozens of sums have no end
SHORT_SEARCH = 6  # substitutions after which a search looks whether its goal is false at a point


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
class Meet:
    """Bounds of ``x & y`` or ``x ^ y`` from those arguments that are at least 0 and below 2^bits."""

    atom: Atom
    nonneg: tuple[Evidence | None, ...]  # why an argument is at least 0, for each that is
    bits: int | None = None
    below: tuple[Evidence, ...] = ()  # why each argument is less than 2^bits

    @property
    def rows(self) -> list[Int]:
        return bit_rows(self.atom.op, self.atom, self.atom.args, [e is not None for e in self.nonneg], self.bits)


def bit_rows(op: str, me: Any, args: Sequence[Any], nonneg: Sequence[bool], bits: int | None) -> list[Any]:
    """Polynomials that are >= 0: 0 <= x & y <= x where x >= 0, and 0 <= x ^ y <= x + y where both are.

    Where both are less than 2^k, so are x ^ y and x | y, which is x + y - (x & y).
    """
    least = [x for x, yes in zip(args, nonneg, strict=True) if yes]
    if not least or (op == "xor" and len(least) < len(args)):
        return []
    rows = [me, sum(args) - me] if op == "xor" else [me, *(x - me for x in least)]
    if bits is None or (op != "xor" and len(args) != 2):
        return rows
    return [*rows, (1 << bits) - 1 - me if op == "xor" else me + (1 << bits) - 1 - sum(args)]


@dataclass(frozen=True)
class Ceiling:
    """``atom <= k`` for a quotient x//d, because (k + 1)*d - 1 - x >= 0 and d >= 1."""

    atom: Atom
    k: Int
    why: Evidence

    @property
    def row(self) -> Int:
        return cast(Int, self.k - self.atom)


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
    step(len(gens))
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


class Ground(Protocol):
    """The interface of the rows that a search runs on."""

    @property
    def plain(self) -> Mapping[Atom, int]:
        """The number of the row x >= 0 for each variable that has one."""

    @property
    def points(self) -> Sequence[samples.Point]:
        """A few admissible values of the variables."""


class Search:
    """Rewrite p in terms of the rows until only non-negative coefficients are left."""

    def __init__(self, bounds: Mapping[Atom, tuple[Bound, ...]], ranks: Mapping[Atom, int], ground: Ground) -> None:
        self.bounds, self.ranks, self.ground = bounds, ranks, ground
        self.nodes = 0
        self.refuted = False  # by a point, evaluated only once the search turns out to be long
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
        step(len(p.terms))
        if len(p.terms) > SEARCH_TERMS:
            return None
        left = {a for m in p.terms for a in m if a not in _NUMBER}
        if not left:
            if min(p.terms.values()) < 0:
                return None
            return tuple((c, tuple(_NUMBER[a] for a in m)) for m, c in p.terms.items())
        plain = self.ground.plain
        if min(p.terms.values()) > 0 and left <= plain.keys():
            return tuple((c, tuple(plain[a] if a in plain else _NUMBER[a] for a in m)) for m, c in p.terms.items())
        if left & done or not left <= self.bounds.keys() or _hopeless(p):
            return None
        x = max(left, key=self._eagerness)
        for q in self._rewritten(p, x):
            self.nodes += 1
            if self.nodes == SHORT_SEARCH:
                self.refuted = samples.negative(self.goal, self.ground.points)
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
        if x in self.ground.plain:
            yield from _mixed(p, x, _row_symbol(self.ground.plain[x]), (b for b in bounds if not b.lower and not b.end))
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
        out: dict[Monomial, int] = {}
        for m, a in p.terms.items():
            n = m.count(x)
            if n:
                step(len(out))
                others, put = tuple(y for y in m if y is not x), value if n == 1 else value**n
                out = plus(out, {merge(others, k): a * c for k, c in put.terms.items()})
            else:
                kept[m] = a
        return build(plus(out, kept))
    parts = _linear(p, x)
    if parts is None:
        return None
    factor = divides(b.c, parts[0])
    return None if factor is None else cast(Int, factor * (b.row - b.rest) + parts[1])
