"""A fact follows from the assumptions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from symlayout.answers.report import Witness
from symlayout.errors import ClaimError
from symlayout.expr import Fact, at_least
from symlayout.facts import Facts
from symlayout.obligations import IN_DOMAIN

from ..algebra.certificates import nonneg, together
from ..claim import Claim, Proof, Query
from ..claim_fields import Statement
from ..repairs.conditions import divisibility, each_case, simplest


@dataclass(frozen=True)
class Holds(Claim):
    """*fact* holds for all sizes: an obligation of an operation, or any inequality, equality or congruence.

    >>> from symlayout import dims
    >>> M, N = dims("M N")
    >>> print(Holds(M * N >= M))
    holds: M*N >= M
    """

    fact: Statement
    label: str = ""
    obligation: str = ""

    kind: ClassVar[str] = "holds"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.fact, Fact):
            raise ClaimError(f"expected a fact such as M <= ld or N.multiple_of(8), got {self.fact!r}")

    def points(self) -> int:
        return 1

    def __str__(self) -> str:
        return self.label or f"{self.kind}: {self.fact}"

    def certify(self, facts: Facts) -> Proof | None:
        if self.fact.relation == ">=":
            p = facts.normal(self.fact.expr)
            found = nonneg(p, facts)
            return self._in_each_case(p, facts) if found is None else Proof("positivity, T9", found)
        if facts.holds(self.fact):
            return Proof("normal form and divisibility, T12")
        cases = each_case(self.fact.expr) if self.fact.relation == "%" else ()
        if len(cases) > 1 and all(facts.holds(Fact(x, "%", self.fact.modulus)) for x in cases):
            return Proof("normal form and divisibility in each case, T12")
        return None

    def _in_each_case(self, p: Any, facts: Facts) -> Proof | None:
        """Whichever argument of a minimum or maximum in it is its value, it is not negative."""
        cases = each_case(p)
        found = [nonneg(facts.normal(x), facts) for x in cases] if len(cases) > 1 else []
        parts = [x for x in found if x is not None]
        if not parts or len(parts) < len(found):
            return None
        return Proof("positivity in each case, T9", together(parts, f"each case of {self.fact}"))

    def counterexample(self) -> Witness | None:
        if self.fact.value:
            return None
        short = -self.fact.expr
        if self.obligation == IN_DOMAIN:
            return Witness({}, (), f"the operand is read {short} past the end of its domain")
        if self.fact.relation == ">=":
            return Witness({}, (), f"it falls short by {short}")
        return Witness({}, (), f"the {'difference' if self.fact.relation == '==' else 'value'} is {-short}")

    def violations(self, facts: Facts) -> list[Query] | None:
        if self.fact.relation == "%":
            e, m = self.fact.expr, self.fact.modulus
            return [[at_least(e - m * (e // m), 1)]]  # of a number too, for which >= makes no fact
        return [[self.fact.negated()]]

    def conditions(self, facts: Facts) -> Iterator[Fact]:
        if self.fact.relation == "%":
            for x in each_case(self.fact.expr):
                yield from divisibility(x, self.fact.modulus)
        yield simplest(self.fact)

    def lemma(self, facts: Facts) -> str:
        return str(self.fact)
