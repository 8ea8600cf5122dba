"""A coordinate transform: upper indices, which the caller gives, to lower ones, which are nearer to memory.

A transform is named after what it does to *dimensions* on the way up from memory, and its formula runs down, so the
formula is the inverse of what the name suggests: ``merge`` divides, ``unmerge`` multiplies, ``pad`` subtracts.

Each kind is a file of this room, with the same questions answered: the lower index, when an upper index is valid, the
upper lengths, the inverse, what upstream says about vectors, and the lemmas with which proofs go through it.
Source: ROCm/composable_kernel, include/ck_tile/core/algorithm/coordinate_transform.hpp.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self, TypeAlias

from ..errors import LayoutError
from ..expr import Fact, Int, Symbol, integer, substitute
from ..facts import symbols_in
from ..int_tuple import is_one, is_zero, text
from ..obligations import NONE, Obligations

Indices: TypeAlias = "tuple[Int, ...]"

UNKNOWN = -1  # a vector length or stride that is not guaranteed, upstream's number for it

VERSIONS = ("V24", "V25")  # upstream in October 2024 and in 2025; rules differ where they say so


@dataclass(frozen=True)
class Run:
    """Indices start + step*j for 0 <= j < length, in each dimension: the lanes of one vector access."""

    starts: Indices
    steps: Indices
    needs: tuple[Fact, ...] = ()  # what must hold for the run to be one


KINDS: dict[str, type[Transform]] = {}  # each by its word; a class enters itself


def of_kind(kind: str, *parameters: Any) -> Transform:
    """A transform by its word, since an inverse is of another kind, whose file may need this one.

    >>> print(of_kind("pad", 10, 2, 3))
    pad(10, 2, 3)
    """
    return KINDS[kind](*parameters)


@dataclass(frozen=True)
class Transform:
    """The base of all transforms; frozen, and a function of integers and expressions alike.

    >>> from symlayout.transforms import Merge
    >>> t = Merge((4, 5))
    >>> print(t, t.lower((7,)), t.upper_lengths)
    merge(4, 5) (1, 2) (20,)
    """

    kind: ClassVar[str] = ""  # upstream's word
    note: ClassVar[str] = ""  # what an author should know that upstream does not say
    keeps_guarantees: ClassVar[bool] = False  # whether upstream's vector guarantees hold above as they do below

    def __init_subclass__(cls) -> None:
        KINDS[cls.kind] = cls

    def __post_init__(self) -> None:
        for f in fields(self):
            value = getattr(self, f.name)
            if f.type in ("Int", "Indices"):
                object.__setattr__(self, f.name, lengths_of(value) if f.type == "Indices" else integer(value))

    # -- what a kind says -----------------------------------------------------------------------------

    @property
    def lower_rank(self) -> int:
        """The number of lower dimensions."""
        return 1

    @property
    def upper_rank(self) -> int:
        """The number of upper dimensions."""
        return len(self.upper_lengths)

    @property
    def upper_lengths(self) -> Indices:
        """The lengths of the upper dimensions."""
        raise NotImplementedError

    def lower(self, upper: Indices) -> Indices:
        """The lower index of an upper one, of integers or of expressions."""
        raise NotImplementedError

    def valid(self, upper: Indices) -> tuple[Fact, ...]:
        """The facts under which an upper index has a lower one that may be read; only pads have any."""
        return ()

    def defined(self, upper: Indices) -> tuple[Fact, ...]:
        """The facts under which upstream's lower index is that of the formula; wherever it divides, 0 or more."""
        return ()

    def inverse(self) -> Transform | None:
        """The transform from lower indices back to valid upper ones, None where there is none."""
        return None

    def obligations(self) -> Obligations:
        """What its parameters must keep for its formula to be meant: upstream checks none of it."""
        return NONE

    # -- lemmas for proofs ----------------------------------------------------------------------------

    def lower_lengths(self) -> tuple[Int | None, ...]:
        """An n for each lower dimension with 0 <= lower < n at valid upper indices inside their lengths, or None."""
        return (None,) * self.lower_rank

    def run(self, upper: Run, length: int) -> Run | None:
        """The lower run of an upper one of *length* lanes with one validity for all of them, where a lemma shows it.

        Transforms that add and scale take any run to a run.
        """
        steps = self.moved(upper.steps)
        return Run(self.lower(upper.starts), steps, upper.needs)

    # -- upstream's rules -----------------------------------------------------------------------------

    def moved(self, diff: Indices) -> Indices:
        """The lower step of an upper one, where the lower index is a sum of multiples and a constant."""
        here, zero = self.lower(diff), self.lower((0,) * self.upper_rank)
        return tuple(a - b for a, b in zip(here, zero, strict=True))

    def update(self, diff: Indices, lower: Indices, upper: Indices) -> Indices:
        """Upstream's step of the lower index, from the upper step, the old lower and the *new* upper index."""
        return self.moved(diff)

    def computed_anew(self, lower: Indices, upper: Indices) -> Indices:
        """The step of the lower index by its formula at the new upper index, where upstream divides again."""
        return tuple(new - old for new, old in zip(self.lower(upper), lower, strict=True))

    def guaranteed(self, lengths: Sequence[Int], strides: Sequence[Int], version: str) -> tuple[Indices, Indices]:
        """Upstream's vector lengths and strides of the upper dimensions, from those of the lower ones; -1: unknown."""
        if self.keeps_guarantees:
            return tuple(lengths), tuple(strides)
        return (UNKNOWN,) * self.upper_rank, (UNKNOWN,) * self.upper_rank

    # -- shared ---------------------------------------------------------------------------------------

    @property
    def symbols(self) -> tuple[Symbol, ...]:
        return tuple(sorted(symbols_in(self._values()), key=lambda s: s.name))

    def subs(self, values: Mapping[Any, Any]) -> Self:
        """The transform with symbols replaced."""
        moved = {
            f.name: tuple(substitute(x, values) for x in v) if f.type == "Indices" else substitute(v, values)
            for f in fields(self)
            if f.type in ("Int", "Indices")
            for v in (getattr(self, f.name),)
        }
        return replace(self, **moved)

    def _values(self) -> tuple[Any, ...]:
        return tuple(getattr(self, f.name) for f in fields(self))

    def __str__(self) -> str:
        values = self._values()
        if isinstance(values[0], tuple) and not any(isinstance(v, tuple) for v in values[1:]):  # the lengths alone
            values = (*values[0], *values[1:])
        said = [text(v) for v in values if not isinstance(v, bool)]
        flags = [f.name for f in fields(self) if getattr(self, f.name) is True]
        return f"{self.kind}({', '.join([*said, *flags])})"


def lengths_of(lengths: Any) -> Indices:
    """Lengths as a tuple of integers and expressions; LayoutError for anything that is no tuple of them."""
    if not isinstance(lengths, tuple | list):
        raise LayoutError(f"expected a tuple of lengths such as (4, 5), got {lengths!r}")
    return tuple(map(integer, lengths))


def aligned_run(upper: Run, length: int, edges: Sequence[Int]) -> tuple[Fact, ...] | None:
    """What a run in one dimension needs to lie on one side of every edge: it starts and each edge is, at a multiple.

    A run that does not move needs nothing; of other steps than 1 nothing is said.
    """
    (step,) = upper.steps
    if is_zero(step) or length == 1:
        return ()
    if not is_one(step):
        return None
    return tuple(Fact(x, "%", length) for x in (*upper.starts, *edges))
