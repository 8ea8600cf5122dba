"""CuTe's layouts as descriptors of CK Tile, and descriptors as layouts where there is one.

    >>> from symlayout import Layout, dims
    >>> M, K = dims("M K")
    >>> d = descriptor_of(Layout((M, (8, K)), (8, (1, 8 * M))))
    >>> print(d, layout_of(d))
    (x0,x1) -> 8*M*(x1//8) + 8*x0 + x1 - 8*(x1//8) for x0 < M, x1 < 8*K (M,(8,K)):(8,(1,8*M))

CuTe's first mode is the fastest, CK's last dimension: the modes inside of one dimension are reversed, and dimensions
keep their places. Every layout of offsets has a descriptor but one of negative strides. A descriptor has a layout if it
masks nothing, begins at 0, and is linear in the digits of its merges, one xor aside that is a swizzle.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from ..errors import LayoutError
from ..expr import Int, Symbol, digit, terms_of
from ..facts import Facts
from ..int_tuple import ceil_div, is_zero, leaves, text
from ..layout import ComposedLayout, Layout, expect_layouts, with_obligations
from ..members import members
from ..strides import as_modes
from ..swizzle import Swizzle
from ..transforms import Embed, Indices, Merge, Offset, PassThrough, Unmerge, Xor
from .adaptor import Graph, Hidden
from .descriptor import TensorDescriptor, transformed
from .forms import DigitForm, digit_form

# -- from layouts -----------------------------------------------------------------------------------------


def descriptor_of(layout: Layout | ComposedLayout, element_space_size: Any = None) -> TensorDescriptor:
    """The descriptor that is the same function; a swizzle becomes an xor between an unmerge and a merge of the offset.

    >>> from symlayout import ComposedLayout, Layout, Swizzle
    >>> d = descriptor_of(ComposedLayout(Swizzle(3, 3, 3), 0, Layout((8, 64), (64, 1))))
    >>> d.calculate_offset((1, 0)), d.element_space_size, ", ".join(t.kind for t in d.get_transforms())
    (72, 512, 'unmerge, xor, pass_through, pass_through, pass_through, merge, embed')

    The space is by default that of the values, in whole blocks of a swizzle. Raises LayoutError for coordinates as
    values, for a negative stride, for a layout that is composed with anything but a swizzle, and for one with
    obligations.
    """
    expect_layouts(layout)
    if layout.obligations:
        raise LayoutError(
            f"expected a layout that needs nothing, since a descriptor forgets it, got {layout.obligations}"
        )
    if isinstance(layout, ComposedLayout):
        return _swizzled(layout, element_space_size)
    _check_strides(layout)
    ground = Graph((), (), (), (0,), (0,))
    return TensorDescriptor(
        _indexed(ground, layout), layout.cosize() if element_space_size is None else element_space_size
    )


def _check_strides(layout: Layout) -> None:
    if layout.has_bases:
        raise LayoutError(f"expected offsets as values of a descriptor, got the coordinates of {layout}")
    down = next((d for d in leaves(layout.stride) if type(d) is int and d < 0), None)
    if down is not None:
        raise LayoutError(f"expected strides of at least 0, for which CK counts the space, got {down} in {layout}")


def _indexed(graph: Graph, layout: Layout) -> Graph:
    """A linear layout on the one top dimension of a graph: embed its leaves, merge those of each mode."""
    modes = [
        list(reversed(list(zip(leaves(s), leaves(d), strict=True))))
        for s, d in zip(as_modes(layout.shape), as_modes(layout.stride), strict=True)
    ]
    flat = [leaf for mode in modes for leaf in mode]
    embed = Embed(tuple(n for n, _ in flat), tuple(d for _, d in flat))
    out = transformed(graph, (embed,), ((0,),), (tuple(range(len(flat))),))
    if all(len(mode) == 1 for mode in modes):
        return out
    lower: list[tuple[int, ...]] = []
    for mode in modes:
        first = sum(map(len, lower))
        lower.append(tuple(range(first, first + len(mode))))
    merges = [Merge(tuple(n for n, _ in m)) if len(m) > 1 else PassThrough(m[0][0]) for m in modes]
    return transformed(out, merges, lower, tuple((i,) for i in range(len(modes))))


def _swizzled(layout: ComposedLayout, size: Any) -> TensorDescriptor:
    """The offset in five fields, of which one is xored with another, and the inner layout on top of it."""
    sw, inner = layout.outer, layout.inner
    if not isinstance(sw, Swizzle) or not isinstance(inner, Layout):
        raise LayoutError(f"expected a swizzle of a plain layout, got {layout}")
    _check_strides(inner)
    if isinstance(layout.offset, tuple) or (type(layout.offset) is int and layout.offset < 0):
        raise LayoutError(f"expected an offset of at least 0 inside {sw}, got {text(layout.offset)}")
    extent = layout.offset + inner.cosize()
    ground = Graph((), (), (), (0,), (0,))
    space = ceil_div(extent, sw.block) * sw.block
    if sw.bits:
        ground = _fields(ground, sw, ceil_div(extent, sw.period))
    if not (type(layout.offset) is int and layout.offset == 0):
        ground = transformed(ground, (Offset(inner.cosize(), layout.offset),), ((0,),), ((0,),))
    return TensorDescriptor(_indexed(ground, inner), space if size is None else size)


def _fields(graph: Graph, sw: Swizzle, periods: Int) -> Graph:
    """Unmerge the offset into (rest, upper field, gap, lower field, low bits), xor the fields, merge all again."""
    field, gap, low = 1 << sw.bits, 1 << (abs(sw.shift) - sw.bits), 1 << sw.base
    lengths: Indices = (periods, field, gap, field, low)
    out = transformed(graph, (Unmerge(lengths),), ((0,),), ((0, 1, 2, 3, 4),))
    source, target = (1, 3) if sw.shift > 0 else (3, 1)
    keep = [PassThrough(lengths[i]) for i in (0, 2, 4)]
    places = ((source, target), (0,), (2,), (4,))
    out = transformed(out, (Xor((field, field)), *keep), places, places)
    return transformed(out, (Merge(lengths),), ((0, 1, 2, 3, 4),), ((0,),))


# -- to layouts -------------------------------------------------------------------------------------------


def layout_of(descriptor: TensorDescriptor) -> Layout | ComposedLayout:
    """The layout that is the same function of its indices.

    >>> from symlayout.ck_tile import make_naive_tensor_descriptor
    >>> print(layout_of(make_naive_tensor_descriptor((3, 4), (4, 1))))
    (3,4):(4,1)

    Raises LayoutError, with the reason, for a descriptor that no layout is: one with pads, whose first element is not
    at 0, or whose offset is not linear in digits. Where all lengths are numbers, other modes are looked for too.
    What the transforms must keep is an obligation of the layout.
    """
    if descriptor.valid:
        raise LayoutError(
            f"expected a descriptor without pads, since a layout masks nothing, got {descriptor}; "
            "give the predicate with the layout, as in AddressMap.over(layout, shape, when)"
        )
    found = _linear(digit_form(descriptor)) or _with_a_swizzle(descriptor)
    if found is not None:
        return cast("Layout | ComposedLayout", with_obligations(found, descriptor.obligations))
    if descriptor.static:
        fitted = (
            members.fit(lambda *at: descriptor(at), descriptor.extents) if len(descriptor.extents) else Layout(1, 0)
        )
        return cast("Layout | ComposedLayout", with_obligations(fitted, descriptor.obligations))
    raise LayoutError(f"expected an offset that is linear in digits, or one xor that is a swizzle, got {descriptor}")


def _linear(form: DigitForm) -> Layout | None:
    """The layout of a form whose offset is a sum of digits times strides; None for others."""
    strides = digit_strides(form.offset, form.digits)
    if strides is None:
        return None
    strides, base = strides[0], strides[1]
    if not is_zero(base):
        raise LayoutError(
            f"expected a first element at 0, got {base}; move the pointer, and take the layout from there"
        )
    modes = [_modes(x, form) for x in form.top]
    if any(m is None for m in modes):
        return None
    shape, stride = [], []
    for mode in modes:
        entries = [(n, strides.get(d, 0)) for d, n in mode or ()] or [(1, 0)]
        shape.append(tuple(n for n, _ in entries) if len(entries) > 1 else entries[0][0])
        stride.append(tuple(d for _, d in entries) if len(entries) > 1 else entries[0][1])
    return Layout(tuple(shape), tuple(stride))


def digit_strides(offset: Int, digits: tuple[Symbol, ...]) -> Any:
    """(stride of each digit, constant) of an offset that is linear in them, else None."""
    strides: dict[Symbol, Any] = {}
    base: Any = 0
    for m, c in terms_of(offset).items():
        mine = [a for a in m if isinstance(a, Symbol) and a in digits]
        if len(mine) > 1 or any(a not in digits and set(digits) & set(a.symbols) for a in m):
            return None
        factor: Any = c
        for a in m:
            factor = factor if a in mine else factor * a
        if mine:
            strides[mine[0]] = strides.get(mine[0], 0) + factor
        else:
            base = base + factor
    return strides, base


def _modes(x: Int, form: DigitForm) -> list[tuple[Symbol, Int]] | None:
    """The digits of an index, the fastest first: each weighs the product of the extents of those before it."""
    extents = dict(zip(form.digits, form.extents, strict=True))
    found = digit_strides(x, form.digits)
    weights: dict[Symbol, Any] = {} if found is None else dict(found[0])
    out: list[tuple[Symbol, Int]] = []
    weight: Any = 1
    while weights:
        d = next((d for d, w in weights.items() if w == weight), None)
        if d is None:
            return None
        del weights[d]
        out.append((d, extents[d]))
        weight = weight * extents[d]
    return out


def _with_a_swizzle(descriptor: TensorDescriptor) -> ComposedLayout | None:
    """The layout without its one xor, under the swizzle that this is; None where its fields meet other bits."""
    graph = descriptor.graph
    places = [i for i, t in enumerate(graph.transforms) if isinstance(t, Xor)]
    if len(places) != 1:
        return None
    (at,) = places
    t: Any = graph.transforms[at]
    row, column = (_stride_below(graph, at, i) for i in graph.lower_ids[at])
    if not t.permutes or type(row) is not int or type(column) is not int:
        return None
    width, plain = t.lengths[1], _without(graph, at)
    adaptor = TensorDescriptor(plain, descriptor.element_space_size, [c.name for c in descriptor.coords])
    form = digit_form(adaptor)
    inner = _linear(form)
    if inner is None or not _fits(form, graph, at, row, column, width):
        return None
    m, s = column.bit_length() - 1, row.bit_length() - 1
    return ComposedLayout(Swizzle(width.bit_length() - 1, m, s - m), 0, inner)


def _stride_below(graph: Graph, at: int, dimension: int) -> Int | None:
    """What one step of a lower dimension of transform *at* adds to the offset, where that is a product."""
    d = digit("d", 1 << 62)
    h: Hidden = dict.fromkeys(range(graph.hidden_rank), 0)
    h[dimension] = d
    for t, low, up in reversed([*graph.rows()][:at]):
        h.update(zip(low, t.lower(tuple(h[i] for i in up)), strict=True))
    found = digit_strides(h[graph.bottom_ids[0]], (d,))
    return None if found is None else found[0].get(d, 0)


def _without(graph: Graph, at: int) -> Graph:
    """The graph with an xor as two dimensions that pass through."""
    rows, columns = (PassThrough(n) for n in graph.transforms[at].upper_lengths)
    (low0, low1), (up0, up1) = graph.lower_ids[at], graph.upper_ids[at]

    def put(parts: tuple[Any, ...], *instead: Any) -> tuple[Any, ...]:
        return (*parts[:at], *instead, *parts[at + 1 :])

    return replace(
        graph,
        transforms=put(graph.transforms, rows, columns),
        lower_ids=put(graph.lower_ids, (low0,), (low1,)),
        upper_ids=put(graph.upper_ids, (up0,), (up1,)),
    )


def _fits(form: DigitForm, graph: Graph, at: int, row: int, column: int, width: int) -> bool:
    """Whether the fields of the xor hold its row and its column alone, for all sizes.

    The offset is low + column*c + gap + row*r + high: low < column, c < width, gap a multiple of column*width below
    row, high a multiple of row*width.
    """
    powers = all(x >= 1 and x & (x - 1) == 0 for x in (row, column))
    if not powers or row < column * width:
        return False
    up = graph.upper_ids[at]
    rest = form.offset - row * form.hidden[up[0]] - column * form.hidden[up[1]]
    found, upper = digit_strides(rest, form.digits), digit_strides(form.hidden[up[1]], form.digits)
    if found is None or upper is None:
        return False
    extents = dict(zip(form.digits, form.extents, strict=True))
    low, gap = 0, 0
    for d, stride in found[0].items():
        if all(c % (row * width) == 0 for c in terms_of(stride).values()):
            continue
        n = extents[d]
        if type(stride) is not int or type(n) is not int or stride < 0:
            return False
        low, gap = (low, gap + (n - 1) * stride) if stride % (column * width) == 0 else (low + (n - 1) * stride, gap)
    last = sum(((extents[d] - 1) * c for d, c in upper[0].items()), start=upper[1])
    return low < column and gap + column * width <= row and _at_most(last, width - 1)


def _at_most(x: Int, n: int) -> bool:
    return x <= n if type(x) is int else Facts.about(x).le(x, n) is True


__all__ = ["descriptor_of", "layout_of"]
