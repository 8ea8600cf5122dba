"""Slices, transposes and padded tensors, as CK writes them by transforms."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import LayoutError
from ..expr import integer
from ..int_tuple import ceil_div, text
from ..transforms import PassThrough, RightPad, Slice
from .descriptor import TensorDescriptor, transform_tensor_descriptor
from .tensor_view import TensorView, transform_tensor_view


def pad_tensor_view(tensor_view: TensorView, tile_lengths: Sequence[Any], do_pads: Sequence[bool]) -> TensorView:
    """Each dimension up to the next multiple of its tile where *do_pads* says so, else as it is.

    >>> from symlayout import dims
    >>> from symlayout.ck_tile import make_naive_tensor_view
    >>> M, K = dims("M K")
    >>> print(pad_tensor_view(make_naive_tensor_view(None, (M, K), (K, 1)), (128, 64), (True, False)).descriptor)
    (x0,x1) -> K*x0 + x1 for x0 < 128*ceil(M/128), x1 < K when M >= x0 + 1
    """
    lengths = tensor_view.descriptor.lengths
    if not len(lengths) == len(tile_lengths) == len(do_pads):
        raise LayoutError(
            f"expected a tile and a choice for each of {len(lengths)} dimensions, "
            f"got {text(tuple(tile_lengths))} and {len(do_pads)} choices"
        )
    rows = zip(lengths, map(integer, tile_lengths), do_pads, strict=True)
    transforms = [RightPad(n, ceil_div(n, tile) * tile - n) if pad else PassThrough(n) for n, tile, pad in rows]
    each = tuple((i,) for i in range(len(lengths)))
    return transform_tensor_view(tensor_view, transforms, each, each)


def slice_tensor_view(tensor_view: TensorView, begins: Sequence[Any], ends: Sequence[Any]) -> TensorView:
    """The part from *begins* to before *ends*, by a slice of each dimension.

    >>> from symlayout.ck_tile import make_naive_tensor_view_packed
    >>> tile = slice_tensor_view(make_naive_tensor_view_packed(range(100), (10, 10)), (2, 3), (7, 8))
    >>> tile[0, 0], tile[4, 4]
    (23, 67)
    """
    lengths = tensor_view.descriptor.lengths
    if not len(lengths) == len(begins) == len(ends):
        raise LayoutError(
            f"expected a begin and an end for each of {len(lengths)} dimensions, "
            f"got {text(tuple(begins))} and {text(tuple(ends))}"
        )
    transforms = [Slice(*row) for row in zip(lengths, begins, ends, strict=True)]
    each = tuple((i,) for i in range(len(lengths)))
    return transform_tensor_view(tensor_view, transforms, each, each)


def transpose_tensor_view(tensor_view: TensorView, order: Sequence[int] | None = None) -> TensorView:
    """The dimensions in another order, by default reversed: pass_through of each, to another place.

    >>> from symlayout.ck_tile import make_naive_tensor_view_packed
    >>> transpose_tensor_view(make_naive_tensor_view_packed(range(12), (3, 4)))[2, 1]
    6
    """
    new = transpose_tensor_descriptor(tensor_view.descriptor, order)
    return TensorView(tensor_view.buffer, new, tensor_view.memory_operation)


def transpose_tensor_descriptor(desc: TensorDescriptor, order: Sequence[int] | None = None) -> TensorDescriptor:
    """Dimension ``order[i]`` at place i."""
    rank = len(desc.lengths)
    places = tuple(reversed(range(rank)) if order is None else order)
    if sorted(places) != [*range(rank)]:
        raise LayoutError(f"expected each dimension of 0 .. {rank - 1} once, got {text(places)}")
    each = tuple((i,) for i in range(rank))
    to = tuple((places.index(i),) for i in range(rank))
    return transform_tensor_descriptor(desc, [PassThrough(n) for n in desc.lengths], each, to)


def memory_of(values: Any, desc: TensorDescriptor) -> list[Any]:
    """The memory in which a descriptor reads an array of values; None where nothing reads.

    >>> from symlayout.ck_tile import make_naive_tensor_descriptor
    >>> rows = [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]
    >>> memory_of(rows, make_naive_tensor_descriptor((3, 4), (1, 3)))
    [0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11]

    Raises LayoutError for values of another shape, and where two indices of one offset have different values.
    """
    array = np.asarray(values)
    if array.shape != desc.lengths:
        raise LayoutError(f"expected values of shape {text(desc.lengths)}, got {text(array.shape)}")
    out: dict[int, Any] = {}
    for at in itertools.product(*map(range, array.shape)):
        if desc.valid_at(at):
            offset, value = desc(at), array[at].item()
            if out.setdefault(offset, value) != value:
                raise LayoutError(f"expected one value at offset {offset}, got {out[offset]} and {value} at {text(at)}")
    return [out.get(i) for i in range(max(out, default=-1) + 1)]
