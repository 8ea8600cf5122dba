"""The modes of a layout as a tuple: selected, appended, replaced, grouped, zipped, flattened."""

from __future__ import annotations

from typing import Any

from .errors import LayoutError
from .expr import Expr, Fact, choice
from .int_tuple import get, leaves, rank
from .layout import ComposedLayout, Layout, LayoutLike, expect_layouts, is_layout, make_raw, with_obligations
from .making import make_layout
from .members import members
from .meter import ends
from .strides import as_modes


@ends
def select(layout: Any, *modes: Any) -> Any:
    """The listed top-level modes, in that order; of a condition one of two values, ``select(i < M, i, 0)``."""
    if isinstance(layout, Fact | Expr | int) or (isinstance(layout, tuple) and Fact in map(type, layout)):
        if len(modes) != 2:
            raise LayoutError(f"expected select(condition, a, b) or select(layout, mode, ...), got {len(modes)} values")
        return choice.select(layout, *modes)
    if isinstance(layout, ComposedLayout):
        return ComposedLayout(layout.outer, layout.offset, select(layout.inner, *modes))
    return make_layout(*(get(layout, i) for i in modes))


@ends
def take(layout: LayoutLike, begin: int, end: int) -> Any:
    """Modes begin .. end - 1."""
    if not 0 <= begin < end <= rank(layout):
        raise LayoutError(f"expected 0 <= begin < end <= {rank(layout)}, got {begin} and {end}")
    return select(layout, *range(begin, end))


@ends
def append(layout: LayoutLike, extra: Any = None, n: int | None = None) -> Any:
    """The layout with one more mode, or padded to rank *n* with 1:0 (or *extra*)."""
    return _extended(layout, extra, n, lambda mine, new: (*mine, *new))


@ends
def prepend(layout: LayoutLike, extra: Any = None, n: int | None = None) -> Any:
    """The layout with one more mode in front, or padded there to rank *n*."""
    return _extended(layout, extra, n, lambda mine, new: (*new, *mine))


def _extended(layout: Any, extra: Any, n: int | None, join: Any) -> Any:
    if isinstance(layout, ComposedLayout):
        return ComposedLayout(layout.outer, layout.offset, _extended(layout.inner, extra, n, join))
    extra = make_raw(1, 0) if extra is None else extra
    expect_layouts(layout, extra)
    count = 1 if n is None else n - rank(layout)
    if count < 0:
        raise LayoutError(f"expected a rank of at least {rank(layout)} for {layout}, got {n}")
    if not count:
        return layout
    parts = join([layout[i] for i in range(rank(layout))], [extra] * count)
    obligations = layout.obligations | extra.obligations
    return make_raw(tuple(p.shape for p in parts), tuple(p.stride for p in parts), obligations)


@ends
def replace(layout: Layout, i: int, mode: Layout) -> Layout:
    """The layout with one top-level mode swapped."""
    if not 0 <= i < rank(layout):
        raise LayoutError(f"expected a mode of 0 .. {rank(layout) - 1} to replace, got {i}")
    parts = [mode if j == i else layout[j] for j in range(rank(layout))]
    return with_obligations(make_layout(*parts), layout.obligations)


@ends
def group(layout: LayoutLike, begin: int, end: int = -1) -> Any:
    """The layout with modes begin .. end - 1 as one nested mode; end -1 means all that follow."""
    if isinstance(layout, ComposedLayout):
        return ComposedLayout(layout.outer, layout.offset, group(layout.inner, begin, end))
    end = rank(layout) if end == -1 else end
    if not 0 <= begin <= end <= rank(layout):
        raise LayoutError(f"expected 0 <= begin <= end <= {rank(layout)}, got {begin} and {end}")
    if begin == end:
        return layout
    shape, stride = as_modes(layout.shape), as_modes(layout.stride)
    return make_raw(
        (*shape[:begin], shape[begin:end], *shape[end:]),
        (*stride[:begin], stride[begin:end], *stride[end:]),
        layout.obligations,
    )


@ends
def zip_modes(*layouts: Any) -> Any:
    """The two outer levels transposed: ((a,b),(x,y)) becomes ((a,x),(b,y))."""
    layout = layouts[0] if len(layouts) == 1 else make_layout(*layouts)
    if isinstance(layout, ComposedLayout):
        return ComposedLayout(layout.outer, layout.offset, zip_modes(layout.inner))
    ranks = {rank(layout[i]) for i in range(rank(layout))}
    if len(ranks) != 1:
        raise LayoutError(f"expected modes of one rank to zip, got {layout}")
    columns = [tuple(as_modes(layout[i].shape)[j] for i in range(rank(layout))) for j in range(*ranks)]
    strides = [tuple(as_modes(layout[i].stride)[j] for i in range(rank(layout))) for j in range(*ranks)]
    return make_raw(tuple(columns), tuple(strides), layout.obligations)


@members.defines
@ends
def flatten_layout(layout: LayoutLike) -> Any:
    """All modes at depth at most 1."""
    if isinstance(layout, ComposedLayout):
        return ComposedLayout(layout.outer, layout.offset, flatten_layout(layout.inner))
    expect_layouts(layout)
    if not isinstance(layout.shape, tuple):
        return layout
    return make_raw(tuple(leaves(layout.shape)), tuple(leaves(layout.stride)), layout.obligations)


def tiler_modes(tiler: Any) -> bool:
    """Whether a tiler works by mode."""
    return isinstance(tiler, tuple | list) and not is_layout(tiler)
