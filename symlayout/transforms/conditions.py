"""Conditions on the parameters of transforms, as obligations that every claim about a descriptor includes."""

from __future__ import annotations

from typing import Any

from ..expr import Expr, Fact
from ..facts import NOTHING, Facts
from ..obligations import EXACT, NONE, Obligation, Obligations


def required(transform: Any, **facts: Fact) -> Obligations:
    """Conditions that are not plainly true, each an obligation in the words that name it.

    >>> from symlayout.transforms import Slice
    >>> print(required(Slice(10, 2, 12), end_within_length=Fact(10 - 12, ">=")))
    exact: needs end within length in slice(10, 2, 12)
    """
    out: Obligations = NONE
    for words, f in facts.items():
        known = Facts.about(f) if isinstance(f.expr, Expr) else NOTHING
        if f.value is not True and known.holds(f) is not True:
            out = out | (Obligation(EXACT, (f,), f"{words.replace('_', ' ')} in {transform}"),)
    return out
