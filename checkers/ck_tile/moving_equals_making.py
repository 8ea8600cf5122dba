"""A coordinate that is moved is the one that would be made anew."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from symlayout.answers.report import Witness
from symlayout.ck_tile import TensorAdaptor, make_tensor_coordinate, move_tensor_coordinate
from symlayout.ck_tile.coordinates import moved
from symlayout.errors import ClaimError
from symlayout.expr import Fact, Symbol, digit
from symlayout.facts import Facts, ranges
from symlayout.int_tuple import is_zero, product

from ..algebra.certificates import together
from ..algebra.subject_form import at_text, points
from ..claim import Claim, Proof, Query, TooLarge
from ..claim_fields import Subject
from ..exhaustive import unravel
from ..trial_sizes import small_sizes
from .everywhere import follows
from .no_invalid_access import descriptor_of

FIRST = 100  # indices from and to which every move is tried
ALONG = 8  # of more, as many along each dimension, some of the first ones, and the last
SIZES = 6  # at which they are


@dataclass(frozen=True)
class MovingEqualsMaking(Claim):
    """From any index inside the lengths to any other, upstream's step gives every hidden dimension its index there.

    It holds for all transforms but modulo, indexing, and unmerge on 24 bits.

    >>> from symlayout.ck_tile import make_naive_tensor_descriptor
    >>> print(MovingEqualsMaking(make_naive_tensor_descriptor((4, 4), (4, 1))))
    moving equals making: (x0,x1) -> 4*x0 + x1 for x0 < 4, x1 < 4
    """

    layout: Subject

    kind: ClassVar[str] = "moving equals making"

    def __post_init__(self) -> None:
        super().__post_init__()
        layout = descriptor_of(self.layout)
        if not isinstance(layout, TensorAdaptor):
            raise ClaimError(f"expected a descriptor or an adaptor, whose transforms move, got {layout}")
        object.__setattr__(self, "layout", layout)

    @property
    def _adaptor(self) -> TensorAdaptor:
        assert isinstance(self.layout, TensorAdaptor)
        return self.layout

    def masked(self) -> bool:
        return True

    def certify(self, facts: Facts) -> Proof | None:
        """In each hidden dimension the moved index less the made one is 0."""
        start, end, zero = self._differences
        if not zero:
            return Proof("normal form: the steps add up in every hidden dimension")
        found = follows(zero, Facts.about(start, end, given=facts.given))
        return None if found is None else Proof("the steps add up, T9", together(found, "each hidden dimension"))

    @cached_property
    def _differences(self) -> tuple[tuple[Symbol, ...], tuple[Symbol, ...], tuple[Fact, ...]]:
        """(an index, another one, what must be 0: the moved index less the made one of each hidden dimension)."""
        x = self._adaptor
        start, end = (
            tuple(digit(f"{p}{c.name}", n) for c, n in zip(x.coords, x.extents, strict=True)) for p in ("", "to.")
        )
        before, made = x.graph.hidden(start), x.graph.hidden(end)
        step = tuple(b - a for a, b in zip(start, end, strict=True))
        after = moved(x.graph, tuple(before[i] for i in range(len(before))), step)
        differences = [after[i] - made[i] for i in made]
        return start, end, tuple(Fact(d, "==") for d in differences if not is_zero(d))

    def violations(self, facts: Facts) -> list[Query] | None:
        start, end, zero = self._differences
        return [[*ranges(start), *ranges(end), f.negated()] for f in zero]

    def replay(self, model: Mapping[Symbol, int], bound: Any) -> Witness | None:
        """The failure of the move between the indices of a solver's model."""
        start, end, _ = self._differences
        if any(s not in model for s in (*start, *end)):
            return None
        lengths = [int(n) for n in bound._adaptor.extents]
        at = [tuple(model[s] for s in x) for x in (start, end)]
        if any(not 0 <= i < n for x in at for i, n in zip(x, lengths, strict=True)):
            return None
        return bound._failure(*at)

    def _failure(self, start: tuple[int, ...], end: tuple[int, ...]) -> Witness | None:
        """The failure of one move, if it is one."""
        x = self._adaptor
        step = tuple(b - a for a, b in zip(start, end, strict=True))
        after, made = move_tensor_coordinate(x, make_tensor_coordinate(x, start), step), make_tensor_coordinate(x, end)
        return None if after == made else self._witness(start, end, after, made)

    def counterexample(self) -> Witness | None:
        x = self._adaptor
        tried = sorted(_some_of(tuple(int(n) for n in x.extents)), key=lambda c: (sum(c), c))
        made = {at: make_tensor_coordinate(x, at) for at in tried}
        for end, start in itertools.product(tried, repeat=2):
            step = tuple(b - a for a, b in zip(start, end, strict=True))
            after = move_tensor_coordinate(x, made[start], step)
            if after != made[end]:
                return self._witness(start, end, after, made[end])
        if points(x) > FIRST:
            raise TooLarge(f"moves between {len(tried)} of {points(x)} indices are right")
        return None

    def _witness(self, start: Any, end: Any, after: Any, made: Any) -> Witness:
        pairs = [*enumerate(zip(after.hidden, made.hidden, strict=True))]
        i, (got, wanted) = next((i, p) for i, p in pairs if p[0] != p[1])
        where = f"moved from {at_text(start)} to {at_text(end)}, dimension {i} has index {got} instead of {wanted}"
        offsets = f"; offset {after.offset} instead of {made.offset}" if after.offset != made.offset and i else ""
        return Witness({}, (start, end), where + offsets)

    def points(self) -> int:
        return points(self._adaptor) ** 2

    def trials(self, facts: Facts) -> Iterator[dict[Symbol, int]]:
        """A few sizes: of most the pairs are too many."""
        return itertools.islice(small_sizes(facts.symbols, facts), SIZES)

    def lemma(self, facts: Facts) -> str:
        return "the steps of all transforms add up in every hidden dimension"


def _some_of(lengths: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Indices of a box: all, or the first ones, those along each dimension from 0 on, and the last."""
    total = product(lengths)
    first = [unravel(i, lengths[::-1])[::-1] for i in range(min(total, FIRST if total <= FIRST else FIRST // 4))]
    if total <= FIRST:
        return first
    along = [tuple(i if k == d else 0 for k in range(len(lengths))) for d, n in enumerate(lengths) for i in _ends(n)]
    return [*dict.fromkeys((*first, *along, tuple(n - 1 for n in lengths)))]


def _ends(n: int) -> list[int]:
    return [*range(min(n, ALONG)), n - 1]
