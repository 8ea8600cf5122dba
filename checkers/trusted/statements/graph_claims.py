"""The theorem that a statement about views and distributions of CK Tile needs, from the transforms that it names.

A statement has the graph of a descriptor, or the map of another subject; what is compared with the proof is derived
from it here: the box of digits, the offset in digits, the facts of the pads, the lanes of a vector.
Nothing of the provers, and no layout, is imported.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from ..lemmas import ONE, Poly, always_divides, minus, names_in, need, plus, poly, put, times
from .graphs import Digits, Graph, Polys, Sign, Transform, data, digits, dot, product, row_major
from .kinds import in_bounds
from .lane_claims import WIDTHS, requests
from .linear_forms import proved, same, same_modes
from .world import Data, World, expressions, fact, frozen, leaf, leaves, number

ANY = "any "  # the names of integers of which nothing is known
BANK_BYTES = 4  # LDS banks are words
MOST_LANES = 1024

Known: TypeAlias = "list[tuple[Poly, str, int]]"


@dataclass
class Asked:
    """A statement for the world of its names, and the check of a proof in it."""

    statement: Data
    check: Callable[[World, Data, Data], None]


def _stated(s: Data, kind: str, coords: dict[str, Poly], value: Poly, **fields: Any) -> dict[str, Any]:
    """A statement about a map over a box, with the sizes, the expressions and what is given of another one."""
    box = {"coords": [*coords], "extents": list(map(data, coords.values())), "value": data(value), "valid": []}
    kept = {k: s[k] for k in ("sizes", "atoms", "given") if k in s}
    return {**kept, "kind": kind, "layout": {"map": box}, **fields}


def _positive(s: Data) -> Sign:
    """Whether a polynomial in digits and sizes is plainly at least 0: a sum of products of what is."""
    sizes = {n for n, (low, *_) in s.get("sizes", {}).items() if type(low) is int and low >= 0}
    for k, (op, *args) in _atoms(s):
        if op == "floordiv" and _sum(poly(args[0]), sizes) and (number(poly(args[1])) or 0) >= 1:
            sizes.add(k)
    return lambda p, digits: _sum(p, {*sizes, *digits})


def _sum(p: Poly, names: set[str]) -> bool:
    return all(c > 0 and set(key) <= names for key, c in p.items())


def _known(w: World, asked: Polys) -> None:
    for p in asked:
        w.known(w.image(data(p)))


# -- bounds -------------------------------------------------------------------------------------------------


def no_invalid_access(s: Data) -> Asked:
    """The bounds of the offset: of a descriptor over digits of its merges and pads, of another map at its points."""
    v, x, asked = s["elements"], s["layout"], list[Poly]()
    need(type(v) is int and v >= 1 and s["when"] is None, "an access of some elements")
    need(v == 1 or "graph" in x, "vectors of a map")
    stated: dict[str, Any] = {**s, "layout": x}
    if "graph" in x:
        g = Graph.read(x["graph"])
        need(len(g.bottom) == 1, "an offset")
        found = digits(g, True, _positive(s))
        asked = found.asked
        value = found.hidden.get(g.bottom[0], {})
        if v > 1:
            value = _first_lanes(found, value, s["along"], v)
        stated = _stated(s, "InBounds", found.extents, value)
    stated = {k: y for k, y in stated.items() if k not in ("size", "elements", "along")}
    last = minus(leaf(s["size"]), {(): v - 1} if v > 1 else {})
    stated |= {"kind": "InBounds", "extent": data(last), "low": 0, "when": None}

    def check(w: World, c: Data, how: Data) -> None:
        _known(w, asked)
        in_bounds(w, stated, c, how)

    return Asked(stated, check)


def _first_lanes(found: Digits, value: Poly, along: Any, v: int) -> Poly:
    """The value at multiples of a vector along a dimension: its fastest digit counts vectors, the others multiples."""
    need(type(along) is int and -len(found.top) <= along < len(found.top), "a vector along a dimension")
    p = found.top[along]
    fastest = next((d for d in found.extents if p.get((d,)) == 1), None)
    need(fastest is not None, "a dimension without a fastest digit")
    d = str(fastest)
    name = f"[{d.strip('[]')}.v]"
    whole = [found.extents[d], minus(p, {(d,): 1})]
    need(all(c % v == 0 for q in whole for c in q.values()) and name not in found.extents, "a vector that is cut")
    each = {key: c // v for key, c in found.extents[d].items()}
    found.extents = {name if k == d else k: each if k == d else n for k, n in found.extents.items()}
    return put(value, {d: {(name,): v}})


# -- masks --------------------------------------------------------------------------------------------------


def mask_is_exactly(s: Data) -> Asked:
    """Each fact of the pads from those of the predicate, and each of the predicate from those of the pads."""
    x, predicate = s["layout"], s["predicate"]["map"]
    found, names = _in_digits(x) if "graph" in x else _as_it_is(x["map"])
    need(list(names) == list(map(str, predicate["coords"])), "a predicate of other coordinates")
    need(not any(leaves(predicate["value"])), "a predicate with a value")
    for e in expressions(s):
        leaf(e)  # also those that no proof reads are expressions
    if "map" in x:
        need(predicate["extents"] == x["map"]["extents"], "a predicate over another box")
    env = dict(zip(names, found.top, strict=True))
    wanted = [(put(p, env), rel, m) for p, rel, m in map(fact, predicate["valid"])]
    mask: Known = [(p, ">=", 0) for p in found.valid]
    if "map" in x:
        mask = [(put(p, env), rel, m) for p, rel, m in map(fact, x["map"]["valid"])]
    stated = _stated(s, "MaskIsExactly", found.extents, {})
    stated["atoms"] = {k: [op, *(_rows(put(poly(a), env)) for a in args)] for k, (op, *args) in _atoms(s)}
    for p, *_ in (*wanted, *mask):
        need(names_in(p) <= {*found.extents, *s.get("sizes", {}), *s.get("atoms", {})}, "a name that is not stated")

    def check(w: World, c: Data, how: Data) -> None:
        _known(w, found.asked)
        need(c["kind"] == "all", "a proof of each fact")
        parts = iter(c["parts"])
        for known, shown in ((mask, wanted), (wanted, mask)):
            _follow(w, known, shown, parts)
        need(next(parts, None) is None, "a part too many")

    return Asked(stated, check)


def _atoms(s: Data) -> Any:
    return s.get("atoms", {}).items()


def _rows(p: Poly) -> Any:
    return [[c, *key] for key, c in p.items()]


def _in_digits(x: Data) -> tuple[Digits, list[str]]:
    g = Graph.read(x["graph"])
    return digits(g), g.coords


def _as_it_is(m: Data) -> tuple[Digits, list[str]]:
    names = list(map(str, m["coords"]))
    extents = {c: leaf(n) for c, n in zip(names, m["extents"], strict=True)}
    return Digits(extents, [{(c,): 1} for c in names]), names


def _follow(w: World, known: Known, shown: Known, parts: Iterator[Any]) -> None:
    """A check that the next parts prove the facts that are not among the known ones."""
    allowed = w.of_points | w._rows(known)
    have = [(frozen(p), rel, m) for p, rel, m in known]
    for p, rel, m in shown:
        if (frozen(p), rel, m) in have:
            continue
        for q in (p, minus({}, p)) if rel == "==" else (p,):
            part = next(parts, {"kind": ""})
            need(part["kind"] == ("divisible" if rel == "%" else "nonneg"), "a part is missing")
            w.expect(part, allowed)
            same(part, "base" if rel == "%" else "poly", w.image(data(q)))
            need(rel != "%" or (part["modulus"] == m and not part["modes"]), "another modulus")


# -- vectors ------------------------------------------------------------------------------------------------


@dataclass
class Lanes:
    """Vectors of some indices through the transforms; ``needs`` must be multiples of their number."""

    elements: int
    needs: Polys
    names: Iterator[int]

    def anything(self) -> Poly:
        """An integer of which nothing is known."""
        return {(f"{ANY}{next(self.names)}",): 1}

    def through(self, t: Transform, starts: Polys, steps: Polys) -> tuple[Polys, Polys]:
        """The lower run of an upper one, with what it needs."""
        still = not any(steps) or self.elements == 1
        if t.kind in ("merge", "modulo", "xor") and t.lower_rank + len(steps) > 2:
            return self._divided(t, starts, steps, still)
        need(t.kind != "modulo" or still, "a run through a remainder")
        if t.kind == "modulo":
            return [self.anything()], [{}]
        if t.valid(starts) and not still:
            need(steps == [ONE], "a run of steps of 1")
            length, *pads = t.numbers
            left = pads[0] if t.kind != "right_pad" else {}
            edges = {"left_pad": [left], "right_pad": [length]}.get(t.kind, [left, plus(left, length)])
            self.needs += [*starts, *edges]
        if t.kind in ("embed", "unmerge"):
            weights = t.lists[1] if t.kind == "embed" else row_major(t.lists[0])
            return t.lower(starts), [dot(steps, weights)]
        return t.lower(starts), [{}] * t.lower_rank if t.kind == "freeze" else steps[: t.lower_rank]

    def _divided(self, t: Transform, starts: Polys, steps: Polys, still: bool) -> tuple[Polys, Polys]:
        lower = [starts[0] if t.kind == "xor" and i == 0 else self.anything() for i in range(t.lower_rank)]
        if still:
            return lower, [{}] * t.lower_rank
        need(t.kind == "merge" and steps == [ONE], "a run of steps of 1 through a merge")
        self.needs += [starts[0], t.lists[0][-1]]
        lower[-1] = times({(): self.elements}, lower[-1])
        return lower, [*([{}] * (t.lower_rank - 1)), ONE]


def vector(s: Data) -> Asked:
    """The lanes of each vector are a run through every transform, on one side of each edge of a pad (T11, T12)."""
    v, along, g = s["elements"], s["along"], Graph.read(s["layout"]["graph"])
    need(type(v) is int and v >= 1 and type(along) is int and 0 <= along < len(g.top), "a vector along a dimension")
    need(not any(n.startswith(ANY) for n in (*s.get("sizes", {}), *s.get("atoms", {}))), "a name that is in use")
    lanes = Lanes(v, [g.extents[along]], itertools.count())
    tops: Polys = [{(f"[{c}]",): v if i == along else 1} for i, c in enumerate(g.coords)]
    starts = dict(zip(g.top, tops, strict=True))
    steps = {i: ONE if k == along else {} for k, i in enumerate(g.top)}
    for t, low, up in reversed(g.rows):
        found = lanes.through(t, [starts.get(i, {}) for i in up], [steps.get(i, {}) for i in up])
        starts.update(zip(low, found[0], strict=True))
        steps.update(zip(low, found[1], strict=True))
    stated = _stated(s, s["kind"], {f"[{c}]": n for c, n in zip(g.coords, g.extents, strict=True)}, {})
    last = steps.get(g.bottom[0], {})

    def check(w: World, c: Data, how: Data) -> None:
        need(c["kind"] == "all" and len(c["parts"]) > 0, "a proof of each multiple")
        same(c["parts"][0], "base", w.image(data(g.extents[along])))
        for part in c["parts"]:
            need(part["kind"] == "divisible" and part["modulus"] == v, "a multiple of another number")
        for p in lanes.needs:
            need(always_divides(v, put(p, w.env)), "a vector that is cut, or that meets an edge")
        if s["kind"] == "GuaranteedVectorLength" and v > 1:
            need(len(g.bottom) == 1 and put(last, w.env) == w.image(s["stride"]), "another stride")

    return Asked(stated, check)


# -- distributions ------------------------------------------------------------------------------------------


def distribution_covers(s: Data) -> Asked:
    """Digits of P and Y are a mixed radix of each dimension of the tile (T3), as many others idle as R says."""
    g = Graph.read(s["distribution"]["graph"])
    found = digits(g)
    runs = [s["lanes"]] if s["warps"] is None else [s["warps"], s["lanes"]]
    merges = [up[0] for t, _, up in g.rows if t.kind == "merge"]
    need(g.top[: len(runs)] == merges and len(g.top) >= len(runs), "P indices that are no merges")
    below = [[t for t, low, _ in g.rows if k in low] for k in g.bottom]
    need(all([t.kind for t in ts] == ["unmerge"] for ts in below), "a tile dimension that is no unmerge")
    need(not found.valid, "a distribution that masks")
    tiles = [product(t.lists[0]) for (t,) in below]
    replicas = product([n for t, _, _ in g.rows if t.kind == "replicate" for n in t.lists[0]])
    moves = [_moves(found, found.hidden.get(k, {})) for k in g.bottom]
    owned = [d for m in moves for d in m]
    need(len(set(owned)) == len(owned), "a digit that moves two dimensions")
    stated = _stated(s, "DistributionCovers", found.extents, {})

    def check(w: World, c: Data, how: Data) -> None:
        for n, i in zip(runs, g.top, strict=False):
            need(w.image(n) == w.image(data(g.length_of(i))), "another number of threads")
        extents = {d: w.image(data(n)) for d, n in found.extents.items()}
        for n in extents.values():
            w.known(minus(n, ONE))
        _known(w, found.asked)
        idle = product([n for d, n in extents.items() if d not in owned])
        need(idle == w.image(data(replicas)), "another number of replicas")
        parts = c["parts"] if c["kind"] == "all" else []
        need(len(parts) == len(tiles), "a proof for each dimension")
        for part, m, n in zip(parts, moves, tiles, strict=True):
            proved(w, part, "bijective")
            same_modes(part, [(extents[d], w.image(data(x))) for d, x in m.items() if extents[d] != ONE])
            same(part, "onto", w.image(data(n)))

    return Asked(stated, check)


def _moves(found: Digits, value: Poly) -> dict[str, Poly]:
    """The stride of each digit in a value that is a sum of them."""
    out: dict[str, Poly] = {}
    for key, c in value.items():
        mine = [n for n in key if n in found.extents]
        need(len(mine) == 1, "a tile index that is no sum of digits")
        rest = tuple(n for n in key if n != mine[0])
        out[mine[0]] = plus(out.get(mine[0], {}), {rest: c})
    return {d: x for d, x in out.items() if x}


# -- banks --------------------------------------------------------------------------------------------------


def lds_conflict_degree(s: Data) -> Asked:
    """What moves all lanes alike is left out, and the words of each phase are counted bank by bank (T14, T16)."""
    served, size, most = s["served"]["access"], s["element_bytes"], s["at_most"]
    width, lanes, banks, groups = (served[k] for k in ("width_bytes", "lanes", "banks", "groups"))
    numbers = (size, most, width, lanes, banks, *(lane for g in groups for lane in g))
    need(all(type(n) is int and n >= 0 for n in numbers) and width in WIDTHS, "widths, lanes and banks")
    need(min(size, most, lanes, banks) >= 1 and lanes <= MOST_LANES, "some lanes and banks")
    need(sorted(lane for g in groups for lane in g) == [*range(lanes)], "each lane in one phase")
    unit = max(width, BANK_BYTES)
    need(banks * BANK_BYTES >= unit, "banks for one access")

    def check(w: World, c: Data, how: Data) -> None:
        for found in requests(w, s, c, unit, banks * BANK_BYTES, lanes):
            starts = [a * size for a in found]
            need(len(starts) == lanes and all(a % width == 0 for a in starts), "a lane is not aligned to its width")
            for group in groups:
                words = {a // unit for a in (starts[lane] for lane in group)}
                busiest = Counter(word % (banks * BANK_BYTES // unit) for word in words)
                need(max(busiest.values(), default=0) <= most, "lanes of a phase meet in a bank")

    return Asked(s, check)


GRAPH_CLAIMS: dict[str, Callable[[Data], Asked]] = {
    "DistributionCovers": distribution_covers,
    "GuaranteedVectorLength": vector,
    "LdsConflictDegree": lds_conflict_degree,
    "MaskIsExactly": mask_is_exactly,
    "NoInvalidAccess": no_invalid_access,
    "VectorDoesNotStraddle": vector,
}

GRAPH_FIELDS: dict[str, set[str]] = {
    "DistributionCovers": {"distribution", "lanes", "warps"},
    "GuaranteedVectorLength": {"layout", "elements", "along", "stride", "version"},
    "LdsConflictDegree": {"access", "element_bytes", "served", "at_most"},
    "MaskIsExactly": {"layout", "predicate"},
    "NoInvalidAccess": {"layout", "size", "elements", "along", "when"},
    "VectorDoesNotStraddle": {"layout", "elements", "along"},
}
