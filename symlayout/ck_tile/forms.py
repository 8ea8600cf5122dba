"""Forms of a descriptor in which proofs look at it: its digits, and the lanes of a vector.

A merge divides an index; written in the digits themselves nothing is divided. A vector is a run of indices, which each
transform takes to a run where its lemma holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeGuard

from ..address_map import AddressMap
from ..errors import LayoutError
from ..expr import Fact, Int, Symbol, digit, substitute
from ..facts import Facts
from ..int_tuple import ceil_div, is_one
from ..transforms import Indices, LeftPad, Merge, Pad, RightPad, Run, Transform
from ..transforms.merge import row_major, total
from .adaptor import Graph, Hidden, TensorAdaptor


@dataclass(frozen=True)
class DigitForm:
    """A descriptor over digits: each merged index is the mixed-radix number of the digits that it is split into.

    ``top`` are the indices in the digits, ``hidden`` all dimensions. The digits of each index run through a box whose
    mixed-radix numbers are the indices, each once (T3).
    """

    digits: tuple[Symbol, ...]
    extents: Indices
    top: Indices
    hidden: Hidden
    valid: tuple[Fact, ...]
    bottom: int = 0
    asked: Indices = ()  # lengths of merges that are digits: they must be at least 0

    @property
    def offset(self) -> Int:
        """The first bottom index in the digits: the offset of a descriptor."""
        return self.hidden[self.bottom]

    def map_of(self, value: Any) -> AddressMap:
        """A value in the digits as an address map, under the predicate of the pads."""
        return AddressMap(self.digits, self.extents, value, self.valid)

    def coordinate(self, at: tuple[int, ...]) -> tuple[int, ...]:
        """The index whose digits these are, of a form without sizes."""
        env = dict(zip(self.digits, at, strict=True))
        return tuple(int(substitute(x, env)) for x in self.top)


def digit_form(adaptor: TensorAdaptor, by_pads: bool = False) -> DigitForm:
    """The form of a descriptor in the digits of its merges; with *by_pads* what a pad admits is a digit too.

    The lower index of a pad is one of its length wherever it is valid, however it is computed, so that bounds of
    values may forget the rest: the form then has no predicate, and perhaps more values than the descriptor.

    >>> from symlayout import dims
    >>> from symlayout.ck_tile import make_merge_transform, make_naive_tensor_descriptor, transform_tensor_descriptor
    >>> M, K = dims("M K")
    >>> d = make_naive_tensor_descriptor((M, K), (K + 8, 1))
    >>> d = transform_tensor_descriptor(d, (make_merge_transform((M, K)),), ((0, 1),), ((0,),))
    >>> print(d)
    (x0) -> x0 + 8*(x0//K) for x0 < K*M
    >>> print(digit_form(d).map_of(digit_form(d).offset))
    ([x0.0],[x0.1]) -> K*[x0.0] + 8*[x0.0] + [x0.1] for [x0.0] < M, [x0.1] < K
    """
    graph = adaptor.graph
    extents: dict[Symbol, Int] = {}
    for c, n in zip(adaptor.coords, adaptor.extents, strict=True):
        extents[digit(c.name, n)] = n
    top: list[Any] = list(extents)
    hidden: Hidden = dict.fromkeys(range(graph.hidden_rank), 0)
    hidden.update(zip(graph.top_ids, top, strict=True))
    asked: list[Int] = []
    for t, low, up in reversed([*graph.rows()]):
        upper = tuple(hidden[i] for i in up)
        u: Any = upper[0] if isinstance(t, Merge) else None
        if isinstance(t, Merge) and extents.get(u) == total(t.lengths):
            split = _split(u, t.lengths)
            value = sum((d * s for d, s in zip(split, row_major(t.lengths), strict=True)), start=0)
            del extents[u]
            asked += t.lengths
            extents.update({d: n for d, n in zip(split, t.lengths, strict=True) if isinstance(d, Symbol)})
            top = [substitute(x, {u: value}) for x in top]
            hidden = {i: substitute(x, {u: value}) for i, x in hidden.items()}
            hidden.update(zip(low, split, strict=True))
        elif by_pads and _admits_a_box(t, upper[:1], extents):
            inside = digit(f"pad{low[0]}", t.length)
            hidden[low[0]] = inside
            extents[inside] = t.length
        else:
            hidden.update(zip(low, t.lower(upper), strict=True))
    valid = () if by_pads else graph.valid(hidden)
    found = tuple(extents), tuple(extents.values()), tuple(top)
    return DigitForm(*found, hidden, valid, graph.bottom_ids[0], tuple(asked))


def _admits_a_box(t: Transform, upper: Indices, extents: Mapping[Symbol, Int]) -> TypeGuard[Pad | LeftPad | RightPad]:
    """Whether the lower index lies in the length of a pad wherever it is valid: one of one side needs the other end."""
    if isinstance(t, Pad):
        return not t.skip
    u = upper[0] if upper else 0
    extent = extents.get(u) if isinstance(u, Symbol) else None
    if isinstance(t, RightPad):
        return not t.skip and (extent is not None or Facts.about(u).le(0, u) is True)
    return isinstance(t, LeftPad) and not t.skip and extent == t.upper_lengths[0]


def _split(u: Symbol, lengths: Indices) -> tuple[Any, ...]:
    """A digit for each length but those of 1."""
    stem = u.name.strip("[]")
    return tuple(0 if is_one(n) else digit(f"{stem}.{i}", n) for i, n in enumerate(lengths))


@dataclass(frozen=True)
class Lanes:
    """The lanes of vectors along one dimension: a map of (index of the vector, lane), and what lemmas say of them.

    ``start`` and ``step`` are those of the offset, ``needs`` what must hold for each vector to be a run of that step
    under one validity; all None where no lemma says so.
    """

    map: AddressMap  # over the other indices, the number of the vector in place of its dimension, and the lane
    start: Int | None
    step: Int | None
    needs: tuple[Fact, ...] | None


def lanes_of(adaptor: AddressMap, along: int, length: int, overhang: bool = False) -> Lanes:
    """Vectors of *length* indices along a dimension, each from a multiple of it on, as far as whole ones go.

    With *overhang* the last one may reach past the end.

    >>> from symlayout import dims
    >>> from symlayout.ck_tile import make_merge_transform, make_naive_tensor_descriptor, transform_tensor_descriptor
    >>> M, K = dims("M K")
    >>> d = make_naive_tensor_descriptor((M, K), (K, 1))
    >>> found = lanes_of(d, 1, 8)
    >>> print(found.map, found.start, found.step, found.needs)
    (x0,[v1],[lane]) -> K*x0 + [lane] + 8*[v1] for x0 < M, [v1] < K//8, [lane] < 8 K*x0 + 8*[v1] 1 ()
    """
    if type(length) is not int or length < 1:
        raise LayoutError(f"expected a vector of at least 1 element, got {length!r}")
    rank = len(adaptor.coords)
    if not -rank <= along < rank:
        raise LayoutError(f"expected a dimension of 0 .. {rank - 1}, got {along}")
    d = along % rank
    count = ceil_div(adaptor.extents[d], length) if overhang else adaptor.extents[d] // length
    vector, lane = digit(f"v{d}", count), digit("lane", length)
    coords = (*adaptor.coords[:d], vector, *adaptor.coords[d + 1 :], lane)
    extents = (*adaptor.extents[:d], count, *adaptor.extents[d + 1 :], length)
    starts = (*adaptor.coords[:d], length * vector, *adaptor.coords[d + 1 :])
    env = {adaptor.coords[d]: length * vector + lane}
    valid = tuple(f.subs(env) for f in adaptor.valid)
    whole = AddressMap(coords, extents, substitute(_single(adaptor.offset), env), valid, adaptor.obligations)
    if not isinstance(adaptor, TensorAdaptor):
        return Lanes(whole, None, None, None)
    steps = tuple(int(i == d) for i in range(rank))
    found = _run(adaptor.graph, Run(starts, steps), length)
    return Lanes(whole, None, None, None) if found is None else Lanes(whole, *found)


def _single(offset: Any) -> Int:
    if isinstance(offset, tuple):
        raise LayoutError(f"expected offsets as values, got the coordinates {offset}")
    return offset


def _run(graph: Graph, top: Run, length: int) -> tuple[Int, Int, tuple[Fact, ...]] | None:
    """(offset of the first lane, its step, what must hold) by the lemmas of the transforms."""
    starts: Hidden = dict.fromkeys(range(graph.hidden_rank), 0)
    steps: Hidden = dict(starts)
    starts.update(zip(graph.top_ids, top.starts, strict=True))
    steps.update(zip(graph.top_ids, top.steps, strict=True))
    needs: list[Fact] = []
    for t, low, up in reversed([*graph.rows()]):
        found = t.run(Run(tuple(starts[i] for i in up), tuple(steps[i] for i in up)), length)
        if found is None:
            return None
        needs += [f for f in found.needs if f.value is not True and f not in needs]
        starts.update(zip(low, found.starts, strict=True))
        steps.update(zip(low, found.steps, strict=True))
    bottom = graph.bottom_ids[0]
    return starts[bottom], steps[bottom], tuple(needs)


__all__ = ["DigitForm", "Lanes", "digit_form", "lanes_of"]
