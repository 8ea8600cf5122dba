"""Vectors along a dimension of a view: one validity for all lanes, and as contiguous as was guaranteed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from symlayout.address_map import AddressMap
from symlayout.answers.report import Witness
from symlayout.ck_tile import TensorAdaptor
from symlayout.ck_tile.forms import Lanes, lanes_of
from symlayout.errors import ClaimError, InternalError
from symlayout.expr import Fact, Int, Symbol, at_least, digit, eq, substitute
from symlayout.facts import Facts, ranges
from symlayout.transforms import UNKNOWN

from ..algebra.certificates import Certificate, divisible, together
from ..algebra.subject_form import at_text, check_offsets, points
from ..claim import Claim, Proof, Query, Restated, TooLarge
from ..claim_fields import Size, Subject
from ..claims.in_bounds import InBounds
from ..exhaustive import POINTS
from ..repairs.conditions import divisibility
from .everywhere import everywhere, follows, index_of
from .no_invalid_access import check_along, descriptor_of


@dataclass(frozen=True)
class VectorDoesNotStraddle(Claim):
    """Each vector of *elements* indices along a dimension lies inside its length, all lanes as valid as the first.

    Vectors begin at multiples of *elements*. Upstream tests the first lane alone.

    >>> from symlayout.ck_tile import make_naive_tensor_view, pad_tensor_view
    >>> view = pad_tensor_view(make_naive_tensor_view(None, (6, 10), (10, 1)), (8, 16), (True, True))
    >>> print(VectorDoesNotStraddle(view, 4))
    vector does not straddle: 4 elements along dimension 1 of (x0,x1) -> 10*x0 + x1 for x0 < 8, x1 < 16 when x0 <= 5 \
