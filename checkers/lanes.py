"""Accesses of a warp whose other coordinates move all lanes together: what is left is a question about numbers.

>>> from symlayout import Layout, Swizzle, dim
>>> S = dim("S")
>>> stages = ComposedLayout(Swizzle(3, 3, 3), 0, Layout((8, 8, S), (64, 8, 512)))
>>> print(moved_together(stages, Facts.about(S), element_bytes=2, unit_bytes=16)[0])
Sw<3,3,3> o 0 o (8,8):(64,8)
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from symlayout.facts import NOTHING, Facts
from symlayout.int_tuple import leaves, unflatten
from symlayout.layout import ComposedLayout, Layout
from symlayout.swizzle import Swizzle

from .certificates import Certificate, divisible
from .claim import Claim, Proof, TooLarge
from .form import linear


def moved_together(access: Any, facts: Facts, element_bytes: int, unit_bytes: int) -> tuple[Any, Certificate] | None:
    """(the access on numbers, why its symbolic modes and base do not matter), or None.

    They move every address by a multiple of *unit_bytes*, and after the swizzle, being multiples of its period
    too (T14, T16): which bytes share a unit, and which units a bank, depends on differences of addresses only.
    Of a symbolic extent with a number as stride, the steps up to the first such multiple stay.
    """
    form = linear(access, facts)
    if form is None or form.single is None or bool(getattr(access, "valid", False)):
        return None
    lanes = (*access.shape, 1)[0] if isinstance(access.shape, tuple) else access.shape
    modes, base = form.single.modes, form.single.base
    first = len(leaves(lanes))
    if not all(type(x) is int for mode in modes[:first] for x in mode):
        return None
    apart = math.lcm(unit_bytes // math.gcd(unit_bytes, element_bytes), form.swizzle.period if form.swizzle else 1)
    kept, moved = list(modes[:first]), list[tuple[Any, Any]]()
    for n, s in modes[first:]:
        if type(n) is int and type(s) is int:
            kept.append((n, s))
            continue
        steps = apart // math.gcd(s, apart) if type(s) is int else 1
        moved.append((n, steps * s))
        if steps > 1:
            kept.append((steps, s))
    start, away = (base, 0) if type(base) is int else (0, base)
    why = divisible(moved, away, apart, facts)
    if why is None:
        return None
    shape = (lanes, *(n for n, _ in kept[first:]))  # a nested mode stays the first one, also where it is alone
    layout = Layout(shape, unflatten(tuple(s for _, s in kept), shape))
    return (ComposedLayout(form.swizzle or Swizzle(0, 0, 0), start, layout) if form.swizzle or start else layout), why


def certify_moved(claim: Claim, facts: Facts, element_bytes: int, unit_bytes: int) -> Proof | None:
    """A claim about the lanes of ``claim.access``, proved on the numbers that are left."""
    found = moved_together(claim.access, facts, element_bytes, unit_bytes)  # type: ignore[attr-defined]
    if found is None:
        return None
    access, why = found
    numbers = replace(claim, access=access, given=())  # type: ignore[call-arg]
    by_rank = numbers.certify(NOTHING)
    try:
        if by_rank is None and numbers.counterexample() is not None:
            return None
    except TooLarge:
        return None
    method = by_rank.method if by_rank else f"enumeration of {numbers.points()} points"
    return Proof(f"the other modes move all lanes together; {method}", why, (f"{numbers} [{method}]",))
