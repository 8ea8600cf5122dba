"""A 1-D copy through shared memory by bulk copies, which need no tensor map.

    >>> from symlayout import dim
    >>> print(bulk_copy(dim("N", multiple_of=4), chunk=256, slots=2, blocks=3).text().splitlines()[17].strip())
    expect_tx full[i % 2] 4*min(256, N - 256*block_x - 768*i) B

Chunks are of *chunk* elements, the last one of those that are left: the size is an operand of each copy, and what the
barrier awaits. Bulk copies move whole units of 16 bytes, so N has to be of whole units.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtype import DType, DTypeLike
from ..expr import Symbol, minimum
from ..int_tuple import ceil_div
from ..kernel import Builder, Kernel
from ..kernel.ring import make_ring
from ..kernel.specification import element
from ..layout import Layout
from .schedule import Schedule

SIZES = (
    *({"N": 8}, {"N": 256}, {"N": 264}, {"N": 512}, {"N": 1016}),
    *({"N": 2048}, {"N": 2056}, {"N": 4088}, {"N": 16}, {"N": 3336}),
)


def bulk_copy(
    N: int | Symbol,
    *,
    dtype: DTypeLike = "f32",
    chunk: int = 1024,
    slots: int = 1,
    blocks: int | Symbol | None = None,
    order: str = "strided",
    loads: str = "",
    stores: str = "",
) -> Kernel:
    """dst = src for N elements. Needs N of whole 16-byte units.

    By *blocks* persistent CTAs, each with a ring of *slots*, in this *order* (``kernels.schedule``); with None by a CTA
    for each chunk. *loads* and *stores* are cache policies, such as ``"L2::evict_first"``.
    """
    kind = DType.of(dtype)
    schedule = Schedule(ceil_div(N, chunk), blocks, order)
    sizes = (x for x in (N, *schedule.sizes) if not isinstance(x, int))
    k = Builder("bulk_copy", *sizes, grid=(schedule.grid,), threads=64)
    src, dst = (k.global_tensor(name, kind, Layout(N)) for name in ("src", "dst"))
    ring = make_ring(k, "ring", kind, Layout(chunk), slots=slots, consumers=1)

    def part(number: Any) -> tuple[Any, Any]:
        """The first element of a chunk, and the bytes in it."""
        at = chunk * number
        return at, kind.bytes * minimum(chunk, N - at)

    with k.role("producer", 1), k.elect(), schedule.loop(k) as (i, number):
        at, nbytes = part(number)
        with ring.produce(i, nbytes) as slot:
            k.copy("bulk.load", src(at), slot.at(), slot.full, nbytes=nbytes, cache=loads)
    with k.role("consumer", 1), k.elect():
        with schedule.loop(k) as (i, number), ring.consume(i) as slot:
            at, nbytes = part(number)
            k.copy("bulk.store", slot.at(), dst(at), nbytes=nbytes, cache=stores)
            k.commit("bulk")
            k.wait_group("bulk", 0, read=True)
        k.wait_group("bulk", 0)
    k.result("dst", lambda n: element("src", n))
    return k.kernel(reference=reference)


def reference(src: np.ndarray[Any, Any]) -> dict[str, np.ndarray[Any, Any]]:
    """The contents of dst after the kernel."""
    return {"dst": src.copy()}
