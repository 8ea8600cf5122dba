"""Index expressions drawn as text, with // % min max xor: the provers read them, Python itself evaluates them.

So no rewriting of an expression, on the way in or in a proof, goes unchecked. A map has up to three coordinates,
extents that may be 0 or negative, a predicate, one or two values, and up to two sizes with facts about them.
"""

from __future__ import annotations

import collections
import itertools
import random
from dataclasses import dataclass
from typing import Any

import pytest

from checkers import Aligned, Bijective, FitsIn, InBounds, Injective, Multiplicity, Surjective, verify
from checkers.prover import decide
from symlayout import dim, eq
from symlayout.address_map import AddressMap
from symlayout.answers.report import Outcome
from symlayout.errors import InternalError, SymlayoutError
from symlayout.expr import maximum, minimum
from symlayout.facts import Facts
from tests.support.plain import QUICK

COORDS = ("i", "j", "k")
GIVEN = ("M >= 2", "M % 4 == 0", "M <= 12", "M >= N", "M == 2*N", "(M + N) % 4 == 0", "N >= M + 1", "M // 2 == 3")


def least(*xs: Any) -> Any:
    return min(xs) if all(type(x) is int for x in xs) else minimum(*xs)


def greatest(*xs: Any) -> Any:
    return max(xs) if all(type(x) is int for x in xs) else maximum(*xs)


NAMES = {"min": least, "max": greatest}


def term(r: random.Random, names: list[str], sizes: list[str], depth: int, xor: bool) -> str:
    if not depth or r.random() < 0.15:
        return r.choice([*names, *names, *sizes, str(r.choice((0, 1, 2, 3, 4, 5, 8)))])
    a, b = (term(r, names, sizes, depth - 1, xor) for _ in range(2))
    d = r.choice(sizes) if sizes and r.random() < 0.2 else str(r.choice((2, 3, 4, 5, 8)))
    forms = ["{a} + {b}"] * 3 + [
        "{a} - {b}",
        "{a} * {d}",
        "{a} * {d}",
        "{a} // {d}",
        "{a} % {d}",
        "min({a}, {b})",
        "max({a}, {b})",
    ]
    forms.append("{a} ^ {b}" if xor else "{a} * {b}")
    return f"({r.choice(forms).format(a=a, b=b, d=d)})"


@dataclass
class Drawn:
    """A claim as text."""

    kind: str
    sizes: dict[str, Any]
    extents: list[str]
    values: list[str]
    when: str
    given: list[str]
    numbers: list[Any]

    def read(self) -> Any:
        """The claim as the provers see it."""
        env = {**NAMES, **self.sizes}
        coords = ",".join(COORDS[: len(self.extents)])
        shape = tuple(eval(e, env) for e in self.extents)
        values = f"({','.join(self.values)})" if len(self.values) > 1 else self.values[0]
        when = eval(f"lambda {coords}: {self.when}", env) if self.when else None
        x = AddressMap.over(eval(f"lambda {coords}: {values}", env), shape, when)
        given = [eval(fact(g), {**env, "eq": eq}) for g in self.given]
        numbers = [tuple(eval(e, env) for e in self.numbers)] if self.kind in RANGES else self.numbers
        if self.kind in RANGES and len(self.values) == 1:
            numbers = [*numbers[0]]
        return KINDS[self.kind](x, *numbers, given=given)

    def true_at(self, sizes: dict[str, int]) -> bool | None:
        """Whether it holds there, by Python; None where that is too much."""
        env = {"min": min, "max": max, **sizes}
        shape = [eval(e, env) for e in self.extents]
        if any(n > 30 for n in shape):
            return None
        found = []
        for c in itertools.product(*(range(n) for n in shape)):
            at = {**env, **dict(zip(COORDS, c, strict=False))}
            if not self.when or eval(self.when, at):
                found.append(tuple(eval(v, at) for v in self.values))
        numbers = [eval(e, env) for e in self.numbers] if self.kind in RANGES else self.numbers
        return TRUTH[self.kind](found, *numbers)


def fact(text: str) -> str:
    """A fact in our words: ``M % 4 == 0`` is M.multiple_of(4), ``a == b`` is eq(a, b)."""
    left, same, right = text.partition(" == ")
    if same and right == "0" and " % " in left:
        x, _, m = left.rpartition(" % ")
        return f"({x}).multiple_of({m})"
    return f"eq({left}, {right})" if same else text


def inside(found: list[Any], *extents: int) -> bool:
    return all(0 <= v < n for row in found for v, n in zip(row, extents, strict=True))


def box(extents: Any) -> list[Any]:
    return list(itertools.product(*map(range, extents)))


