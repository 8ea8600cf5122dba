"""The pads of a descriptor admit exactly the indices that a predicate admits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np

from symlayout.address_map import AddressMap
from symlayout.answers.report import Witness
from symlayout.ck_tile import TensorAdaptor
from symlayout.ck_tile.forms import digit_form
from symlayout.errors import ClaimError, InternalError
from symlayout.expr import Fact, Symbol
from symlayout.facts import Facts, ranges
from symlayout.int_tuple import leaves

from ..algebra.certificates import Certificate, together
from ..algebra.subject_form import at_text, points
from ..claim import Claim, Proof, Query, Restated, TooLarge
from ..claim_fields import Function, Subject
from ..claims.in_bounds import InBounds
from ..exhaustive import POINTS
from .everywhere import at_row, everywhere, follows, index_of
from .no_invalid_access import descriptor_of


@dataclass(frozen=True)
class MaskIsExactly(Claim):
    """At every index inside the lengths, the pads admit it if and only if *predicate* holds: none dropped, none let in.

    *predicate* is a function of one coordinate for each dimension that returns facts.

    >>> from symlayout import dims
    >>> from symlayout.ck_tile import make_naive_tensor_view, pad_tensor_view
    >>> M, K = dims("M K")
    >>> a = pad_tensor_view(make_naive_tensor_view(None, (M, K), (K, 1)), (128, 64), (True, False))
    >>> print(MaskIsExactly(a, lambda i, k: i < M))
    mask is exactly: (x0,x1) -> K*x0 + x1 for x0 < 128*ceil(M/128), x1 < K when M >= x0 + 1 if and only if M >= x0 + 1
    """

    layout: Subject
    predicate: Function = None

    kind: ClassVar[str] = "mask is exactly"

    def __post_init__(self) -> None:
        super().__post_init__()
        layout = descriptor_of(self.layout)
        object.__setattr__(self, "layout", layout)
        object.__setattr__(self, "predicate", _predicate(layout, self.predicate))

    def __str__(self) -> str:
        wanted = " and ".join(map(str, self._wanted)) or "always"
        return f"{self.kind}: {self.layout} if and only if {wanted}"

    @property
    def _map(self) -> AddressMap:
        return descriptor_of(self.layout)

    @property
    def _condition(self) -> AddressMap:
        """The predicate as the map that ``__post_init__`` made of it."""
        return cast(AddressMap, self.predicate)

    @property
    def _wanted(self) -> tuple[Fact, ...]:
        return self._condition.valid

    def masked(self) -> bool:
        return True

    def certify(self, facts: Facts) -> Proof | None:
        found = self._both_ways(self._map, self._wanted, facts)
        if found is None and isinstance(self._map, TensorAdaptor):
            form = digit_form(self._map)
            env = dict(zip(self._map.coords, form.top, strict=True))
            wanted = tuple(f.subs(env) for f in self._wanted)
            found = self._both_ways(form.map_of(0), wanted, facts)
        if found is None:
            return None
        if not found:
            return Proof("the mask and the predicate are the same facts")
        return Proof("each fact from the others, T9", together(found, "each fact of one side follows from the other"))

    def restated(self, facts: Facts) -> Iterator[Restated]:
        """Facts over the coordinates, and over digits; what is compared are the facts alone."""
        yield Restated(InBounds(AddressMap(self._map.coords, self._map.extents, 0), 1), graphs=False)
        if isinstance(self._map, TensorAdaptor):
            form = digit_form(self._map)
            moved = tuple(zip(self._map.coords, form.top, strict=True))
            yield Restated(InBounds(AddressMap(form.digits, form.extents, 0), 1), asked=form.asked, moved=moved)

    @staticmethod
    def _both_ways(x: AddressMap, wanted: tuple[Fact, ...], facts: Facts) -> list[Certificate] | None:
        out: list[Certificate] = []
        for known, shown in ((x.valid, wanted), (wanted, x.valid)):
            if set(shown) <= set(known):
                continue
            under = Facts.about(x.coords, shown, given=(*facts.given, *known))
            found = follows([f for f in shown if f not in known], under)
            if found is None:
                return None
            out += found
        return out

    def counterexample(self) -> Witness | None:
        if points(self._map) > POINTS:
            raise TooLarge
        mask, wanted = self._tables()
        wrong = np.flatnonzero(mask != wanted)
        if not len(wrong):
            return None
        at = at_row(self._map, int(wrong[0]))
        found = self._differs(at)
        if found is None:
            raise InternalError(f"index {at} of {self} does not replay")
        return found

    def _differs(self, at: tuple[int, ...]) -> Witness | None:
        """The failure at one index, where the mask and the predicate differ."""
        masked, holds = self._map.valid_at(at), self._condition.valid_at(at)
        words = "admits it, and the predicate does not" if masked else "drops it, and the predicate holds"
        return None if masked == holds else Witness({}, (at,), f"at index {at_text(at)} the mask {words}")

    def replay(self, model: Mapping[Symbol, int], bound: Any) -> Witness | None:
        """The failure at the index of a solver's model."""
        at = index_of(self._map, model, bound._map)
        return None if at is None else bound._differs(at)

    def _tables(self) -> tuple[Any, Any]:
        rows = everywhere(self._map, self._map.valid)
        return rows[:, -1], everywhere(self._map, self._wanted)[:, -1]

    def violations(self, facts: Facts) -> list[Query] | None:
        if any(f.relation == "%" for f in (*self._map.valid, *self._wanted)):
            return None
        box = [*ranges(self._map.coords)]
        out: list[Query] = []
        for known, shown in ((self._map.valid, self._wanted), (self._wanted, self._map.valid)):
            out += [[*box, *known, f.negated()] for f in shown]
        return out

    def lemma(self, facts: Facts) -> str:
        return "each fact of the mask follows from the predicate, and each of the predicate from the mask"


def _predicate(layout: AddressMap, predicate: Any) -> AddressMap:
    """The facts of a predicate as the validity of a map over the same box."""
    if isinstance(predicate, AddressMap):
        return predicate
    if not callable(predicate):
        raise ClaimError(f"expected a function of coordinates that gives facts as predicate, got {predicate!r}")
    try:
        found = predicate(*layout.coords)
    except TypeError as e:
        raise ClaimError(f"expected a predicate of {len(layout.coords)} coordinates, got one with {e}") from None
    facts = tuple(found) if isinstance(found, tuple | list) else (found,)
    if not all(isinstance(f, Fact) for f in facts):
        raise ClaimError(f"expected facts such as i < M from the predicate, got {facts}")
    offset = tuple(0 for _ in leaves(layout.offset)) if isinstance(layout.offset, tuple) else 0
    return AddressMap(layout.coords, layout.extents, offset, facts)
