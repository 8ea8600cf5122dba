"""What a simulation predicts, as values: time with its range, bytes, stalls, resources, and what they would be without.

>>> found = Prediction("k", "", "m", {}, 3_000_000, 1_000_000, 500.0, 12000, 0, (), (), {"DRAM": 2_000_000})
>>> found.seconds, found.cycles, found.bytes_per_cycle, found.limiting, round(found.gain("DRAM"), 3)
(4e-06, 6000, 2.0, 'DRAM', -0.333)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .engine import SimulationError
from .log import Timeline
from .ranges import Range


@dataclass(frozen=True)
class Use:
    """How a resource was used: the part of the time it was busy, and what its requests waited for it on average."""

    name: str
    utilisation: float
    waited_ns: float
    requests: int


@dataclass(frozen=True)
class Stall:
    """The part of the time of a role that it spends on a cause: waiting for something, or issuing."""

    role: str
    cause: str
    share: float


@dataclass(frozen=True)
class Prediction:
    """What a kernel at sizes is predicted to do on a machine.

    Times are in picoseconds and without the launch, but for the range *around*, which is with it. Bytes are those that
    all SMs move to and from L2, in sectors. *what_if* has the time with a resource made free. *arrays* are the tensors
    in global memory after a run with values.
    """

    kernel: str
    digest: str
    machine: str
    sizes: Mapping[str, int]
    time_ps: int
    launch_ps: int
    cycle_ps: float
    bytes: int
    dram_bytes: int
    uses: tuple[Use, ...]
    stalls: tuple[Stall, ...]
    what_if: Mapping[str, int]
    notes: tuple[str, ...] = ()
    around: Range | None = None
    timeline: Timeline | None = field(default=None, repr=False)
    arrays: Mapping[str, Any] | None = field(default=None, repr=False, compare=False)

    @property
    def seconds(self) -> float:
        """The predicted time of one launch among others in a stream."""
        return (self.time_ps + self.launch_ps) / 1e12

    @property
    def cycles(self) -> int:
        """Cycles of the SM clock, without the launch."""
        return round(self.time_ps / self.cycle_ps)

    @property
    def bytes_per_cycle(self) -> float:
        """Bytes that all SMs move together in a cycle."""
        return self.bytes / self.cycles if self.cycles else 0.0

    @property
    def limiting(self) -> str:
        """The resource without which the kernel would gain most, or "" where none was tried or none would help."""
        best = min(self.what_if, key=lambda name: self.what_if[name], default="")
        return best if best and self.what_if[best] < self.time_ps else ""

    def gain(self, name: str) -> float:
        """The change of the time with a resource made free, as a part of it: -0.31 is 31 % less.

        Raises SimulationError for a resource that was not tried.
        """
        if name not in self.what_if:
            tried = ", ".join(self.what_if) or "none"
            raise SimulationError(f"expected a resource that was tried ({tried}), got {name!r}")
        return self.what_if[name] / max(self.time_ps, 1) - 1
