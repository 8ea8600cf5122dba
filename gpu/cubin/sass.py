"""Machine code as instructions, and how many there are of each kind.

>>> code = Instructions(tuple(read(EXAMPLE)["k"]))
>>> code.count("UTMALDG"), code.count("UTMALDG.2D.MULTICAST"), code.count("SYNCS", stop=0x30)
(2, 1, 0)
>>> print(code)
opcode   instructions
UTMALDG  2
SYNCS    1
"""

from __future__ import annotations

import collections
import functools
import re
import shutil
import subprocess
import sysconfig
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from ..errors import CubinError
from ..processes import run

INSTALL = "python -m pip install 'symlayout[compile]'"
LIMIT_S = 60.0

EXAMPLE = """
.text.k:
        /*0000*/                   UTMALDG.2D [UR8], [UR4] ;
        /*0010*/              @!P0 UTMALDG.2D.MULTICAST [UR8], [UR4], UR6 ;
        /*0020*/                   NOP;
        /*0030*/                   SYNCS.EXCH.64 URZ, [UR4], UR6 ;
"""


class Instruction(NamedTuple):
    """One instruction: its address in the kernel in bytes, the predicate (``@!P0`` or empty), opcode and operands."""

    address: int
    predicate: str
    opcode: str
    operands: str

    @property
    def base(self) -> str:
        """The opcode without its modifiers: ``UTMALDG`` of ``UTMALDG.2D.MULTICAST``."""
        return self.opcode.partition(".")[0]

    def __str__(self) -> str:
        return f"{self.address:#06x} {self.predicate + ' ' if self.predicate else ''}{self.opcode} {self.operands}"


@dataclass(frozen=True)
class Instructions:
    """The instructions of a kernel in order of address, without padding (NOP)."""

    every: tuple[Instruction, ...]

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "every", tuple(sorted(each for each in self.every if each.base != "NOP")))

    def within(self, start: int = 0, stop: int | None = None) -> Instructions:
        """Instructions with addresses in start .. stop - 1, bytes from the beginning of the kernel."""
        return Instructions(tuple(i for i in self.every if start <= i.address and (stop is None or i.address < stop)))

    def count(self, opcode: str, *, start: int = 0, stop: int | None = None) -> int:
        """The number with this opcode: the base alone (``HGMMA``), or with the modifiers that it must begin with."""
        given = (opcode, f"{opcode}.")
        return sum(i.opcode == given[0] or i.opcode.startswith(given[1]) for i in self.within(start, stop).every)

    @cached_property
    def counts(self) -> dict[str, int]:
        """The number of each base, most frequent first."""
        return dict(collections.Counter(i.base for i in self.every).most_common())

    def __str__(self) -> str:
        width = max([6, *map(len, self.counts)])
        head = f"{'opcode':<{width}}  instructions"
        return "\n".join([head, *(f"{opcode:<{width}}  {n}" for opcode, n in self.counts.items())])


# -- from a disassembler -----------------------------------------------------------------------------------

_SECTION = re.compile(r"^\s*(?:\.text\.(?P<nvdisasm>\S+):|Function : (?P<cuobjdump>\S+))\s*$")
_INSTRUCTION = re.compile(
    r"^\s*(?:\.L_\w+:)?\s*/\*(?P<address>[0-9a-f]{4,})\*/\s+\{?\s*(?:(?P<predicate>@!?U?P\w+)\s+)?"
    r"(?P<opcode>[A-Z][A-Z0-9_.a-z]*)\s*(?P<operands>.*?)\s*;"
)


def read(text: str) -> dict[str, list[Instruction]]:
    """The instructions of each kernel, from what nvdisasm -c or cuobjdump -sass prints."""
    found: dict[str, list[Instruction]] = {}
    here: list[Instruction] = []
    for line in text.splitlines():
        if section := _SECTION.match(line):
            here = found.setdefault(section["nvdisasm"] or section["cuobjdump"], [])
        elif each := _INSTRUCTION.match(line):
            address = int(each["address"], 16)
            here.append(Instruction(address, each["predicate"] or "", each["opcode"], each["operands"]))
    return found


def disassembled(image: bytes, name: str) -> Instructions:
    """The instructions of a kernel of a cubin.

    Raises CubinError if there is no disassembler, or it refuses the cubin, or prints nothing for the kernel.
    """
    program = disassembler()
    found = _all(program, image).get(name)
    if not found:
        raise CubinError(f"expected instructions of {name} from {program.name}, got none")
    return Instructions(tuple(found))


@functools.lru_cache(maxsize=8)
def _all(program: Path, image: bytes) -> dict[str, list[Instruction]]:
    options = ["-c"] if program.name.startswith("nvdisasm") else ["-sass"]
    with tempfile.TemporaryDirectory(prefix="symlayout-sass-") as scratch:
        file = Path(scratch) / "kernel.cubin"
        file.write_bytes(image)
        try:
            ended = run([str(program), *options, str(file)], limit_s=LIMIT_S)
        except subprocess.TimeoutExpired:
            raise CubinError(f"expected {program.name} to end within {LIMIT_S:g} s, got none; killed") from None
    if ended.status:
        raise CubinError(f"expected {program.name} to read the cubin, got {ended.said.strip() or ended.status}")
    return read(ended.output.decode(errors="replace"))


def disassembler() -> Path:
    """nvdisasm of the wheels, nvdisasm or cuobjdump on the PATH. Raises CubinError where there is none."""
    for found in _disassemblers():
        return found
    raise CubinError(f"expected nvdisasm or cuobjdump to read machine code with, got neither; {INSTALL}")


def _disassemblers() -> Iterator[Path]:
    for folder in dict.fromkeys(sysconfig.get_path(name) for name in ("platlib", "purelib")):
        yield from sorted(Path(folder).glob("nvidia/cu*/bin/nvdisasm"))
    for name in ("nvdisasm", "cuobjdump"):
        if program := shutil.which(name):
            yield Path(program)
