"""Runs of elements can be moved by one vector access."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from symlayout.address_map import AddressMap
from symlayout.algebra import coalesced_modes
from symlayout.answers.report import Witness
from symlayout.coordinates import idx2crd
from symlayout.errors import ClaimError, InternalError
from symlayout.expr import Expr, Fact
from symlayout.facts import NOTHING, Facts
from symlayout.int_tuple import is_one

from ..algebra import probes as far
from ..algebra.certificates import divisible
from ..algebra.subject_form import at_text, check_offsets, check_subject, linear, points, table
from ..claim import Claim, Proof, TooLarge
from ..claim_fields import Subject
from ..exhaustive import POINTS
from ..repairs.conditions import divisibility


@dataclass(frozen=True)
class Vectorizable(Claim):
    """Each run of *elements* consecutive coordinates (linear index) is contiguous and starts at a multiple of it.

    So the run can be one access of elements*element_bytes bytes, if the base address is aligned to that.

    >>> from symlayout import Layout, dims
    >>> M, K = dims("M K")
    >>> print(Vectorizable(Layout((K, M), (1, K)), elements=8))
    vectorizable by 8: (K,M):(1,K)
    """

    layout: Subject
    elements: int

    kind: ClassVar[str] = "vectorizable"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_subject(self.layout)
        if isinstance(self.layout, AddressMap):
            raise ClaimError(f"expected a layout, whose linear index orders its elements, got {self.layout}")
        check_offsets(self.layout)
        if type(self.elements) is not int or self.elements < 1:
            raise ClaimError(f"expected a vector of at least 1 element, got {self.elements!r}")

    def __str__(self) -> str:
        return f"{self.kind} by {self.elements}: {self.layout}"

    def certify(self, facts: Facts) -> Proof | None:
        form = linear(self.layout, facts)
        if form is None or form.single is None:
            return None
        sw, v = form.swizzle, self.elements
        if sw is not None and (1 << sw.base) % v:
            return None
        split = _split(form.single.modes, v, facts)
        if split is None:
            return None
        found = divisible(split, form.single.base, v, facts)
        lemmas = (f"{sw} keeps runs of {1 << sw.base} (T14)",) if sw is not None else ()
        return None if found is None else Proof("a contiguous first mode and divisibility, T11", found, lemmas)

    def counterexample(self) -> Witness | None:
        n, v = points(self.layout), self.elements
        if n % v:
            return Witness({}, (), f"the size is {n}, which {v} does not divide")
        if n > POINTS:
            return self._far()
        at, values = table(self.layout)
        offsets = [int(x) for x in values[:, 0]]
        for i, x in enumerate(offsets):
            start = offsets[i - i % self.elements]
            if start % self.elements or x != start + i % self.elements:
                return self._witness(at(i), at(i - i % self.elements), x, start)
        return None

    def _far(self) -> Witness:
        """A run that fails around one of a few places; TooLarge where all of those are right."""
        v, shape = self.elements, self.layout.shape
        for i in far.places(self.layout):
            first, x = self.layout(i - i % v), self.layout(i)
            if first % v or x != first + i % v:
                return self._witness(idx2crd(i, shape), idx2crd(i - i % v, shape), x, first)
        raise TooLarge

    def _witness(self, coord: Any, first: Any, x: int, start: int) -> Witness:
        if (self.layout(coord), self.layout(first)) != (x, start):
            raise InternalError(f"the run at {first} of {self.layout} does not replay")
        if start % self.elements:
            return Witness(
                {},
                (first,),
                f"the run at {at_text(first)} starts at offset {start}, which {self.elements} does not divide",
            )
        return Witness(
            {}, (first, coord), f"the run at {at_text(first)} (offset {start}) has {at_text(coord)} at offset {x}"
        )

    def conditions(self, facts: Facts) -> Iterator[Fact]:
        form = linear(self.layout, NOTHING)
        if form is not None and form.single is not None:
            for n, s in form.single.modes:
                yield from divisibility(s if not is_one(s) else n, self.elements)

    def lemma(self, facts: Facts) -> str:
        return f"the first mode is contiguous, and {self.elements} divides it and every other stride"


def _split(modes: Any, v: int, facts: Facts) -> list[tuple[Any, Any]] | None:
    """The modes over runs of v: the contiguous first mode n:1 becomes (n/v):v; None where it is not so."""
    if v == 1:
        return list(modes)
    first, *rest = coalesced_modes(list(modes)) or [(1, 0)]
    n, s = first
    if not is_one(s):
        return None
    count = facts.quotient(n, v) if isinstance(n, Expr) else (n // v if n % v == 0 else None)
    return None if count is None else [(count, v), *rest]
