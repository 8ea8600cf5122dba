"""The unary half of CuTe's algebra: coalesce, filter, complement, inverses, common layouts, orders.

Rules and results are those of CuTe C++ (``include/cute/layout.hpp``); what it leaves undefined is refused.
"""

from __future__ import annotations

import math
from typing import Any, cast

from .basis import is_basis
from .errors import LayoutError
from .expr import Expr, Fact, choice, divides, floordiv, integer, minimum, terms_of
from .facts import NOTHING, Facts
from .int_tuple import IntTuple, ceil_div, checked, get, leaves, product, rank, text, unflatten
from .layout import (
    ComposedLayout,
    Layout,
    as_modes,
    compact_col_major,
    cosize,
    expect_layouts,
    is_layout,
    make_layout,
    make_raw,
    with_obligations,
)
from .meter import ends
from .obligations import EXACT, NONE, Obligations
from .swizzle import Swizzle

Modes = list[tuple[Any, Any]]


# -- coalesce and filter --------------------------------------------------------------------------------


@ends
def coalesce(layout: Any, profile: IntTuple = None) -> Any:
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
        if type(n) is int and n == 1:
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
    if not (type(n) is int and n == 1):
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
def filter_zeros(layout: Any, profile: IntTuple = None) -> Any:
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
        if _is_zero(g):
            return _ones(s)
        return s

    return make_raw(walk(layout.shape, guide), layout.stride, layout.obligations)


def _ones(s: IntTuple) -> IntTuple:
    return tuple(map(_ones, s)) if isinstance(s, tuple) else 1


def _is_zero(x: Any) -> bool:
    return type(x) is int and x == 0


@ends
def filter(layout: Any, profile: IntTuple = None) -> Any:
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
def nullspace(layout: Any) -> Layout:
    """A layout of linear indices at which *layout* stays at 0: its stride-0 modes; 1:0 if there are none."""
    expect_layouts(layout)
    if isinstance(layout, ComposedLayout):
        return make_raw(1, 0)
    at: Any = 1
    out: Modes = []
    kept = False
    for n, d in layout.modes():
        if _is_zero(d):
            out.append((n, at if not (type(n) is int and n == 1) else 0))
            kept = kept or n != 1
        at = at * n
    return from_modes(out if kept else [], layout.obligations)


# -- complement and inverses ----------------------------------------------------------------------------


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


def _positive_strides(layout: Layout, what: str) -> None:
    for _, d in layout.modes():
        if is_basis(d):
            raise LayoutError(f"expected integer strides for {what}, got the coordinates of {layout}")
        if type(d) is int and d < 0:
            raise LayoutError(f"expected strides of at least 0 for {what}, got {d} in {layout}")


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
    kept = from_modes(coalesced_modes([m for m in layout.modes() if not _is_zero(m[1])]))
    if target is None:
        target = cosize(kept)
    target = checked(getattr(target, "shape", target), "target")
    for n in leaves(target):
        if type(n) is int and n < 1:
            raise LayoutError(f"expected a target of at least 1, got {text(target)}")
    _positive_strides(kept, "complement")
    modes = [m for m in kept.modes() if not _is_zero(m[1]) and not _is_zero(m[0] - 1)]
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


@ends
def right_inverse(layout: Any) -> Any:
    """R with layout(R(i)) == i for every i below its size: the longest contiguous run from 0 that modes chain to.

    >>> print(right_inverse(Layout((8, 4), (4, 1))))
    (4,8):(8,1)
    """
    if layout is None or isinstance(layout, Swizzle):
        return layout
    if isinstance(layout, ComposedLayout):
        return _inverse_of_composed(layout, right_inverse)
    expect_layouts(layout)
    _no_bases(layout, "right_inverse")
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
def left_inverse(layout: Any) -> Any:
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
    _no_bases(layout, "left_inverse")
    _positive_strides(layout, "left_inverse")
    facts = NOTHING if layout.static else Facts.about(layout)
    at = _with_domain_strides(coalesced_modes(layout.modes()))
    by_stride = {id(m): m for m in at}
    order = sorted_by_stride(
        [((id(m), n), d) for m in at for n, d in [m[:2]] if not _is_zero(d)], facts, "left_inverse"
    )
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


