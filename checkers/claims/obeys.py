"""A record, such as a tensor map, keeps one rule at one place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from symlayout.answers.report import Witness
from symlayout.expr import Fact, Symbol, evaluate
from symlayout.facts import Facts, symbols_in
from symlayout.rules import Rule, place_text, violation
from symlayout.rules.tma_tile import TileCopy

from ..algebra.certificates import divisible, nonneg, together
from ..claim import Claim, Proof, Query
from ..coverage.whole_tiles import whole_tiles
from ..repairs.conditions import without_quotient
from .holds import Holds


@dataclass(frozen=True)
class Obeys(Claim):
    """The value that *rule* reads in *subject* at *place* meets the rule's relation.

    >>> from symlayout import dim
    >>> from symlayout.rules.tma import BY_ID
    >>> from symlayout.tma import TensorMap
    >>> N = dim("N")
    >>> print(Obeys(TensorMap("bf16", 0, (N, 64), (2 * N,), (64, 64)), BY_ID["stride_multiple_16"]))
    stride_multiple_16: each global stride is a multiple of 16 bytes, of 32 with interleave 32B
    """

    subject: Any
    rule: Rule
    place: int = 0
    name: str = ""  # what messages call the subject

    kind: ClassVar[str] = "obeys"

    def subjects(self) -> tuple[Any, ...]:
        return ()

    def parameters(self) -> tuple[Any, ...]:
        """With what the rule reads in the subject, so that its divisors are seen."""
        return (*super().parameters(), *self._facts)

    def points(self) -> int:
        return 1

    @property
    def value(self) -> Any:
        """The number or expression that the rule is about."""
        return self.rule.value(self.subject, self.place)

    @property
    def _facts(self) -> tuple[Fact, ...]:
        """Facts that make the rule hold, as far as numbers have not decided it."""
        return self.rule.facts(self.subject, self.place, self.value)

    def indices(self) -> frozenset[Symbol]:
        return getattr(self.subject, "indices", frozenset())

    def hints(self) -> tuple[int, ...]:
        return tuple(sorted({n for f in self._facts if f.relation == "%" for n in (f.modulus,)}))

    def __str__(self) -> str:
        return str(self.rule)

    def certify(self, facts: Facts) -> Proof | None:
        if not self._facts:
            return None
        found = self._in_whole_tiles(facts) or [_certified(f, facts) for f in self._facts]
        if any(c is None for c in found):
            return None
        return Proof("positivity and divisibility, T9, T12", together(found, self.rule.id))

    def _in_whole_tiles(self, facts: Facts) -> list[Any]:
        """The certificates for a copy by blocks and loops, the start of its box in whole tiles; none where it fails."""
        if not isinstance(self.subject, TileCopy) or self.subject.tensor_map.is_im2col:
            return []
        c = self.subject
        short = whole_tiles(c.coordinate, c.tensor_map.global_dim, facts)
        if short is None:
            return []
        claim = replace(self, subject=replace(c, coordinate=short.coordinate))
        known = Facts.about(claim.parameters(), given=facts.given)
        found = [_certified(f, known) for f in claim._facts]
        asked = symbols_in(claim._facts)
        why = [c for tile, c in zip(short.tiles, short.why, strict=True) if tile in asked]
        return [*why, *found] if found and all(found) else []

    def counterexample(self) -> Witness | None:
        x = evaluate(self.value, {})
        if self.rule.must.holds(x, self.subject, self.place):
            return None
        v = violation(self.rule, self.subject, self.place, x)
        name = f"{self.name}: " if self.name else ""
        return Witness({}, (), f"{name}{v.story}, expected {v.wanted}{f'; {v.fix}' if self.rule.hint else ''}")

    def violations(self, facts: Facts) -> list[Query] | None:
        if not self._facts:  # a plain number: every size that meets the assumptions breaks the rule, or none
            return [] if self.rule.must.holds(self.value, self.subject, self.place) else [()]
        return [q for f in self._facts for q in Holds(f).violations(facts) or ()]

    def conditions(self, facts: Facts) -> Iterator[Fact]:
        for f in self._facts:
            resolved = Fact(facts.resolved(f.expr), f.relation, f.modulus)
            bound = without_quotient(resolved)
            if bound is not None:
                yield bound
            yield from Holds(resolved).conditions(facts)

    def lemma(self, facts: Facts) -> str:
        where = place_text(self.rule, self.place)
        wanted = self.rule.must.wanted(self.subject, self.place)
        return f"{self.value} {self.rule.unit} is {wanted}{f' in {where}' if where else ''}"


def _certified(f: Fact, facts: Facts) -> Any:
    """A certificate for p >= 0 or m | p, or None."""
    if f.relation == "%":
        return divisible([], facts.normal(f.expr), f.modulus, facts)
    return nonneg(facts.normal(f.expr), facts)


@dataclass(frozen=True)
class Named:
    """The part of a claim that ``open_rules`` reads, for records that are a part of its subject."""

    name: str = ""
    given: tuple[Fact, ...] = ()


def open_rules(subject: Any, rules: Iterable[Rule], claim: Any) -> tuple[Obeys, ...]:
    """A claim for each rule and place that numbers do not already meet; for one that they do, if facts are assumed.

    That one tells facts that no size meets.
    """
    every = [(r, i, x) for r in rules for i, x in r.places(subject)]
    left = [(r, i) for r, i, x in every if r.facts(subject, i, x) or not r.must.holds(x, subject, i)]
    some = left or [(r, i) for r, i, _ in every[: bool(claim.given)]]
    return tuple(Obeys(subject, r, i, claim.name) for r, i in some)
