"""The steps of each operation for an agent: a function of the two, which yields while the agent is blocked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from ..atoms import MemorySpace
from ..errors import DisorderError, LayoutError
from ..kernel.unrolled import firsts
from ..ops import (
    ELECTIONS,
    WARP,
    Arrive,
    Barrier,
    BarrierArrive,
    Box,
    ByAtom,
    ClusterArrive,
    ClusterBarrier,
    ClusterWait,
    Commit,
    Copy,
    CpAsyncArrive,
    Elect,
    ExpectTx,
    Fence,
    Fill,
    For,
    If,
    Init,
    Inval,
    Let,
    LoadIndex,
    Map,
    Mma,
    Param,
    PeerCopy,
    Prefetch,
    PrefetchL2,
    Reduce,
    Role,
    Shuffle,
    Wait,
    WaitGroup,
    WarpBarrier,
)
from .agent import NEVER, Agent, Blocked
from .bulk_copies import bulk_size, bulk_start
from .copies import each_thread, expect_loadable
from .cp_async import cp_async_arrive
from .effects import effect
from .machine import Meeting
from .maps import map_function
from .named_values import let, load_index
from .warps import reduce, shuffle

Steps = Iterator[Blocked | None]


# -- data -----------------------------------------------------------------------------------------------


def _instruction(agent: Agent, op: ByAtom) -> None:
    effect(op.atom)(agent, op)


def _map(agent: Agent, op: Map) -> None:
    """Elements of registers in, elements of registers out; poison in any source is poison in the result."""
    row, out = map_function(op.function), agent.tensor(op.dst, MemorySpace.REGISTER).dtype
    if len(op.srcs) != len(row.counts):
        raise LayoutError(f"expected {len(row.counts)} sources of {op.function}, got {len(op.srcs)}")
    if row.packed and op.count % 2:
        raise LayoutError(f"expected an even number of elements of {op.function}, two at once, got {op.count}")
    sources, poison = [], np.zeros((len(agent.active), op.count), dtype=np.uint8)
    for ref, count in zip(op.srcs, row.counts, strict=True):
        if isinstance(ref, Param):
            kind = agent.machine.kernel.parameter(ref.name).dtype
            sources.append((kind, np.broadcast_to(agent.machine.scalar(ref.name), (len(poison), count or op.count))))
            continue
        kind = agent.tensor(ref, MemorySpace.REGISTER).dtype
        data, codes = agent.load(ref, kind.bytes * (count or op.count))
        sources.append((kind, data.view(kind.numpy())))
        if codes.any():
            poison = np.maximum(poison, codes.reshape(len(codes), -1, kind.bytes).max(axis=2))
    result = row.result(sources, out, op.count)
    agent.store(op.dst, result.view(np.uint8), np.repeat(poison, out.bytes, axis=1))


def _fill(agent: Agent, op: Fill) -> None:
    kind = agent.tensor(op.dst).dtype
    one = np.full(op.count, op.value).astype(kind.numpy()).view(np.uint8)
    data = np.broadcast_to(one, (len(agent.active), len(one)))
    agent.store(op.dst, data, np.zeros(data.shape, dtype=np.uint8))


# -- order ----------------------------------------------------------------------------------------------


def _init(agent: Agent, op: Init) -> None:
    for _ in agent.active:
        agent.cta.init(op.array)


def _inval(agent: Agent, op: Inval) -> None:
    for _ in agent.active:
        agent.cta.inval(op.array)


def _prefetch(agent: Agent, op: Prefetch) -> None:
    """A hint."""


def _prefetch_l2(agent: Agent, op: PrefetchL2) -> None:
    """A hint, which changes no byte; what it asks for has to be legal."""
    for _ in each_thread(agent):
        if isinstance(op.src, Box):
            expect_loadable(agent, op.src)
        elif op.bytes is None:
            agent.addresses(op.src, agent.tensor(op.src, MemorySpace.GLOBAL).dtype.bytes)
        else:
            bulk_start(agent, op.src, MemorySpace.GLOBAL, bulk_size(agent, op.bytes))


def _arrive(agent: Agent, op: Arrive) -> None:
    peer = agent.cta.rank if op.peer is None else op.peer
    for threads, (slot, rank) in agent.grouped(op.barrier.slot, peer):
        barrier = agent.mbarrier(op.barrier, slot, agent.cta.cluster.cta(rank))
        agent.reach(rank, threads, op.barrier.barrier)
        while len(threads):  # the last that a phase awaits end it; others count for the next
            now, threads = np.split(threads, [max(1, barrier.pending // op.count)])
            agent.release(now, barrier.told)
            barrier.arrive(len(now), op.count, op.complete)


def _expect_tx(agent: Agent, op: ExpectTx) -> None:
    for threads, (slot, nbytes) in agent.grouped(op.barrier.slot, op.bytes):
        barrier = agent.mbarrier(op.barrier, slot)
        for thread in threads:
            agent.release(thread[None], barrier.told)
            barrier.expect_tx(nbytes)
            barrier.arrive(1)


def _wait(agent: Agent, op: Wait) -> Steps:
    for threads, (slot, parity) in agent.grouped(op.barrier.slot, op.parity):
        barrier = agent.mbarrier(op.barrier, slot)
        if not barrier.passes(parity):
            said = f"{agent.told()}: {op} (parity {parity}): {{}}"
            yield Blocked(lambda b=barrier, p=parity: b.passes(p), lambda b=barrier, s=said: s.format(b))  # type: ignore[misc]
        agent.acquire(threads, barrier.known)


def _barrier(agent: Agent, op: Barrier) -> Steps:
    return _meet(agent, agent.cta.meeting(op.number), op.threads or agent.machine.kernel.threads, str(op))


def _barrier_arrive(agent: Agent, op: BarrierArrive) -> None:
    meeting = agent.cta.meeting(op.number)
    agent.release(agent.active, meeting.told)
    meeting.arrive(len(agent.active), op.threads)


def _cluster_barrier(agent: Agent, op: ClusterBarrier) -> Steps:
    cluster = agent.cta.cluster
    if (agent.cluster[agent.active - agent.first] != NEVER).any():
        raise DisorderError("expected a cluster wait behind each arrival at the barrier of the cluster", "phase")
    return _meet(agent, cluster.meeting, agent.machine.kernel.threads * len(cluster.ctas), str(op))


def _cluster_arrive(agent: Agent, op: ClusterArrive) -> None:
    cluster, mine = agent.cta.cluster, agent.active - agent.first
    if (agent.cluster[mine] != NEVER).any():
        raise DisorderError("expected a cluster wait behind each arrival at the barrier of the cluster", "phase")
    agent.cluster[mine] = cluster.meeting.generation
    if not op.relaxed:
        agent.release(agent.active, cluster.meeting.told)
    cluster.meeting.arrive(len(agent.active), agent.machine.kernel.threads * len(cluster.ctas))


def _cluster_wait(agent: Agent, op: ClusterWait) -> Steps:
    meeting, mine = agent.cta.cluster.meeting, agent.active - agent.first
    if (agent.cluster[mine] == NEVER).any():
        raise DisorderError("expected an arrival at the barrier of the cluster before a wait for it", "phase")
    last = int(agent.cluster[mine].max())
    if meeting.generation <= last:
        told = agent.told()
        yield Blocked(lambda: meeting.generation > last, lambda: f"{told}: {op}: {meeting}")
    agent.acquire(agent.active, meeting.known)
    agent.cluster[mine] = NEVER


def _warp_barrier(agent: Agent, op: WarpBarrier) -> None:
    """Knowledge of one lane becomes that of all lanes of its warp that are here."""
    if agent.machine.ordered:
        agent.knows.meet(agent.active)


def _meet(agent: Agent, meeting: Meeting, count: int, op: str) -> Steps:
    before = meeting.generation
    agent.release(agent.active, meeting.told)
    meeting.arrive(len(agent.active), count)
    if meeting.generation > before and count > len(agent.active):
        yield Blocked(lambda: True, agent.told)  # those who came first go on first
    if meeting.generation == before:
        told = agent.told()
        yield Blocked(lambda: meeting.generation > before, lambda: f"{told}: {op}: {meeting}")
    agent.acquire(agent.active, meeting.known)


def _fence(agent: Agent, op: Fence) -> None:
    if op.about == "async" and agent.machine.ordered:
        agent.knows.fence(agent.active)
    if op.about == "wgmma" and agent.fences is not None:
        agent.fences.fence(agent.active - agent.first)


def _commit(agent: Agent, op: Commit) -> None:
    agent.commit(op.group)


def _wait_group(agent: Agent, op: WaitGroup) -> None:
    agent.wait_group(op.group, op.pending, op.read)


# -- structure ------------------------------------------------------------------------------------------


def _around(agent: Agent, op: For | If | Role) -> None:
    """The executor goes inside, with those who do (``kernel.unrolled``)."""


def _elect(agent: Agent, op: Elect) -> None:
    """All lanes of a warp come to ``elect.sync``: of some of them none need be elected (PTX ISA, elect.sync).

    Raises LayoutError where only some lanes of a warp are here.
    """
    if op.by != ELECTIONS[0]:
        return
    here = agent.here + agent.base
    at = firsts(here)
    lanes = np.append(at[1:], len(here)) - at
    for first, count in zip(at, lanes, strict=True) if op.each_warp else [(at[0], lanes[0])]:
        if count != WARP:
            raise LayoutError(f"expected all {WARP} lanes of warp {here[first] // WARP} at elect.sync, got {count}")


STEPS: Mapping[type, Callable[[Agent, Any], Steps | None]] = {
    **{
        Copy: _instruction,
        Mma: _instruction,
        PeerCopy: _instruction,
        Map: _map,
        Fill: _fill,
        Shuffle: shuffle,
        Reduce: reduce,
    },
    **{Let: let, LoadIndex: load_index},
    **{Prefetch: _prefetch, PrefetchL2: _prefetch_l2, Init: _init, Inval: _inval},
    **{Arrive: _arrive, ExpectTx: _expect_tx, Wait: _wait, Barrier: _barrier, ClusterBarrier: _cluster_barrier},
    **{ClusterArrive: _cluster_arrive, ClusterWait: _cluster_wait},
    **{CpAsyncArrive: cp_async_arrive, WarpBarrier: _warp_barrier, BarrierArrive: _barrier_arrive},
    **{Fence: _fence, Commit: _commit, WaitGroup: _wait_group},
    **dict.fromkeys((For, If, Role), _around),
    Elect: _elect,
}
