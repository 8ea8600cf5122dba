"""Every copy of a tile loop runs without a fault and touches no byte but its own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from symlayout.address_map import AddressMap
from symlayout.errors import ClaimError, SymlayoutError
from symlayout.expr import Int, Symbol, integer
from symlayout.int_tuple import leaves, text
from symlayout.rules import rule_named
from symlayout.rules.tma_copy import REDUCED, SHARED_ALIGNMENT_BYTES
from symlayout.rules.tma_tile import TileCopy, rules_of
from symlayout.tma import TensorMap
from symlayout.tma.tiled_copy import TmaPart

from ..claim import Claim
from ..claim_fields import Indexed, Size, Tensor, Value
from .obeys import Named, open_rules
from .rows_apart import RowsApart, order_shows
from .tensor_map_valid import map_over

PLACES = tuple(rule_named(name) for name in ("smem_alignment_128", "shared_footprint", "tile_in_block"))  # of each part


@dataclass(frozen=True)
class TmaCopySafe(Claim):
    """A tensor copy faults nowhere and stays in its buffers, for every block and iteration.

    *coordinate* is the start of the box, innermost first, in block and loop indices (``index("k", ceil_div(K,
    64))``), or an AddressMap over them, whose predicate then guards the copy. *shared_address* is where the tile
    starts in a buffer of *shared_bytes*. A copy by several instructions or CTAs has one address for the whole tile;
    each part lies at a multiple of 128 bytes (``TmaCopy.parts``). *barrier_bytes* is what ``expect_tx`` arms for
    *copies* such copies. With *any_phase* the consumer swizzles absolute addresses, so the tile need not start at a
    multiple of the swizzle's repeat. A reduction has its operation as *op*; the offsets of an im2col load follow its
    coordinate, as ``TmaCopy.coordinates`` has them.

    >>> from symlayout import dims, index
    >>> M, K = dims("M K", multiple_of=8)
    >>> a = TensorMap("bf16", 0, (K, M), (2 * K,), (64, 128), swizzle=128)
    >>> bm, k = index("bm", -(-M // 128)), index("k", -(-K // 64))
    >>> print(TmaCopySafe(a, (64 * k, 128 * bm), shared_bytes=16384, barrier_bytes=16384, name="A"))
    TMA load safe: A at (64*k,128*bm)

    Where it fails, each rule that is broken gets its verdict. The map itself is the business of TensorMapValid.
    Raises ClaimError for a value that is not a tensor map, an unknown direction, a reduction without an operation,
    coordinates other than one for each dimension, and numbers that are not integers.
    """

    copy: Any
    coordinate: Any
    shared_address: Int = 0
    direction: str = "load"
    shared_bytes: Int | None = None
    barrier_bytes: Int | None = None
    copies: Int = 1
    any_phase: bool = False
    name: str = ""
    op: str = ""

    kind: ClassVar[str] = "TMA copy safe"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.tensor_map, TensorMap):
            raise ClaimError(f"expected a tensor map or a copy that has one, got {self.copy!r}")
        if isinstance(self.coordinate, AddressMap):
            object.__setattr__(self, "given", (*self.given, *self.coordinate.valid))
            object.__setattr__(self, "coordinate", self.coordinate.offset)
        if not self.tensor_map.rank:
            raise ClaimError(f"expected a map of rank 1 or more, got {self.tensor_map}")
        if self.direction == "reduce" and not self.op:
            raise ClaimError(f"expected an operation of {', '.join(REDUCED)} as op of a reduction, got none")
        if type(self.any_phase) is not bool:
            raise ClaimError(f"expected True or False as any_phase, got {self.any_phase!r}")
        try:
            object.__setattr__(self, "coordinate", tuple(map(integer, leaves(self.coordinate))))
            for name in ("shared_address", "shared_bytes", "barrier_bytes", "copies"):
                if getattr(self, name) is not None:
                    object.__setattr__(self, name, integer(getattr(self, name)))
            self._tile()
        except SymlayoutError as e:
            raise ClaimError(str(e)) from e
        if isinstance(self.copies, int) and self.copies < 1:
            raise ClaimError(f"expected at least 1 copy, got {self.copies}")

    @classmethod
    def stated(
        cls,
        tensor: Tensor,
        dtype: str,
        box: Value,
        start: Indexed,
        swizzle: int = 0,
        shared_address: Indexed = 0,
        direction: str = "load",
        shared_bytes: Size | None = None,
        barrier_bytes: Size | None = None,
        copies: Size = 1,
        any_phase: bool = False,
        op: str = "",
    ) -> TmaCopySafe:
        """The claim as text states it; *start* and *shared_address* are in the coordinates of ``over``."""
        m = map_over(tensor, dtype, box, swizzle=swizzle)
        at = shared_address.offset if isinstance(shared_address, AddressMap) else shared_address
        return cls(m, start, at, direction, shared_bytes, barrier_bytes, copies, any_phase, op=op)

    @property
    def tensor_map(self) -> Any:
        """The map of the copy."""
        return getattr(self.copy, "tensor_map", self.copy)

    def indices(self) -> frozenset[Symbol]:
        return self._tile().indices

    def _tile(self) -> TileCopy:
        rank = self.tensor_map.rank if self.tensor_map.is_im2col else len(self.coordinate)
        return TileCopy(
            self.tensor_map,
            self.coordinate[:rank],
            self.shared_address,
            self.direction,
            self.coordinate[rank:],
            op=self.op,
            shared_bytes=self.shared_bytes,
            barrier_bytes=self.barrier_bytes,
            copies=self.copies,
        )

    def subjects(self) -> tuple[Any, ...]:
        return (self.copy,)  # of make_tma_copy: with the obligations under which its boxes are the tile

    def __str__(self) -> str:
        what = self.name or str(self.tensor_map)
        where = (
            "" if isinstance(self.shared_address, int) and self.shared_address == 0 else f" via {self.shared_address}"
        )
        how = f"{self.direction} {self.op}".rstrip()
        return f"TMA {how} safe: {what} at {text(self.coordinate)}{where}"

    def _rules(self) -> tuple[Any, ...]:
        """Rules about faults, about loops, and about the swizzle's phase unless that does not matter."""
        return rules_of("hardware", "tile", *(() if self.any_phase else ("phase",)))

    def parts(self) -> tuple[Claim, ...]:
        """A claim for each rule and place that numbers do not already meet, of the copy and the parts of its tile."""
        every = open_rules(self._tile(), self._rules(), self)
        more = tuple(c for part in self._telling_parts() for c in self._of_part(part))
        return (*every, *more, *self._rows())

    def _rows(self) -> tuple[Claim, ...]:
        """The claim that a store writes no byte twice, if its box has more than one row."""
        tile = self._tile()
        several = tile.rank > 1 and not (type(tile.tensor_map.rows) is int and tile.tensor_map.rows <= 1)
        return (RowsApart(tile, self.name),) if several and order_shows(tile) else ()

    def _telling_parts(self) -> tuple[TmaPart, ...]:
        """The first part of a tile that is misaligned within it, and the last: if these are aligned, all are."""
        parts = getattr(self.copy, "parts", ())
        if len(parts) < 2:
            return ()
        odd = next((p for p in parts if p.offset_bytes % SHARED_ALIGNMENT_BYTES), None)
        last = max(parts, key=lambda p: p.offset_bytes)
        return tuple(p for p in dict.fromkeys((odd, last)) if p is not None and p.offset_bytes)

    def _of_part(self, part: TmaPart) -> tuple[Claim, ...]:
        tile = self._tile()
        there = replace(tile, shared_address=tile.shared_address + part.offset_bytes)
        name = f"{self.name}, {part}" if self.name else str(part)
        return open_rules(there, PLACES, Named(name))

    @property
    def method(self) -> str:
        """The method of a proof of all parts."""
        return "rule by rule"
