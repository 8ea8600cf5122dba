"""The happens-before order of a run: vector clocks of strands, and for each byte of shared memory its writer and its
readers.

A warp is two strands: its first lane, which an election takes, and its other lanes, which know of one another but of
the first lane only after a barrier of the warp; or each lane is one (``LANES``). Of warps that stay converged
(``Kernel.converged_warps``) each is one. A clock has entries for each CTA of a cluster: one for each strand (how much
of its work is known), one for each mbarrier (how many phases are known to be over), one for each thread (up to where
its writes are known to be fenced for the async proxy), and one for each mbarrier (the same for what cp.async brought).
An access is in order if the clock of its strand has reached the epoch of the earlier access (Flanagan and Freund,
FastTrack, PLDI 2009).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Where = Any  # a slice of addresses, or an array of them

UNFINISHED = 2**31 - 1  # the epoch of an access that is still under way
GENERIC, ASYNC = "generic", "async"
STRANDS = 2  # of a warp that need not stay converged
LANES = 32  # likewise, in runs that tell all lanes apart


@dataclass(frozen=True)
class Entries:
    """The positions of entries in a clock. *each_warp* is the number of strands of a warp: STRANDS, LANES or 1.

    >>> Entries(1, 2, 0).strand(np.array([0, 1, 31, 32, 63])).tolist()
    [0, 1, 1, 2, 3]
    >>> Entries(1, 2, 0, LANES).strand(np.array([0, 1, 31, 32, 63])).tolist()
    [0, 1, 31, 32, 63]
    """

    ctas: int
    warps: int
    slots: int
    each_warp: int = STRANDS

    @property
    def threads(self) -> int:
        return 32 * self.warps

    @property
    def strands(self) -> int:
        return self.each_warp * self.warps

    @property
    def each(self) -> int:
        return self.strands + self.slots + self.threads + self.slots

    def new(self) -> Array:
        """A clock that knows nothing."""
        return np.zeros(self.ctas * self.each, dtype=np.int64)

    def strand(self, thread: Any) -> Any:
        """The strand of a thread of the CTA."""
        if self.each_warp != STRANDS:
            return thread * self.each_warp // 32
        return 2 * (thread // 32) + (thread % 32 > 0)

    def may_read(self, strand: int) -> str:
        """``warp 1 may still be reading``, and which lanes where it is not the first; of a peer none is named."""
        if strand >= self.strands:
            return "a peer may still be reading"
        warp, others = divmod(strand, self.each_warp)
        lanes = f"lane {others}" if self.each_warp == LANES else "lanes 1 .. 31" if others else ""
        return f"warp {warp} may still be reading{lanes and f' ({lanes})'}"

    def known(self, cta: int, strand: Any) -> Any:
        """The entry that says how much of a strand's work is known."""
        return cta * self.each + strand

    def slot(self, cta: int, slot: Any) -> Any:
        return cta * self.each + self.strands + slot

    def fence(self, cta: int, thread: Any) -> Any:
        return cta * self.each + self.strands + self.slots + thread

    def slot_fence(self, cta: int, slot: Any) -> Any:
        """The entry that says up to which phase of an mbarrier what cp.async brought is fenced for the async proxy."""
        return self.fence(cta, self.threads) + slot

    def of_writers(self, ctas: tuple[int, ...], proxy: str) -> Array:
        """For each writer of a byte of the first of some CTAs the entry that must know of the write.

        Threads of these come first, then mbarriers for copies of the async proxy, then those for generic ones.
        """
        thread, slot, cta = np.arange(self.threads), np.arange(self.slots), ctas[0]
        if proxy == GENERIC:
            by_threads = [self.known(c, self.strand(thread)) for c in ctas]
            return np.concatenate((*by_threads, self.slot(cta, slot), self.slot(cta, slot)))
        by_threads = [self.fence(c, thread) for c in ctas]
        return np.concatenate((*by_threads, self.slot(cta, slot), self.slot_fence(cta, slot)))


