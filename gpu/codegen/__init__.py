"""From a kernel to CUDA C++: its integers, its registers, its instructions, printed as an expert would write them."""

from .printer import emit
from .source import Argument, Source

__all__ = ["Argument", "Source", "emit"]
