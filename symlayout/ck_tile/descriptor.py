"""TensorDescriptor: an adaptor with one bottom dimension, the offset, and the space that its elements take.

Source: ROCm/composable_kernel, include/ck_tile/core/tensor/tensor_descriptor.hpp.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

from ..errors import LayoutError
from ..expr import Expr, Int, Symbol, integer, substitute
from ..facts import symbols_in
from ..int_tuple import text
from ..transforms import UNKNOWN, Indices, Transform
from ..transforms.merge import total
from .adaptor import Graph, Ids, TensorAdaptor


class TensorDescriptor(TensorAdaptor):
    """Indices of a tensor to offsets into a buffer, in elements, under the predicate of its pads.

    >>> from symlayout.ck_tile import make_naive_tensor_descriptor
    >>> d = make_naive_tensor_descriptor((3, 4), (4, 1))
    >>> print(d, d.calculate_offset((1, 2)), d.element_space_size)
    (x0,x1) -> 4*x0 + x1 for x0 < 3, x1 < 4 6 12

    ``element_space_size`` is that of the descriptor that it was made from by transforms, as upstream: no slice, pad or
    offset changes it.
    """

    __slots__ = ("element_space_size",)
    element_space_size: Int

    def __init__(self, graph: Graph, element_space_size: Any, names: Sequence[str] | None = None) -> None:
        if len(graph.bottom_ids) != 1:
            raise LayoutError(f"expected one bottom dimension, the offset, got {len(graph.bottom_ids)}")
        super().__init__(graph, names)
        self.element_space_size = integer(element_space_size)

    def _value(self, bottom: Indices) -> Int:
        return bottom[0]

    def _like(self, graph: Graph, values: Mapping[Any, Any]) -> Self:
        size = substitute(self.element_space_size, values)
        return type(self)(graph, size, [c.name for c in self.coords])

    @property
    def lengths(self) -> Indices:
        """The lengths of the top dimensions, padding included."""
        return self.extents

    @property
    def element_size(self) -> Any:
        """The product of the lengths, padding included."""
        return total(self.extents)

    @property
    def symbols(self) -> tuple[Symbol, ...]:
        found = symbols_in((self.element_space_size,)) | set(super().symbols)
        return tuple(sorted(found, key=lambda s: s.name))

    def calculate_offset(self, index: Sequence[Any]) -> Any:
        """The offset of an index, in elements."""
        return self(tuple(index))

    def get_element_space_size(self) -> Int:
        """CK's name of ``element_space_size``."""
        return self.element_space_size

    def get_element_size(self) -> Any:
        """CK's name of ``element_size``."""
        return self.element_size

    def get_num_of_dimension(self) -> int:
        """The number of top dimensions."""
        return len(self.extents)

    def _identity(self) -> tuple[Any, ...]:
        return TensorDescriptor, self.graph, self.element_space_size

    def __reduce__(self) -> Any:
        return type(self), (self.graph, self.element_space_size, [c.name for c in self.coords])


def transform_tensor_descriptor(
    old: TensorDescriptor,
    new_transforms: Sequence[Transform],
    lower_dimension_old_top_idss: Sequence[Sequence[int]],
    upper_dimension_new_top_idss: Sequence[Sequence[int]] | None = None,
    mode: str = "exact",
) -> TensorDescriptor:
    """The descriptor seen through transforms of its top dimensions; a transpose is the order of the new ones.

    >>> from symlayout.ck_tile import make_naive_tensor_descriptor_packed, make_slice_transform
    >>> d = make_naive_tensor_descriptor_packed((10, 10))
    >>> slices = make_slice_transform(10, 2, 7), make_slice_transform(10, 3, 8)
    >>> tile = transform_tensor_descriptor(d, slices, ((0,), (1,)), ((0,), (1,)))
    >>> tile.calculate_offset((0, 0)), tile.calculate_offset((4, 4)), tile.element_space_size
    (23, 67, 100)

    Upstream leaves top dimensions at the end out without a word if no transform takes them, and they are 0 from then
    on: ``mode="ck"`` does so too, else that raises LayoutError. So does a list of dimensions that is no permutation.
    """
    if upper_dimension_new_top_idss is None:
        raise LayoutError(
            "expected four arguments: a descriptor, transforms, the old dimensions of each and its new ones, got "
            "three; where a part begins is said by make_slice_transform(length, begin, end)"
        )
    graph = transformed(old.graph, new_transforms, lower_dimension_old_top_idss, upper_dimension_new_top_idss, mode)
    return TensorDescriptor(graph, old.element_space_size)


