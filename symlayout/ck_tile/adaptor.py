"""TensorAdaptor: coordinate transforms as a graph over hidden dimensions, from top indices to bottom ones.

A hidden dimension is a number. Each transform reads its upper dimensions and writes its lower ones; the last transform
is evaluated first. Source: ROCm/composable_kernel, include/ck_tile/core/tensor/tensor_adaptor.hpp.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, TypeAlias

from ..address_map import AddressMap
from ..canonical import serial
from ..errors import LayoutError
from ..expr import Fact, Int, Symbol, at_least, index, integer, written_divisors
from ..facts import Facts, symbols_in
from ..int_tuple import IntTuple, text
from ..members import members
from ..obligations import EXACT, NONE, Obligation, Obligations
from ..transforms import UNKNOWN, Indices, Transform

LONGEST = 120  # characters of a map as text; a longer one is told by its transforms

Ids: TypeAlias = "tuple[int, ...]"
Hidden: TypeAlias = "dict[int, Int]"  # hidden dimension -> index


@dataclass(frozen=True)
class Graph:
    """Transforms, bottom first, with the hidden dimensions of each; what nothing writes has index 0.

    ``lengths`` and ``strides`` are vector guarantees that a user gave for hidden dimensions: (dimension, value) pairs.
    """

    transforms: tuple[Transform, ...]
    lower_ids: tuple[Ids, ...]
    upper_ids: tuple[Ids, ...]
    bottom_ids: Ids
    top_ids: Ids
    lengths: tuple[tuple[int, Int], ...] = ()
    strides: tuple[tuple[int, Int], ...] = ()

    def check(self) -> None:
        """Raise LayoutError unless dimensions are numbered from 0, each is defined once, and before it is used."""
        defined = set(self.bottom_ids)
        for t, low, up in self.rows():
            if len(low) != t.lower_rank or len(up) != t.upper_rank:
                raise LayoutError(
                    f"expected {t.lower_rank} lower and {t.upper_rank} upper dimensions for {t}, "
                    f"got {text(low)} and {text(up)}"
                )
            missing, twice = set(low) - defined, set(up) & defined
            if missing or twice or len(set(up)) < len(up):
                what = f"dimension {min(missing)} before it is used" if missing else "each dimension defined once"
                raise LayoutError(f"expected {what}, got {t} from {text(up)} to {text(low)}")
            defined |= set(up)
        unknown = set(self.top_ids) - defined
        if unknown:
            raise LayoutError(f"expected top dimensions that a transform defines, got {min(unknown)}")
        high = max(defined, default=-1)
        if high >= len(defined):
            raise LayoutError(f"expected {len(defined)} dimensions numbered from 0 on, got {high}")

    def rows(self) -> Iterator[tuple[Transform, Ids, Ids]]:
        """(transform, its lower dimensions, its upper dimensions), bottom first."""
        yield from zip(self.transforms, self.lower_ids, self.upper_ids, strict=True)

    def hidden(self, top: Sequence[Int]) -> Hidden:
        """The index of every hidden dimension at a top index."""
        h: Hidden = dict.fromkeys(range(self.hidden_rank), 0)
        h.update(zip(self.top_ids, top, strict=True))
        for t, low, up in reversed([*self.rows()]):
            h.update(zip(low, t.lower(tuple(h[i] for i in up)), strict=True))
        return h

    def valid(self, h: Mapping[int, Int]) -> tuple[Fact, ...]:
        """The facts under which hidden indices are those of an element, in the order of the transforms."""
        return tuple(f for t, _, up in self.rows() for f in t.valid(tuple(h[i] for i in up)))

    @property
    def hidden_rank(self) -> int:
        """The number of hidden dimensions."""
        every = [*self.bottom_ids, *self.top_ids, *(i for ids in (*self.lower_ids, *self.upper_ids) for i in ids)]
        return max(every, default=-1) + 1

    def length_of(self, dimension: int) -> Int:
        """The length of a dimension, which the transform that defines it says."""
        for t, _, up in self.rows():
            if dimension in up:
                return t.upper_lengths[up.index(dimension)]
        raise LayoutError(f"expected a dimension that a transform defines, got {dimension}, whose length is not stored")

    def guarantees(self, version: str) -> tuple[Indices, Indices]:
        """Upstream's vector lengths and strides of all hidden dimensions; -1 where nothing is guaranteed."""
        lengths: list[Int] = [UNKNOWN] * self.hidden_rank
        strides: list[Int] = [UNKNOWN] * self.hidden_rank
        given = dict(self.lengths), dict(self.strides)
        for i in range(self.hidden_rank):
            lengths[i], strides[i] = given[0].get(i, UNKNOWN), given[1].get(i, UNKNOWN)
        for t, low, up in self.rows():
            found = t.guaranteed([lengths[i] for i in low], [strides[i] for i in low], version)
            for i, n, s in zip(up, *found, strict=True):
                lengths[i], strides[i] = given[0].get(i, n), given[1].get(i, s)
        return tuple(lengths), tuple(strides)

    def obligations(self) -> Obligations:
        """What the parameters of the transforms must keep."""
        out: Obligations = NONE
        for t in self.transforms:
            out = out | t.obligations()
        return out

    def undefined(self, h: Mapping[int, Int], coords: tuple[Symbol, ...]) -> Obligations:
        """What must hold at every index that the pads admit, for the formulas of transforms to be upstream's.

        A transform may rest on pads that rest neither on it nor on one that is asked after it.
        """
        asked: list[tuple[Transform, list[Fact]]] = []
        rests = [0] * self.hidden_rank  # how many of the transforms asked a dimension may rest on
        pads: list[tuple[int, Fact]] = []
        for t, low, up in reversed([*self.rows()]):
            upper, on = tuple(h[i] for i in up), max((rests[i] for i in up), default=0)
            pads += [(on, f) for f in t.valid(upper)]
            facts = [f for f in t.defined(upper) if not _plain(f)]
            if facts:
                asked.append((t, facts))
                on = len(asked)
            for i in low:
                rests[i] = on
        if not asked:
            return NONE
        out: Obligations = NONE
        some = tuple(f for n in map(self.length_of, self.top_ids) if not _plain(f := at_least(n, 1)))  # an index at all
        for before, (t, facts) in enumerate(asked):
            when = (*some, *(f for on, f in pads if on <= before))
            for f in (f for f in facts if not _plain(f, when)):
                words = f"an index of {t} inside its domain: {f}"
                out = out | (Obligation(EXACT, (f,), words, coords, when),)
        return out

    def subs(self, values: Mapping[Any, Any]) -> Graph:
        """The graph with symbols replaced."""
        moved = [tuple((i, integer(_put(x, values))) for i, x in pairs) for pairs in (self.lengths, self.strides)]
        transforms = tuple(t.subs(values) for t in self.transforms)
        return replace(self, transforms=transforms, lengths=moved[0], strides=moved[1])

    @property
    def symbols(self) -> tuple[Symbol, ...]:
        given = tuple(x for _, x in (*self.lengths, *self.strides))
        return tuple(sorted(symbols_in((*self.transforms, *given)), key=lambda s: s.name))