and x1 <= 9
    """

    layout: Subject
    elements: int
    along: int = -1

    kind: ClassVar[str] = "vector does not straddle"

    def __post_init__(self) -> None:
        super().__post_init__()
        layout = descriptor_of(self.layout)
        check_offsets(layout)
        object.__setattr__(self, "layout", layout)
        if type(self.elements) is not int or self.elements < 1:
            raise ClaimError(f"expected a vector of at least 1 element, got {self.elements!r}")
        check_along(layout, self.along)
        object.__setattr__(self, "along", self.along % len(layout.coords))

    def __str__(self) -> str:
        return f"{self.kind}: {self.elements} elements along dimension {self.along} of {self.layout}"

    def masked(self) -> bool:
        return True

    # -- proof ----------------------------------------------------------------------------------------

    @property
    def _map(self) -> AddressMap:
        return descriptor_of(self.layout)

    @property
    def _length(self) -> Int:
        return self._map.extents[self.along]

    @cached_property
    def _lanes(self) -> Lanes:
        return lanes_of(self._map, self.along, self.elements)

    def certify(self, facts: Facts) -> Proof | None:
        whole = divisible([], facts.normal(self._length), self.elements, facts)
        if whole is None:
            return None
        found = self._by_lemmas(facts) or self._by_lanes(facts)
        if found is None:
            return None
        method, parts = found
        return Proof(method, together([whole, *parts], "whole vectors, and the lanes of each"))

    def restated(self, facts: Facts) -> Iterator[Restated]:
        """Multiples that each transform needs; sizes alone have other names."""
        x = self._map
        if isinstance(x, TensorAdaptor):
            coords = tuple(digit(c.name, n) for c, n in zip(x.coords, x.extents, strict=True))
            yield Restated(InBounds(AddressMap(coords, x.extents, 0), 1))

    def _by_lemmas(self, facts: Facts) -> tuple[str, list[Certificate]] | None:
        """Each transform takes the lanes to a run, where vectors divide what its lemma says (T11, T12)."""
        lanes = self._lanes
        if lanes.needs is None or not self._right_step(lanes.step):
            return None
        known = Facts.about(lanes.map.coords, lanes.needs, given=facts.given)
        found = follows(lanes.needs, known)
        return None if found is None else ("aligned runs through each transform, T12", found)

    def _by_lanes(self, facts: Facts) -> tuple[str, list[Certificate]] | None:
        """The facts of each lane from those of the first, and the other way round."""
        x, first = self._lanes.map, self._first
        out: list[Certificate] = []
        for known, wanted in ((first.valid, x.valid), (x.valid, first.valid)):
            found = follows(wanted, Facts.about(x.coords, wanted, given=(*facts.given, *known)))
            if found is None:
                return None
            out += found
        straight = self._straight()
        if straight is not None:
            found = follows([straight], Facts.about(x.coords, straight, given=(*facts.given, *first.valid)))
            if found is None:
                return None
            out += found
        return "each lane from the first, T9", out

    @property
    def _first(self) -> AddressMap:
        """The map of the first lanes, over the same coordinates."""
        x = self._lanes.map
        env = {x.coords[-1]: 0}
        return AddressMap(x.coords, x.extents, substitute(x.offset, env), tuple(f.subs(env) for f in x.valid))

    def _right_step(self, step: Any) -> bool:
        """Whether the lanes of a run may be this far apart."""
        return True

    def _straight(self) -> Fact | None:
        """The fact that each lane is as far from the first as it should be."""
        return None

    # -- numbers --------------------------------------------------------------------------------------

    def counterexample(self) -> Witness | None:
        v, n = self.elements, int(self._length)
        if n % v and points(self._map):
            return self._cut(n)
        if points(self._map) > POINTS:
            raise TooLarge
        rows = everywhere(self._map, self._map.valid)
        if not len(rows):
            return None
        table = np.moveaxis(rows.reshape(*self._map.extents, 2, order="F"), self.along, -2)
        lanes = table.reshape(*table.shape[:-2], n // v, v, 2)
        wrong = self._wrong(lanes)
        if not wrong.any():
            return None
        # The first failure with the first dimension fastest.
        where = min(map(tuple, np.argwhere(wrong).tolist()), key=lambda c: (*reversed(c[:-2]), c[-2], c[-1]))
        return self._witness(where)

    def _cut(self, n: int) -> Witness:
        """The last vector of *n* indices, which is not whole."""
        v = self.elements
        at = tuple(n // v * v if i == self.along else 0 for i in range(len(self._map.coords)))
        return Witness({}, (at,), f"the vector at index {at_text(at)} ends at {at[self.along] + v - 1}, past {n - 1}")

    def _wrong(self, lanes: np.ndarray[Any, Any]) -> Any:
        """Where a lane, the last axis but one, is not as valid as the first."""
        return lanes[..., 1] != lanes[..., :1, 1]

    def _witness(self, where: tuple[int, ...]) -> Witness:
        *others, vector, lane = where
        at = (*others[: self.along], vector * self.elements, *others[self.along :])
        found = self._differs(at, lane)
        if found is None:
            raise InternalError(f"the vector at {at} of {self} does not replay")
        return found

    def _differs(self, at: tuple[int, ...], lane: int) -> Witness | None:
        """The failure of one lane of the vector at an index, if it is one."""
        there = tuple(c + lane * (i == self.along) for i, c in enumerate(at))
        story = self._story(at, there, lane)
        return Witness({}, (at, there), story) if story else None

    def _story(self, at: tuple[int, ...], there: tuple[int, ...], lane: int) -> str:
        """What a lane fails, in words; empty where it fails nothing."""
        valid = self._map.valid_at(at), self._map.valid_at(there)
        words = ["valid" if v else "masked" for v in valid]
        told = f"the vector at index {at_text(at)} is {words[0]}, its lane {lane} at {at_text(there)} is {words[1]}"
        return told if valid[0] != valid[1] else ""

    def points(self) -> int:
        return points(self._map)

    # -- by a solver ----------------------------------------------------------------------------------

    def violations(self, facts: Facts) -> list[Query] | None:
        """A vector that is cut; a lane that is not as valid as the first; a lane that is elsewhere."""
        x, first, v = self._lanes.map, self._first, self.elements
        if any(f.relation == "%" for f in (*x.valid, *first.valid)):
            return None
        others = [at_least(n, 1) for n in self._map.extents]
        out: list[Query] = [[*others, at_least(self._length % v, 1)]]
        box = [*ranges(x.coords)]
        for known, shown in ((first.valid, x.valid), (x.valid, first.valid)):
            out += [[*box, *known, f.negated()] for f in shown if f not in known]
        straight = self._straight()
        if straight is not None:
            out.append([*box, *first.valid, straight.negated()])
        return out

    def replay(self, model: Mapping[Symbol, int], bound: Any) -> Witness | None:
        """The failure of the lane in a solver's model, or of the vector that is cut at its sizes."""
        length = int(bound._length)
        if length % bound.elements and points(bound._map):
            return bound._cut(length)
        found = index_of(self._lanes.map, model, bound._lanes.map)
        if found is None:
            return None
        *others, lane = found
        at = tuple(i * (bound.elements if k == bound.along else 1) for k, i in enumerate(others))
        return bound._differs(at, lane)

    # -- repairs --------------------------------------------------------------------------------------

    def conditions(self, facts: Facts) -> Iterator[Fact]:
        for f in (Fact(self._length, "%", self.elements), *(self._lanes.needs or ())):
            if f.relation == "%":
                yield from divisibility(f.expr, f.modulus)

    def lemma(self, facts: Facts) -> str:
        needs = " and ".join(map(str, self._lanes.needs or ())) or "no transform has a lemma for it"
        return f"the lanes of each vector are as valid as the first: {needs}"


