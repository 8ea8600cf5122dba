"""The CTAs of a cluster, each with the operations that it executes: its rank put in, conditions on the rank decided.

A CTA's rank is its place in the cluster, x the fastest, as ``symlayout.semantics`` and ``%cluster_ctarank`` have it.
Block indices become c*q + place with q the number of the cluster, the same for all of its CTAs.

>>> from symlayout import dims
>>> from symlayout.kernels import gemm
>>> for cta in ctas(gemm(*dims("M N K"), cluster=2, blocks=132)):
...     print(cta.rank, cta.kernel.grid, cta.lands(cta.kernel.body[2].body[0].body[0].body[0].body[3]))
0 (66,) (0, 1)
1 (66,) (0, 1)
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, cast

from ..arch import SM90
from ..errors import LayoutError
from ..expr import Expr, Fact, Symbol, digit, divides, integer, intern
from ..facts import Facts
from ..int_tuple import text
from ..ops import Arrive, Copy, For, If, Op, PeerCopy, rewritten, substitution
from .declarations import BLOCKS
from .value import Kernel

MOST_CTAS, PORTABLE_CTAS = SM90.cluster_ctas, SM90.portable_cluster_ctas  # more than the latter need an opt-in
CLUSTER, RANK = "_cluster", "_rank"  # behind the name of a block's index: of which cluster, and where in it
GRID = {*BLOCKS, *(digit(f"{name}{CLUSTER}", 1).name for name in BLOCKS)}
RANKS = {digit(f"{name}{RANK}", 1).name for name in BLOCKS}


@dataclass(frozen=True)
class Cta:
    """A CTA of a cluster: the *kernel* that it executes, whose blocks are the clusters."""

    rank: int
    kernel: Kernel
    size: int  # of the cluster

    def lands(self, op: Copy | PeerCopy) -> tuple[int, ...] | None:
        """The ranks in whose shared memory a copy lands, or is; None if the mask is not a number."""
        if isinstance(op, PeerCopy):
            return None if (rank := self.peer(op)) is None else (rank,)
        if op.multicast is None:
            return (self.rank,)
        return masked(op.multicast) if type(op.multicast) is int else None

    def peer(self, op: Arrive | PeerCopy) -> int | None:
        """The rank whose barrier an arrival signals, or whose memory it is; None if it is not a number."""
        if op.peer is None:
            return self.rank
        return op.peer if type(op.peer) is int else None

    def ranks(self, op: Op) -> tuple[int, ...] | None:
        """The ranks that an arrival reaches."""
        peer = self.peer(op) if isinstance(op, Arrive) else self.rank
        return None if peer is None else (peer,)

    def remote(self, op: Op) -> bool:
        """Whether an operation reaches another CTA, or may."""
        if isinstance(op, Arrive | PeerCopy):
            return self.peer(op) != self.rank
        return isinstance(op, Copy) and op.multicast is not None and self.lands(op) not in ((), (self.rank,))

    def __str__(self) -> str:
        return f"CTA {self.rank} of its cluster" if self.size > 1 else "the CTA"


def masked(mask: int) -> tuple[int, ...]:
    """The ranks that a mask selects."""
    return tuple(rank for rank in range(mask.bit_length()) if mask >> rank & 1)


def size(kernel: Kernel) -> int:
    """The number of CTAs in a cluster."""
    return math.prod(kernel.cluster)


def whole(kernel: Kernel) -> Iterator[Fact]:
    """The fact that the grid has whole clusters, without which it cannot be launched."""
    for n, c in itertools.zip_longest(kernel.grid, kernel.cluster, fillvalue=1):
        if c != 1:
            yield Fact(integer(n), "%", c)


def _shape(kernel: Kernel) -> tuple[int, ...]:
    """The CTAs of a cluster along each axis of the grid. Raises LayoutError for none along some axis."""
    if any(n < 1 for n in kernel.cluster):
        raise LayoutError(f"expected clusters of at least 1 CTA along each axis, got {text(kernel.cluster)}")
    return (*kernel.cluster, *(1 for _ in kernel.grid))[: len(kernel.grid)]


def places(kernel: Kernel) -> tuple[tuple[int, ...], ...]:
    """For each rank its place in the cluster along each axis of the grid."""
    shape = _shape(kernel)
    return tuple(at[::-1] for at in itertools.product(*map(range, shape[::-1])))


def blocks_of(kernel: Kernel, block: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """The blocks of the cluster that *block* is in, by rank."""
    shape = _shape(kernel)
    corner = tuple(b // c * c for b, c in zip(block, shape, strict=True))
    return tuple(tuple(x + i for x, i in zip(corner, at, strict=True)) for at in places(kernel))


@functools.lru_cache(maxsize=64)
def ctas(kernel: Kernel) -> tuple[Cta, ...]:
    """The CTAs of a cluster; of a kernel without clusters the one that there is, with the kernel as it is.

    Each operation of them is one of its own (``Kernel.distinct``).
    That the grid is one of whole clusters is the caller's to see to (``whole``). Raises LayoutError for no CTA.
    """
    kernel = kernel.distinct
    if size(kernel) == 1:
        return (Cta(0, kernel, 1),)
    every = (of_rank(kernel, rank) for rank in range(math.prod(_shape(kernel))))
    return tuple(replace(c, kernel=c.kernel.edited(_decided)) for c in every)


def of_rank(kernel: Kernel, rank: int) -> Cta:
    """A CTA of a cluster with each operation where it stands, conditions on the rank among them."""
    shape = _shape(kernel)
    alone = replace(kernel, grid=tuple(n // c for n, c in zip(kernel.grid, shape, strict=True)), cluster=(1,))
    env: dict[Symbol, Any] = {s: _own(s, rank) for s in kernel.opaque}
    at = places(kernel)[rank]
    env |= {b: c * q + i for b, q, c, i in zip(kernel.block, alone.block, shape, at, strict=True)}
    return Cta(rank, replace(alone, body=rewritten(kernel.body, substitution(env))), size(kernel))


def cluster_of(block: Symbol, n: Any) -> Symbol:
    """The number of the cluster along an axis of the grid, one of *n*."""
    return digit(f"{block.name}{CLUSTER}", n)


def rank_of(block: Symbol, n: int) -> Symbol:
    """The place of a CTA in its cluster along an axis of the grid, one of *n*."""
    return digit(f"{block.name}{RANK}", n)


def is_block(s: Symbol) -> bool:
    """Whether a symbol is the index of a block, or of a cluster, along an axis of the grid."""
    return s.name in GRID


def is_rank(s: Symbol) -> bool:
    """Whether a symbol is the place of a CTA in its cluster."""
    return s.name in RANKS


@functools.lru_cache(maxsize=16)
def by_rank(kernel: Kernel) -> Callable[[Any], Any]:
    """Puts c*q + rank for the block indices of a grid of whole clusters into an expression or a fact, for all ranks.

    Quotients and remainders by c are resolved, in the ranges of loop indices too: then proofs see the rank apart.
    """
    env: dict[Symbol, Any] = {}
    for b, n, c in zip(kernel.block, kernel.grid, kernel.cluster, strict=False):
        clusters = divides(c, n)
        if c > 1 and clusters is not None:
            env[b] = c * cluster_of(b, clusters) + rank_of(b, c)
    if not env:
        return lambda x: x
    facts, moved = Facts.about(*env.values()), substitution(env)

    def put(x: Any) -> Any:
        if isinstance(x, Fact):
            return Fact(put(x.expr), x.relation, x.modulus)
        return by_clusters(x) if isinstance(x, Expr) else x

    @functools.cache
    def by_clusters(x: Expr) -> Any:
        x = moved(x)
        ranges = {s: s.ranged(0, put(s.upper)) for s in x.symbols if s.lower == 0 and isinstance(s.upper, Expr)}
        return facts.resolved(x.subs(ranges) if ranges else x)

    return put


def _own(s: Symbol, rank: int) -> Symbol:
    """A value that is read from memory, of one CTA: another may read another one."""
    named = intern(Symbol, (f"[{s.name} of CTA {rank}]", *s.args[1:]))  # no name that a user can give
    return cast(Symbol, named)


def _decided(op: Op) -> Iterator[Op]:
    """An operation without conditions that always hold, bodies that never run, and empty loops."""
    if isinstance(op, If):
        if any(f.value is False for f in op.condition):
            return
        if all(f.value for f in op.condition):
            yield from op.inside
            return
        op = replace(op, condition=tuple(f for f in op.condition if f.value is None))
    if isinstance(op, For) and type(op.extent) is int and op.extent <= 0:
        return
    yield op


def told(kernel: Kernel) -> str:
    """The remark of a verdict about clusters; "" if there are none."""
    return f"all CTAs of a cluster of {text(kernel.cluster)}" if size(kernel) > 1 else ""
