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

    __slots__ = ("_near", "_read", "_turn", "_unpaired", "_write", "moved", "pipe")

    def __init__(self, engine: Engine, machine: Machine, free: bool = False) -> None:
        self.pipe = Pipe("DRAM", engine, free=free)
        self._read, self._write = machine.exact("dram_rate"), machine.exact("dram_write_rate")
        self._turn, self._near = machine.exact("dram_turnaround"), machine.count("dram_queue_bytes")
        self._unpaired = 0  # bytes: read if above 0, written if below
        self.moved = (0, 0)  # bytes that were read and written

    def read(self, nbytes: float) -> tuple[int, int]:
        """(start, end) of the service of bytes that are read. Some may be time alone, see ``traffic``."""
        before, whole = self._unpaired, round(nbytes)
        self._unpaired = min(before + whole, self._near)
        self.moved = self.moved[0] + whole, self.moved[1]
        paired = min(nbytes, -before) if before < 0 else 0.0
        return self.pipe.take(round(self._read * nbytes + self._turn * paired))

    def write(self, nbytes: float) -> tuple[int, int]:
        """(start, end) of the service of bytes that are written."""
        before, whole = self._unpaired, round(nbytes)
        self._unpaired = max(before - whole, -self._near)
        self.moved = self.moved[0], self.moved[1] + whole
        paired = min(nbytes, before) if before > 0 else 0.0
        return self.pipe.take(round(self._write * nbytes + self._turn * paired))

    @property
    def ledger(self) -> tuple[int, int, int]:
        """The unpaired bytes, and those that were read and written."""
        return self._unpaired, *self.moved

    def repeat(self, before: tuple[int, int, int], times: int) -> bool:
        """Whether what was moved since *before* would take as long again; with *times* it is moved so often.

        It does where as much is unpaired as before, and where bytes of one direction alone move, and none were paired.
        """
        unpaired, read, written = before
        read, written = self.moved[0] - read, self.moved[1] - written
        if unpaired != self._unpaired and not (written == 0 <= unpaired or read == 0 >= unpaired):
            return False
        if unpaired != self._unpaired:
            self._unpaired = max(-self._near, min(self._near, self._unpaired + times * (read - written)))
        self.moved = self.moved[0] + times * read, self.moved[1] + times * written
        return True
