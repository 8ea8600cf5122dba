"""Tensors: an iterator and a layout. A coordinate tensor's iterator is a base coordinate, not an address."""

from __future__ import annotations

from typing import Any

import numpy as np

from .basis import ArithmeticTupleIterator
from .codomain import coprofile
from .coordinates import checked_coordinate, dice, idx2crd
from .errors import LayoutError
from .expr import Expr, IntLike, Symbol, coerce_or_none
from .facts import symbols_in
from .int_tuple import Coord, IntTuple, Shape, add, has_none, is_zero, product_each, rank
from .layout import ComposedLayout, Layout, expect_layouts, is_layout, make_raw, slice_layout
from .making import make_identity_layout
from .meter import ends
from .strides import as_modes
from .tiling import zipped_divide


class Tensor:
    """``iterator o layout``: element c is what the iterator finds at layout(c).

    >>> t = make_identity_tensor((8, 6))
    >>> print(t, t(2, 3), t(None, 3))
    ArithTuple(0,0) o (8,6):(1@0,1@1) (2, 3) ArithTuple(0,3) o (8,):(1@0,)

    Slicing moves the iterator. The iterator is an integer offset, an ArithmeticTupleIterator, or any object
    that adds integers and can be indexed (a NumPy array is read at the offset).
    """

    __slots__ = ("iterator", "layout")

    def __init__(self, iterator: Any, layout: Any) -> None:
        if not is_layout(layout):
            raise LayoutError(f"expected a layout for a tensor, got {layout!r}")
        known = None if isinstance(iterator, np.ndarray) else coerce_or_none(iterator)
        object.__setattr__(self, "iterator", iterator if known is None else known)
        object.__setattr__(self, "layout", layout)

    iterator: Any
    layout: Any

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a Tensor is a value; make a new one instead of setting {name}")

    def __call__(self, *coord: Any) -> Any:
        c = checked_coordinate(coord[0] if len(coord) == 1 else coord)
        if has_none(c):
            rest, offset = slice_layout(c, self.layout)
            return Tensor(moved(self.iterator, offset), rest)
        return self._at(self.layout(c))

    def _at(self, offset: Any) -> Any:
        if isinstance(self.iterator, ArithmeticTupleIterator):
            return self.iterator[offset]
        return self.iterator + offset if isinstance(self.iterator, int | Expr) else self.iterator[offset]

    @property
    def shape(self) -> IntTuple:
        return self.layout.shape

    @property
    def stride(self) -> IntTuple:
        return self.layout.stride

    @property
    def symbols(self) -> tuple[Symbol, ...]:
        return tuple(sorted(symbols_in((self.iterator, self.layout)), key=lambda s: s.name))

    @property
    def obligations(self) -> Any:
        return self.layout.obligations

    def size(self) -> Any:
        return self.layout.size()

    def __len__(self) -> int:
        return rank(self.layout)

    def compose(self, *tilers: Any) -> Tensor:
        """The tensor with its layout composed."""
        return Tensor(self.iterator, self.layout.compose(*tilers))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tensor):
            return NotImplemented
        return bool(self.iterator == other.iterator and self.layout == other.layout)

    def __hash__(self) -> int:
        return hash((self.iterator, self.layout))

    def __reduce__(self) -> Any:
        return Tensor, (self.iterator, self.layout)

    def __str__(self) -> str:
        return f"{self.iterator} o {self.layout}"

    __repr__ = __str__


def moved(iterator: Any, offset: IntLike) -> Any:
    """The iterator *offset* further on."""
    if is_zero(offset):
        return iterator
    return iterator[offset:] if isinstance(iterator, np.ndarray) else iterator + offset


@ends
def make_tensor(iterator: Any, *layout: Any) -> Tensor:
    """A tensor from an iterator and a layout, or a shape and a stride."""
    return Tensor(iterator, layout[0] if len(layout) == 1 and is_layout(layout[0]) else Layout(*layout))


@ends
def make_coord_tensor(layout: Layout) -> Tensor:
    """The tensor of a basis-strided layout, based at the zero coordinate of its codomain."""
    return Tensor(ArithmeticTupleIterator(coprofile(layout)), layout)


