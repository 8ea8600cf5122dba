"""Names that users of pycute and of the CuTe DSL look for, with the meaning that these have there."""

from __future__ import annotations

from abc import ABC
from typing import Any

from .composition import composition
from .errors import LayoutError
from .expr import IntLike, integer
from .int_tuple import checked, congruent, is_one, product_each, size, text
from .inverses import right_inverse
from .layout import ComposedLayout, Layout, LayoutLike
from .making import make_layout
from .meter import ends
from .tiling import raked_product


class Integer(ABC):  # noqa: B024  # a name for isinstance, as in pycute
    """Integers of a shape: Python's, NumPy's and expressions, but not booleans.

    >>> from symlayout import dim
    >>> isinstance(3, Integer), isinstance(dim("M"), Integer), isinstance(True, Integer), isinstance(3.0, Integer)
    (True, True, False, False)
    """

    @classmethod
    def __subclasshook__(cls, kind: type) -> bool:
        return hasattr(kind, "__index__") and kind is not bool


class LayoutBase(ABC):  # noqa: B024  # a name for isinstance, as in pycute
    """The base of all layouts, plain or composed: ``isinstance(x, LayoutBase)``."""


LayoutBase.register(Layout)
LayoutBase.register(ComposedLayout)


def shiftl(a: Any, s: Any) -> Any:
    """``a << s``, and ``a >> -s`` where s is negative.

    >>> shiftl(3, 2), shiftl(12, -2)
    (12, 3)
    """
    a, s = integer(a), integer(s)
    return a << s if s >= 0 else a >> -s


def shiftr(a: Any, s: Any) -> Any:
    """``a >> s``, and ``a << -s`` where s is negative."""
    return shiftl(a, -integer(s))


@ends
def make_composed_layout(inner: LayoutLike, offset: IntLike, outer: LayoutLike) -> ComposedLayout:
    """``c -> inner(offset + outer(c))`` in the order of the CuTe DSL, which calls what is applied last *inner*.

    >>> from symlayout import Swizzle
    >>> print(make_composed_layout(Swizzle(2, 0, 3), 0, Layout((8, 8), (8, 1))))
    Sw<2,0,3> o 0 o (8,8):(8,1)
    """
    return ComposedLayout(inner, offset, outer)


@ends
def make_layout_tv(thr_layout: Layout, val_layout: Layout) -> tuple[Any, Layout]:
    """(tile, thread-value layout): which threads, with which of their values, hold each element of the tile.

    >>> tile, tv = make_layout_tv(Layout((4, 8), (8, 1)), Layout((2, 2), (2, 1)))
    >>> print(tile, tv)
    (8, 16) ((8,4),(2,2)):((16,2),(8,1))

    Raises LayoutError where threads or values are not counted once each.
    """
    tiles = raked_product(thr_layout, val_layout)
    threads, values = size(thr_layout.shape), size(val_layout.shape)
    inverse = right_inverse(tiles)
    if inverse.size() != threads * values:
        raise LayoutError(f"expected threads and values that are counted once each, got {thr_layout} and {val_layout}")
    return product_each(tiles.shape), composition(inverse, make_layout((threads, values)))


@ends
def leading_dim(shape: Any, stride: Any) -> int | tuple[int, ...] | None:
    """The mode of stride 1 whose extent is not 1: its number, its path where it is nested, None where there is none.

    >>> leading_dim((4, 8), (8, 1)), leading_dim((4, (2, 8)), (16, (8, 1))), leading_dim((1, 8), (1, 4))
    (1, (1, 1), None)
    """
    shape, stride = checked(shape, "shape"), checked(stride, "stride")
    if not congruent(shape, stride):
        raise LayoutError(f"expected a stride of the shape's profile, got {text(shape)} and {text(stride)}")
    path = _leading(shape, stride)
    return path[0] if path is not None and len(path) == 1 else 0 if path == () else path


def _leading(shape: Any, stride: Any) -> tuple[int, ...] | None:
    if not isinstance(shape, tuple):
        return () if is_one(stride) and shape != 1 else None
    for i, (s, d) in enumerate(zip(shape, stride, strict=True)):
        found = _leading(s, d)
        if found is not None:
            return (i, *found)
    return None
