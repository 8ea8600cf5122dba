"""The hypotheses of a ring in all CTAs of a cluster: each CTA's own, and those that tie them together.

CTA s fills parts of the slots of the CTAs in its masks; CTA r gives a slot back to each CTA that fills it, and to
itself. So the invariant of ``ring_lemmas`` holds for each pair of them. Without clusters there is one CTA.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from symlayout.expr import Fact, eq
from symlayout.facts import symbols_in
from symlayout.kernel import Kernel
from symlayout.kernel.clusters import ctas, size
from symlayout.ops import Arrive, Box, Copy, ExpectTx, Op, PeerCopy, Ref, edited

from ..orders.cluster_exit import cluster_orders
from .fills import check_apart
from .hypotheses import Reading
from .recognised import RingParts
from .ring_lemmas import TX_LIMIT
from .shown import Known, Open


class ClusterReading:
    """Reads the hypotheses off the operations of each CTA; what is shown gathers in *shown* and *certificates*."""

    def __init__(self, kernel: Kernel, ring: RingParts, given: tuple[Fact, ...]) -> None:
        self.kernel, self.ring = kernel, ring
        self.clustered = size(kernel) > 1
        known = Known()
        self.readings = [Reading(cta, ring, given, known) for cta in ctas(kernel)]

    @property
    def certificates(self) -> list[Any]:
        return [c for r in self.readings for c in r.certificates]

    @property
    def shown(self) -> tuple[str, ...]:
        """Shown facts; a fact of several CTAs once."""
        return tuple(dict.fromkeys(x for r in self.readings for x in r.shown))

    def check(self) -> None:
        """Raises Open at the first hypothesis that is not shown, Uncounted where a number has no closed form."""
        peers = next((op for op in self.kernel.walk() if isinstance(op, PeerCopy)), None)
        if peers is not None:
            raise Open(f"{peers}, which the lemma of rings does not know")
        for order in cluster_orders(self.kernel):
            if not order.by:
                raise Open(order.missing or order.beyond)
        checked: dict[Any, Reading] = {}
        for r in self.readings:
            key = _without_fills(r)
            r.check(checked.get(key))
            checked.setdefault(key, r)
        for r in self.readings:
            if not self._filled_by(r.cta.rank):
                where = f" in {r.cta}" if self.clustered else ""
                raise Open(f"a copy that completes on {self.ring.full}{where}: who fills the slots")
        for r in self.readings:
            for s in (self.readings[rank] for rank in sorted(self._filled_by(r.cta.rank) - {r.cta.rank})):
                same = "CTAs that fill each other's slots make the same number of uses"
                r.need(eq(r.uses, s.uses), None, same)
                if r.met != s.met:
                    raise Open("CTAs that fill each other's slots do so between the same cluster barriers")
        if self.ring.empty:
            self._given_back()
        self._bytes()
        for r in self.readings:
            check_apart([(s.cta.rank, f) for s in self.readings for f in s.fills], r.cta.rank)

    # -- who fills whom -----------------------------------------------------------------------------

    def _filled_by(self, rank: int) -> set[int]:
        """The CTAs that fill one."""
        return {s.cta.rank for s in self.readings for f in s.fills if rank in f.bytes}

    def _given_back(self) -> None:
        """Slots are given back to each CTA that fills them and to one's own; as often as its barrier awaits."""
        for r in self.readings:
            wanted = self._filled_by(r.cta.rank) | {r.cta.rank}
            if set(r.arriving) != wanted:
                to = f"CTAs {_listed(wanted)} of the cluster" if self.clustered else "this CTA"
                found = f"CTAs {_listed(r.arriving)}" if r.arriving else "none"
                raise Open(f"{r.cta} gives slots back to {to}, got {found}")
        declared = self.kernel.barrier(self.ring.empty).arrivals
        for s in self.readings:
            got = sum(r.arriving.get(s.cta.rank, 0) for r in self.readings)
            at = f" in {s.cta}" if self.clustered else ""
            if got != declared:
                raise Open(f"{self.ring.empty}{at} awaits {declared} arrivals in a phase, and gets {got}")
            s.shown.append(f"{self.ring.empty}{at} awaits {declared} and gets {got} arrivals of a use")

    # -- bytes --------------------------------------------------------------------------------------

    def _bytes(self) -> None:
        """The bytes that each phase awaits are those that all CTAs credit to it."""
        if self.clustered:
            self._each_use_alike()
        for r in self.readings:
            for f in r.fills:
                assert isinstance(f.site.op, ExpectTx)
                counted: Any = f.bytes.get(r.cta.rank, 0)
                for s in self.readings:
                    if s is not r:
                        counted = counted + self._of_role(s, f.site.role).get(r.cta.rank, 0)
                r.need(eq(f.site.op.bytes, counted), f.site, "the bytes awaited are those of the copies")
                r.need(Fact(TX_LIMIT - counted, ">="), f.site, f"a phase awaits at most {TX_LIMIT} bytes")
                r.shown.append(f"{self.ring.full} awaits {f.site.op.bytes} bytes, those of the copies of a use")

    def _each_use_alike(self) -> None:
        """The fills of a role bring the same bytes in each use, so it does not matter which of them meet in a phase."""
        sizes = {*self.kernel.dims, *self.readings[0].kernel.block}
        for r in self.readings:
            for f in r.fills:
                first = self._of_role(r, f.site.role)
                for rank in {*f.bytes, *first}:
                    some = f.bytes.get(rank, 0)
                    if not symbols_in((some,)) <= sizes:
                        raise Open(f"the bytes of {f.site} are the same in each use")
                    r.need(eq(some, first.get(rank, 0)), None, f"{f.site} brings the bytes of every use")
                    to = next((s for s in self.readings if s.cta.rank == rank), None)
                    if to is None or not any(g.site.role == f.site.role for g in to.fills):
                        raise Open(f"CTA {rank} of the cluster awaits what {r.cta} copies to it")

    def _of_role(self, r: Reading, role: str) -> dict[int, Any]:
        """The bytes that a use of a role brings to each CTA."""
        return next((f.bytes for f in r.fills if f.site.role == role), {})


def _listed(ranks: Any) -> str:
    return ", ".join(map(str, sorted(ranks)))


def _without_fills(r: Reading) -> Any:
    """The operations of a CTA but for which boxes are copied, and what fills the ring with which part from where."""

    def plain(op: Op) -> Iterable[Op]:
        if isinstance(op, Arrive) and op.complete:  # others are for their own CTA
            return (replace(op, peer=r.cta.peer(op)),)
        if not isinstance(op, Copy):
            return (op,)
        src = replace(op.src, coordinate=()) if isinstance(op.src, Box) else op.src
        dst = replace(op.dst, coordinate=()) if isinstance(op.dst, Box) else op.dst
        if op.barrier is not None and op.barrier.barrier == r.ring.full and isinstance(dst, Ref):
            return (replace(op, src=src, dst=replace(dst, offset=0), multicast=None),)
        return (replace(op, src=src, dst=dst),)

    return edited(r.kernel.body, plain)
