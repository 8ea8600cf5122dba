"""Every value of a range is reached."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from symlayout.answers.report import Witness
from symlayout.facts import Facts
from symlayout.int_tuple import leaves, text

from ..algebra import probes as far
from ..algebra.certificates import covers
from ..algebra.subject_form import check_subject, checked_onto, linear, points, table
from ..claim import Claim, Proof, TooLarge
from ..claim_fields import Subject, Value
from ..exhaustive import POINTS, first_missing
from .bijective import Bijective


@dataclass(frozen=True)
class Surjective(Claim):
    """Each of 0 .. *onto* - 1 (or each point of a box) is the value of some coordinate."""

    layout: Subject
    onto: Value

    kind: ClassVar[str] = "surjective"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_subject(self.layout)
        object.__setattr__(self, "onto", checked_onto(self.layout, self.onto))

    def points(self) -> int:
        total = 1
        for n in leaves(self.onto):
            total *= n
        return max(super().points(), total)

    def __str__(self) -> str:
        return f"{self.kind}: {self.layout} onto {text(self.onto)}"

    def certify(self, facts: Facts) -> Proof | None:
        form = linear(self.layout, facts)
        c = form.single if form is not None and not getattr(self.layout, "valid", ()) else None
        if form is not None and c is not None and form.swizzle is None and c.base == 0:
            found = covers(c.modes, facts, facts.normal(leaves(self.onto)[0]))
            if found is not None:
                return Proof("strides without gaps", found)
        return Bijective(self.layout, self.onto, given=self.given).certify(facts)

    def counterexample(self) -> Witness | None:
        return missing(self.layout, self.onto)

    def lemma(self, facts: Facts) -> str:
        return f"every value below {text(self.onto)} is reached"


def missing(layout: Any, onto: Any) -> Witness | None:
    """The first value that no coordinate has."""
    total = 1
    for n in leaves(onto):
        total *= n
    if max(points(layout), total) > POINTS:
        return _unreached(layout, total)
    _, values = table(layout)
    hole = first_missing(values, tuple(leaves(onto)))
    if hole is None:
        return None
    value = text(hole if isinstance(onto, tuple) else hole[0])
    return Witness({}, (), f"no coordinate maps to {value}")


def _unreached(layout: Any, total: int) -> Witness:
    """That too few coordinates, their residues or their extremes leave a value out; TooLarge where that is open."""
    if points(layout) < total:
        return Witness({}, (), f"{points(layout)} coordinates for {total} values")
    low, high = far.span(layout) or (0, total)
    if low > 0 or high < total - 1:
        return Witness({}, (), f"no coordinate maps to {0 if low > 0 else total - 1}: values are {low} to {high}")
    known = far.residue(layout)
    if known is not None and total > 1:
        r, m = known
        return Witness({}, (), f"no coordinate maps to {0 if r else 1}: every value leaves {r} when divided by {m}")
    raise TooLarge
