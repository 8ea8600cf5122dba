"""cp.async: copies of each thread into shared memory, over with a group that it waits for, or told by an mbarrier."""

from __future__ import annotations

import numpy as np

from ..atoms import ATOMS, Completion, MemorySpace, atom
from ..errors import ExecutionError
from ..expr.compiled import holds
from ..ops import Copy, CpAsyncArrive, Op
from .agent import MISTAKES, Agent, Pending
from .copies import place
from .effects import EFFECTS
from .machine import Array, GlobalTensor
from .mbarrier import Mbarrier
from .order import UNFINISHED


class AsyncCopy(Pending):
    """cp.async: what the active threads have asked for; its writes are theirs, through the generic proxy."""

    def __init__(self, agent: Agent, op: Copy, source: GlobalTensor, src: Array, dst: Array, read: Array) -> None:
        super().__init__(agent, op)
        self.source, self.src, self.dst, self.read_by = source, src, dst, read
        self.shared, self.number = agent.cta.shared, agent.machine.number(op)
        self.phase = np.zeros((len(self.threads), 2), dtype=np.int64)  # entry and number of that with which it landed
        if self.shared.order is not None:
            self.shared.expect_free(dst, agent.knows, agent.row)
            self.shared.codes[dst] = agent.machine.disorder(f"{op} was under way")
            self.shared.order.wrote(dst, self.threads[:, None], UNFINISHED, self.number)
        self.moved = not agent.machine.late()
        if self.moved:
            self.data = source.bytes[src]

    def complete(self, which: Array) -> None:
        dst = self._put(which)
        if self.shared.order is not None:
            row = self.agent.knows.row(self.threads[which])[:, None]
            self.shared.order.wrote(dst, self.threads[which][:, None], self.agent.knows.epoch(row), self.number)

    def land(self, which: Array, barrier: Mbarrier) -> None:
        """The bytes are there for those who know that the running phase of an mbarrier is over."""
        dst, entries = self._put(which), self.agent.knows.entries
        if self.shared.order is not None:
            slot = barrier.component - entries.slot(self.agent.cta.rank, 0)
            self.shared.order.wrote(
                dst, self.shared.order.threads + entries.slots + slot, barrier.phase + 1, self.number
            )
            self.phase[which] = barrier.component, barrier.phase + 1

    def _put(self, which: Array) -> Array:
        """Write the bytes of some threads, and say where."""
        src, dst, read = self.src[which], self.dst[which], self.read_by[which][:, None]
        self.shared.bytes[dst] = np.where(read, self.data[which] if self.moved else self.source.bytes[src], 0)
        self.shared.codes[dst] = np.where(read, self.source.codes[src], 0)
        self.done |= which
        return dst


def cp_async(agent: Agent, op: Copy) -> None:
    n = atom(op.atom).bytes
    src, dst = place(op.src), place(op.dst)
    source = agent.machine.memory[agent.tensor(src, MemorySpace.GLOBAL).name]
    agent.tensor(dst, MemorySpace.SHARED)
    read = np.ones(len(agent.active), dtype=bool)
    for fact in op.when:
        read &= holds(fact, agent.env)
    work = AsyncCopy(agent, op, source, agent.addresses(src, n, n, read), agent.addresses(dst, n, n), read)
    if agent.machine.ordered:
        agent.add(Completion.CP_ASYNC, work)
    else:
        work.complete(~work.done)


class AsyncArrival:
    """The arrival of a thread at an mbarrier once what it has copied so far has landed: it tells of that alone."""

    def __init__(self, agent: Agent, op: Op, thread: int, barrier: Mbarrier) -> None:
        self.agent, self.cta, self.op, self.told = agent, agent.cta, op, agent.told()
        self.thread, self.barrier = thread, barrier
        works = agent.pending.get(Completion.CP_ASYNC, ())
        self.works = [(w, w.threads == thread) for w in works if isinstance(w, AsyncCopy) and thread in w.threads]
        flying = agent.machine.flying  # of this thread, whose copies are over before
        self.before = [f for f in flying if isinstance(f, AsyncArrival) and (f.agent, f.thread) == (agent, thread)]

    def step(self) -> bool:
        """Land, and arrive."""
        flying = self.agent.machine.flying
        for earlier in self.before:
            if earlier in flying:
                earlier.step()
                flying.remove(earlier)
        try:
            for work, mine in self.works:
                if (mine & work.done).any():
                    self._tell(work, mine)
                else:
                    work.land(mine, self.barrier)
            self.barrier.arrive(1)
        except MISTAKES as e:
            raise ExecutionError.of(f"{self.told}: {self.op}: {e}", getattr(e, "kind", ""), self.name) from e
        return True

    def _tell(self, work: AsyncCopy, mine: Array) -> None:
        """Let the barrier know of a copy that was over before: by a wait_group, or with an arrival."""
        if self.agent.machine.ordered:
            entry, phase = work.phase[mine][0]
            if phase:
                self.barrier.told[entry] = max(self.barrier.told[entry], phase)
            else:
                self.agent.knows.release(np.array([self.thread]), self.barrier.told)

    @property
    def name(self) -> str:
        return self.barrier.name.partition("[")[0]


def cp_async_arrive(agent: Agent, op: CpAsyncArrive) -> None:
    """Each active thread arrives when its copies have landed, which may be later."""
    for threads, (slot,) in agent.grouped(op.barrier.slot):
        barrier = agent.mbarrier(op.barrier, slot)
        for thread in threads:
            arrival = AsyncArrival(agent, op, int(thread), barrier)
            if not op.noinc:
                barrier.await_more()
            if agent.machine.late():
                agent.machine.flying.append(arrival)
            else:
                arrival.step()


EFFECTS.update({row.word: cp_async for row in ATOMS.values() if row.completion is Completion.CP_ASYNC})
