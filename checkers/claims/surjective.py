"""Every value of a range is reached."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from symlayout.answers.report import Witness
from symlayout.facts import Facts
from symlayout.int_tuple import leaves, text

from ..algebra.certificates import covers
from ..algebra.subject_form import check_subject, checked_onto, linear
from ..claim import Claim, Proof
from ..claim_fields import Subject, Value
from .bijective import Bijective
from .missing_values import missing


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
