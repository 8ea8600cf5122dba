"""The public name of ``symlayout.kernel.ring``: rings of shared-memory slots."""

from .kernel.ring import Ring, RingSlot, make_ring

__all__ = [
    "Ring",
    "RingSlot",
    "make_ring",
]
