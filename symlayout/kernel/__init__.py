"""The kernel as a value: declarations, builder, rings, results, and the checks of a launch.

What goes through its operations stands here too: sites and the visitor, counts, the CTAs of a cluster, the executor at
sizes. What an operation is stands in ``symlayout.ops``, what it does to memory in ``symlayout.semantics``.
"""

from __future__ import annotations

from .builder import Builder
from .declarations import BLOCKS, THREAD, KernelMap, KernelTensor, Mbarriers, Parameter, RingUse
from .sites import Site
from .value import CONVERGED, CONVERGED_WARPS, Kernel
from .visitor import Visitor

__all__ = [
    "BLOCKS",
    "CONVERGED",
    "CONVERGED_WARPS",
    "THREAD",
    "Builder",
    "Kernel",
    "KernelMap",
    "KernelTensor",
    "Mbarriers",
    "Parameter",
    "RingUse",
    "Site",
    "Visitor",
]
