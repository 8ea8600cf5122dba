"""complement(A): the layout that fills the gaps of another, by CuTe's rules."""

from __future__ import annotations

from typing import Any, cast

from .algebra import Modes, coalesce, coalesced_modes, from_modes
from .basis import is_basis
from .errors import LayoutError
from .expr import Expr, divides, floordiv
from .facts import Facts
from .int_tuple import ceil_div, checked, is_zero, leaves, text
from .layout import ComposedLayout, Layout, cosize, expect_layouts, make_raw, with_obligations
from .members import members
from .meter import ends
from .strides import as_modes, compact_col_major


def sorted_by_stride(modes: Modes, facts: Facts, what: str) -> Modes:
    """Modes in ascending stride; symbolic strides need an order that the facts prove."""
    if all(type(d) is int for _, d in modes):
        return sorted(modes, key=lambda m: m[1])
    out: Modes = []
    for n, d in modes:
        at = len(out)
        while at and not _ordered(out[at - 1][1], d, facts, what):
            at -= 1
        out.insert(at, (n, d))
    return out


def _ordered(a: Any, b: Any, facts: Facts, what: str) -> bool:
    answer = facts.le(a, b)
    if answer is None and facts.le(b, a):
        return False
    if answer is None:
        raise LayoutError(
            f"expected strides whose order is known for {what}, got {a} and {b}; add {a} <= {b} or its reverse"
        )
    return answer


def expect_positive_strides(layout: Layout, what: str) -> None:
    """Raise LayoutError for strides that are coordinates, or negative."""
    for _, d in layout.modes():
        if is_basis(d):
            raise LayoutError(f"expected integer strides for {what}, got the coordinates of {layout}")
        if type(d) is int and d < 0:
            raise LayoutError(f"expected strides of at least 0 for {what}, got {d} in {layout}")


@members.defines
@ends
def complement(layout: Any, target: Any = None) -> Layout:
    """The layout that fills, in ascending order, the gaps of *layout* up to *target* and repeats beyond.

    >>> print(complement(Layout(4, 2), 24), complement(Layout((2, 4), (1, 6)), 24))
    (2,3):(1,8) 3:2

    *target* is an integer, a shape or a layout, rounded up to whole copies; the cosize of the filtered
    layout if left out. Raises LayoutError for overlapping or negative strides.
    """
    expect_layouts(layout)
    if isinstance(layout, ComposedLayout):
        layout = layout.inner
    kept = from_modes(coalesced_modes([m for m in layout.modes() if not is_zero(m[1])]))
    if target is None:
        target = cosize(kept)
    target = checked(getattr(target, "shape", target), "target")
    for n in leaves(target):
        if type(n) is int and n < 1:
            raise LayoutError(f"expected a target of at least 1, got {text(target)}")
    expect_positive_strides(kept, "complement")
    modes = [m for m in kept.modes() if not is_zero(m[1]) and not is_zero(m[0] - 1)]
    if type(target) is int and kept.static:
        return _complement_of_numbers(layout, modes, target)
    if not modes:
        return cast(Layout, with_obligations(coalesce(Layout(target)), layout.obligations))
    facts = Facts.about(kept, target) if not kept.static else Facts.about(target)
    last: Any = 1
    out: Modes = []
    for n, d in sorted_by_stride(modes, facts, "complement"):
        gap = divides(last, d) if isinstance(d, Expr) or isinstance(last, Expr) else d // last
        if gap is None:
            gap = floordiv(d, last)
        if facts.le(1, gap) is not True:
            raise _overlap(layout, d, last)
        out.append((gap, last))
        last = n * d
    rest = facts.resolved(ceil_div(target, last)) if not isinstance(target, tuple) else ceil_div(target, last)
    shape = coalesce(make_raw(rest, compact_col_major(rest))).shape
    for n in as_modes(shape):
        out.append((n, last))
        last = last * n
    return from_modes(coalesced_modes(out), layout.obligations)


def _complement_of_numbers(layout: Layout, modes: Modes, target: int) -> Layout:
    """The common case without facts."""
    last = 1
    out: Modes = []
    for n, d in sorted(modes, key=lambda m: m[1]):
        gap = d // last
        if gap < 1:
            raise _overlap(layout, d, last)
        out.append((gap, last))
        last = n * d
    out.append((-(-target // last), last))
    return from_modes(coalesced_modes(out), layout.obligations)


def _overlap(layout: Layout, d: Any, last: Any) -> LayoutError:
    return LayoutError(
        f"expected modes that do not overlap, got {layout}: stride {d} lies below {last}, where the modes before it end"
    )
