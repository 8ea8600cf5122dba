"""Every access to a tensor of a bound kernel, on plain integers, and two that race if there are such.

    >>> from symlayout import Layout
    >>> from symlayout.kernel import Builder
    >>> k = Builder("shift", grid=(1,), threads=64)
    >>> a, x = k.global_tensor("a", "f32", Layout(65)), k.registers("x", "f32", 1)
    >>> k.copy("ld.global.4", a(k.thread + 1), x())
    >>> k.copy("st.global.4", x(), a(k.thread))
    >>> for part in Run(k.kernel(), "a").race().split(": "):
    ...     print(part)
    element 1 of a
    ld.global.4 a[thread + 1] -> x by CTA 0, thread 0 and st.global.4 x -> a[thread] by CTA 0, thread 1
    neither thread waits for the other between

Nothing of the proofs is in it. Threads of different CTAs never wait for each other. A thread's history is the list of
barriers and waits that it has executed. An event that lets one of two threads continue is over before the other
continues too. So between places of one history neither has waited for the other.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from symlayout.atoms import AccessKind, Completion, MemorySpace, Proxy, Reduction
from symlayout.errors import ExpressionError, InternalError
from symlayout.expr import Fact, evaluate
from symlayout.int_tuple import text
from symlayout.kernel import BLOCKS, THREAD, Kernel
from symlayout.kernel.unrolled import Array, Threads, unrolled
from symlayout.ops import (
    GROUPS,
    WARP,
    Arrive,
    Barrier,
    Box,
    ClusterBarrier,
    ClusterWait,
    Commit,
    CpAsyncArrive,
    ExpectTx,
    Fence,
    LoadIndex,
    Op,
    Ref,
    Touch,
    Wait,
    WaitGroup,
    WarpBarrier,
)

from ..claim import TooLarge
from .global_accesses import typed

ROWS = 1 << 15  # accesses to elements that are looked at
STEPS = 1 << 14  # operations of a CTA
LEARN = (
    Barrier,
    WarpBarrier,
    ClusterBarrier,
    ClusterWait,
    Wait,
)  # by which a thread comes behind what others have done
MEETING = (*LEARN, Arrive, CpAsyncArrive, ExpectTx)
EACH = 48  # accesses to one element that are compared in pairs, whose number is a square
PRIME = (1 << 31) - 1


@dataclass(frozen=True)
class Execution:
    """One execution of an operation by one thread, where it touches a tensor."""

    op: Op
    touch: Touch
    reduction: Reduction | None  # with its type
    cta: tuple[int, ...]
    thread: int  # of the CTA
    env: dict[str, int]
    history: int  # of the barriers and waits that the thread has executed
    committed: dict[str, int]  # how many groups the thread has committed
    ended: dict[str, int]  # how many of them it has waited for, and how many fences it has executed
    when: int  # the place in the order in which the CTA's operations were looked at
    role: int  # its first thread

    @property
    def kind(self) -> AccessKind:
        return self.touch.kind

    @property
    def group(self) -> Completion:
        return self.touch.completion

    @property
    def proxy(self) -> Proxy:
        return self.touch.proxy

    def __str__(self) -> str:
        block = text(self.cta[0] if len(self.cta) == 1 else self.cta)
        shown = {k: v for k, v in self.env.items() if k not in (THREAD, *BLOCKS)}
        at = "".join(f", {name} = {n}" for name, n in shown.items())
        return f"{self.op} by CTA {block}, thread {self.thread}{at}"


@dataclass(frozen=True)
class _Threads(Threads):
    """Threads of a CTA whose values are not known as numbers, or too many."""

    lows: dict[int, int] = field(default_factory=dict)  # of contracts, by operation

    def of(self, x: Any) -> Any:
        try:
            return super().of(x)
        except ExpressionError as e:
            raise TooLarge(str(e)) from e

    def number(self, x: Any) -> int:
        found = np.unique(np.asarray(self.of(x)))
        if len(found) != 1:
            raise TooLarge(f"{x} is another for each thread")
        return int(found[0])

    def meeting(self, facts: tuple[Fact, ...]) -> Array:
        try:
            return super().meeting(facts)
        except ExpressionError as e:
            raise TooLarge(str(e)) from e

    def after(self, op: Op) -> _Threads:
        if not isinstance(op, LoadIndex):
            return self
        return replace(self, env={**self.env, op.name.name: self._least(op)})

    def _least(self, op: LoadIndex) -> int:
        """The least value of a contract: a table that holds it everywhere keeps the contract."""
        low, high = (np.asarray(self.of(x)) for x in (op.name.lower, op.name.upper))
        first = self.lows.setdefault(id(op), int(low.min()))
        if (low != first).any() or (high < first).any():
            raise TooLarge(f"the contract of {op.name} differs between threads or iterations, or no value meets it")
        return first


@dataclass
class Run:
    """All accesses to a tensor, and to those that may be at its address. Raises TooLarge for what is too much."""

    kernel: Kernel
    tensor: str
    touches: dict[int, list[Execution]] = field(default_factory=dict)  # by element
    silent: dict[tuple[int, ...], set[int]] = field(default_factory=dict)  # threads that meet no others, by CTA

    def __post_init__(self) -> None:
        self.kernel = self.kernel.plain
        self.names = {self.tensor, *self.kernel.aliases(self.tensor)}
        if len({self.kernel.tensor(name).dtype.bits for name in self.names}) > 1:
            raise TooLarge("tensors of elements of different sizes may be at one address")
        if any(self.kernel.tensor(name).dtype.bits % 8 for name in self.names):
            raise TooLarge("elements that share a byte")
        self.left, self.fenced = ROWS, any(op == Fence("async") for op in self.kernel.walk())
        self.lows: dict[int, int] = {}  # of contracts, by operation
        blocks = list(itertools.product(*(range(int(n)) for n in self.kernel.grid)))
        if len(blocks) * self.kernel.threads > ROWS:
            raise TooLarge(f"{len(blocks)} CTAs are too many to look at one by one")
        for cta in blocks:
            self._cta(cta)

    def race(self) -> str:
        """The first element with two accesses that race, and the two; "" where none is seen."""
        for element in sorted(self.touches):
            every = self.touches[element]
            if all(t.kind == "read" for t in every) or len(every) < 2:
                continue
            for a, b in itertools.combinations(self._few(every), 2):
                why = self._racing(a, b)
                if why:
                    for t in (a, b):
                        self._expect_replayed(t, element)
                    return f"element {element} of {self.tensor}: {a} and {b}: {why}"
        return ""

    def _few(self, every: list[Execution]) -> list[Execution]:
        """Some accesses to an element, of each operation and CTA the first and last ones."""
        if len(every) <= EACH:
            return every
        found: dict[Any, list[Execution]] = {}
        for t in every:
            found.setdefault((id(t.op), t.cta), []).append(t)
        return list(itertools.chain.from_iterable((*ts[:2], *ts[2:][-1:]) for ts in found.values()))[:EACH]

    # -- whether two race ---------------------------------------------------------------------------

    def _racing(self, a: Execution, b: Execution) -> str:
        """The reason why nothing orders two accesses whose order matters; "" if something may."""
        if a.kind == b.kind == AccessKind.READ or (a.reduction is not None and a.reduction == b.reduction):
            return ""
        first, second = (a, b) if a.when <= b.when else (b, a)
        if a.cta != b.cta:
            if self._cluster(a) == self._cluster(b) and any(isinstance(op, MEETING) for op in self.kernel.walk()):
                return ""
            return "no CTA waits for another"
        if a.thread == b.thread:
            return self._unfinished(first, second)
        if self.kernel.converged_warps and a.thread // WARP == b.thread // WARP and a.when != b.when:
            return ""  # in program order
        never = self.silent[a.cta] if "mbarrier" not in (a.group, b.group) else ()
        if a.history == b.history or a.thread in never or b.thread in never:
            return "neither thread waits for the other between"
        if first.kind == "write" and (first.proxy, second.proxy) == ("generic", "async") and first.role == second.role:
            return "" if self.fenced else "no fence async makes the write seen by the asynchronous proxy"
        return ""

    def _unfinished(self, first: Execution, second: Execution) -> str:
        """For one thread: whether the first is asynchronous and nothing ends it, or nothing fences it for others."""
        if first.when == second.when:
            return ""
        if first.group.is_group and first.committed[first.group] >= second.ended[first.group]:
            return f"no commit {first.group} and wait_group {first.group} stand between"
        if first.group == "mbarrier" and first.history == second.history:
            return "no wait for the end of the copy stands between"
        crosses = first.kind == "write" and (first.proxy, second.proxy) == ("generic", "async")
        if crosses and first.ended["fence"] == second.ended["fence"]:
            return "no fence async stands between"
        return ""

    def _cluster(self, t: Execution) -> tuple[int, ...]:
        return tuple(x // n for x, n in itertools.zip_longest(t.cta, self.kernel.cluster[: len(t.cta)], fillvalue=1))

    def _expect_replayed(self, t: Execution, element: int) -> None:
        """Evaluate the place of an access again, number by number. Raises InternalError where it is another."""
        x = t.touch.operand
        if isinstance(x, Ref):
            at = evaluate(x.offset, t.env)
            if not at <= element < at + self._width(t.op, t.touch, t.env):
                raise InternalError(f"{t} touches elements from {at} on, and not {element} of {self.tensor}")
        elif element not in set(self._box(x, t.env).tolist()):
            raise InternalError(f"{t} touches a box without element {element} of {self.tensor}")

    # -- what a CTA does ----------------------------------------------------------------------------

    def _cta(self, cta: tuple[int, ...]) -> None:
        n = self.kernel.threads
        self.history, self.silence, self.when = np.ones(n, dtype=np.int64), np.ones(n, dtype=bool), 0
        self.committed: dict[str, Array] = {name: np.zeros(n, dtype=np.int64) for name in GROUPS}
        self.ended: dict[str, Array] = {name: np.zeros(n, dtype=np.int64) for name in (*GROUPS, "fence")}
        env = dict(zip(BLOCKS, cta, strict=False))
        self._block = cta
        for places, op, here in unrolled(self.kernel.body, _Threads(env, np.arange(n), lows=self.lows)):
            self.when += 1
            if self.when > STEPS:
                raise TooLarge(f"a CTA executes more than {STEPS} operations")
            self._step(op, places[-1], here)
        self.silent[cta] = set(np.flatnonzero(self.silence).tolist())

    def _step(self, op: Op, place: int, here: _Threads) -> None:
        if isinstance(op, MEETING):
            self.silence[here.lanes] = False
        if isinstance(op, LEARN):
            code = np.full(len(here.lanes), zlib.crc32(f"{place} {op}".encode()) % PRIME)
            slot = getattr(op, "barrier", None)
            for x in () if slot is None else (slot.slot, getattr(op, "parity", 0)):
                code = (code * 31 + np.asarray(here.of(x))) % PRIME
            self.history[here.lanes] = (self.history[here.lanes] * 1_000_003 + code) % PRIME + 2
        elif isinstance(op, Commit) and op.group in self.ended:
            self.committed[op.group][here.lanes] += 1
        elif isinstance(op, WaitGroup) and not op.read and op.group in self.ended:
            self.ended[op.group][here.lanes] = self.committed[op.group][here.lanes]
        elif op == Fence("async"):
            self.ended["fence"][here.lanes] += 1
        for touch in op.touches():
            if touch.space in (None, MemorySpace.GLOBAL) and self.kernel.touched(touch) in self.names:
                self._touch(op, touch, here)

    def _touch(self, op: Op, touch: Touch, here: _Threads) -> None:
        reduction = typed(self.kernel, touch)
        for lane in here.lanes.tolist():
            env = {**here.env, THREAD: lane - here.base}
            committed, ended = ({name: int(x[lane]) for name, x in c.items()} for c in (self.committed, self.ended))
            history = int(self.history[lane])
            t = Execution(
                op,
                touch,
                reduction,
                self._block,
                lane,
                env,
                history,
                committed,
                ended,
                self.when,
                here.base,
            )
            for element in self._elements(op, touch, env):
                self.left -= 1
                if self.left < 0:
                    raise TooLarge(f"{self.tensor} is touched more than {ROWS} times")
                self.touches.setdefault(element, []).append(t)

    def _elements(self, op: Op, touch: Touch, env: dict[str, int]) -> Iterator[int]:
        x = touch.operand
        if isinstance(x, Box):
            yield from self._box(x, env).tolist()
        else:
            at = evaluate(x.offset, env)
            yield from range(at, at + self._width(op, touch, env))

    def _width(self, op: Op, touch: Touch, env: dict[str, int]) -> int:
        """Elements from the offset on."""
        if touch.elements is not None:
            return touch.elements
        if touch.bytes is None:
            raise TooLarge(f"how many elements {op} touches, numbers do not say")
        return -(-8 * evaluate(touch.bytes, env) // self.kernel.tensor(self.kernel.touched(touch)).dtype.bits)

    def _box(self, box: Box, env: dict[str, int]) -> Array:
        """The elements of a box that are inside the tensor."""
        m = self.kernel.map(box.tensor_map).tensor_map
        if m.is_im2col or m.interleave or any(e != 1 for e in m.element_stride) or m.element_bits % 8:
            raise TooLarge(f"which elements {box} has, numbers do not say")
        strides = [1, *(int(n) // m.element_bytes for n in m.global_stride_bytes)]
        at = np.array([int(m.global_address) // m.element_bytes], dtype=np.int64)
        for x, width, extent, d in zip(box.coordinate, m.box_dim, m.global_dim, strides, strict=True):
            start = evaluate(x, env)
            along = np.arange(max(0, start), min(int(extent), start + int(width)))
            at = (at[:, None] + along * d).ravel()
        return at
