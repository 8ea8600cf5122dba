"""The contents of registers and shared memory, by provenance instead of by value.

Each place holds the number of an *origin* and some integers, the *deltas*: ``Loaded("src", (16*i, 64*j))`` with
deltas (3, 5) is the element (16*i + 3, 64*j + 5) of src. Origins contain sizes, blocks and iterations. Deltas contain
the thread and the place in a tile, so a tile is a NumPy array of either.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from symlayout.dtype import DType
from symlayout.expr import Expr, Int, Symbol
from symlayout.strides import as_modes

WIDTH = 8  # deltas of one place

Numbers: TypeAlias = "np.ndarray[Any, Any]"


class Origin:
    """The base of all origins: what a value is, its deltas aside."""

    def width(self, origins: Origins) -> int:
        """The number of its deltas."""
        return 0


@dataclass(frozen=True)
class Unknown(Origin):
    """A value that is not followed; *stale* if it may be from an earlier iteration of a loop."""

    why: str
    stale: bool = False


@dataclass(frozen=True)
class Carried(Origin):
    """The contents of an accumulator from the iteration before; the deltas identify the thread and the element."""

    loop: Symbol
    tensor: str

    def width(self, origins: Origins) -> int:
        return 2


@dataclass(frozen=True)
class Constant(Origin):
    """A number in a type."""

    value: float
    dtype: DType


@dataclass(frozen=True)
class Given(Origin):
    """A scalar parameter."""

    name: str
    dtype: DType


@dataclass(frozen=True)
class Loaded(Origin):
    """An element of a global tensor: at a coordinate plus deltas.

    *outside* is the value of elements outside of the tensor: "zero", "nan", or "" if none is asked for.
    """

    tensor: str
    at: tuple[Int, ...]
    dtype: DType
    outside: str = ""

    def width(self, origins: Origins) -> int:
        return len(self.at)


@dataclass(frozen=True)
class Computed(Origin):
    """A function of values, whose deltas stand one after the other; rounded to a type."""

    function: str
    args: tuple[int, ...]
    dtype: DType

    def width(self, origins: Origins) -> int:
        return sum(map(origins.width, self.args))


@dataclass(frozen=True)
class Guarded(Origin):
    """A value that is there where ``condition + delta >= 0``, for each condition; those deltas stand behind its own."""

    origin: int
    conditions: tuple[Int, ...]

    def width(self, origins: Origins) -> int:
        return origins.width(self.origin) + len(self.conditions)


@dataclass(frozen=True, eq=False)
class Slice:
    """One product of matrices: for each k, an origin and deltas relative to those of the sum, of A and of B."""

    a: tuple[int, ...]
    a_deltas: Numbers
    b: tuple[int, ...]
    b_deltas: Numbers


@dataclass(frozen=True, eq=False)
class Segment:
    """Products that are summed in each iteration of a loop; without *loop*, once."""

    slices: tuple[Slice, ...]
    loop: Symbol | None = None
    extent: Int = 1


@dataclass(frozen=True, eq=False)
class Sum(Origin):
    """A sum of products; the deltas of A come first. *carry* says what a loop that is under way began with.

    ("first", loop): zero in the first iteration; ("always", loop): the contents before the loop. *words* are the
    products of words that hold several elements, as the result says them.
    """

    segments: tuple[Segment, ...]
    dtype: DType
    ranks: tuple[int, int]
    carry: tuple[str, Symbol] | None = None
    words: str = ""

    def width(self, origins: Origins) -> int:
        return sum(self.ranks)


class Origins:
    """The origins that were met, by number; 0 is what nobody wrote."""

    def __init__(self) -> None:
        self.rows: list[Origin] = []
        self._numbers: dict[Origin, int] = {}
        self.number(Unknown("nobody wrote it"))

    def number(self, origin: Origin) -> int:
        """The number of an origin."""
        found = self._numbers.get(origin)
        if found is None:
            found = self._numbers[origin] = len(self.rows)
            self.rows.append(origin)
        return found

    def __getitem__(self, number: int) -> Origin:
        return self.rows[number]

    def width(self, number: int) -> int:
        """The number of deltas of an origin."""
        return self.rows[number].width(self)

    def base(self, number: int) -> Origin:
        """An origin without the conditions under which it is there."""
        origin = self.rows[number]
        return self.rows[origin.origin] if isinstance(origin, Guarded) else origin


@dataclass(frozen=True, eq=False)
class Words:
    """Some places: the number of the origin of each, and its deltas in a last mode."""

    ids: Numbers
    deltas: Numbers

    @classmethod
    def of(cls, number: int, shape: Any) -> Words:
        """Places of one origin without deltas."""
        return cls(np.full(shape, number, np.int32), np.zeros((*as_modes(shape), WIDTH), np.int64))

    def __getitem__(self, at: Any) -> Words:
        return Words(self.ids[at], self.deltas[at])

    def put(self, at: Any, other: Words) -> None:
        """Overwrite some places."""
        self.ids[at], self.deltas[at] = other.ids, other.deltas

    def forget(self, number: int) -> None:
        """From now on all places are of one origin without deltas."""
        self.ids[...], self.deltas[...] = number, 0

    def copy(self) -> Words:
        return Words(self.ids.copy(), self.deltas.copy())

    def reshape(self, *shape: int) -> Words:
        return Words(self.ids.reshape(shape), self.deltas.reshape(*shape, WIDTH))

    @property
    def kinds(self) -> list[int]:
        """The origins among the places."""
        first = self.ids.flat[0] if self.ids.size else 0
        if (self.ids == first).all():  # as a rule
            return [int(first)] * bool(self.ids.size)
        return [int(x) for x in np.unique(self.ids)]


def together(*words: Words) -> Iterator[tuple[tuple[int, ...], Numbers]]:
    """(origins, places) for each combination of origins that values have at the same places."""
    kinds = [w.kinds for w in words]
    if all(len(k) == 1 for k in kinds):  # as a rule
        yield tuple(k[0] for k in kinds), np.ones(words[0].ids.shape, dtype=bool)
        return
    ids = np.stack([w.ids for w in words], axis=-1)
    for each in np.unique(ids.reshape(-1, len(words)), axis=0):
        yield tuple(each.tolist()), (ids == each).all(axis=-1)


def without_constant(x: Any) -> tuple[Any, int]:
    """(x - c, c) for the constant term c of an integer or expression."""
    if type(x) is int:
        return 0, x
    c = x.terms.get((), 0) if isinstance(x, Expr) else 0
    return x - c, c


def told(origin: Any) -> str:
    """What an origin is, in words."""
    if isinstance(origin, Loaded):
        return f"an element of {origin.tensor}"
    if isinstance(origin, Computed):
        return f"{origin.function} of {len(origin.args)}"
    if isinstance(origin, Given):
        return f"the scalar {origin.name}"
    if isinstance(origin, Guarded):
        return f"what need not have been written: it was under {origin.conditions[0]} >= 0 and the like"
    if isinstance(origin, Constant):
        return f"{origin.value:g}"
    return f"a {type(origin).__name__.lower()}"
