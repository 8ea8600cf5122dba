"""Layouts with fewer modes: coalesced, without what repeats, and where they stay at 0.

Rules and results are those of CuTe C++ (``include/cute/layout.hpp``); what it leaves undefined is refused. Other
operations of the algebra on one layout are in :mod:`symlayout.complement`, :mod:`symlayout.inverses`,
:mod:`symlayout.common_layouts`, :mod:`symlayout.ordered_layouts` and :mod:`symlayout.modes`.
"""

from __future__ import annotations

from typing import Any

from .errors import LayoutError
from .int_tuple import IntTuple, checked, is_one, is_zero, rank, text
from .layout import ComposedLayout, Layout, LayoutLike, expect_layouts, make_raw
from .meter import ends
from .obligations import NONE, Obligations

Modes = list[tuple[Any, Any]]


@ends
def coalesce(layout: LayoutLike, profile: IntTuple = None) -> Any:
    """The layout with as few modes as possible that is the same function of a linear index.

        coalesce((2,(1,6)):(1,(6,2)))  ->  12:1
        coalesce((4,8):(8,1))          ->  (4,8):(8,1)

    Modes of extent 1 are dropped, and a mode joins the one before it when its stride is that mode's extent
    times its stride. A symbolic pair joins only if that holds for all sizes. With a *profile*, each of its
    leaves is coalesced by itself and modes beyond it stay as they are.
    """
    expect_layouts(layout)
    if isinstance(layout, ComposedLayout):
        return ComposedLayout(layout.outer, layout.offset, coalesce(layout.inner, profile))
    if profile is not None:
        return _by_profile(coalesce, layout, profile)
    return from_modes(coalesced_modes(layout.modes()), layout.obligations)


def coalesced_modes(modes: Modes) -> Modes:
    """The modes with extent-1 ones dropped and chained neighbours merged (T17)."""
    out: Modes = []
    for n, d in modes:
        if is_one(n):
            continue
        if out:
            m, e = out[-1]
            if m * e == d:
                out[-1] = (m * n, e)
                continue
        out.append((n, d))
    return out


def coalesce_extended(modes: Modes) -> Modes:
    """Coalesced modes that keep the function for every index >= 0: CuTe's coalesce_x.

    A trailing extent of 1 is kept as 2 unless it continues the chain, since the last mode is unbounded.
    """
    if not modes:
        return [(1, 0)]
    n, d = modes[-1]
    if not is_one(n):
        return coalesced_modes(modes) or [(1, 0)]
    out = coalesced_modes(modes[:-1])
    if not out:
        return [(1, d)] if len(modes) == 1 else coalesced_modes([*modes[:-1], (2, d)])
    return coalesced_modes([*out, (2, d)])


def from_modes(modes: Modes, obligations: Obligations = NONE) -> Layout:
    """A layout of depth at most 1: an integer profile for one mode, 1:0 for none."""
    if len(modes) == 1:
        return make_raw(*modes[0], obligations)
    if not modes:
        return make_raw(1, 0, obligations)
    return make_raw(tuple(n for n, _ in modes), tuple(d for _, d in modes), obligations)


def _by_profile(f: Any, layout: Layout, profile: IntTuple) -> Layout:
    if not isinstance(profile, tuple):
        out = f(layout)
        return out if isinstance(out, Layout) else layout
    if len(profile) > rank(layout):
        raise LayoutError(f"expected a profile of rank at most {rank(layout)} for {layout}, got {text(profile)}")
    parts = [_by_profile(f, layout[i], p) for i, p in enumerate(profile)]
    rest = [layout[i] for i in range(len(profile), rank(layout))]
    return make_raw(
        tuple(p.shape for p in (*parts, *rest)), tuple(p.stride for p in (*parts, *rest)), layout.obligations
    )


@ends
def filter_zeros(layout: LayoutLike, profile: IntTuple = None) -> Any:
    """Extents become 1 where the stride (or the paired leaf of *profile*) is 0."""
    expect_layouts(layout)
    if isinstance(layout, ComposedLayout):
        return ComposedLayout(layout.outer, layout.offset, filter_zeros(layout.inner, profile))
    guide = layout.stride if profile is None else checked(profile, "profile")

    def walk(s: IntTuple, g: IntTuple) -> IntTuple:
        if isinstance(g, tuple):
            if not isinstance(s, tuple) or len(g) > len(s):
                raise LayoutError(f"expected a profile no finer than the shape {text(s)}, got {text(g)}")
            return tuple(map(walk, s, g)) + s[len(g) :]
        if is_zero(g):
            return _ones(s)
        return s

    return make_raw(walk(layout.shape, guide), layout.stride, layout.obligations)


def _ones(s: IntTuple) -> IntTuple:
    return tuple(map(_ones, s)) if isinstance(s, tuple) else 1


@ends
def filter(layout: LayoutLike, profile: IntTuple = None) -> Any:
    """The layout without the modes that repeat values (stride 0, extent 1); the image stays the same.

    >>> print(filter(Layout((2, 4, 3), (1, 0, 2))))
    6:1
    """
    expect_layouts(layout)
    if isinstance(layout, ComposedLayout):
        return ComposedLayout(layout.outer, layout.offset, filter(layout.inner, profile))
    if profile is not None:
        return _by_profile(filter, layout, profile)
    return coalesce(filter_zeros(layout))


@ends
def nullspace(layout: LayoutLike) -> Layout:
    """A layout of linear indices at which *layout* stays at 0: its stride-0 modes; 1:0 if there are none."""
    expect_layouts(layout)
    if isinstance(layout, ComposedLayout):
        return make_raw(1, 0)
    at: Any = 1
    out: Modes = []
    kept = False
    for n, d in layout.modes():
        if is_zero(d):
            out.append((n, at if not is_one(n) else 0))
            kept = kept or n != 1
        at = at * n
    return from_modes(out if kept else [], layout.obligations)
