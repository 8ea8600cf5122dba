"""A few admissible values for the variables of some rows: what is negative there is never proved, nor tried.

>>> from symlayout.expr import dims
>>> M, ld = dims("M ld")
>>> [value(ld, at) for at in points((M - 2, ld - M))]
[2, 2, 3, 8]
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from ..expr import Atom, Int, Integers, Symbol, inside, terms_of
from ..meter import step

Point: TypeAlias = "dict[Atom, int]"

SEEDS = (lambda i: 1, lambda i: 2, lambda i: 2 + i, lambda i: 5 + 3 * i)  # least, extents that move, and uneven

PLACES = (lambda i, n: 0, lambda i, n: n - 1, lambda i, n: (3 * i + 2) % n)  # of digit i in 0 .. n - 1


def points(rows: Sequence[Int]) -> tuple[Point, ...]:
    """Values at which every row is at least 0, as far as small ones are found."""
    symbols = sorted({s for r in rows for s in getattr(r, "symbols", ())}, key=lambda s: s.name)
    found = (_raised({s: seed(i) for i, s in enumerate(symbols)}, rows) for seed in SEEDS)
    return tuple(at for at in found if at is not None)


def admitted(known: Iterable[Point], rows: Sequence[Int]) -> tuple[Point, ...]:
    """The points at which some more rows are at least 0."""
    return tuple(at for at in known if all(_at_least_zero(r, at) for r in rows))


def in_box(known: Iterable[Point], digits: Sequence[tuple[Symbol, Int]]) -> tuple[Point, ...]:
    """The points with digits at both ends of their ranges and in between, where no extent is 0."""
    if not digits:
        return tuple(known)
    out = []
    for at in known:
        try:
            extents = [value(n, at) for _, n in digits]
        except (KeyError, ArithmeticError):
            continue
        for place in PLACES if min(extents) >= 1 else ():
            there: Point = {d: place(i, n) for i, ((d, _), n) in enumerate(zip(digits, extents, strict=True))}
            out.append({**at, **there})
    return tuple(out)


def extended(known: Iterable[Point], meant: Mapping[Atom, Atom]) -> tuple[Point, ...]:
    """The points with values for variables that replace quotients and extrema."""
    out = []
    for at in known:
        at = dict(at)
        try:
            for a, meaning in meant.items():
                at[a] = value(meaning, at)
        except (KeyError, ArithmeticError):
            continue
        out.append(at)
    return tuple(out)


def negative(p: Int, known: Iterable[Point]) -> bool:
    """Whether p is below 0 at one of the points."""
    try:
        return any(value(p, at) < 0 for at in known)
    except (KeyError, ArithmeticError):
        return False


def value(p: Int, at: Point) -> int:
    """p where *at* gives its symbols values; those of quotients and extrema are kept there too.

    Raises KeyError for a symbol without a value, ZeroDivisionError for a divisor below 1, OverflowError for a shift
    that is too far.
    """
    total = 0
    for m, c in terms_of(p).items():
        for a in m:
            known = at.get(a)
            c *= _of_atom(a, at) if known is None else known
        total += c
    return total


def _of_atom(a: Atom, at: Point) -> int:
    if isinstance(a, Symbol):
        raise KeyError(a.name)
    step()
    for b in inside(a, at.__contains__):
        _of_atom(b, at)
    args = [value(x, at) for x in a.args]
    found: int = getattr(_NUMBERS, a.op)(*args)
    at[a] = found
    return found


_NUMBERS = Integers({})


def _at_least_zero(row: Int, at: Point) -> bool:
    try:
        return value(row, at) >= 0
    except (KeyError, ArithmeticError):
        return False


def _raised(start: Point, rows: Sequence[Int]) -> Point | None:
    """The point after moving, for each row that fails, one variable that stands alone in it."""
    at = dict(start)
    for _ in range(4):
        moved = False
        for r in rows:
            try:
                short = value(r, at)
            except (KeyError, ArithmeticError):
                return None
            if short < 0:
                step = _step(r, short)
                if step is None:
                    return None
                at = {a: v for a, v in at.items() if isinstance(a, Symbol)}
                at[step[0]] += step[1]
                moved = True
        if not moved:
            return at
    return None


def _step(row: Int, short: int) -> tuple[Symbol, int] | None:
    """(variable, by how much it moves) so that a row that is *short* of 0 comes to 0; raising before lowering."""
    alone = [(c, m[0]) for m, c in terms_of(row).items() if len(m) == 1 and isinstance(m[0], Symbol)]
    if not alone:
        return None
    c, x = max(alone, key=operator.itemgetter(0))
    return x, -(short // c) if c > 0 else short // -c
