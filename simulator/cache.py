"""What L2 does for a kernel on a machine: what it holds, what it answers together, and what it takes for bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from symlayout.atoms.access import MemorySpace
from symlayout.kernel import Kernel

from .machine import Machine

# Of windows that are larger than L2 a part m is missed. If what is missed takes places by lot, a line that was there is
# there again with exp(-m x), where x is the window in capacities: so m = 1 - exp(-m x), and x = -log(1 - m) / m.
MISSED = np.linspace(0, 1, 1001)
WINDOWS = np.concatenate([[1.0], -np.log1p(-MISSED[1:-1]) / MISSED[1:-1], [8.0]])  # of so many nothing is left

__all__ = ["MISSED", "WINDOWS", "Cache"]


@dataclass(frozen=True)
class Cache:
    """What L2 does for a kernel: whether all tensors fit, what it holds, and what it has at first."""

    capacity: int  # up to which a window is there as a whole
    footprint: int  # of all tensors
    warm: bool
    read_run: float = 0.0  # bytes of time that a separate run of a read costs DRAM, and one of a write
    write_run: float = 0.0
    lone_read: float = 0.0  # of a run of 128 bytes behind which nobody moves more at about the time
    lone_write: float = 0.0
    merged: float = 0.0  # the part of requests for the same bytes from a GPC at a time that L2 answers together
    neighbours: int = 1  # CTAs in a row of a GPC that are answered together
    of_clusters: float = 0.0  # the same part of clusters of a GPC
    shared: float = 1.0  # what it holds of bytes that SMs of both halves load, as a part of the capacity
    each: float = 1.0  # picoseconds of L2 for a byte
    each_of_gpc: float = 0.0  # of the way to a GPC
    each_outside: float = 0.0  # of L2 for a byte of a box outside of its tensor

    @classmethod
    def of(cls, kernel: Kernel, machine: Machine, warm: bool) -> Cache:
        footprint = sum(int(t.bytes) for t in kernel.tensors if t.space is MemorySpace.GLOBAL)
        runs = (
            *(machine.count("dram_read_run_bytes"), machine.count("dram_run_bytes")),
            *(machine.count("dram_lone_read_bytes"), machine.count("dram_lone_run_bytes")),
        )
        rates = (machine.exact(x) for x in ("l2_rate", "gpc_rate", "l2_outside_rate"))
        alone = machine.share("l2_merged"), machine.count("l2_reach")
        pieces = machine.share("l2_cluster_merged"), machine.share("l2_shared")
        return cls(machine.count("l2_bytes"), footprint, warm, *runs, *alone, *pieces, *rates)

    def there(self, window: Any) -> Any:
        """The part of a window of distinct bytes that is still there at its end."""
        return 1.0 - np.interp(np.asarray(window) / self.capacity, WINDOWS, MISSED)

    def at_first(self, more: float = 1.0) -> float:
        """The part of the tensors that is there at the start: after another launch, all of them were used since.

        They take so many times *more* places than bytes that SMs of one half load each.
        """
        return float(self.there(more * self.footprint)) if self.warm else 0.0

    @property
    def written_back(self) -> float:
        """The part of what is written that goes on to DRAM in the course of the kernel."""
        return 1.0 - float(self.there(self.footprint))
