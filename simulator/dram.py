"""DRAM: one bus, with a rate for each direction, and time that turning between them takes.

>>> engine = Engine()
>>> dram = Dram(engine, H200)
>>> _, alone = dram.read(1 << 20)
>>> dram.write(1 << 20)[1] - alone > alone
True

Controllers hold writes back and write many at once, so the bus changes direction once for so many bytes of both. What
that costs is a time for each byte of the direction that there is less of, as long as requests of both are near.
"""

from __future__ import annotations

from .engine import Engine
from .machine import H200, Machine
from .resource import Pipe

__all__ = ["H200", "Dram"]


class Dram:
    """The bus of DRAM. What one direction has moved lately pairs with what the other moves."""

    __slots__ = ("_near", "_read", "_turn", "_unpaired", "_write", "pipe")

    def __init__(self, engine: Engine, machine: Machine, free: bool = False) -> None:
        self.pipe = Pipe("DRAM", engine, free=free)
        self._read, self._write = machine.exact("dram_rate"), machine.exact("dram_write_rate")
        self._turn, self._near = machine.exact("dram_turnaround"), machine.count("dram_queue_bytes")
        self._unpaired = 0.0  # bytes: read if above 0, written if below

    def read(self, nbytes: float) -> tuple[int, int]:
        """(start, end) of the service of bytes that are read. Some may be time alone, see ``traffic``."""
        before = self._unpaired
        self._unpaired = min(before + nbytes, self._near)
        paired = min(nbytes, -before) if before < 0 else 0.0
        return self.pipe.take(round(self._read * nbytes + self._turn * paired))

    def write(self, nbytes: float) -> tuple[int, int]:
        """(start, end) of the service of bytes that are written."""
        before = self._unpaired
        self._unpaired = max(before - nbytes, -self._near)
        paired = min(nbytes, before) if before > 0 else 0.0
        return self.pipe.take(round(self._write * nbytes + self._turn * paired))
