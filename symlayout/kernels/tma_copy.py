"""A 2-D copy through shared memory: TMA loads in, TMA stores out.

    >>> from symlayout import dims
    >>> M, N = dims("M N")
    >>> print(tma_copy(M, N, dtype="f32", tile=(16, 64), slots=4, blocks=132).text().splitlines()[0])
    kernel tma_copy(M, N)

A producer warp loads a tile; a second warp stores it. Persistent CTAs have a ring of slots: tile block, block + grid,
... come into it, and the second warp gives a slot back when the store has read it.
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
from ..tma import TensorMap
from .schedule import Schedule

SIZES = (
    *({"M": 64, "N": 256}, {"M": 16, "N": 64}, {"M": 1, "N": 4}, {"M": 100, "N": 300}, {"M": 17, "N": 68}),
    *({"M": 1, "N": 1024}, {"M": 130, "N": 4}, {"M": 15, "N": 252}, {"M": 48, "N": 516}, {"M": 65, "N": 260}),
)


def tma_copy(
    M: int | Symbol,
    N: int | Symbol,
    *,
    dtype: DTypeLike = "f32",
    tile: tuple[int, int] = (16, 256),
    slots: int = 1,
    blocks: int | Symbol | None = None,
    order: str = "strided",
    loads: str = "",
    stores: str = "",
) -> Kernel:
    """dst = src for row-major (M,N) tensors. Needs N of whole 16-byte units.

    By *blocks* persistent CTAs, each with a ring of *slots*, in this *order* (``kernels.schedule``); with None by a CTA
    for each tile. *loads* and *stores* are cache policies, such as ``"L2::evict_first"``.
    """
    rows, columns = tile
    kind = DType.of(dtype)
    tiles_n = ceil_div(N, columns)
    schedule = Schedule(ceil_div(M, rows) * tiles_n, blocks, order)

    sizes = (x for x in (M, N, *schedule.sizes) if not isinstance(x, int))
    k = Builder("tma_copy", *sizes, grid=(schedule.grid,), threads=64)
    whole = Layout((M, N), (N, 1))
    boxes = []
    for name in ("src", "dst"):
        tensor = k.global_tensor(name, kind, whole)
        tensor_map = TensorMap.over(Layout((N, M), (1, N)), kind, (columns, rows))
        boxes.append(k.tensor_map(f"{name}_map", tensor(), tensor_map))
    src, dst = boxes
    ring = make_ring(k, "ring", kind, Layout((columns, rows)), slots=slots, consumers=1)

    def corner(at: Any) -> tuple[Any, Any]:
        return columns * (at % tiles_n), rows * (at // tiles_n)

    with k.role("producer", 1), k.elect(), schedule.loop(k) as (i, at), ring.produce(i) as slot:
        k.copy("tma.load", src(*corner(at)), slot.at(), slot.full, cache=loads)
    with k.role("consumer", 1), k.elect():
        with schedule.loop(k) as (i, at), ring.consume(i) as slot:
            k.copy("tma.store", slot.at(), dst(*corner(at)), cache=stores)
            k.commit("bulk")
            k.wait_group("bulk", 0, read=True)
        k.wait_group("bulk", 0)
    k.result("dst", lambda m, n: element("src", m, n))
    return k.kernel(reference=reference)


def reference(src: np.ndarray[Any, Any]) -> dict[str, np.ndarray[Any, Any]]:
    """The contents of dst after the kernel."""
    return {"dst": src.copy()}
