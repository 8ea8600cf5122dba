"""The kernel as a value: declarations, builder, rings, what it is to compute, and what a launch must check."""

from __future__ import annotations

from .value import (
    CONVERGED,
    Builder,
    Kernel,
    KernelMap,
    KernelTensor,
    Mbarriers,
    Parameter,
    RingUse,
)

__all__ = [
    "CONVERGED",
    "Builder",
    "Kernel",
    "KernelMap",
    "KernelTensor",
    "Mbarriers",
    "Parameter",
    "RingUse",
]
