"""Every copy of a tile loop runs without a fault and touches no byte but its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

from symlayout.address_map import AddressMap
from symlayout.errors import ClaimError, LayoutError
from symlayout.expr import Int
from symlayout.int_tuple import leaves, text
from symlayout.layout import Layout
from symlayout.rules.tma_tile import TileCopy, rules_of
from symlayout.tma import TensorMap

from ..claim import Claim
from .obeys import Obeys

Indexed: TypeAlias = Any  # an expression in the coordinates of ``over``, as text states it


@dataclass(frozen=True)
class TmaCopySafe(Claim):
    """A tensor copy faults nowhere and stays in its buffers, for every block and iteration.

    *coordinate* is the start of the box, innermost first, in block and loop indices (``index("k", ceil_div(K, 64))``),
    or an AddressMap over them, whose predicate then guards the copy. *shared_address* is where the tile starts in a
    buffer of *shared_bytes*; *barrier_bytes* what ``expect_tx`` arms for *copies* such copies. With *any_phase* the
    consumer swizzles absolute addresses, so the tile need not start at a multiple of the swizzle's repeat.

    >>> from symlayout import dims, index
    >>> M, K = dims("M K", multiple_of=8)
    >>> a = TensorMap("bf16", 0, (K, M), (2 * K,), (64, 128), swizzle=128)
    >>> bm, k = index("bm", -(-M // 128)), index("k", -(-K // 64))
    >>> print(TmaCopySafe(a, (64 * k, 128 * bm), shared_bytes=16384, barrier_bytes=16384, name="A"))
    TMA load safe: A at (64*k,128*bm)

    Where it fails, each rule that is broken gets its verdict. The map itself is the business of TensorMapValid.
    Raises ClaimError for what is no tensor map, an unknown direction, or too few coordinates.
    """

    copy: Any
    coordinate: Any
    shared_address: Int = 0
    direction: str = "load"
    shared_bytes: Int | None = None
    barrier_bytes: Int | None = None
    copies: int = 1
    any_phase: bool = False
    name: str = ""

    kind: ClassVar[str] = "TMA copy safe"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.tensor_map, TensorMap):
            raise ClaimError(f"expected a tensor map or a copy that has one, got {self.copy!r}")
        if isinstance(self.coordinate, AddressMap):
            object.__setattr__(self, "given", (*self.given, *self.coordinate.valid))
            object.__setattr__(self, "coordinate", self.coordinate.offset)
        object.__setattr__(self, "coordinate", tuple(leaves(self.coordinate)))
        try:
            self._tile()
        except LayoutError as e:
            raise ClaimError(str(e)) from e

    @classmethod
    def stated(
        cls,
        tensor: Layout,
        dtype: str,
        box: Any,
        start: Indexed,
        swizzle: int = 0,
        shared_address: Indexed = 0,
        direction: str = "load",
        shared_bytes: Any = None,
        barrier_bytes: Any = None,
        copies: int = 1,
        any_phase: bool = False,
    ) -> TmaCopySafe:
        """The claim as text states it; *start* and *shared_address* are in the coordinates of ``over``."""
        m = TensorMap.over(tensor, dtype, box, swizzle=swizzle)
        at = shared_address.offset if isinstance(shared_address, AddressMap) else shared_address
        return cls(m, start, at, direction, shared_bytes, barrier_bytes, copies, any_phase)

    @property
    def tensor_map(self) -> Any:
        """The map of the copy."""
        return getattr(self.copy, "tensor_map", self.copy)

    def _tile(self) -> TileCopy:
        return TileCopy(
            self.tensor_map,
            self.coordinate,
            self.shared_address,
            self.direction,
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
        return f"TMA {self.direction} safe: {what} at {text(self.coordinate)}{where}"

    def _rules(self) -> tuple[Any, ...]:
        """What faults, what nobody has measured, what a loop must keep, and the phase unless it does not matter."""
        return rules_of("hardware", "unmeasured", "tile", *(() if self.any_phase else ("phase",)))

    def parts(self) -> tuple[Claim, ...]:
        """A claim for each rule and place that numbers do not already meet."""
        return tuple(self._open())

    def _open(self) -> Iterator[Claim]:
        tile = self._tile()
        for rule in self._rules():
            for place, x in rule.places(tile):
                if rule.facts(tile, place, x) or not rule.must.holds(x, tile, place):
                    yield Obeys(tile, rule, place, self.name)

    @property
    def method(self) -> str:
        """How a proof of all parts is named."""
        return "rule by rule"
