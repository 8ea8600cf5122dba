"""Orderings of a cluster other than those of each CTA: its CTAs must exist while others access them.

Each row of RULES is an obligation of a kernel with clusters, looked for in the operations of each CTA (``clusters``).
What makes a cluster barrier do is barrier.cluster.arrive (release) and wait (acquire) by all threads of the cluster.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from symlayout.atoms.access import Proxy
from symlayout.atoms.peers import needs_another
from symlayout.facts import Facts
from symlayout.kernel import Kernel
from symlayout.kernel.clusters import MOST_CTAS, PORTABLE_CTAS, Cta, ctas, size, whole
from symlayout.kernel.sites import Site, Team, sites
from symlayout.ops import (
    Arrive,
    ClusterArrive,
    ClusterBarrier,
    ClusterWait,
    Copy,
    ExpectTx,
    Op,
    PeerCopy,
    Ref,
    Role,
    Wait,
)

from ..rings.recognised import RingParts, rings_of
from .rules import Order

RULES = {
    "whole_clusters": f"the grid is one of whole clusters, of at most {PORTABLE_CTAS} CTAs each (CUDA, launch)",
    "peer_exists": "a peer and the CTAs of a mask are of the cluster (PTX ISA, mapa; .multicast::cluster)",
    "peer_access": "what threads read and write in the memory of a peer is in order with all else that touches it (PTX"
    " ISA, Causality order)",
    "cluster_met": "all threads of a cluster execute its barriers, equally often (PTX ISA, barrier.cluster)",
    "cluster_started": "a cluster barrier comes before the first arrival at a peer or multicast to it, whose mbarriers"
    " are initialised by then (PTX ISA, mbarrier.init)",
    "cluster_stays": "a CTA does not exit while peers may arrive at it or copies may land in it: a cluster barrier at"
    " the end, or a wait for them",
    "peer_scope": "what lanes have read of bytes that peers fill is released at cluster scope, and acquired at it"
    " (PTX ISA, mbarrier.arrive, mbarrier.try_wait: .cta without a scope)",
}


def cluster_orders(kernel: Kernel) -> Iterator[Order]:
    """Every obligation of a kernel with clusters, or with operations on other CTAs; none without."""
    if size(kernel) > 1 or any(_names_a_cta(op) for op in kernel.walk()):
        every = [_OfCta(cta) for cta in ctas(kernel)]
        rings = rings_of(kernel)
        found = (o for one in every for o in one.all(every, rings))
        yield from dict.fromkeys((*_launched(kernel), *_met(kernel, every), *found))


def _names_a_cta(op: Op) -> bool:
    """Whether an operation reaches other CTAs, or meets them in two parts."""
    remote = getattr(op, "peer", None) is not None or getattr(op, "multicast", None) is not None
    return remote or isinstance(op, ClusterArrive | ClusterWait)


def _launched(kernel: Kernel) -> Iterator[Order]:
    n, where = size(kernel), f"a cluster of {size(kernel)} CTAs"
    if n > MOST_CTAS:
        yield Order("whole_clusters", where, missing=f"expected at most {MOST_CTAS}")
    elif n > PORTABLE_CTAS:
        yield Order("whole_clusters", where, beyond=f"that a launch opts in to more than {PORTABLE_CTAS} CTAs")
    for fact in whole(kernel):
        held = fact.value if type(fact.expr) is int else Facts.about(fact.expr, given=kernel.given).holds(fact)
        if held is True:
            yield Order("whole_clusters", kernel.name, by=str(fact))
        elif held is False:
            yield Order("whole_clusters", kernel.name, missing=f"expected {fact}; choose the grid so")
        else:
            yield Order("whole_clusters", kernel.name, beyond=f"that {fact}")


def _met(kernel: Kernel, every: list[_OfCta]) -> Iterator[Order]:
    """A check that each thread reaches the cluster's barriers, and all the same number."""
    unsure = next((s for one in every for s in one.unsure), None)
    wrong = next((said for one in every for said in one.wrong), "")
    counts = {one.counted(w) for one in every for w in one.warps}
    if wrong and unsure is None:
        yield Order("cluster_met", kernel.name, missing=wrong)
    elif unsure is not None:
        yield Order("cluster_met", str(unsure), beyond=f"that all threads of the cluster come to each {unsure}")
    elif len(counts) > 1:
        yield Order("cluster_met", kernel.name, beyond="that all threads of the cluster come to as many barriers of it")
    elif counts != {0}:
        yield Order("cluster_met", kernel.name, by=f"{min(counts)} by each thread")


