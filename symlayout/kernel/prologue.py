"""What a kernel does before all else: mbarriers are initialised, and all threads know of it.

>>> from symlayout import dims
>>> from symlayout.kernels import tma_copy
>>> for op in tma_copy(*dims("M N")).body[:2]:
...     print(*op.lines(), sep="\\n")
elect one:
  prefetch src_map
  prefetch dst_map
  init full
  init empty
  fence mbarrier_init
barrier 0

One thread initialises (PTX ISA, mbarrier.init). Its fence lets other CTAs of the cluster and the async proxy see that
(PTX ISA, fence.mbarrier_init; CUTLASS, ``cutlass::arch::fence_barrier_init``), and a barrier the threads of the CTA, or
one of the cluster all threads that may reach them.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..ops import (
    Barrier,
    BarrierArrive,
    ClusterArrive,
    ClusterBarrier,
    Elect,
    Fence,
    If,
    Init,
    Op,
    Prefetch,
    PrefetchL2,
)
from .declarations import KernelMap, Mbarriers
from .value import Kernel

QUIET = (Elect, If, Prefetch, PrefetchL2, Init, Fence)  # by which no thread waits for another, or tells it something


def behind_prologue(kernel: Kernel) -> tuple[Op, ...]:
    """The operations from the first on by which threads touch data or wait, a barrier of all at the start left out."""
    for i, op in enumerate(kernel.body):
        if isinstance(op, Barrier) and op.threads in (0, kernel.threads):
            return kernel.body[i + 1 :]
        if not all(isinstance(inside, QUIET) for inside in op.walk()):
            return kernel.body[i:]
    return ()


def with_prologue(
    body: tuple[Op, ...], barriers: Iterable[Mbarriers], maps: Iterable[KernelMap], threads: int
) -> tuple[Op, ...]:
    """The operations behind a prologue, if there are mbarriers that none of them initialises.

    A barrier of the cluster at the start, or an arrival there, is one of the CTA too. Others may use barrier 0 with
    fewer threads: then the prologue has the first number that none of them uses.
    """
    every = [op for outer in body for op in outer.walk()]
    arrays = [b.name for b in barriers]
    if not arrays or any(isinstance(op, Init) for op in every):
        return body
    prefetches = (Prefetch(m.name) for m in maps)
    start = Elect((*prefetches, *map(Init, arrays), Fence("mbarrier_init")))
    if body and isinstance(body[0], ClusterArrive | ClusterBarrier):
        return (start, *body)
    partial = {op.number for op in every if isinstance(op, Barrier) and op.threads not in (0, threads)}
    partial |= {op.number for op in every if isinstance(op, BarrierArrive)}
    number = next(n for n in range(len(partial) + 1) if n not in partial)
    return (start, Barrier(number), *body)
