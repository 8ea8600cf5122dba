"""The synchronisation that two accesses to shared memory need, and how much of it a path has met.

An asynchronous access is over after commit and wait_group by its threads; other threads follow at a barrier of both,
those of the same warp at that of the warp. What threads wrote is there for the async proxy after a fence by them, or by
threads that have met them since: it stands anywhere on the way (PTX ISA, Causality order).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from symlayout.atoms import Completion
from symlayout.kernel.sites import Site, Team, everyone
from symlayout.ops import (
    Arrive,
    Barrier,
    ClusterBarrier,
    ClusterWait,
    Commit,
    CpAsyncArrive,
    ExpectTx,
    Fence,
    Op,
    Wait,
    WaitGroup,
    WarpBarrier,
)

from .barriers import Meeting, number_of
from .shared_accesses import Access, covers, may_cover

NOBODY: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Progress:
    """The progress of a path from an access: groups committed since, and the threads that know that it is over."""

    commits: int = 0
    done: bool = False
    fenced: bool = False
    met: frozenset[int] = NOBODY
    met_fenced: frozenset[int] = NOBODY  # at a barrier after the fence
    warp: bool = False  # a barrier of each warp
    warp_fenced: bool = False
    fencing: frozenset[Team] = frozenset()  # who fenced after they met all threads of the access
    warp_fencing: frozenset[Team] = frozenset()  # who fenced after a barrier of their warp
    arrived: bool = False  # at some mbarrier; of runs only
    spared: bool = False  # an elected thread did what others did not; of runs only
    others: frozenset[int] = NOBODY  # threads by which the access is ordered further; of runs only


def begin(a: Access) -> Progress:
    return Progress(done=not a.group)


def ended(op: Op, a: Access, commits: int) -> bool:
    """Whether an operation waits for the group of an access after which so many were committed."""
    mine = isinstance(op, WaitGroup) and op.group == a.group and (a.kind == "read" or not op.read)
    return mine and commits > op.pending  # type: ignore[attr-defined]  # a wait


def surely(p: Progress, s: Site, a: Access, most: int, found: Mapping[int, Meeting]) -> Progress:
    """The progress behind an operation, by what is certain; commits are counted up to *most*."""
    op = s.op
    if isinstance(op, Commit) and op.group == a.group and covers(s, a):
        return replace(p, commits=min(p.commits + 1, most))
    if not p.done:
        return replace(p, done=True) if ended(op, a, p.commits) and covers(s, a) else p
    if isinstance(op, Fence) and op.about == "async":
        return _fenced(p, s, a)
    warps = a.team.warps
    if isinstance(op, WarpBarrier) and s.team is not None and s.team.lanes == 32 and s.team.warps >= warps:
        return replace(p, warp=True, warp_fenced=p.warp_fenced or p.fenced)
    meets = isinstance(op, Barrier | ClusterBarrier) and found and found[number_of(op)].sound
    if meets and s.team is not None and s.team.lanes == 32 and s.team.warps >= warps:
        told = p.fenced or any(s.team.includes(t) for t in p.fencing)
        fenced = s.team.warps if told else NOBODY
        p = replace(p, met=p.met | s.team.warps, met_fenced=p.met_fenced | fenced)
        return replace(p, warp=True, warp_fenced=p.warp_fenced or p.fenced)
    return p


def _fenced(p: Progress, s: Site, a: Access) -> Progress:
    """The progress behind a fence: by the threads of the access, or by some that know that it is over."""
    if covers(s, a):
        p = replace(p, fenced=True)
    if s.team is not None and s.team.warps <= p.met:
        p = replace(p, fencing=p.fencing | {s.team})
    if s.team is not None and s.team.warps <= a.team.warps and p.warp:
        p = replace(p, warp_fencing=p.warp_fencing | {s.team})
    return p


def perhaps(p: Progress, s: Site, a: Access, b: Access) -> Progress:
    """The progress of a run after an operation, with every possible order: what it misses is certainly missing."""
    op = s.op
    if isinstance(op, Fence) and op.about == "async" and p.done and (p.met or p.warp) and may_cover(s, b):
        return replace(p, fenced=True, met_fenced=p.met, warp_fenced=p.warp)
    mine = may_cover(s, a)
    if mine and _ends(op, a):
        left = remaining(p, a)
        mine = not left.isdisjoint(s.candidates)
        if left - s.candidates and mine:  # the access by any other thread misses it
            return replace(p, others=p.others | s.candidates)
        elected = s.team is not None and s.team.lanes == 1 and not s.team.chosen and a.team.lanes == 32
        if mine and elected:
            return replace(p, spared=True)
    if mine and isinstance(op, Commit) and op.group == a.group:
        return replace(p, commits=p.commits + 1)
    if mine and ended(op, a, p.commits):
        return replace(p, done=True)
    if mine and p.done and isinstance(op, Fence) and op.about == "async":
        return replace(p, fenced=True)
    if isinstance(op, WarpBarrier) and p.done:
        return replace(p, warp=True, warp_fenced=p.warp_fenced or p.fenced)
    if mine and isinstance(op, Arrive | ExpectTx | CpAsyncArrive):
        tracked = isinstance(op, CpAsyncArrive) and a.group is Completion.CP_ASYNC
        return replace(p, arrived=p.arrived or p.done or tracked)
    meets = isinstance(op, Wait) and p.arrived and may_cover(s, b)
    if meets:
        p = replace(p, done=True)
    if isinstance(op, Barrier | ClusterBarrier | ClusterWait) and (mine or may_cover(s, b)):
        meets = True
    if meets and p.done:
        all_ = everyone(b.site).warps
        return replace(p, met=all_, met_fenced=all_ if p.fenced else p.met_fenced)
    return p


def _ends(op: Op, a: Access) -> bool:
    """Whether an operation helps to end an access, or fences it."""
    return op.about == "async" if isinstance(op, Fence) else isinstance(op, Commit | WaitGroup) and op.group == a.group


def remaining(p: Progress, a: Access) -> frozenset[int]:
    """The threads whose access misses what the progress misses: never none."""
    return a.site.candidates - p.others


def needs_fence(a: Access, b: Access) -> bool:
    return a.kind == "write" and b.proxy == "async"


def lacking(p: Progress, a: Access, b: Access, how: str) -> str:
    """The missing ones of "done", "fence" and "barrier" between accesses that meet in a way of ``footprints.KINDS``."""
    fenced = needs_fence(a, b)
    if how == "apart":
        return ""
    if not p.done:
        return "done"
    after = p.fencing | p.warp_fencing if how == "in a warp" else p.fencing
    if fenced and any(t.includes(b.team) for t in after):
        return ""
    if fenced and not p.fenced:
        return "fence"
    if how == "same thread" or b.team.warps <= (p.met_fenced if fenced else p.met):
        return ""
    return "" if how == "in a warp" and (p.warp_fenced if fenced else p.warp) else "barrier"
