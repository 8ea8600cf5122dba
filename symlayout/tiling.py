"""Divides and products: a layout in tiles, and a tile repeated."""

from __future__ import annotations

from typing import Any, cast

from .algebra import coalesce
from .complement import complement
from .composition import composition
from .errors import LayoutError
from .expr import Expr, integer
from .facts import NOTHING, Facts
from .int_tuple import IntTuple, ceil_div, checked, is_one, leaves, product_each, rank, text
from .layout import ComposedLayout, Layout, LayoutLike, cosize, expect_layouts, is_layout, make_raw, with_obligations
from .making import LayoutLeft, make_layout
from .meter import ends
from .modes import append, tiler_modes, zip_modes
from .obligations import in_domain
from .ordered_layouts import make_ordered_layout
from .strides import as_modes


@ends
def logical_divide(layout: LayoutLike, tiler: Any, mode: str = "exact") -> Any:
    """The layout as (tile, rest); by mode for a tuple tiler, whose further modes stay whole.

        logical_divide((4,2,3):(2,1,8), 4:2)  ->  ((2,2),(2,3)):((4,1),(2,8))

    A tile that does not divide its mode reaches past it: the result then carries an ``in domain``
    obligation that a predicate or a divisibility fact meets.
    """
    expect_layouts(layout)
    if tiler is None:
        return layout
    if isinstance(layout, ComposedLayout):
        return ComposedLayout(layout.outer, layout.offset, logical_divide(layout.inner, tiler, mode))
    if tiler_modes(tiler):
        return _by_mode(logical_divide, layout, tiler, mode)
    if not isinstance(layout.shape, tuple) and not is_layout(tiler):
        return _divide_mode(layout, integer(tiler), mode)
    tile = _as_tiler(tiler)
    rest = complement(tile, coalesce(layout).shape)
    return composition(layout, make_layout(tile, rest), mode)


