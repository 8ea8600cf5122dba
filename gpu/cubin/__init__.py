"""Cubins as values: kernels, their parameters and resources, and their instructions."""

from .attributes import Parameter
from .cubin import Cubin, KernelCode
from .sass import Instruction, Instructions

__all__ = ["Cubin", "Instruction", "Instructions", "KernelCode", "Parameter"]
