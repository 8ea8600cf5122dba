"""A descriptor of a statement, by its transforms: each merged index is the mixed-radix number of its digits (T3).

    >>> rows = [["embed", [4, 5], [8, 1]], ["merge", [4, 5]]]
    >>> ids = {"lower": [[0], [1, 2]], "upper": [[1, 2], [3]], "bottom": [0], "top": [3]}
    >>> g = {"transforms": rows, **ids, "coords": ["x0"]}
    >>> found = digits(Graph.read(g))
    >>> [*found.extents], found.hidden[0]
    (['[x0.0]', '[x0.1]'], {('[x0.0]',): 8, ('[x0.1]',): 1})

The transforms are those of ``docs/ck_tile``: a statement names each by its kind and its parameters. A transform that
is no polynomial in digits, as a remainder or an xor, has none; a table is not read. Nothing of the provers is imported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ..lemmas import ONE, Poly, minus, need, plus, put, times
from .world import Data, leaf, number

Polys: TypeAlias = "list[Poly]"
Sign: TypeAlias = "Callable[[Poly, Mapping[str, Poly]], bool]"  # of a polynomial in digits of these extents


def data(p: Poly) -> Any:
    """A polynomial as a leaf of a statement."""
    n = number(p)
    return n if n is not None else {"poly": [[c, *key] for key, c in p.items()]}


def product(lengths: Polys) -> Poly:
    out = ONE
    for n in lengths:
        out = times(out, n)
    return out


def row_major(lengths: Polys) -> Polys:
    """The strides of a packed tensor whose last dimension is contiguous."""
    return [product(lengths[i + 1 :]) for i in range(len(lengths))]


def dot(a: Polys, b: Polys) -> Poly:
    out: Poly = {}
    need(len(a) == len(b), "one factor for each index")
    for p, q in zip(a, b, strict=True):
        out = plus(out, times(p, q))
    return out


# -- transforms ---------------------------------------------------------------------------------------------


@dataclass
class Transform:
    """A transform by its kind: lists of lengths, parameters, and whether a flag is set."""

    kind: str
    lists: list[Polys]
    numbers: Polys
    flag: bool

    @classmethod
    def read(cls, row: Any) -> Transform:
        kind, *rest = row
        need(kind in KINDS, f"a {kind} is not read")
        lists, numbers = KINDS[kind]
        flags = [x for x in rest if type(x) is bool]
        need(len(rest) == lists + numbers + len(flags) and len(flags) <= 1, f"other parameters than a {kind} has")
        found = [[leaf(n) for n in x] for x in rest[:lists]]
        return cls(kind, found, [leaf(x) for x in rest[lists : lists + numbers]], any(flags))

    @property
    def lower_rank(self) -> int:
        if self.kind in ("merge", "xor"):
            return len(self.lists[0])
        return 0 if self.kind in ("insert", "replicate") else 1

    @property
    def upper_lengths(self) -> Polys:
        if self.lists:
            return [product(self.lists[0])] if self.kind == "merge" else self.lists[0]
        if self.kind == "freeze":
            return []
        if self.kind == "slice":
            return [minus(self.numbers[2], self.numbers[1])]
        if self.kind == "modulo":
            return self.numbers[1:]
        total, *pads = self.numbers
        for p in pads if "pad" in self.kind else []:
            total = plus(total, p)
        return [total]

    def lower(self, u: Polys) -> Polys:
        """The lower index where it is a polynomial: a merge has digits instead."""
        if self.kind in ("pass_through", "right_pad") or (self.kind == "merge" and len(self.lists[0]) == 1):
            return u
        if self.kind in ("pad", "left_pad"):
            return [minus(u[0], self.numbers[1])]
        if self.kind in ("slice", "offset"):
            return [plus(u[0], self.numbers[1])]
        if self.kind in ("embed", "unmerge"):
            need(not self.flag, "an unmerge on 24 bits is no polynomial")
            return [dot(u, self.lists[1] if self.kind == "embed" else row_major(self.lists[0]))]
        if self.kind == "xor" and not u[0]:
            return u
        need(self.kind in ("freeze", "insert", "replicate"), f"a {self.kind} of what is no digit")
        return self.numbers if self.kind == "freeze" else []

    def valid(self, u: Polys) -> Polys:
        """What is at least 0 where an index is valid."""
        if "pad" not in self.kind or self.flag:
            return []
        length, *pads = self.numbers
        left = pads[0] if self.kind != "right_pad" else {}
        low, high = minus(u[0], left), minus(minus(plus(length, left), u[0]), ONE)
        return {"left_pad": [low], "right_pad": [high]}.get(self.kind, [low, high])

    def inside(self, u: Polys, extents: Mapping[str, Poly], positive: Sign) -> bool:
        """Whether the lower index of a pad is one of its length wherever it is valid."""
        if "pad" not in self.kind or self.flag:
            return False
        name = _digit(u[0], extents)
        if self.kind == "right_pad":
            return name is not None or positive(u[0], extents)
        return self.kind == "pad" or (name is not None and extents[name] == self.upper_lengths[0])


KINDS = {  # lists of lengths, and single parameters
    "pass_through": (0, 1),
    "pad": (0, 3),
    "left_pad": (0, 2),
    "right_pad": (0, 2),
    "embed": (2, 0),
    "merge": (1, 0),
    "unmerge": (1, 0),
    "freeze": (0, 1),
    "insert": (0, 1),
    "replicate": (1, 0),
    "slice": (0, 3),
    "offset": (0, 2),
    "modulo": (0, 2),
    "xor": (1, 0),
}


def _digit(p: Poly, extents: Mapping[str, Poly]) -> str | None:
    """The digit that a polynomial is, if it is one."""
    ((key, c), *more) = [*p.items()] or [((), 0)]
    return key[0] if not more and c == 1 and len(key) == 1 and key[0] in extents else None


# -- graphs -------------------------------------------------------------------------------------------------


@dataclass
class Graph:
    """Transforms, bottom first, with the dimensions that each writes and reads."""

    rows: list[tuple[Transform, list[int], list[int]]]
    bottom: list[int]
    top: list[int]
    coords: list[str]

    @classmethod
    def read(cls, x: Data) -> Graph:
        transforms = [Transform.read(row) for row in x["transforms"]]
        every = [*x["lower"], *x["upper"], x["bottom"], x["top"]]
        need(all(type(i) is int and i >= 0 for ids in every for i in ids), "dimensions are numbers")
        rows = [*zip(transforms, x["lower"], x["upper"], strict=True)]
        defined = set(x["bottom"])
        for t, low, up in rows:
            need(len(low) == t.lower_rank and len(up) == len(t.upper_lengths), "a transform of another rank")
            need(set(low) <= defined and not set(up) & defined and len(set(up)) == len(up), "an order of dimensions")
            defined |= set(up)
        need(set(x["top"]) <= defined and len(set(x["top"])) == len(x["top"]), "a top dimension that is not there")
        need(len(set(x["coords"])) == len(x["coords"]) == len(x["top"]), "a name for each index")
        return cls(rows, x["bottom"], x["top"], list(map(str, x["coords"])))

    def length_of(self, dimension: int) -> Poly:
        """The upper length of a dimension that a transform reads."""
        found = [t.upper_lengths[up.index(dimension)] for t, _, up in self.rows if dimension in up]
        need(len(found) == 1, "a length that is not stored")
        return found[0]

    @property
    def extents(self) -> Polys:
        return [self.length_of(i) for i in self.top]


@dataclass
class Digits:
    """A graph over digits; ``asked`` must be at least 0 for the digits of an index to be all of it."""

    extents: dict[str, Poly]
    top: Polys = field(default_factory=list)
    hidden: dict[int, Poly] = field(default_factory=dict)
    valid: Polys = field(default_factory=list)
    asked: Polys = field(default_factory=list)


def digits(g: Graph, by_pads: bool = False, positive: Sign = lambda p, extents: False) -> Digits:
    """The graph in digits of its merges; with *by_pads* what a pad admits is a digit too, and nothing is masked."""
    out = Digits({f"[{c}]": n for c, n in zip(g.coords, g.extents, strict=True)})
    out.top = [{(name,): 1} for name in out.extents]
    out.hidden = dict(zip(g.top, out.top, strict=True))
    for t, low, up in reversed(g.rows):
        u = [out.hidden.get(i, {}) for i in up]
        name = _digit(u[0], out.extents) if t.kind == "merge" else None
        if name is not None and out.extents[name] == product(t.lists[0]):
            _split(out, name, t.lists[0], low)
        elif by_pads and t.inside(u, out.extents, positive):
            inside = f"[pad{low[0]}]"
            need(inside not in out.extents, "two digits of one name")
            out.hidden[low[0]], out.extents[inside] = {(inside,): 1}, t.numbers[0]
        else:
            out.hidden.update(zip(low, t.lower(u), strict=True))
    for t, _, up in g.rows:
        out.valid += [] if by_pads else t.valid([out.hidden.get(i, {}) for i in up])
    return out


def _split(out: Digits, name: str, lengths: Polys, low: list[int]) -> None:
    """A digit as the digits of a merge: extents of 1 have none."""
    out.asked += lengths
    stem = name.strip("[]")
    found: Polys = [{} if n == ONE else {(f"[{stem}.{i}]",): 1} for i, n in enumerate(lengths)]
    new = {next(iter(d))[0]: n for d, n in zip(found, lengths, strict=True) if d}
    need(not set(new) & set(out.extents), "two digits of one name")
    del out.extents[name]
    out.extents.update(new)
    env = {name: dot(found, row_major(lengths))}
    out.top = [put(p, env) for p in out.top]
    out.hidden = {i: put(p, env) for i, p in out.hidden.items()}
    out.hidden.update(zip(low, found, strict=True))
