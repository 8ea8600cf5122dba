"""A transposition: TMA loads of swizzled tiles, through registers into a second tile, TMA stores.

    >>> from symlayout import dims
    >>> M, N = dims("M N")
    >>> print(tma_transpose(M, N, dtype="bf16", tile=(64, 64), swizzle=128, stages=2).text().splitlines()[0])
    kernel tma_transpose(M, N)

Tiles that follow one another lie along M, so that what is under way at once fills whole rows of dst: DRAM is read in
pieces of a row, and written in whole pages (0.96 of the device's copy on an H200; 0.90 in the other order).

A producer warp fills the ring. Four warps read 16 bytes a thread along the rows of a tile, and put each element into
its column of the other tile. They fence and meet at a barrier. One of their threads stores that tile, and waits until
it was read before the next is written.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtype import DType, DTypeLike
from ..expr import Symbol
from ..int_tuple import ceil_div
from ..kernel import Builder, Kernel
from ..kernel.ring import make_ring
from ..kernel.specification import element
from ..layout import Layout
from ..ops import UNROLLED
from ..swizzle import upcast_swizzle
from ..tma import TensorMap, TmaSwizzle
from .schedule import Schedule

SIZES = (
    *({"M": 8, "N": 8}, {"M": 64, "N": 64}, {"M": 8, "N": 128}, {"M": 72, "N": 8}, {"M": 40, "N": 56}),
    *({"M": 64, "N": 192}, {"M": 136, "N": 64}, {"M": 136, "N": 72}, {"M": 128, "N": 64}, {"M": 72, "N": 200}),
)
CONSUMERS = 4  # warps
SECTORS, FEW_STEPS = 32, 8  # a swizzle, and steps of tiles of few rows of which NVRTC left jumps: a sixth slower (M52)
TILE_ROWS, TILE_ROW_BYTES = 128, 256  # by default: two lines of L2 in a row that is read, two or more in those written


class SwizzledTile:
    """A tile of rows and columns as TMA boxes of one swizzle span each, side by side: where its elements are.

    Rows that are narrower than the span of a swizzle begin a span apart all the same.
    """

    def __init__(self, rows: int, columns: int, kind: DType, swizzle: int) -> None:
        self.mode = TmaSwizzle.of(swizzle)
        self.rows, self.width = rows, min(columns, swizzle // kind.bytes or columns)
        self.pitch, self.boxes = swizzle // kind.bytes or columns, columns // self.width
        self._swizzle = upcast_swizzle(kind.bytes, self.mode.swizzle)

    @property
    def box(self) -> tuple[int, int]:
        """The box of the map, innermost first."""
        return self.width, self.rows

    @property
    def layout(self) -> Layout:
        """The elements of the boxes and the gaps between narrow rows."""
        return Layout((self.boxes * self.pitch, self.rows))

    def part(self, box: int) -> int:
        """The start of a box."""
        return box * self.rows * self.pitch

    def at(self, row: Any, column: Any) -> Any:
        """The offset of an element."""
        box, column = (column // self.width, column % self.width) if self.boxes > 1 else (0, column)
        return box * (self.rows * self.pitch) + self._swizzle(row * self.pitch + column)


def tma_transpose(
    M: int | Symbol,
    N: int | Symbol,
    *,
    dtype: DTypeLike = "bf16",
    tile: tuple[int, int] | None = None,
    swizzle: int = 128,
    stages: int = 1,
    blocks: int | Symbol | None = None,
    order: str = "strided",
    l2_promotion: int = 0,
    loads: str = "",
    stores: str = "",
) -> Kernel:
    """dst = src transposed, for row-major (M,N) and (N,M). Needs M and N of whole 16-byte units.

    A *tile* of None is 128 rows of 256 bytes. By *blocks* persistent CTAs, each with a ring of *stages*, in this
    *order* (``kernels.schedule``); with None by a CTA for each tile. *l2_promotion* is that of both tensor maps: how
    many bytes L2 fetches at once, 0 for those that are asked for. *loads* and *stores* are cache policies, such as
    ``"L2::evict_first"``.
    """
    kind = DType.of(dtype)
    rows, columns = tile or (TILE_ROWS, TILE_ROW_BYTES // kind.bytes)
    vector, threads = 16 // kind.bytes, 32 * CONSUMERS
    steps = rows * columns // vector // threads  # of a tile
    unroll = UNROLLED if swizzle == SECTORS and rows < threads and steps <= FEW_STEPS else None
    tiles_m, tiles_n = ceil_div(M, rows), ceil_div(N, columns)
    schedule = Schedule(tiles_m * tiles_n, blocks, order)
    nbytes = rows * columns * kind.bytes  # that come: none into the gaps
    come, go = SwizzledTile(rows, columns, kind, swizzle), SwizzledTile(columns, rows, kind, swizzle)

    sizes = (x for x in (M, N, *schedule.sizes) if not isinstance(x, int))
    k = Builder("tma_transpose", *sizes, grid=(schedule.grid,), threads=threads + 32)
    boxes = []
    for name, m, n, part in (("src", M, N, come), ("dst", N, M, go)):
        tensor = k.global_tensor(name, kind, Layout((m, n), (n, 1)))
        tensor_map = TensorMap.over(Layout((n, m), (1, n)), kind, part.box, swizzle=swizzle, l2_promotion=l2_promotion)
        boxes.append(k.tensor_map(f"{name}_map", tensor(), tensor_map))
    src, dst = boxes
    ring = make_ring(k, "ring", kind, come.layout, slots=stages, consumers=CONSUMERS)
    turned = k.shared_tensor("turned", kind, go.layout)

    def corner(at: Any) -> tuple[Any, Any]:
        return rows * (at % tiles_m), columns * (at // tiles_m)

    with k.role("consumer", CONSUMERS):
        x = k.registers("x", kind, vector)
        with schedule.loop(k) as (i, at):
            with k.elect():
                k.wait_group("bulk", 0, read=True)
            k.sync(1, threads)
            with ring.consume(i) as slot, k.loop("j", steps, unroll=unroll) as j:
                unit = k.thread + threads * j
                row, column = unit % rows, unit // rows * vector
                k.copy("ld.shared.16", slot.at(come.at(row, column)), x())
                with k.loop("q", vector, unroll="full") as q:
                    k.copy(f"st.shared.{kind.bytes}", x(q), turned(go.at(column + q, row)))
            k.fence("async")
            k.sync(1, threads)
            with k.elect():
                m, n = corner(at)
                for b in range(go.boxes):
                    k.copy("tma.store", turned(go.part(b)), dst(m + b * go.width, n), cache=stores)
                k.commit("bulk")
        with k.elect():
            k.wait_group("bulk", 0)
    with k.role("producer", 1), k.elect(), schedule.loop(k) as (i, at), ring.produce(i, nbytes) as slot:
        m, n = corner(at)
        for b in range(come.boxes):
            k.copy("tma.load", src(n + b * come.width, m), slot.at(come.part(b)), slot.full, cache=loads)
    k.result("dst", lambda n, m: element("src", m, n))
    return k.kernel(reference=reference)


def reference(src: np.ndarray[Any, Any]) -> dict[str, np.ndarray[Any, Any]]:
    """The contents of dst after the kernel."""
    return {"dst": np.ascontiguousarray(src.T)}
