"""Coordinates of shapes: to offsets and back, colexicographic as CuTe's, and the parts that one selects."""

from __future__ import annotations

from typing import Any

from .basis import as_tuple, is_basis, map_entries
from .errors import LayoutError
from .expr import Expr, floordiv, mod
from .facts import Facts
from .int_tuple import (
    MAX_DEPTH,
    IntTuple,
    add,
    by_parts,
    checked,
    congruent,
    paired,
    prefix_product,
    product,
    rank,
    text,
)


def crd2idx(coord: IntTuple, shape: IntTuple, stride: IntTuple = None) -> Any:
    """The offset of a coordinate: an integer, one integer for each mode, or anything between.

    >>> crd2idx(16, (3, (2, 3)), (3, (12, 1))), crd2idx((1, (1, 2)), (3, (2, 3)), (3, (12, 1)))
    (17, 17)

    Without strides the result is the position in colexicographic order. The last mode of each level
    is unbounded, as in CuTe. Raises LayoutError for negative integers and for ranks that differ.
    """
    if stride is None:
        stride = prefix_product(shape)
    elif not congruent(shape, stride):
        raise LayoutError(f"expected a stride congruent to the shape {text(shape)}, got {text(stride)}")
    return offset_at(coord, shape, stride)


def offset_at(coord: IntTuple, shape: IntTuple, stride: IntTuple) -> Any:
    """crd2idx for a stride that is known to be congruent to the shape."""
    if isinstance(coord, tuple):
        if not isinstance(shape, tuple) or len(coord) != len(shape):
            raise LayoutError(
                f"expected a coordinate for the shape {text(shape)} (rank {rank(shape)}), got {text(coord)}"
            )
        return add([offset_at(c, s, d) for c, s, d in zip(coord, shape, stride, strict=True)])
    if coord is None:
        return 0
    if type(coord) is int and coord < 0:
        raise LayoutError(f"expected a coordinate of at least 0, got {coord}")
    if not isinstance(shape, tuple):
        return coord * stride
    if not shape:
        return 0
    terms = []
    for s, d in zip(shape[:-1], stride[:-1], strict=True):
        n = product(s)
        terms.append(offset_at(mod(coord, n), s, d))
        coord = floordiv(coord, n)
    terms.append(offset_at(coord, shape[-1], stride[-1]))
    return add(terms)


def idx2crd(index: IntTuple, shape: IntTuple, stride: IntTuple = None) -> IntTuple:
    """The natural coordinate of an index, colexicographic; with strides, (index // stride) % shape by leaf.

    >>> idx2crd(16, (3, (2, 3)))
    (1, (1, 2))
    """
    if stride is not None:
        return _strided_idx2crd(index, shape, stride)
    if isinstance(index, tuple):
        return tuple(idx2crd(i, s) for i, s in paired(index, shape))
    if type(index) is int and index < 0:
        raise LayoutError(f"expected an index of at least 0, got {index}")
    if not isinstance(shape, tuple):
        return index
    out = []
    for s in shape[:-1]:
        n = product(s)
        out.append(idx2crd(mod(index, n), s))
        index = floordiv(index, n)
    return (*out, idx2crd(index, shape[-1])) if shape else ()


def _strided_idx2crd(index: IntTuple, shape: IntTuple, stride: IntTuple) -> IntTuple:
    if isinstance(index, tuple):
        return tuple(_strided_idx2crd(i, *mode) for i, mode in paired(index, tuple(paired(shape, stride))))
    if isinstance(shape, tuple):
        return tuple(_strided_idx2crd(index, s, d) for s, d in paired(shape, stride))
    if shape == 1 or stride == 0:
        return 0
    return mod(floordiv(index, stride), shape)


def crd2crd(coord: IntTuple, source: IntTuple, target: IntTuple) -> IntTuple:
    """The coordinate of *target* at the position that *coord* has in *source*."""
    parts = (coord, source, target)
    if all(isinstance(p, tuple) for p in parts) and len(coord) == len(source) == len(target):
        return tuple(map(crd2crd, *parts))
    return idx2crd(crd2idx(coord, source), target)


def slice_(coord: IntTuple, x: IntTuple) -> IntTuple:
    """The parts of *x* (a tuple or a layout) paired with None; the nesting of removed levels vanishes."""
    if hasattr(x, "stride"):
        return by_parts(lambda t: slice_(coord, t), x)
    return _selected(coord, x, keep_none=True)


def dice(coord: IntTuple, x: IntTuple) -> IntTuple:
    """The parts of *x* (a tuple or a layout) paired with integers."""
    if hasattr(x, "stride"):
        return by_parts(lambda t: dice(coord, t), x)
    return _selected(coord, x, keep_none=False)


def _selected(coord: IntTuple, x: IntTuple, keep_none: bool) -> IntTuple:
    if not isinstance(coord, tuple):
        return x if (coord is None) == keep_none else ()
    out: tuple[Any, ...] = ()
    for c, a in paired(coord, x):
        if isinstance(c, tuple):
            out += _selected(c, a, keep_none)
        elif (c is None) == keep_none:
            out += (a,)
    return out


def checked_coordinate(c: Any, depth: int = 0) -> IntTuple:
    """A coordinate with None allowed at its leaves; the value of a layout of coordinates is one too."""
    if c is None:
        return None
    if isinstance(c, tuple | list):
        if depth >= MAX_DEPTH:
            raise LayoutError(f"expected a coordinate nested at most {MAX_DEPTH} deep, got a deeper one")
        return tuple(checked_coordinate(x, depth + 1) for x in c)
    return as_tuple(c) if is_basis(c) else checked(c, "coordinate")


def resolved(x: Any) -> Any:
    """An expression with the quotients that its own symbols decide divided out (T10)."""
    if is_basis(x):
        return map_entries(resolved, x)
    return Facts.about(x).resolved(x) if isinstance(x, Expr) else x
