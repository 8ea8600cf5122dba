"""A warp's global access touches no more sectors than stated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from symlayout.answers.report import Witness
from symlayout.banks import SECTOR_BYTES, sectors
from symlayout.errors import ClaimError, InternalError
from symlayout.expr import integer
from symlayout.facts import Facts
from symlayout.int_tuple import ceil_div, product, text

from ..algebra.subject_form import points, table
from ..algebra.warp_lanes import certify_moved, check_access, lanes_of
from ..claim import Claim, Proof, TooLarge
from ..claim_fields import Size, Subject
from ..exhaustive import POINTS, unravel


@dataclass(frozen=True)
class Coalesced(Claim):
    """Each request of the lanes of mode 0 touches at most *sectors* sectors of 32 bytes, whatever the rest.

    The values of *access* are offsets in elements of *element_bytes*; each lane moves *width_bytes*. Left out,
    *sectors* is the least that so many distinct bytes can need.

    >>> from symlayout import Layout
    >>> print(Coalesced(Layout((32, 4), (1, 1024)), element_bytes=4, width_bytes=4))
    coalesced: (32,4):(1,1024), 32 lanes of 4 bytes in at most 4 sectors
    """

    access: Subject
    element_bytes: int
    width_bytes: int
    sectors: Size = 0

    kind: ClassVar[str] = "coalesced"
    by_rows: ClassVar[bool] = False  # residues of strides rest on congruences, which have no rows

    def __post_init__(self) -> None:
        super().__post_init__()
        check_access(self.access, self.element_bytes, self.width_bytes)
        if type(self.sectors) is int and self.sectors < 0:
            raise ClaimError(f"expected at least 1 sector, got {self.sectors}")
        least = ceil_div(self.lanes * self.width_bytes, SECTOR_BYTES)
        object.__setattr__(self, "sectors", least if self.sectors == 0 else integer(self.sectors))

    @property
    def lanes(self) -> Any:
        """The size of the first mode."""
        return lanes_of(self.access)

    def __str__(self) -> str:
        lanes = f"{self.lanes} lanes of {self.width_bytes} bytes"
        return f"{self.kind}: {self.access}, {lanes} in at most {self.sectors} sectors"

    def certify(self, facts: Facts) -> Proof | None:
        if not facts.symbols:
            return None
        return certify_moved(self, facts, self.element_bytes, SECTOR_BYTES, SECTOR_BYTES)

    def counterexample(self) -> Witness | None:
        if points(self.access) > POINTS:
            raise TooLarge
        if self.lanes > 32:
            raise ClaimError(f"expected at most 32 lanes in the first mode, got {self.lanes}")
        _, values = table(self.access)
        requests = (values[:, 0] * self.element_bytes).reshape(-1, self.lanes)
        for i, addresses in enumerate(requests):
            touched = sectors([int(a) for a in addresses], self.width_bytes)
            if touched > self.sectors:
                return self._witness(i, touched, [int(a) for a in addresses])
        return None

    def _witness(self, i: int, touched: int, addresses: list[int]) -> Witness:
        ends = {b // SECTOR_BYTES for a in addresses for b in (a, a + self.width_bytes - 1)}
        if len(ends) < min(touched, 2) and touched > 1:
            raise InternalError(f"the request {i} of {self.access} does not replay: {touched} sectors")
        shape = self.access.shape
        rest = tuple(product(s) for s in shape[1:]) if isinstance(shape, tuple) else ()
        where = f" at coordinate {text(('_', *unravel(i, rest)))}" if rest and product(rest) > 1 else ""
        return Witness({}, (i,), f"a request touches {touched} sectors{where}")

    def lemma(self, facts: Facts) -> str:
        return "the bytes of each request lie in few sectors; this claim needs numbers"
