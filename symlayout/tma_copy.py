"""The public name of ``symlayout.tma.tiled_copy``: tensor maps and their copies from layouts and tiles."""

from .tma.tile_operands import CTA_LIMIT
from .tma.tiled_copy import (
    TmaCopy,
    TmaPart,
    TmaSlice,
    create_tma_multicast_mask,
    make_tma_copy,
    tma_partition,
)

__all__ = [
    "CTA_LIMIT",
    "TmaCopy",
    "TmaPart",
    "TmaSlice",
    "create_tma_multicast_mask",
    "make_tma_copy",
    "tma_partition",
]
