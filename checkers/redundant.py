"""Fences, waits and barriers without which everything about a kernel is still proved.

>>> from checkers import prove
>>> from symlayout import dim
>>> from symlayout.kernels import cp_async_copy
>>> from symlayout.ops import WaitGroup
>>> kernel = cp_async_copy(dim("N"), stages=3, blocks=1)
>>> fenced = kernel.edited(lambda op: [op, Fence("async")] if isinstance(op, WaitGroup) else [op])
>>> prove(fenced).redundant
('fence async',)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from symlayout.kernel import Kernel
from symlayout.kernel.sites import Site, as_written
from symlayout.ops import Barrier, ClusterBarrier, Fence, Op, Wait, WaitGroup, WarpBarrier

ORDERING = (Fence, Wait, WaitGroup, Barrier, WarpBarrier, ClusterBarrier)


def redundant(kernel: Kernel, proved: Callable[[Kernel], bool]) -> tuple[str, ...]:
    """The operations that may each be left out, one at a time; two of them may need one another."""
    spare = (s for s in as_written(kernel) if isinstance(s.op, ORDERING) and proved(_without(kernel, s)))
    return tuple(f"{s}{f' of {s.role}' if s.role else ''}" for s in spare)


def _without(kernel: Kernel, s: Site) -> Kernel:
    """The kernel less the operation at a site."""
    around = [a.op for a in s.enclosing()]
    put: tuple[Op, ...] = ()
    for op, place in zip(reversed(around), reversed(s.places[1:]), strict=True):
        put = (op.with_body((*op.body[:place], *put, *op.body[place + 1 :])),)
    first = s.places[0]
    return replace(kernel, body=(*kernel.body[:first], *put, *kernel.body[first + 1 :]))
