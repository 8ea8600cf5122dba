"""The data of certificates: polynomials, evidence and assumptions in JSON form, and which of them a proof rests on."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import Any

from symlayout.expr import Expr, Int, Quotient
from symlayout.facts import Evidence, Facts, Meet, Row, definition, inner_first, opaque_atoms


def poly(x: Int) -> Any:
    """The JSON form of a polynomial: an integer, or rows of a coefficient and names by name, and the constant last.

    Terms of an expression are in the order in which a process first met them; a certificate is the same in every one.
    """
    if not isinstance(x, Expr):
        return x
    return sorted(([c, *[a.key for a in m]] for m, c in x.terms.items()), key=lambda term: (len(term) == 1, term[1:]))


def hint(e: Evidence) -> dict[str, Any]:
    """The JSON form of evidence."""
    out: dict[str, Any] = {"sum": [[c, *rows] for c, rows in e.terms]}
    if e.scale != 1:
        out["scale"] = poly(e.scale)
        if e.positive is not None:
            out["positive"] = hint(e.positive)
    return out if e.multiple == 1 else {"multiple": e.multiple, "of": out}


def bit_hints(m: Meet) -> list[Any]:
    """The JSON form of bounds on bits: why arguments are at least 0, the bits, why no more."""
    least = [None if e is None else hint(e) for e in m.nonneg]
    return [least] if m.bits is None else [least, m.bits, list(map(hint, m.below))]


class Setting:
    """The rows that a claim rests on, in the order in which the checker rebuilds them.

    With *ceilings* also numbers that quotients do not pass, where there are some, and with *ends* what rows say of the
    dividends of symbolic quotients; few proofs need these.
    """

    @classmethod
    def of(cls, facts: Facts, *polys: Any, ceilings: bool = False, ends: bool = False) -> Setting:
        """That of some polynomials, made once for the quotients in them: claims of one kernel meet the same few."""
        atoms = inner_first(opaque_atoms(*polys, *(r.poly for r in facts.rows)))
        return cls._of(facts, tuple(atoms), ceilings, ends)

    @classmethod
    @functools.lru_cache(maxsize=1 << 8)
    def _of(cls, *args: Any) -> Setting:
        return cls(*args)

    @classmethod
    def forget(cls) -> None:
        """Drop what was made for earlier claims, so that a measurement starts afresh."""
        cls._of.cache_clear()

    def __init__(self, facts: Facts, atoms: tuple[Any, ...], ceilings: bool, ends: bool) -> None:
        self.atoms = atoms
        defined = [Row(g, f"definition of {a}", a) for a in self.atoms for g in definition(a)]
        self.assumed = facts
        self.floors = facts.floors(self.atoms)
        self.facts = facts.in_order().with_rows(
            *defined, *(Row(f.row, f"{f.atom} >= {f.k}", f.atom) for f in self.floors)
        )
        self.meets = facts.meets(self.atoms)
        self.facts = self.facts.with_rows(*(Row(r, f"bits of {m.atom}", m.atom) for m in self.meets for r in m.rows))
        self.ceilings = self.facts.ceilings(self.atoms) if ceilings else []
        self.ceilings += self.facts.ends_of_quotients(self.atoms) if ends else []
        self.facts = self.facts.with_rows(*(Row(c.row, f"{c.atom} <= {c.k}", c.atom) for c in self.ceilings))
        self.usable = True
        self.positive: dict[str, Any] = {}
        for a in self.atoms:
            if isinstance(a, Quotient) and type(a.args[1]) is int:
                self.usable = self.usable and a.args[1] >= 1
            elif isinstance(a, Quotient):
                found = facts.in_order().nonneg(a.args[1] - 1)
                self.usable = self.usable and found is not None
                if found is not None:
                    self.positive[a.key] = hint(found)

    def claim(self, kind: str, **parts: Any) -> dict[str, Any]:
        """A claim with its assumptions and definitions; empty parts are left out."""
        out: dict[str, Any] = {"kind": kind, **parts}
        if self.assumed.rows:
            out["assume"] = [poly(r.poly) for r in self.assumed.rows]
        if self.atoms:
            met = [m.atom for m in self.meets]
            out["define"] = {a.key: [a.op, *map(poly, a.args)] for a in self.atoms if definition(a) or a in met}
        if self.positive:
            out["positive"] = self.positive
        if self.floors:
            out["floors"] = [[f.atom.key, f.k, hint(f.why)] for f in self.floors]
        if self.meets:
            out["bits"] = [[m.atom.key, *bit_hints(m)] for m in self.meets]
        if self.ceilings:
            out["ceilings"] = [[c.atom.key, poly(c.k), hint(c.why)] for c in self.ceilings]
        return out


def rows_used(certificate: Mapping[str, Any]) -> Iterator[Any]:
    """The assumptions, in JSON form, that some sum of a certificate rests on."""
    claim, proof = certificate["claim"], certificate["proof"]
    if claim["kind"] == "all":
        for part, why in zip(claim["parts"], proof["parts"], strict=True):
            yield from rows_used({"claim": part, "proof": why})
    assumed = claim.get("assume", ())
    hints = [proof, *(claim.get(part, ()) for part in ("positive", "floors", "bits", "ceilings"))]
    yield from (assumed[i] for i in dict.fromkeys(_indices(hints)) if i < len(assumed))


def _indices(x: Any) -> Iterator[int]:
    """The rows in every sum inside nested hints."""
    if isinstance(x, dict):
        for _, *rows in x.get("sum", ()):
            yield from rows
    for y in x.values() if isinstance(x, dict) else x if isinstance(x, list | tuple) else ():
        yield from _indices(y)
