"""The rules of the copies of a tile loop: the shared buffer, the bytes a barrier awaits, the end of stored rows.

A ``TileCopy`` is a copy inside a kernel: its coordinate and its shared address are expressions of block and loop
indices, each with its range, so a rule about it speaks of every iteration.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from ..arch import SM90
from ..expr import Expr, Int, Symbol, maximum, minimum
from ..facts import symbols_in
from .rule import Between, Rule, of_profile
from .tma_copy import MEASURED, UNIT_BYTES, TensorCopy
from .tma_copy import rules_of as copy_rules


@dataclass(frozen=True)
class TileCopy(TensorCopy):
    """A copy in a loop, with the buffer that it must stay in and the bytes that its barrier awaits.

    *shared_bytes* is the size of the buffer that starts at shared address 0 of the expressions; *barrier_bytes* what
    ``expect_tx`` armed for *copies* copies of this kind. None leaves them unchecked.
    """

    shared_bytes: Int | None = None
    barrier_bytes: Int | None = None
    copies: Int = 1

    def _numbers(self) -> tuple[Any, ...]:
        extra = (self.shared_bytes, self.barrier_bytes, self.copies)
        return (*self.coordinate, *self.offsets, self.shared_address, *(x for x in extra if x is not None))

    @property
    def symbols(self) -> tuple[Symbol, ...]:
        found = symbols_in(self._numbers()) | set(self.tensor_map.symbols)
        return tuple(sorted(found, key=lambda s: s.name))

    @property
    def static(self) -> bool:
        return self.tensor_map.static and not any(isinstance(x, Expr) for x in self._numbers())

    @property
    def indices(self) -> frozenset[Symbol]:
        """The block and loop indices: symbols that count from 0 and that the map does not contain."""
        found = symbols_in(self._numbers()) - set(self.tensor_map.symbols)
        return frozenset(s for s in found if s.lower == 0)

    def subs(self, env: Mapping[Any, Any]) -> TileCopy:
        """The copy at these sizes and indices."""

        def at(x: Any) -> Any:
            return tuple(map(at, x)) if isinstance(x, tuple) else x.subs(env) if hasattr(x, "subs") else x

        return replace(self, **{f.name: at(getattr(self, f.name)) for f in fields(self)})


def _end_bytes(c: Any) -> Any:
    return c.tensor_map.global_dim[0] * c.tensor_map.element_bytes


def _past_the_row(c: Any, i: int) -> Any:
    """Bytes past the declared row that a store overwrites: from its end to that of the last unit which it touches.

    There are fewer than a unit of them, and none where no row of the box is inside the tensor.
    """
    m = c.tensor_map
    start = c.coordinate[0] * m.element_bytes
    rounded = (_end_bytes(c) + UNIT_BYTES - 1) // UNIT_BYTES * UNIT_BYTES
    past = minimum(rounded, start + m.row_bytes) - maximum(_end_bytes(c), start)
    first = m.rank - 1 if m.is_im2col else 1  # a walk comes back to the start of a row, never to an earlier image
    outer = zip(m.global_dim[first:], c.coordinate[first:], strict=True)
    return minimum(past, *(UNIT_BYTES * (n - x) for n, x in outer))


def _columns(c: Any, i: int) -> str:
    first = max(c.tensor_map.global_dim[0], c.coordinate[0])
    last = first + _past_the_row(c, i) // c.tensor_map.element_bytes - 1
    return f"columns {first} .. {last} of each row are overwritten; pad the rows, or show that the gap is dead"


RULES: tuple[Rule, ...] = (
    Rule(
        id="shared_footprint",
        sentence="the tile, gaps of narrow swizzled rows included, lies inside the shared buffer",
        name="the end of the tile",
        profiles=("tile",),
        each="map",
        value=lambda c, i: c.shared_bytes - c.tensor_map.landed_bytes - c.shared_address,
        must=Between(0, None),
        when=lambda c: c.shared_bytes is not None,
        source=f"{MEASURED}: a swizzled row takes the span of the swizzle, however narrow it is",
        unit="bytes to spare",
        fix="size the buffer by rows times the span, not by the bytes of the box",
        effect="illegal memory access, or another buffer overwritten",
    ),
    Rule(
        id="tile_in_block",
        sentence="the tile ends within the shared memory of a block, 232448 bytes",
        name="the end of the tile",
        profiles=("tile",),
        each="map",
        value=lambda c, i: c.shared_address + c.tensor_map.landed_bytes,
        must=Between(None, SM90.shared_bytes_per_block),
        source="CUDA C++ Programming Guide, Technical Specifications per Compute Capability",
        unit="bytes",
        fix="copy smaller boxes, or fewer at once",
        effect="no block has room for the tile: illegal memory access",
    ),
    Rule(
        id="buffer_in_block",
        sentence="the shared buffer is at most the shared memory of a block, 232448 bytes",
        name="the shared buffer",
        profiles=("tile",),
        each="map",
        value=lambda c, i: c.shared_bytes,
        must=Between(None, SM90.shared_bytes_per_block),
        when=lambda c: c.shared_bytes is not None,
        source="CUDA C++ Programming Guide, Technical Specifications per Compute Capability",
        unit="bytes",
        fix="fewer or smaller stages",
        effect="the launch fails: no block has such a buffer",
    ),
    Rule(
        id="shared_address_nonnegative",
        sentence="the shared address is at least 0",
        name="the shared address",
        profiles=("tile",),
        each="map",
        value=lambda c, i: c.shared_address,
        must=Between(0, None),
        source="PTX ISA, State Spaces",
        unit="bytes",
        effect="illegal memory access",
    ),
    Rule(
        id="barrier_bytes",
        sentence="the bytes that the barrier awaits are those that the copies signal",
        name="the armed bytes less those signalled",
        profiles=("tile",),
        each="map",
        value=lambda c, i: c.barrier_bytes - c.tensor_map.transaction_bytes * c.copies,
        must=Between(0, 0),
        when=lambda c: c.barrier_bytes is not None,
        source=f"PTX ISA, mbarrier; {MEASURED}: fill counts, gaps of narrow rows do not",
        unit="bytes",
        effect="too many: the wait never ends; too few: it ends early, or never",
    ),
    Rule(
        id="store_past_the_row",
        sentence="no store writes past the end of a row (it writes whole units of 16 bytes)",
        name="the bytes past the row",
        profiles=("tile",),
        each="map",
        value=_past_the_row,
        must=Between(None, 0),
        when=lambda c: (c.direction != "load") & (c.tensor_map.interleave == 0),
        source=MEASURED,
        unit="bytes past the row",
        hint=_columns,
        effect="up to 15 bytes of the neighbouring columns are overwritten",
    ),
)

BY_ID = {r.id: r for r in RULES}


def rules_of(*profiles: str) -> tuple[Rule, ...]:
    """The rules of tile loops in some profiles, those of every copy first."""
    own = tuple(r for p in profiles for r in of_profile(RULES, p))
    return (*(r for p in profiles for r in copy_rules(p)), *own)
