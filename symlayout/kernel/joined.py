"""The CTAs of a cluster as one CTA: a role for each rank around its program, with memory and barriers of its own.

What is asked of the threads, mbarriers and shared tensors of a CTA can be asked of a cluster so: an arrival at a peer
is one at that peer's mbarrier, a multicast a copy into each CTA of its mask. The rank is a number in each program, and
conditions on it are decided. Each operation keeps its place, behind that of its CTA.

>>> from symlayout import dims
>>> from symlayout.kernels import gemm
>>> both = joined(gemm(*dims("M N K"), cluster=2, blocks=132))
>>> print(both.kernel.threads, *(b.name for b in both.kernel.barriers), sep="; ")
768; full of CTA 0; empty of CTA 0; full of CTA 1; empty of CTA 1
>>> for op in both.kernel.walk():
...     if str(op).startswith("tma.load b_map"):
...         print(str(op).partition(" on ")[2])
full of CTA 0[(wave*ceil(K/64) + i) % 4]
full of CTA 1[(wave*ceil(K/64) + i) % 4]
full of CTA 0[(wave*ceil(K/64) + i) % 4]
full of CTA 1[(wave*ceil(K/64) + i) % 4]
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

from ..atoms.access import MemorySpace
from ..errors import LayoutError
from ..ops import (
    WARP,
    Arrive,
    Barrier,
    BarrierArrive,
    Copy,
    For,
    If,
    Init,
    Inval,
    Matrix,
    Op,
    PeerCopy,
    Ref,
    Role,
    Slot,
)
from .clusters import Cta, of_rank, size
from .sites import Site, Team, sites
from .value import Kernel

NUMBERS = 16  # of named barriers in a CTA (PTX ISA, bar.sync)
END = If((), ())  # an operation that does nothing, where all threads of a CTA are about to exit


@dataclass(frozen=True, eq=False)
class Joined:
    """The CTAs of a cluster as one *kernel*, or a kernel without clusters as it is."""

    kernel: Kernel
    ctas: int
    warps: int  # of each

    def rank(self, team: Team) -> int:
        """The CTA whose threads these are."""
        return min(team.warps, default=0) // self.warps

    def rank_of(self, name: str) -> int:
        """The CTA that has a tensor, or an array of mbarriers."""
        return 0 if self.ctas == 1 else int(name.partition("[")[0].rpartition(" ")[2])

    def last(self, rank: int) -> Site:
        """Where all threads of a CTA are about to exit."""
        role = self.kernel.body[rank]
        return next(s for s in sites(self.kernel) if s.places == (rank, len(role.body) - 1))

    def names(self, name: str) -> tuple[str, ...]:
        """The tensors, or arrays of mbarriers, that one of a CTA stands for: those of all CTAs, by rank."""
        return (name,) if self.ctas == 1 else tuple(own(name, r) for r in range(self.ctas))

    def places(self, s: Site) -> tuple[tuple[int, ...], ...]:
        """Where an operation of the kernel stands in this one, rank by rank."""
        return (s.places,) if self.ctas == 1 else tuple((r, *s.places) for r in range(self.ctas))

    def numbered(self, number: int) -> str:
        """``barrier 1``, and of which CTA."""
        rank, n = divmod(number, NUMBERS)
        return f"barrier {n}" if self.ctas == 1 else own(f"barrier {n}", rank)


def own(name: str, rank: int) -> str:
    """The name of what one CTA has."""
    return f"{name} of CTA {rank}"


def joined(kernel: Kernel) -> Joined:
    """The CTAs of a cluster as one.

    Raises LayoutError where a mask or a peer is not a number for each rank, or not one of the cluster.
    """
    return Joined(kernel.distinct, 1, kernel.threads // WARP) if size(kernel) == 1 else _joined(kernel)


@functools.lru_cache(maxsize=16)
def _joined(kernel: Kernel) -> Joined:
    n, warps = size(kernel), kernel.threads // WARP
    ctas = [of_rank(kernel.distinct, rank) for rank in range(n)]
    shared = {t.name for t in kernel.tensors if t.space is MemorySpace.SHARED}
    room = -(-kernel.shared_bytes // 1024) * 1024
    tensors = [t for t in kernel.tensors if t.name not in shared]
    tensors += [
        replace(t, name=own(t.name, r), base=t.base + r * room)
        for r in range(n)
        for t in kernel.tensors
        if t.name in shared
    ]
    barriers = tuple(replace(b, name=own(b.name, r)) for r in range(n) for b in kernel.barriers)
    body = tuple(Role(f"CTA {c.rank}", c.rank * warps, warps, (*_Moved(c, shared, warps).body(), END)) for c in ctas)
    whole = replace(
        ctas[0].kernel, threads=n * kernel.threads, tensors=tuple(tensors), barriers=barriers, body=body, rings=()
    )
    return Joined(replace(whole, results=(), reference=None).distinct, n, warps)


class _Moved:
    """The program of a CTA among those of its cluster."""

    def __init__(self, cta: Cta, shared: set[str], warps: int) -> None:
        self.cta, self.shared, self.warps = cta, shared, warps

    def body(self) -> Iterator[Op]:
        """Its operations, each in its place."""
        return (self._moved(op) for op in self.cta.kernel.body)

    def _moved(self, op: Op) -> Op:
        if isinstance(op, If):
            if any(f.value is False for f in op.condition):
                return replace(op, inside=())
            op = replace(op, condition=tuple(f for f in op.condition if f.value is None))
        if isinstance(op, For) and type(op.extent) is int and op.extent <= 0:
            return replace(op, inside=())
        if isinstance(op, Role):
            op = replace(op, name=own(op.name, self.cta.rank), first_warp=op.first_warp + self.cta.rank * self.warps)
        if op.body:
            return op.with_body(tuple(map(self._moved, op.body)))
        return self._own(op)

    def _own(self, op: Op) -> Op:
        """An operation on what its CTA has, or its peers."""
        rank = self.cta.rank
        if isinstance(op, Barrier | BarrierArrive):
            threads = op.threads or self.cta.kernel.threads
            return replace(op, number=op.number + NUMBERS * rank, threads=threads)
        if isinstance(op, Init | Inval):
            return replace(op, array=own(op.array, rank))
        if isinstance(op, Arrive) and op.peer is not None:
            (peer,) = self._known(op, None if (r := self.cta.peer(op)) is None else (r,))
            return self._on(replace(op, peer=None), peer)
        if isinstance(op, PeerCopy):
            (peer,) = self._known(op, self.cta.lands(op))
            return self._on(Copy(op.atom, op.src, op.dst, op.barrier), peer)
        if isinstance(op, Copy) and op.multicast is not None:
            once = replace(op, multicast=None)
            return If((), tuple(self._on(once, r) for r in self._known(op, self.cta.lands(op))))
        return self._on(op, rank)

    def _known(self, op: Op, ranks: tuple[int, ...] | None) -> tuple[int, ...]:
        if ranks is None or not all(0 <= r < self.cta.size for r in ranks):
            raise LayoutError(f"expected CTAs of 0 .. {self.cta.size - 1} that {op} reaches, in {self.cta}")
        return ranks

    def _on(self, x: Any, rank: int) -> Any:
        """An operation, or an operand, on the shared memory and the mbarriers of a CTA."""
        if isinstance(x, tuple):
            return tuple(self._on(y, rank) for y in x)
        if isinstance(x, Slot):
            return replace(x, barrier=own(x.barrier, rank))
        if isinstance(x, Ref):
            return replace(x, tensor=own(x.tensor, rank)) if x.tensor in self.shared else x
        if isinstance(x, Op | Matrix):
            return replace(x, **{f.name: self._on(getattr(x, f.name), rank) for f in fields(x)})
        return x