@ends
def make_identity_tensor(shape: Shape) -> Tensor:
    """The tensor whose element at a coordinate is that coordinate: tile it as the data to make predicates."""
    return make_coord_tensor(make_identity_layout(shape))


def _split(x: Any) -> tuple[Any, Any]:
    if isinstance(x, Tensor):
        return x.iterator, x.layout
    if is_layout(x):
        return (make_coord_tensor(x).iterator if x.has_bases else 0), x
    raise LayoutError(f"expected a tensor or a layout, got {x!r}")


@ends
def inner_partition(x: Any, tiler: Any, coord: Coord) -> Tensor:
    """The tile at *coord* among the tiles: tile modes kept, rest modes sliced."""
    iterator, layout = _split(x)
    zipped = zipped_divide(layout, tiler)
    rest = _padded(coord, rank(zipped.shape[1]))
    return _unpacked(iterator, zipped, (None if rank(zipped.shape[0]) == 1 else (None,) * rank(zipped.shape[0]), rest))


@ends
def outer_partition(x: Any, tiler: Any, coord: Coord) -> Tensor:
    """The elements at position *coord* of every tile: tile modes sliced, rest modes kept."""
    iterator, layout = _split(x)
    zipped = zipped_divide(layout, tiler)
    tile = _padded(coord, rank(zipped.shape[0]))
    return _unpacked(iterator, zipped, (tile, None if rank(zipped.shape[1]) == 1 else (None,) * rank(zipped.shape[1])))


def _padded(coord: Any, n: int) -> Any:
    c = checked_coordinate(coord)
    return c + (None,) * (n - len(c)) if isinstance(c, tuple) else c


def _unpacked(iterator: Any, zipped: Any, coord: Any) -> Tensor:
    rest, offset = slice_layout(coord, zipped)
    return Tensor(moved(iterator, offset), rest)


@ends
def local_tile(x: Any, tiler: Any, coord: Any, proj: Any = None) -> Tensor:
    """The tile of a tensor that a block works on.

    >>> print(local_tile(make_identity_tensor((8, 6)), (4, 3), (1, None)))
    ArithTuple(4,0) o (4,3,2):(1@0,1@1,3@1)

    *proj* has 1 where a mode of tiler and coordinate applies and None where it is dropped.
    """
    if proj is not None:
        tiler, coord = dice(proj, tuple(tiler)), dice(proj, tuple(coord))
    return inner_partition(x, tiler, coord)


@ends
def local_partition(x: Any, threads: Layout, index: Any, proj: Any = None) -> Tensor:
    """The elements of thread *index* of a thread layout, over all tiles of that layout's shape.

    As in CuTe the strides of *threads* only convert the index into a coordinate.
    """
    expect_layouts(threads)
    if proj is not None:
        keep = dice(proj, tuple(range(rank(threads))))
        threads = make_raw(
            tuple(threads.shape[i] for i in keep), tuple(threads.stride[i] for i in keep), threads.obligations
        )
    return outer_partition(x, product_each(threads.shape), flat_coordinate(threads, index))


def flat_coordinate(layout: Layout, index: Any) -> tuple[Any, ...]:
    """CuTe's get_flat_coord: the coordinate at which a compact layout has this value, one integer a mode."""
    shape, stride = as_modes(layout.shape), as_modes(layout.stride)
    coords = (idx2crd(index, s, d) for s, d in zip(shape, stride, strict=True))
    return tuple(c if not isinstance(c, tuple) else Layout(s)(c) for c, s in zip(coords, shape, strict=True))


@ends
def domain_offset(coord: Any, x: Any) -> Tensor:
    """The tensor with coordinate 0 moved to *coord*."""
    iterator, layout = _split(x)
    if isinstance(layout, ComposedLayout):  # the offset stays inside a swizzle
        return Tensor(iterator, ComposedLayout(layout.outer, add([layout.offset, layout.inner(coord)]), layout.inner))
    return Tensor(moved(iterator, layout(coord)), layout)
