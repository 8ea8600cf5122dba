"""An agent: the threads of a role of one CTA, in lockstep, running the operations of a kernel.

``run`` is a generator: it stops with ``Blocked`` where the agent cannot go on, and, where it is asked to, with None
after each operation. What an instruction does is a row of ``effects.EFFECTS``, given the agent and the operation:
``agent.value(expression)`` is an integer or an array with an entry for each thread that is active, ``agent.load`` and
``agent.store`` move bytes of these threads, and the codes that travel with them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..atoms import Completion, MemorySpace
from ..errors import ExecutionError, ExpressionError, LayoutError, TmaFault
from ..expr.compiled import holds, value
from ..kernel import KernelTensor
from ..ops import Op, Ref, Slot
from .fences import RegisterFences, expect_unused, touches
from .machine import Array, Cta
from .mbarrier import Mbarrier
from .order import GENERIC, Knowledge

MISTAKES = (LayoutError, ExpressionError, TmaFault, NotImplementedError, ZeroDivisionError)


@dataclass(frozen=True)
class Blocked:
    """What an agent waits for, and how to say it."""

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
        self.env: dict[str, Any] = {f"block_{axis}": b for axis, b in zip("xyz", cta.block, strict=False)}
        self.indices: list[str] = []  # of the loops around
        self.named: dict[str, Any] = {}  # values with a name: an integer, or one for each thread of the agent
        self.op: Op | None = None  # the operation at hand
        self.pending: dict[str, list[Pending]] = {}
        self.commits: dict[str, Array] = {}
        self.registers: dict[str, tuple[Array, Array]] = {}
        self.fences = RegisterFences(self.count) if self.machine.ordered and self.machine.fenced else None
        self._enter(0, np.arange(self.machine.kernel.threads))

    # -- who is here --------------------------------------------------------------------------------

    def _enter(self, base: int, here: Array) -> None:
        self.base, self.here = base, here
        threads = here + base
        self.active = threads[(threads >= self.first) & (threads < self.first + self.count)]
        self.env["thread"] = self.active - base
        for name, found in self.named.items():
            self.env[name] = found[self.active - self.first] if isinstance(found, np.ndarray) else found

    @contextmanager
    def scope(self, base: int, here: Array) -> Iterator[None]:
        """The operations inside by these threads, which count from *base*."""
        before = self.base, self.here
        self._enter(base, here)
        try:
            yield
        finally:
            self._enter(*before)

    def where(self, facts: tuple[Any, ...]) -> Array:
        """Which threads that are here meet all facts."""
        env = {**self.env, "thread": self.here}
        if len(self.here) != len(self.active):
            self._expect_uniform(facts)
        keep = np.ones(len(self.here), dtype=bool)
        for fact in facts:
            keep &= holds(fact, env)
        return self.here[keep]

    def _expect_uniform(self, facts: tuple[Any, ...]) -> None:
        """Raise LayoutError for facts about values that threads of other agents have loaded for themselves."""
        for name in (s.name for fact in facts for s in fact.symbols):
            if isinstance(self.named.get(name), np.ndarray):
                raise LayoutError(f"expected {name} inside one role, since it may differ from thread to thread")

    def define(self, name: str, found: Any) -> None:
        """A name for an integer, or for one of each active thread, until the body at hand is over."""
        if isinstance(found, np.ndarray):
            every = np.zeros(self.count, dtype=np.int64)
            every[self.active - self.first] = found
            self.named[name], self.env[name] = every, found
        else:
            self.named[name] = self.env[name] = int(found)

    def _forget(self, known: set[str]) -> None:
        """Only these names are left."""
        for name in self.named.keys() - known:
            del self.named[name], self.env[name]

    def told(self) -> str:
        """``CTA 3, role consumer, i = 2``."""
        at = "".join(f", {name} = {self.env[name]}" for name in self.indices)
        return f"{self.cta}{self.name and f', {self.name}'}{at}"

    def thread(self, i: Any) -> str:
        """``thread 5`` for the i-th active thread."""
        return f"thread {int(self.active[int(i)]) - self.base}"

    # -- running ------------------------------------------------------------------------------------

    def run(self, ops: tuple[Op, ...]) -> Iterator[Blocked | None]:
        """The operations in order. Raises ExecutionError, which says what went wrong and where."""
        from .op_steps import STEPS

        known = set(self.named)
        for op in ops:
            if not len(self.active):
                break
            self.op = op
            try:
                for doubt in self.machine.doubts.get(id(op), ()):
                    doubt.expect_fit(self.env)
                if type(op) not in STEPS:
                    raise LayoutError(f"expected an operation that can be run, got a {type(op).__name__}")
                step = STEPS[type(op)](self, op)
                if step is not None:
                    yield from step
            except MISTAKES as e:
                raise ExecutionError(f"{self.told()}: {op}: {e}") from e
            if self.pausing:
                yield None
        self._forget(known)

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
        found = value(x, self.env)
        if not isinstance(found, np.ndarray):
            return int(found)
        found = np.unique(found)
        if len(found) != 1:
            raise LayoutError(f"expected one value of {x} for all threads, got {found[0]} and {found[1]}")
        return int(found[0])

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

    def addresses(self, ref: Ref, nbytes: int, alignment: int = 1) -> Array:
        """The bytes from a place on, a row for each active thread: in its tensor, for shared memory in the CTA's.

        Raises LayoutError for bytes outside the tensor and for misaligned ones.
        """
        tensor = self.tensor(ref)
        start, size = self.values(ref.offset) * tensor.dtype.bits // 8, self.machine.sizes[tensor.name]
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
        tensor, at = self.tensor(ref), self.addresses(ref, nbytes, alignment)
        if tensor.space is MemorySpace.REGISTER:
            data, codes = self.fragment(tensor.name)
            lane = (self.active - self.first)[:, None]
            self._touch(tensor.name, lane, at)
            return data[lane, at], codes[lane, at]
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
        tensor, at = self.tensor(ref), self.addresses(ref, data.shape[1], alignment)
        if tensor.space is MemorySpace.REGISTER:
            fragment = self.fragment(tensor.name)
            lane = (self.active - self.first)[:, None]
            self._touch(tensor.name, lane, at, writes=True)
            fragment[0][lane, at], fragment[1][lane, at] = data, codes
        elif tensor.space is MemorySpace.GLOBAL:
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

    def _touch(self, name: str, lane: Array, at: Array, writes: bool = False) -> None:
        """Registers are used by other than wgmma. Raises LayoutError for those of one that is under way."""
        if self.fences is not None and touches(self.op):
            expect_unused(name, writes, lane, at, self.pending.get(Completion.WGMMA, ()))
            self.fences.touch(name, self.machine.sizes[name], lane, at)

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
            raise LayoutError(f"{what(i, j)}: {self.machine.reasons[codes[i, j]]}")

    # -- order --------------------------------------------------------------------------------------

    def release(self, threads: Array, into: Array) -> None:
        if self.machine.ordered:
            self.knows.release(threads, into)

    def acquire(self, threads: Array, known: Array) -> None:
        if self.machine.ordered:
            self.knows.acquire(threads, known)

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
        """How often each thread of the agent has committed."""
        return self.commits.setdefault(group, np.zeros(self.count, dtype=np.int64))

    def _here(self) -> Array:
        """Whether each thread of the agent is active."""
        here = np.zeros(self.count, dtype=bool)
        here[self.active - self.first] = True
        return here
