"""Coordinates: all hidden indices of a top index, and how upstream moves them.

Source: ROCm/composable_kernel, include/ck_tile/core/tensor/tensor_adaptor_coordinate.hpp.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import LayoutError
from ..expr import Int, integer
from ..int_tuple import is_zero, text
from ..transforms import Indices
from .adaptor import Graph, TensorAdaptor


@dataclass(frozen=True)
class TensorCoordinate:
    """The indices of all hidden dimensions, of which the bottom ones are the offset and the top ones the index."""

    hidden: Indices
    bottom_ids: tuple[int, ...]
    top_ids: tuple[int, ...]

    @property
    def index(self) -> Indices:
        """The top index."""
        return tuple(self.hidden[i] for i in self.top_ids)

    @property
    def offset(self) -> Int:
        """The first bottom index: the offset of a descriptor, in elements."""
        return self.hidden[self.bottom_ids[0]]

    def get_index(self) -> Indices:
        """CK's name of ``index``."""
        return self.index

    def get_offset(self) -> Int:
        """CK's name of ``offset``."""
        return self.offset

    def get_bottom_index(self) -> Indices:
        """All bottom indices."""
        return tuple(self.hidden[i] for i in self.bottom_ids)

    def __str__(self) -> str:
        return f"{text(self.index)} at {text(self.get_bottom_index())}"


def make_tensor_coordinate(descriptor: TensorAdaptor, top: Sequence[Any]) -> TensorCoordinate:
    """The coordinate of a top index.

    >>> from symlayout.ck_tile import make_naive_tensor_descriptor_packed
    >>> c = make_tensor_coordinate(make_naive_tensor_descriptor_packed((16, 16)), (4, 0))
    >>> c.offset, c.index
    (64, (4, 0))
    """
    g = descriptor.graph
    return _coordinate(g, g.hidden(_top(g, top)))


def move_tensor_coordinate(
    descriptor: TensorAdaptor, coordinate: TensorCoordinate, step: Sequence[Any]
) -> TensorCoordinate:
    """The coordinate *step* further on, by upstream's rule for each transform; it changes nothing in place.

    The law is that it equals ``make_tensor_coordinate`` at the sum. It holds for every transform but modulo, indexing
    and unmerge on 24 bits: ``checkers.MovingEqualsMaking`` proves or refutes it for a descriptor.

    >>> from symlayout.ck_tile import make_naive_tensor_descriptor_packed
    >>> d = make_naive_tensor_descriptor_packed((16, 16))
    >>> move_tensor_coordinate(d, make_tensor_coordinate(d, (4, 0)), (1, 2)).offset
    82
    """
    return _coordinate(descriptor.graph, moved(descriptor.graph, coordinate.hidden, step))


def moved(graph: Graph, hidden: Sequence[Int], step: Sequence[Any]) -> Mapping[int, Int]:
    """Hidden indices after a step of the top index, as upstream updates them."""
    h = dict(enumerate(hidden))
    diff: dict[int, Int] = dict.fromkeys(h, 0)
    for i, d in zip(graph.top_ids, _top(graph, step), strict=True):
        diff[i] = d
        h[i] = h[i] + d
    for t, low, up in reversed([*graph.rows()]):
        steps = tuple(diff[i] for i in up)
        if all(map(is_zero, steps)):
            continue
        found = t.update(steps, tuple(h[i] for i in low), tuple(h[i] for i in up))
        for i, d in zip(low, found, strict=True):
            diff[i], h[i] = d, h[i] + d
    return h


def coordinate_has_valid_offset_assuming_top_index_is_valid(
    descriptor: TensorAdaptor, coordinate: TensorCoordinate
) -> bool:
    """Whether the pads admit a coordinate of integers: all that an access of a tensor view tests.

    >>> from symlayout.ck_tile import make_naive_tensor_view_packed, pad_tensor_view
    >>> d = pad_tensor_view(make_naive_tensor_view_packed(None, (5,)), (8,), (True,)).descriptor
    >>> made = [make_tensor_coordinate(d, (i,)) for i in (-1, 4, 5)]
    >>> [coordinate_has_valid_offset_assuming_top_index_is_valid(d, c) for c in made]
    [True, True, False]
    """
    hidden = dict(enumerate(coordinate.hidden))
    return all(f.value for f in descriptor.graph.valid(hidden))


def coordinate_has_valid_offset(descriptor: TensorAdaptor, coordinate: TensorCoordinate) -> bool:
    """Whether the pads admit a coordinate of integers, and its top index lies inside the lengths.

    >>> from symlayout.ck_tile import make_naive_tensor_view_packed, pad_tensor_view
    >>> d = pad_tensor_view(make_naive_tensor_view_packed(None, (5,)), (8,), (True,)).descriptor
    >>> [coordinate_has_valid_offset(d, make_tensor_coordinate(d, (i,))) for i in (-1, 4, 5)]
    [False, True, False]
    """
    inside = all(bool(i >= 0) and bool(i < n) for i, n in zip(coordinate.index, descriptor.extents, strict=True))
    return inside and coordinate_has_valid_offset_assuming_top_index_is_valid(descriptor, coordinate)


def _top(graph: Graph, top: Sequence[Any]) -> Indices:
    if len(top) != len(graph.top_ids):
        raise LayoutError(f"expected {len(graph.top_ids)} indices, got {text(tuple(top))}")
    return tuple(map(integer, top))


def _coordinate(graph: Graph, hidden: Mapping[int, Int]) -> TensorCoordinate:
    return TensorCoordinate(tuple(hidden[i] for i in range(len(hidden))), graph.bottom_ids, graph.top_ids)


make_tensor_adaptor_coordinate = make_tensor_coordinate
move_tensor_adaptor_coordinate = move_tensor_coordinate