class Knowledge:
    """The clocks of the strands of some warps of a CTA, a row for each."""

    def __init__(self, entries: Entries, cta: int, first_warp: int, warps: int) -> None:
        self.entries, self.cta, self.first = entries, cta, entries.each_warp * first_warp
        count = entries.each_warp * warps
        self.rows = np.stack([entries.new()] * count)
        self.own = entries.known(cta, self.first + np.arange(count))
        self.rows[np.arange(count), self.own] = 1  # epoch 0 is that of no write
        self._rows: dict[bytes, Array] = {}  # of threads that were here before

    def row(self, threads: Any) -> Array:
        """The row of each thread of the CTA."""
        return np.asarray(self.entries.strand(threads) - self.first)

    def rows_of(self, threads: Array) -> Array:
        """The rows of some threads together, each once."""
        key = threads.tobytes()
        if key not in self._rows:
            self._rows[key] = np.unique(self.row(threads))
        return self._rows[key]

    def epoch(self, row: Any) -> Any:
        """The positions of the strands of some rows."""
        return self.rows[row, self.own[row]]

    def release(self, threads: Array, into: Array) -> None:
        """Let a barrier know what the strands of these threads know."""
        row = self.rows_of(threads)
        np.maximum(into, self.rows[row].max(axis=0), out=into)
        self.rows[row, self.own[row]] += 1

    def acquire(self, threads: Array, known: Array) -> None:
        """Let the strands of these threads know what a barrier knows."""
        row = self.rows_of(threads)
        self.rows[row] = np.maximum(self.rows[row], known)

    def meet(self, threads: Array) -> None:
        """Let the strands of each warp of these threads know what one another do."""
        first, last = int(threads[0]) // 32, int(threads[-1]) // 32  # they ascend
        for warp in range(first, last + 1):
            mine = threads if first == last else threads[threads // 32 == warp]
            if not len(mine):
                continue
            row = self.rows_of(mine)
            self.rows[row] = self.rows[row].max(axis=0)
            self.rows[row, self.own[row]] += 1

    def tell(self, thread: int) -> None:
        """Let all of a thread's warp know how far it is; nothing that it knows of others."""
        mine, warp = self.row(thread), thread // 32 * 32
        every = self.row(warp + np.arange(32))
        self.rows[every, self.own[mine]] = self.epoch(mine)
        self.rows[mine, self.own[mine]] += 1

    def fence(self, threads: Array) -> None:
        """Writes of these threads, and those that they know of, may be read through the async proxy.

        By those to whom their strands release them. A proxy fence may stand anywhere between the two accesses
        (PTX ISA, Causality order). Of the lanes of its own strand a thread fences none but itself.
        """
        row, every = self.row(threads), np.arange(self.entries.threads)
        self.rows[row, self.entries.fence(self.cta, threads)] = self.epoch(row)
        strands = self.entries.strand(every)
        for r in np.unique(row):
            for cta in (c for c in range(self.entries.ctas) if c != self.cta):  # what peers wrote, and told
                at = self.entries.fence(cta, every)
                self.rows[r, at] = np.maximum(self.rows[r, at], self.rows[r, self.entries.known(cta, strands)])
            others = every[strands != self.first + r]
            known = self.rows[r, self.entries.known(self.cta, strands[others])]
            at = self.entries.fence(self.cta, others)
            self.rows[r, at] = np.maximum(self.rows[r, at], known)
            slots = np.arange(self.entries.slots)
            self.rows[r, self.entries.slot_fence(self.cta, slots)] = self.rows[r, self.entries.slot(self.cta, slots)]
        row = np.unique(row)
        self.rows[row, self.own[row]] += 1


class Bytes:
    """For each byte of the shared memory of a CTA: its last writer, and when each strand read it last.

    Writers and readers are threads of the CTA, and those of its *peers* where these access it, too.
    """

    def __init__(self, entries: Entries, cta: int, nbytes: int, peers: bool = False) -> None:
        others = (c for c in range(entries.ctas) if c != cta and peers)
        self.ctas = (cta, *others)
        self.writer = np.zeros(nbytes, dtype=np.uint16)
        self.epoch = np.zeros(nbytes, dtype=np.int32)
        self.op = np.zeros(nbytes, dtype=np.uint16)
        self.reads = np.zeros((len(self.ctas) * entries.strands, nbytes), dtype=np.int32)
        self.entries, self.threads = entries, len(self.ctas) * entries.threads
        self.strands = np.concatenate([entries.known(c, np.arange(entries.strands)) for c in self.ctas])
        self.entry = {proxy: entries.of_writers(self.ctas, proxy) for proxy in (GENERIC, ASYNC)}

    def thread(self, cta: int, threads: Array) -> Array:
        """The numbers of threads of a CTA among the writers."""
        return threads + self.ctas.index(cta) * self.entries.threads

    def strand(self, cta: int, threads: Array) -> Array:
        """The strands of threads of a CTA among the readers."""
        return np.asarray(self.entries.strand(threads) + self.ctas.index(cta) * self.entries.strands)

    def hidden(self, at: Where, k: Knowledge, row: Any, proxy: str = GENERIC) -> Array:
        """The bytes whose write is not known to a reader through this proxy."""
        return k.rows[row, self.entry[proxy][self.writer[at]]] < self.epoch[at]

    def read_by(self, at: Where, k: Knowledge, row: Any) -> Array:
        """For each strand, which bytes it has read without the writer's knowledge."""
        known = np.moveaxis(k.rows[row][..., self.strands], -1, 0)
        return np.asarray(self.reads[:, at] > (known[:, None] if known.ndim == 1 else known))

    def wrote(self, at: Where, writer: Any, epoch: Any, op: int) -> None:
        """These bytes have a new writer."""
        self.writer[at], self.epoch[at], self.op[at] = writer, epoch, op

    def read(self, at: Where, strand: Any, epoch: Any) -> None:
        """Strands read these bytes."""
        self.reads[strand, at] = np.maximum(self.reads[strand, at], epoch)

    def finished_reading(self, at: slice, strand: int, epoch: int) -> None:
        """An asynchronous read of a strand is over."""
        row = self.reads[strand, at]
        row[row == UNFINISHED] = epoch
