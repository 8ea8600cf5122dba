"""Marks of tests that compile CUDA, or read machine code: skipped, with what would install them, where none is here."""

import pytest

from gpu.compiling import toolchains
from gpu.cubin.sass import disassembler
from gpu.errors import CubinError

_COMPILES = any(kind.found() is not None for kind in toolchains.TOOLCHAINS.values())


def can_read() -> bool:
    """Whether machine code can be read here."""
    try:
        return bool(disassembler())
    except CubinError:
        return False


NEEDS_COMPILER = pytest.mark.skipif(not _COMPILES, reason=f"no compiler here; {toolchains.INSTALL}")
NEEDS_MACHINE_CODE = pytest.mark.skipif(
    not (_COMPILES and can_read()), reason=f"no compiler or no disassembler here; {toolchains.INSTALL}"
)
