"""A map over one box of digits: its atoms, its bounds, and that its value determines the digits.

Atoms are divided out, or they stay as names with what defines them; a digit may give way to its place in a row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .lemmas import ONE, Poly, bits, chain, minus, name_of, names_in, need, nonneg, plus, poly, put, times
from .map_steps import Hint, Map


@dataclass
class Piece:
    """The map over one box of digits; ``rests`` says on which digits a name depends."""

    map: Map
    gens: list[Poly]
    digits: list[tuple[str, Poly]]
    env: dict[str, Poly]
    left: dict[str, tuple[str, list[Poly]]] = field(default_factory=dict)
    rests: dict[str, set[str]] = field(default_factory=dict)
    value: list[Poly] = field(default_factory=list)

    def rest_of(self, *polys: Poly) -> set[str]:
        """The digits on which polynomials depend."""
        return set().union(*(self.rests.get(n, set()) for n in names_in(*polys)))

    def resolve(self, hints: Mapping[str, Hint]) -> None:
        """Atoms in order, each predicate being known once its own atoms are."""
        self.rests = {d: {d} for d, _ in self.digits}
        valid = list(self.map.valid)
        ahead = {a for a, _, _ in self.map.atoms}
        self._assume(valid, ahead)
        for a, op, args in self.map.atoms:
            self._atom(a, op, [put(x, self.env) for x in args], hints.get(a, {}))
            ahead.discard(a)
            self._assume(valid, ahead)
        self.value = [put(p, self.env) for p in self.map.value]

    def _assume(self, valid: list[Poly], ahead: set[str]) -> None:
        while valid and not names_in(valid[0]) & ahead:
            self.gens.append(put(valid.pop(0), self.env))

    def _atom(self, a: str, op: str, args: list[Poly], hint: Hint) -> None:
        if "is" in hint:
            self.env[a] = self._solved(op, args, hint)
            return
        me = name_of(a)
        if op == "floordiv":  # (d*k + x) // d is k + x // d
            whole, d = poly(hint.get("out", 0)), args[1]
            need(self._known(whole), "a quotient by what is not known yet")
            nonneg(minus(d, ONE), self.gens, hint["positive"])
            x = minus(args[0], times(d, whole))
            args = [x, d]
            self.env[a] = plus(whole, me)
            self.gens += [minus(x, times(d, me)), minus(minus(plus(times(d, me), d), ONE), x)]
        elif op in ("minimum", "maximum"):
            sign = 1 if op == "maximum" else -1
            self.gens += [plus({}, minus(me, x), sign) for x in args]
            for bound, *why in hint.get("beyond", ()):
                self._beyond(me, args, sign, bound, why)
        elif op == "select":
            for sign, bound, *why in hint.get("beyond", ()):
                need(sign in (1, -1), "expected a bound above or below")
                self._beyond(me, args[1:], sign, bound, why)
        elif op == "power_of_two":  # 2^k >= k + 1, and 0 where k is negative
            self.gens += [me, minus(minus(me, args[0]), ONE)]
        elif "bits" in hint:
            self.gens += bits(op, me, args, self.gens, *hint["bits"])
        self.left[a] = (op, args)
        self.rests[a] = self.rest_of(*args)

    def _beyond(self, me: Poly, args: list[Poly], sign: int, bound: Any, why: Any) -> None:
        """A bound on every value that an atom may have is a bound on the atom."""
        limit = poly(bound)
        need(self._known(limit) and len(why) == len(args), "one lemma for each argument")
        for x, proof in zip(args, why, strict=True):
            nonneg(plus({}, minus(limit, x), sign), self.gens, proof)
        self.gens.append(plus({}, minus(limit, me), sign))

    def _solved(self, op: str, args: list[Poly], hint: Hint) -> Poly:
        """A quotient with its remainder inside the divisor (T10); an extremum that is one of its arguments."""
        if op == "floordiv":
            q, (x, d) = poly(hint["is"]), args
            need(self._known(q), "a quotient by what is not known yet")
            r = minus(x, times(d, q))
            nonneg(r, self.gens, hint["rest"])
            nonneg(minus(minus(d, r), ONE), self.gens, hint["top"])
            return q
        if op == "select":
            need(hint["is"] in (1, 2), "expected one of two values")
            q = args[0] if hint["is"] == 1 else minus(minus({}, args[0]), ONE)
            nonneg(q, self.gens, hint["why"])
            return args[hint["is"]]
        need(op in ("minimum", "maximum"), "an operation that is none of its arguments")
        need(type(hint["is"]) is int and 0 <= hint["is"] < len(args), "expected an argument")
        others = [x for i, x in enumerate(args) if i != hint["is"]]
        need(len(hint["gaps"]) == len(others), "one gap for each other argument")
        for x, why in zip(others, hint["gaps"], strict=True):
            nonneg(plus({}, minus(args[hint["is"]], x), 1 if op == "maximum" else -1), self.gens, why)
        return args[hint["is"]]

    def _known(self, p: Poly) -> bool:
        """Whether p is made of sizes, digits and atoms that have been met."""
        return names_in(p) <= self.map.sizes | set(self.rests)

    def turn(self, hint: Hint) -> None:
        """A digit j by its place T(j) in the row of those that agree in all others: a permutation of the row."""
        j = hint["digit"]
        extents = dict(self.digits)
        need(j in extents, "an unknown digit")
        n, by = extents[j], {"rotate": self._rotated, "reverse": self._reversed, "xor": self._xored}[hint["by"]]
        place = by(j, n, hint)
        into = self.map.fresh(hint["into"])
        factors = [poly(s) for s in hint["times"]]
        need(len(factors) == len(self.value) and all(map(self._known, factors)), "one factor for each entry")
        self.value = [plus(minus(v, times(s, place)), times(s, name_of(into)))
                      for v, s in zip(self.value, factors, strict=True)]  # fmt: skip
        need(j not in self.rest_of(*self.value, *factors), "the digit is used outside its place")
        self.digits = [(into if d == j else d, e) for d, e in self.digits]
        self.rests[into] = {into}
        self.gens += [name_of(into), minus(minus(n, name_of(into)), ONE)]

    def _rotated(self, j: str, n: Poly, hint: Hint) -> Poly:
        """(j + c) % n."""
        op, args = self.left[hint["atom"]]
        need(op == "floordiv" and args[1] == n, "a rotation is a remainder by the extent")
        need(j not in self.rest_of(minus(args[0], name_of(j)), n), "the rotation rests on its own digit")
        return minus(args[0], times(n, name_of(hint["atom"])))

    def _reversed(self, j: str, n: Poly, hint: Hint) -> Poly:
        """j where p is 0, and n - 1 - j where p is 1."""
        p = poly(hint["factor"])
        need(self._known(p) and j not in self.rest_of(p), "the reversal rests on its own digit")
        nonneg(p, self.gens, hint["low"])
        nonneg(minus(ONE, p), self.gens, hint["high"])
        return plus(name_of(j), times(p, minus(minus(n, ONE), {(j,): 2})))

    def _xored(self, j: str, n: Poly, hint: Hint) -> Poly:
        """j xor c with 0 <= c < 2^k, which stays inside aligned blocks of 2^k; what is added in such blocks stays."""
        op, args = self.left[hint["atom"]]
        k = hint["bits"]
        need(op == "xor" and type(k) is int and 0 <= k <= 64, "expected a xor of a few bits")
        block = 1 << k
        need(all(c % block == 0 for c in n.values()), "the extent is not a multiple of the block")
        mine = [x for x in args if j in self.rest_of(x)]
        others = [x for x in args if j not in self.rest_of(x)]
        need(len(mine) == 1 and len(hint["others"]) == len(others), "expected the digit in one argument")
        high = minus(mine[0], name_of(j))
        need(all(c % block == 0 for c in high.values()) and j not in self.rest_of(high), "what is added has low bits")
        for x, (low, top) in zip(others, hint["others"], strict=True):
            nonneg(x, self.gens, low)
            nonneg(minus({(): block - 1} if block > 1 else {}, x), self.gens, top)
        return minus(name_of(hint["atom"]), high)

    def bounded(self, low: list[Poly], high: list[Poly], hints: Any, every: bool) -> None:
        """low <= value <= high in each entry, or in the first ones."""
        need(len(low) == len(high) == len(hints) <= len(self.value), "one pair of lemmas for each entry")
        need(not every or len(hints) == len(self.value), "one pair of lemmas for each entry")
        for v, a, b, (bottom, top) in zip(self.value, low, high, hints, strict=False):
            nonneg(minus(v, a), self.gens, bottom)
            nonneg(minus(b, v), self.gens, top)

    def injective(self, steps: Any) -> None:
        """Entries of the value, one after another, determine the digits that those before left open (T2, T19)."""
        extents, known = dict(self.digits), set[str]()
        for step in steps:
            v = self.value[step["entry"]]
            open_ = [d for d in step["digits"] if d in extents]
            need(len(set(open_)) == len(step["digits"]) and not set(open_) & known, "digits that are open")
            strides = {d: {tuple(x for x in key if x != d): c for key, c in v.items() if d in key} for d in open_}
            base = {key: c for key, c in v.items() if not set(key) & set(open_)}
            rebuilt = base
            for d in open_:
                rebuilt = plus(rebuilt, times(name_of(d), strides[d]))
            need(rebuilt == v, "an entry is not linear in its open digits")
            need(self.rest_of(base, *strides.values()) <= known, "an entry rests on digits that are still open")
            chain([(extents[d], strides[d]) for d in open_], self.gens, step["chain"])
            known |= set(open_)
        need(known == set(extents), "some digits stay open")
