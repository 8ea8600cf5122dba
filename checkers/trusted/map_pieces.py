"""A map over one box of digits: what its quotients and extrema are there, and the lemmas about what is left.

The counterpart of ``piece_checker``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, cast

from symlayout.expr import (
    Atom,
    Expr,
    Int,
    Max,
    Min,
    PowerOfTwo,
    Quotient,
    Select,
    Symbol,
    Xor,
    divides,
    intern,
    split,
    terms_of,
)
from symlayout.facts import Facts, OrderedFacts, Row, met_bits
from symlayout.facts.positivity import bit_rows

from ..algebra.certificates import chain
from .certificate_json import bit_hints, poly
from .map_variables import Digit, Map, NotShown, coefficient, put, show, shown, variable, variables


class Piece:
    """The map over one box of digits: what its atoms are there, and what is left of them."""

    def __init__(
        self, m: Map, facts: OrderedFacts, way: dict[Symbol, list[Digit]], starts: dict[Symbol, Int], place: int
    ) -> None:
        self.place = place
        self.map = m
        self.digits = [d for ds in way.values() for d in ds]
        self.env: dict[Any, Int] = {}
        rows: list[Row] = []
        for c, ds in way.items():
            at: Any = 0
            stride: Any = 1
            for d, n in ds:
                rows += [Row(d, "", d), Row(n - 1 - d, "", d)]
                at, stride = at + d * stride, stride * n
            if len(ds) > 1:
                rows.append(Row(stride - 1 - at, "", ds[0][0]))
            if starts[c] + at is not c:
                self.env[c] = starts[c] + at
        self.facts: Facts = facts.with_rows(*rows)
        self.facts.digits = self.digits
        self.rests: dict[Any, set[Symbol]] = {d: {d} for d, _ in self.digits}
        self.left: dict[Symbol, tuple[Atom, list[Int]]] = {}
        self.atoms: dict[str, Any] = {}
        self.turns: list[Any] = []
        self._resolve()

    def rest_of(self, *polys: Int) -> set[Symbol]:
        """The digits on which polynomials depend."""
        return set().union(*(self.rests.get(a, set()) for a in variables(*polys)))

    def _assume(self, *rows: Row) -> None:
        self.facts = self.facts.with_rows(*rows)

    # -- atoms ------------------------------------------------------------------------------------------

    def _resolve(self) -> None:
        valid = list(self.map.valid)
        ahead = {me for me, _, _ in self.map.atoms}
        self._guards(valid, ahead)
        for me, a, args in self.map.atoms:
            there = [put(e, self.env) for e in args]
            if isinstance(a, Quotient):
                self._quotient(me, a, *there)
            elif isinstance(a, Min | Max):
                self._extremum(me, a, there)
            elif isinstance(a, Select):
                self._select(me, a, *there)
            else:
                self._bits(me, a, there)
            ahead.discard(me)
            self._guards(valid, ahead)
        self.value = [put(v, self.env) for v in self.map.value]

    def _guards(self, valid: list[Int], ahead: set[Symbol]) -> None:
        while valid and not variables(valid[0]) & ahead:
            self._assume(Row(put(valid.pop(0), self.env), ""))

    def _stays(self, me: Symbol, a: Atom, args: list[Int], *rows: Int) -> None:
        """An atom that is not divided out is a variable, with rows that say what it means."""
        self.left[me] = (a, args)
        self.rests[me] = self.rest_of(*args)
        self._assume(*(Row(r, "", me) for r in rows))
        self.facts.meant = {**self.facts.meant, me: intern(type(a), tuple(args))}

    def _quotient(self, me: Symbol, a: Atom, x: Int, d: Int) -> None:
        whole, rest = split(x, d) if d != 0 else (0, x)
        for q, r in ((whole, rest), (whole - 1, rest + d)):
            why = shown(self.facts, r, d - 1 - r)
            if why is not None:
                self.env[me] = q
                self.atoms[me.key] = {"is": poly(q), "rest": why[0], "top": why[1]}
                return
        positive = shown(self.facts, d - 1)
        self.atoms[me.key] = {"positive": positive[0] if positive else None}
        if whole != 0:
            self.atoms[me.key]["out"] = poly(whole)
            self.env[me] = whole + me
        self._stays(me, a, [rest, d], rest - d * me, d * me + d - 1 - rest)

    def _extremum(self, me: Symbol, a: Atom, args: list[Int]) -> None:
        sign = 1 if isinstance(a, Max) else -1
        for i, x in enumerate(args):
            why = shown(self.facts, *(sign * (x - y) for k, y in enumerate(args) if k != i))
            if why is not None:
                self.env[me] = x
                self.atoms[me.key] = {"is": i, "gaps": why}
                return
        self._stays(me, a, args, *(sign * (me - x) for x in args))
        beyond = self._beyond(me, args, sign)
        self.atoms[me.key] = {"beyond": beyond} if beyond else {}

    def _beyond(self, me: Symbol, args: list[Int], sign: int) -> list[Any]:
        """The limits of the goal that bound every value that an atom may have."""
        beyond = []
        for limit in dict.fromkeys(self._limits(sign)):
            why = shown(self.facts, *(sign * (limit - x) for x in args))
            if why is not None:
                beyond.append([poly(limit), *why])
                self._assume(Row(sign * (limit - me), "", me))
        return beyond

    def _select(self, me: Symbol, a: Atom, q: Int, x: Int, y: Int) -> None:
        for i, test, value in ((1, q, x), (2, -q - 1, y)):
            why = shown(self.facts, test)
            if why is not None:
                self.env[me] = value
                self.atoms[me.key] = {"is": i, "why": why[0]}
                return
        self._stays(me, a, [q, x, y])
        beyond = [[sign, *row] for sign in (-1, 1) for row in self._beyond(me, [x, y], sign)]
        self.atoms[me.key] = {"beyond": beyond} if beyond else {}

    def _bits(self, me: Symbol, a: Atom, args: list[Int]) -> None:
        """For ``&``, ``^`` and powers of two only the range is known."""
        if isinstance(a, PowerOfTwo):
            self._stays(me, a, args, me, me - args[0] - 1)
            return
        found = met_bits(a, args, self.facts)
        rows = bit_rows(a.op, me, args, [e is not None for e in found.nonneg], found.bits)
        self._stays(me, a, args, *rows)
        if rows:
            self.atoms[me.key] = {"bits": bit_hints(found)}

    def _limits(self, sign: int) -> list[Int]:
        """The least value of a minimum, or the greatest of a maximum: the limits of the goal."""
        goal = self.map.goal
        return (
            [0, *goal.get("low", ())] if sign < 0 else [*goal.get("high", ()), *(n - 1 for n in goal.get("onto", ()))]
        )

    def wishes(self) -> Iterator[tuple[Symbol, Int]]:
        """(digit, d) where a quotient by the size d would divide out if the digit were two; coarse ones first."""
        extents = dict(self.digits)
        asked = []
        for a, args in self.left.values():
            if isinstance(a, Quotient) and not self.rest_of(args[1]):
                x, d = args
                plain = [w for w in extents if terms_of(x).get((w,)) == 1]
                if not any(extents[w] == d for w in plain):  # that is a rotation
                    asked += [(w, d) for w in plain if d != 1]
        for w, d in asked:
            if not any(v is w and e != d and divides(d, e) is not None for v, e in asked):
                yield w, d

    # -- turns ------------------------------------------------------------------------------------------

    def _turn(self) -> None:
        """Digits that are rotated, xored or reversed, by the place to which that takes them (T19)."""
        for me, (a, args) in self.left.items():
            for j, n in self.digits if me in variables(*self.value) else ():
                found = self._rotation(me, a, args, j, n) or self._xor(me, a, args, j, n)
                if found is not None and self._placed(j, n, *found):
                    break
        for entry, v in enumerate(self.value):
            for j, n in self.digits:
                found = self._reversal(entry, v, j, n)
                if found is not None and self._placed(j, n, *found):
                    break

    def _placed(self, j: Symbol, n: Int, place: Any, factors: list[Any], parts: dict[str, Any]) -> bool:
        into = variable(f"{j.key}~{self.place}")
        turned = [v - s * place + s * into for v, s in zip(self.value, factors, strict=True)]
        if j in self.rest_of(*turned, *factors):
            return False
        self.value = turned
        self.digits = [(into if d is j else d, e) for d, e in self.digits]
        self.rests[into] = {into}
        self._assume(Row(into, "", into), Row(n - 1 - into, "", into))
        self.turns.append({**parts, "digit": j.key, "into": into.key, "times": list(map(poly, factors))})
        return True

    def _rotation(self, me: Symbol, a: Atom, args: list[Int], j: Symbol, n: Int) -> Any:
        """(j + c) % n."""
        if not isinstance(a, Quotient) or args[1] != n or terms_of(args[0]).get((j,)) != 1:
            return None
        factors = [divides(n, -coefficient(v, me)) if coefficient(v, me) is not None else None for v in self.value]
        if None in factors or j in self.rest_of(args[0] - j):
            return None
        return args[0] - n * me, factors, {"by": "rotate", "atom": me.key}

    def _xor(self, me: Symbol, a: Atom, args: list[Int], j: Symbol, n: Int) -> Any:
        """j xor c with 0 <= c < 2^k where 2^k divides n, and what is added to j."""
        mine = [x for x in args if j in self.rest_of(x)]
        others = [x for x in args if j not in self.rest_of(x)]
        if not isinstance(a, Xor) or len(mine) != 1 or terms_of(mine[0]).get((j,)) != 1:
            return None
        high = mine[0] - j
        block = math.gcd(*terms_of(n).values(), *terms_of(high).values())
        block = min(block & -block, 1 << 64)
        why = [shown(self.facts, x, block - 1 - x) for x in others]
        factors = [coefficient(v, me) for v in self.value]
        if None in why or None in factors or j in self.rest_of(high):
            return None
        hints = {"by": "xor", "atom": me.key, "bits": block.bit_length() - 1, "others": why}
        return me - high, factors, hints

    def _reversal(self, entry: int, v: Int, j: Symbol, n: Int) -> Any:
        """j + p*(n - 1 - 2*j) with p of 0 and 1."""
        c = coefficient(v, j)
        p = divides(2, 1 - c) if isinstance(c, Expr) else None
        why = shown(self.facts, p, 1 - p) if p is not None and j not in self.rest_of(p) else None
        if p is None or why is None:
            return None
        factors = [int(i == entry) for i in range(len(self.value))]
        return j + p * (n - 1 - 2 * j), factors, {"by": "reverse", "factor": poly(p), "low": why[0], "high": why[1]}

    # -- what is claimed --------------------------------------------------------------------------------

    def proof(self, says: str, low: list[Int], high: list[Int]) -> dict[str, Any]:
        """The hints of this piece; NotShown where a lemma is missing."""
        if any(h.get("positive", ()) is None for h in self.atoms.values()):
            raise NotShown
        self._turn()
        out: dict[str, Any] = {"atoms": self.atoms, "turns": self.turns}
        if low:
            limits = zip(self.value, low, high, strict=says != "injective")
            out["bounds"] = [[self._show(v - a), self._show(b - v)] for v, a, b in limits]
        if says != "bounds":
            out["injective"] = list(self._steps())
        return out

    def _show(self, p: Int) -> dict[str, Any]:
        """The hint that p >= 0, digits eliminated before sizes, or else sizes before digits."""
        found = shown(self.facts, p)
        return found[0] if found else show(OrderedFacts(tuple(Row(r.poly, "") for r in self.facts.rows), {}, (), ()), p)

    def _steps(self) -> Iterator[dict[str, Any]]:
        """Entries that determine, by a chain of strides, digits that the entries before left open."""
        known: set[Symbol] = set()
        extents = dict(self.digits)
        todo = list(range(len(self.value)))
        while known != set(extents):
            for entry in todo:
                found = self._chain(self.value[entry], [d for d in extents if d not in known], known)
                if found is not None:
                    yield {"entry": entry, "digits": [d.key for d in found[0]], "chain": found[1]}
                    known |= set(found[0])
                    todo.remove(entry)
                    break
            else:
                raise NotShown

    def _chain(self, v: Int, open_: list[Symbol], known: set[Symbol]) -> tuple[list[Symbol], Any] | None:
        there = [d for d in open_ if d in variables(v)]
        strides = {d: coefficient(v, d) for d in there}
        if not there or None in strides.values():
            return None
        base = v - sum((d * s for d, s in strides.items()), cast(Any, 0))
        if not self.rest_of(base, *strides.values()) <= known:
            return None
        extents = dict(self.digits)
        found = chain([(extents[d], strides[d]) for d in there], self.facts)
        return None if found is None else (there, found)


def apart(a: Piece, b: Piece) -> list[Any]:
    """[entry, 1 or -1, hint]: one piece is above the other in that entry of the value."""
    own: dict[Any, Int] = {x: variable(f"{x.key}'") for x in b.rests}
    rows = [Row(put(r.poly, own), "", cast(Any, own.get(r.owner, r.owner))) for r in b.facts.rows]
    both = OrderedFacts((*a.facts.rows, *rows), {}, (), ())
    for entry, (v, w) in enumerate(zip(a.value, b.value, strict=True)):
        gap = put(w, own) - v
        for order in (1, -1):
            why = shown(both, order * gap - 1)
            if why is not None:
                return [entry, order, why[0]]
    raise NotShown
