"""An agent: the threads of a role of one CTA, in lockstep, running the operations of a kernel.

``run`` is a generator: it stops with ``Blocked`` where the agent cannot go on, and, where it is asked to, with None
after each operation. An instruction's effect is a row of ``effects.EFFECTS``, a function of the agent and the
operation. ``agent.value(expression)`` is an integer or an array with an entry for each active thread. ``agent.load``
and ``agent.store`` move bytes of these threads, and the codes that travel with them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..atoms import Completion, MemorySpace
from ..errors import ExecutionError, ExpressionError, LayoutError, TmaFault
from ..expr.compiled import value
from ..kernel import BLOCKS, KernelTensor
from ..kernel.unrolled import Places, unrolled
from ..kernel.visitor import Handlers, handler_of
from ..ops import Op, Ref, Slot
from .active import Active
from .fences import RegisterFences, expect_unused, touches
from .machine import Array, Cta, Reach
from .mbarrier import Mbarrier
from .order import GENERIC, Knowledge

NEVER = -1
NOWHERE: Places = ()  # before the first operation
MISTAKES = (LayoutError, ExpressionError, TmaFault, NotImplementedError, ZeroDivisionError)


@dataclass(frozen=True)
class Blocked:
    """The condition that an agent waits for, and its text."""

    ready: Callable[[], bool]
    told: Callable[[], str]


class Pending:
    """Asynchronous work in groups that its threads commit and wait for; see ``effects``."""

    def __init__(self, agent: Agent, op: Op) -> None:
        self.agent, self.op, self.told = agent, op, agent.told()
        self.threads = agent.active
        self.group = np.full(len(self.threads), -1)  # of each thread's commits; -1 before the commit
        self.done = np.zeros(len(self.threads), dtype=bool)

    @property
    def holds_shared(self) -> bool:
        """Whether it may still touch shared memory."""
        return not self.done.all()

    def read(self, which: Array) -> None:
        """The sources have been read by these of its threads."""

    def complete(self, which: Array) -> None:
        """All is done, for these of its threads."""


class Agent:
    """See the module. Threads are numbered within the CTA; ``thread`` counts from the first of the role."""

    def __init__(self, cta: Cta, name: str, first_warp: int, warps: int, pausing: bool = False) -> None:
        self.cta, self.machine, self.name, self.pausing = cta, cta.cluster.machine, name, pausing
        self.first, self.count = 32 * first_warp, 32 * warps
        self.first_warp, self.warps = first_warp, warps
        self.knows = Knowledge(cta.cluster.entries, cta.rank, first_warp, warps)
        self.op: Op | None = None  # the operation at hand
        self.pending: dict[str, list[Pending]] = {}
        self.commits: dict[str, Array] = {}
        self.registers: dict[str, tuple[Array, Array]] = {}
        self.cluster = np.full(self.count, NEVER)  # the meeting of the cluster at which each thread has arrived
        self.fences = RegisterFences(self.count) if self.machine.ordered and self.machine.fenced else None
        env = dict(zip(BLOCKS, cta.block, strict=False))
        alone = Active(env, np.arange(0), first=self.first, count=self.count)
        self._enter(alone.among(np.arange(self.machine.kernel.threads), 0))

    # -- who is here --------------------------------------------------------------------------------

    def _enter(self, here: Active) -> None:
        self.now = here
        self.base, self.active, self.env = here.base, here.active, here.values

    @property
    def here(self) -> Array:
        """The threads of the CTA that are here, those of other agents too, as they count."""
        return self.now.lanes - self.base

    @contextmanager
    def within(self, here: Active) -> Iterator[None]:
        """Inside, these threads are active."""
        before = self.now
        self._enter(here)
        try:
            yield
        finally:
            self._enter(before)

    def scope(self, base: int, here: Array) -> AbstractContextManager[None]:
        """Inside, these threads are active; they count from *base*."""
        return self.within(self.now.among(here + base, base))

    def define(self, name: str, found: Any) -> None:
        """A name for an integer, or for one of each active thread, until the body at hand is over."""
        if isinstance(found, np.ndarray):
            every = np.zeros(self.count, dtype=np.int64)
            every[self.active - self.first] = found
            self.now.found[name] = every
        else:
            self.now.found[name] = int(found)

    def told(self) -> str:
        """``CTA 3, role consumer, i = 2``."""
        at = "".join(f", {name} = {self.env[name]}" for name in self.now.indices)
        rank = f", rank {self.cta.rank}" if len(self.cta.cluster.ctas) > 1 else ""
        return f"{self.cta}{rank}{self.name and f', {self.name}'}{at}"

    def thread(self, i: Any) -> str:
        """``thread 5`` for the i-th active thread."""
        return f"thread {int(self.active[int(i)]) - self.base}"

    # -- running ------------------------------------------------------------------------------------

    def run(self, handlers: Handlers) -> Iterator[Blocked | None]:
        """All operations of the kernel, in order. Raises ExecutionError, which says what went wrong and where."""
        executions, last = unrolled(self.machine.kernel.body, self.now), NOWHERE
        while (found := self._next(executions)) is not None:
            places, self.op, here = found
            if self.pausing:
                yield from (None for _ in range(_ended(last, places)))
            last = places
            if here is not self.now:
                self._enter(here)
            if self.machine.log is not None:
                self.machine.log.note(self, self.op)
            try:
                steps = self._step(self.op, handlers)
                if steps is not None:
                    yield from steps
            except MISTAKES as e:
                raise self._mistake(e) from e
        if self.pausing:
            yield from (None for _ in last)

    def _next(self, executions: Iterator[tuple[Places, Op, Active]]) -> tuple[Places, Op, Active] | None:
        """The next execution, the first behind the operation at hand, or in it."""
        try:
            return next(executions, None)
        except MISTAKES as e:
            raise self._mistake(e) from e

    def _step(self, op: Op, handlers: Handlers) -> Iterator[Blocked | None] | None:
        for doubt in self.machine.doubts.get(id(op), ()):
            doubt.expect_fit(self.env)
        handler = handler_of(handlers, op)
        if handler is None:
            raise LayoutError(f"expected an operation that can be run, got a {type(op).__name__}")
        steps: Iterator[Blocked | None] | None = handler(self, op)
        return steps

    def _mistake(self, e: Exception) -> ExecutionError:
        kind, subject = getattr(e, "kind", ""), getattr(e, "subject", ())
        return ExecutionError.of(f"{self.told()}: {self.op}: {e}", kind, *subject)

    # -- values -------------------------------------------------------------------------------------

    def value(self, x: Any) -> Any:
        """An expression: an integer, or an array with an entry for each active thread."""
        return value(x, self.env)

    def values(self, x: Any) -> Array:
        """An expression for each active thread."""
        found = value(x, self.env)
        return found if isinstance(found, np.ndarray) else np.full(len(self.active), found, dtype=np.int64)

    def uniform(self, x: Any) -> int:
        """An expression that is the same for all active threads. Raises LayoutError where it is not."""
        return self.now.number(x)

    def grouped(self, *xs: Any) -> list[tuple[Array, tuple[int, ...]]]:
        """(threads, values of the expressions), for each combination of values that active threads have."""
        found = [self.value(x) for x in xs]
        if all(isinstance(x, int) for x in found):
            return [(self.active, tuple(found))]
        rows = np.stack([np.broadcast_to(x, self.active.shape) for x in found], axis=1)
        kinds, which = np.unique(rows, axis=0, return_inverse=True)
        return [(self.active[which.reshape(-1) == i], tuple(map(int, kind))) for i, kind in enumerate(kinds)]

    def mbarrier(self, slot: Slot, number: int, cta: Cta | None = None) -> Mbarrier:
        """The mbarrier of a slot in this CTA or another."""
        return (cta or self.cta).mbarrier(slot.barrier, number)

    # -- memory -------------------------------------------------------------------------------------

    def tensor(self, ref: Ref, space: MemorySpace | None = None) -> KernelTensor:
        """The tensor of a place. Raises LayoutError for one in another memory space."""
        tensor = self.machine.tensors.get(ref.tensor)
        if tensor is None:
            raise LayoutError(f"expected a tensor ({', '.join(self.machine.tensors)}), got {ref.tensor!r}")
        if space and tensor.space is not space:
            raise LayoutError(f"expected a tensor in {space} memory, got {tensor.space} {tensor.name}")
        return tensor

    def addresses(self, ref: Ref, nbytes: int, alignment: int = 1, used: Array | None = None) -> Array:
        """The bytes from a place on, a row for each active thread: in its tensor, for shared memory in the CTA's.

        The rows of threads whose bytes are not *used* mean nothing. Raises LayoutError for bytes outside the tensor and
        for misaligned ones.
        """
        tensor = self.tensor(ref)
        start, size = self.values(ref.offset) * tensor.dtype.bits // 8, self.machine.sizes[tensor.name]
        start = start if used is None else np.where(used, start, 0)
        if start.min() < 0 or start.max() + nbytes > size:
            i = np.flatnonzero((start < 0) | (start + nbytes > size))[0]
            raise LayoutError(
                f"{self.thread(i)} is out of bounds: expected bytes of 0 .. {size - 1} of {tensor.name}, "
                f"got {start[i]} .. {start[i] + nbytes - 1}"
            )
        start = start + tensor.base
        if alignment > 1 and (wrong := start % alignment).any():
            i = np.flatnonzero(wrong)[0]
            raise LayoutError(
                f"{self.thread(i)} is misaligned: expected an address of {tensor.name} that is a multiple of "
                f"{alignment} bytes, got {start[i]}"
            )
        return start[:, None] + np.arange(nbytes)

    def fragment(self, name: str) -> tuple[Array, Array]:
        """The registers of a name: (bytes, codes), a row for each thread of the agent."""
        if name not in self.registers:
            shape = self.count, int(self.machine.tensors[name].bytes)
            never = self.machine.code(f"{name} was never written there")
            self.registers[name] = np.zeros(shape, np.uint8), np.full(shape, never, dtype=np.uint8)
        return self.registers[name]

    @property
    def row(self) -> Array:
        """The row of each active thread's strand in ``knows``, as a column."""
        return self.knows.row(self.active)[:, None]

    def load(self, ref: Ref, nbytes: int, alignment: int = 1, proxy: str = GENERIC) -> tuple[Array, Array]:
        """(bytes, codes) of *nbytes* from a place on, a row for each active thread."""
        tensor = self.tensor(ref)
        if tensor.space is MemorySpace.REGISTER:
            data, codes = self.fragment(tensor.name)
            where = self._registers(tensor, ref, nbytes, alignment)
            return data[where].copy(), codes[where].copy()
        at = self.addresses(ref, nbytes, alignment)
        if tensor.space is MemorySpace.GLOBAL:
            memory = self.machine.memory[tensor.name]
            return memory.bytes[at], memory.codes[at]
        shared = self.cta.shared
        codes = shared.seen(at, self.knows, self.row, proxy)
        if shared.order is not None:
            shared.order.read(at, self.knows.entries.strand(self.active)[:, None], self.knows.epoch(self.row))
        return shared.bytes[at], codes

    def store(self, ref: Ref, data: Array, codes: Array, alignment: int = 1) -> None:
        """Put bytes from a place on, a row for each active thread. Raises LayoutError for poison in global memory."""
        tensor = self.tensor(ref)
        if tensor.space is MemorySpace.REGISTER:
            fragment = self.fragment(tensor.name)
            where = self._registers(tensor, ref, data.shape[1], alignment, writes=True)
            fragment[0][where], fragment[1][where] = data, codes
            return
        at = self.addresses(ref, data.shape[1], alignment)
        if tensor.space is MemorySpace.GLOBAL:
            self.expect_written(
                codes, lambda i, j: f"{self.thread(i)} puts poison into byte {at[i, j]} of {tensor.name}"
            )
            memory = self.machine.memory[tensor.name]
            memory.bytes[at] = data
            memory.wrote(at, self.machine.number(self.op))
        else:
            shared = self.cta.shared
            shared.expect_free(at, self.knows, self.row)
            shared.bytes[at], shared.codes[at] = data, codes
            if shared.order is not None:
                number = self.machine.number(self.op)
                shared.order.wrote(at, self.active[:, None], self.knows.epoch(self.row), number)

    def _registers(self, tensor: KernelTensor, ref: Ref, nbytes: int, alignment: int, writes: bool = False) -> Any:
        """The index of registers that other than wgmma use, a row for each active thread.

        Threads that follow one another, and use the same registers, have two slices as their index. Raises LayoutError
        for bytes outside the tensor, and for those that a wgmma uses that is under way.
        """
        fences = self.fences if touches(self.op) else None
        works = self.pending.get(Completion.WGMMA) if fences else None
        lane: Any = self.now.run
        at: Any = self._span(tensor, ref, nbytes, alignment)
        if at is None or lane is None or works:
            at, lane = self.addresses(ref, nbytes, alignment), (self.active - self.first)[:, None]
            expect_unused(tensor.name, writes, lane, at, works or ())
        if fences:
            fences.touch(tensor.name, self.machine.sizes[tensor.name], lane, at)
        return lane, at

    def _span(self, tensor: KernelTensor, ref: Ref, nbytes: int, alignment: int) -> slice | None:
        """The bytes from a place on, where they are the same of all active threads and may be used."""
        first = self.value(ref.offset)
        if not isinstance(first, int):
            return None
        first = first * tensor.dtype.bits // 8
        inside = 0 <= first <= self.machine.sizes[tensor.name] - nbytes
        return slice(first, first + nbytes) if inside and (first + tensor.base) % alignment == 0 else None

    def unfenced(self, ref: Ref, count: int) -> bool:
        """Whether active threads have touched *count* elements from a place on since their last fence wgmma."""
        if self.fences is None:
            return False
        at = self.addresses(ref, count * self.tensor(ref).dtype.bytes)
        lane = (self.active - self.first)[:, None]
        return bool(self.fences.touched(ref.tensor, self.machine.sizes[ref.tensor], lane, at).any())

    def expect_written(self, codes: Array, what: Callable[[int, int], str]) -> None:
        """Raise LayoutError for a byte that is poison."""
        if codes.any():
            i, j = (int(x[0]) for x in np.nonzero(codes))
            raise self.machine.poisoned(what(i, j), int(codes[i, j]))

    # -- order --------------------------------------------------------------------------------------

    def release(self, threads: Array, into: Array) -> None:
        if self.machine.ordered:
            self.knows.release(threads, into)

    def acquire(self, threads: Array, known: Array) -> None:
        if self.machine.ordered:
            self.knows.acquire(threads, known)

    def reach(self, rank: int, threads: Array, subject: str) -> None:
        """Note that threads touch memory or an mbarrier of a CTA of the cluster, if it is another one."""
        if self.machine.ordered and rank != self.cta.rank:
            rows = self.knows.rows_of(threads)
            peer, told = self.cta.cluster.cta(rank), f"{self.op} by {self.told()}"
            peer.reached.append(Reach(self.knows.own[rows], self.knows.epoch(rows), told, subject))

    def add(self, group: str, work: Pending) -> None:
        """Asynchronous work that a group of this kind will hold."""
        self.pending.setdefault(group, []).append(work)

    def commit(self, group: str) -> None:
        """The active threads commit what they issued."""
        commits, here = self._commits(group), self._here()
        for work in self.pending.get(group, ()):
            if work.group.min() < 0:
                lane = work.threads - self.first
                work.group = np.where(here[lane] & (work.group < 0), commits[lane], work.group)
        commits[self.active - self.first] += 1

    def wait_group(self, group: str, pending: int, read: bool) -> None:
        """The active threads wait until at most *pending* of their groups are under way, or still read."""
        commits, here = self._commits(group), self._here()
        for work in self.pending.get(group, ()):
            if read and not work.holds_shared:
                continue
            lane = work.threads - self.first
            due = (work.group >= 0) & (work.group < commits[lane] - pending) & here[lane] & ~work.done
            if due.any():
                (work.read if read else work.complete)(due)
        self.pending[group] = [w for w in self.pending.get(group, ()) if not w.done.all()]

    def _commits(self, group: str) -> Array:
        """The number of groups that each thread of the agent has committed."""
        return self.commits.setdefault(group, np.zeros(self.count, dtype=np.int64))

    def _here(self) -> Array:
        """Whether each thread of the agent is active."""
        here = np.zeros(self.count, dtype=bool)
        here[self.active - self.first] = True
        return here


def _ended(last: Places, now: Places) -> int:
    """The number of operations that are over when the one at *now* begins: the last one, unless it is inside, and
    those around.

    >>> _ended((1,), (1, 0)), _ended((1, 0), (1, 0)), _ended((1, 0, 3), (2,))
    (0, 1, 3)
    """
    same = 0
    for a, b in zip(last, now[:-1], strict=False):
        if a != b:
            break
        same += 1
    return len(last) - same
