"""What happens before what: vector clocks of warps, and for each byte of shared memory who wrote it and who reads it.

A clock has one entry for each warp (how much of its work is known), each mbarrier (how many phases are known to be
over) and each thread (up to where its writes are known to be fenced for the async proxy), for each CTA of a cluster.
Warps count as one: what one lane has seen, all of its warp have. An access is in order where the clock of its warp
reaches the epoch of what it meets (Flanagan and Freund, FastTrack, PLDI 2009).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Where = Any  # a slice of addresses, or an array of them

UNFINISHED = 2**31 - 1  # the epoch of an access that is still under way
GENERIC, ASYNC = "generic", "async"


@dataclass(frozen=True)
class Entries:
    """Where the entries of a clock are."""

    ctas: int
    warps: int
    slots: int

    @property
    def threads(self) -> int:
        return 32 * self.warps

    @property
    def each(self) -> int:
        return self.warps + self.slots + self.threads

    def new(self) -> Array:
        """A clock that knows nothing."""
        return np.zeros(self.ctas * self.each, dtype=np.int64)

    def warp(self, cta: int, warp: Any) -> Any:
        return cta * self.each + warp

    def slot(self, cta: int, slot: Any) -> Any:
        return cta * self.each + self.warps + slot

    def fence(self, cta: int, thread: Any) -> Any:
        return cta * self.each + self.warps + self.slots + thread

    def of_writers(self, cta: int, proxy: str) -> Array:
        """For each writer of a byte, threads first and mbarriers behind, the entry that must know of the write."""
        thread = np.arange(self.threads)
        threads = self.warp(cta, thread // 32) if proxy == GENERIC else self.fence(cta, thread)
        return np.concatenate([threads, self.slot(cta, np.arange(self.slots))])


class Knowledge:
    """The clocks of some warps of a CTA, a row for each."""

    def __init__(self, entries: Entries, cta: int, first_warp: int, warps: int) -> None:
        self.entries, self.cta, self.first = entries, cta, first_warp
        self.rows = np.stack([entries.new()] * warps)
        self.own = entries.warp(cta, first_warp + np.arange(warps))
        self.rows[np.arange(warps), self.own] = 1  # epoch 0 is that of no write

    def row(self, threads: Array) -> Array:
        """The row of each thread of the CTA."""
        return threads // 32 - self.first

    def epoch(self, row: Any) -> Any:
        """Where the warps of some rows are."""
        return self.rows[row, self.own[row]]

    def release(self, threads: Array, into: Array) -> None:
        """Let a barrier know what the warps of these threads know."""
        row = np.unique(self.row(threads))
        np.maximum(into, self.rows[row].max(axis=0), out=into)
        self.rows[row, self.own[row]] += 1

    def acquire(self, threads: Array, known: Array) -> None:
        """Let the warps of these threads know what a barrier knows."""
        row = np.unique(self.row(threads))
        self.rows[row] = np.maximum(self.rows[row], known)

    def fence(self, threads: Array) -> None:
        """What these threads wrote may be read through the async proxy, by whom their warps tell."""
        row = self.row(threads)
        self.rows[row, self.entries.fence(self.cta, threads)] = self.epoch(row)
        row = np.unique(row)
        self.rows[row, self.own[row]] += 1


class Bytes:
    """For each byte of the shared memory of a CTA: its last writer, and when each warp read it last."""

    def __init__(self, entries: Entries, cta: int, nbytes: int) -> None:
        self.writer = np.zeros(nbytes, dtype=np.uint16)
        self.epoch = np.zeros(nbytes, dtype=np.int32)
        self.op = np.zeros(nbytes, dtype=np.uint16)
        self.reads = np.zeros((entries.warps, nbytes), dtype=np.int32)
        self.threads = entries.threads
        self.warps = entries.warp(cta, np.arange(entries.warps))
        self.entry = {proxy: entries.of_writers(cta, proxy) for proxy in (GENERIC, ASYNC)}

    def hidden(self, at: Where, k: Knowledge, row: Any, proxy: str = GENERIC) -> Array:
        """Which bytes hold a write that a reader through this proxy does not know of."""
        return k.rows[row, self.entry[proxy][self.writer[at]]] < self.epoch[at]

    def read_by(self, at: Where, k: Knowledge, row: Any) -> Array:
        """For each warp, which bytes it has read without the writer's knowledge."""
        known = np.moveaxis(k.rows[row][..., self.warps], -1, 0)
        return np.asarray(self.reads[:, at] > (known[:, None] if known.ndim == 1 else known))

    def wrote(self, at: Where, writer: Any, epoch: Any, op: int) -> None:
        """These bytes have a new writer."""
        self.writer[at], self.epoch[at], self.op[at] = writer, epoch, op

    def read(self, at: Where, warp: Any, epoch: Any) -> None:
        """Warps read these bytes."""
        self.reads[warp, at] = np.maximum(self.reads[warp, at], epoch)

    def finished_reading(self, at: slice, warp: int, epoch: int) -> None:
        """An asynchronous read of a warp is over."""
        row = self.reads[warp, at]
        row[row == UNFINISHED] = epoch
