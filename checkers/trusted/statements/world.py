"""The meaning of the names of a statement for the checker of certificates: sizes, coordinates, quotients, and their
images.

A statement is a whole claim as plain data: its kind, each of its fields, the range of each size and what is given.
A proof may speak of other polynomials: 8*k for a size N that 8 divides, k for ceil(N/8). Each such image is checked
here before anything is compared with it, by plain polynomial arithmetic:

- ``let`` solves an assumption that the statement makes for one size, or writes a size as m times a new name;
- ``names`` are quotients, extrema and xors of what is known; a definition restricts nothing;
- ``rows`` and ``goal`` are what a quotient or extremum of the statement is in these names, the first by its form
  alone, the second under the assumptions too.

Nothing of the provers, and no layout, is imported.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from ..lemmas import ONE, Poly, generators, minus, names_in, need, nonneg, plus, poly, put, times
from ..map_steps import OPERANDS

Data: TypeAlias = "Mapping[str, Any]"
Meaning: TypeAlias = "tuple[str, list[Poly]]"

SUBJECTS = ("layout", "tiles", "access")  # the fields whose coordinates a proof may speak of


def leaf(x: Any) -> Poly:
    """An integer or expression of a statement; an expression has a name in it."""
    if not isinstance(x, Mapping):
        need(type(x) is int, "expected an integer or an expression")
        return poly(x)
    need(set(x) == {"poly"}, "expected an expression")
    out = poly(x["poly"])
    need(number(out) is None, "a number that is written as an expression")
    return out


def expressions(x: Any) -> Iterable[Any]:
    """Every expression in nested data."""
    if isinstance(x, Mapping) and "poly" in x:
        yield x
    elif isinstance(x, Mapping | list | tuple):
        for y in x.values() if isinstance(x, Mapping) else x:
            yield from expressions(y)


def fact(x: Any) -> tuple[Poly, str, int]:
    """(expression, relation, modulus) of a statement."""
    p, relation, m = x
    need(relation in (">=", "==", "%") and type(m) is int and (m >= 1) == (relation == "%"), "a relation")
    return leaf(p), relation, m


def leaves(x: Any) -> list[Any]:
    """The leaves of a nested list."""
    return [y for part in x for y in leaves(part)] if isinstance(x, list | tuple) else [x]


def frozen(p: Poly) -> frozenset[Any]:
    return frozenset(p.items())


def number(p: Poly) -> int | None:
    """The value of a polynomial without names, else None."""
    return p.get((), 0) if set(p) <= {()} else None


def shown(p: Poly, gens: list[Poly], hint: Any) -> None:
    """p >= 0: plainly so for a number, else by the hint."""
    c = number(p)
    if c is None:
        need(hint is not None, "a lemma is missing")
        nonneg(p, gens, hint)
    else:
        need(c >= 0, "a number is negative")


def tightened(p: Poly) -> Poly:
    """8*k - 1 >= 0 as k - 1 >= 0: integers allow the constant to be rounded."""
    g = math.gcd(*(c for m, c in p.items() if m))
    return p if g <= 1 else {m: c // g for m, c in p.items() if c // g}


class World:
    """The names of a statement and their images.

    Hints rest on ``gens``, which hold at all sizes, those with an empty box included; on ``point_gens``, with the box
    and the predicate, only where they are about a point.
    """

    def __init__(self, statement: Data, how: Data) -> None:
        self.sizes = {str(n): bounds for n, bounds in statement.get("sizes", {}).items()}
        about = (statement.get(field) for field in SUBJECTS)
        maps = [x["map"] for x in about if isinstance(x, Mapping) and "map" in x]
        self.coords = {str(c): leaf(n) for m in maps for c, n in zip(m["coords"], m["extents"], strict=True)}
        self.atoms: dict[str, Meaning] = {
            str(k): (op, [poly(a) for a in args]) for k, (op, *args) in statement.get("atoms", {}).items()
        }
        need(not {*self.sizes} & {*self.coords}, "a size and a coordinate of one name")
        need(not {*self.atoms} & {*self.sizes, *self.coords}, "a quotient of a taken name")
        self._check_atoms()
        known = {*self.sizes, *self.coords, *self.atoms}
        need(all(names_in(leaf(x)) <= known for x in expressions(statement)), "a name that is not stated")
        self.facts = [fact(f) for f in statement.get("given", ())]
        self.valid = [fact(f) for x in maps for f in x["valid"]]
        self.ranges = list(self._ranges())
        self.lets: dict[str, Poly] = {}
        self.parts: set[str] = set()
        solved = {str(name) for name, _ in how.get("let", ())}
        for name, rows in how.get("let", ()):
            self._solve(str(name), poly(rows), solved)
        self.meanings: dict[str, Meaning] = {}
        for name, (op, *args) in how.get("names", {}).items():
            self._define(str(name), op, [poly(a) for a in args])
        self.row_env = self._images({str(k): poly(p) for k, p in how.get("rows", {}).items()})
        self.of_sizes = self._rows([*self.ranges, *self.facts])
        self.of_points = self.of_sizes | self._rows([*self._box(), *self.valid])
        self._check_solved()
        self.gens = self._generators(how.get("world", {}), self.of_sizes)
        self.point_gens = self._generators(how["points"], self.of_points) if "points" in how else self.gens
        self.env = self._resolved(how.get("goal", ()))
        self.lemmas = set[frozenset[Any]]()
        for rows, hint in how.get("lemmas", ()):
            shown(poly(rows), self.gens, hint)
            self.lemmas.add(frozen(poly(rows)))
        divisors = [minus(self.image(d), ONE) for m in maps for d in m.get("divisors", ())]
        need(len(divisors) == len(how.get("divisors", ())), "one lemma for each divisor of the code")
        for p, hint in zip(divisors, how.get("divisors", ()), strict=True):  # also those that have cancelled
            shown(p, self.point_gens, hint)

    # -- what is stated ---------------------------------------------------------------------------------

    def _check_atoms(self) -> None:
        known = {*self.sizes, *self.coords}
        for k, (op, args) in self.atoms.items():
            self._check_operation(op, args)
            need(names_in(*args) <= known, "an expression rests on a name that is not stated")
            known.add(k)

    def _check_operation(self, op: str, args: list[Poly]) -> None:
        need(op in OPERANDS and len(args) > 0, "an unknown operation")
        need(OPERANDS[op] in (0, len(args)), "another number of operands than the operation has")

    def _ranges(self) -> Iterable[tuple[Poly, str, int]]:
        for name, (low, high, multiple) in self.sizes.items():
            need(type(multiple) is int and multiple >= 1, "a size is a multiple of at least 1")
            if low is not None:
                yield minus({(name,): 1}, leaf(low)), ">=", 0
            if high is not None:
                yield minus(leaf(high), {(name,): 1}), ">=", 0
            if multiple != 1:
                yield {(name,): 1}, "%", multiple

    def _box(self) -> Iterable[tuple[Poly, str, int]]:
        for c, n in self.coords.items():
            yield {(c,): 1}, ">=", 0
            yield minus(minus(n, {(c,): 1}), ONE), ">=", 0

    # -- sizes by other names ---------------------------------------------------------------------------

    def _solve(self, name: str, e: Poly, solved: set[str]) -> None:
        """name = e, since 8 divides it and k is new, or since a given equality says so."""
        need(name in self.sizes and name not in self.lets, "expected a size that is solved once")
        if not self._is_part(name, e):
            need(name not in names_in(e), "a size in its own terms")
            need(names_in(e) <= {*self.sizes, *self.parts} | self._apart(solved), "a solution in unknown names")
            one: Poly = minus({(name,): 1}, e)
            equal = [put(p, self.lets) for p, rel, _ in self.facts if rel == "=="]
            need(any(p in (one, minus({}, one)) for p in equal), f"nothing given says what {name} is")
        self.lets = {k: put(v, {name: e}) for k, v in self.lets.items()} | {name: e}

    def _is_part(self, name: str, e: Poly) -> bool:
        """Whether e is m times a new name, where m divides the size by what is stated."""
        if len(e) != 1:
            return False
        ((key, m),) = e.items()
        if len(key) != 1 or key[0] in {*self.sizes, *self.coords, *self.atoms, *self.parts}:
            return False
        stated = (n for p, rel, n in [*self.ranges, *self.facts] if rel == "%" and p == {(name,): 1})
        modulus = math.lcm(*stated)
        need(m >= 1 and modulus % m == 0, f"{m} does not divide {name}")
        self.parts.add(key[0])
        return True

    def _apart(self, solved: set[str]) -> set[str]:
        """The quotients and extrema in which no size occurs that is solved."""
        out: set[str] = set()
        for k, (_, args) in self.atoms.items():
            if names_in(*args) <= ({*self.sizes} - solved) | out:
                out.add(k)
        return out

    def _check_solved(self) -> None:
        """A quotient in what a size is solved for is the one that is stated."""
        for k in names_in(*self.lets.values()) & {*self.atoms}:
            need(self.row_env.get(k, {(k,): 1}) == {(k,): 1}, f"{k} means two things")

    # -- quotients and extrema --------------------------------------------------------------------------

    def _define(self, name: str, op: str, args: list[Poly]) -> None:
        self._check_operation(op, args)
        need(name not in {*self.sizes, *self.coords, *self.parts, *self.meanings}, "a name that is in use")
        known = ({*self.sizes} - {*self.lets}) | {*self.coords} | self.parts | {*self.meanings}
        need(names_in(*args) <= known, "a definition rests on what is not known yet")
        self.meanings[name] = (op, args)

    def _images(self, told: Mapping[str, Poly]) -> dict[str, Poly]:
        """Each quotient or extremum in the names in use, by its form alone; the same name where nothing changed."""
        env = dict(self.lets)
        for k, (op, args) in self.atoms.items():
            mine = [put(a, env) for a in args]
            if k in told:
                need(self._by_form(op, mine, told[k]), f"{k} is not what its image says")
                env[k] = told[k]
            elif k in self.meanings:
                need(self.meanings[k] == (op, mine), f"{k} means two things")
            else:
                self._define(k, op, mine)
        return env

    def _by_form(self, op: str, args: list[Poly], e: Poly) -> bool:
        """Whether e is the operation: by a definition, perhaps with something taken out, or by a small remainder."""
        for (name, *more), c in ((key, c) for key, c in e.items() if key):
            if more or c != 1 or name not in self.meanings or self.meanings[name][0] != op:
                continue
            out = minus(e, {(name,): 1})
            theirs = self.meanings[name][1]
            if op == "floordiv" and _same_quotient(minus(args[0], times(args[1], out)), args[1], *theirs):
                return True
            if op in ("minimum", "maximum") and {frozen(minus(a, out)) for a in args} == set(map(frozen, theirs)):
                return True
            if op in ("xor", "bit_and") and not out and set(map(frozen, args)) == set(map(frozen, theirs)):
                return len(args) == len(theirs)
            if op in ("power_of_two", "select") and not out and args == theirs:
                return True
        if op == "floordiv":
            rest, d = number(minus(args[0], times(args[1], e))), number(args[1])
            return rest == 0 or (rest is not None and d is not None and 0 <= rest < d)
        if op not in ("minimum", "maximum"):
            return False
        gaps = [number(minus(a, e) if op == "minimum" else minus(e, a)) for a in args]
        return e in args and all(g is not None and g >= 0 for g in gaps)

    def _resolved(self, told: Iterable[Any]) -> dict[str, Poly]:
        """The images under the assumptions."""
        hints = {str(k): (poly(p), why) for k, p, *why in told}
        env, at_points = dict(self.lets), {*self.coords}
        for k, (op, args) in self.atoms.items():
            if names_in(*args) & at_points:
                at_points.add(k)
            e, why = hints.get(k, (self.row_env.get(k, {(k,): 1}), ()))
            mine = [put(a, env) for a in args]
            if not self._by_form(op, mine, e):
                self._by_hints(op, mine, e, why, self.point_gens if k in at_points else self.gens)
            env[k] = e
        return env

    def _by_hints(self, op: str, args: list[Poly], e: Poly, why: Any, gens: list[Poly]) -> None:
        need(op in ("floordiv", "minimum", "maximum"), f"a {op} that is something else")
        if op == "floordiv":
            need(len(why) == 2, "a quotient takes two lemmas")
            rest = minus(args[0], times(args[1], e))
            shown(rest, gens, why[0])
            shown(minus(minus(args[1], rest), ONE), gens, why[1])
            return
        need(e in args and len(why) == len(args), "an extremum is one of its arguments")
        for a, hint in zip(args, why, strict=True):
            shown(minus(a, e) if op == "minimum" else minus(e, a), gens, hint)

    # -- assumptions ------------------------------------------------------------------------------------

    def _rows(self, facts: Iterable[tuple[Poly, str, int]]) -> set[frozenset[Any]]:
        """Every polynomial that a fact keeps at 0 or more, in the names in use."""
        found: list[Poly] = []
        for p, rel, m in facts:
            e = put(p, self.row_env)
            if rel == ">=":
                found.append(e)
            elif rel == "==":
                found += [e, minus({}, e)]
            else:
                found += [x for q in self._exact(e, m) for x in (q, minus({}, q))]
        found += [tightened(p) for p in found]
        found += [{m: 1} for p in found for m, c in p.items() if m and c == 1 and len(p) == 2 and p.get((), 0) < 0]
        return set(map(frozen, found))

    def _exact(self, e: Poly, m: int) -> Iterable[Poly]:
        """e - m*(q + s) == 0 for each quotient q + s that is e // m, where m divides e."""
        for name, (op, args) in self.meanings.items():
            d = number(args[1]) if op == "floordiv" else None
            if not d or d < 1 or m % d:
                continue
            g = m // d  # e is g*x + m*s + c with 0 <= c < g
            rest = minus(e, times({(): g}, args[0]))
            if all(c % m == 0 for key, c in rest.items() if key) and rest.get((), 0) % m < g:
                out = {key: c // m for key, c in rest.items() if c // m}
                yield minus(e, times({(): m}, plus(out, {(name,): 1})))

    def _generators(self, claim: Data, allowed: set[frozenset[Any]]) -> list[Poly]:
        self.expect(claim, allowed)
        return generators(claim)

    def expect(self, claim: Data, allowed: set[frozenset[Any]]) -> None:
        """Raise CertificateError where a claim assumes or defines what the statement does not."""
        for row in claim.get("assume", ()):
            need(frozen(poly(row)) in allowed, "an assumption that the statement does not make")
        for name, (op, *args) in claim.get("define", {}).items():
            if name in self.meanings:
                need(self.meanings[name] == (op, [poly(a) for a in args]), f"{name} means two things")
            else:
                need(name not in {*self.sizes, *self.coords, *self.parts}, "a definition of a stated name")

    def known(self, p: Poly) -> None:
        """Raise CertificateError unless p >= 0 is plain or one of the lemmas."""
        c = number(p)
        need(c >= 0 if c is not None else frozen(p) in self.lemmas, "an extent may be negative")

    def of_coords(self, coords: list[str]) -> set[str]:
        """The coordinates and the names that rest on one."""
        out = set(coords)
        for name, (_, args) in self.meanings.items():
            if names_in(*args) & out:
                out.add(name)
        return out

    def image(self, x: Any) -> Poly:
        """An integer or expression of the statement in the names of the proof."""
        return put(leaf(x), self.env)


def _same_quotient(x: Poly, d: Poly, y: Poly, e: Poly) -> bool:
    """Whether x // d is y // e: d is g*e and x is g*y, or by numbers g*y + c with 0 <= c < g."""
    if not d or not e or set(d) != set(e):
        return False
    key = next(iter(d))
    g = d[key] // e[key]
    if g < 1 or times({(): g}, e) != d:
        return False
    rest = number(minus(x, times({(): g}, y)))
    return rest == 0 or (rest is not None and 0 <= rest < g and (number(e) or 0) >= 1)


__all__ = ["Data", "World", "frozen", "leaf", "leaves", "number", "plus", "shown"]
