"""Assumptions, and what follows from them by cheap exact decisions: signs, ranges, divisors, samples.

This room decides questions about expressions without a solver: ``assumptions`` makes rows, ``positivity`` searches,
``signs`` asks it, ``resolution`` simplifies, and ``known`` joins all of them. A new decision of this kind belongs
here. ``intervals`` and ``scope`` look at the ranges of symbols alone.
"""

from __future__ import annotations

from ..expr.nonlinear import definition, inner_first, opaque_atoms
from .assumptions import Row, ranges, symbols_in, tightened
from .known import NOTHING, Facts, OrderedFacts, residues_vanish
from .positivity import Evidence, Meet
from .signs import met_bits

__all__ = [
    "NOTHING",
    "Evidence",
    "Facts",
    "Meet",
    "OrderedFacts",
    "Row",
    "definition",
    "inner_first",
    "met_bits",
    "opaque_atoms",
    "ranges",
    "residues_vanish",
    "symbols_in",
    "tightened",
]
