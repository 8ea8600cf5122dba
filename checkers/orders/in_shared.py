"""What the orders between accesses to shared memory are found from, whoever makes these."""

from __future__ import annotations

from dataclasses import dataclass

from symlayout.kernel import Kernel

from .barriers import Meeting
from .footprints import Footprints
from .runs_at_sizes import Runs
from .shared_accesses import Access
from .ways import Ways


@dataclass(eq=False)
class InShared:
    """The accesses of a kernel to shared memory, with the ways between them, their bytes, and runs at some sizes."""

    kernel: Kernel
    ways: Ways
    footprints: Footprints
    meetings: dict[int, Meeting]
    runs: Runs
    every: list[Access]
