"""The parts of an ELF file that a cubin is read by: sections, symbols, flags. 64-bit, little-endian, nothing else."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from ..errors import CubinError

MAGIC = b"\x7fELF\x02\x01"  # 64-bit, little-endian
MACHINE = 190  # EM_CUDA
HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
SECTION = struct.Struct("<IIQQQQIIQQ")
SYMBOL = struct.Struct("<IBBHQQ")
NOBITS = 8  # SHT_NOBITS: a section that has a size and no bytes in the file


class Section(NamedTuple):
    name: str
    kind: int
    flags: int
    offset: int
    size: int
    link: int
    info: int


class Symbol(NamedTuple):
    name: str
    kind: int  # 2: a function
    other: int  # 0x10: one that a host can launch
    section: int
    value: int
    size: int


FUNCTION, ENTRY = 2, 0x10  # STT_FUNC, STO_CUDA_ENTRY


@dataclass(frozen=True)
class Elf:
    """A cubin as an ELF file.

    Raises CubinError for bytes that are none, or that end before their tables do.
    """

    image: bytes

    def __post_init__(self) -> None:
        if not self.image.startswith(MAGIC) or len(self.image) < HEADER.size:
            raise CubinError(f"expected a cubin, an ELF file of 64 bits, got bytes that begin with {self.image[:6]!r}")
        if self._header[2] != MACHINE:
            raise CubinError(f"expected machine {MACHINE} (CUDA) in the ELF header, got {self._header[2]}")
        try:
            for each in self.sections:
                if each.kind != NOBITS and each.offset + each.size > len(self.image):
                    raise IndexError(f"section {each.name} up to byte {each.offset + each.size}")
        except (struct.error, ValueError, IndexError, OverflowError) as e:
            raise CubinError(f"expected a table of sections within {len(self.image)} bytes, got {e}") from e

    @cached_property
    def _header(self) -> tuple[int, ...]:
        return HEADER.unpack_from(self.image)

    @property
    def flags(self) -> int:
        return self._header[7]

    @property
    def abi_version(self) -> int:
        return self.image[8]

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        at, size, count, names = self._header[6], *self._header[11:14]
        rows = [SECTION.unpack_from(self.image, at + i * size) for i in range(count)]
        strings = rows[names][4] if rows else 0
        return tuple(
            Section(self._string(strings + name), kind, flags, offset, length, link, info)
            for name, kind, flags, _, offset, length, link, info, _, _ in rows
        )

    @cached_property
    def symbols(self) -> tuple[Symbol, ...]:
        table = self.section(".symtab")
        if table is None:
            return ()
        strings = self.sections[table.link].offset
        rows = SYMBOL.iter_unpack(self.bytes_of(table))
        return tuple(
            Symbol(self._string(strings + name), info & 15, other, section, value, size)
            for name, info, other, section, value, size in rows
        )

    def section(self, name: str) -> Section | None:
        """The section of that name, or None."""
        return next((each for each in self.sections if each.name == name), None)

    def bytes_of(self, section: Section | None) -> bytes:
        """The bytes of a section; none of one that has none in the file, or of None."""
        if section is None or section.kind == NOBITS:
            return b""
        return self.image[section.offset : section.offset + section.size]

    def _string(self, at: int) -> str:
        return self.image[at : self.image.index(b"\0", at)].decode(errors="replace")
