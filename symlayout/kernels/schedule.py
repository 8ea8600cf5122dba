"""Which tiles a CTA takes: one, or, of persistent CTAs, every so many-th or a stretch of its own.

    >>> from symlayout import dim
    >>> from symlayout.kernel import Builder
    >>> tiles = dim("T")
    >>> for schedule in (Schedule(tiles, 132), Schedule(tiles), Schedule(tiles, 132, order="contiguous")):
    ...     k = Builder("demo", tiles, grid=(schedule.grid,), threads=32)
    ...     with schedule.loop(k) as (i, tile):
    ...         print(i, tile, "of", schedule.grid)
    i block_x + 132*i of 132
    0 block_x of T
    i block_x*ceil(T/132) + i of 132

The hardware starts a CTA where another has ended, so CTAs of one tile share an uneven memory system evenly: on an H200
copies of 1 GiB by 132 persistent CTAs reach 0.93 to 0.96 of the device's own, by a CTA for each tile 0.98 to 0.99.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ..errors import LayoutError
from ..expr import Int, Symbol, maximum, minimum
from ..int_tuple import ceil_div
from ..kernel import Builder

ORDERS = ("strided", "contiguous")


@dataclass(frozen=True)
class Schedule:
    """*tiles* for *blocks* persistent CTAs; with None a CTA for each. Raises LayoutError for an order of another name.

    Strided CTAs work side by side, so what neighbours share is in L2 at once; contiguous ones keep to parts of memory.
    """

    tiles: Int
    blocks: int | Symbol | None = None
    order: str = ORDERS[0]

    def __post_init__(self) -> None:
        if self.order not in ORDERS:
            raise LayoutError(f"expected an order of tiles of {', '.join(ORDERS)}, got {self.order!r}")

    @property
    def grid(self) -> Int:
        """The number of CTAs."""
        return self.tiles if self.blocks is None else self.blocks

    @property
    def sizes(self) -> tuple[Symbol, ...]:
        """The number of persistent CTAs where it is a size of the kernel."""
        return (self.blocks,) if isinstance(self.blocks, Symbol) else ()

    @contextmanager
    def loop(self, k: Builder) -> Iterator[tuple[Any, Any]]:
        """The loop of a CTA: (iteration, number of its tile). It is none where there is one tile."""
        (block,) = k.block
        if self.blocks is None:
            yield 0, block
            return
        if self.order == ORDERS[0]:
            with k.loop("i", (self.tiles - block + self.blocks - 1) // self.blocks) as i:
                yield i, block + self.blocks * i
            return
        each = ceil_div(self.tiles, self.blocks)
        with k.loop("i", maximum(0, minimum(each, self.tiles - each * block))) as i:
            yield i, each * block + i
