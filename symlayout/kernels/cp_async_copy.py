"""A copy through shared memory by cp.async: some stages ahead in, 16 bytes a thread; out by words, coalesced.

    >>> from symlayout import dim
    >>> print(cp_async_copy(dim("N"), stages=3).text().splitlines()[0])
    kernel cp_async_copy(N)

A chunk is 16 bytes of each thread. The i-th chunk of a CTA takes slot i % stages. At the one barrier of each
iteration every thread has its part of chunk i, and all have finished chunk i - 1, whose slot is filled next.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..expr import Symbol, multiple_of
from ..int_tuple import ceil_div
from ..kernel import Builder, Kernel
from ..kernel.specification import element
from ..layout import Layout

SIZES = tuple({"N": n} for n in (4, 8, 508, 512, 516, 1024, 2048, 3076, 8192, 20000))


def cp_async_copy(
    N: int | Symbol, *, stages: int = 4, threads: int = 128, blocks: int | Symbol | None = None, each: int = 4
) -> Kernel:
    """dst = src for N words of f32, N a multiple of 4.

    By *blocks* persistent CTAs; with None by CTAs that take *each* chunks in a row.
    """
    width, chunk = 4, 4 * threads
    grid = ceil_div(N, chunk * each) if blocks is None else blocks
    sizes = dict.fromkeys(x for x in (N, grid) if isinstance(x, Symbol))
    k = Builder("cp_async_copy", *sizes, grid=(grid,), threads=threads)
    src, dst = (k.global_tensor(name, "f32", Layout(N)) for name in ("src", "dst"))
    tile = k.shared_tensor("tile", "f32", Layout((chunk, stages)))
    word = k.registers("word", "f32", 1)
    (block,), thread = k.block, k.thread
    trips: Any = each if blocks is None else (ceil_div(N, chunk) - block + blocks - 1) // blocks

    def start(i: Any) -> Any:
        """The first element of the chunk of an iteration."""
        return chunk * (each * block + i if blocks is None else block + blocks * i)

    def fetch(i: Any) -> None:
        """A group for the chunk of an iteration, empty past the last chunk."""
        at = start(i) + width * thread
        with k.where(i < trips, at < N):
            k.copy("cp.async.16", src(at), tile(chunk * (i % stages) + width * thread))
        k.commit("cp.async")

    with k.loop("s", stages - 1) as s:
        fetch(s)
    with k.loop("i", trips) as i:
        k.wait_group("cp.async", stages - 2)
        k.sync()
        fetch(i + stages - 1)
        with k.loop("j", width) as j:
            at = start(i) + threads * j + thread
            with k.where(at < N):
                k.copy("ld.shared.4", tile(chunk * (i % stages) + threads * j + thread), word())
                k.copy("st.global.4", word(), dst(at))
    k.result("dst", lambda i: element("src", i))
    return k.kernel(*([] if isinstance(N, int) else [multiple_of(N, width)]), reference=reference)


def reference(src: np.ndarray[Any, Any]) -> dict[str, np.ndarray[Any, Any]]:
    """The contents of dst after the kernel."""
    return {"dst": src.copy()}
