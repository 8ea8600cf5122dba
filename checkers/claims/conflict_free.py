"""A warp's shared-memory accesses have no bank conflicts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from symlayout.address_map import AddressMap
from symlayout.answers.report import Witness
from symlayout.banks import BANK_BYTES, BANKS, conflict_degree, linear_degree, worst_lanes
from symlayout.errors import ClaimError, InternalError
from symlayout.expr import evaluate
from symlayout.facts import Facts
from symlayout.int_tuple import leaves, product, text
from symlayout.layout import ComposedLayout
from symlayout.linear import linear as over_f2
from symlayout.swizzle import Swizzle, upcast_swizzle

from ..algebra.subject_form import points, table
from ..algebra.warp_lanes import certify_moved, check_access, lanes_of
from ..claim import Claim, Proof, TooLarge
from ..claim_fields import Subject
from ..exhaustive import POINTS, unravel


@dataclass(frozen=True)
class ConflictFree(Claim):
    """The lanes of mode 0 hit each bank at most *degree* times in a phase, whatever the other coordinates.

    The first mode of *access* is the lane; its values are offsets in elements of *element_bytes*, and each
    lane touches *width_bytes*. For ldmatrix the lanes are 8 rows and the width is 16 bytes. The verdict holds
    for every base that is added after the swizzle and is a multiple of max(width, 4) bytes (T16).

    >>> from symlayout import ComposedLayout, Layout, Swizzle
    >>> rows = ComposedLayout(Swizzle(3, 3, 3), 0, Layout((8, 8), (64, 8)))     # (row, 16-byte column)
    >>> print(ConflictFree(rows, element_bytes=2, width_bytes=16))
    conflict-free: Sw<3,3,3> o 0 o (8,8):(64,8), 8 lanes of 16 bytes
    """

    access: Subject
    element_bytes: int
    width_bytes: int = 16
    degree: int = 1

    kind: ClassVar[str] = "conflict-free"
    by_rows: ClassVar[bool] = False  # residues of strides rest on congruences, which have no rows

    def __post_init__(self) -> None:
        super().__post_init__()
        check_access(self.access, self.element_bytes, self.width_bytes)
        if type(self.degree) is not int or self.degree < 1:
            raise ClaimError(f"expected a degree of at least 1, got {self.degree!r}")

    @property
    def lanes(self) -> Any:
        """The size of the first mode."""
        return lanes_of(self.access)

    def __str__(self) -> str:
        limit = "" if self.degree == 1 else f", at most {self.degree}-way"
        return f"{self.kind}: {self.access}, {self.lanes} lanes of {self.width_bytes} bytes{limit}"

    def certify(self, facts: Facts) -> Proof | None:
        """On numbers by rank; symbolic modes that move all lanes together leave numbers."""
        if facts.symbols:
            return certify_moved(self, facts, self.element_bytes, max(self.width_bytes, BANK_BYTES), BANKS * BANK_BYTES)
        return self._by_rank(facts)

    def _by_rank(self, facts: Facts) -> Proof | None:
        """The kernels of the bank map and of the address map agree (T16); one phase represents all."""
        if (
            isinstance(self.access, AddressMap)
            or facts.symbols
            or self.lanes > 32
            or self.element_bytes & (self.element_bytes - 1)
        ):
            return None
        found = over_f2(self.access)
        if found is None or found.offset:
            return None
        bits = self.lanes.bit_length() - 1
        shift = self.element_bytes.bit_length() - 1
        columns = [c << shift for c in found.columns]
        if any(c % self.width_bytes for c in columns):
            return None  # some access, perhaps of another coordinate, starts between two units
        columns = columns[:bits]
        degree = linear_degree(columns, self.width_bytes)
        return Proof(f"linear over GF(2), T16: {degree}-way in every phase") if degree <= self.degree else None

    def counterexample(self) -> Witness | None:
        if points(self.access) > POINTS:
            raise TooLarge
        if self.lanes > 32:
            raise ClaimError(f"expected at most 32 lanes in the first mode, got {self.lanes}")
        for i, lanes in self._rows():
            if self._is_misaligned(lanes):
                return self._misaligned(i, lanes)
            if self._conflicts(lanes):
                return self._conflict(i, lanes)
        return None

    def _rows(self) -> Iterator[tuple[int, list[int]]]:
        """The byte addresses of the lanes at each of the other coordinates."""
        _, values = table(self.access)
        rows = (values[:, 0] * self.element_bytes).reshape(-1, self.lanes)
        yield from ((i, [int(a) for a in addresses]) for i, addresses in enumerate(rows))

    def _is_misaligned(self, addresses: list[int]) -> bool:
        return any(a % self.width_bytes for a in addresses)

    def _conflicts(self, addresses: list[int]) -> bool:
        return conflict_degree(addresses, self.width_bytes) > self.degree

    def _rest(self, i: int) -> str:
        shape = self.access.shape
        rest = shape[1:] if isinstance(shape, tuple) else ()
        if not rest or product(rest) == 1:
            return ""
        sizes = tuple(product(s) for s in rest)
        return f" at coordinate {text(('_', *unravel(i, sizes)))}"

    def _conflict(self, i: int, addresses: list[int]) -> Witness:
        self._replay(i, addresses)
        return Witness({}, (i,), f"{worst_lanes(addresses, self.width_bytes)}{self._rest(i)}{self._of_bytes()}")

    def _of_bytes(self) -> str:
        """The swizzle in elements, where the one at hand is without conflicts as a swizzle of byte addresses."""
        if not isinstance(self.access, ComposedLayout) or not isinstance(self.access.outer, Swizzle):
            return ""
        given, size = self.access.outer, self.element_bytes
        if size == 1 or size & (size - 1) or given.base < size.bit_length() - 1:
            return ""
        meant = upcast_swizzle(size, given)
        mended = replace(self, access=ComposedLayout(meant, self.access.offset, self.access.inner))
        if any(mended._is_misaligned(lanes) or mended._conflicts(lanes) for _, lanes in mended._rows()):
            return ""
        return f"; {given} swizzles bytes, and offsets are elements of {size} bytes: there {meant} has no conflicts"

    def _misaligned(self, i: int, addresses: list[int]) -> Witness:
        lane = next(k for k, a in enumerate(addresses) if a % self.width_bytes)
        return Witness(
            {},
            (i,),
            f"lane {lane} accesses byte {addresses[lane]}, no multiple of its {self.width_bytes} bytes{self._rest(i)}",
        )

    def _replay(self, i: int, addresses: list[int]) -> None:
        """The addresses once more, one coordinate at a time."""
        again = [
            self.element_bytes * v for k in range(self.lanes) for v in leaves(_at(self.access, i * self.lanes + k))
        ]
        if again != addresses:
            raise InternalError(f"the accesses of {self.access} do not replay: {again} and {addresses}")

    def lemma(self, facts: Facts) -> str:
        return "the lanes of each phase fall into different banks; this claim needs numbers"


def _at(access: Any, index: int) -> Any:
    """The value at a linear index."""
    return (
        access(unravel(index, tuple(evaluate(n, {}) for n in access.extents)))
        if isinstance(access, AddressMap)
        else access(index)
    )
