"""The lanes of a wave meet each bank of the LDS few enough times in a phase; phases are data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from symlayout.address_map import AddressMap
from symlayout.answers.report import Witness
from symlayout.banks import BANK_BYTES, Access, conflict_degree, linear_degree, worst_lanes
from symlayout.errors import ClaimError, InternalError
from symlayout.facts import Facts
from symlayout.int_tuple import product, text
from symlayout.linear import linear as over_f2

from ..algebra.subject_form import check_offsets, points, table
from ..algebra.warp_lanes import certify_moved, lanes_of
from ..claim import Claim, Proof, Restated, TooLarge
from ..claim_fields import Subject
from ..exhaustive import POINTS, unravel
from .no_invalid_access import subject_of


@dataclass(frozen=True)
class LdsConflictDegree(Claim):
    """The lanes of mode 0 hit each bank at most *at_most* times in a phase, whatever the other coordinates.

    Values are offsets in elements of *element_bytes*; *served* says the bytes of each lane, the lanes of each phase and
    the number of banks: 32 or 64 by architecture, so that a verdict holds for the phases that it names. It is proved by
    rank where addresses are linear over GF(2), else by counting, which is a second method for all of them.

    >>> from symlayout import Layout
    >>> from symlayout.banks import Access
    >>> print(LdsConflictDegree(Layout(64, 1), 4, Access(4, lanes=64, banks=64)))
    LDS conflict degree: 64:1, at most 1-way, 4 bytes for each of 64 lanes in 1 phases, 64 units of 4 bytes in 64 banks
    """

    access: Subject
    element_bytes: int
    served: Access
    at_most: int = 1

    kind: ClassVar[str] = "LDS conflict degree"
    by_rows: ClassVar[bool] = False  # residues of strides rest on congruences, which have no rows

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "access", subject_of(self.access))
        check_offsets(self.access)
        if getattr(self.access, "valid", None):
            raise ClaimError(f"expected an access that every lane makes, got a predicate in {self.access}")
        if not isinstance(self.served, Access):
            raise ClaimError(f"expected banks.Access(width, lanes=..., groups=..., banks=...), got {self.served!r}")
        lanes = lanes_of(self.access)
        if type(lanes) is int and lanes != self.served.lanes:
            raise ClaimError(f"expected {self.served.lanes} lanes in the first mode, got {lanes}")
        for name, least in (("element_bytes", 1), ("at_most", 1)):
            value = getattr(self, name)
            if type(value) is not int or value < least:
                raise ClaimError(f"expected {name} of at least {least}, got {value!r}")

    def __str__(self) -> str:
        return f"{self.kind}: {self.access}, at most {self.at_most}-way, {self.served}"

    # -- proof ----------------------------------------------------------------------------------------

    def certify(self, facts: Facts) -> Proof | None:
        """On numbers by rank; symbolic modes that move all lanes together leave numbers."""
        if facts.symbols:
            row = self.served.banks * BANK_BYTES
            return certify_moved(self, facts, self.element_bytes, self.served.unit_bytes, row)
        return self._by_rank()

    def restated(self, facts: Facts) -> Iterator[Restated]:
        """The lanes and phases as they are."""
        yield Restated(self, graphs=False)

    def _by_rank(self) -> Proof | None:
        """Addresses that are linear over GF(2), and phases that are alike: one represents all (T16)."""
        size, served = self.element_bytes, self.served
        if isinstance(self.access, AddressMap) or size & (size - 1) or served.lanes & (served.lanes - 1):
            return None
        found = over_f2(self.access)
        if found is None or found.offset or served.directions is None or served.units & (served.units - 1):
            return None
        columns = [c * size for c in found.columns]
        if any(c % served.width_bytes for c in columns):
            return None  # some access, perhaps of another coordinate, starts between two units
        degree = linear_degree(columns[: served.lanes.bit_length() - 1], served)
        return Proof(f"linear over GF(2), T16: {degree}-way in every phase") if degree <= self.at_most else None

    # -- numbers --------------------------------------------------------------------------------------

    def counterexample(self) -> Witness | None:
        if points(self.access) > POINTS:
            raise TooLarge
        for i, addresses in self._rows():
            lane = next((k for k, a in enumerate(addresses) if a % self.served.width_bytes), None)
            if lane is not None:
                story = (
                    f"lane {lane} accesses byte {addresses[lane]}, no multiple of its {self.served.width_bytes} bytes"
                )
                return Witness({}, (i,), f"{story}{self._rest(i)}")
            if conflict_degree(addresses, self.served) > self.at_most:
                return Witness({}, (i,), f"{self._replayed(i, addresses)}{self._rest(i)}")
        return None

    def _rows(self) -> Iterator[tuple[int, list[int]]]:
        _, values = table(self.access)
        rows = (values[:, 0] * self.element_bytes).reshape(-1, self.served.lanes)
        yield from ((i, [int(a) for a in row]) for i, row in enumerate(rows))

    def _replayed(self, i: int, addresses: list[int]) -> Any:
        first = self._at(i * self.served.lanes) * self.element_bytes
        if first != addresses[0]:
            raise InternalError(f"the accesses of {self.access} do not replay: {first} and {addresses[0]}")
        return worst_lanes(addresses, self.served)

    def _at(self, row: int) -> Any:
        if not isinstance(self.access, AddressMap):
            return self.access(row)
        return self.access(unravel(row, tuple(int(n) for n in self.access.extents)))

    def _rest(self, i: int) -> str:
        shape = self.access.shape
        rest = tuple(product(s) for s in shape[1:]) if isinstance(shape, tuple) else ()
        return f" at coordinate {text(('_', *unravel(i, rest)))}" if rest and product(rest) > 1 else ""

    def lemma(self, facts: Facts) -> str:
        return "the lanes of each phase fall into different banks; this claim needs numbers"
