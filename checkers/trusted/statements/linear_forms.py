"""The linear form of a subject in a statement, and how a claim that is proved is compared with it.

Nothing of the provers, and no layout, is imported.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from ..lemmas import ONE, Mode, Poly, minus, names_in, need, poly, put, times
from .world import Data, World, leaf, leaves

Pair: TypeAlias = "tuple[Poly, Poly]"  # an expression by its form alone, and under the assumptions
Ends: TypeAlias = "list[tuple[Pair, Pair]]"


@dataclass
class Form:
    """A subject that is linear in its digits: (modes, base) of each entry of its value, and a swizzle outside."""

    entries: list[tuple[list[Mode], Poly]]
    swizzle: tuple[int, int, int] | None
    predicate: bool

    @property
    def block(self) -> int:
        """Aligned blocks of so many offsets are mapped onto themselves (T14)."""
        bits, base, shift = self.swizzle or (0, 0, 1)
        return 1 << (base + bits + max(-shift, 0)) if bits else 1

    @property
    def single(self) -> tuple[list[Mode], Poly]:
        need(len(self.entries) == 1, "expected offsets, got coordinates")
        return self.entries[0]


def swizzle_of(data: Any) -> tuple[int, int, int] | None:
    bits, base, shift = data
    need(all(type(v) is int for v in data) and 0 <= bits <= abs(shift) <= 64 and 0 <= base <= 64, "no swizzle")
    return (bits, base, shift) if bits else None


def form_of(w: World, x: Data) -> Form:
    """The linear form of a subject. Raises CertificateError for a map that has none."""
    if "layout" in x:
        return Form(_layout(w, x["layout"]), None, False)
    if "composed" in x:
        c = x["composed"]
        ((modes, base),) = _layout(w, c["inner"])
        need(not base, "a layout has no base")
        return Form([(modes, w.image(c["offset"]))], swizzle_of(c["swizzle"]), False)
    return _linear_map(w, x["map"])


def _layout(w: World, x: Data) -> list[tuple[list[Mode], Poly]]:
    extents, strides = leaves(x["shape"]), leaves(x["stride"])
    need(_profile(x["shape"]) == _profile(x["stride"]), "one stride for each extent")
    need(all(type(n) is not int or n >= 1 for n in extents), "an extent is at least 1")
    shape = [w.image(n) for n in extents]
    if not any(isinstance(d, Mapping) and "basis" in d for d in strides):
        return [([(n, w.image(d)) for n, d in zip(shape, strides, strict=True)], {})]
    paths = sorted({tuple(d["basis"]) for d in strides if isinstance(d, Mapping) and "basis" in d})
    need(all(len(p) == 1 for p in paths), "coordinates that are nested")
    out: list[tuple[list[Mode], Poly]] = []
    for k in range(paths[-1][0] + 1):
        moved = [isinstance(d, Mapping) and d.get("basis") == [k] for d in strides]
        need(all(m or isinstance(d, Mapping) or d == 0 for m, d in zip(moved, strides, strict=True)), "mixed strides")
        entry = [w.image(d["value"]) if m else {} for m, d in zip(moved, strides, strict=True)]
        out.append((list(zip(shape, entry, strict=True)), {}))
    return out


def _profile(x: Any) -> Any:
    """The nesting of a shape, its leaves aside."""
    return list(map(_profile, x)) if isinstance(x, list | tuple) else 0


def _linear_map(w: World, m: Data) -> Form:
    coords = [str(c) for c in m["coords"]]
    extents = [w.image(n) for n in m["extents"]]
    need(not names_in(*extents) & w.of_coords(coords), "a box that rests on its own coordinates")
    entries: list[tuple[list[Mode], Poly]] = []
    for x in leaves(m["value"]):
        v, left = w.image(x), w.image(x)
        modes: list[Mode] = []
        for c, n in zip(coords, extents, strict=True):
            stride = {tuple(a for a in key if a != c): k for key, k in v.items() if key.count(c) == 1}
            need(not any(key.count(c) > 1 for key in v), "a power of a coordinate")
            need(not names_in(stride) & w.of_coords(coords), "a product of coordinates")
            left = minus(left, times(stride, {(c,): 1}))
            modes.append((n, stride))
        need(not names_in(left) & w.of_coords(coords), "a quotient of coordinates")
        entries.append((modes, left))
    return Form(entries, None, bool(m["valid"]))


def moving(modes: list[Mode]) -> list[Mode]:
    """The modes without those of extent 1."""
    return [m for m in modes if m[0] != ONE]


def multiple(p: Poly, m: int) -> bool:
    return all(c % m == 0 for c in p.values())


def both(w: World, p: Poly) -> Pair:
    """The two images of an expression of the statement."""
    return put(p, w.row_env), put(p, w.env)


def less_one(p: Pair) -> Pair:
    return minus(p[0], ONE), minus(p[1], ONE)


def product(polys: Any) -> Poly:
    out = ONE
    for p in polys:
        out = times(out, p)
    return out


# -- comparing ----------------------------------------------------------------------------------------------


def same(c: Data, key: str, p: Poly) -> None:
    need(poly(c[key]) == p, f"the proof's {key} is not that of the statement")


def same_modes(c: Data, modes: list[Mode], key: str = "modes") -> None:
    found = [(poly(n), poly(s)) for n, s in c[key]]
    need(found == modes, f"the proof's {key} are not those of the statement")


def proved(w: World, c: Data, kind: str) -> None:
    """A check that a claim has this kind and assumes nothing that is not stated."""
    need(c["kind"] == kind, f"expected a proof of {kind}, got one of {c['kind']}")
    w.expect(c, w.of_sizes)


def as_map(w: World, x: Data, c: Data, says: str, **goal: list[Poly]) -> None:
    """A check that a claim about an index expression is about this one."""
    proved(w, c, "map")
    need(c["says"] == says and "map" in x, f"expected a map that is {says}")
    m = x["map"]
    called: dict[str, Poly] = {str(k): {(f"[{k}]",): 1} for k in m["coords"]}

    def named(p: Poly) -> Poly:
        return put(put(p, w.row_env), called)

    extents = [put(leaf(n), w.row_env) for n in m["extents"]]
    found = [(str(k), poly(n)) for k, n in c["coords"]]
    need(found == [(f"[{k}]", n) for k, n in zip(m["coords"], extents, strict=True)], "another box")
    need([poly(p) for p in c["value"]] == [named(leaf(v)) for v in leaves(m["value"])], "another value")
    need(all(rel == ">=" for _, rel, _ in m["valid"]), "a predicate that is not an inequality")
    need([poly(p) for p in c.get("valid", ())] == [named(leaf(p)) for p, _, _ in m["valid"]], "another predicate")
    need(not {f"[{k}]" for k in m["coords"]} & {*w.sizes, *w.parts, *w.meanings}, "a name that is in use")
    told = {str(name) for name, *_ in c.get("atoms", ())}
    met = names_in(*map(poly, (*c["value"], *c.get("valid", ()), *(a for _, _, *xs in c.get("atoms", ()) for a in xs))))
    need(met & w.of_coords(m["coords"]) <= told, "a quotient of coordinates that is left open")
    for name, op, *args in c.get("atoms", ()):
        need(name in w.meanings, "a quotient that is not stated")
        mine = (w.meanings[name][0], [put(a, called) for a in w.meanings[name][1]])
        need(mine == (op, [poly(a) for a in args]), f"{name} means two things")
    for key, wanted in goal.items():
        need([poly(p) for p in c[key]] == wanted, f"another {key}")
