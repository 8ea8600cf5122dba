"""What a process sets before it proves or simulates a lot: the command, and each worker of a campaign.

>>> prepare()
>>> gc.get_threshold()[0] == YOUNG
True
"""

from __future__ import annotations

import gc

import numpy as np

YOUNG = 50_000  # objects between looks for circles: proofs and runs make millions, hardly any of them in circles
KEPT = 31 << 20  # bytes, below the largest size that moves glibc's threshold: pages that are kept need no new ones

__all__ = ["KEPT", "YOUNG", "prepare"]


def prepare() -> None:
    """Look for circles of objects seldom, and keep memory of arrays up to twice *KEPT* bytes once they are freed."""
    gc.set_threshold(YOUNG)
    np.empty(KEPT, np.uint8)  # freed at once: that moves the threshold of glibc
