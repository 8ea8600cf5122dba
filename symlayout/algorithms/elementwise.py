"""The elements of tensors over NumPy arrays, in the order in which CuTe visits them: that of the linear index.

>>> from symlayout.layout import Layout
>>> x = Tensor(np.arange(6.0), Layout((2, 3), (3, 1)))
>>> values(x).tolist()
[0.0, 3.0, 1.0, 4.0, 2.0, 5.0]
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..atoms.functions import map_function
from ..dtype import DType
from ..errors import LayoutError
from ..int_tuple import is_zero, leaves
from ..layout import Layout
from ..tensor import Tensor
from ..values import rows
from .pointers import TENSOR, Pointer, dtype_of, expect_kind

Array = np.ndarray[Any, Any]


def memory(x: Tensor) -> tuple[Array, int]:
    """(the array behind a tensor, the offset of its element 0). Raises LayoutError where there is no array."""
    expect_kind(x, Tensor, TENSOR)
    if isinstance(x.iterator, np.ndarray):
        if x.iterator.ndim != 1:
            raise LayoutError(f"expected a vector behind a tensor, got {x.iterator.ndim} modes; pass array.reshape(-1)")
        return x.iterator, 0
    if isinstance(x.iterator, Pointer) and isinstance(x.iterator.data, np.ndarray):
        if type(x.iterator.offset) is not int:
            raise LayoutError(f"expected a number as the offset of {x}; bind its symbols first")
        return x.iterator.data, x.iterator.offset
    raise LayoutError(f"expected a tensor over a NumPy array, got {x}")


def places(x: Tensor) -> Array:
    """The offset of each element, in the order of the linear index. Raises LayoutError for one outside of the array."""
    array, first = memory(x)
    at: Array = rows(x.layout)[:, 0] + first
    if len(at) and (at.min() < 0 or at.max() >= len(array)):
        raise LayoutError(
            f"expected offsets of 0 .. {len(array) - 1} into the array of {x.layout}, got {at.min()} .. {at.max()}"
        )
    return at


def values(x: Tensor) -> Array:
    """The elements, in the order of the linear index."""
    return memory(x)[0][places(x)]


def store(x: Tensor, new: Array, at: Array | None = None) -> None:
    """Put elements at their places; where several go to one place the last one stays."""
    array, _ = memory(x)
    at = places(x) if at is None else at
    last = len(at) - 1 - np.unique(at[::-1], return_index=True)[1]
    array[at[last]] = np.broadcast_to(new, at.shape)[last]


def converted(held: Array, source: DType | None, target: DType | None) -> Array:
    """Elements in the type of their destination, as ``atoms.functions`` converts them; of one type bit for bit."""
    if source is None or target is None or source == target:
        return held
    return map_function("convert").result([(source, held)], target, len(held))


def moved(src: Tensor, dst: Tensor, keep: Array | None = None) -> None:
    """``dst(i) = src(i)`` for each i, or for those to *keep*, one after the other."""
    to, come = places(dst), places(src)
    source, target = memory(src)[0], memory(dst)[0]
    if keep is not None:
        to, come = to[keep], come[keep]
    kinds = dtype_of(src), dtype_of(dst)
    if _meets(source, come, target, to):
        for i, j in zip(to, come, strict=True):  # what is read may have been written just before
            target[i : i + 1] = converted(source[j : j + 1], *kinds)
        return
    store(dst, converted(source[come], *kinds), to)


def _meets(source: Array, come: Array, target: Array, to: Array) -> bool:
    """Whether an element that is read may be one that is written, at another index."""
    if not np.shares_memory(source, target):
        return False
    if source is target or (source.ctypes.data == target.ctypes.data and source.dtype == target.dtype):
        return not np.array_equal(come, to) and bool(np.isin(come, to).any())
    return True


def expect_sizes(*tensors: Tensor, what: str) -> Any:
    """The common size of tensors. Raises LayoutError where sizes differ, or are not seen to be the same."""
    for x in tensors:
        expect_kind(x, Tensor, TENSOR)
    sizes = [x.size() for x in tensors]
    if any(type(n - sizes[0]) is not int or n != sizes[0] for n in sizes):
        shown = ", ".join(f"{n} of {x.layout}" for n, x in zip(sizes, tensors, strict=True))
        raise LayoutError(f"expected tensors of one size for {what}, got {shown}")
    return sizes[0]


def expect_no_race(src: Tensor, dst: Tensor, what: str) -> None:
    """Raise LayoutError where a destination repeats elements by strides of 0 and the source has several for one.

    CuTe drops such modes (``AutoFilter``), so that threads do not write one element several times, and asks the same.
    """
    repeats = isinstance(dst.layout, Layout) and any(is_zero(d) for d in leaves(dst.layout.stride))
    if not repeats or not dst.layout.static or not src.layout.static:
        return
    to, come = rows(dst.layout)[:, 0], rows(src.layout)
    _, first, which = np.unique(to, return_index=True, return_inverse=True)
    wrong = np.flatnonzero((come != come[first[which.reshape(-1)]]).any(axis=1))
    if len(wrong):
        i, j = int(first[which.reshape(-1)[wrong[0]]]), int(wrong[0])
        raise LayoutError(
            f"expected one source element for each destination element of {what}, got elements {i} and {j} of "
            f"{src.layout} for one element of {dst.layout}: threads would race"
        )
