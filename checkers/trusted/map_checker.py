"""Certificates about index expressions: coordinates become digits, quotients are divided out, the rest is linear.

A claim has ``coords`` with extents, and polynomials ``valid`` that are >= 0 where the map is used. Its ``atoms`` are
in an order in which each depends on those before it. Its ``value`` are polynomials in all of these. The proof
replaces sizes and coordinates, each time by a bijection between what there was and what there is then:

- ``recombine``: a value a + m*b is the pair (a, b), where 0 <= a < m is shown (T3);
- ``split``: a size n is d*F + r with 0 <= r < d (T18);
- ``widen``: where values are to differ, a coordinate runs on to the next multiple of something;
- ``fold``: coordinates c with L(c) < W, L a mixed radix, are one coordinate w = L(c) of [0, W) (T20);
- ``digits``: a coordinate runs through consecutive intervals, each counted by digits of its own (T3, T18);
- ``turns``: a coordinate is rotated, reversed or xored, by what the others say (T19).

In each piece atoms are divided out (T10), or they stay as names with what defines them. Every name that a proof
brings in is new, and whatever it says about one is shown here.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from .lemmas import ONE, Poly, minus, name_of, names_in, need, nonneg, plus, poly, put, times
from .map_steps import Hint, Map
from .piece_checker import Piece

Interval: TypeAlias = "tuple[list[tuple[str, Poly]], Poly]"  # its digits with their extents, the coordinate by them


def check_map(claim: Hint, proof: Hint) -> None:
    """``says`` bounds (low <= value <= high), injective, or bijective onto the box of extents ``onto``."""
    says = claim["says"]
    need(says in ("bounds", "injective", "bijective"), "a map is bounded, injective or bijective")
    onto = [poly(n) for n in claim.get("onto", ())]
    low = [poly(p) for p in claim.get("low", ())] if says == "bounds" else [{} for _ in onto]
    high = [poly(p) for p in claim.get("high", ())] if says == "bounds" else [minus(n, ONE) for n in onto]
    m = Map.read(claim, [*onto, *low, *high])
    if "recombine" in proof:
        box = m.recombine(proof["recombine"], says, onto if says == "bijective" else [plus(h, ONE) for h in high])
        need(says != "bounds" or low == [{}], "expected a range that begins at 0")
        onto, low, high = box if says == "bijective" else [], [{} for _ in box], [minus(n, ONE) for n in box]
    for step in proof.get("split", ()):
        env = m.split(*step)
        onto, low, high = ([put(p, env) for p in ps] for ps in (onto, low, high))
    for step in proof.get("fold", ()):
        m.fold(step)
    need(says == "injective" or "widen" not in proof, "only what is injective on more points is so on fewer")
    for step in proof.get("widen", ()):
        m.widen(*step)
    if says == "bijective":
        m.count(onto, proof["extents"])
    pieces = pieces_of(m, proof.get("digits", {}))
    need(len(pieces) == len(proof["pieces"]), "one proof for each piece")
    for piece, hint in zip(pieces, proof["pieces"], strict=True):
        piece.resolve(hint.get("atoms", {}))
        for turn in hint.get("turns", ()):
            piece.turn(turn)
        if says != "injective" or low:
            piece.bounded(low, high, hint["bounds"], every=says != "injective")
        if says != "bounds":
            piece.injective(hint["injective"])
    if says != "bounds":
        expect_disjoint(pieces, proof.get("disjoint", ()))


def pieces_of(m: Map, digits: Mapping[str, Any]) -> list[Piece]:
    """The map on each product of intervals."""
    need(set(digits) <= {c for c, _ in m.coords}, "digits of an unknown coordinate")
    ways = [_intervals(m, c, n, digits[c]) if c in digits else [([(c, n)], name_of(c))] for c, n in m.coords]
    return [_piece(m, dict(zip([c for c, _ in m.coords], way, strict=True))) for way in itertools.product(*ways)]


def _intervals(m: Map, c: str, n: Poly, pieces: Any) -> list[Interval]:
    """Consecutive intervals that make up the coordinates [0, n)."""
    out: list[Interval] = []
    start: Poly = {}
    for rows in pieces:
        digits: list[tuple[str, Poly]] = []
        at, stride = start, ONE
        for name, extent, hint in rows:
            extent = poly(extent)
            need(names_in(extent) <= m.sizes, "an extent rests on a coordinate")
            nonneg(extent, m.gens, hint)
            digits.append((m.fresh(name), extent))
            at = plus(at, times(name_of(name), stride))
            stride = times(stride, extent)
        out.append((digits, at))
        start = plus(start, stride)
    need(start == n, f"the pieces do not make up the extent of {c}")
    return out


def _piece(m: Map, way: Mapping[str, Interval]) -> Piece:
    """The map where each coordinate is in one of its intervals."""
    env = {c: at for c, (_, at) in way.items()}
    gens, digits = list(m.gens), []
    for _, (ds, at) in way.items():
        stride, top = ONE, at
        for d, n in ds:
            gens += [name_of(d), minus(minus(n, name_of(d)), ONE)]
            top, stride = minus(top, times(name_of(d), stride)), times(stride, n)
        if len(ds) > 1:  # the interval ends before its start and its size
            gens.append(minus(minus(plus(top, stride), at), ONE))
        digits += ds
    return Piece(m, gens, digits, env)


def expect_disjoint(pieces: list[Piece], hints: Iterable[Any]) -> None:
    """One of two pieces lies below the other in some entry of the value."""
    pairs = list(itertools.combinations(pieces, 2))
    hints = list(hints)
    need(len(hints) == len(pairs), "one lemma for each pair of pieces")
    for (a, b), (entry, order, why) in zip(pairs, hints, strict=True):
        own = {n: name_of(f"{n}'") for n in b.rests}
        need(not {f"{n}'" for n in own} & (a.map.taken | set(a.rests)), "a name that is in use")
        need(order in (1, -1), "one piece is above the other")
        gap = minus(put(b.value[entry], own), a.value[entry])
        nonneg(minus(plus({}, gap, order), ONE), [*a.gens, *(put(g, own) for g in b.gens)], why)
