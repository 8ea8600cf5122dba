"""A value of a range that no coordinate of a layout has: what refutes that it is onto."""

from __future__ import annotations

from typing import Any

from symlayout.answers.report import Witness
from symlayout.int_tuple import leaves, text

from ..algebra import probes as far
from ..algebra.subject_form import points, table
from ..claim import TooLarge
from ..exhaustive import POINTS, first_missing


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
    """A witness that too few coordinates, their residues or their extremes leave a value out.

    Raises TooLarge if that is open.
    """
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
