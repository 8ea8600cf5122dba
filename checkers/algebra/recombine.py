"""A linear index as the numbers that it is made of: r + n*q is one value for each pair where 0 <= r < n (T3).

    >>> from symlayout import dims
    >>> m, n = dims("m n")
    >>> x = AddressMap.over(lambda i: i % n + n * (i // n), (m * n,))
    >>> y = AddressMap.over(lambda i: i // m + n * (i % m), (m * n,))
    >>> [[str(r) for r in found.radices] for found in recombinations(y, Facts.about(m, n))]
    [['n']]

What is found here are guesses, tried on small sizes; the pieces of a map show the bounds of each, and
``map_checker`` adds them up again.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from symlayout.address_map import AddressMap
from symlayout.errors import SymlayoutError
from symlayout.expr import Expr, Int, build, divides, split, terms_of
from symlayout.facts import Facts
from symlayout.int_tuple import leaves

from ..trial_sizes import small_sizes

GUESSES = 3  # that are handed on
CANDIDATES = 12  # radices that are looked at
DEPTH = 3  # numbers that are split off one another
SIZES, POINTS = 6, 4096  # at which a guess is tried


@dataclass(frozen=True)
class Recombined:
    """The value as ``parts[0] + radices[0]*(parts[1] + radices[1]*(...))``, each part but the last in [0, radix)."""

    parts: tuple[Int, ...]
    radices: tuple[Int, ...]

    def boxed(self, end: Int) -> list[Int] | None:
        """The extents of the box whose linear range is [0, end), or None where the radices do not divide *end*."""
        for n in self.radices:
            rest = divides(n, end)
            if rest is None:
                return None
            end = rest
        return [*self.radices, end]


def recombinations(x: AddressMap, facts: Facts, end: Int | None = None) -> Iterator[Recombined]:
    """Guesses for a map with one integer as its value, those first that split most; their radices divide *end*."""
    value = leaves(x.offset)
    if len(value) == 1 and isinstance(value[0], Expr) and x.extents != ():
        found = _guesses(value[0], x, DEPTH)
        found = (g for g in found if end is None or g.boxed(end) is not None)
        yield from itertools.islice((g for g in found if _plausible(g, x, facts)), GUESSES)


def _guesses(value: Any, x: AddressMap, depth: int) -> Iterator[Recombined]:
    """Every way to split off a radix, and one from what is left."""
    for n in itertools.islice(_radices(value, x), CANDIDATES):
        rest, whole = _split(value, n, x)
        if not _moves(whole, x) or not _moves(rest, x):
            continue
        if depth > 1 and isinstance(whole, Expr):
            for further in _guesses(whole, x, depth - 1):
                yield Recombined((rest, *further.parts), (n, *further.radices))
        yield Recombined((rest, whole), (n,))


def _by_coordinates(value: Any, x: AddressMap) -> dict[Any, dict[Any, int]]:
    """The terms of a value by what of them rests on coordinates: the rest are sizes, as terms of a polynomial."""
    out: dict[Any, dict[Any, int]] = {}
    coords = set(x.coords)
    for m, c in terms_of(value).items():
        moving = tuple(a for a in m if not coords.isdisjoint(a.symbols))
        out.setdefault(moving, {})[tuple(a for a in m if coords.isdisjoint(a.symbols))] = c
    return out


def _moves(p: Any, x: AddressMap) -> bool:
    return isinstance(p, Expr) and not set(x.coords).isdisjoint(p.symbols)


def _radices(value: Any, x: AddressMap) -> Iterable[Int]:
    """Factors of terms that move: sizes, and numbers above 1."""
    factors = [sizes for moving, sizes in _by_coordinates(value, x).items() if moving]
    whole = [build(sizes) for sizes in factors]
    terms = [build({m: abs(c)}) for sizes in factors for m, c in sizes.items()]
    plain = [n for n in [*terms, *whole] if isinstance(n, Expr) or n > 1]
    return sorted(dict.fromkeys(plain), key=lambda n: (type(n) is int, len(str(n)), str(n)))


def _split(value: Any, n: Int, x: AddressMap) -> tuple[Any, Any]:
    """(rest, whole) with value == rest + n*whole: every term that moves goes where its factor divides."""
    whole: Any = 0
    for moving, sizes in _by_coordinates(value, x).items():
        if moving:
            quotient = divides(n, build(sizes))
            quotient = split(build(sizes), n)[0] if quotient is None else quotient
            whole = whole + quotient * build({moving: 1})
    return value - n * whole, whole


def _plausible(guess: Recombined, x: AddressMap, facts: Facts) -> bool:
    """Whether each part but the last is inside its radix at small sizes."""
    tried = 0
    pairs = (*guess.parts[:-1], *guess.radices)
    for env in itertools.islice(small_sizes(facts.symbols, facts), SIZES):
        try:
            bound = AddressMap(x.coords, x.extents, pairs, x.valid).subs(env)
            if bound.size() > POINTS:
                continue
            _, rows = bound.table()
        except (SymlayoutError, ZeroDivisionError, OverflowError):
            continue
        k = len(guess.radices)
        if ((rows[:, :k] < 0) | (rows[:, :k] >= rows[:, k:])).any():
            return False
        tried += len(rows) > 0
    return tried > 0
