"""No access of a tensor view leaves its buffer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

from symlayout.address_map import AddressMap
from symlayout.answers.report import Witness
from symlayout.ck_tile import TensorDescriptor, TensorView
from symlayout.ck_tile.forms import digit_form, lanes_of
from symlayout.ck_tile.layouts import digit_strides
from symlayout.errors import ClaimError
from symlayout.expr import Fact, Symbol, digit, extent_of, floordiv, integer, substitute, terms_of
from symlayout.facts import Facts

from ..algebra.subject_form import at_text, check_offsets, check_subject
from ..claim import Claim, Proof, Query, Restated
from ..claim_fields import Function, Size, Subject
from ..claims.in_bounds import InBounds


@dataclass(frozen=True)
class NoInvalidAccess(Claim):
    """0 <= offset and offset + *elements* - 1 < *size* wherever the pads admit an index.

    The subject is a view, a descriptor, or any map; *size* is by default that of the view's buffer, else the space of
    the descriptor. *elements* are those of one vector access along dimension *along*, which begins at multiples of it.
    *when* is a further predicate under which code accesses the tensor.

    >>> from symlayout import dims
    >>> from symlayout.ck_tile import make_naive_tensor_view, pad_tensor_view
    >>> M, K = dims("M K")
    >>> a = pad_tensor_view(make_naive_tensor_view(None, (M, K), (K, 1)), (128, 64), (True, False))
    >>> print(NoInvalidAccess(a))
    no invalid access: (x0,x1) -> K*x0 + x1 for x0 < 128*ceil(M/128), x1 < K when M >= x0 + 1 in a buffer of K*M
    """

    layout: Subject
    size: Size = None  # type: ignore[assignment]  # that of the subject
    elements: int = 1
    along: int = -1
    when: Function = None

    kind: ClassVar[str] = "no invalid access"

    def __post_init__(self) -> None:
        super().__post_init__()
        layout, size = subject_of(self.layout), self.size
        if size is None:
            size = getattr(getattr(self.layout, "buffer", None), "size", getattr(layout, "element_space_size", None))
        if size is None:
            raise ClaimError(f"expected the size of the buffer, which {layout} does not say")
        if type(self.elements) is not int or self.elements < 1:
            raise ClaimError(f"expected an access of at least 1 element, got {self.elements!r}")
        check_offsets(layout)
        if self.elements > 1:
            check_along(descriptor_of(layout), self.along)
        if self.when is not None:
            layout = InBounds(layout, size, self.when).layout
        for name, value in (("layout", layout), ("size", integer(size)), ("when", None)):
            object.__setattr__(self, name, value)

    def __str__(self) -> str:
        vectors = "" if self.elements == 1 else f", {self.elements} elements at once along dimension {self.along}"
        return f"{self.kind}: {self.layout} in a buffer of {self.size}{vectors}"

    def masked(self) -> bool:
        return True

    @cached_property
    def _bounds(self) -> InBounds:
        """The claim that the first element of each access lies so far inside that the last one does."""
        return InBounds(self._starts, self.size - self.elements + 1)

    @cached_property
    def _starts(self) -> Any:
        """The map of the first elements of accesses, the last of which may reach past the dimension."""
        if self.elements == 1:
            return self.layout
        lanes = lanes_of(descriptor_of(self.layout), self.along, self.elements, overhang=True).map
        first = {lanes.coords[-1]: 0}
        offset, valid = substitute(lanes.offset, first), tuple(f.subs(first) for f in lanes.valid)
        return AddressMap(lanes.coords[:-1], lanes.extents[:-1], offset, valid)

    def certify(self, facts: Facts) -> Proof | None:
        """By digits of merges and pads, as far as values inside their boxes suffice; else by the map itself."""
        values = self._by_digits(facts)
        if values is None:
            return self._bounds.certify(facts)
        plain = digit_strides(values.offset, values.coords) is not None
        found = None if plain else self._bounds.certify(facts)  # of a remainder or an xor the map says as much
        if found is not None:
            return found
        found = InBounds(values, self.size - self.elements + 1).certify(facts)
        if found is not None:
            return replace(found, lemmas=(*found.lemmas, "digits of merges and pads run through boxes (T3)"))
        return self._bounds.certify(facts) if plain else None

    def restated(self, facts: Facts) -> Iterator[Restated]:
        """The bounds of values over digits, or of the map."""
        values = self._by_digits(facts)
        if values is not None and isinstance(self.layout, TensorDescriptor):
            asked = digit_form(self.layout, by_pads=True).asked
            yield Restated(InBounds(values, self.size - self.elements + 1), asked=asked)
        if isinstance(self.layout, AddressMap):
            yield Restated(self._bounds, graphs=False)

    def _by_digits(self, facts: Facts) -> AddressMap | None:
        """The first offset of each access in digits of merges and pads, all independent; None where there is none.

        An index that is a multiple of a vector has a fastest digit that is one, where the vector divides its extent.
        """
        if not isinstance(self.layout, TensorDescriptor):
            return None
        form = digit_form(self.layout, by_pads=True)
        if self.elements == 1:
            return form.map_of(form.offset)
        along = form.top[self.along]
        fastest = next((d for d in form.digits if terms_of(along).get((d,)) == 1), None)
        if fastest is None or facts.quotient(extent_of(fastest), self.elements) is None:
            return None
        vectors = digit(f"{fastest.name.strip('[]')}.v", floordiv(extent_of(fastest), self.elements))
        digits = tuple(vectors if d is fastest else d for d in form.digits)
        extents = tuple(extent_of(d) for d in digits)
        return AddressMap(digits, extents, substitute(form.offset, {fastest: self.elements * vectors}))

    def counterexample(self) -> Witness | None:
        found = self._bounds.counterexample()
        if found is None:
            return None
        c = found.coords[0]
        offset = self._starts(c)
        index = self._index(c)
        last = offset + self.elements - 1
        which = f"offset {offset}" if self.elements == 1 else f"offsets {offset} .. {last}"
        return Witness({}, (index,), f"index {at_text(index)} has {which}, in a buffer of {self.size}")

    def _index(self, c: tuple[int, ...]) -> tuple[int, ...]:
        if self.elements == 1:
            return c
        d = self.along % len(c)
        return (*c[:d], c[d] * self.elements, *c[d + 1 :])

    def points(self) -> int:
        return self._bounds.points()

    def limits(self, width: int) -> list[tuple[Any, Any]]:
        """(low, high) of the first offset of an access."""
        return self._bounds.limits(width)

    def violations(self, facts: Facts) -> list[Query] | None:
        return self._bounds.violations(facts)

    def replay(self, model: Mapping[Symbol, int], bound: Any) -> Witness | None:
        return self._bounds.replay(model, bound._bounds)

    def conditions(self, facts: Facts) -> Iterator[Fact]:
        return self._bounds.conditions(facts)

    def otherwise(self) -> str:
        return "a pad masks what lies outside"

    def lemma(self, facts: Facts) -> str:
        return f"every offset that the pads admit lies in [0, {self.size})"


def subject_of(x: Any) -> Any:
    """The map that a claim about a view, a descriptor or another subject is about."""
    layout = x.descriptor if isinstance(x, TensorView) else x
    check_subject(layout)
    return layout


def check_along(x: AddressMap, along: Any) -> None:
    """Raise ClaimError unless *along* is a dimension, counted from either end."""
    rank = len(x.coords)
    if type(along) is not int or not -rank <= along < rank:
        expected = f"a dimension of 0 .. {rank - 1}" if rank else "a vector of 1 element where there is no dimension"
        raise ClaimError(f"expected {expected}, got {along!r}")


def descriptor_of(x: Any) -> AddressMap:
    """The descriptor, or another map. Raises ClaimError for a layout, whose modes are no dimensions with pads."""
    layout = subject_of(x)
    if not isinstance(layout, AddressMap):
        raise ClaimError(f"expected a tensor view, a descriptor or an AddressMap, got {layout}")
    return layout