def _no_bases(layout: Layout, what: str) -> None:
    if layout.has_bases:
        raise LayoutError(f"expected integer strides for {what}, got the coordinates of {layout}")


def _inverse_of_composed(layout: ComposedLayout, inverse: Any) -> Any:
    from .composition import composition

    outer, inner = inverse(layout.outer), inverse(layout.inner)
    if _is_zero(layout.offset):
        return composition(inner, outer)
    if inverse is left_inverse and isinstance(outer, Swizzle) and not outer.bits:
        return ComposedLayout(inner, -layout.offset, Layout(layout.cosize()))
    raise LayoutError(f"expected an offset of 0 inside a swizzle to invert, got {layout}")


# -- common layouts -------------------------------------------------------------------------------------


@ends
def max_common_layout(a: Any, b: Any) -> Any:
    """The largest R with a(R(i)) == b(R(i)) == i.

    >>> print(max_common_layout(Layout((4, 8), (8, 1)), Layout((4, 8), (16, 1))))
    8:4
    """
    from .composition import composition

    inverse, run, obligations = _common_run(a, b)
    return make_raw(1, 0) if run == 1 else with_obligations(composition(inverse, make_raw(run, 1)), obligations)


def _common_run(a: Any, b: Any) -> tuple[Any, Any, Any]:
    """(right inverse of b, how far a follows it one by one, what that rests on)."""
    expect_layouts(a, b)
    from .composition import composition

    inverse = right_inverse(plain(b))
    try:
        common = coalesce(composition(plain(a), inverse))
    except LayoutError:
        return inverse, 1, None
    n, d = common.modes()[0]
    return (inverse, n, common.obligations) if type(d) is int and d == 1 else (inverse, 1, None)


def plain(layout: Any) -> Any:
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
    """How many of the leading elements have an index below *size*, at least; None where symbols leave that open.

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
def max_alignment(layout: Any) -> int:
    """The greatest number of elements to which every vector of that length is aligned, from the static parts."""
    if isinstance(layout, Swizzle):
        return 1 << layout.base
    if isinstance(layout, ComposedLayout):
        return math.gcd(max_alignment(layout.outer), max_alignment(layout.inner), _content(layout.offset))
    _no_bases(layout, "max_alignment")
    modes = coalesced_modes(layout.modes())
    run = next((i for i, (_, d) in enumerate(modes) if d == 1), None)
    others = [_content(d) for i, (_, d) in enumerate(modes) if i != run]
    return math.gcd(1 if run is None else _content(modes[run][0]), *others)


def _content(x: Any) -> int:
    """The greatest integer that is seen to divide *x* for all sizes; 0 for 0."""
    return math.gcd(*terms_of(Facts.about(x).normal(x)).values())


# -- orders ---------------------------------------------------------------------------------------------


@ends
def make_ordered_layout(shape: Any, order: IntTuple) -> Layout:
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
    strides = tuple(0 if _is_zero(d) else e for (_, d), (_, e) in zip(layout.modes(), out.modes(), strict=True))
    return make_raw(layout.shape, unflatten(strides, layout.shape))


@ends
def make_fragment_like(layout: Any) -> Layout:
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
    """A layout of linear indices that takes gcd(extent, n) from each mode in turn, to spread work over *n*.

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


# -- modes as a tuple -----------------------------------------------------------------------------------


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
def take(layout: Any, begin: int, end: int) -> Any:
    """Modes begin .. end - 1."""
    if not 0 <= begin < end <= rank(layout):
        raise LayoutError(f"expected 0 <= begin < end <= {rank(layout)}, got {begin} and {end}")
    return select(layout, *range(begin, end))


@ends
def append(layout: Any, extra: Any = None, n: int | None = None) -> Any:
    """The layout with one more mode, or padded to rank *n* with 1:0 (or *extra*)."""
    return _extended(layout, extra, n, lambda mine, new: (*mine, *new))


@ends
def prepend(layout: Any, extra: Any = None, n: int | None = None) -> Any:
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
def group(layout: Any, begin: int, end: int = -1) -> Any:
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


@ends
def flatten_layout(layout: Any) -> Any:
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
