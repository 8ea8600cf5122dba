"""The number of CTAs of a persistent kernel, where it is a size, as it fills a device.

>>> from symlayout import dim, dims
>>> from symlayout.kernels import gemm, tma_copy
>>> copy = tma_copy(*dims("M N"), blocks=dim("CTAs", at_most=1 << 16))
>>> launch_sizes(copy), filling(copy, multiprocessors=132)
((CTAs,), {'CTAs': 132})
>>> product = gemm(*dims("M N K"), cluster=4, blocks=4 * dim("clusters", at_most=1 << 14))
>>> filling(product, multiprocessors=114)
{'clusters': 28}
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from symlayout.expr import Symbol, divides
from symlayout.facts import symbols_in
from symlayout.kernel import Kernel

if TYPE_CHECKING:
    from .device import Device


def launch_sizes(kernel: Kernel) -> tuple[Symbol, ...]:
    """The sizes of which the grid is so many times one, and that say nothing about tensors."""
    of_tensors = symbols_in(tuple(t.layout.shape for t in kernel.tensors))
    return tuple(s for s in kernel.dims if s not in of_tensors and ctas_of(kernel, s))


def ctas_of(kernel: Kernel, s: Symbol) -> int:
    """The CTAs of a launch for each one of such a size; 0 where the grid is no number of times it."""
    each = divides(s, kernel.grid[0]) if len(kernel.grid) == 1 else None
    return each if type(each) is int else 0


def filling(kernel: Kernel, multiprocessors: int) -> dict[str, int]:
    """As many CTAs as a device has room for at once: one for each SM, or ``ctas_per_sm``, in whole clusters."""
    room = multiprocessors * (kernel.ctas_per_sm or 1)
    return {s.name: max(1, min(room // ctas_of(kernel, s), _most(s, room))) for s in launch_sizes(kernel)}


def _most(s: Symbol, room: int) -> int:
    return s.upper if type(s.upper) is int else room


def bind(kernel: Kernel, device: Device, **sizes: int) -> Kernel:
    """The kernel at sizes, with as many CTAs as fill the device where that is a size which is not given.

    Raises AssumptionError where they do not meet the kernel's assumptions.
    """
    return kernel.bind(**{**filling(kernel, device.facts.multiprocessors), **sizes}) if kernel.dims else kernel
