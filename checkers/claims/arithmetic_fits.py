"""Every partial result of a kernel's integers is held in enough bits, where the code computes it."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from symlayout.answers.report import Witness
from symlayout.expr import Fact, Int, Symbol
from symlayout.expr.partial_results import within, wrapped
from symlayout.facts import Facts, opaque_atoms, symbols_in
from symlayout.facts.intervals import Intervals
from symlayout.kernel import Kernel
from symlayout.kernel.indices import over_indices
from symlayout.kernel.integer_widths import ADDRESS_BITS, HOST_BITS, Evaluation, Ranges, evaluations, in_memory, of_host

from ..claim import Claim, Proof
from ..claim_fields import Map
from .fits_in import FitsIn
from .in_bounds import scalar
from .of_kernel import AtAllSizes

RANGES = "ranges of sizes and indices"
USEFUL = 1 << 12  # a repair that bounds a size by less is of no use


@dataclass(frozen=True)
class PartialFits(FitsIn):
    """A partial result, *code* as written, fits the bits in which it is held at its *place*.

    >>> from symlayout import dim
    >>> print(PartialFits(dim("N") + 8, code="N + 8", place="if N + 8 <= M"))
    partial result fits in int32: N + 8, in: if N + 8 <= M
    """

    layout: Map
    code: str = ""
    place: str = ""
    sizes: tuple[Symbol, ...] = ()  # of the kernel: other symbols are indices

    kind: ClassVar[str] = "partial result fits in"
    divides: ClassVar[bool] = False

    def __str__(self) -> str:
        return f"{self.kind} int{self.bits}: {self.code}, in: {self.place}"

    def certify(self, facts: Facts) -> Proof | None:
        x = self.layout
        if within(Intervals(facts.given).of(x.offset), self.bits):
            return Proof(RANGES)
        return super().certify(facts)

    def indices(self) -> frozenset[Symbol]:
        coords = getattr(self.layout, "coords", ())
        return frozenset(symbols_in((self.layout, *self.given))) - {*self.sizes, *coords} if self.sizes else frozenset()

    def counterexample(self) -> Witness | None:
        if within(Intervals().of(self.layout.offset), self.bits):
            return None  # at most sizes that are tried: no need to evaluate every coordinate
        found = super().counterexample()
        return None if found is None else self._told(found)

    def replay(self, model: Mapping[Symbol, int], bound: Any) -> Witness | None:
        found = super().replay(model, bound)
        return None if found is None else self._told(found, bound.layout)

    def _told(self, found: Witness, layout: Any = None) -> Witness:
        """The value on plain integers, and what so many bits make of it."""
        layout = self.layout if layout is None else layout
        at = found.coords[0] if isinstance(found.coords[0], tuple) else (found.coords[0],)
        value = layout(*at) if layout.coords else layout.offset
        where = ", ".join(f"{c.name} = {v}" for c, v in zip(layout.coords, at, strict=False))
        low, high = self.limits(1)[0]
        end = f"past the last valid {high}" if value > high else f"below {low}"
        story = f"{self.code} = {value}, {end}: {self.bits} bits hold {wrapped(value, self.bits)}"
        return replace(found, story=f"{where and where + ': '}{story}")

    def conditions(self, facts: Facts) -> Iterator[Fact]:
        """Upper bounds on the sizes that give the greatest value, then on single sizes."""
        corners = list(super().conditions(facts))
        yield from (f for f in corners if not opaque_atoms(f.expr))
        yield from self._upper_bounds(facts)
        yield from corners

    def _upper_bounds(self, facts: Facts) -> Iterator[Fact]:
        """For each size the greatest bound under which the ranges alone show that the value fits."""
        for s in self.layout.symbols:
            low, high = Intervals(facts.given).of(s)
            if s in self.layout.coords or not self._fits_below(facts, s, low):
                continue
            while low < high:  # low does, high need not
                middle = (low + high + 1) // 2
                low, high = (middle, high) if self._fits_below(facts, s, middle) else (low, middle - 1)
            if low >= USEFUL:
                yield s <= low

    def _fits_below(self, facts: Facts, s: Symbol, most: int) -> bool:
        return within(Intervals((*facts.given, s <= most)).of(self.layout.offset), self.bits)

    def otherwise(self) -> str:
        return f"{self.code} has 64 bits (checkers.with_widths)" if self.bits < HOST_BITS else ""


@dataclass(frozen=True)
class ArithmeticFits(AtAllSizes):
    """Each partial result of a kernel's integers fits the bits that ``symlayout.kernel.integer_widths`` gives it.

    A condition is computed before it is known to hold: only the conditions around it count, and the trip counts of
    loops. What the host computes for a launch fits 64 bits, what an instruction takes in a field 32.

    >>> from symlayout import dim
    >>> from symlayout.kernels import vector_copy
    >>> print(ArithmeticFits(vector_copy(dim("N"))))
    arithmetic fits: 28 partial results of vector_copy
    """

    kind: ClassVar[str] = "arithmetic fits"
    weighs: ClassVar[bool] = False

    @functools.cached_property
    def _asked(self) -> tuple[tuple[PartialFits, ...], int]:
        """(the partial results that ranges alone do not show to fit, how many there are)."""
        every = list(_partials(self.kernel, self._evaluations))
        asked = {(c.layout, c.bits, c.given): c for c in reversed(every) if c is not None}
        return tuple(reversed(asked.values())), len(every)

    @functools.cached_property
    def _evaluations(self) -> tuple[Evaluation, ...]:
        return tuple(evaluations(self.kernel))

    def parts(self) -> tuple[Claim, ...]:
        return self._asked[0]

    @property
    def method(self) -> str:
        needed = any(c is not None for c in _partials(self.kernel, self._evaluations, memory=False))
        reach = f", global tensors of at most 2^{ADDRESS_BITS} bytes" if needed else ""
        narrow = len(self.parts())
        return f"{RANGES}{reach}" + (f", and {narrow} partial results by themselves" if narrow else "")

    def __str__(self) -> str:
        return f"{self.kind}: {self._asked[1]} partial results of {self.kernel.name}"


def _partials(kernel: Kernel, every: Iterable[Evaluation], memory: bool = True) -> Iterator[PartialFits | None]:
    """A claim about each partial result, None for those that ranges show to fit; *memory* bounds what tensors reach."""
    known = Ranges(kernel, memory)
    for s in kernel.dims:
        bits = 64 if s in kernel.wide else kernel.index_bits
        yield None if within(known.of(s), bits) else PartialFits(scalar(s), bits, code=s.name, place="the launch")
    for where, x in of_host(kernel):
        fine = within(known.of(x), HOST_BITS)
        yield None if fine else PartialFits(scalar(x), HOST_BITS, code=str(x), place=where, given=known.given)
    for e in every:
        for value, bits in e.held:
            yield None if within(known.of(value, e.scope.written), bits) else partial_fits(kernel, e, value, bits)


def partial_fits(kernel: Kernel, e: Evaluation, value: Int, bits: int) -> PartialFits:
    """The claim about one partial result of an evaluation."""
    at, given = over_indices(e.put(value), e.conditions, kernel.dims)
    given = (*kernel.given, *in_memory(kernel), *given)
    return PartialFits(at, bits, code=str(value), place=str(e.op), sizes=kernel.dims, given=given)
