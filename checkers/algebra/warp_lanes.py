"""Accesses of a warp whose other coordinates move all lanes together: what is left is a question about numbers.

>>> from symlayout import Layout, Swizzle, dim
>>> S = dim("S")
>>> stages = ComposedLayout(Swizzle(3, 3, 3), 0, Layout((8, 8, S), (64, 8, 512)))
>>> print(*moved_together(stages, Facts.about(S), element_bytes=2, unit_bytes=16, row_bytes=128)[0])
Sw<3,3,3> o 0 o (8,8):(64,8)
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from symlayout.banks import WIDTHS_BYTES
from symlayout.errors import ClaimError
from symlayout.facts import NOTHING, Facts
from symlayout.int_tuple import leaves, product, unflatten
from symlayout.layout import ComposedLayout, Layout
from symlayout.swizzle import Swizzle

from ..claim import Claim, Proof, TooLarge
from .certificates import Certificate, divisible
from .residues import residues
from .subject_form import check_offsets, check_subject, linear


def lanes_of(access: Any) -> Any:
    """The number of lanes of an access, which is the size of its first mode.

    >>> lanes_of(Layout(((8, 4), 2)))
    32
    """
    return product(access.shape[:1]) if isinstance(access.shape, tuple) else access.shape


def check_access(access: Any, element_bytes: Any, width_bytes: Any) -> None:
    """Raise ClaimError unless this is an access that every lane of a warp makes, of a width that instructions have."""
    check_subject(access)
    if getattr(access, "valid", None):
        raise ClaimError(f"expected an access that every lane makes, got a predicate in {access}")
    check_offsets(access)
    lanes = lanes_of(access)
    if type(lanes) is int and not 1 <= lanes <= 32:
        raise ClaimError(f"expected 1 to 32 lanes in the first mode, got {lanes}")
    if width_bytes not in WIDTHS_BYTES:
        raise ClaimError(f"expected a width of {', '.join(map(str, WIDTHS_BYTES))} bytes, got {width_bytes!r}")
    if type(element_bytes) is not int or element_bytes < 1:
        raise ClaimError(f"expected an element of at least 1 byte, got {element_bytes!r}")


def moved_together(
    access: Any, facts: Facts, element_bytes: int, unit_bytes: int, row_bytes: int
) -> tuple[list[Any], Certificate] | None:
    """(the accesses on numbers that represent all sizes, why other modes and the base do not matter), or None.

    All symbolic modes except the lanes must move every address by a multiple of *unit_bytes*. After the swizzle they
    still do, if they are multiples of its period too (T14, T16). Then the bytes that share a unit, and the units that
    share a bank, depend only on differences of addresses. Of a symbolic extent with a number as stride, the steps up
    to the first such multiple stay.

    A symbolic stride of lanes, and a base that is not such a multiple, count by their residue modulo *row_bytes* and
    the period. There is one access for each combination of residues that the facts admit. In it such lanes are far
    apart, so that none shares a unit with another: they may do so at some sizes, which makes no conflict and no
    sector.
    """
    form = linear(access, facts)
    if form is None or form.single is None or bool(getattr(access, "valid", False)):
        return None
    lanes = (*access.shape, 1)[0] if isinstance(access.shape, tuple) else access.shape
    modes, base = form.single.modes, form.single.base
    first = len(leaves(lanes))
    if not all(type(n) is int for n, _ in modes[:first]):
        return None
    period = form.swizzle.period if form.swizzle else 1
    apart = math.lcm(unit_bytes // math.gcd(unit_bytes, element_bytes), period)
    row = math.lcm(row_bytes // math.gcd(row_bytes, element_bytes), period)
    kept, moved = list(modes[:first]), list[tuple[Any, Any]]()
    for n, s in modes[first:]:
        if type(n) is int and type(s) is int:
            kept.append((n, s))
            continue
        steps = apart // math.gcd(s, apart) if type(s) is int else 1
        moved.append((n, steps * s))
        if steps > 1:
            kept.append((steps, s))
    away = 0 if type(base) is int or divisible([], base, apart, facts) is None else base
    why = divisible(moved, away, apart, facts)
    asked = [(s, row) for _, s in kept if type(s) is not int]
    asked += [(base, apart)] if type(base) is not int and base != away else []
    if why is None:
        return None
    cases = residues(asked, facts)
    if not cases:
        return None
    start = base if type(base) is int else 0
    found = []
    for case in cases:
        strides, left = _apart(kept, list(case), row)
        found.append(_numbers(lanes, [n for n, _ in kept], strides, start + sum(left), form.swizzle, first))
    return found, why


def _apart(modes: list[tuple[Any, Any]], case: list[int], row: int) -> tuple[list[int], list[int]]:
    """(strides, the rest of *case*): a residue with rows added until the mode steps over all that others reach."""
    reach = sum((n - 1) * abs(s) for n, s in modes if type(s) is int) + row
    strides = []
    for n, s in modes:
        if type(s) is not int:
            s = case.pop(0) + row * (1 + reach // row)
            reach += (n - 1) * s + row
        strides.append(s)
    return strides, case


def _numbers(lanes: Any, extents: list[Any], strides: list[int], start: int, swizzle: Any, first: int) -> Any:
    shape = (lanes, *extents[first:])  # a nested mode stays the first one, also where it is alone
    layout = Layout(shape, unflatten(tuple(strides), shape))
    return ComposedLayout(swizzle or Swizzle(0, 0, 0), start, layout) if swizzle or start else layout


def certify_moved(claim: Claim, facts: Facts, element_bytes: int, unit_bytes: int, row_bytes: int) -> Proof | None:
    """A claim about the lanes of ``claim.access``, proved on the numbers that are left."""
    found = moved_together(claim.access, facts, element_bytes, unit_bytes, row_bytes)  # type: ignore[attr-defined]
    if found is None:
        return None
    accesses, why = found
    lemmas = []
    for access in accesses:
        numbers = replace(claim, access=access, given=())  # type: ignore[call-arg]
        by_rank = numbers.certify(NOTHING)
        try:
            if by_rank is None and numbers.counterexample() is not None:
                return None
        except TooLarge:
            return None
        method = by_rank.method if by_rank else f"enumeration of {numbers.points()} points"
        lemmas.append(f"{numbers} [{method}]")
    text = (
        "the other modes move all lanes together"
        if len(accesses) == 1
        else f"residues of strides, {len(accesses)} cases"
    )
    return Proof(f"{text}; {method}", why, tuple(lemmas))
