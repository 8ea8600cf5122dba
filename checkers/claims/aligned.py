"""Every access starts at a multiple of some bytes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from symlayout.address_map import AddressMap
from symlayout.answers.report import Witness
from symlayout.errors import ClaimError, InternalError
from symlayout.expr import Fact, Symbol, eq, integer
from symlayout.facts import NOTHING, Facts, ranges
from symlayout.int_tuple import leaves

from ..algebra import probes as far
from ..algebra.certificates import divisible
from ..algebra.subject_form import at_model, at_text, check_offsets, check_subject, expression, linear, points, table
from ..claim import Claim, Proof, Query, TooLarge
from ..claim_fields import Size, Subject
from ..exhaustive import POINTS
from ..repairs.conditions import divisibility


@dataclass(frozen=True)
class Aligned(Claim):
    """base_bytes + offset*element_bytes is a multiple of *to_bytes* at every coordinate.

    >>> from symlayout import Layout, dims
    >>> M, K = dims("M K")
    >>> print(Aligned(Layout((M, K), (K, 8)), to_bytes=16, element_bytes=2))
    aligned to 16 bytes: (M,K):(K,8) of 2-byte elements
    """

    layout: Subject
    to_bytes: int
    element_bytes: int = 1
    base_bytes: Size = 0

    kind: ClassVar[str] = "aligned"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_subject(self.layout)
        check_offsets(self.layout)
        for name in ("to_bytes", "element_bytes"):
            if type(getattr(self, name)) is not int or getattr(self, name) < 1:
                raise ClaimError(f"expected {name} of at least 1, got {getattr(self, name)!r}")
        object.__setattr__(self, "base_bytes", integer(self.base_bytes))

    def __str__(self) -> str:
        base = "" if self.base_bytes == 0 else f" at {self.base_bytes}"
        return f"{self.kind} to {self.to_bytes} bytes: {self.layout} of {self.element_bytes}-byte elements{base}"

    def certify(self, facts: Facts) -> Proof | None:
        form = linear(self.layout, facts)
        if form is None and isinstance(self.layout, AddressMap):
            (offset,) = leaves(self.layout.offset)
            address = facts.normal(self.base_bytes + offset * self.element_bytes)
            found = divisible([], address, self.to_bytes, facts)
            return None if found is None else Proof("divisibility, T12", found)
        if form is None or form.single is None:
            return None
        c, size = form.single, self.element_bytes
        sw = form.swizzle
        if sw is not None and (size << sw.base) % self.to_bytes:
            return None  # the swizzle moves bits that alignment looks at
        modes = [(n, s * size) for n, s in c.modes]
        found = divisible(modes, facts.normal(self.base_bytes) + c.base * size, self.to_bytes, facts)
        lemmas = (f"{sw} keeps the low {sw.base} bits (T14)",) if sw is not None else ()
        return None if found is None else Proof("divisibility, T11", found, lemmas)

    def counterexample(self) -> Witness | None:
        if points(self.layout) > POINTS:
            found = next((w for w in map(self._at, far.probes(self.layout)) if w is not None), None)
            if found is None:
                raise TooLarge
            return found
        at, values = table(self.layout)
        for row, v in enumerate(values):
            if (self.base_bytes + int(v[0]) * self.element_bytes) % self.to_bytes:
                return self._replayed(at(row))
        return None

    def _at(self, coord: Any) -> Witness | None:
        """The failure at one coordinate, if it fails there."""
        address = self.base_bytes + self.layout(coord) * self.element_bytes
        if address % self.to_bytes == 0:
            return None
        story = f"coordinate {at_text(coord)} is at byte {address}, which {self.to_bytes} does not divide"
        return Witness({}, (coord,), story)

    def _replayed(self, coord: Any) -> Witness:
        found = self._at(coord)
        if found is None:
            raise InternalError(f"the address at {coord} of {self.layout} does not replay")
        return found

    def replay(self, model: Mapping[Symbol, int], bound: Any) -> Witness | None:
        coord = at_model(self.layout, "", model, bound.layout)
        return None if coord is None else bound._at(coord)

    def violations(self, facts: Facts) -> list[Query] | None:
        digits, _, value, valid = expression(self.layout, "")
        (v,) = leaves(value)
        address = self.base_bytes + v * self.element_bytes
        rest = address - self.to_bytes * (address // self.to_bytes)
        return [[*ranges(digits), *valid, *eq(rest, 0).negated()[:1]]]

    def conditions(self, facts: Facts) -> Iterator[Fact]:
        form = linear(self.layout, NOTHING)
        if form is not None and form.single is not None:
            for p in (self.base_bytes, *(s * self.element_bytes for _, s in form.single.modes)):
                yield from divisibility(p, self.to_bytes)

    def lemma(self, facts: Facts) -> str:
        return f"{self.to_bytes} divides every byte offset"
