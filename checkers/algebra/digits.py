"""Finding certificates for index expressions: coordinates as digits, so that quotients divide out (T10, T18 to T20).

    >>> from symlayout import dims
    >>> nm, nn = dims("nm nn")
    >>> raster = AddressMap.over(lambda b: (b % nm, b // nm), (nm * nn,))
    >>> bijective(raster, [nm, nn], Facts.about(nm, nn))["proof"]["digits"]["[b]"][0][0][:2]
    ['[b]0', [[1, 'nm']]]

What is found goes to ``map_checker``: a guess that is wrong here is a certificate that is refused, or none.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Mapping, Sequence
from typing import Any, cast

from symlayout.address_map import AddressMap
from symlayout.expr import Int, Symbol, divides, split
from symlayout.facts import Facts, OrderedFacts, Row
from symlayout.int_tuple import is_zero

from ..claim import Proof
from ..trusted.certificate_json import Setting, poly
from ..trusted.map_pieces import Piece, apart
from ..trusted.map_variables import Digit, Map, NotShown, coefficient, moved, put, show, shown, variable, variables
from .certificates import Certificate
from .recombine import Recombined, recombinations

ROUNDS = 12  # refinements of digits before giving up
SPLITS = 2  # sizes that are split

# Attempts, in order: digits for each quotient, if a size does not divide in two pieces, or on a larger box; else none.
DIGITS, WIDER, WHOLE = "digits", "wider", "whole"


def bounded(x: AddressMap, low: Sequence[Int], high: Sequence[Int], facts: Facts) -> Certificate | None:
    """low <= value <= high at every point, entry by entry."""
    return _certificate("bounds", x, facts, low=low, high=high)


def injective(x: AddressMap, facts: Facts) -> Certificate | None:
    """Different points have different values."""
    return _certificate("injective", x, facts)


def bijective(x: AddressMap, onto: Sequence[Int], facts: Facts) -> Certificate | None:
    """Every point of the box *onto* once: values inside it, all different, and as many points as values (T7)."""
    return _certificate("bijective", x, facts, onto=onto)


def by_digits(certificate: Certificate | None) -> Proof | None:
    """The proof that a certificate is, with the theorems that it uses."""
    if certificate is None:
        return None
    proof = certificate["proof"]
    used = {"T18": "split" in proof or len(proof["pieces"]) > 1, "T20": "fold" in proof}
    used["T3"] = "recombine" in proof
    used["T19"] = any(p["turns"] or len(p.get("injective", ())) > 1 for p in proof["pieces"])
    theorems = ", ".join(["T10", *sorted(t for t, yes in used.items() if yes)])
    return Proof(f"digits and quotients, {theorems}", certificate)


def _certificate(says: str, x: AddressMap, facts: Facts, **goal: Sequence[Int]) -> Certificate | None:
    if any(f.relation != ">=" for f in x.valid) or len({c.name for c in x.coords}) < len(x.coords):
        return None
    first, *others = (DIGITS, WIDER, WHOLE) if says == "injective" else (DIGITS, WHOLE)
    ranged = says != "bounds" or goal["low"][0] == 0
    guesses = ((DIGITS, g) for g in (recombinations(x, facts, _end(says, goal)) if ranged else ()))
    for way, guess in itertools.chain([(first, None)], guesses, ((way, None) for way in others)):
        m = Map.of(x, facts, {k: [moved(p, facts) for p in ps] for k, ps in goal.items()})
        setting = Setting.of(facts, *m.polys())
        m.rows = list(setting.facts.rows)
        claim = setting.claim("map", says=says, **m.json())
        hints = {} if guess is None else {"recombine": _recombined(m, says, guess, facts)}
        m.named(setting.atoms)
        if setting.usable:
            with contextlib.suppress(NotShown):
                return {"claim": claim, "proof": {**_Search(says, m, way).proof(), **hints}}
    return None


def _end(says: str, goal: Mapping[str, Sequence[Int]]) -> Int | None:
    """The end of the range of a single value, None if values need only differ."""
    return goal["onto"][0] if says == "bijective" else goal["high"][0] + 1 if says == "bounds" else None


def _recombined(m: Map, says: str, guess: Recombined, facts: Facts) -> dict[str, Any]:
    """The map with the parts of its value in place of it, and the box of these parts as its goal."""
    m.value = [put(moved(p, facts), m.names) for p in guess.parts]
    radices = [moved(n, facts) for n in guess.radices]
    out = {"parts": list(map(poly, m.value)), "radices": list(map(poly, radices))}
    if says == "injective":
        m.goal = {"low": [0 for _ in radices], "high": [n - 1 for n in radices]}
        return out
    end = m.goal["onto"][0] if says == "bijective" else m.goal["high"][0] + 1
    box = Recombined((), tuple(radices)).boxed(end)
    assert box is not None, "radices divide the end, and do so when sizes are replaced"
    m.goal = {"onto": box} if says == "bijective" else {"low": [0 for _ in box], "high": [n - 1 for n in box]}
    return {**out, "last": poly(box[-1])}


# -- the search -----------------------------------------------------------------------------------------


class _Search:
    """Sizes are split, predicates folded and coordinates cut until no quotient asks for more digits."""

    def __init__(self, says: str, m: Map, way: str) -> None:
        self.says, self.map, self.way = says, m, way
        self.splits: list[Any] = []
        self.widened: list[Any] = []
        self.folds: list[Any] = []
        self.facts = self._sizes()

    def proof(self) -> dict[str, Any]:
        """The hints of a proof; NotShown where a lemma is missing."""
        for i in reversed(range(len(self.map.valid))):
            self._fold(i)
        self.ways: dict[Symbol, list[list[Digit]]] = {c: [[(c, n)]] for c, n in self.map.coords}
        if self.says == "bijective":
            self._count()  # before any work: most guesses fail here
        pieces = self._pieces()
        low, high = self._limits()
        out: dict[str, Any] = {"pieces": [p.proof(self.says, low, high) for p in pieces]}
        cut = {c: ways for c, ways in self.ways.items() if ways != [[(c, dict(self.map.coords)[c])]]}
        if self.says == "bijective":
            out["extents"] = self._count()
        if self.splits:
            out["split"] = self.splits
        if self.folds:
            out["fold"] = self.folds
        if self.widened:
            out["widen"] = self.widened
        if cut:
            out["digits"] = {c.key: [[self._digit(*d) for d in way] for way in ways] for c, ways in cut.items()}
        if self.says != "bounds":
            out["disjoint"] = [apart(a, b) for a, b in itertools.combinations(pieces, 2)]
        return out

    def _sizes(self) -> OrderedFacts:
        out = OrderedFacts(tuple(self.map.rows), {}, (), ())
        out.meant = self.map.meant
        return out

    def _digit(self, d: Symbol, n: Int) -> list[Any]:
        return [d.key, poly(n), show(self.facts, n)]

    def _limits(self) -> tuple[list[Int], list[Int]]:
        goal = self.map.goal
        if self.says != "bijective":
            return goal.get("low", []), goal.get("high", [])
        return [0] * len(goal["onto"]), [n - 1 for n in goal["onto"]]

    def _count(self) -> list[Any]:
        """Lemmas that extents are at least 0, where there are as many points as values."""
        points: Any = 1
        values: Any = 1
        for _, n in self.map.coords:
            points = points * n
        for n in self.map.goal["onto"]:
            values = values * n
        if self.map.valid or points != values or len(self.map.goal["onto"]) != len(self.map.value):
            raise NotShown
        return [show(self.facts, n) for _, n in self.map.coords]

    # -- predicates -------------------------------------------------------------------------------------

    def _fold(self, i: int) -> None:
        """One coordinate for those of the predicate L < W, where L counts them by mixed radix; else nothing."""
        m, p, extents = self.map, self.map.valid[i], dict(self.map.coords)
        strides = {c: coefficient(p, c) for c in extents if c in variables(p)}
        if not strides or None in strides.values():
            return
        order: list[Symbol] = []
        stride: Any = 1
        while len(order) < len(strides):
            c = next((c for c, s in strides.items() if c not in order and s == -stride), None)
            if c is None:
                return
            order.append(c)
            stride = stride * extents[c]
        into = variable(f"({'+'.join(c.key for c in order)})")
        total = sum((-strides[c] * c for c in order), cast(Any, 0))
        size = p + 1 + total
        if variables(size) & ({*extents} | {me for me, *_ in m.atoms}):
            return
        before = m.valid, m.value, m.atoms
        m.valid = m.valid[:i] + m.valid[i + 1 :]
        m.put({order[0]: into + order[0] - total})
        used = variables(*m.valid, *m.value, *(e for *_, es in m.atoms for e in es)) & set(order)
        try:
            if used:
                raise NotShown
            lemmas = [show(self.facts, extents[c] - 1) for c in order[:-1]]
            reach = show(self.facts, stride - size)
        except NotShown:
            m.valid, m.value, m.atoms = before
            return
        m.coords = [(into, size) if c is order[0] else (c, n) for c, n in m.coords if c not in order[1:]]
        step = {"valid": i, "order": [c.key for c in order], "into": into.key, "extents": lemmas, "reach": reach}
        self.folds.append(step)

    # -- digits -----------------------------------------------------------------------------------------

    def _pieces(self) -> list[Piece]:
        refused: set[tuple[Symbol, Int]] = set()
        for _ in range(ROUNDS):
            pieces = [
                Piece(self.map, self.facts, dict(zip(self.ways, way, strict=True)), self._starts(way), place)
                for place, way in enumerate(itertools.product(*self.ways.values()))
            ]
            wishes = (w for p in pieces for w in p.wishes() if w not in refused)
            wish = next(wishes, None) if self.way != WHOLE else None
            if wish is None:
                return pieces
            if not self._refine(*wish):
                refused.add(wish)
        return pieces

    def _starts(self, way: tuple[list[Digit], ...]) -> dict[Symbol, Int]:
        """The start of the interval of each coordinate: after those before it."""
        out: dict[Symbol, Int] = {}
        for (c, ways), chosen in zip(self.ways.items(), way, strict=True):
            before = ways[: next(i for i, w in enumerate(ways) if w is chosen)]
            out[c] = sum((_size(w) for w in before), cast(Any, 0))
        return out

    def _refine(self, digit: Symbol, d: Int) -> bool:
        """A digit as digit % d and digit // d; a lone digit also in two intervals, the last one shorter."""
        c, i, way = next(
            (c, i, way) for c, ways in self.ways.items() for i, way in enumerate(ways) if digit in dict(way)
        )
        n = dict(way)[digit]
        q, rest = split(n, d)
        if rest != 0 and self.way == WIDER and digit in dict(self.map.coords):
            return self._widen(digit, n, d)
        if rest != 0 and (is_zero(q) or len(way) > 1):
            return self._split(n, d)
        names = (variable(f"{digit.key}{k}") for k in itertools.count())
        finer = [(next(names), d), (next(names), q)] if q != 1 else [(next(names), d)]
        k = [x for x, _ in way].index(digit)
        ways = [way[:k] + finer + way[k + 1 :]]
        if rest != 0:
            ways.append([(next(names), rest)])
        self.ways[c] = self.ways[c][:i] + ways + self.ways[c][i + 1 :]
        return True

    def _widen(self, c: Symbol, n: Int, d: Int) -> bool:
        """A coordinate up to the next multiple of d: what differs there differs on fewer points too."""
        why = shown(self.facts, d - 1)
        if why is None:
            return False
        whole = variable(f"ceil({c.key})")
        self.widened.append([c.key, poly(d), whole.key, why[0]])
        self.map.rows += [Row(whole, "", whole), Row(d * whole - n, "", whole)]
        self.map.coords = [(x, d * whole if x is c else e) for x, e in self.map.coords]
        self.facts = self._sizes()
        self.ways[c] = [[(c, d * whole)]]
        return True

    def _split(self, n: Int, d: Int) -> bool:
        """n = v*m in units of d = g*m: the size v as g*F + r (T18)."""
        rests = [rest for _, _, _, rest, *_ in self.splits]
        for v in sorted(variables(n), key=lambda a: a.key):
            m = coefficient(n, v)
            g = None if m is None or n != m * v else divides(m, d)
            if g is None or v in variables(g) or v.key in rests or len(self.splits) >= SPLITS:
                continue
            try:
                lemmas = [show(self.facts, v), show(self.facts, g - 1)]
            except NotShown:
                continue
            whole, rest = variable(f"{v.key}//{len(self.splits)}"), variable(f"{v.key}%{len(self.splits)}")
            self.splits.append([v.key, poly(g), whole.key, rest.key, *lemmas])
            env = {v: g * whole + rest}
            self.map.put(env, whole)
            self.map.rows += [Row(whole, "", whole), Row(rest, "", rest), Row(g - 1 - rest, "", rest)]
            self.facts = self._sizes()
            self.ways = {c: [[(d, put(e, env)) for d, e in way] for way in ways] for c, ways in self.ways.items()}
            return True
        return False


def _size(way: list[Digit]) -> Any:
    out: Any = 1
    for _, n in way:
        out = out * n
    return out