def _plain(f: Fact, given: tuple[Fact, ...] = ()) -> bool:
    """Whether a fact about hidden indices is plainly true under others."""
    if f.value is True or (isinstance(f.expr, Symbol) and f.expr.lower == 0 and f.relation == ">="):
        return True
    return Facts.about(f, given=given).holds(f) is True


def _put(x: Any, values: Mapping[Any, Any]) -> Any:
    return x if type(x) is int else x.subs(values)


class TensorAdaptor(AddressMap):
    """Top indices to bottom ones; an address map, so that every claim about one is about an adaptor too.

    >>> from symlayout.ck_tile import make_merge_transform, make_single_stage_tensor_adaptor
    >>> a = make_single_stage_tensor_adaptor((make_merge_transform((4, 5)),), ((0, 1),), ((0,),))
    >>> print(a, a.calculate_bottom_index((7,)))
    (x0) -> (x0//5,x0 % 5) for x0 < 20
    (1, 2)

    Raises LayoutError for a graph in which a dimension is used before it is defined, or defined twice.
    """

    __slots__ = ("graph",)
    graph: Graph

    def __init__(self, graph: Graph, names: Sequence[str] | None = None) -> None:
        graph.check()
        lengths = tuple(graph.length_of(i) for i in graph.top_ids)
        coords = tuple(map(index, names or _names(len(lengths), graph.symbols), lengths))
        with written_divisors() as divisors:
            hidden = graph.hidden(coords)
            valid = graph.valid(hidden)
        bottom = tuple(hidden[i] for i in graph.bottom_ids)
        needs = graph.obligations() | graph.undefined(hidden, coords)
        super().__init__(coords, lengths, self._value(bottom), valid, needs, divisors, [0] * len(divisors))
        self.graph = graph

    def _value(self, bottom: Indices) -> IntTuple:
        return bottom

    @property
    def symbols(self) -> tuple[Symbol, ...]:
        """Those of the transforms too, whose hidden indices may depend on a size that the value does not have."""
        return tuple(sorted({*super().symbols, *self.graph.symbols}, key=lambda s: s.name))

    def __call__(self, *coord: Any) -> Any:
        """The bottom index of a top one, of integers or of expressions."""
        c = coord[0] if len(coord) == 1 and isinstance(coord[0], tuple) else coord
        if len(c) != len(self.extents):
            raise LayoutError(f"expected {len(self.extents)} indices, got {text(tuple(c))}")
        hidden = self.graph.hidden(tuple(map(integer, c)))
        return self._value(tuple(hidden[i] for i in self.graph.bottom_ids))

    def calculate_bottom_index(self, top: Sequence[Any]) -> Any:
        """CK's name for a call with one index."""
        return self(tuple(top))

    def valid_at(self, coord: tuple[int, ...]) -> bool:
        """Whether the pads admit a top index; its bounds are not tested, as upstream."""
        return all(f.value for f in self.graph.valid(self.graph.hidden(coord)))

    def subs(self, values: Mapping[Any, Any]) -> Self:
        """The same graph with sizes replaced."""
        return self._like(self.graph.subs(values), values)

    def _like(self, graph: Graph, values: Mapping[Any, Any]) -> Self:
        return type(self)(graph, [c.name for c in self.coords])

    # -- CK's members ---------------------------------------------------------------------------------

    def get_length(self, dimension: int) -> Int:
        """The length of a top dimension."""
        return self.extents[dimension]

    def get_lengths(self) -> Indices:
        """The lengths of all top dimensions."""
        return self.extents

    def get_num_of_top_dimension(self) -> int:
        """The number of top dimensions."""
        return len(self.extents)

    def get_num_of_bottom_dimension(self) -> int:
        """The number of bottom dimensions."""
        return len(self.graph.bottom_ids)

    def get_num_of_hidden_dimension(self) -> int:
        """The number of hidden dimensions."""
        return self.graph.hidden_rank

    def get_transforms(self) -> tuple[Transform, ...]:
        """The transforms, bottom first."""
        return self.graph.transforms

    def get_top_dimension_safe_vector_length_strides(self, version: str = "V24") -> tuple[Indices, Indices]:
        """Upstream's (lengths, strides) of vectors along each top dimension, -1 where nothing is said.

        They are what upstream *assumes*, and not all of its rules are sound: ``checkers.GuaranteedVectorLength`` proves
        or refutes them.
        """
        lengths, strides = self.graph.guarantees(version)
        return tuple(lengths[i] for i in self.graph.top_ids), tuple(strides[i] for i in self.graph.top_ids)

    def __str__(self) -> str:
        """The map; where that is long, the lengths and the transforms, top first, that say the same."""
        plain = super().__str__()
        if len(plain) <= LONGEST:
            return plain
        through = ", ".join(map(str, reversed(self.graph.transforms)))
        return f"({','.join(map(str, self.coords))}) of {text(self.extents)} through {through}"

    __repr__ = __str__

    def _repr_svg_(self) -> str:
        return members.picture(self)

    # -- identity -------------------------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        """Whether two have one graph; another map of the same values has other transforms to move by."""
        if not isinstance(other, AddressMap):
            return NotImplemented
        return isinstance(other, TensorAdaptor) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def _identity(self) -> tuple[Any, ...]:
        return TensorAdaptor, self.graph

    def __serial__(self) -> str:
        kind, *parts = self._identity()
        return f"{kind.__name__}({','.join(map(serial, parts))})"

    def __reduce__(self) -> Any:
        return type(self), (self.graph, [c.name for c in self.coords])


def _names(rank: int, symbols: Sequence[Symbol]) -> list[str]:
    """Names of top indices: x0, x1, ..., with as many x as no size is called."""
    taken, stem = {s.name for s in symbols}, "x"
    while any(f"{stem}{i}" in taken for i in range(rank)):
        stem += "x"
    return [f"{stem}{i}" for i in range(rank)]
