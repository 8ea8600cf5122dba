"""Which tiles a CTA takes: one, or, of persistent CTAs, every so many-th.

    >>> from symlayout import dim
    >>> from symlayout.kernel import Builder
    >>> tiles = dim("T")
    >>> for schedule in (Schedule(tiles, 132), Schedule(tiles)):
    ...     k = Builder("demo", tiles, grid=(schedule.grid,), threads=32)
    ...     with schedule.loop(k) as (i, tile):
    ...         print(i, tile, "of", schedule.grid)
    i block_x + 132*i of 132
    0 block_x of T

The hardware starts a CTA where another has ended, so CTAs of one tile share an uneven memory system evenly: on an H200
copies of 1 GiB by 132 persistent CTAs reach 0.93 to 0.96 of the device's own, by a CTA for each tile 0.98 to 0.99.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ..expr import Int, Symbol
from ..kernel import Builder


@dataclass(frozen=True)
class Schedule:
    """*tiles* for *blocks* persistent CTAs; with None a CTA for each."""

    tiles: Int
    blocks: int | Symbol | None = None

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
        with k.loop("i", (self.tiles - block + self.blocks - 1) // self.blocks) as i:
            yield i, block + self.blocks * i
