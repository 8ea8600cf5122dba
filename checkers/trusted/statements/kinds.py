"""The theorem that each kind of statement about layouts and maps needs.

Nothing of the provers, and no layout, is imported.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..lemmas import ONE, Mode, Poly, minus, need, plus, poly, put, times
from .lane_claims import coalesced, conflict_free
from .linear_forms import (
    Ends,
    Form,
    Pair,
    as_map,
    both,
    form_of,
    less_one,
    moving,
    multiple,
    product,
    proved,
    same,
    same_modes,
    swizzle_of,
)
from .world import Data, World, fact, frozen, leaf, leaves, number, shown


def injective(w: World, s: Data, c: Data, how: Data) -> None:
    on_injective(w, s["layout"], c)


def on_injective(w: World, x: Data, c: Data) -> None:
    """A swizzle is a bijection of the integers, so that what is inside decides (T14)."""
    if c["kind"] == "map":
        as_map(w, x, c, "injective")
        return
    f = form_of(w, x)
    if c["kind"] == "all":
        _by_entries(w, f, c["parts"])
        return
    modes, _ = f.single
    if c["kind"] == "f2":
        need([[number(n), number(d)] for n, d in moving(modes)] == [list(m) for m in c["modes"]], "other modes")
        need(swizzle_of(c["swizzle"]) == f.swizzle, "another swizzle")
        return
    proved(w, c, "injective")
    same_modes(c, moving(modes))


def _by_entries(w: World, f: Form, parts: Any) -> None:
    """Each part shows that some entry of the value determines the digits that those before left open (T19)."""
    known: set[int] = set()
    left = list(range(len(f.entries)))
    for part in parts:
        proved(w, part, "injective")
        found = [(poly(n), poly(d)) for n, d in part["modes"]]
        for e in left:
            modes = f.entries[e][0]
            open_ = [k for k, (n, d) in enumerate(modes) if k not in known and d and n != ONE]
            if [modes[k] for k in open_] == found:
                known |= set(open_)
                left.remove(e)
                break
        else:
            need(False, "a part about no entry of the value")
    need({k for k, (n, _) in enumerate(f.entries[0][0]) if n != ONE} <= known, "some digits stay open")


def bijective(w: World, s: Data, c: Data, how: Data) -> None:
    on_bijective(w, s["layout"], [both(w, leaf(n)) for n in leaves(s["onto"])], c)


def on_bijective(w: World, x: Data, extents: list[Pair], c: Data) -> None:
    """Mixed radix in each entry (T3), by digits, or by counting (T7)."""
    if c["kind"] == "map":
        as_map(w, x, c, "bijective", onto=[n for n, _ in extents])
        return
    f = form_of(w, x)
    need(not f.predicate, "a box under a predicate is not counted")
    need(len(f.entries) == len(extents), "one extent for each entry of the value")
    if c["kind"] == "all" and c.get("because") == "as many coordinates as values":
        _by_counting(w, x, f, extents, c["parts"])
        return
    onto = [n for _, n in extents]
    need(all(not base for _, base in f.entries) and multiple(onto[0], f.block), "a base, or a block that sticks out")
    parts = [c] if len(onto) == 1 else c["parts"]
    need(len(parts) == len(onto), "one part for each entry")
    if len(onto) > 1:
        need(c["kind"] == "all", "one part for each entry")
        for column in zip(*(modes for modes, _ in f.entries), strict=True):
            need(column[0][0] == ONE or sum(1 for _, d in column if d) == 1, "a digit that moves no or two entries")
    for part, (modes, _), n in zip(parts, f.entries, onto, strict=True):
        proved(w, part, "bijective")
        same_modes(part, moving([m for m in modes if m[1] or len(onto) == 1]))
        same(part, "onto", n)


def _by_counting(w: World, x: Data, f: Form, onto: list[Pair], parts: Any) -> None:
    inside, single = parts
    on_range(w, x, [(({}, {}), less_one(n)) for n in onto], inside)
    on_injective(w, x, single)
    extents, values = [n for n, _ in f.entries[0][0]], [n for _, n in onto]
    need(product(extents) == product(values), "the counts differ")
    for n in (*extents, *values):
        w.known(n)


def surjective(w: World, s: Data, c: Data, how: Data) -> None:
    if c["kind"] != "covers":
        bijective(w, s, c, how)
        return
    f = form_of(w, s["layout"])
    modes, base = f.single
    need(not base and not f.predicate and f.swizzle is None, "a base, a swizzle or a predicate")
    proved(w, c, "covers")
    same_modes(c, modes)
    (onto,) = leaves(s["onto"])
    same(c, "onto", w.image(onto))


def partition(w: World, s: Data, c: Data, how: Data) -> None:
    copies = w.image(s["copies"])
    if copies == ONE:
        bijective(w, s, c, how)
        return
    f = form_of(w, s["layout"])
    modes, base = f.single
    need(not base and not f.predicate and f.swizzle is None, "a base, a swizzle or a predicate")
    proved(w, c, "bijective")
    same_modes(c, moving(_copied(w, modes, copies)))
    same(c, "onto", w.image(s["onto"]))


def multiplicity(w: World, s: Data, c: Data, how: Data) -> None:
    if s["copies"] == 1:
        injective(w, s, c, how)
        return
    f = form_of(w, s["layout"])
    modes, _ = f.single
    need(not f.predicate, "a predicate")
    proved(w, c, "injective")
    same_modes(c, _copied(w, modes, w.image(s["copies"])))


def _copied(w: World, modes: list[Mode], copies: Poly) -> list[Mode]:
    """The modes that move, where those that do not make so many copies and no mode is empty."""
    need(product(n for n, d in modes if not d) == copies, "another number of copies")
    for n, _ in modes:
        w.known(minus(n, ONE))
    return [m for m in modes if m[1]]


def in_bounds(w: World, s: Data, c: Data, how: Data) -> None:
    low = both(w, leaf(s["low"]))
    on_range(w, s["layout"], [(low, less_one(both(w, leaf(n)))) for n in leaves(s["extent"])], c)


def fits_in(w: World, s: Data, c: Data, how: Data) -> None:
    bits, unit = s["bits"], s["unit_bytes"]
    need(type(bits) is int and type(unit) is int and 1 <= bits <= 128 and unit >= 1, "bits and bytes")
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if s["signed"] is True else (0, (1 << bits) - 1)
    least, most = poly(-(-low // unit)), poly(high // unit)
    ends = ((least, least), (most, most))
    x = s["layout"]
    on_range(w, x, [ends] * (len(leaves(x["map"]["value"])) if "map" in x else len(form_of(w, x).entries)), c)


def on_range(w: World, x: Data, ends: Ends, c: Data) -> None:
    """Corners (T8), the whole expression at every valid point (T9), or by digits."""
    if c["kind"] == "map":
        as_map(w, x, c, "bounds", low=[a for (a, _), _ in ends], high=[b for _, (b, _) in ends])
        return
    limits = [(a, b) for (_, a), (_, b) in ends]
    parts = c["parts"] if c["kind"] == "all" else [c]
    if parts[0]["kind"] == "nonneg":
        values = [w.image(v) for v in leaves(x["map"]["value"])]
        need(len(values) == len(ends) and len(parts) == 2 * len(ends), "two ends for each entry")
        wanted = [p for v, (a, b) in zip(values, limits, strict=True) for p in (minus(v, a), minus(b, v))]
        for part, p in zip(parts, wanted, strict=True):
            need(part["kind"] == "nonneg", "expected a sign")
            w.expect(part, w.of_points)
            same(part, "poly", p)
        return
    f = form_of(w, x)
    need(len(f.entries) == len(ends) == len(parts), "one part for each entry of the value")
    for part, (modes, base), (low, high) in zip(parts, f.entries, limits, strict=True):
        proved(w, part, "bounds")
        same_modes(part, modes)
        same(part, "base", base)
        if f.swizzle is not None:  # aligned blocks are mapped onto themselves (T14)
            end, n = plus(high, ONE), number(plus(high, ONE))
            need(not low and (n is not None or multiple(end, f.block)), "a block that sticks out")
            high = high if n is None else poly(n // f.block * f.block - 1)
        same(part, "low", low)
        same(part, "high", high)


def equal(w: World, s: Data, c: Data, how: Data) -> None:
    a, b = form_of(w, s["a"]), form_of(w, s["b"])
    need(a.swizzle == b.swizzle, "two swizzles")
    need("map" not in s["a"] and "map" not in s["b"], "maps are compared point by point")
    proved(w, c, "equal")
    for side, f in (("a", a), ("b", b)):
        modes, base = f.single
        same_modes(c, modes, side)
        same(c, f"base_{side}", base)


def aligned(w: World, s: Data, c: Data, how: Data) -> None:
    size, to = s["element_bytes"], s["to_bytes"]
    need(type(size) is int and type(to) is int and size >= 1 and to >= 1, "bytes")
    proved(w, c, "divisible")
    need(c["modulus"] == to, "another modulus")
    start = w.image(s["base_bytes"])
    if "map" in s["layout"] and not c["modes"]:
        (v,) = leaves(s["layout"]["map"]["value"])
        same(c, "base", plus(start, w.image(v), size))
        return
    f = form_of(w, s["layout"])
    modes, base = f.single
    if f.swizzle is not None:
        need((size << f.swizzle[1]) % to == 0, "the swizzle moves bits that alignment looks at")
    same_modes(c, [(n, times({(): size}, d)) for n, d in moving(modes)])
    same(c, "base", plus(start, base, size))


def vectorizable(w: World, s: Data, c: Data, how: Data) -> None:
    v = s["elements"]
    need(type(v) is int and v >= 1 and "map" not in s["layout"], "a vector of elements of a layout")
    f = form_of(w, s["layout"])
    modes, base = f.single
    need(f.swizzle is None or (1 << f.swizzle[1]) % v == 0, "the swizzle cuts a run")
    proved(w, c, "divisible")
    need(c["modulus"] == v, "another modulus")
    same(c, "base", base)
    strides = [d for _, d in modes if _ != ONE]
    if v > 1:
        (n, d), *rest = _joined(modes)
        need(d == ONE and multiple(n, v), "the first mode is not a row of whole vectors")
        strides = [{(): v}, *(d for n, d in rest if n != ONE)]
        if n == {(): v}:
            strides = strides[1:]
    need([poly(d) for _, d in c["modes"]] == strides, "the proof's strides are not those of the statement")


def _joined(modes: list[Mode]) -> list[Mode]:
    """Neighbours with s2 = n1*s1 as one mode, extents of 1 dropped (T17)."""
    out: list[Mode] = []
    for n, d in moving(modes):
        if out and times(*out[-1]) == d:
            out[-1] = (times(out[-1][0], n), out[-1][1])
        else:
            out.append((n, d))
    need(len(out) > 0, "a layout of one element")
    return out


def covers(w: World, s: Data, c: Data, how: Data) -> None:
    """The tiles of each mode are counted by c with 0 <= t*c - n < t."""
    domain, tile = ([w.image(x) for x in leaves(s[k])] for k in ("domain", "tile"))
    found = [poly(p) for p, *_ in how.get("counts", ())]
    if not found:
        need(all(number(x) is not None for x in (*domain, *tile)), "the counts of tiles are missing")
        found = [poly(-(-(number(n) or 0) // (number(t) or 1))) for n, t in zip(domain, tile, strict=True)]
    hints = [why for _, *why in how.get("counts", ())] or [(None, None)] * len(found)
    for n, t, p, (low, high) in zip(domain, tile, found, hints, strict=True):
        over = minus(times(t, p), n)
        shown(over, w.gens, low)
        shown(minus(minus(t, over), ONE), w.gens, high)
    on_bijective(w, s["tiles"], [(p, p) for p in found], c)


def holds(w: World, s: Data, c: Data, how: Data) -> None:
    x, relation, _ = fact(s["fact"])
    need(relation == ">=", "expected an inequality")
    if c["kind"] == "nonneg":
        proved(w, c, "nonneg")
        same(c, "poly", put(x, w.env))
        return
    need(c["kind"] == "all", "expected a sign")
    found = set()
    for part in c["parts"]:
        proved(w, part, "nonneg")
        found.add(frozen(poly(part["poly"])))
    need({frozen(put(p, w.env)) for p in _cases(w, x)} <= found, "a case is missing")


def _cases(w: World, p: Poly) -> list[Poly]:
    """p with each argument in place of a minimum or maximum in it: one of them is its value."""
    for key in p:
        if len(key) == 1 and key[0] in w.atoms and w.atoms[key[0]][0] in ("minimum", "maximum"):
            rest = minus(p, {key: p[key]})
            return [x for a in w.atoms[key[0]][1] for x in _cases(w, plus(rest, a, p[key]))]
    return [p]


DERIVED: dict[str, Callable[[World, Data, Data, Data], None]] = {
    "Aligned": aligned,
    "Bijective": bijective,
    "Coalesced": coalesced,
    "ConflictFree": conflict_free,
    "Covers": covers,
    "Equal": equal,
    "FitsIn": fits_in,
    "Holds": holds,
    "InBounds": in_bounds,
    "Injective": injective,
    "Multiplicity": multiplicity,
    "Partition": partition,
    "Surjective": surjective,
    "Vectorizable": vectorizable,
}

FIELDS: dict[str, set[str]] = {
    "Aligned": {"layout", "to_bytes", "element_bytes", "base_bytes"},
    "Bijective": {"layout", "onto"},
    "Coalesced": {"access", "element_bytes", "width_bytes", "sectors"},
    "ConflictFree": {"access", "element_bytes", "width_bytes", "degree"},
    "Covers": {"tiles", "domain", "tile"},
    "Equal": {"a", "b"},
    "FitsIn": {"layout", "bits", "signed", "unit_bytes"},
    "Holds": {"fact", "label", "obligation"},
    "InBounds": {"layout", "extent", "when", "low"},
    "Injective": {"layout"},
    "Multiplicity": {"layout", "copies"},
    "Partition": {"layout", "onto", "copies"},
    "Surjective": {"layout", "onto"},
    "Vectorizable": {"layout", "elements"},
}
