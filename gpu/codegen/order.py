"""Operations that order others as C++: mbarriers, barriers, fences, and groups of asynchronous operations."""

from __future__ import annotations

from symlayout.atoms.access import Completion
from symlayout.kernel.sites import Site
from symlayout.ops import (
    SCOPES,
    Arrive,
    Barrier,
    BarrierArrive,
    ClusterArrive,
    Commit,
    CpAsyncArrive,
    ExpectTx,
    Fence,
    Init,
    Inval,
    Mma,
    Prefetch,
    Wait,
    WaitGroup,
)

from .page import Page

FENCES = {"async": "fence_proxy_async", "mbarrier_init": "fence_mbarrier_init", "wgmma": "wgmma_fence"}
GROUPS = {"cp.async": "cp_async", "bulk": "bulk", "wgmma": "wgmma"}


def init(p: Page, site: Site) -> None:
    """mbarrier.init of each mbarrier of an array."""
    op = site.op
    assert isinstance(op, Init)
    b = p.kernel.barrier(op.array)
    if b.slots == 1:
        p.call("mbarrier_init", b.name, b.arrivals)
    else:
        p.line(f"for (int i = 0; i < {b.slots}; ++i) mbarrier_init({b.name} + i, {b.arrivals});")


def inval(p: Page, site: Site) -> None:
    """mbarrier.inval of each mbarrier of an array."""
    op = site.op
    assert isinstance(op, Inval)
    b = p.kernel.barrier(op.array)
    if b.slots == 1:
        p.call("mbarrier_inval", b.name)
    else:
        p.line(f"for (int i = 0; i < {b.slots}; ++i) mbarrier_inval({b.name} + i);")


def prefetch(p: Page, site: Site) -> None:
    op = site.op
    assert isinstance(op, Prefetch)
    p.call("prefetch_tensormap", op.tensor_map)


def arrive(p: Page, site: Site) -> None:
    """An arrival here, or at the same mbarrier of another CTA of the cluster."""
    op = site.op
    assert isinstance(op, Arrive)
    peer = () if op.peer is None else (p.c(op.peer),)
    if not op.complete:
        p.call("mbarrier_arrive_no_complete", p.slot(op.barrier), str(op.count))
        return
    times = () if op.count == 1 else (str(op.count),)
    name = f"mbarrier_arrive{'_at' if peer else ''}{'_times' if times else ''}{_scope(op.scope)}"
    p.call(name, p.slot(op.barrier), *peer, *times)


def cp_async_arrive(p: Page, site: Site) -> None:
    op = site.op
    assert isinstance(op, CpAsyncArrive)
    p.call(f"cp_async_mbarrier_arrive{'_noinc' if op.noinc else ''}", p.slot(op.barrier))


def expect_tx(p: Page, site: Site) -> None:
    op = site.op
    assert isinstance(op, ExpectTx)
    p.call("mbarrier_arrive_expect_tx", p.slot(op.barrier), p.c(op.bytes))


def wait(p: Page, site: Site) -> None:
    op = site.op
    assert isinstance(op, Wait)
    by, how = ("", ()) if op.suspend_ns is None else ("_by_tries", (f"{op.suspend_ns}u",))
    p.call(f"mbarrier_wait{by}{_scope(op.scope)}", p.slot(op.barrier), p.c(op.parity), *how)


def _scope(scope: str) -> str:
    """How a function is named that releases or acquires at a scope; without one in its text PTX takes the CTA's."""
    return "" if scope == SCOPES[0] else f"_{scope}"


def barrier(p: Page, site: Site) -> None:
    """``__syncthreads`` where all threads of the CTA meet at barrier 0."""
    op = site.op
    assert isinstance(op, Barrier)
    if op.number == 0 and op.threads in (0, p.kernel.threads):
        p.call("__syncthreads")
    else:
        p.call("barrier_sync", op.number, op.threads or p.kernel.threads)


def barrier_arrive(p: Page, site: Site) -> None:
    op = site.op
    assert isinstance(op, BarrierArrive)
    p.call("barrier_arrive", op.number, op.threads)


def warp_barrier(p: Page, site: Site) -> None:
    p.call("__syncwarp")


def cluster_barrier(p: Page, site: Site) -> None:
    p.call("cluster_sync")


def cluster_arrive(p: Page, site: Site) -> None:
    op = site.op
    assert isinstance(op, ClusterArrive)
    p.call(f"cluster_arrive{'_relaxed' if op.relaxed else ''}")


def cluster_wait(p: Page, site: Site) -> None:
    p.call("cluster_wait")


def fence(p: Page, site: Site) -> None:
    op = site.op
    assert isinstance(op, Fence)
    p.call(FENCES[op.about])


def commit(p: Page, site: Site) -> None:
    op = site.op
    assert isinstance(op, Commit)
    p.call(f"{GROUPS[op.group]}_commit_group")


def wait_group(p: Page, site: Site) -> None:
    """Behind the last wait for wgmmas the compiler may read their sums, and not before."""
    op = site.op
    assert isinstance(op, WaitGroup)
    p.call(f"{GROUPS[op.group]}_wait_group{'_read' if op.read else ''}", template=f"<{op.pending}>")
    if op.group == Completion.WGMMA and op.pending == 0:
        sums = (o.acc.tensor for o in p.kernel.walk() if isinstance(o, Mma) and o.completion is Completion.WGMMA)
        for name in dict.fromkeys(sums):
            p.call("settled", p.sums(name))
