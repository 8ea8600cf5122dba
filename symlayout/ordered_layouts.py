"""Compact layouts in an order that is given: by numbers, like another layout, or spread over parts."""

from __future__ import annotations

import math
from typing import Any

from .algebra import Modes, coalesced_modes, filter_zeros, from_modes
from .common_layouts import plain
from .errors import LayoutError
from .expr import integer
from .int_tuple import IntTuple, Shape, checked, is_zero, leaves, product, rank, text, unflatten
from .layout import Layout, LayoutLike, make_raw
from .meter import ends
from .strides import compact_col_major


@ends
def make_ordered_layout(shape: Shape, order: IntTuple) -> Layout:
    """The compact layout in which modes with smaller order values are faster.

    >>> print(make_ordered_layout((2, 2, 2, 2), (0, 2, 3, 1)))
    (2,2,2,2):(1,4,8,2)

    Equal order values share their stride, as in CuTe: the result is then not injective.
    """
    base = Layout(shape)
    groups = _order_groups(base.shape, checked(order, "order"))
    ranked = sorted(range(len(groups)), key=lambda i: groups[i][1])
    start: dict[int, Any] = {}
    current: Any = 1
    for i in ranked:
        same = [j for j in start if groups[j][1] == groups[i][1]]
        start[i] = start[same[0]] if same else current
        current = current * product(groups[i][0])
    strides = [d for i, (s, _) in enumerate(groups) for d in leaves(compact_col_major(s, start[i]))]
    return make_raw(base.shape, unflatten(tuple(strides), base.shape))


def _order_groups(shape: IntTuple, order: IntTuple) -> list[tuple[IntTuple, Any]]:
    if not isinstance(order, tuple):
        return [(shape, order)]
    if not isinstance(shape, tuple) or len(shape) != len(order):
        raise LayoutError(f"expected an order weakly congruent to the shape {text(shape)}, got {text(order)}")
    return [g for s, o in zip(shape, order, strict=True) for g in _order_groups(s, o)]


@ends
def make_layout_like(layout: Layout) -> Layout:
    """A compact layout of the same shape, ordered by the strides; stride 0 stays 0."""
    shape = filter_zeros(layout).shape
    out = make_ordered_layout(shape, layout.stride)
    strides = tuple(0 if is_zero(d) else e for (_, d), (_, e) in zip(layout.modes(), out.modes(), strict=True))
    return make_raw(layout.shape, unflatten(strides, layout.shape))


@ends
def make_fragment_like(layout: LayoutLike) -> Layout:
    """A compact register layout: mode 0 column-major, the other modes ordered by their strides."""
    layout = plain(layout)
    if rank(layout) == 1 or not layout.static:
        return Layout(layout.shape)
    head = filter_zeros(layout[0])
    first = compact_col_major(head.shape)
    rest = make_ordered_layout(layout.shape[1:], layout[1:].stride)
    step = product(head.shape)
    scaled = make_raw(rest.shape, unflatten(tuple(d * step for _, d in rest.modes()), rest.shape))
    return make_raw((layout.shape[0], *scaled.shape), (first, *scaled.stride))


@ends
def domain_distribute(shape: Any, n: int) -> Layout:
    """A layout of linear indices that takes gcd(extent, n) from one mode after another, to spread work over *n*.

    >>> print(domain_distribute((15, 14), 6))
    (3,2):(1,15)
    """
    n = integer(n)  # type: ignore[assignment]  # a number, as the next line checks
    if type(n) is not int or n < 1:
        raise LayoutError(f"expected a number of parts of at least 1, got {n}")
    out: Modes = []
    at = 1
    for s in leaves(checked(shape, "shape")):
        g = math.gcd(s, n)
        out.append((g, at))
        n //= g
        at *= s
    return from_modes(coalesced_modes(out))
