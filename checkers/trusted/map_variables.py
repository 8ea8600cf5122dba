"""A map whose coordinates, quotients and extrema are plain variables, and the polynomials in them.

The counterpart of ``map_steps``: rows are numbered here in the order in which it rebuilds them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast

from symlayout.address_map import AddressMap
from symlayout.expr import Atom, Expr, Int, Symbol, build, intern, terms_of
from symlayout.facts import Facts, Row
from symlayout.facts.assumptions import through
from symlayout.int_tuple import leaves

from .certificate_json import hint, poly

Digit: TypeAlias = "tuple[Symbol, Int]"


class NotShown(Exception):
    """A lemma that the search for signs does not find."""


def show(facts: Facts, p: Int) -> dict[str, Any]:
    """The hint that p >= 0, or NotShown."""
    found = facts.nonneg(p)
    if found is None:
        raise NotShown
    return hint(found)


def shown(facts: Facts, *polys: Int) -> list[dict[str, Any]] | None:
    """The hints that all polynomials are >= 0, or None."""
    try:
        return [show(facts, p) for p in polys]
    except NotShown:
        return None


# -- polynomials ----------------------------------------------------------------------------------------


def variable(name: str) -> Symbol:
    """A name of a certificate: a coordinate, a digit, or what an atom is worth."""
    return cast(Symbol, intern(Symbol, (name, None, None, 1)))


def put(p: Int, env: Mapping[Any, Int]) -> Any:
    """p with variables replaced, as a polynomial: nothing is divided out."""
    if not isinstance(p, Expr) or not any(a in env for m in p.terms for a in m):
        return p
    out: Any = 0
    for m, c in p.terms.items():
        term: Any = c
        for a in m:
            term = term * env.get(a, a)
        out = out + term
    return out


def variables(*polys: Int) -> set[Atom]:
    return {a for p in polys for m in terms_of(p) for a in m}


def coefficient(p: Int, x: Atom) -> Any:
    """The c of p == c*x + rest without x in both, or None."""
    found: dict[Any, int] = {}
    for m, c in terms_of(p).items():
        if x in m:
            rest = tuple(a for a in m if a is not x)
            if len(rest) < len(m) - 1:
                return None
            found[rest] = c
    return build(found)


def moved(p: Any, facts: Facts) -> Any:
    """p with what equalities and divisibility say."""
    return through(facts.let, p)


# -- the map --------------------------------------------------------------------------------------------


@dataclass
class Map:
    """A map whose coordinates, and the quotients and extrema that rest on them, are plain variables."""

    coords: list[Digit]
    valid: list[Int]
    atoms: list[tuple[Symbol, Atom, list[Int]]]
    value: list[Int]
    goal: dict[str, list[Int]]
    rows: list[Row] = field(default_factory=list)
    meant: dict[Atom, Atom] = field(default_factory=dict)  # the quotients and extrema of sizes by their names
    names: dict[Any, Int] = field(default_factory=dict)  # variables for the coordinates, and for what rests on them

    @classmethod
    def of(cls, x: AddressMap, facts: Facts, goal: dict[str, list[Int]]) -> Map:
        names: dict[Any, Int] = {c: variable(f"[{c}]") for c in x.coords}
        coords = [(cast(Symbol, names[c]), moved(n, facts)) for c, n in zip(x.coords, x.extents, strict=True)]
        value, valid = [moved(e, facts) for e in leaves(x.offset)], [moved(f.expr, facts) for f in x.valid]
        atoms = []
        for a in _inner_first([*value, *valid]):
            if set(a.symbols) & set(x.coords):
                atoms.append((variable(a.key), a, [put(e, names) for e in a.args]))
                names[a] = variable(a.key)
        moving = [put(e, names) for e in value]
        return cls(coords, [put(e, names) for e in valid], atoms, moving, goal, names=names)

    def polys(self) -> list[Int]:
        goal = [p for ps in self.goal.values() for p in ps]
        return [
            *(n for _, n in self.coords),
            *self.valid,
            *self.value,
            *goal,
            *(e for *_, es in self.atoms for e in es),
        ]

    def json(self) -> dict[str, Any]:
        parts: dict[str, Any] = {
            "coords": [[c.key, poly(n)] for c, n in self.coords],
            "value": list(map(poly, self.value)),
        }
        if self.valid:
            parts["valid"] = list(map(poly, self.valid))
        if self.atoms:
            parts["atoms"] = [[me.key, a.op, *map(poly, args)] for me, a, args in self.atoms]
        return parts | {k: list(map(poly, ps)) for k, ps in self.goal.items()}

    def put(self, env: Mapping[Any, Int], owner: Symbol | None = None) -> None:
        """Every polynomial with variables replaced; facts about one of them become facts about *owner*."""
        self.coords = [(c, put(n, env)) for c, n in self.coords]
        self.valid, self.value = ([put(p, env) for p in ps] for ps in (self.valid, self.value))
        self.atoms = [(me, a, [put(e, env) for e in args]) for me, a, args in self.atoms]
        self.goal = {k: [put(p, env) for p in ps] for k, ps in self.goal.items()}
        self.rows = [Row(put(r.poly, env), r.label, owner if r.owner in env else r.owner) for r in self.rows]

    def named(self, sizes: Iterable[Atom]) -> None:
        """Quotients and extrema of sizes by their names: digits are eliminated before them, as before other sizes."""
        names = {a: variable(a.key) for a in sizes}
        self.meant = {x: a for a, x in names.items()}
        self.put(names)
        self.rows = [Row(r.poly, r.label, None if r.owner is None else names.get(r.owner, r.owner)) for r in self.rows]


def _inner_first(polys: Sequence[Int]) -> list[Atom]:
    """The quotients and extrema in polynomials, each after those inside it."""
    out: dict[Atom, None] = {}
    for p in polys:
        _visit(p, out)
    return list(out)


def _visit(p: Any, out: dict[Atom, None]) -> None:
    for a in (a for m in terms_of(p) for a in m if not isinstance(a, Symbol)):
        if a not in out:
            for e in a.args:
                _visit(e, out)
            out[a] = None
