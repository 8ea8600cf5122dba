"""The statement of a certificate read back as a claim, and whether it is true."""

from __future__ import annotations

import random
from typing import Any

import checkers
from benchmarks.soundness import plain
from benchmarks.soundness.layouts import ROWS
from benchmarks.soundness.row import drawn
from checkers import (
    Budget,
)
from checkers.prover import decide
from symlayout import ComposedLayout, E, Layout, Swizzle, dim
from symlayout.address_map import AddressMap
from symlayout.answers.report import Outcome
from symlayout.expr import Fact, floordiv, index, maximum, minimum, xor


class Reader:
    """A statement as a claim again; names stand for symbols made from its sizes."""

    def __init__(self, statement: Any) -> None:
        self.statement, self.env = statement, {}
        for name, (low, high, multiple) in statement.get("sizes", {}).items():
            low, high = (None if x is None else x["poly"] if isinstance(x, dict) else x for x in (low, high))
            self.env[name] = lambda low=low, high=high, multiple=multiple, name=name: dim(
                name, at_least=self.expr(low), at_most=self.expr(high), multiple_of=multiple
            )
        self.coords: dict[str, Any] = {}

    def name(self, key: str) -> Any:
        if key in self.coords:
            return self.coords[key]
        found = self.env.get(key)
        if callable(found):
            self.env[key] = found()
        elif found is None:
            op, *args = self.statement["atoms"][key]
            f = {"floordiv": floordiv, "minimum": minimum, "maximum": maximum, "xor": xor}[op]
            return f(*map(self.expr, args))
        return self.env[key]

    def expr(self, rows: Any) -> Any:
        if rows is None or type(rows) is int:
            return rows
        total: Any = 0
        for c, *names in rows:
            for n in names:
                c = c * self.name(n)
            total = total + c
        return total

    def fact(self, x: Any) -> Fact:
        p, relation, modulus = x
        return Fact(self.data(p), relation, modulus)

    def data(self, x: Any) -> Any:
        if isinstance(x, list):
            return tuple(map(self.data, x))
        if not isinstance(x, dict):
            return x
        if "poly" in x:
            return self.expr(x["poly"])
        if "basis" in x:
            return self.data(x["value"]) * E(*x["basis"])
        if "layout" in x:
            return Layout(self.data(x["layout"]["shape"]), self.data(x["layout"]["stride"]))
        if "composed" in x:
            c = x["composed"]
            return ComposedLayout(Swizzle(*c["swizzle"]), self.data(c["offset"]), self.data({"layout": c["inner"]}))
        m = x["map"]
        extents = tuple(map(self.data, m["extents"]))
        self.coords = {c: index(c, n) for c, n in zip(m["coords"], extents, strict=True)}
        value, valid = self.data(m["value"]), tuple(map(self.fact, m["valid"]))
        divisors = map(self.data, m.get("divisors", ()))
        made = AddressMap(tuple(self.coords.values()), extents, value, valid, divisors=divisors)
        self.coords = {}
        return made

    def claim(self) -> Any:
        skip = ("kind", "sizes", "atoms", "given", "fact")
        fields = {k: self.data(v) for k, v in self.statement.items() if k not in skip}
        if "fact" in self.statement:
            fields["fact"] = self.fact(self.statement["fact"])
        given = tuple(map(self.fact, self.statement.get("given", ())))
        return getattr(checkers, self.statement["kind"])(**fields, given=given)


def is_true(statement: Any) -> bool:
    """Whether a changed statement holds: it is proved anew, and the oracle finds no sizes against it."""
    claim = Reader(statement).claim()
    if decide(claim, Budget()).outcome not in (Outcome.PROVED, Outcome.VACUOUS):
        return False
    holds = next(row.holds for row in ROWS if row.kind is type(claim))
    for env in drawn(claim, random.Random(1)):
        try:
            if not holds(claim, env):
                return False
        except plain.TooMany:
            continue
    return True
