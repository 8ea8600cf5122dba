"""Hypothesis strategies for layouts and what goes with them: test your own layout code against all kinds of them.

    >>> from hypothesis import given
    >>> from symlayout import size
    >>> @given(layouts(max_size=64))
    ... def test_offsets_are_the_values(layout):
    ...     assert [layout(i) for i in range(size(layout))] == layout.offsets().tolist()
    >>> test_offsets_are_the_values()

They shrink towards few modes, no nesting, extents and strides of 1, and compact layouts. Sizes are numbers
except in ``symbolic_layouts``, whose sizes ``sizes`` draws. Needs ``hypothesis``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from .expr import Expr, dim, evaluate
from .facts import Facts
from .int_tuple import IntTuple, leaves, map_leaves, product, unflatten
from .layout import ComposedLayout, Layout
from .swizzle import Swizzle

EXTENTS = (*range(1, 17), 24, 31, 32, 33, 48, 63, 64, 65, 96, 100, 127, 128, 129, 255, 256, 1000, 1024)
LEAVES = 8  # of a shape, at most
ORDER = st.integers(0, LEAVES - 1)  # leaves get their strides in order of these, then from left to right


# -- numbers --------------------------------------------------------------------------------------------


def shapes(max_size: int = 256, max_rank: int = 3, depth: int = 2) -> SearchStrategy[IntTuple]:
    """Shapes of at most *max_size* coordinates, *max_rank* modes at each level and *depth* levels.

    >>> shapes(max_size=8).example()  # doctest: +SKIP
    (4, (1, 2))

    Depth 0 is a number.
    """
    return _shaped(max_size, max_rank, depth, st.none()).map(lambda drawn: drawn[0])


def compact_layouts(max_size: int = 256, max_rank: int = 3, depth: int = 2) -> SearchStrategy[Layout]:
    """Layouts that are bijective onto 0 .. size - 1: column-major, or with their modes in another order.

    >>> compact_layouts().example()  # doctest: +SKIP
    Layout((2, (3, 4)), (12, (1, 3)))
    """
    return _shaped(max_size, max_rank, depth, ORDER).map(lambda drawn: Layout(drawn[0], _compact(*drawn)))


def layouts(
    max_size: int = 256, max_rank: int = 3, depth: int = 2, min_stride: int = 0, max_stride: int = 64
) -> SearchStrategy[Layout]:
    """Layouts: compact ones, padded ones, and those with any strides in a range, 0 (a broadcast) included.

    >>> layouts(max_rank=1, depth=1, max_stride=8).example()  # doctest: +SKIP
    Layout((5,), (3,))
    """
    limits = (max_size, max_rank, depth)
    padded = _shaped(*limits, st.tuples(ORDER, st.integers(1, 3))).map(lambda drawn: Layout(drawn[0], _padded(*drawn)))
    free = _shaped(*limits, st.integers(min_stride, max_stride)).map(
        lambda drawn: Layout(drawn[0], unflatten(tuple(drawn[1]), drawn[0]))
    )
    return compact_layouts(*limits) | padded | free


@st.composite
def swizzles(draw: DrawFn, max_bits: int = 3, max_base: int = 4, max_shift: int = 4) -> Swizzle:
    """Swizzles, of negative shift too.

    >>> swizzles().example()  # doctest: +SKIP
    Swizzle(2, 1, -3)
    """
    bits = draw(st.integers(0, min(max_bits, max_shift)))
    shift = draw(st.integers(bits, max_shift))
    return Swizzle(bits, draw(st.integers(0, max_base)), -shift if draw(st.booleans()) else shift)


def composed_layouts(
    max_size: int = 256, max_rank: int = 3, depth: int = 2, max_stride: int = 64, max_offset: int = 64
) -> SearchStrategy[ComposedLayout]:
    """A swizzle after an offset and a layout.

    >>> composed_layouts().example()  # doctest: +SKIP
    ComposedLayout(Swizzle(1, 0, 2), 5, Layout((4, 2), (1, 4)))
    """
    inner = layouts(max_size, max_rank, depth, max_stride=max_stride)
    return st.builds(ComposedLayout, swizzles(), st.integers(0, max_offset), inner)


@st.composite
def coordinates(draw: DrawFn, layout: Any) -> IntTuple:
    """Coordinates of a layout or shape in all their forms: one integer, one for a mode, or nested like the shape.

    >>> coordinates((4, (2, 3))).example()  # doctest: +SKIP
    (3, (0, 2))
    """

    def coordinate(shape: IntTuple) -> IntTuple:
        if isinstance(shape, tuple) and draw(st.booleans()):
            return tuple(map(coordinate, shape))
        return draw(st.integers(0, product(shape) - 1))

    return coordinate(getattr(layout, "shape", layout))


@st.composite
def tilers(draw: DrawFn, layout: Any) -> Any:
    """Tilers that divide a layout or shape without overhang: for all of it, or one for each of its first modes.

    A tiler is an integer, or a layout such as ``4:2`` that takes every second element.

    >>> tilers((12, (2, 8))).example()  # doctest: +SKIP
    (3, Layout(4, 2))
    """

    def tiler(shape: IntTuple) -> Any:
        cuts = _cuts(shape)
        stop = draw(st.sampled_from(cuts))
        step = draw(st.sampled_from([c for c in cuts if stop % c == 0]))
        return Layout(stop // step, step) if step > 1 or draw(st.booleans()) else stop

    shape = getattr(layout, "shape", layout)
    if not isinstance(shape, tuple) or draw(st.booleans()):
        return tiler(shape)
    return tuple(tiler(s) for s in shape[: draw(st.integers(1, len(shape)))])


# -- symbols --------------------------------------------------------------------------------------------


@st.composite
def symbolic_layouts(draw: DrawFn, max_rank: int = 3, name: str = "S") -> Layout:
    """Layouts whose extents are symbols S0, S1, ... and numbers: compact in some order, or with a leading dimension.

    The leading dimension, SL, is at least the product that it replaces.

    >>> symbolic_layouts().example()  # doctest: +SKIP
    Layout((S0, 3), (3, 1))
    """
    extent = st.sampled_from((1, 2, 8, 64)).map(lambda m: (m, None)) | st.integers(1, 8).map(lambda n: (1, n))
    modes = draw(st.lists(st.tuples(extent, ORDER), min_size=1, max_size=max_rank))
    flat = [dim(f"{name}{i}", multiple_of=m) if n is None else n for i, ((m, n), _) in enumerate(modes)]
    shape = tuple(flat) if len(flat) > 1 else flat[0]
    stride = leaves(_compact(shape, [key for _, key in modes]))
    if len(flat) > 1 and draw(st.booleans()):
        last = _order([key for _, key in modes])[-1]
        stride[last] = dim(f"{name}L", at_least=stride[last])
    return Layout(shape, unflatten(tuple(stride), shape))


@st.composite
def sizes(draw: DrawFn, layout: Any, steps: int = 3) -> dict[Any, int]:
    """Small sizes for the symbols of a layout, as ``subs`` takes them, within their ranges and divisibility.

    >>> M = dim("M", multiple_of=8)
    >>> sizes(Layout(M)).example()  # doctest: +SKIP
    {M: 16}

    Each is one of the *steps* + 1 least that are possible, bounds by other symbols included.
    """
    env: dict[Any, int] = {}
    todo = list(Facts.about(layout).symbols)
    while todo:
        known = (s for s in todo if all(t in env for x in (s.lower, s.upper) if isinstance(x, Expr) for t in x.symbols))
        s = next(known)
        todo.remove(s)
        first = 0 if s.lower is None else -(-evaluate(s.lower, env) // s.multiple)
        last = first + steps if s.upper is None else min(first + steps, evaluate(s.upper, env) // s.multiple)
        env[s] = s.multiple * draw(st.integers(first, last))
    return env


# -- parts ----------------------------------------------------------------------------------------------


@st.composite
def _shaped(
    draw: DrawFn, max_size: int, max_rank: int, depth: int, also: SearchStrategy[Any]
) -> tuple[IntTuple, list[Any]]:
    """A shape, and for each of its leaves a value of *also*: drawn together, so that a leaf can be dropped."""
    extent = st.sampled_from([n for n in EXTENTS if n <= max_size])
    share = st.integers(0, max(depth - 1, 0))  # the levels of tuples that a leaf shares with the one before
    drawn = draw(st.lists(st.tuples(extent, share, st.booleans(), also), min_size=1, max_size=LEAVES))

    room, fitting = max_size, []
    for i, (n, *_) in enumerate(drawn):
        if n <= room:
            room //= n
            fitting.append(i)

    def nested(part: list[int], level: int) -> IntTuple:
        if len(part) == 1 or level == depth:
            return (part[0],) if drawn[part[0]][2] and level < depth else part[0]
        starts = [k for k, i in enumerate(part) if k == 0 or drawn[i][1] <= level]
        stops = [*starts[1:], len(part)]
        return tuple(nested(part[a:b], level + 1) for a, b in zip(starts, stops, strict=True))[:max_rank]

    kept = nested(fitting, 0)
    return map_leaves(lambda i: drawn[i][0], kept), [drawn[i][3] for i in leaves(kept)]


def _order(keys: Sequence[int]) -> list[int]:
    return sorted(range(len(keys)), key=lambda i: keys[i])


def _compact(shape: IntTuple, keys: Sequence[int]) -> IntTuple:
    """Compact strides in order of the keys; 0 where the extent is the number 1, as in CuTe."""
    flat = leaves(shape)
    out: list[Any] = [0] * len(flat)
    current: Any = 1
    for i in _order(keys):
        if not (type(flat[i]) is int and flat[i] == 1):
            out[i] = current
            current = current * flat[i]
    return unflatten(tuple(out), shape)


def _padded(shape: IntTuple, also: Sequence[tuple[int, int]]) -> IntTuple:
    """Strides in order of the keys, each a multiple of the extent that the ones before reach."""
    flat = leaves(shape)
    out, current = [0] * len(flat), 1
    for i in _order([key for key, _ in also]):
        out[i] = current * also[i][1]
        current = out[i] * flat[i]
    return unflatten(tuple(out), shape)


def _cuts(shape: IntTuple) -> list[int]:
    """The cuts of a shape: some whole leaves and a divisor of the next."""
    found, before = {1}, 1
    for n in leaves(shape):
        found |= {before * d for d in range(1, n + 1) if n % d == 0}
        before *= n
    return sorted(found)
