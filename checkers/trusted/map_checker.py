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
from dataclasses import dataclass, field
from typing import Any

from .lemmas import ONE, Poly, bits, chain, generators, minus, need, nonneg, plus, poly, times

Hint = Mapping[str, Any]

# The number of operands of each operation that an atom may be, 0 for any.
OPERANDS = {"floordiv": 2, "minimum": 0, "maximum": 0, "xor": 0, "bit_and": 0, "power_of_two": 1, "select": 3}


def check_map(claim: Hint, proof: Hint) -> None:
    """``says`` bounds (low <= value <= high), injective, or bijective onto the box of extents ``onto``."""
    says = claim["says"]
    need(says in ("bounds", "injective", "bijective"), "a map is bounded, injective or bijective")
    onto = [poly(n) for n in claim.get("onto", ())]
    low = [poly(p) for p in claim.get("low", ())] if says == "bounds" else [{} for _ in onto]
    high = [poly(p) for p in claim.get("high", ())] if says == "bounds" else [minus(n, ONE) for n in onto]
    m = _Map.read(claim, [*onto, *low, *high])
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
    pieces = m.pieces(proof.get("digits", {}))
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
        _disjoint(pieces, proof.get("disjoint", ()))


# -- polynomials ----------------------------------------------------------------------------------------


def put(p: Poly, env: Mapping[str, Poly]) -> Poly:
    """p with names replaced by polynomials."""
    if not any(n in env for key in p for n in key):
        return p
    out: Poly = {}
    for key, c in p.items():
        term: Poly = {(): c}
        for n in key:
            term = times(term, env.get(n, {(n,): 1}))
        out = plus(out, term)
    return out


def names_in(*polys: Poly) -> set[str]:
    return {n for p in polys for key in p for n in key}


def _name(n: str) -> Poly:
    return {(n,): 1}


# -- the map --------------------------------------------------------------------------------------------


@dataclass
class _Map:
    """A map over a box; ``taken`` are the names in use, ``sizes`` those that are not coordinates or atoms."""

    gens: list[Poly]
    coords: list[tuple[str, Poly]]
    valid: list[Poly]
    atoms: list[tuple[str, str, list[Poly]]]
    value: list[Poly]
    taken: set[str]
    sizes: set[str]

    @classmethod
    def read(cls, claim: Hint, goal: list[Poly]) -> _Map:
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
        nonneg(_name(n), self.gens, at_least_0)
        nonneg(minus(d, ONE), self.gens, at_least_1)
        whole, rest = self.fresh(whole), self.fresh(rest)
        env = {n: plus(times(d, _name(whole)), _name(rest))}
        self.sizes = (self.sizes - {n}) | {whole, rest}
        self.gens = [put(g, env) for g in self.gens]
        self.gens += [_name(whole), _name(rest), minus(minus(d, _name(rest)), ONE)]
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
            total = plus(total, times(_name(c), stride))
            stride = times(stride, extents[c])
        size = plus(plus(self.valid.pop(step["valid"]), total), ONE)  # W - 1 - L >= 0
        need(names_in(size) <= self.sizes, "the limit of a predicate rests on a coordinate")
        need(len(step["extents"]) == len(order) - 1, "one lemma for each extent but the last")
        for c, hint in zip(order, step["extents"], strict=False):
            nonneg(minus(extents[c], ONE), self.gens, hint)
        nonneg(minus(stride, size), self.gens, step["reach"])
        into = self.fresh(step["into"])
        first, *others = order
        self._put({first: minus(plus(_name(into), _name(first)), total)})
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
        end = times(d, _name(self.fresh(whole)))
        self.sizes = self.sizes | {whole}
        self.gens += [_name(whole), minus(end, extents[c])]
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

    def pieces(self, digits: Mapping[str, Any]) -> list[_Piece]:
        """The map on each product of intervals."""
        need(set(digits) <= {c for c, _ in self.coords}, "digits of an unknown coordinate")
        ways = [self._intervals(c, n, digits[c]) if c in digits else [([(c, n)], _name(c))] for c, n in self.coords]
        return [
            self._piece(dict(zip([c for c, _ in self.coords], way, strict=True))) for way in itertools.product(*ways)
        ]

    def _intervals(self, c: str, n: Poly, pieces: Any) -> list[tuple[list[tuple[str, Poly]], Poly]]:
        """(digits, the coordinate by them) for consecutive intervals that make up [0, n)."""
        out: list[tuple[list[tuple[str, Poly]], Poly]] = []
        start: Poly = {}
        for rows in pieces:
            digits: list[tuple[str, Poly]] = []
            at, stride = start, ONE
            for name, extent, hint in rows:
                extent = poly(extent)
                need(names_in(extent) <= self.sizes, "an extent rests on a coordinate")
                nonneg(extent, self.gens, hint)
                digits.append((self.fresh(name), extent))
                at = plus(at, times(_name(name), stride))
                stride = times(stride, extent)
            out.append((digits, at))
            start = plus(start, stride)
        need(start == n, f"the pieces do not make up the extent of {c}")
        return out

    def _piece(self, way: Mapping[str, tuple[list[tuple[str, Poly]], Poly]]) -> _Piece:
        env = {c: at for c, (_, at) in way.items()}
        gens, digits = list(self.gens), []
        for _, (ds, at) in way.items():
            stride, top = ONE, at
            for d, n in ds:
                gens += [_name(d), minus(minus(n, _name(d)), ONE)]
                top, stride = minus(top, times(_name(d), stride)), times(stride, n)
            if len(ds) > 1:  # the interval ends before its start and its size
                gens.append(minus(minus(plus(top, stride), at), ONE))
            digits += ds
        return _Piece(self, gens, digits, env)


