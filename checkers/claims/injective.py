"""Different coordinates have different offsets."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from symlayout.address_map import AddressMap
from symlayout.answers.report import Witness
from symlayout.basis import as_tuple
from symlayout.errors import InternalError
from symlayout.expr import Expr, Fact, Symbol, at_least, eq
from symlayout.facts import NOTHING, Facts, ranges
from symlayout.int_tuple import is_one, leaves, text

from ..algebra import digits
from ..algebra import probes as far
from ..algebra.certificates import Certificate, injective, together
from ..algebra.digits import by_digits
from ..algebra.f2 import f2_injective
from ..algebra.subject_form import Linear, at_model, at_text, check_subject, expression, linear, points, table
from ..claim import Claim, Proof, Query, TooLarge
from ..claim_fields import Subject
from ..exhaustive import POINTS, first_collision

SWIZZLE = "a swizzle is a bijection of the integers (T14)"


@dataclass(frozen=True)
class Injective(Claim):
    """No two coordinates of *layout* have the same value; under a map's predicate, no two valid ones.

    >>> from symlayout import Layout
    >>> print(Injective(Layout((4, 8), (8, 1))))
    injective: (4,8):(8,1)
    """

    layout: Subject

    kind: ClassVar[str] = "injective"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_subject(self.layout)

    def certify(self, facts: Facts) -> Proof | None:
        form = linear(self.layout, facts)
        found = None if form is None else certify_linear(form, facts)
        if found is None and isinstance(self.layout, AddressMap):
            return by_digits(digits.injective(self.layout, facts))
        return found

    def counterexample(self) -> Witness | None:
        return collision(self.layout)

    def violations(self, facts: Facts) -> list[Query] | None:
        return [two_points(self.layout)]

    def replay(self, model: Mapping[Symbol, int], bound: Any) -> Witness | None:
        return replayed(self.layout, model, bound.layout)

    def conditions(self, facts: Facts) -> Iterator[Fact]:
        return gaps(self.layout, facts)

    def lemma(self, facts: Facts) -> str:
        return "no two coordinates share a value: no chain of strides and no residues were found (T2, T5)"


def certify_linear(form: Linear, facts: Facts) -> Proof | None:
    """Injectivity of a linear form: each component determines digits that the ones before left open (T19)."""
    lemmas = (SWIZZLE,) if form.swizzle else ()
    if form.single is not None:
        modes = _moving(form.single.modes)
        found = injective(modes, facts)
        if found is not None:
            return Proof("residues, T5" if "residue" in found["proof"] else "chain of strides, T2", found, lemmas)
        sw = form.swizzle
        found = f2_injective(modes, (sw.bits, sw.base, sw.shift) if sw else (0, 0, 0))
        return None if found is None else Proof("linear over GF(2), T15", found)
    parts = _by_component(form, facts)
    if parts is None:
        return None
    certificate = together(parts, "each component determines its digits")
    return Proof("chain of strides in each component, T2", certificate)


def gaps(layout: Any, facts: Facts) -> Iterator[Fact]:
    """s >= n*t for each pair of modes (n, t) and stride s, and a broadcast mode down to one element."""
    form = linear(layout, NOTHING)
    for c in form.components if form is not None else ():
        for (n, t), (_, s) in itertools.permutations(c.modes, 2):
            if isinstance(s, Expr) or isinstance(n * t, Expr):
                yield at_least(s, n * t)
        for n, t in c.modes:
            if t == 0 and isinstance(n, Expr):
                yield at_least(1, n)


def _moving(modes: Any) -> list[tuple[Any, Any]]:
    return [(n, d) for n, d in modes if not is_one(n)]


def _by_component(form: Linear, facts: Facts) -> list[Certificate] | None:
    known: set[int] = set()
    parts: list[Certificate] = []
    rank = len(form.components[0].modes)
    todo = list(form.components)
    while todo:
        for c in todo:
            rest = [k for k, (n, d) in enumerate(c.modes) if k not in known and d != 0 and n != 1]
            made = injective([c.modes[k] for k in rest], facts)
            if made is not None:
                known |= set(rest)
                parts.append(made)
                todo.remove(c)
                break
        else:
            break
    still = {k for k in range(rank) if form.components[0].modes[k][0] != 1}
    return parts if still <= known and parts else None


def collision(layout: Any) -> Witness | None:
    """The earliest pair of coordinates with one value; beyond enumeration any pair, or that there must be one."""
    if points(layout) > POINTS:
        found = far.pair_of_modes(layout) or _earliest(far.clipped(layout))
        witness = _meeting(layout, *found) if found is not None else far.crowd(layout)
        if witness is None:
            raise TooLarge
        return witness
    found = _earliest(layout)
    return None if found is None else _meeting(layout, *found)


def _earliest(layout: Any) -> tuple[Any, Any] | None:
    at, values = table(layout)
    found = first_collision(values)
    return None if found is None else (at(found[0]), at(found[1]))


def replayed(layout: Any, model: Mapping[Symbol, int], bound: Any) -> Witness | None:
    """The two coordinates of a solver's model for two_points, if they meet at its sizes."""
    a, b = (at_model(layout, prefix, model, bound) for prefix in ("p_", "q_"))
    if a is None or b is None or a == b or as_tuple(bound(a)) != as_tuple(bound(b)):
        return None
    return _meeting(bound, a, b)


def _meeting(layout: Any, a: Any, b: Any) -> Witness:
    return Witness({}, (a, b), f"coordinates {at_text(a)} and {at_text(b)} both map to {value_text(layout, a, b)}")


def value_text(layout: Subject, *coords: Any) -> str:
    """The value at coordinates that must agree, evaluated by the layout itself; a replay."""
    values = [as_tuple(layout(c)) for c in coords]
    if any(v != values[0] for v in values) or len(set(coords)) != len(coords):
        raise InternalError(f"the counterexample {coords} of {layout} does not replay: values {values}")
    return text(values[0])


def two_points(layout: Any) -> list[Fact | tuple[Fact, ...]]:
    """Facts that two different coordinates with one value would meet (T1 where the map is linear)."""
    first, _, a, valid_a = expression(layout, "p_")
    second, _, b, valid_b = expression(layout, "q_")
    differ: tuple[Fact, ...] = ()
    for x, y in zip(first, second, strict=True):
        differ += (at_least(y, x + 1), at_least(x, y + 1))
    same = [eq(x, y) for x, y in zip(leaves(a), leaves(b), strict=True)]
    return [*ranges(first), *ranges(second), *valid_a, *valid_b, *same, differ]
