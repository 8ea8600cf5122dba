"""The orderings that asynchronous copies need, looked for in the operations of a kernel: a subset of the PTX model.

Each row of RULES names two accesses and the instructions that must stand between them. It is checked that these
operations occur, executed by the right threads. The ring protocol proves that a barrier's phases mean what they
should.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from symlayout.atoms import Issuer, MemorySpace
from symlayout.kernel import Kernel
from symlayout.kernel.sites import Site, sites
from symlayout.ops import Op, PeerCopy

from ..clocks.decided import BY_CLOCKS, clocks
from ..overlaps import Together, apart, sharing
from .barriers import Meeting, meetings
from .cluster_exit import cluster_orders
from .footprints import Footprints
from .hand_over import HandOver
from .initialised import init_orders
from .registers import Registers
from .ring_slots import RingOrders
from .rules import MODEL, RULES, Order
from .runs_at_sizes import Runs
from .shared import Shared
from .shared_accesses import accesses
from .ways import Ways

__all__ = ["MODEL", "RULES", "Order", "orders"]

WARPGROUP = 128  # threads


def orders(kernel: Kernel) -> Iterator[Order]:
    """Every obligation of a kernel, those of one kind together, each kind in the order of its operations."""
    yield from _of_clusters(kernel)
    yield from _of_peers(kernel)
    ways = Ways(kernel, sites(kernel))
    footprints, found = Footprints(kernel, ways), meetings(kernel, ways.every)
    for s in ways.divided():
        yield Order("barrier_met", str(s), beyond=f"whether all threads take the same iterations and branches at {s}")
    yield from _reused(kernel)
    runs = Runs(ways, footprints)
    yield from RingOrders(kernel, ways.every, found, runs).orders()
    yield from _issued_together(ways.every)
    yield from _met(kernel, found.values())
    yield from Registers(ways, footprints, runs).orders()
    shared = list(accesses(kernel, MemorySpace.SHARED, ways.every))
    for kind in (Shared, HandOver):
        yield from _timed(kernel, kind(kernel, ways, footprints, found, runs, shared).orders())
    yield from init_orders(kernel, ways.every)


def _of_clusters(kernel: Kernel) -> Iterator[Order]:
    """The orders of clusters, with what their rows leave open shown by clocks where these do."""
    for o in cluster_orders(kernel):
        if not o.by and o.rule in BY_CLOCKS and not _left_open(kernel, o):
            o = Order(o.rule, o.place, by="symbolic clocks")
        yield o


def _of_peers(kernel: Kernel) -> Iterator[Order]:
    """Tensors that threads of a peer touch: all of their accesses are in order by clocks, or nothing is known."""
    for name in dict.fromkeys(op.place.tensor for op in kernel.walk() if isinstance(op, PeerCopy)):
        left = clocks(kernel, kernel.given).order_open((name,))
        yield Order("peer_access", name, by="" if left else "symbolic clocks", beyond=left)


def _left_open(kernel: Kernel, o: Order) -> bool:
    known = clocks(kernel, kernel.given)
    shared = tuple(t.name for t in kernel.tensors if t.space is MemorySpace.SHARED)
    return bool(known.protocol_open or (o.rule == "peer_scope" and known.order_open(shared)))


def _timed(kernel: Kernel, found: Iterable[Order]) -> Iterator[Order]:
    """Orders, with those of two accesses that are left open shown by clocks where these do."""
    for o in found:
        if o.pair is not None and clocks(kernel, kernel.given).in_order(*o.pair):
            o = Order(o.rule, o.place, by="symbolic clocks")
        yield o


def _reused(kernel: Kernel) -> Iterator[Order]:
    """Tensors that share bytes; all other checks consider each alone."""
    for a, b in sharing(kernel):
        where = f"{a} and {b}"
        try:
            yield Order("bytes_reused", where, by=str(apart(kernel, a, b)))
        except Together as e:
            yield Order("bytes_reused", where, beyond=f"whether {where}, which share bytes, are apart in time: {e}")


def _met(kernel: Kernel, found: Iterable[Meeting]) -> Iterator[Order]:
    """Barriers to which other numbers of threads come than they await."""
    for m in found:
        if m.vague and not m.wrong and not clocks(kernel, kernel.given).protocol_open:
            yield Order("barrier_met", str(m.sites[0]), by="symbolic clocks")
            continue
        yield Order(
            "barrier_met", str(m.sites[0]), "" if m.wrong or m.vague else f"{m.name} of its threads", m.wrong, m.vague
        )


def _issued_together(every: Iterable[Site]) -> Iterator[Order]:
    """Instructions of warps and warpgroups by some of their threads only."""
    for s in every:
        n = _threads_of(s.op)
        if n == 1:
            continue
        if s.team is None:
            yield Order("issued_together", str(s), beyond=f"whether all {n} threads issue {s} together")
        elif s.team.lanes < 32 or not _whole(s.team.warps, n // 32):
            yield Order("issued_together", str(s), missing=f"expected all {n} threads of it, got {s.team}")


def _threads_of(op: Op) -> int:
    """The number of threads that issue an operation together (PTX ISA: .aligned; wgmma takes a warpgroup)."""
    instruction = op.row is not None or op.issuer is Issuer.WARPGROUP
    return op.issuer.threads if instruction else 1  # of barriers, shuffles and elections ``WellFormed`` asks it


def _whole(warps: frozenset[int], n: int) -> bool:
    """Whether these are whole groups of *n* warps."""
    return warps == {w for first in warps for w in range(first // n * n, first // n * n + n)}