@dataclass
class _Piece:
    """The map over one box of digits; ``rests`` says on which digits a name depends."""

    map: _Map
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
        me = _name(a)
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
        self.value = [plus(minus(v, times(s, place)), times(s, _name(into)))
                      for v, s in zip(self.value, factors, strict=True)]  # fmt: skip
        need(j not in self.rest_of(*self.value, *factors), "the digit is used outside its place")
        self.digits = [(into if d == j else d, e) for d, e in self.digits]
        self.rests[into] = {into}
        self.gens += [_name(into), minus(minus(n, _name(into)), ONE)]

    def _rotated(self, j: str, n: Poly, hint: Hint) -> Poly:
        """(j + c) % n."""
        op, args = self.left[hint["atom"]]
        need(op == "floordiv" and args[1] == n, "a rotation is a remainder by the extent")
        need(j not in self.rest_of(minus(args[0], _name(j)), n), "the rotation rests on its own digit")
        return minus(args[0], times(n, _name(hint["atom"])))

    def _reversed(self, j: str, n: Poly, hint: Hint) -> Poly:
        """j where p is 0, and n - 1 - j where p is 1."""
        p = poly(hint["factor"])
        need(self._known(p) and j not in self.rest_of(p), "the reversal rests on its own digit")
        nonneg(p, self.gens, hint["low"])
        nonneg(minus(ONE, p), self.gens, hint["high"])
        return plus(_name(j), times(p, minus(minus(n, ONE), {(j,): 2})))

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
        high = minus(mine[0], _name(j))
        need(all(c % block == 0 for c in high.values()) and j not in self.rest_of(high), "what is added has low bits")
        for x, (low, top) in zip(others, hint["others"], strict=True):
            nonneg(x, self.gens, low)
            nonneg(minus({(): block - 1} if block > 1 else {}, x), self.gens, top)
        return minus(_name(hint["atom"]), high)

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
                rebuilt = plus(rebuilt, times(_name(d), strides[d]))
            need(rebuilt == v, "an entry is not linear in its open digits")
            need(self.rest_of(base, *strides.values()) <= known, "an entry rests on digits that are still open")
            chain([(extents[d], strides[d]) for d in open_], self.gens, step["chain"])
            known |= set(open_)
        need(known == set(extents), "some digits stay open")


def _disjoint(pieces: list[_Piece], hints: Iterable[Any]) -> None:
    """One of two pieces lies below the other in some entry of the value."""
    pairs = list(itertools.combinations(pieces, 2))
    hints = list(hints)
    need(len(hints) == len(pairs), "one lemma for each pair of pieces")
    for (a, b), (entry, order, why) in zip(pairs, hints, strict=True):
        own = {n: _name(f"{n}'") for n in b.rests}
        need(not {f"{n}'" for n in own} & (a.map.taken | set(a.rests)), "a name that is in use")
        need(order in (1, -1), "one piece is above the other")
        gap = minus(put(b.value[entry], own), a.value[entry])
        nonneg(minus(plus({}, gap, order), ONE), [*a.gens, *(put(g, own) for g in b.gens)], why)