@dataclass(frozen=True, eq=False)
class _Meeting:
    """A barrier of the cluster: where threads arrive, and where they wait for it; both at once as a rule."""

    arrive: Site
    wait: Site

    @property
    def team(self) -> Team | None:
        return self.wait.team

    @property
    def role(self) -> str:
        return self.wait.role

    @property
    def releases(self) -> bool:
        """Whether it orders what threads have done before."""
        return not (isinstance(self.arrive.op, ClusterArrive) and self.arrive.op.relaxed)

    def __str__(self) -> str:
        return str(self.wait)


def _sure(s: Site) -> bool:
    """Whether a barrier is executed once, by all threads of some warps."""
    return s.team is not None and s.team.lanes == 32 and all(isinstance(a, Role) for a in s.around)


class _OfCta:
    """The obligations of one CTA of a cluster."""

    def __init__(self, cta: Cta) -> None:
        self.cta = cta
        self.every = list(sites(cta.kernel))
        self.place = {id(s): i for i, s in enumerate(self.every)}
        self.warps = frozenset(range(cta.kernel.threads // 32))
        self.unsure: list[Site] = []  # that not all threads of some warps come to, or not once
        self.wrong: list[str] = []
        self.barriers = list(self._meetings())

    def all(self, every: list[_OfCta], rings: tuple[RingParts, ...]) -> Iterator[Order]:
        for s in self.every:
            if isinstance(s.op, PeerCopy) and self.cta.peer(s.op) == self.cta.rank and needs_another(s.op.atom):
                yield self._order("peer_exists", s, missing=f"expected another CTA than {self.cta} itself")
            if not self.cta.remote(s.op):
                continue
            ranks = self.cta.lands(s.op) if isinstance(s.op, Copy | PeerCopy) else self.cta.ranks(s.op)
            absent = self._absent(s, ranks)
            if absent is not None:
                yield absent
                continue
            yield self._started(s)
            if isinstance(s.op, Arrive):
                yield self._scoped(s, s.op, every)
            others = [every[r] for r in ranks or () if r != self.cta.rank]
            yield self._awaited(s, others) if s.op.credits is not None else self._stays(s, others, every, rings)

    def _meetings(self) -> Iterator[_Meeting]:
        """Its barriers of the cluster: each arrival with the next wait, where they are by the same threads, once."""
        arrived: Site | None = None
        for s in self.every:
            if not isinstance(s.op, ClusterArrive | ClusterBarrier | ClusterWait):
                continue
            if not _sure(s):
                self.unsure.append(s)
                arrived = None
            elif arrived is not None and not isinstance(s.op, ClusterWait):
                self.wrong.append(f"expected a cluster wait between {arrived} and {s}")
            elif arrived is None and isinstance(s.op, ClusterWait):
                self.wrong.append(f"expected a cluster arrive before {s}")
            elif isinstance(s.op, ClusterBarrier):
                yield _Meeting(s, s)
            elif isinstance(s.op, ClusterArrive):
                arrived = s
            else:
                assert arrived is not None
                if (arrived.team, arrived.around) != (s.team, s.around):
                    self.unsure.append(s)
                yield _Meeting(arrived, s)
                arrived = None

    def _order(self, rule: str, s: Site, *, by: str = "", missing: str = "", beyond: str = "") -> Order:
        return Order(rule, f"{s}, in {self.cta}", by, missing, beyond)

    def counted(self, warp: int) -> int:
        """The cluster barriers that a warp comes to."""
        return sum(s.team is not None and warp in s.team.warps for s in self.barriers)

    def waits(self, names: set[str]) -> list[Site]:
        """The waits for some barriers of the CTA."""
        return [s for s in self.every if isinstance(s.op, Wait) and s.op.barrier.barrier in names]

    def reached(self) -> set[str]:
        """The barriers by which it reaches other CTAs."""
        found = (s.op for s in self.every if self.cta.remote(s.op))
        return {
            op.barrier.barrier for op in found if isinstance(op, Arrive | Copy | PeerCopy) and op.barrier is not None
        }

    def _meeting(self, some: list[_Meeting]) -> _Meeting | None:
        """One of some barriers at which all warps meet."""
        return next((m for m in some if m.team is not None and m.team.warps == self.warps), None)

    # -- what reaches another CTA -------------------------------------------------------------------

    def _absent(self, s: Site, ranks: tuple[int, ...] | None) -> Order | None:
        """The complaint about a CTA that the cluster does not have, or that is not known."""
        if ranks is None:
            return self._order("peer_exists", s, beyond=f"which CTA {s} reaches")
        wrong = next((r for r in ranks if not 0 <= r < self.cta.size), None)
        if wrong is None:
            return None
        return self._order("peer_exists", s, missing=f"expected CTAs of 0 .. {self.cta.size - 1}, got {wrong}")

    def _started(self, s: Site) -> Order:
        """A check that the CTAs which it accesses have begun: only the first access without it is reported."""
        before = [b for b in self.barriers if self.place[id(b.wait)] < self.place[id(s)] and b.role in (s.role, "")]
        met = self._meeting(before)
        if met is not None:
            return self._order("cluster_started", s, by=str(met))
        if before:
            return self._order("cluster_started", s, beyond=f"that all threads of the cluster meet before {s}")
        return self._order("cluster_started", s, missing="no cluster barrier before it; add one at the start")

    def _awaited(self, s: Site, others: list[_OfCta]) -> Order:
        """A check that the CTAs which a copy goes to wait for it; the ring protocol proves it for each."""
        assert isinstance(s.op, Copy | PeerCopy)
        name = s.op.barrier.barrier if s.op.barrier is not None else ""
        lacking = next((o for o in others if not o.waits({name})), None)
        if lacking is None:
            return self._order("cluster_stays", s, by=f"waits for {name}")
        return self._order("cluster_stays", s, missing=f"{lacking.cta} does not wait for {name}; add a wait")

    def _scoped(self, s: Site, op: Arrive, every: list[_OfCta]) -> Order:
        """A release at cluster scope covers what lanes have read; wait_group has ended what is asynchronous."""
        filled = {r.tensor for one in every for x in one.every if one.cta.remote(x.op) for r in x.op.targets}
        read = next((x for x in self.every if x.role == s.role and _by_lanes(x.op, filled)), None)
        if read is None:
            return self._order("peer_scope", s, by="no reads by lanes of what peers fill")
        narrow = next((w for one in every for w in one.waits({op.barrier.barrier}) if _scope(w) != "cluster"), None)
        if op.scope == "cluster" and narrow is None:
            return self._order("peer_scope", s, by="cluster scope, and that of the waits")
        what = s if op.scope != "cluster" else narrow
        return self._order(
            "peer_scope",
            s,
            missing=f'expected cluster scope of {what}, since lanes read in {read}; state scope="cluster"',
        )

    def _stays(self, s: Site, others: list[_OfCta], every: list[_OfCta], rings: tuple[RingParts, ...]) -> Order:
        """A check that the CTA at which it arrives has not exited.

        It surely need not be where all that its threads wait for are fills of a ring and room in it: the last arrivals
        are not waited for.
        """
        mine = [b for b in self.barriers if b.role in (s.role, "")]
        after = [b for b in mine if self.place[id(b.arrive)] > self.place[id(s)]]
        met = self._meeting([b for b in after if b.releases])
        if met is not None:
            return self._order("cluster_stays", s, by=str(met))
        relaxed = self._meeting(after)
        if relaxed is not None:
            said = f"{relaxed.arrive} orders nothing before it; expected a cluster arrive that is not relaxed"
            return self._order("cluster_stays", s, missing=said)
        if isinstance(s.op, PeerCopy):
            return self._order("cluster_stays", s, beyond=f"that the CTA it reaches stays until {s} is done")
        assert isinstance(s.op, Arrive)
        ring = next((r for r in rings if r.tensors and r.empty == s.op.barrier.barrier), None)
        reached = {name for one in every for name in one.reached()}
        waits = [(o, w) for o in others for w in o.waits(reached)]
        odd = any(one.unsure or any(b.role for b in one.barriers) for one in every)  # some warps only, which may wait
        if after or odd or ring is None or not all(o.fills_then(w) or _waits_for(w, ring.full) for o, w in waits):
            return self._order("cluster_stays", s, beyond=f"that the CTA it reaches stays until {s} is done")
        return self._order("cluster_stays", s, missing="no cluster barrier after it; add one at the end of the kernel")

    def fills_then(self, w: Site) -> bool:
        """Whether a wait is for room: it comes before an expect_tx of its body."""
        later = self.every[self.place[id(w)] :]
        return any(isinstance(s.op, ExpectTx) and s.places[: len(w.places) - 1] == w.places[:-1] for s in later)


def _by_lanes(op: Op, tensors: set[str]) -> bool:
    """Whether threads read some tensors by themselves."""
    reads = (t for t in op.reads() if isinstance(t.operand, Ref) and t.operand.tensor in tensors)
    return any(t.proxy is Proxy.GENERIC and not t.completion for t in reads)


def _scope(w: Site) -> str:
    return w.op.scope if isinstance(w.op, Wait) else ""


def _waits_for(w: Site, barrier: str) -> bool:
    return w.op.waits_for(barrier)
