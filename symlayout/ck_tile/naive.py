"""Naive descriptors: lengths and strides, packed, aligned, and with an offset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..errors import LayoutError
from ..expr import Expr, integer, maximum
from ..int_tuple import ceil_div
from ..transforms import UNKNOWN, Embed, Offset, Unmerge
from ..transforms.merge import row_major, total
from ..transforms.transform import lengths_of
from .adaptor import Graph
from .descriptor import TensorDescriptor, one_bottom


def make_naive_tensor_descriptor(
    lengths: Sequence[Any],
    strides: Sequence[Any],
    guaranteed_last_dim_vector_length: Any = UNKNOWN,
    guaranteed_last_dim_vector_stride: Any = UNKNOWN,
) -> TensorDescriptor:
    """A tensor of lengths and strides, with what the caller guarantees of vectors along its last dimension.

    >>> print(make_naive_tensor_descriptor((3, 4), (1, 3)))
    (x0,x1) -> x0 + 3*x1 for x0 < 3, x1 < 4
    """
    t = Embed(lengths_of(lengths), lengths_of(strides))
    guarantee = integer(guaranteed_last_dim_vector_length), integer(guaranteed_last_dim_vector_stride)
    return TensorDescriptor(one_bottom(t, guarantee), _space(t))


def _space(t: Embed) -> Any:
    """1 + the sum of (length - 1)*stride: what upstream takes as the size, for strides of at least 0."""
    out: Any = 1
    for n, s in zip(t.lengths, t.coefficients, strict=True):
        out = out + (n - 1) * s
    return out


def make_naive_tensor_descriptor_packed(
    lengths: Sequence[Any], guaranteed_last_dim_vector_length: Any = UNKNOWN, *, version: str = "V24"
) -> TensorDescriptor:
    """A row-major tensor without gaps.

    >>> d = make_naive_tensor_descriptor_packed((10, 10))
    >>> print(d.calculate_offset((2, 3)), d.element_space_size)
    23 100

    Upstream of 2025 (*version* "V25") guarantees the whole last length where it is a number, and drops the guarantee
    that is given where it is not.
    """
    t = Unmerge(lengths_of(lengths))
    given = integer(guaranteed_last_dim_vector_length)
    if version == "V24" or not t.lengths:
        return TensorDescriptor(one_bottom(t, (given, 1)), total(t.lengths))
    size, last = total(t.lengths), t.lengths[-1]
    made = one_bottom(t, (UNKNOWN if isinstance(last, Expr) else maximum(last, given), 1))
    space = () if isinstance(size, Expr) else ((0, size),)
    return TensorDescriptor(replace(made, lengths=(*space, *made.lengths), strides=((0, 1), *made.strides)), size)


def make_naive_tensor_descriptor_aligned(lengths: Sequence[Any], align: Any) -> TensorDescriptor:
    """A row-major tensor whose rows begin at multiples of *align* elements. It guarantees nothing of vectors.

    >>> d = make_naive_tensor_descriptor_aligned((5, 13), 8)
    >>> d.calculate_offset((1, 0)), d.element_space_size
    (16, 77)
    """
    n = lengths_of(lengths)
    if len(n) < 2:
        return make_naive_tensor_descriptor(n, (1,) * len(n))
    row = ceil_div(n[-1], integer(align)) * integer(align)
    outer = tuple(row * s for s in row_major(n[:-1]))
    return make_naive_tensor_descriptor(n, (*outer, 1))


def make_naive_tensor_descriptor_with_offset(
    lengths: Sequence[Any],
    strides: Sequence[Any],
    offset: Any,
    guaranteed_last_dim_vector_length: Any = UNKNOWN,
    guaranteed_last_dim_vector_stride: Any = UNKNOWN,
) -> TensorDescriptor:
    """A tensor whose first element is at *offset*.

    >>> d = make_naive_tensor_descriptor_with_offset((3, 4), (4, 1), 5)
    >>> d.calculate_offset((2, 3)), d.element_space_size
    (16, 12)

    As upstream, the space does not count the offset, and the guarantee is of the dimension between the two transforms,
    through which none passes, so that vectors along the last dimension have none.
    """
    t = Embed(lengths_of(lengths), lengths_of(strides))
    guarantee = integer(guaranteed_last_dim_vector_length), integer(guaranteed_last_dim_vector_stride)
    return TensorDescriptor(_with_offset(t, offset, guarantee), _space(t))


def make_naive_tensor_descriptor_packed_with_offset(
    lengths: Sequence[Any], offset: Any, guaranteed_last_dim_vector_length: Any = UNKNOWN
) -> TensorDescriptor:
    """A row-major tensor without gaps whose first element is at *offset*; upstream declares it, and cannot call it.

    >>> make_naive_tensor_descriptor_packed_with_offset((3, 4), 5).calculate_offset((2, 3))
    16
    """
    t = Unmerge(lengths_of(lengths))
    return TensorDescriptor(_with_offset(t, offset, (integer(guaranteed_last_dim_vector_length), 1)), total(t.lengths))


def _with_offset(t: Embed | Unmerge, offset: Any, guarantee: tuple[Any, Any]) -> Graph:
    if not t.upper_rank:
        raise LayoutError("expected at least one dimension with an offset, got none")
    top = tuple(range(2, t.upper_rank + 2))
    space = _space(t) if isinstance(t, Embed) else total(t.lengths)
    length, stride = guarantee
    return Graph(
        (Offset(space, offset), t),
        ((0,), (1,)),
        ((1,), top),
        (0,),
        top,
        () if length == UNKNOWN else ((1, length),),
        () if stride == UNKNOWN else ((1, stride),),
    )
