"""Every value that occurs, occurs a stated number of times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from symlayout.answers.report import Witness
from symlayout.errors import ClaimError
from symlayout.expr import Symbol, integer
from symlayout.facts import Facts
from symlayout.int_tuple import is_zero, product

from ..algebra import probes as far
from ..algebra.certificates import injective
from ..algebra.subject_form import at_text, check_subject, linear, points, table
from ..claim import Claim, Proof, Query, TooLarge
from ..claim_fields import Size, Subject
from ..exhaustive import POINTS, repeats
from .injective import Injective


@dataclass(frozen=True)
class Multiplicity(Claim):
    """Each value of *layout* belongs to exactly *copies* coordinates: a uniform broadcast.

    >>> from symlayout import Layout
    >>> print(Multiplicity(Layout((32, 8), (0, 1)), copies=32))
    multiplicity 32: (32,8):(0,1)
    """

    layout: Subject
    copies: Size

    kind: ClassVar[str] = "multiplicity"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_subject(self.layout)
        object.__setattr__(self, "copies", integer(self.copies))
        if type(self.copies) is int and self.copies < 1:
            raise ClaimError(f"expected at least 1 copy, got {self.copies}")

    def __str__(self) -> str:
        return f"{self.kind} {self.copies}: {self.layout}"

    @property
    def _once(self) -> Injective | None:
        """The same claim where each value is to occur once, with or without a predicate."""
        return Injective(self.layout, given=self.given) if type(self.copies) is int and self.copies == 1 else None

    def certify(self, facts: Facts) -> Proof | None:
        if self._once is not None:
            return self._once.certify(facts)
        form = linear(self.layout, facts)
        c = form.single if form is not None and not getattr(self.layout, "valid", None) else None
        if c is None:
            return None
        repeats = facts.normal(product(tuple(n for n, d in c.modes if d == 0)) - self.copies)
        if not is_zero(repeats) or not all(facts.le(1, n) for n, _ in c.modes):
            return None
        found = injective([m for m in c.modes if m[1] != 0], facts)
        return None if found is None else Proof("broadcast modes and a chain of strides, T2", found)

    def counterexample(self) -> Witness | None:
        n = points(self.layout)
        if n > POINTS:
            return self._far(n)
        _, values = table(self.layout)
        found, times = repeats(values)
        wrong = np.flatnonzero(times != self.copies)
        if not len(wrong):
            return None
        value = tuple(map(int, found[wrong[0]]))
        return Witness({}, (), f"value {at_text(value)} belongs to {times[wrong[0]]} coordinates, not {self.copies}")

    def _far(self, n: int) -> Witness:
        """A witness that broadcast modes make too many copies, or the coordinates too few.

        Raises TooLarge if that is open.
        """
        copies = far.copies(self.layout)
        if copies > self.copies:
            return Witness({}, (), f"each value belongs to at least {copies} coordinates, not {self.copies}")
        if n % self.copies and not getattr(self.layout, "valid", ()):
            return Witness({}, (), f"{n} coordinates are not a multiple of {self.copies}")
        raise TooLarge

    def violations(self, facts: Facts) -> list[Query] | None:
        return None if self._once is None else self._once.violations(facts)

    def replay(self, model: Mapping[Symbol, int], bound: Any) -> Witness | None:
        return None if self._once is None else self._once.replay(model, bound)

    def lemma(self, facts: Facts) -> str:
        return f"stride-0 modes make {self.copies} copies and the others are injective"