def _divide_mode(layout: Layout, t: Any, mode: str) -> Layout:
    """One mode n:d in tiles of t: (t, ceil(n/t)):(d, t*d), as the general rule gives it."""
    n, d = layout.shape, layout.stride
    if type(t) is int and t < 1:
        raise LayoutError(f"expected a tile of at least 1, got {t}")
    numbers = type(n) is int and type(t) is int
    facts = NOTHING if numbers else Facts.about(n, t)
    count = -(-n // t) if numbers else facts.resolved(ceil_div(n, t))
    one, single = is_one(t), is_one(count)
    out = make_raw((t, count), (0 if one else d, 0 if single else d * t), layout.obligations)
    if mode == "cute" or (numbers and n % t == 0):
        return out
    return cast(Layout, with_obligations(out, in_domain(t * count, n, facts)))


def _as_tiler(tiler: Any) -> Any:
    if is_layout(tiler):
        return tiler
    return Layout(1, 0) if integer(tiler) == 1 else Layout(tiler, 1)


def _by_mode(f: Any, layout: Layout, tiler: Any, *options: Any) -> Any:
    if len(tiler) > rank(layout):
        raise LayoutError(f"expected at most {rank(layout)} tiles for {layout}, got {len(tiler)}")
    parts = [f(layout[i], t, *options) for i, t in enumerate(tiler)]
    rest = [layout[i] for i in range(len(tiler), rank(layout))]
    return make_layout(*parts, *rest)


@ends
def zip2_by(layout: Any, guide: Any) -> Any:
    """Pairs collected at the guide's leaves: ((A,a),((B,b),(C,c)),d) by (X,(X,X)) is ((A,(B,C)),(a,(b,c),d))."""
    if isinstance(layout, ComposedLayout):
        return ComposedLayout(layout.outer, layout.offset, zip2_by(layout.inner, guide))
    shape, stride = (_zip2(t, guide) for t in (layout.shape, layout.stride))
    return make_raw(shape, stride, layout.obligations)


@ends
def hier_unzip(splitter: Any, layout: Any, tiler: Any) -> Any:
    """pycute's name for zip2_by(splitter(layout, tiler), tiler)."""
    return zip2_by(splitter(layout, tiler), tiler)


def _zip2(t: IntTuple, guide: Any) -> tuple[IntTuple, IntTuple]:
    if not tiler_modes(guide):
        if not isinstance(t, tuple) or len(t) != 2:
            raise LayoutError(
                f"expected a mode that is already a pair (tile, rest) where the tiler has None, got {text(t)}"
            )
        return t
    pairs = [_zip2(a, g) for a, g in zip(t, guide, strict=False)]
    return tuple(p[0] for p in pairs), tuple(p[1] for p in pairs) + t[len(pairs) :]


@ends
def zipped_divide(layout: LayoutLike, tiler: Any, mode: str = "exact") -> Any:
    """((tile of each mode), (rest of each mode)).

    >>> from symlayout import dims
    >>> M, N = dims("M N")
    >>> print(zipped_divide(Layout((M, N), (N, 1)), (64, 64)))
    ((64,64),(ceil(M/64),ceil(N/64))):((N,1),(64*N,64))
    """
    divided = logical_divide(layout, tiler, mode)
    return zip2_by(divided, tiler) if tiler_modes(tiler) else divided


@ends
def tiled_divide(layout: LayoutLike, tiler: Any, mode: str = "exact") -> Any:
    """((tiles), rest0, rest1, ...)."""
    return _unpack(zipped_divide(layout, tiler, mode), first=False)


@ends
def flat_divide(layout: LayoutLike, tiler: Any, mode: str = "exact") -> Any:
    """(tile0, tile1, ..., rest0, rest1, ...)."""
    return _unpack(zipped_divide(layout, tiler, mode), first=True)


def _unpack(zipped: Any, first: bool) -> Any:
    if isinstance(zipped, ComposedLayout):
        return ComposedLayout(zipped.outer, zipped.offset, _unpack(zipped.inner, first))

    def spread(t: IntTuple) -> IntTuple:
        head = as_modes(t[0]) if first else (t[0],)
        return (*head, *as_modes(t[1]))

    return make_raw(spread(zipped.shape), spread(zipped.stride), zipped.obligations)


@ends
def logical_product(layout: LayoutLike, tiler: Any) -> Any:
    """(block, tiles): *layout* repeated as *tiler* says, without overlap; by mode for a tuple tiler.

    logical_product((2,2):(4,1), 6:1)  ->  ((2,2),(2,3)):((4,1),(2,8))
    """
    expect_layouts(layout)
    if tiler is None:
        return layout
    if isinstance(layout, ComposedLayout):
        return ComposedLayout(layout.outer, layout.offset, logical_product(layout.inner, tiler))
    if tiler_modes(tiler):
        return _by_mode(logical_product, layout, tiler)
    tile = _as_tiler(tiler)
    room = complement(layout, layout.size() * cosize(tile))
    return make_layout(layout, composition(room, tile))


@ends
def zipped_product(layout: LayoutLike, tiler: Any) -> Any:
    """((blocks), (tiles))."""
    made = logical_product(layout, tiler)
    return zip2_by(made, tiler) if tiler_modes(tiler) else made


@ends
def tiled_product(layout: LayoutLike, tiler: Any) -> Any:
    """((blocks), tile0, tile1, ...)."""
    return _unpack(zipped_product(layout, tiler), first=False)


@ends
def flat_product(layout: LayoutLike, tiler: Any) -> Any:
    """(block0, block1, ..., tile0, tile1, ...)."""
    return _unpack(zipped_product(layout, tiler), first=True)


@ends
def blocked_product(block: Any, tiler: Any) -> Any:
    """Blocks side by side: in each mode the block is the fast part.

    >>> print(blocked_product(Layout((2, 5), (5, 1)), Layout((3, 4))))
    ((2,3),(5,4)):((5,10),(1,30))
    """
    return _ranked_product(block, tiler, 0, 1)


@ends
def raked_product(block: Any, tiler: Any) -> Any:
    """Blocks interleaved: in each mode the tile index is the fast part."""
    return _ranked_product(block, tiler, 1, 0)


def _ranked_product(block: Any, tiler: Any, first: int, second: int) -> Any:
    tiler = _as_tiler(tiler)
    n = max(rank(block), rank(tiler))
    if isinstance(block, ComposedLayout):
        return ComposedLayout(block.outer, block.offset, _ranked_product(block.inner, tiler, first, second))
    made = logical_product(_padded(block, n), _padded(tiler, n))
    return zip_modes(made[first], made[second])


def _padded(layout: Any, n: int) -> Any:
    expect_layouts(layout)
    if not isinstance(layout.shape, tuple):
        layout = make_layout(layout)
    return append(layout, n=n) if n > rank(layout) else layout


@ends
def tile_to_shape(block: Any, target: Any, order: Any = LayoutLeft) -> Any:
    """The block repeated until it fills *target*, tiles in the given order (default: column-major).

    >>> print(tile_to_shape(Layout((8, 8), (8, 1)), (16, 32)))
    ((8,2),(8,4)):((8,64),(1,128))

    Raises LayoutError where a static extent is not a multiple of the block's.
    """
    if isinstance(block, ComposedLayout):
        return ComposedLayout(block.outer, block.offset, tile_to_shape(block.inner, target, order))
    target = checked(target, "target")
    if rank(block) > rank(target):
        raise LayoutError(f"expected a target of rank at least {rank(block)} for {block}, got {text(target)}")
    padded = _padded(block, rank(target))
    wanted, have = product_each(target), product_each(padded.shape)
    facts = Facts.about(wanted, have)
    for i, (t, b) in enumerate(zip(wanted, have, strict=True)):
        if type(t) is int and type(b) is int and t % b:
            raise LayoutError(f"expected a target extent that {b} divides in mode {i}, got {t}")
    counts = tuple(facts.resolved(ceil_div(t, b)) for t, b in zip(wanted, have, strict=True))
    if order is LayoutLeft:
        tiles = Layout(counts)
    elif callable(order) and not isinstance(order, tuple):
        tiles = order(counts)
    else:
        tiles = make_ordered_layout(counts, order)
    made = blocked_product(padded, tiles)
    for t, b, n in zip(wanted, have, counts, strict=True):
        if isinstance(t, Expr):
            made = with_obligations(made, in_domain(b * n, t, facts))
    return made


def same_leaves(*layouts: Any) -> bool:
    """Whether layouts are rearrangements of the same (extent, stride) leaves."""
    first, *others = [sorted(map(str, zip(leaves(x.shape), leaves(x.stride), strict=True))) for x in layouts]
    return all(x == first for x in others)
