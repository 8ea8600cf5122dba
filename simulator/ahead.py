"""Loads that compilers take ahead of stores: those of all iterations of an unrolled loop go out together.

>>> from symlayout.kernels import cp_async_copy
>>> from .upkeep import short_loops
>>> kernel = cp_async_copy(4096, stages=3, blocks=4).bind()
>>> ops = {id(op): op for top in kernel.plain.body for op in top.walk()}
>>> for load, loop in ahead(kernel, short_loops(kernel)).items():
...     print(ops[loop], ops[load].atom)
for j < 4: ld.shared.4

A load of a register goes ahead of what the loop stores where no store of the loop can change what it reads: where the
stores are to the other kind of memory, or are global and the kernel writes no byte of what is loaded (code has
``__restrict__`` then, and loads through the read-only path). What stands in the way of all memory (waits, barriers,
fences, asynchronous copies) stands in the way of loads too. Machine code of the copies, the transposition and the tails
of vectors shows this (nvdisasm, NVRTC 13), for as many loads as registers are at hand for: 6 to 8 words of a tail.
Rings of one CTA that count their slots are an exception: there each load waits for the store before it.
"""

from __future__ import annotations

from collections.abc import Iterator

from symlayout.atoms.access import MemorySpace
from symlayout.kernel import Kernel
from symlayout.kernel.cursors import cursors
from symlayout.ops import Copy, Fill, For, If, Let, Map, Op

from .timing_classes import Unit, timing_class
from .upkeep import BY_THREADS, unrolled

REGISTERS = 32  # of a thread, that loads ahead may fill
FEW_THREADS = 256


def ahead(kernel: Kernel, short: frozenset[int]) -> dict[int, int]:
    """For each load that goes ahead the loop of whose iterations all such loads go first, both by identity.

    *short* are the loops that compilers unroll unasked.
    """
    found = dict[int, int]()
    written = {kernel.touched(t) for op in kernel.walk() for t in op.changes()}

    within = set[int]()  # a loop whose loads go ahead, by identity
    for op in kernel.plain.walk():
        if isinstance(op, For) and id(op) not in within and _straight(op, short) and not _by_turns(kernel):
            loads = list(_loads(kernel, op, written))
            if loads and _registers(op, loads) <= REGISTERS:
                found.update((id(x), id(op)) for x in loads)
                within.update(id(inner) for inner in op.walk())
    return found


def _by_turns(kernel: Kernel) -> bool:
    """Whether loads and stores stand by turns: in rings of one CTA of few threads that count slots (16 of 56 rings)."""
    alone = all(n == 1 for n in (kernel.origin or kernel).grid) and kernel.threads <= FEW_THREADS
    ring = alone and any(isinstance(op, Copy) and timing_class(op).unit is Unit.CP_ASYNC for op in kernel.walk())
    return ring and bool(cursors((kernel.origin or kernel).plain))


def _straight(loop: For, short: frozenset[int]) -> bool:
    """Whether code has no jump of the loop, and nothing in it stands in the way of loads."""
    for op in loop.walk():
        if isinstance(op, For):
            if not unrolled(op, short):
                return False
        elif isinstance(op, Copy):
            if timing_class(op).unit not in BY_THREADS:
                return False
        elif not isinstance(op, If | Let | Map | Fill):
            return False
    return True


def _loads(kernel: Kernel, loop: For, written: set[str]) -> Iterator[Copy]:
    """The loads in it that no store in it can reach."""
    copies = [op for op in loop.walk() if isinstance(op, Copy)]
    spaces = {t.name: t.space for t in kernel.tensors}
    stored = {spaces[kernel.touched(t)] for op in copies for t in op.changes()}
    for op in copies:
        sources, targets = ({kernel.touched(t) for t in ts} for ts in (op.reads(), op.changes()))
        if any(spaces[x] is not MemorySpace.REGISTER for x in targets):
            continue
        memory = {x for x in sources if spaces[x] is not MemorySpace.REGISTER}
        if all(spaces[x] not in stored or (spaces[x] is MemorySpace.GLOBAL and x not in written) for x in memory):
            yield op


def _registers(loop: For, loads: list[Copy]) -> int:
    """The registers of 4 bytes that all loads of all iterations fill."""
    wanted = {id(x) for x in loads}

    def filled(op: Op) -> int:
        if id(op) in wanted:
            assert op.row is not None
            return -(-getattr(op.row, "bytes", 16) // 4)
        inside = sum(map(filled, op.body))
        return inside * int(op.extent) if isinstance(op, For) else inside

    return filled(loop)
