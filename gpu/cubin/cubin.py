"""A cubin as a value: what its kernels take and use."""

from __future__ import annotations

import hashlib
import re
import struct
from dataclasses import dataclass, field
from functools import cached_property
from math import prod

from ..errors import CubinError
from .attributes import Attribute, Kind, Parameter, attributes, parameters
from .elf import ENTRY, FUNCTION, Elf, Symbol
from .sass import Instructions, disassembled

# The system's share of shared memory (CUDA C++ Programming Guide, Shared Memory): .nv.shared of an executable cubin
# for compute capability 9.0 and later counts it, ptxas's report and the limits of a launch do not.
RESERVED_SHARED_BYTES = 1024


@dataclass(frozen=True, kw_only=True)
class KernelCode:
    """The parameters and resources of one kernel of a cubin.

    ``max_threads`` is the bound of ``__launch_bounds__`` and ``block`` the block that the kernel was compiled for,
    ``cluster`` that of ``__cluster_dims__``; None where the source gives none. Sizes are in bytes; ``barriers`` counts
    the named barriers 0 .. barriers - 1, ``code_bytes`` the machine code.
    """

    name: str
    parameters: tuple[Parameter, ...]
    registers: int
    static_shared_bytes: int
    barriers: int
    frame_bytes: int
    stack_bytes: int
    max_threads: int | None
    block: tuple[int, ...] | None
    cluster: tuple[int, ...] | None
    code_bytes: int

    @property
    def argument_bytes(self) -> int:
        """The length of the buffer of arguments."""
        return max((p.offset + p.size for p in self.parameters), default=0)

    def __str__(self) -> str:
        rows = {
            "parameters": ", ".join(f"{p.size} B at {p.offset:#x}" for p in self.parameters) or "none",
            "registers": str(self.registers),
            "static shared memory": f"{self.static_shared_bytes} B",
            "named barriers": str(self.barriers),
            "stack": f"{max(self.frame_bytes, self.stack_bytes)} B",
            "threads": str(prod(self.block)) if self.block else f"at most {self.max_threads or 1024}",
            "cluster": "x".join(map(str, self.cluster)) if self.cluster else "as launched",
            "code": f"{self.code_bytes} B",
        }
        return "\n".join([self.name, *(f"  {what:<21} {value}" for what, value in rows.items())])


@dataclass(frozen=True)
class Cubin:
    """Machine code for one architecture: its bytes, and the report and name of the compiler where that is known.

    >>> cubin = Cubin(Path("kernel.cubin").read_bytes())                           # doctest: +SKIP
    >>> cubin.kernel("wgmma_gemm").registers                                       # doctest: +SKIP
    168
    >>> cubin.instructions("wgmma_gemm").count("HGMMA")                            # doctest: +SKIP
    4
    >>> Cubin(b"PTX is text")
    Traceback (most recent call last):
    gpu.errors.CubinError: expected a cubin, an ELF file of 64 bits, got bytes that begin with b'PTX is'

    Raises CubinError for bytes that are not a cubin.
    """

    image: bytes = field(repr=False)
    log: str = field(default="", repr=False, compare=False)
    compiler: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        _ = self._elf  # bytes that are not a cubin are refused now

    @cached_property
    def _elf(self) -> Elf:
        return Elf(self.image)

    @property
    def digest(self) -> str:
        """The SHA-256 of the machine code, in 64 hex digits."""
        return hashlib.sha256(self.image).hexdigest()

    @cached_property
    def arch(self) -> str:
        """``sm_90a``: the option of ptxas if the cubin records it, else from the number in the header."""
        note = self._elf.bytes_of(self._elf.section(".note.nv.tkinfo"))
        told = re.search(rb"-arch[ =](sm_\d+[af]?)", note)
        if told:
            return told[1].decode()
        # ABI 8 (CUDA 13) has the number in bits 8 .. 15 of the flags, ABI 7 in bits 0 .. 7
        return f"sm_{self._elf.flags >> (8 if self._elf.abi_version >= 8 else 0) & 0xFF}"

    @cached_property
    def kernels(self) -> tuple[KernelCode, ...]:
        """The kernels that a host can launch, by name. Raises CubinError where the file's tables are damaged."""
        try:
            entries = [s for s in self._elf.symbols if s.kind == FUNCTION and s.other & ENTRY]
            return tuple(sorted((self._kernel(s) for s in entries), key=lambda k: k.name))
        except (struct.error, ValueError, IndexError, OverflowError) as e:
            raise CubinError(f"expected tables of symbols and attributes in the cubin, got {e}") from e

    def kernel(self, name: str) -> KernelCode:
        """The kernel of that name as the cubin spells it (mangled, unless ``extern "C"``). Raises CubinError."""
        for each in self.kernels:
            if each.name == name:
                return each
        raise CubinError(f"expected a kernel of {', '.join(k.name for k in self.kernels) or 'a cubin'}, got {name!r}")

    def instructions(self, name: str) -> Instructions:
        """The machine code of a kernel. Raises CubinError where no disassembler is there, or none knows the code."""
        self.kernel(name)
        return disassembled(self.image, name)

    def _kernel(self, symbol: Symbol) -> KernelCode:
        own = list(attributes(self._elf.bytes_of(self._elf.section(f".nv.info.{symbol.name}"))))
        return KernelCode(
            name=symbol.name,
            parameters=parameters(own),
            registers=self._of_symbol(Kind.REGCOUNT, symbol),
            static_shared_bytes=self._static_shared(symbol.name),
            barriers=next((_first(a) & 0xFF for a in own if a.kind == Kind.NUM_BARRIERS), 0),
            frame_bytes=self._of_symbol(Kind.FRAME_SIZE, symbol),
            stack_bytes=self._of_symbol(Kind.MIN_STACK_SIZE, symbol),
            max_threads=next((prod(a.words()) for a in own if a.kind == Kind.MAX_THREADS), None),
            block=next((a.words() for a in own if a.kind == Kind.REQNTID), None),
            cluster=next((a.words() for a in own if a.kind == Kind.CTA_PER_CLUSTER), None),
            code_bytes=symbol.size,
        )

    def _of_symbol(self, kind: Kind, symbol: Symbol) -> int:
        """The value of an attribute that ``.nv.info`` has by symbol."""
        for attribute in attributes(self._elf.bytes_of(self._elf.section(".nv.info"))):
            if attribute.kind == kind:
                index, value = attribute.words()
                if self._elf.symbols[index] == symbol:
                    return value
        return 0

    def _static_shared(self, name: str) -> int:
        found = self._elf.section(f".nv.shared.{name}")
        if found is None:
            return 0
        return found.size - (RESERVED_SHARED_BYTES if int(re.sub(r"\D", "", self.arch)) >= 90 else 0)

    def __str__(self) -> str:
        head = f"{self.arch} cubin, {len(self.image)} bytes{f', by {self.compiler}' if self.compiler else ''}"
        return "\n".join([head, *map(str, self.kernels)])


def _first(attribute: Attribute) -> int:
    return attribute.words()[0]
