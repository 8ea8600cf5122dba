"""Every write of a bound kernel to a tensor, on plain integers: what a claim about its stores is tried on.

    >>> from symlayout.kernels import vector_copy
    >>> kernel = vector_copy(5, threads=32)
    >>> [int(n) for n in Writes(kernel, "dst").times]
    [1, 1, 1, 1, 1]

Nothing of the provers is in it: blocks and threads are rows of arrays that loops repeat and conditions thin out. What
the operations of a kernel are executed with is ``symlayout.kernel.unrolled``'s to say.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from symlayout.coordinates import idx2crd
from symlayout.expr import Fact
from symlayout.expr.compiled import value
from symlayout.facts import symbols_in
from symlayout.int_tuple import text
from symlayout.kernel import BLOCKS, THREAD, Kernel
from symlayout.kernel.touched import written
from symlayout.kernel.unrolled import Array, Threads, unrolled
from symlayout.ops import WARP, Elect, For, If, Op, Role, edited

from ..claim import TooLarge
from .store_sites import Open, boxes, map_of

ROWS = 1 << 21  # executions that are enumerated, of threads and iterations: a run beyond it raises TooLarge
ELEMENTS = 1 << 24  # of the tensor, whose counts of writes are one array
MOST = 1024  # threads of a CTA, and more than its warps
EXECUTIONS = 16  # of a thread, for which room is left where some CTAs are looked at
BLOCKS_LOOKED_AT = 1 << 17


@dataclass(frozen=True)
class Rows(Threads):
    """Threads of all CTAs, in all iterations at once: a row for each execution. Values are arrays with one for each."""

    # the same number for threads of a CTA in one iteration of all loops
    iteration: Array = field(default_factory=lambda: np.arange(0))
    doubts: list[str] = field(default_factory=list)  # what rests on the lane that an election finds
    elected: bool = False

    def __len__(self) -> int:
        return len(self.lanes)

    @property
    def anyone(self) -> bool:
        return True  # what nobody executes is not known before its numbers are

    def where(self, which: Array, base: int | None = None) -> Rows:
        """Some of the executions, by number or by truth."""
        env = {name: x[which] for name, x in self.env.items()}
        return replace(super().where(which, base), env=env, iteration=self.iteration[which])

    def of(self, x: Any) -> Array:
        """The value of an expression in each."""
        names, env = {s.name for s in symbols_in((x,))}, self.values
        if names - set(env):
            raise TooLarge(f"what {min(names - set(env))} is, numbers do not say")
        found = np.asarray(value(x, env), dtype=np.int64)
        if self.elected and THREAD in names:
            first = env[THREAD] // WARP * WARP
            if any((value(x, {**env, THREAD: first + lane}) != found).any() for lane in range(WARP)):
                self.doubts.append(f"{x} is another for each lane that an election may find")
        return np.broadcast_to(found, self.lanes.shape)

    def entered(self, op: Role | If | Elect) -> Rows:
        if isinstance(op, If):  # a fact is asked of those alone who meet the ones before it
            return functools.reduce(lambda rows, f: rows.where(_holds(f, rows)), op.condition, self)
        return replace(super().entered(op), elected=self.elected or isinstance(op, Elect))

    def electing(self, each_warp: bool) -> Array:
        of = self.iteration * MOST + (self.values[THREAD] // WARP if each_warp else 0)
        _, chosen = np.unique(of, return_index=True)
        return np.sort(chosen)

    def iterations(self, loop: For) -> Iterator[Rows]:
        """All iterations at once."""
        trips = np.maximum(self.of(loop.extent), 0)
        total = int(trips.sum())
        if total > ROWS:
            raise TooLarge(f"{total} iterations are more than the {ROWS} that are enumerated")
        i = np.arange(total) - np.repeat(np.cumsum(trips) - trips, trips)
        out = self.where(np.repeat(np.arange(len(self)), trips))
        most = int(trips.max(initial=1)) or 1
        _, iteration = np.unique(out.iteration, return_inverse=True)
        yield replace(out, env={**out.env, loop.index.name: i}, iteration=iteration.reshape(-1) * most + i)


@dataclass(frozen=True)
class Write:
    """An operation with its executions and where the box of each begins."""

    op: Op
    rows: Rows
    starts: Array
    width: tuple[int, ...]

    def told(self, i: int) -> str:
        """``st.global.4 x -> dst[..], CTA 3, thread 5, i = 0``."""
        env = {name: int(x[i]) for name, x in self.rows.env.items()}
        block = tuple(env.pop(name) for name in BLOCKS if name in env)
        thread = int(self.rows.lanes[i]) - self.rows.base
        at = "".join(f", {name} = {n}" for name, n in env.items())
        return f"{self.op}, CTA {text(block[0] if len(block) == 1 else block)}, thread {thread}{at}"


class Writes:
    """The number of writes to each element of a tensor. Raises TooLarge for what is too much, or too little known.

    An election finds the first lane, as it may; what would be otherwise with another is among the ``doubts``.
    """

    def __init__(self, kernel: Kernel, name: str) -> None:
        self.kernel, self.tensor = kernel.plain, kernel.tensor(name)
        self.doubts: list[str] = []
        self.found = list(self._writes())
        if self.tensor.layout.size() > ELEMENTS or self.tensor.layout.cosize() > ELEMENTS:
            raise TooLarge(f"{name} has more than {ELEMENTS} elements")
        self.memory = np.zeros(int(self.tensor.layout.cosize()), dtype=np.int64)
        for w in self.found:
            for at in self._everywhere(w):
                np.add.at(self.memory, at, 1)

    @property
    def times(self) -> Array:
        """For each element, in the order of the layout, how often it is written."""
        return self.memory[self.tensor.layout.offsets()]

    def wrong(self) -> str:
        """The first element that is not written once, with who writes it; "" where there is none."""
        bad = np.flatnonzero(self.times != 1)
        if not len(bad):
            return ""
        shape, offset = self.tensor.layout.shape, int(self.tensor.layout.offsets()[bad[0]])
        at = idx2crd(int(bad[0]), shape)
        element = f"{self.tensor.name}{text(at) if isinstance(at, tuple) else f'({at})'}"
        n = int(self.times[bad[0]])
        if not n:
            return f"{element} is never written"
        who = [w.told(i) for w in self.found for i, offsets in self._offsets(w) if (offsets == offset).any()]
        return f"{element} is written {n} times: by {who[0]}; and by {who[1]}" + ("; .." if n > 2 else "")

    # -- executions ---------------------------------------------------------------------------------

    def _writes(self) -> Iterator[Write]:
        """The executions that write, of each operation together, those of others left out."""
        body = edited(self.kernel.body, lambda op: (op,) if op.body or self._writes_it(op) else ())
        for _, op, rows in unrolled(body, self._everyone()):
            if self._writes_it(op):
                try:
                    start, width = boxes(self.kernel, op)
                except Open as e:
                    raise TooLarge(str(e)) from e
                yield Write(op, rows, np.stack([rows.of(x) for x in start], axis=1), width)

    def _everyone(self) -> Rows:
        return _everyone(self.kernel, _blocks(self.kernel), self.doubts)

    def _writes_it(self, op: Op) -> bool:
        return written(self.kernel, op) == self.tensor.name

    def _everywhere(self, w: Write) -> Iterator[Array]:
        """The elements that the executions of an operation write, ranges of memory together."""
        if map_of(self.kernel, w.op) is None:
            at = (w.starts[:, :1] + np.arange(w.width[0])).ravel()
            yield at[(at >= 0) & (at < len(self.memory))]
        else:
            yield from (at for _, at in self._offsets(w))

    def _offsets(self, w: Write) -> Iterator[tuple[int, Array]]:
        """(execution, where it writes), what is outside the tensor left out."""
        through = map_of(self.kernel, w.op)
        m = None if through is None else through.tensor_map
        extents = (len(self.memory),) if m is None else m.global_dim
        strides = [1] if m is None else [1, *(int(n) // m.element_bytes for n in m.global_stride_bytes)]
        for i, start in enumerate(w.starts.tolist()):
            ranges = [np.arange(max(0, a), min(n, a + k)) for a, k, n in zip(start, w.width, extents, strict=True)]
            at = np.zeros(1, dtype=np.int64)
            for r, d in zip(ranges, strides, strict=True):
                at = (at[:, None] + r * d).ravel()
            yield i, at[(at >= 0) & (at < len(self.memory))]


def writer_at(kernel: Kernel, name: str, offset: int) -> str:
    """Who writes an element of a tensor, by its offset: the operation, CTA, thread and iteration; "" where nobody does.

    >>> from symlayout.kernels import vector_copy
    >>> writer_at(vector_copy(1000, threads=32), "dst", 999)
    'st.global.16 x -> dst[128*block_x + 4*thread], CTA 7, thread 25'

    CTAs are looked at some at a time, so that many more than ``Writes`` takes may be. Raises TooLarge where numbers do
    not say who, or where it would take longer than a few seconds.
    """
    blocks = _blocks(kernel)
    if len(blocks) > BLOCKS_LOOKED_AT:
        raise TooLarge(f"{len(blocks)} CTAs are more than the {BLOCKS_LOOKED_AT} that are looked at")
    step = max(1, ROWS // EXECUTIONS // kernel.threads)
    for first in range(0, len(blocks), step):
        part = _Part(kernel, name, blocks[first : first + step])
        found = part.writer(offset)
        if found:
            return found
    return ""


class _Part(Writes):
    """The writes of some CTAs, not counted."""

    def __init__(self, kernel: Kernel, name: str, blocks: Sequence[tuple[int, ...]]) -> None:
        self.kernel, self.tensor, self.doubts = kernel.plain, kernel.tensor(name), []
        self.blocks = blocks
        self.found = list(self._writes())

    def _everyone(self) -> Rows:
        return _everyone(self.kernel, self.blocks, self.doubts)

    def writer(self, offset: int) -> str:
        """The first execution that writes there."""
        for w in self.found:
            m = map_of(self.kernel, w.op)
            at = (offset,) if m is None else _coordinate(m.tensor_map, offset)
            hit = np.ones(len(w.starts), dtype=bool)
            for start, n, x in zip(w.starts.T, w.width, at, strict=True):
                hit &= (start <= x) & (x < start + n)
            if hit.any():
                return w.told(int(np.argmax(hit)))
        return ""


def _coordinate(m: Any, offset: int) -> tuple[int, ...]:
    """The coordinate in a tensor map of an element of memory, whose dimensions lie within one another."""
    strides = [1, *(int(n) // m.element_bytes for n in m.global_stride_bytes)]
    at, rest = [0] * len(strides), offset
    for d in sorted(range(len(strides)), key=lambda d: -strides[d]):
        at[d], rest = divmod(rest, strides[d])
    return tuple(at)


def _blocks(kernel: Kernel) -> list[tuple[int, ...]]:
    return list(itertools.product(*(range(int(n)) for n in kernel.grid)))


def _everyone(kernel: Kernel, blocks: Sequence[tuple[int, ...]], doubts: list[str]) -> Rows:
    """All threads of some CTAs, thread after thread."""
    if len(blocks) * kernel.threads > ROWS:
        raise TooLarge(f"{len(blocks)} CTAs of {kernel.threads} threads are more than the {ROWS} that are looked at")
    grid = kernel.grid
    at = np.array(blocks, dtype=np.int64).reshape(len(blocks), len(grid)).repeat(kernel.threads, axis=0)
    lane = np.tile(np.arange(kernel.threads), len(blocks))
    env = {name: at[:, i] for i, name in zip(range(len(grid)), BLOCKS, strict=False)}
    return Rows(env, lane, iteration=np.arange(len(blocks)).repeat(kernel.threads), doubts=doubts)


def _holds(f: Fact, rows: Rows) -> Array:
    x = rows.of(f.expr)
    return x >= 0 if f.relation == ">=" else x == 0 if f.relation == "==" else x % f.modulus == 0