def transformed(
    old: Graph,
    transforms: Sequence[Transform],
    lower_idss: Sequence[Sequence[int]],
    upper_idss: Sequence[Sequence[int]],
    mode: str = "exact",
) -> Graph:
    """A graph with transforms put on its top dimensions; new hidden dimensions are appended in their order."""
    if mode not in ("exact", "ck"):
        raise LayoutError(f'expected "exact" or "ck" as mode, got {mode!r}')
    if not len(transforms) == len(lower_idss) == len(upper_idss):
        raise LayoutError(
            f"expected old and new dimensions for each of {len(transforms)} transforms, "
            f"got {len(lower_idss)} and {len(upper_idss)}"
        )
    for t in transforms:
        if not isinstance(t, Transform):
            raise LayoutError(f"expected a transform such as make_pass_through_transform(5), got {t!r}")
    lower = [_ids(x, t.lower_rank, f"old dimensions of {t}") for x, t in zip(lower_idss, transforms, strict=True)]
    upper = [_ids(x, t.upper_rank, f"new dimensions of {t}") for x, t in zip(upper_idss, transforms, strict=True)]
    _check_permutation(lower, "old")
    new = _check_permutation(upper, "new")
    taken = sum(map(len, lower))
    if taken > len(old.top_ids) or (taken < len(old.top_ids) and mode != "ck"):
        raise LayoutError(
            f"expected transforms of all {len(old.top_ids)} top dimensions, got {taken}; "
            'upstream leaves the others at 0 without a word, as mode="ck" does'
        )
    first, top = old.hidden_rank, [0] * new
    upper_ids: list[Ids] = []
    for ids in upper:
        made = tuple(range(first, first + len(ids)))
        first += len(ids)
        upper_ids.append(made)
        for position, i in zip(ids, made, strict=True):
            top[position] = i
    return replace(
        old,
        transforms=(*old.transforms, *transforms),
        lower_ids=(*old.lower_ids, *(tuple(old.top_ids[i] for i in ids) for ids in lower)),
        upper_ids=(*old.upper_ids, *upper_ids),
        top_ids=tuple(top),
    )


def _ids(x: Any, rank: int, what: str) -> Ids:
    """Dimensions as a tuple of integers, as many as a transform has."""
    ids = x if isinstance(x, tuple | list) else (x,)
    if any(isinstance(i, Expr) or type(integer(i)) is not int or i < 0 for i in ids):
        raise LayoutError(f"expected dimensions as numbers of at least 0, got {text(tuple(ids))}")
    if not isinstance(x, tuple | list) or len(ids) != rank:
        raise LayoutError(f"expected a tuple of {rank} as the {what}, got {x!r}")
    return tuple(map(int, ids))


def _check_permutation(idss: Sequence[Ids], what: str) -> int:
    """The number of dimensions in some lists; LayoutError unless each of 0, 1, ... is there once."""
    every = [i for ids in idss for i in ids]
    if sorted(every) != [*range(len(every))]:
        raise LayoutError(f"expected each {what} dimension of 0 .. {len(every) - 1} once, got {text(tuple(every))}")
    return len(every)


def one_bottom(transform: Transform, guarantee: tuple[Int, Int], at: int | None = None) -> Graph:
    """One transform from the offset up to all top dimensions, with a guarantee of the last (or of dimension *at*)."""
    top = tuple(range(1, transform.upper_rank + 1))
    last = at if at is not None else transform.upper_rank
    length, stride = guarantee
    return Graph(
        (transform,),
        ((0,),),
        (top,),
        (0,),
        top,
        () if length == UNKNOWN else ((last, length),),
        () if stride == UNKNOWN else ((last, stride),),
    )
