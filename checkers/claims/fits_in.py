"""Values fit a machine integer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from symlayout.answers.report import Witness
from symlayout.basis import as_tuple
from symlayout.errors import ClaimError
from symlayout.expr import Fact, Symbol
from symlayout.expr.trace import steps
from symlayout.facts import Facts, ranges
from symlayout.int_tuple import Shape, leaves

from ..algebra.subject_form import at_text, check_subject, expression
from ..claim import Claim, Proof, Query
from ..claim_fields import Subject
from .in_bounds import _outside, at_digits, certify_range, corners, outside, scalar


@dataclass(frozen=True)
class FitsIn(Claim):
    """Every value, times *unit_bytes* where the code computes bytes, is representable in *bits* bits.

    >>> from symlayout import Layout, dims
    >>> M, = dims("M")
    >>> print(FitsIn(Layout((M, 4), (4, 1)), bits=32))
    fits in int32: (M,4):(4,1) in elements
    """

    layout: Subject
    bits: int = 32
    signed: bool = True
    unit_bytes: int = 1

    kind: ClassVar[str] = "fits in"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "layout", scalar(self.layout))
        check_subject(self.layout)
        if type(self.bits) is not int or not 1 <= self.bits <= 128:
            raise ClaimError(f"expected 1 to 128 bits, got {self.bits!r}")
        if type(self.unit_bytes) is not int or self.unit_bytes < 1:
            raise ClaimError(f"expected a unit of at least 1 byte, got {self.unit_bytes!r}")

    @classmethod
    def each_step(
        cls, f: Callable[..., Any], shape: Shape, when: Callable[..., Any] | None = None, **options: Any
    ) -> list[FitsIn]:
        """One claim for each operation of an index computation, on sizes alone too, in the order of the code.

        ``FitsIn.each_step(lambda i, k: (i*K + k)*2, (M, K), bits=32)`` asks for i*K, i*K + k and the product.
        *when* is a predicate that the code tests before it computes anything.
        """
        return [cls(s.value, **options) for s in steps(f, shape, when)]

    def __str__(self) -> str:
        unit = "elements" if self.unit_bytes == 1 else f"bytes ({self.unit_bytes} an element)"
        return f"{self.kind} {'int' if self.signed else 'uint'}{self.bits}: {self.layout} in {unit}"

    def limits(self, width: int) -> list[tuple[int, int]]:
        """The least and greatest element offset whose value in the unit still fits."""
        low = -(1 << (self.bits - 1)) if self.signed else 0
        high = (1 << (self.bits - 1)) - 1 if self.signed else (1 << self.bits) - 1
        return [(-(-low // self.unit_bytes), high // self.unit_bytes)] * width

    def certify(self, facts: Facts) -> Proof | None:
        return certify_range(self.layout, self.limits, facts)

    def counterexample(self) -> Witness | None:
        found = outside(self.layout, self.limits)
        return found if found is None or self.unit_bytes == 1 else self._in_bytes(found)

    def _in_bytes(self, found: Witness) -> Witness:
        """The story in the unit that overflows."""
        values = leaves(as_tuple(self.layout(found.coords[0])))
        low, high = self.limits(1)[0]
        v = next(v for v in values if not low <= v <= high)
        story = f"coordinate {at_text(found.coords[0])} is element {v}, byte {v * self.unit_bytes}"
        return Witness({}, found.coords, story)

    def replay(self, model: Mapping[Symbol, int], bound: Any) -> Witness | None:
        return at_digits(self.layout, model, bound)

    def violations(self, facts: Facts) -> list[Query] | None:
        digits, _, value, valid = expression(self.layout, "")
        parts = leaves(value)
        return [
            [*ranges(digits), *valid, fact]
            for v, (low, high) in zip(parts, self.limits(len(parts)), strict=True)
            for fact in _outside(v, low, high)
        ]

    def conditions(self, facts: Facts) -> Iterator[Fact]:
        return corners(self.layout, self.limits)

    def lemma(self, facts: Facts) -> str:
        return f"every value fits {self.bits} bits"
