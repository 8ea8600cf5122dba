"""What L2 does for a kernel on a machine: what it holds, what it answers together, and what it takes for bytes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from symlayout.atoms.access import MemorySpace
from symlayout.kernel import Kernel

from .machine import Machine

# Of windows that are larger than L2 a part m is missed. If what is missed takes places by lot, a line that was there is
# there again with exp(-m x), where x is the window in capacities: so m = 1 - exp(-m x), and x = -log(1 - m) / m.
MISSED = np.linspace(0, 1, 1001)
WINDOWS = np.concatenate([[1.0], -np.log1p(-MISSED[1:-1]) / MISSED[1:-1], [8.0]])  # of so many nothing is left

EVER = 1e18  # bytes
STAYING = 4  # CTAs of an SM: so many come to the same SM in the next launch, eight do not (M46, nothing in between)

__all__ = ["MISSED", "STAYING", "WINDOWS", "Cache", "missed"]


def missed(size: Any, found: float, lost: float) -> Any:
    """The part that a launch misses of a footprint that the one before has used: a root between two footprints (M46).

    >>> missed(np.array([30, 45, 80]), found=40, lost=60).tolist(), missed(np.array([40, 41]), 40, 30).tolist()
    ([0.0, 0.5, 1.0], [0.0, 1.0])
    """
    return np.sqrt(np.clip((np.asarray(size) - found) / np.maximum(np.asarray(lost) - found, 1.0), 0.0, 1.0))


@dataclass(frozen=True)
class Cache:
    """What L2 does for a kernel: whether all tensors fit, what it holds, and what it has at first."""

    capacity: int  # up to which a window is there as a whole
    footprint: int  # of all tensors
    warm: bool
    places: float = 0.0  # that the bytes of the tensors take from one launch to the next
    again: float = EVER  # a launch finds a footprint of up to so many bytes whole, which the one before has used
    lost: float = 2 * EVER  # and nothing of one of so many
    moved: float = 1.0  # what it holds of these where bytes come to other SMs, as a part
    read_run: float = 0.0  # bytes of time that a separate run of a read costs DRAM, and one of a write
    write_run: float = 0.0
    lone_read: float = 0.0  # of a run of 128 bytes behind which nobody moves more at about the time
    lone_write: float = 0.0
    apart: float = 0.0  # how far the halves of the chip part, 1 as far as they do
    parted: float = 0.0  # the part of runs whose neighbours SMs of the other half move, when L2 has lost them
    merged: float = 0.0  # the part of requests for the same bytes from a GPC at a time that L2 answers together
    neighbours: int = 1  # CTAs in a row of a GPC that are answered together
    of_clusters: float = 0.0  # the same part of clusters of a GPC
    shared: float = 1.0  # what it holds of bytes that SMs of both halves load, as a part of the capacity
    each: float = 1.0  # picoseconds of L2 for a byte
    each_of_gpc: float = 0.0  # of the way to a GPC
    each_outside: float = 0.0  # of L2 for a byte of a box outside of its tensor
    part_request: float = 1.0  # a row that stores a part of a sector takes L2 as long as so many requests

    @classmethod
    def of(cls, kernel: Kernel, machine: Machine, warm: bool) -> Cache:
        count, share, exact = machine.count, machine.share, machine.exact
        footprint = sum(int(t.bytes) for t in kernel.tensors if t.space is MemorySpace.GLOBAL)
        written = sum(int(t.bytes) for t in kernel.tensors if t.name in kernel.written)
        cold = cls(
            capacity=count("l2_bytes"),
            footprint=footprint,
            warm=warm,
            read_run=count("dram_read_run_bytes"),
            write_run=count("dram_run_bytes"),
            lone_read=count("dram_lone_read_bytes"),
            lone_write=count("dram_lone_run_bytes"),
            merged=share("l2_merged"),
            neighbours=count("l2_reach"),
            of_clusters=share("l2_cluster_merged"),
            shared=share("l2_shared"),
            each=exact("l2_rate"),
            each_of_gpc=exact("gpc_rate"),
            each_outside=exact("l2_outside_rate"),
            part_request=exact("l2_part_request") / exact("l2_write_request"),
        )
        if not warm:  # no launch before leaves anything: plans do not depend on these numbers
            return cold
        return replace(
            cold,
            places=footprint + written * (1 / share("l2_written") - 1),
            again=count("l2_again_bytes"),
            lost=count("l2_lost_bytes"),
            moved=share("l2_moved"),
        )

    def of_grid(self, ctas: int, at_once: int) -> Cache:
        """That of a grid of so many CTAs for each SM, which holds some at once: do they come to it again each time?

        Those that wait for a place are taken to come to any SM, which M46 has not measured. They are out of step.
        """
        if ctas > at_once:
            return replace(self, apart=1.0)
        return replace(self, moved=1.0) if ctas <= STAYING else self

    def there(self, window: Any) -> Any:
        """The part of a window of distinct bytes that is still there at its end."""
        return 1.0 - np.interp(np.asarray(window) / self.capacity, WINDOWS, MISSED)

    def at_first(self, more: float = 1.0) -> float:
        """The part of the tensors that is there at the start: after another launch, all of them were used since.

        They take so many times *more* places than bytes that SMs of one half load each.
        """
        return self._kept(more) if self.warm else 0.0

    @property
    def written_back(self) -> float:
        """The part of what is written that goes on to DRAM in the course of the kernel."""
        return 1.0 - (self._kept() if self.warm else float(self.there(self.footprint)))

    def _kept(self, more: float = 1.0) -> float:
        """The part of the tensors that one launch leaves to the next: what is used in turn goes before it is used."""
        return 1.0 - float(missed(more * self.places / self.moved, self.again, self.lost))
