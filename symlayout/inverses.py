"""Right and left inverses of layouts, by CuTe's rules; where no layout is one, that is an error."""

from __future__ import annotations

from typing import Any

from .algebra import Modes, coalesce, coalesced_modes, from_modes
from .complement import expect_positive_strides, sorted_by_stride
from .composition import composition
from .errors import LayoutError
from .facts import NOTHING, Facts
from .int_tuple import is_zero
from .layout import ComposedLayout, Layout, LayoutLike, expect_layouts
from .meter import ends
from .swizzle import Swizzle


@ends
def right_inverse(layout: LayoutLike | Swizzle | None) -> Any:
    """R with layout(R(i)) == i for every i below its size: the longest contiguous run from 0 that modes chain to.

    >>> print(right_inverse(Layout((8, 4), (4, 1))))
    (4,8):(8,1)
    """
    if layout is None or isinstance(layout, Swizzle):
        return layout
    if isinstance(layout, ComposedLayout):
        return _inverse_of_composed(layout, right_inverse)
    expect_layouts(layout)
    expect_numbers(layout, "right_inverse")
    out: Modes = []
    current: Any = 1
    left = _with_domain_strides(coalesced_modes(layout.modes()))
    while True:
        following = next((m for m in left if m[1] == current), None)
        if following is None:
            return from_modes(coalesced_modes(out), layout.obligations)
        left.remove(following)
        n, d, at = following
        out.append((n, at))
        current = n * d


@ends
def left_inverse(layout: LayoutLike | Swizzle | None) -> Any:
    """Q with Q(layout(i)) == i; where stride-0 modes repeat values, layout(Q(layout(i))) == layout(i).

    >>> print(left_inverse(Layout((4, 2), (1, 16))))
    (16,2):(1,4)

    Off the image its values mean nothing. Raises LayoutError where no layout is an inverse: strides that
    overlap, or that do not divide along the chain, or are negative.
    """
    if layout is None or isinstance(layout, Swizzle):
        return layout
    if isinstance(layout, ComposedLayout):
        return _inverse_of_composed(layout, left_inverse)
    expect_layouts(layout)
    expect_numbers(layout, "left_inverse")
    expect_positive_strides(layout, "left_inverse")
    facts = NOTHING if layout.static else Facts.about(layout)
    at = _with_domain_strides(coalesced_modes(layout.modes()))
    by_stride = {id(m): m for m in at}
    order = sorted_by_stride([((id(m), n), d) for m in at for n, d in [m[:2]] if not is_zero(d)], facts, "left_inverse")
    shape: list[Any] = []
    stride: list[Any] = [0]
    last: Any = 1
    end: Any = 1
    for (key, n), d in order:
        ratio = facts.quotient(d, last)
        if ratio is None or facts.le(end, d) is not True:
            raise LayoutError(
                f"expected each stride to be a multiple of the one below it and past its modes, "
                f"got {d} after {last} (ending at {end}) in {layout}: no layout inverts it"
            )
        shape.append(ratio)
        stride.append(by_stride[key][2])
        last, end = d, n * d
    if not order:  # every stride is 0
        return coalesce(layout)
    shape.append(order[-1][0][1])
    return from_modes(coalesced_modes(list(zip(shape, stride, strict=True))), layout.obligations)


def _with_domain_strides(modes: Modes) -> list[tuple[Any, Any, Any]]:
    """(extent, stride, product of the extents before) of each mode."""
    out, at = [], 1
    for n, d in modes:
        out.append((n, d, at))
        at = at * n
    return out


def expect_numbers(layout: Layout, what: str) -> None:
    """Raise LayoutError for a layout whose values are coordinates."""
    if layout.has_bases:
        raise LayoutError(f"expected integer strides for {what}, got the coordinates of {layout}")


def _inverse_of_composed(layout: ComposedLayout, inverse: Any) -> Any:
    outer, inner = inverse(layout.outer), inverse(layout.inner)
    if is_zero(layout.offset):
        return composition(inner, outer)
    if inverse is left_inverse and isinstance(outer, Swizzle) and not outer.bits:
        return ComposedLayout(inner, -layout.offset, Layout(layout.cosize()))
    raise LayoutError(f"expected an offset of 0 inside a swizzle to invert, got {layout}")
