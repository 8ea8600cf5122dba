"""Why every element of a tensor is stored exactly once: a schedule of tiles, and who stores what of a tile.

Where an element is T*s + r, with s by blocks and loops, r by lanes and 0 <= r < T, three things suffice:

- the schedule s takes each tile of the tensor once (``Covers``);
- each cell r of a tile belongs to some stores, to one lane of each: numbers, which are enumerated (``cells``);
- of the stores that share a cell the conditions of exactly one hold, wherever the element is inside the tensor.

A single store that cannot be cut in this way may still be such a schedule, all its indices together.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from symlayout.address_map import AddressMap
from symlayout.errors import ExpressionError, SymlayoutError
from symlayout.expr import Fact, Int, Symbol, digit, divides, integer, substitute, terms_of
from symlayout.facts import Facts, symbols_in
from symlayout.int_tuple import ceil_div, is_zero
from symlayout.kernel import Kernel

from ..algebra.certificates import Certificate, together
from ..claim import Proof, TooLarge
from ..claims.covers import Covers
from .cells import Array, Cut, Tile
from .elements import Places, certificates, places, plain_terms, shown
from .store_sites import Open, Store, listed, stores
from .whole_tiles import whole_tiles


def argued(kernel: Kernel, name: str, facts: Facts) -> Proof:
    """The proof that each element of an output is stored exactly once. Raises Open with what is missing.

    >>> from symlayout import dim
    >>> from symlayout.kernels import vector_copy
    >>> N = dim("N")
    >>> argued(vector_copy(N), "dst", Facts.about(N)).method
    'tiles of (512), 1 of 2 stores for each cell; mixed radix, T3'
    """
    try:
        every = stores(kernel.plain.assuming(*facts.given), name)
        ways = places(kernel, name, every, facts)
        return _first(*(lambda way=way: _stored(way(), facts) for way in ways))
    except SymlayoutError as e:
        raise Open(str(e)) from e


def _first(*ways: Callable[[], Proof]) -> Proof:
    """The result of the first method that has one. Raises Open with what the first lacked."""
    lacked = None
    for way in ways:
        try:
            return way()
        except Open as e:
            lacked = lacked or str(e)
    raise Open(lacked or "a way to show it")


def _stored(p: Places, facts: Facts) -> Proof:
    """Each point of a box, by one of some ways."""
    found = _first(
        lambda: _tiled(p.stores, p.extents, facts, loops=True),
        lambda: _tiled(p.stores, p.extents, facts, loops=False),
        lambda: _as_one_map(p.stores, p.extents, facts),
        lambda: _in_stretches(p.stores, p.extents, facts),
    )
    return replace(found, certificate=_together([*p.why, *certificates(found)], "each element is stored once"))


def _together(parts: list[Any], because: str) -> Certificate | None:
    return together(parts, because) if parts else None


# -- schedules ------------------------------------------------------------------------------------------


def _tiled(every: Sequence[Store], domain: tuple[Int, ...], facts: Facts, loops: bool) -> Proof:
    """A schedule of tiles; their cells belong to lanes, and to loops with a number as trip count."""
    base, *others = [Cut.of(s, loops) for s in every]
    cuts = [base, *(c.by_steps_of(base) for c in others)]
    tile = Tile(cuts)
    at = tuple(divides(n, e) for n, e in zip(tile.extents, base.far, strict=True))
    if None in at:
        raise Open(f"that blocks and loops move by whole tiles {listed(tile.extents)}: by {listed(base.far)}")
    conditions, numbered = _conditions(tile, domain, facts)
    covered = _inside_or_all(base.steps, at, (*base.reached, *conditions.common), domain, tile.extents, facts)
    some = f", 1 of {len(cuts)} stores for each cell" if len(cuts) > 1 else ""
    parts = [*certificates(covered), *numbered, *conditions.shown]
    return Proof(
        f"tiles of {listed(tile.extents)}{some}; {covered.method}",
        _together(parts, "each tile is taken once, and each cell of it by one store"),
        (*covered.lemmas, f"{tile} [enumeration]"),
    )


def _as_one_map(every: Sequence[Store], domain: tuple[Int, ...], facts: Facts) -> Proof:
    """The boxes of a single store, by all its indices and under its conditions, are the tiles of the tensor."""
    if len(every) != 1:
        raise Open(f"how {len(every)} stores share the tensor")
    (s,) = every
    tile, parts = s.width, list[tuple[Symbol, Int]]()
    at: list[Any] = [divides(n, e) for n, e in zip(s.width, s.start, strict=True)]
    if None in at:  # element by element
        inside = [digit(f"part_{d}", n) for d, n in enumerate(s.width)]
        at, tile = [e + i for e, i in zip(s.start, inside, strict=True)], (1,) * len(s.width)
        parts += zip(inside, s.width, strict=True)
    limits = [Fact(n - 1 - t * a, ">=") for a, t, n in zip(at, tile, domain, strict=True)]
    limits = [f for f in limits if f.value is not True]
    known = [*s.reached, *s.chosen]
    implied = {f: shown(f, [*known, *limits], facts.given) for f in s.guards}
    known += [f for f in s.guards if implied[f] is None]
    within = {f: shown(f, known, facts.given) for f in limits}
    met = (*known, *(f for f in limits if within[f] is None))
    covered = _schedule((*s.steps, *s.lanes, *parts), tuple(at), met, domain, tile, facts)
    why = [c for c in (*implied.values(), *within.values()) if c is not None]
    return replace(covered, certificate=_together([*certificates(covered), *why], "each box is taken once"))


def _in_stretches(every: Sequence[Store], domain: tuple[Int, ...], facts: Facts) -> Proof:
    """One stretch of memory after another, each by stores that begin there and stay in it: vectors, and a rest."""
    indices = {i for s in every for i, _ in (*s.steps, *s.lanes)}
    begins = dict.fromkeys(plain_terms(s.start[0], indices) for s in every)
    first = next((b for b in begins if is_zero(b)), None)
    if len(domain) > 1 or len(begins) != 2 or first is None:
        raise Open(f"how {len(every)} stores share the tensor")
    cut = next(b for b in begins if b is not first)
    parts: list[Any] = []
    methods, lemmas = list[str](), list[str]()
    for begin, end in ((0, cut), (cut, domain[0])):
        mine = [s for s in every if plain_terms(s.start[0], indices) == begin]
        moved = [replace(s, start=(s.start[0] - begin,)) for s in mine]
        limits: list[tuple[Fact, list[Fact]]] = [(Fact(end - begin, ">="), [])]
        for s in mine if end is cut else ():
            last = s.start[0] + digit("last", s.width[0])
            limits.append((Fact(end - 1 - last, ">="), [*s.reached, *s.chosen, *s.guards]))
        for f, known in limits:
            found = shown(f, known, facts.given)
            if found is None:
                raise Open(f"that {f}, so that one stretch of memory begins where another ends")
            parts.append(found)
        whole = _stored(Places(tuple(moved), (end - begin,)), facts)
        parts += certificates(whole)
        methods.append(whole.method)
        lemmas += whole.lemmas
    return Proof(f"two stretches: {', and '.join(methods)}", _together(parts, "one after the other"), tuple(lemmas))


def _inside_or_all(
    rows: Sequence[tuple[Symbol, Int]], at: Any, met: Any, domain: tuple[Int, ...], tile: tuple[int, ...], facts: Facts
) -> Proof:
    """The schedule of tiles; of one that goes past the end what is inside, which its own conditions may follow from."""
    try:
        return _schedule(rows, at, met, domain, tile, facts)
    except Open:
        counts = [integer(ceil_div(n, t)) for n, t in zip(domain, tile, strict=True)]
        limits = [f for a, n in zip(at, counts, strict=True) if (f := Fact(n - 1 - a, ">=")).value is not True]
        implied = {f: shown(f, limits, facts.given) for f in met}
        left = [f for f in met if implied[f] is None]
        found = _schedule(rows, at, (*left, *limits), domain, tile, facts)
        why = [c for c in implied.values() if c is not None]
        return replace(found, certificate=_together([*certificates(found), *why], "each tile inside is taken once"))


def _schedule(
    rows: Iterable[tuple[Symbol, Int]], at: Any, met: Any, domain: tuple[Int, ...], tile: tuple[int, ...], facts: Facts
) -> Proof:
    """A proof that the tiles *at* which indices are where facts are *met* are those of the domain, each once."""
    rows = tuple(rows)
    still = [d for d, a in enumerate(at) if is_zero(a)]
    single = [shown(Fact(tile[d] - domain[d], ">="), (), facts.given) for d in still]
    if None not in single and len(still) == len(at):  # one tile, which the first step takes alone
        at = tuple(i for i, _ in rows) or (0,)
        domain = tile = (1,) * len(at)
    elif None not in single:
        at, domain, tile = (tuple(x for d, x in enumerate(xs) if d not in still) for xs in (at, domain, tile))
    tiles = AddressMap(tuple(i for i, _ in rows), tuple(n for _, n in rows), at, tuple(met))
    claim = Covers(tiles, domain, tile)
    found = claim.certify(facts)
    if found is None and claim.static() and _enumerated(claim):
        return Proof(f"enumeration of {claim.points()} points", None, (f"{claim} [enumeration]",))
    if found is None:
        raise Open(f"that of {listed(domain)} each tile {listed(tile)} is taken once: {tiles}")
    why = [c for c in single if c is not None] if None not in single else []
    return (
        replace(found, certificate=_together([*why, *certificates(found)], "one tile in other modes")) if why else found
    )


def _enumerated(claim: Covers) -> bool:
    try:
        return claim.counterexample() is None
    except TooLarge:
        return False


# -- conditions -----------------------------------------------------------------------------------------


def _conditions(tile: Tile, domain: tuple[Int, ...], facts: Facts) -> tuple[_Conditions, tuple[Certificate, ...]]:
    """The conditions of stores, whichever tile a raster is at, and the certificates that it is at one.

    As they stand where there is no raster, or where conditions on its steps are the schedule's.
    """
    far = tile.cuts[0].far
    short = whole_tiles(far, domain, facts)
    if short is not None:
        every = [n for c in tile.cuts if (n := c.numbered(short)) is not None]
        if len(every) == len(tile.cuts):
            with contextlib.suppress(Open):
                found = _Conditions(tile.of(every), domain, facts.given)
                if not found.common:
                    return found, short.why
    return _Conditions(tile, domain, facts.given), ()


class _Conditions:
    """A proof that of the stores which share a cell the conditions of exactly one hold; ``shown`` are the certificates.

    ``common`` are those on blocks and loops that all stores have, and that not each element in the tensor meets: they
    are the schedule's. Raises Open where this is not shown.
    """

    def __init__(self, tile: Tile, domain: tuple[Int, ...], given: tuple[Fact, ...]) -> None:
        self.tile, self.domain, self.given = tile, domain, given
        self.shown: list[Certificate] = []
        self.common = self._common()
        for every, cells in tile.groups():
            self._share(every, cells)

    def _common(self) -> tuple[Fact, ...]:
        cuts = self.tile.cuts
        lanes = {i for c in cuts for i, _ in c.lanes}
        every = [f for f in cuts[0].guards if not lanes & set(f.symbols) and all(f in c.guards for c in cuts)]
        inside = [self._inside(i) for i in range(len(cuts) if every else 0)]
        return tuple(f for f in every if any(shown(f, known, self.given) is None for known in inside))

    def _inside(self, i: int) -> list[Fact]:
        """Facts that hold where a store writes an element inside the tensor."""
        c = self.tile.cuts[i]
        limits = [Fact(n - 1 - e, ">=") for e, n in zip(self.tile.element(i), self.domain, strict=True)]
        return [*c.reached, *c.store.chosen, *(f for f in limits if f.value is not True)]

    def _there(self, i: int, cells: Array) -> Iterator[Fact]:
        """Between which values the indices of a store are at some cells."""
        for s, x in self.tile.held[i].columns.items():
            low, high = int(x[cells].min()), int(x[cells].max())
            yield from (f for f in (Fact(s - low, ">="), Fact(high - s, ">=")) if Facts.about(s).holds(f) is not True)

    def _share(self, every: list[int], cells: Array) -> None:
        first, *others = every
        guards = [list(self.tile.cuts[first].guards), *(self._as_of(first, i, cells) for i in others)]
        if not any(guards) and len(guards) == 1:
            return
        known = [*self._inside(first), *self._there(first, cells), *self.common]
        self.shown += self._some(guards, known)
        for k, b in enumerate(guards):
            self.shown += [self._not_both(a, b, known) for a in guards[:k]]

    def _as_of(self, first: int, i: int, cells: Array) -> list[Fact]:
        """The conditions of a store at the cells that it shares with another, in the indices of that."""
        mine, theirs = self.tile.held[i].columns, self.tile.held[first].columns
        same = {s: t for s, x in mine.items() for t, y in theirs.items() if (x[cells] == y[cells]).all()}
        own = set(mine) - set(same)
        pairs = list(zip(self.tile.element(i), self.tile.element(first), strict=True))
        return [Fact(_moved(f.expr, own, same, pairs), f.relation, f.modulus) for f in self.tile.cuts[i].guards]

    def _some(self, guards: list[list[Fact]], known: list[Fact]) -> list[Certificate]:
        """One of some lists of facts holds as a whole: if the first fails, one of the others."""
        first, *others = guards
        found = {f: shown(f, known, self.given) for f in first}
        out = [c for c in found.values() if c is not None]
        for f in (f for f, c in found.items() if c is None):
            if not others:
                raise Open(f"that {f}, so that the element is stored, where {' and '.join(map(str, known))}")
            try:
                fails = f.negated()
            except ExpressionError as e:
                raise Open(f"what holds where {f} does not") from e
            for g in fails:
                out += self._some(others, [*known, g])
        return out

    def _not_both(self, a: list[Fact], b: list[Fact], known: list[Fact]) -> Certificate:
        """A proof that two lists of facts never hold together."""
        for k, f in enumerate(b):
            if f.relation == ">=":
                found = shown(Fact(-f.expr - 1, ">="), [*known, *a, *b[:k], *b[k + 1 :]], self.given)
                if found is not None:
                    return found
        one, other = (" and ".join(map(str, x)) or "no condition" for x in (a, b))
        raise Open(f"that an element is not stored twice, under {one}, and under {other}")


def _moved(p: Any, own: set[Symbol], same: dict[Any, Any], pairs: list[tuple[Any, Any]]) -> Any:
    """p in the indices of another store: those with the same values, the others by the element that both write."""
    if not own & symbols_in((p,)):
        return substitute(p, same)
    for mine, theirs in pairs:
        for m, d in terms_of(mine).items():
            c = divides(d, terms_of(p).get(m, 0)) if own & symbols_in(m) else None
            rest = p - c * mine if c else p
            if not own & symbols_in((rest,)):
                return c * theirs + substitute(rest, same)
    raise Open(f"what {p} is by the lanes of another store of the same cell")
