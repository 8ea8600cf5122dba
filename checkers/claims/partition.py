"""A (thread, value) layout covers a tile exactly once, or a stated number of times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from symlayout.answers.report import Witness
from symlayout.errors import ClaimError
from symlayout.expr import integer
from symlayout.facts import Facts
from symlayout.int_tuple import leaves, product, text

from ..algebra import probes as far
from ..algebra.certificates import bijective
from ..algebra.subject_form import check_subject, checked_onto, linear, points, table
from ..claim import Claim, Proof, TooLarge
from ..claim_fields import Size, Subject, Value
from ..exhaustive import POINTS
from .bijective import Bijective
from .in_bounds import InBounds, outside


@dataclass(frozen=True)
class Partition(Claim):
    """Each of the *onto* elements of a tile belongs to exactly *copies* coordinates (threads and values).

    Stride-0 modes are broadcasts: an operand that every thread reads has as many copies as threads.
    """

    layout: Subject
    onto: Value
    copies: Size = 1

    kind: ClassVar[str] = "partition"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_subject(self.layout)
        object.__setattr__(self, "onto", checked_onto(self.layout, self.onto))
        object.__setattr__(self, "copies", integer(self.copies))
        if type(self.copies) is int and self.copies < 1:
            raise ClaimError(f"expected at least 1 copy, got {self.copies}")
        if self.copies != 1 and isinstance(self.onto, tuple):
            raise ClaimError(f"expected a single extent with {self.copies} copies, got {text(self.onto)}")

    def __str__(self) -> str:
        times = "exactly once" if self.copies == 1 else f"exactly {self.copies} times"
        return f"{self.kind}: {self.layout} covers {text(self.onto)} elements {times}"

    def certify(self, facts: Facts) -> Proof | None:
        if self.copies == 1:
            return Bijective(self.layout, self.onto, given=self.given).certify(facts)
        form = linear(self.layout, facts)
        c = form.single if form is not None and not getattr(self.layout, "valid", ()) else None
        if form is None or c is None or form.swizzle is not None or c.base != 0:
            return None
        repeats = product(tuple(n for n, d in c.modes if d == 0))
        if facts.normal(repeats - self.copies) != 0 or not all(facts.le(1, n) for n, _ in c.modes):
            return None
        found = bijective([m for m in c.modes if m[1] != 0], facts, facts.normal(self.onto))
        return None if found is None else Proof("mixed radix and broadcasts, T3", found)

    def counterexample(self) -> Witness | None:
        if self.copies == 1:
            return Bijective(self.layout, self.onto).counterexample()
        total = product(self.onto)
        large = max(points(self.layout), total) > POINTS
        miscount = far.miscount(self.layout, total, self.copies) if large else None
        beyond = miscount or outside(self.layout, InBounds(self.layout, self.onto).limits)
        if beyond is not None:
            return beyond
        if large:
            raise TooLarge
        _, values = table(self.layout)
        times = np.bincount(values[:, 0].astype(np.int64), minlength=total)
        wrong = np.flatnonzero(times != self.copies)
        if not len(wrong):
            return None
        v = int(wrong[0])
        return Witness({}, (), f"element {v} belongs to {int(times[v])} coordinates, not {self.copies}")

    def points(self) -> int:
        total = 1
        for n in leaves(self.onto):
            total *= n
        return max(super().points(), total)

    def lemma(self, facts: Facts) -> str:
        return f"each of {text(self.onto)} elements belongs to {self.copies} coordinates"
