"""What operations do to NumPy memory, byte for byte: the one definition for tests, provers and simulator."""

from __future__ import annotations

from ..rules.tma_copy import TensorCopy
from .conversion import filled, loaded, round_to_tf32
from .footprint import Footprint, footprint
from .memory import Memory, byte_ranges
from .tma import Effect, tma_load, tma_store

__all__ = [
    "Effect",
    "Footprint",
    "Memory",
    "TensorCopy",
    "byte_ranges",
    "filled",
    "footprint",
    "loaded",
    "round_to_tf32",
    "tma_load",
    "tma_store",
]
