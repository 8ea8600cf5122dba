"""The common prefix of two layouts, and the alignment of vectors of a layout."""

from __future__ import annotations

import math
from typing import Any

from .algebra import coalesce, coalesced_modes
from .composition import composition
from .errors import LayoutError
from .expr import minimum, terms_of
from .facts import Facts
from .int_tuple import is_one
from .inverses import expect_numbers, right_inverse
from .layout import ComposedLayout, Layout, LayoutLike, expect_layouts, make_raw, with_obligations
from .meter import ends
from .obligations import EXACT
from .swizzle import Swizzle


@ends
def max_common_layout(a: LayoutLike, b: LayoutLike) -> Any:
    """The largest R with a(R(i)) == b(R(i)) == i.

    >>> print(max_common_layout(Layout((4, 8), (8, 1)), Layout((4, 8), (16, 1))))
    8:4
    """
    inverse, run, obligations = _common_run(a, b)
    return make_raw(1, 0) if run == 1 else with_obligations(composition(inverse, make_raw(run, 1)), obligations)


def _common_run(a: Any, b: Any) -> tuple[Any, Any, Any]:
    """(right inverse of b, how far a follows it one by one, what that rests on)."""
    expect_layouts(a, b)
    inverse = right_inverse(plain(b))
    try:
        common = coalesce(composition(plain(a), inverse))
    except LayoutError:
        return inverse, 1, None
    n, d = common.modes()[0]
    return (inverse, n, common.obligations) if is_one(d) else (inverse, 1, None)


def plain(layout: LayoutLike) -> Any:
    """The layout without an outer swizzle."""
    return plain(layout.inner) if isinstance(layout, ComposedLayout) and isinstance(layout.outer, Swizzle) else layout


def _swizzle_of(layout: Any) -> Swizzle | None:
    outer = getattr(layout, "outer", None)
    return outer if isinstance(outer, Swizzle) and outer.bits else None


@ends
def max_common_vector(a: Any, b: Any) -> Any:
    """The number of leading elements that lie contiguously and alike in both layouts.

    >>> max_common_vector(Layout((8, 4)), Layout((8, 4), (1, 16)))
    8

    A number has no place for a condition. Raises LayoutError where it would rest on one, such as N >= 4 for the
    layouts (N,M):(1,ld) and 4:1: declare that of the sizes, or take ``max_common_layout``, which carries it.
    """
    inverse, run, open_ = _common_run(a, b)
    run = _inside(inverse, run, a.size()) if open_ else run
    for o in open_ or ():
        if o not in a.obligations and o not in b.obligations and (o.kind == EXACT or run is None):
            raise LayoutError(
                f"expected layouts with one common vector at all sizes, got {a} and {b}, whose elements are contiguous "
                f"in both only where {' and '.join(map(str, o.repairs()))}; declare that of the symbols, as in "
                f'dim("N", at_least=4), or take max_common_layout, which carries the condition'
            )
    sizes = (run, a.size(), b.size())
    n = min(sizes) if all(type(x) is int for x in sizes) else minimum(*sizes)
    moves = [(s, x.offset) for x in (a, b) if (s := _swizzle_of(x)) is not None]
    if len(moves) == 2 and moves[0] == moves[1]:
        return n
    return minimum(n, *(math.gcd(1 << s.base, _content(offset)) for s, offset in moves)) if moves else n


def _inside(inverse: Layout, run: Any, size: Any) -> Any:
    """A lower bound on the number of leading elements whose index is below *size*; None if symbols leave it open.

    Indices that count up from 0 are below it as long as their number is, which the caller sees to.
    """
    modes = inverse.modes()
    if modes[0][1] == 1 and (len(modes) == 1 or run == modes[0][0]):
        return run
    if not inverse.static or type(run) is not int or type(size) is not int:
        return None
    inside, last = 1, 0
    for n, d in modes:
        steps = n if d == 0 else min(n, (size - 1 - last) // d + 1)
        inside, last = inside * steps, last + (steps - 1) * d
        if steps < n:
            break
    return min(run, inside)


@ends
def max_alignment(layout: LayoutLike | Swizzle) -> int:
    """The greatest number of elements to which every vector of that length is aligned, from the static parts."""
    if isinstance(layout, Swizzle):
        return 1 << layout.base
    if isinstance(layout, ComposedLayout):
        return math.gcd(max_alignment(layout.outer), max_alignment(layout.inner), _content(layout.offset))
    expect_numbers(layout, "max_alignment")
    modes = coalesced_modes(layout.modes())
    run = next((i for i, (_, d) in enumerate(modes) if d == 1), None)
    others = [_content(d) for i, (_, d) in enumerate(modes) if i != run]
    return math.gcd(1 if run is None else _content(modes[run][0]), *others)


def _content(x: Any) -> int:
    """The greatest integer that is seen to divide *x* for all sizes; 0 for 0."""
    return math.gcd(*terms_of(Facts.about(x).normal(x)).values())
