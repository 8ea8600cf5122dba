"""SMs that load the same bytes: from how many GPCs, and in how many places L2 has them.

>>> loaded, gpc = np.array([7, 7, 7, 8]), np.array([0, 0, 1, 1])
>>> readers(loaded, gpc, np.array([7, 8])).tolist()
[2, 1]
>>> places(np.array([1, 2]), 0.5).tolist()
[1.0, 1.5]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from .points import Array

__all__ = ["places", "readers"]


def readers(loaded: Array, near: Array, key: Array) -> Array:
    """In how many GPCs the bytes of each request are loaded, at least 1."""
    gpcs = int(near.max()) + 1
    of, counts = np.unique(np.unique(loaded * gpcs + near) // gpcs, return_counts=True)
    at = np.minimum(np.searchsorted(of, key), len(of) - 1)
    return np.where(of[at] == key, counts[at], 1)


def places(readers: Array, shared: float) -> Array:
    """The places in L2 that bytes take: more than one if SMs of both its halves load them.

    Bytes lie in the half of who loads them. Readers in n GPCs, whose half is not known, are all in one of them in one
    of 2^(n - 1) cases.
    """
    return np.asarray(1 + (1 - 0.5 ** (readers - 1)) * (1 / shared - 1))
