"""Every value of a layout of numbers, as arrays: modes are broadcast, 64 bits are used where they suffice.

>>> from symlayout import E, Layout
>>> rows(Layout((2, 2), (E(1), E(0)))).tolist()
[[0, 0], [0, 1], [1, 0], [1, 1]]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .basis import as_tuple
from .codomain import coprofile
from .errors import LayoutError
from .int_tuple import Coord, IntTuple, is_zero, leaves, map_leaves, rank, text, unflatten
from .layout import Layout, LayoutLike
from .swizzle import Swizzle

LISTED = 1 << 30  # values that fit into memory at once; more are a mistake


def rows(x: LayoutLike) -> np.ndarray[Any, Any]:
    """The values in linear order: a row for each coordinate, a column for each integer of a value.

    They are int64 where every step of the evaluation fits, else Python integers, exact and slow.
    Raises LayoutError for symbolic sizes, more than 2^30 coordinates, and values that the outer layout does not take.
    """
    if not x.static:
        raise LayoutError(f"expected a layout of plain integers, got {x}; bind its symbols first")
    if x.size() > LISTED:
        raise LayoutError(f"expected at most {LISTED} coordinates to list, got {x.size()}")
    if isinstance(x, Layout) and not x.has_bases and x.cosize() < 2**62:
        return x.offsets().reshape(-1, 1)
    _, peak = _reach(x)
    dtype = np.int64 if peak < 2**62 else object
    columns = [c if np.ndim(c) else np.full(x.size(), c, dtype) for c in leaves(_listed(x, dtype))]
    return columns[0].reshape(-1, 1) if len(columns) == 1 else np.stack(columns, axis=1)


def by_entry(x: Layout) -> IntTuple:
    """The strides of all modes in each integer of a value, arranged like the value; a list for each.

    >>> from symlayout import E
    >>> by_entry(Layout((4, 8), (2 * E(0), E(1))))
    ([2, 0], [0, 1])
    """
    return _by_entry(coprofile(x), [as_tuple(d) for _, d in x.modes()])


def _by_entry(profile: IntTuple, strides: list[Any]) -> IntTuple:
    if not isinstance(profile, tuple):
        return strides
    return tuple(_by_entry(p, [_entry(d, i, profile) for d in strides]) for i, p in enumerate(profile))


def _entry(stride: IntTuple, i: int, profile: IntTuple) -> Any:
    if isinstance(stride, tuple):
        return stride[i] if i < len(stride) else 0
    if is_zero(stride):
        return 0
    raise LayoutError(f"expected coordinates of one profile, such as {text(profile)}, got the integer {stride}")


def _listed(x: Any, dtype: Any) -> IntTuple:
    """The values over the domain, arranged like one value, an array for each integer of it."""
    if not isinstance(x, Layout):
        return _at(x.outer, _plus(x.offset, _listed(x.inner, dtype)))
    extents = leaves(x.shape)

    def broadcast(strides: list[int]) -> np.ndarray[Any, Any]:
        out = np.zeros(1, dtype=dtype)
        for n, d in zip(extents, strides, strict=True):
            out = (out[None, :] + (np.arange(n).astype(dtype) * d)[:, None]).reshape(-1)
        return out

    return map_leaves(broadcast, by_entry(x))


def _at(x: Any, coord: IntTuple) -> IntTuple:
    """The values of a swizzle or layout at coordinates, an array for each integer of one."""
    if isinstance(x, Swizzle):
        return x(coord)
    if not isinstance(x, Layout):
        return _at(x.outer, _plus(x.offset, _at(x.inner, coord)))
    low = min((int(np.min(c)) for c in leaves(coord)), default=0)
    if low < 0:
        raise LayoutError(f"expected coordinates of at least 0 for {x}, got {low}")
    return _strided(x, coord, lambda c, n: c % n)


def _strided(x: Layout, coord: Any, digit: Callable[[Any, int], Any], sign: Callable[[int], int] = int) -> IntTuple:
    """Each integer of the value at a coordinate; the last mode of each level is unbounded, as in CuTe."""

    def along(c: Coord, shape: IntTuple, stride: IntTuple) -> Any:
        if isinstance(c, tuple):
            if not isinstance(shape, tuple) or len(c) != len(shape):
                raise LayoutError(f"expected coordinates for {x} (rank {rank(x)}), got {len(c)} entries")
            return sum(along(*part) for part in zip(c, shape, stride, strict=True))
        total: Any = 0
        *inner, last = leaves(stride) or [0]
        for n, d in zip(leaves(shape), inner, strict=False):
            total, c = total + digit(c, n) * d, c // n
        return total + c * last

    return map_leaves(lambda strides: along(coord, x.shape, unflatten(tuple(map(sign, strides)), x.shape)), by_entry(x))


def _reach(x: Any, coord: IntTuple = None) -> tuple[IntTuple, int]:
    """(bounds of the values' magnitudes, of every number on the way) over the domain or up to *coord*."""
    if isinstance(x, Swizzle):
        return (top := 2 * max(coord, x.period)), top
    if isinstance(x, Layout):
        upto = map_leaves(lambda n: n - 1, x.shape) if coord is None else coord
        found = _strided(x, upto, lambda c, n: min(c, n - 1), abs)
        return found, max(0, *leaves(found), *leaves(x.shape), *(abs(d) for s in leaves(by_entry(x)) for d in s))
    inside, below = _reach(x.inner, coord)
    inside = _plus(map_leaves(abs, x.offset), inside)
    found, above = _reach(x.outer, inside)
    return found, max(below, above, *leaves(inside))


def _plus(a: IntTuple, b: IntTuple) -> IntTuple:
    """The sum entry by entry, the shorter padded with zeros; a plain 0 is neutral."""
    if isinstance(a, tuple) and isinstance(b, tuple):
        n = max(len(a), len(b))
        padded = ((*x, *(0,) * (n - len(x))) for x in (a, b))
        return tuple(map(_plus, *padded))
    for zero, other in ((a, b), (b, a)):
        if is_zero(zero):
            return other
    if isinstance(a, tuple) or isinstance(b, tuple):
        raise LayoutError("expected an offset and values of one profile, got a coordinate and an integer")
    return a + b
