"""Starts of boxes by blocks and loops as whole tiles; a claim needs only their number.

    >>> from symlayout import dims
    >>> from symlayout.kernels import gemm
    >>> M, N = dims("M N")
    >>> store = next(op for op in gemm(M, N, 64, cluster=1).walk() if getattr(op, "atom", "") == "tma.store")
    >>> short = whole_tiles(store.dst.coordinate, (N, M), Facts.about(M, N))
    >>> short.coordinate, [s.upper for s in short.tiles]
    ((256*[tile 0], 128*[tile 1] + 16*(thread//32)), [ceil(N/256) - 1, ceil(M/128) - 1])

A raster in groups is a quotient by a minimum by a remainder. That its tiles lie in the tensor is shown by digits, once
for all copies there; what then is asked of a box is asked of the tile with any number.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from symlayout.address_map import AddressMap
from symlayout.expr import (
    Atom,
    Expr,
    Fact,
    Int,
    Max,
    Min,
    Quotient,
    Symbol,
    digit,
    divides,
    integer,
    terms_of,
)
from symlayout.facts import Facts, symbols_in
from symlayout.int_tuple import ceil_div

from ..algebra import digits
from ..algebra.certificates import Certificate


@dataclass(frozen=True)
class Short:
    """A coordinate in the numbers of *tiles*, each in its range, and the certificates of that."""

    coordinate: tuple[Any, ...]
    tiles: tuple[Symbol, ...]
    why: tuple[Certificate, ...]
    indices: frozenset[Symbol]  # of the rasters

    def put(self, f: Fact, coordinate: Sequence[Any]) -> Fact | None:
        """A fact in which rasters of the coordinate that was made short stand, with numbers of tiles instead.

        None where something else is left of them.
        """
        if not self.indices & symbols_in(f):
            return f
        for short, long in zip(self.coordinate, coordinate, strict=True):
            for expr in (f.expr + short - long, f.expr - short + long):
                moved = Fact(expr, f.relation, f.modulus)
                if not self.indices & symbols_in(moved):
                    return moved
        return None


def whole_tiles(coordinate: Sequence[Int], extents: Sequence[Int], facts: Facts) -> Short | None:
    """The start of a box with its rasters replaced by a number of tiles each; None where there are none of these."""
    out, tiles, why = list(coordinate), list[Symbol](), list[Certificate]()
    indices: set[Symbol] = set()
    for d, (start, n) in enumerate(zip(coordinate, extents, strict=True)):
        moved = _moved_by(start)
        if not moved:
            continue
        far = sum((math.prod(m, start=c) for m, c in terms_of(start).items() if _symbols(m) & moved), 0)
        given = tuple(f for f in facts.given if not moved & set(f.symbols))
        for unit, most in _counts(far, n):
            found = _bounded(divides(unit, far), most, given)
            if found is not None:
                tile = digit(f"tile {d}", most)
                out[d] = start - far + unit * tile
                tiles.append(tile)
                indices |= moved
                why.append(found)
                break
        else:
            return None
    return Short(tuple(out), tuple(tiles), tuple(why), frozenset(indices)) if tiles else None


def _moved_by(start: Int) -> set[Symbol]:
    """The indices in quotients with divisors that are not numbers, and in quotients of a minimum or maximum."""
    atoms = [a for m in terms_of(start) for a in m if _is_raster(a)]
    return {s for a in atoms for s in a.symbols if s.lower == 0}


def _is_raster(a: Atom) -> bool:
    if isinstance(a, Quotient) and type(a.args[1]) is int:
        return any(_is_raster(b) for m in terms_of(a.args[0]) for b in m)
    return isinstance(a, Quotient | Min | Max)


def _symbols(m: Iterable[Atom]) -> set[Symbol]:
    return {s for a in m for s in a.symbols}


def _counts(far: Int, n: Int) -> list[tuple[int, Int]]:
    """(T, tiles of T) as may be, from what divides all terms; boxes of part of a tile go up to its end."""
    unit = math.gcd(*terms_of(far).values())
    wider = dict.fromkeys(abs(c) for c in terms_of(far).values() if c % unit == 0)
    return [(unit, integer(t // unit * ceil_div(n, t))) for t in (unit, *wider)]


@functools.lru_cache(maxsize=1 << 8)
def _bounded(tiles: Any, most: Int, given: tuple[Fact, ...]) -> Certificate | None:
    """A proof that 0 <= tiles < most for all values of the indices in it, by digits."""
    known = box(tuple(s for s in symbols_in((tiles,)) if s.lower == 0), given)
    if known is None:
        return None
    rows, env, reached = known
    facts = Facts.about(most, *(n for _, n in rows), given=given)
    at = AddressMap(tuple(i for i, _ in rows), tuple(n for _, n in rows), (tiles.subs(env),), reached)
    return digits.bounded(at, [0], [most - 1], facts)


def box(
    indices: Sequence[Symbol], given: tuple[Fact, ...]
) -> tuple[list[tuple[Symbol, Int]], dict[Any, Any], tuple[Fact, ...]] | None:
    """(index, extent) for some indices, as a box; where their own ranges rest on others, with what puts them there.

    None where the range of one has no closed bound.
    """
    plain = sorted((s for s in indices if _independent(s)), key=lambda s: s.name)
    rows: list[tuple[Symbol, Int]] = [(s, integer(_upper(s) + 1)) for s in plain]
    env: dict[Any, Any] = {}
    reached: list[Fact] = []
    for s in sorted(set(indices) - set(plain), key=lambda s: s.name):
        found = trips(s, _upper(s) + 1, plain, given) if s.upper is not None else None
        if found is None:
            return None
        i, bound, facts = found
        rows.append((i, bound))
        env[s] = i
        reached += facts
    return rows, env, tuple(reached)


def _upper(s: Symbol) -> Any:
    return s.upper


def _independent(s: Symbol) -> bool:
    return s.upper is not None and not any(t.lower == 0 for t in symbols_in((s.upper,)))


def trips(
    s: Symbol, n: Any, blocks: Iterable[Symbol], given: tuple[Fact, ...]
) -> tuple[Symbol, Int, tuple[Fact, ...]] | None:
    """(index, bound, facts) for 0 <= index < n: the indices below the bound for which the facts hold.

    Where n = max(0, x) these are those below x; where it is min(a, b), those below both, and one of the two that does
    not depend on blocks is the bound. Where n = X//d + e or e depends on blocks, d*(index + 1 - e) <= X, and the bound
    is n at block 0. None where that is not shown to bound n.
    """
    within = _least(n)
    whole = next((x for x in within if symbols_in((x,)).isdisjoint(blocks)), None)
    if len(within) > 1 and whole is not None:
        i = s.ranged(0, integer(whole - 1))
        return i, whole, tuple(Fact(x - 1 - i, ">=") for x in within if x is not whole)
    (n,) = within if len(within) == 1 else (n,)
    quotients = [m[0] for m, c in terms_of(n).items() if len(m) == 1 and c == 1 and isinstance(m[0], Quotient)]
    bound = n.subs(dict.fromkeys(blocks, 0)) if isinstance(n, Expr) else n
    if len(quotients) > 1 or Facts.about(n, bound, given=given).le(n, bound) is not True:
        return None
    i = s.ranged(0, integer(bound - 1))
    x, d, rest = (*quotients[0].args, n - quotients[0]) if quotients else (0, 1, n)
    return i, bound, (Fact(x - d * (i + 1 - rest), ">="),)


def _least(n: Any) -> tuple[Any, ...]:
    """Numbers of which the least is n wherever n is above 0."""
    atom = next(iter(terms_of(n))) if isinstance(n, Expr) else ()
    if len(atom) != 1 or terms_of(n) != {atom: 1}:
        return (n,)
    (a,) = atom
    if isinstance(a, Max) and any(type(x) is int and x <= 0 for x in a.args):
        left = [x for x in a.args if not (type(x) is int and x <= 0)]
        return _least(left[0]) if len(left) == 1 else (n,)
    return tuple(y for x in a.args for y in _least(x)) if isinstance(a, Min) else (n,)
