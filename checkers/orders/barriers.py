"""The threads that meet at the barriers of a CTA.

A warp waits at a barrier until all that it awaits have come. Where as many threads use a number as it awaits, the n-th
time of one is the n-th time of all; where their numbers differ, some wait for ever or too short.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from symlayout.kernel import Kernel
from symlayout.kernel.sites import Site, everyone
from symlayout.ops import Barrier, BarrierArrive, ClusterBarrier, Op


@dataclass(frozen=True)
class Meeting:
    """The barriers of one number: who comes, how many threads each awaits, and what is wrong with that."""

    name: str
    warps: frozenset[int]
    sites: tuple[Site, ...]
    wrong: str = ""  # certainly
    vague: str = ""  # perhaps

    @property
    def sound(self) -> bool:
        return not self.wrong and not self.vague


def meetings(kernel: Kernel, every: Sequence[Site]) -> dict[int, Meeting]:
    """The barriers of a kernel by number; -1 is that of the cluster."""
    found: dict[int, list[Site]] = {}
    for s in every:
        if isinstance(s.op, Barrier | ClusterBarrier):
            found.setdefault(number_of(s.op), []).append(s)
    alone = {s.op.number for s in every if isinstance(s.op, BarrierArrive)}
    return {n: _meeting(kernel, n, mine, n in alone) for n, mine in found.items()}


def number_of(op: Barrier | ClusterBarrier) -> int:
    return op.number if isinstance(op, Barrier) else -1


def awaited(kernel: Kernel, op: Op) -> int:
    """The threads that a barrier of the CTA awaits."""
    return getattr(op, "threads", 0) or kernel.threads


def apart(kernel: Kernel, mine: Sequence[Site]) -> tuple[list[Site], list[Site]]:
    """(those at which the whole CTA meets first, the others) of a number that awaits several counts of threads.

    Nobody comes to a later one before the first is over, so each count is a barrier of its own.
    """
    left, first = sorted(mine, key=lambda s: s.places), []
    while len({awaited(kernel, s.op) for s in left}) > 1:
        s = left[0]
        whole = s.team is not None and s.team.threads == kernel.threads == awaited(kernel, s.op)
        if s.around or not whole or isinstance(s.op, BarrierArrive):
            break
        first.append(left.pop(0))
    return first, left


def _meeting(kernel: Kernel, number: int, every: list[Site], alone: bool) -> Meeting:
    name = f"barrier {number}" if number >= 0 else "the cluster barrier"
    warps = frozenset(w for s in every for w in everyone(s).warps)
    made = Meeting(name, warps, tuple(every))
    _, mine = apart(kernel, every)
    counts = {awaited(kernel, s.op) for s in mine}
    if alone:
        return Meeting(name, warps, made.sites, vague=f"which threads of {name} arrive and go on, and when")
    if len(counts) > 1:
        return Meeting(name, warps, made.sites, vague=f"{name} awaits {' or '.join(map(str, sorted(counts)))} threads")
    (n,) = counts
    if any(s.team is None or s.team.lanes != 32 for s in mine):
        most = sum(everyone(s).threads for s in mine)
        if n > most:
            return Meeting(name, warps, made.sites, wrong=f"{name} awaits {n} threads, and {most} come")
        return Meeting(name, warps, made.sites, vague=f"{name} is met by some lanes of a warp")
    come = 32 * len({w for s in mine for w in everyone(s).warps})
    if n > come or any(s.team is not None and s.team.threads > n for s in mine):
        return Meeting(name, warps, made.sites, wrong=f"{name} awaits {n} threads, and {come} come")
    return Meeting(
        name, warps, made.sites, vague="" if n == come else f"{name} awaits {n} threads of {come} that use it"
    )
