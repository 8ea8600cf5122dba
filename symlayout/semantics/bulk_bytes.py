"""``cp.async.bulk``, the copy without a map: addresses and a number of bytes.

>>> shared = np.zeros(64, dtype=np.uint8)
>>> bulk_copy(24, np.arange(64, dtype=np.uint8), 32, shared, 0)
16
>>> shared[14:18]
array([46, 47,  0,  0], dtype=uint8)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import TmaFault
from ..rules.tma_copy import MISALIGNED, UNIT_BYTES
from .memory import Memory


def bulk_copy(size: int, source: Any, source_address: int, target: Any, target_address: int) -> int:
    """Copy *size* bytes, and say how many were copied and credited to the barrier of a load.

    A size that is not a multiple of 16 is rounded down, without a fault; 0 copies nothing (measured on an H200,
    driver 580.159.04). Memory is as in ``tma_load``. Raises TmaFault for an address that is not a multiple of 16.
    """
    for what, address in (("source", source_address), ("target", target_address)):
        if address % UNIT_BYTES:
            raise TmaFault(
                f"{MISALIGNED}, bulk_alignment_16: expected the {what} address to be a multiple of {UNIT_BYTES} bytes, "
                f"got {address}",
                "bulk_alignment_16",
                MISALIGNED,
            )
    moved = size // UNIT_BYTES * UNIT_BYTES
    offsets = np.arange(moved)
    Memory.of(target).write(target_address + offsets, Memory.of(source).read(source_address + offsets))
    return moved
