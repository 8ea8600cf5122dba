"""From CUDA C++ to machine code, without a GPU: options, compilers, their reports, and cubins kept by content."""

from .compiler import compile
from .options import Options

__all__ = ["Options", "compile"]
