"""Every value of a range is reached exactly once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from symlayout.address_map import AddressMap
from symlayout.answers.report import Witness
from symlayout.expr import Fact, Symbol, divides, eq
from symlayout.facts import Facts
from symlayout.int_tuple import is_zero, leaves, product, text

from ..algebra import digits
from ..algebra import probes as far
from ..algebra.certificates import bijective, together
from ..algebra.digits import by_digits
from ..algebra.subject_form import Linear, check_subject, checked_onto, linear, points
from ..claim import Claim, Proof, Query, first_found
from ..claim_fields import Subject, Value
from ..exhaustive import POINTS
from .in_bounds import InBounds, at_digits, outside
from .injective import SWIZZLE, Injective, collision, gaps, replayed
from .missing_values import missing


@dataclass(frozen=True)
class Bijective(Claim):
    """The values are exactly 0 .. *onto* - 1 (or the points of a box), each once.

    >>> from symlayout import Layout
    >>> print(Bijective(Layout((4, 8), (8, 1)), onto=32))
    bijective: (4,8):(8,1) onto 32
    """

    layout: Subject
    onto: Value

    kind: ClassVar[str] = "bijective"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_subject(self.layout)
        object.__setattr__(self, "onto", checked_onto(self.layout, self.onto))

    def __str__(self) -> str:
        return f"{self.kind}: {self.layout} onto {text(self.onto)}"

    def certify(self, facts: Facts) -> Proof | None:
        form = linear(self.layout, facts)
        predicate = getattr(self.layout, "valid", ())
        if form is not None and not predicate:
            found = self._mixed_radix(form, facts)
            if found is not None:
                return found
        if isinstance(self.layout, AddressMap):
            found = by_digits(digits.bijective(self.layout, leaves(self.onto), facts))
            if found is not None or form is None:
                return found
        return self._by_counting(facts)

    def _mixed_radix(self, form: Linear, facts: Facts) -> Proof | None:
        """Strides are the running product of the extents, in each component (T3)."""
        onto = [facts.normal(n) for n in leaves(self.onto)]
        if len(form.components) != len(onto) or any(c.base != 0 for c in form.components):
            return None
        if form.swizzle is not None and divides(form.swizzle.block, onto[0]) is None:
            return None
        if form.tuple_valued and not _disjoint(form):
            return None
        found = [
            bijective([m for m in c.modes if m[1] != 0 or len(onto) == 1], facts, n)
            for c, n in zip(form.components, onto, strict=True)
        ]
        parts = [f for f in found if f is not None]
        if len(parts) != len(found):
            return None
        if len(parts) == 1:
            return Proof("mixed radix, T3", parts[0], (SWIZZLE,) if form.swizzle else ())
        return Proof("mixed radix in each component, T3", together(parts, "each component has its own digits"))

    def _by_counting(self, facts: Facts) -> Proof | None:
        """Inside the range, injective, and as many coordinates as values (T7)."""
        if not self._counts_agree(facts):
            return None
        inside = InBounds(self.layout, self.onto).certify(facts)
        single = None if inside is None else Injective(self.layout).certify(facts)
        if inside is None or single is None:
            return None
        parts = [p.certificate for p in (inside, single) if p.certificate is not None]
        lemmas = (*inside.lemmas, *single.lemmas, f"{self.layout.size()} coordinates for as many values (T7)")
        certificate = together([dict(p) for p in parts], "as many coordinates as values") if len(parts) == 2 else None
        return Proof("counting, T7", certificate, lemmas)

    def _counts_agree(self, facts: Facts) -> bool:
        """|X| == |Y| as polynomials, every factor of both at least 0, and no predicate."""
        if getattr(self.layout, "valid", ()):
            return False
        extents = [*leaves(self.layout.shape), *leaves(self.onto)]
        if not all(facts.le(0, n) for n in extents):
            return False
        gap = facts.normal(self.layout.size() - product(self.onto))
        return is_zero(gap)

    def counterexample(self) -> Witness | None:
        total = product(self.onto)
        far_away = max(points(self.layout), total) > POINTS
        return first_found(
            [
                lambda: far.miscount(self.layout, total) if far_away else None,
                lambda: collision(self.layout),
                lambda: outside(self.layout, InBounds(self.layout, self.onto).limits),
                lambda: missing(self.layout, self.onto),
            ]
        )

    def replay(self, model: Mapping[Symbol, int], bound: Any) -> Witness | None:
        beyond = at_digits(self.layout, model, InBounds(bound.layout, bound.onto))
        return beyond if beyond is not None else replayed(self.layout, model, bound.layout)

    def points(self) -> int:
        return max(super().points(), product(self.onto))

    def violations(self, facts: Facts) -> list[Query] | None:
        if not self._counts_agree(facts):
            return None
        inside = InBounds(self.layout, self.onto).violations(facts) or []
        return [*inside, *(Injective(self.layout).violations(facts) or [])]

    def conditions(self, facts: Facts) -> Iterator[Fact]:
        yield from gaps(self.layout, facts)
        shape, onto = leaves(self.layout.shape), leaves(self.onto)
        if len(shape) == len(onto):
            yield from map(eq, shape, onto)

    def lemma(self, facts: Facts) -> str:
        return f"inside [0, {text(self.onto)}), injective, and as many coordinates as values (T7)"


def _disjoint(form: Linear) -> bool:
    """Whether every digit moves exactly one component, so that components may be judged apart."""
    columns = zip(*(c.modes for c in form.components), strict=True)
    return all(column[0][0] == 1 or sum(1 for _, d in column if d != 0) == 1 for column in columns)
