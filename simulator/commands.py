"""What code computes for commands between loops: where the boxes begin that the iterations of an inner loop move.

>>> from symlayout import dims
>>> from symlayout.kernels import gemm
>>> kernel = gemm(*dims("M N K", at_most=1 << 20), tile=(128, 64)).bind(M=4096, N=4096, K=512)
>>> ops = {id(op): op for top in kernel.plain.body for op in top.walk()}
>>> [(str(ops[loop].index), n) for loop, n in between(kernel).items()]
[('wave', 11), ('wave', 10)]

A persistent kernel tells in each iteration of an outer loop where its tile lies: by quotients (``arithmetic``) and, one
after another, by sums and products of them. One thread makes them, and each waits for the one before. What changes with
the innermost loop, the slots of rings among it, is part of an iteration as M22 and M9 measure it. The counts are within
a fifth of machine code, divisions and the rounding of quotients that may be negative aside (nvdisasm, NVRTC 13).
"""

from __future__ import annotations

from collections.abc import Iterator

from symlayout.expr import Expr, interpret
from symlayout.kernel import Kernel
from symlayout.kernel.sites import as_written
from symlayout.ops import Copy, For

from .instructions import Counter, Upkeep


def between(kernel: Kernel) -> dict[int, int]:
    """For each loop around loops the instructions that each of its iterations makes one after another, by identity."""
    origin, found = (kernel.origin or kernel).plain, dict[int, Upkeep]()
    for site, at_sizes in zip(as_written(origin), as_written(kernel.plain), strict=True):
        op = site.op
        if not isinstance(op, Copy) or op.box is None or not any(_around_loops(x) for x in site.loops):
            continue
        rows = (Upkeep(), *(found.setdefault(id(x), Upkeep()) for x in at_sizes.loops))
        counter = Counter(rows, {x.index.name: k + 1 for k, x in enumerate(site.loops)}, frozenset(), 1, started=0)
        for x in op.box.coordinate:
            if isinstance(x, Expr):
                interpret(x, counter)
    outer = {id(op) for op in kernel.plain.walk() if isinstance(op, For) and _around_loops(op)}
    return {loop: beside.instructions for loop, beside in found.items() if loop in outer}


def _around_loops(loop: For) -> bool:
    return any(isinstance(x, For) for x in _inside(loop))


def _inside(loop: For) -> Iterator[object]:
    return (x for top in loop.body for x in top.walk())
