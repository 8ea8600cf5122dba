"""Options of a compilation, as a frozen value; each compiler spells the same options its own way."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..errors import CompileError

STANDARDS = ("c++11", "c++14", "c++17", "c++20")
REGISTERS = (16, 255)  # what -maxrregcount takes on the architectures here


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options of a compiler.

    >>> print(Options(arch="sm_90a", defines=("STAGES=4",), max_registers=168))
    sm_90a c++17 -D STAGES=4, at most 168 registers

    *defines* are ``NAME`` or ``NAME=VALUE``; without *contract* products and sums stay apart (no fused multiply-add).
    Raises CompileError for a value that no compiler takes.
    """

    arch: str = "sm_90a"
    std: str = "c++17"
    defines: tuple[str, ...] = ()
    max_registers: int | None = None
    line_info: bool = False
    contract: bool = True

    def __post_init__(self) -> None:
        if not re.fullmatch(r"sm_\d+[af]?", self.arch):
            raise CompileError(f"expected an architecture such as sm_90a, got {self.arch!r}")
        if self.std not in STANDARDS:
            raise CompileError(f"expected one of {', '.join(STANDARDS)} as the standard, got {self.std!r}")
        for define in self.defines:
            if not re.fullmatch(r"[A-Za-z_]\w*(=[^\0\n]*)?", define):
                raise CompileError(f"expected NAME or NAME=VALUE as a define, got {define!r}")
        low, high = REGISTERS
        if self.max_registers is not None and not low <= self.max_registers <= high:
            raise CompileError(f"expected {low} to {high} registers a thread, got {self.max_registers}")

    @property
    def common(self) -> tuple[str, ...]:
        """The options that NVRTC and nvcc spell alike; always with ptxas's report."""
        flags = [f"-std={self.std}", *(f"-D{define}" for define in self.defines), "-Xptxas=-v"]
        if self.max_registers is not None:
            flags.append(f"-maxrregcount={self.max_registers}")
        if self.line_info:
            flags.append("-lineinfo")
        if not self.contract:
            flags.append("-fmad=false")
        return tuple(flags)

    @property
    def nvrtc(self) -> tuple[str, ...]:
        return (f"-arch={self.arch}", *self.common)

    @property
    def nvcc(self) -> tuple[str, ...]:
        """Machine code of one architecture and no PTX; this spelling means the same to every nvcc."""
        return (f"-gencode=arch={self.arch.replace('sm_', 'compute_')},code={self.arch}", *self.common)

    def __str__(self) -> str:
        words = [self.arch, self.std, *(f"-D {define}" for define in self.defines)]
        more = [f"at most {self.max_registers} registers"] if self.max_registers is not None else []
        more += ["line information"] if self.line_info else []
        more += [] if self.contract else ["no fused multiply-add"]
        return ", ".join([" ".join(words), *more])