@dataclass(frozen=True)
class GuaranteedVectorLength(VectorDoesNotStraddle):
    """At each valid multiple of *elements* along a dimension, that many indices are *stride* elements apart.

    All lanes must be as valid as the first. By default *elements* and *stride* are what upstream's rules guarantee,
    which not all of them may: ``elements=None`` asks whether the descriptor's own guarantee is true.

    >>> from symlayout.ck_tile import *
    >>> d = make_naive_tensor_descriptor((6, 6), (6, 1), 4, 1)
    >>> print(GuaranteedVectorLength(d))
    guaranteed vector length: 4 elements 1 apart along dimension 1 of (x0,x1) -> 6*x0 + x1 for x0 < 6, x1 < 6
    """

    elements: int = None  # type: ignore[assignment]
    stride: Size = None  # type: ignore[assignment]
    version: str = "V24"

    kind: ClassVar[str] = "guaranteed vector length"

    def __post_init__(self) -> None:
        layout = descriptor_of(self.layout)
        check_along(layout, self.along)
        length, stride = self.elements, self.stride
        if (length is None or stride is None) and isinstance(layout, TensorAdaptor):
            lengths, strides = layout.get_top_dimension_safe_vector_length_strides(self.version)
            length = lengths[self.along] if length is None else length
            stride = strides[self.along] if stride is None and strides[self.along] != UNKNOWN else stride
        if length is None or length == UNKNOWN:
            raise ClaimError(f"expected a vector length, got none guaranteed along {self.along} of {layout}")
        object.__setattr__(self, "elements", length)
        object.__setattr__(self, "stride", 1 if stride is None else stride)
        super().__post_init__()

    def __str__(self) -> str:
        apart = f"{self.elements} elements {self.stride} apart"
        return f"{self.kind}: {apart} along dimension {self.along} of {self.layout}"

    def _right_step(self, step: Any) -> bool:
        return self.elements == 1 or bool(step == self.stride)

    def _straight(self) -> Fact | None:
        x = self._lanes.map
        return eq(x.offset - self._first.offset, self.stride * x.coords[-1])

    def _wrong(self, lanes: np.ndarray[Any, Any]) -> Any:
        steps = np.arange(self.elements) * int(self.stride)
        apart = lanes[..., 0] != lanes[..., :1, 0] + steps
        return super()._wrong(lanes) | (apart & (lanes[..., :1, 1] == 1))

    def _story(self, at: tuple[int, ...], there: tuple[int, ...], lane: int) -> str:
        told = super()._story(at, there, lane)
        if told or not self._map.valid_at(at):
            return told
        start, end = self._map(at), self._map(there)
        wanted = start + lane * self.stride
        told = f"index {at_text(at)} has offset {start}, lane {lane} at {at_text(there)} has {end} instead of {wanted}"
        return told if end != wanted else ""
