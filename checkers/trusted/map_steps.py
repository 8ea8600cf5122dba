"""A map over a box, and the replacements of its sizes and coordinates.

What a step says of the names that it brings in is shown before it is used. ``map_checker`` says which steps there are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from .lemmas import ONE, Poly, generators, minus, name_of, names_in, need, nonneg, plus, poly, put, times

Hint: TypeAlias = "Mapping[str, Any]"

# The number of operands of each operation that an atom may be, 0 for any.
OPERANDS = {"floordiv": 2, "minimum": 0, "maximum": 0, "xor": 0, "bit_and": 0, "power_of_two": 1, "select": 3}


@dataclass
class Map:
    """A map over a box; ``taken`` are the names in use, ``sizes`` those that are not coordinates or atoms."""

    gens: list[Poly]
    coords: list[tuple[str, Poly]]
    valid: list[Poly]
    atoms: list[tuple[str, str, list[Poly]]]
    value: list[Poly]
    taken: set[str]
    sizes: set[str]

    @classmethod
    def read(cls, claim: Hint, goal: list[Poly]) -> Map:
        gens = generators(claim)
        coords = [(str(c), poly(n)) for c, n in claim["coords"]]
        atoms = [(str(a), op, [poly(x) for x in args]) for a, op, *args in claim.get("atoms", ())]
        valid, value = ([poly(p) for p in claim.get(k, ())] for k in ("valid", "value"))
        own = [c for c, _ in coords] + [a for a, _, _ in atoms]
        need(len(set(own)) == len(own), "two coordinates or atoms of one name")
        need(not set(own) & names_in(*gens, *goal, *(n for _, n in coords)), "a size rests on a coordinate")
        ahead = {a for a, _, _ in atoms}
        for a, op, args in atoms:
            need(op in OPERANDS and len(args) > 0, "an unknown operation")
            need(OPERANDS[op] in (0, len(args)), "another number of operands than the operation has")
            need(not names_in(*args) & ahead, "an atom rests on one that comes later, or on itself")
            ahead.discard(a)
        used = names_in(*gens, *goal, *(n for _, n in coords), *valid, *value, *(x for _, _, xs in atoms for x in xs))
        return cls(gens, coords, valid, atoms, value, used | set(own), used - set(own))

    def fresh(self, name: Any) -> str:
        need(type(name) is str and name not in self.taken, "a name that is in use")
        self.taken.add(name)
        return str(name)

    def _put(self, env: Mapping[str, Poly]) -> None:
        self.valid = [put(p, env) for p in self.valid]
        self.value = [put(p, env) for p in self.value]
        self.atoms = [(a, op, [put(x, env) for x in args]) for a, op, args in self.atoms]

    def split(self, n: Any, divisor: Any, whole: Any, rest: Any, at_least_0: Hint, at_least_1: Hint) -> dict[str, Poly]:
        """n = d*F + r with F >= 0 and 0 <= r < d, which n >= 0 and d >= 1 always allow."""
        d = poly(divisor)
        need(n in self.sizes and n not in names_in(d) and names_in(d) <= self.sizes, "expected sizes to split")
        nonneg(name_of(n), self.gens, at_least_0)
        nonneg(minus(d, ONE), self.gens, at_least_1)
        whole, rest = self.fresh(whole), self.fresh(rest)
        env = {n: plus(times(d, name_of(whole)), name_of(rest))}
        self.sizes = (self.sizes - {n}) | {whole, rest}
        self.gens = [put(g, env) for g in self.gens]
        self.gens += [name_of(whole), name_of(rest), minus(minus(d, name_of(rest)), ONE)]
        self.coords = [(c, put(e, env)) for c, e in self.coords]
        self._put(env)
        return env

    def recombine(self, step: Hint, says: str, end: list[Poly]) -> list[Poly]:
        """A value a + m*(b + n*(...)) as the entries a, b, ...: one for each of these, where a is in [0, m) and so on.

        The extents of the box of entries come back; where values are only to differ, those of all but the last.
        """
        parts, radices = [poly(p) for p in step["parts"]], [poly(n) for n in step["radices"]]
        need(len(self.value) == 1 and len(parts) == len(radices) + 1, "expected one value, and a radix between parts")
        need(names_in(*radices) <= self.sizes and names_in(*parts) <= self.taken, "parts of an unknown atom")
        stride: Poly = ONE
        total: Poly = {}
        for p, n in zip(parts, [*radices, ONE], strict=True):
            total, stride = plus(total, times(p, stride)), times(stride, n)
        need(total == self.value[0], "the parts do not make up the value")
        self.value = parts
        if says == "injective":
            return radices
        last = poly(step["last"])
        need(len(end) == 1 and times(stride, last) == end[0], "the box has another size than the range")
        return [*radices, last]

    def fold(self, step: Hint) -> None:
        """Coordinates with L < W as one: L is injective on the box, and every w < W has digits inside it."""
        extents = dict(self.coords)
        order = list(step["order"])
        need(len(order) > 0 and len(set(order)) == len(order) and set(order) <= set(extents), "unknown coordinates")
        stride = ONE
        total: Poly = {}
        for c in order:
            total = plus(total, times(name_of(c), stride))
            stride = times(stride, extents[c])
        size = plus(plus(self.valid.pop(step["valid"]), total), ONE)  # W - 1 - L >= 0
        need(names_in(size) <= self.sizes, "the limit of a predicate rests on a coordinate")
        need(len(step["extents"]) == len(order) - 1, "one lemma for each extent but the last")
        for c, hint in zip(order, step["extents"], strict=False):
            nonneg(minus(extents[c], ONE), self.gens, hint)
        nonneg(minus(stride, size), self.gens, step["reach"])
        into = self.fresh(step["into"])
        first, *others = order
        self._put({first: minus(plus(name_of(into), name_of(first)), total)})
        left = names_in(*self.valid, *self.value, *(x for _, _, args in self.atoms for x in args))
        need(not left & set(order), "a folded coordinate is used by itself")
        place = [c for c, _ in self.coords].index(first)
        self.coords[place] = (into, size)
        self.coords = [(c, n) for c, n in self.coords if c not in others]

    def widen(self, c: Any, divisor: Any, whole: Any, at_least_1: Hint) -> None:
        """A coordinate up to the next multiple d*F of d: F is ceil(n/d), or 0 where that is below."""
        d, extents = poly(divisor), dict(self.coords)
        need(c in extents and names_in(d) <= self.sizes, "expected a coordinate and a size")
        nonneg(minus(d, ONE), self.gens, at_least_1)
        end = times(d, name_of(self.fresh(whole)))
        self.sizes = self.sizes | {whole}
        self.gens += [name_of(whole), minus(end, extents[c])]
        self.coords = [(x, end if x == c else n) for x, n in self.coords]

    def count(self, onto: list[Poly], hints: Any) -> None:
        """As many points as values: what stays inside and is injective is onto (T7)."""
        need(not self.valid, "points under a predicate are not counted")
        need(len(hints) == len(self.coords) and len(onto) == len(self.value), "one lemma for each extent")
        points = values = ONE
        for (_, n), hint in zip(self.coords, hints, strict=True):
            nonneg(n, self.gens, hint)  # (-1)*(-1) is 1, and has no points
            points = times(points, n)
        for n in onto:
            values = times(values, n)
        need(points == values, "the counts differ")
