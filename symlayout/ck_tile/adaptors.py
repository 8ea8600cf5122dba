"""Functions that make adaptors: one layer of transforms, two glued together, and a descriptor from one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import LayoutError
from ..transforms import Transform
from .adaptor import Graph, Ids, TensorAdaptor
from .descriptor import TensorDescriptor, transformed


def make_single_stage_tensor_adaptor(
    transforms: Sequence[Transform],
    lower_dimension_old_top_idss: Sequence[Sequence[int]],
    upper_dimension_new_top_idss: Sequence[Sequence[int]],
) -> TensorAdaptor:
    """One layer of transforms: bottom dimensions are their lower ones, top dimensions their upper ones.

    >>> from symlayout.transforms import Xor
    >>> print(make_single_stage_tensor_adaptor((Xor((4, 4)),), ((0, 1),), ((0, 1),)))
    (x0,x1) -> (x0,(x0 % 4) ^ x1) for x0 < 4, x1 < 4
    """
    bottom = tuple(range(sum(len(tuple(ids)) for ids in lower_dimension_old_top_idss)))
    ground = Graph((), (), (), bottom, bottom)
    return TensorAdaptor(transformed(ground, transforms, lower_dimension_old_top_idss, upper_dimension_new_top_idss))


def transform_tensor_adaptor(
    old: TensorAdaptor,
    new_transforms: Sequence[Transform],
    lower_dimension_old_top_idss: Sequence[Sequence[int]],
    upper_dimension_new_top_idss: Sequence[Sequence[int]],
    mode: str = "exact",
) -> TensorAdaptor:
    """The adaptor seen through transforms of its top dimensions; see ``transform_tensor_descriptor``."""
    lower, upper = lower_dimension_old_top_idss, upper_dimension_new_top_idss
    return TensorAdaptor(transformed(old.graph, new_transforms, lower, upper, mode))


def chain_tensor_adaptors(adaptor0: TensorAdaptor, adaptor1: TensorAdaptor) -> TensorAdaptor:
    """The bottom of the second on the top of the first, dimension by dimension.

    >>> from symlayout.transforms import Merge, Unmerge
    >>> low = make_single_stage_tensor_adaptor((Unmerge((4, 5)),), ((0,),), ((0, 1),))
    >>> high = make_single_stage_tensor_adaptor((Merge((4, 5)),), ((0, 1),), ((0,),))
    >>> print(chain_tensor_adaptors(low, high))
    (x0) -> (x0,) for x0 < 20
    """
    a, b = adaptor0.graph, adaptor1.graph
    if len(a.top_ids) != len(b.bottom_ids):
        raise LayoutError(f"expected {len(a.top_ids)} bottom dimensions to glue on, got {len(b.bottom_ids)}")
    return TensorAdaptor(glued(a, b, range(len(a.top_ids))))


def glued(a: Graph, b: Graph, at: Sequence[int]) -> Graph:
    """The bottom dimensions of *b* on the top ones of *a* at these places; the others of *a* come first in the top."""
    first = a.hidden_rank
    names = {i: first + k for k, i in enumerate(j for j in range(b.hidden_rank) if j not in b.bottom_ids)}
    names.update(zip(b.bottom_ids, (a.top_ids[i] for i in at), strict=True))

    def moved(ids: Ids) -> Ids:
        return tuple(names[i] for i in ids)

    kept = tuple(i for place, i in enumerate(a.top_ids) if place not in at)
    return Graph(
        (*a.transforms, *b.transforms),
        (*a.lower_ids, *map(moved, b.lower_ids)),
        (*a.upper_ids, *map(moved, b.upper_ids)),
        a.bottom_ids,
        (*kept, *moved(b.top_ids)),
        (*a.lengths, *((names[i], n) for i, n in b.lengths)),
        (*a.strides, *((names[i], n) for i, n in b.strides)),
    )


def make_tensor_descriptor_from_adaptor(adaptor: TensorAdaptor, element_space_size: Any) -> TensorDescriptor:
    """A descriptor of an adaptor with one bottom dimension; the size is the caller's, and no guarantee is kept."""
    g = adaptor.graph
    plain = Graph(g.transforms, g.lower_ids, g.upper_ids, g.bottom_ids, g.top_ids)
    return TensorDescriptor(plain, element_space_size)