KINDS: dict[str, Any] = {
    "injective": Injective,
    "bijective": Bijective,
    "surjective": Surjective,
    "in bounds": InBounds,
    "fits": FitsIn,
    "aligned": Aligned,
    "multiplicity": Multiplicity,
}
RANGES = ("bijective", "surjective", "in bounds")
TRUTH: dict[str, Any] = {
    "injective": lambda found: len(set(found)) == len(found),
    "bijective": lambda found, *n: sorted(found) == sorted(box(n)),
    "surjective": lambda found, *n: set(found) >= set(box(n)),
    "in bounds": inside,
    "fits": lambda found, bits: all(-(1 << bits - 1) <= v < 1 << bits - 1 for row in found for v in row),
    "aligned": lambda found, m: all(v % m == 0 for (v,) in found),
    "multiplicity": lambda found, n: set(collections.Counter(found).values()) <= {n},
}


def drawn(r: random.Random, symbolic: bool) -> Drawn:
    names = r.sample(["M", "N"], r.choice((1, 2))) if symbolic else []
    sizes = {
        s: dim(
            s,
            at_least=r.choice((1, 1, 1, 0, 2, None)),
            at_most=r.choice((None, 30)),
            multiple_of=r.choice((1, 1, 2, 4)),
        )
        for s in names
    }
    coords = list(COORDS[: r.choice((1, 2, 2, 3))])
    extents = [r.choice(names) if names and r.random() < 0.5 else str(r.choice((0, 1, 2, 3, 4, 5, 8))) for _ in coords]
    for k, e in enumerate(extents):
        if r.random() < 0.2:
            extents[k] = r.choice((f"-(-{e} // 4)", f"({e} - 2)", f"{e} * 2", f"{e} // 2", f"min({e}, 4)"))
    kind = r.choice([*KINDS, "injective", "bijective", "in bounds"])
    width = r.choice((1, 1, 2)) if kind in ("injective", *RANGES) else 1
    values = [term(r, coords, names, r.choice((1, 2, 2, 3)), not symbolic or r.random() < 0.1) for _ in range(width)]
    first, last = (coords[0], extents[0]), (coords[-1], extents[-1])
    if r.random() < 0.35:  # what kernels are made of
        compact = (
            f"{first[0]} + {first[1]}*{last[0]}",
            f"{first[0]}*{last[1]} + {last[0]}",
            f"{first[0]}//2 + 2*({first[0]} % 2)",
        )
        values[0] = r.choice(compact if len(coords) > 1 else (compact[2], f"{first[1]} - 1 - {first[0]}"))
    when = ""
    if r.random() < 0.35:
        when = f"{term(r, coords, names, r.choice((1, 2)), False)} {r.choice(('<', '<=', '>='))} {r.choice([*names, '3', '6'])}"
    numbers: list[Any] = []
    if kind in RANGES:
        ends = [*extents, *names, "4", "16", f"{first[1]} * {last[1]}", f"2 * {first[1]}"]
        numbers = [r.choice(ends) for _ in range(width)]
    elif kind != "injective":
        numbers = [r.choice({"fits": (3, 4, 6, 9), "aligned": (2, 4), "multiplicity": (1, 2, 4)}[kind])]
    given = [g for g in r.sample(GIVEN, r.choice((0, 0, 1, 2))) if all(s in names for s in "MN" if s in g)]
    return Drawn(kind, sizes, extents, values, when, given if symbolic else [], numbers)


def complaint(d: Drawn, claim: Any, r: random.Random) -> tuple[Outcome, str]:
    """The outcome, and what is wrong with it."""
    v = decide(claim, QUICK)
    if v.certificate is not None:
        verify(v.certificate)
    facts = Facts.about(claim.parameters(), given=claim.given)
    least_sizes = dict.fromkeys(d.sizes, 1)
    if v.outcome is Outcome.REFUTED:
        try:
            held = d.true_at({**least_sizes, **v.witness.sizes})
        except ZeroDivisionError:
            held = False  # a divisor that the normal form has cancelled
        return v.outcome, f"{v.witness} holds" if held else ""
    if v.outcome is Outcome.UNKNOWN:
        return v.outcome, ""
    for _ in range(40 if facts.symbols else 1):
        env = {s: r.randint(-4, 20) // s.multiple * s.multiple for s in facts.symbols}
        if not facts.admits(env):
            continue
        try:
            held = d.true_at({**least_sizes, **{s.name: n for s, n in env.items()}})
        except ZeroDivisionError:
            continue
        if v.outcome is Outcome.VACUOUS or held is False:
            return v.outcome, f"{v}\nbut {env}"
    return v.outcome, ""


@pytest.mark.parametrize("symbolic", [False, True], ids=["numbers", "sizes"])
def test_maps_agree_with_python(share, symbolic):
    trials = share(1000)
    r = random.Random(7)
    outcomes: collections.Counter[Outcome] = collections.Counter()
    for _ in range(trials):
        d = drawn(r, symbolic)
        try:
            claim = d.read()
        except InternalError:
            raise
        except (SymlayoutError, ZeroDivisionError):
            continue  # a constant divisor of 0, or a predicate that is a number
        outcome, wrong = complaint(d, claim, r)
        assert not wrong, (d, wrong)
        outcomes[outcome] += 1

    assert min(outcomes[Outcome.PROVED], outcomes[Outcome.REFUTED]) > trials // 6
    assert outcomes[Outcome.UNKNOWN] < (1 if not symbolic else trials // 20)
