"""Rules as rows: what is legal, with its source, for constructors, provers, semantics and ``explain`` alike."""

from __future__ import annotations

from .rule import Between, MultipleOf, Rule, Violation, accepted, broken, facts, violations

__all__ = ["Between", "MultipleOf", "Rule", "Violation", "accepted", "broken", "facts", "violations"]
