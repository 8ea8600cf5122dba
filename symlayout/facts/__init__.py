"""What is assumed, and what follows from it by cheap exact decisions: signs, ranges, divisors, samples.

A way to decide something about expressions without a solver belongs here, and so does what it needs to know of them:
``assumptions`` makes rows, ``positivity`` searches, ``signs`` asks it, ``resolution`` simplifies, ``known`` is all
of that together. ``intervals`` and ``scope`` look at the ranges of symbols alone.
"""

from __future__ import annotations

from ..expr.nonlinear import definition, inner_first, opaque_atoms
from .assumptions import Row, ranges, symbols_in
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
]
