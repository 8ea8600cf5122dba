"""What is assumed, and what follows from it by cheap exact decisions: signs, ranges, divisors, samples."""

from __future__ import annotations

from .known import (
    NOTHING,
    Evidence,
    Facts,
    Meet,
    OrderedFacts,
    Row,
    definition,
    in_order,
    inner_first,
    met_bits,
    opaque_atoms,
    ranges,
    residues_vanish,
    symbols_in,
)

__all__ = [
    "NOTHING",
    "Evidence",
    "Facts",
    "Meet",
    "OrderedFacts",
    "Row",
    "definition",
    "in_order",
    "inner_first",
    "met_bits",
    "opaque_atoms",
    "ranges",
    "residues_vanish",
    "symbols_in",
]
