"""SMs that load the same bytes: who of them L2 answers together, and in how many places it has what they load.

>>> cluster = np.array([0, 0, 1, 2])
>>> by_lot(np.array([0, 0, 0, 1]), cluster, 2).tolist()   # two of one cluster, and one of the next, which is elsewhere
[1.5, 1.5, 1.5, 1.0]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from .points import Array

__all__ = ["by_lot", "places", "readers"]


def by_lot(group: Array, cluster: Array, lots: int) -> Array:
    """How many requests of the group of each are answered at one place, where each cluster is at one of *lots*.

    That is the mean over where clusters may be: so many in a row of the grid are at different places, in any order.
    """
    counts = np.bincount(group)
    found, several = np.ones(len(counts)), counts > 1
    those = several[group]
    rows = int(cluster.max(initial=0)) // lots + 1
    asks = np.zeros((int(several.sum()), rows * lots), dtype=bool)  # whether a cluster does, by group
    asks[(np.cumsum(several) - 1)[group[those]], cluster[those]] = True
    none = np.prod(1 - asks.reshape(-1, rows, lots).sum(axis=2, dtype=np.int16) / lots, axis=1)  # of them is at a place
    found[several] = counts[several] / (lots * (1 - none))
    return np.asarray(found[group])


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
