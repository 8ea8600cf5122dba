"""Orders of whole numbers, by plain sorts: numpy sorts 64-bit integers ten times faster than it orders them stably.

>>> stable_order(np.array([3, 1, 3, 1, 2])).tolist()
[1, 3, 4, 0, 2]
>>> among(np.array([5, 2, 9]), np.array([9, 5, 5, 1])).tolist()
[True, False, True]
>>> alike(np.array([7, 2, 7, 7])).tolist()
[3, 1, 3, 3]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from .points import Array

BITS = 62
DENSE = 4  # numbers so many times as large as there are of them are counted without being put in order

__all__ = ["alike", "among", "stable_order"]


def stable_order(numbers: Array) -> Array:
    """The places of whole numbers in order, of equal ones the first first: their places ride along in the low bits."""
    n = len(numbers)
    if not n:
        return np.zeros(0, dtype=np.int64)
    low, bits = int(numbers.min()), n.bit_length()
    if (int(numbers.max()) - low) >> (BITS - bits):
        return np.argsort(numbers, kind="stable")
    packed = ((numbers - low) << bits) | np.arange(n)
    packed.sort()
    return np.asarray(packed & ((1 << bits) - 1))


def among(some: Array, numbers: Array) -> Array:
    """Whether each of some whole numbers is one of others."""
    if not len(numbers):
        return np.zeros(len(some), dtype=bool)
    ordered = np.sort(numbers)
    at = np.minimum(np.searchsorted(ordered, some), len(ordered) - 1)
    return np.asarray(ordered[at] == some)


def alike(numbers: Array) -> Array:
    """How many are equal to each of some whole numbers, itself among them."""
    if not len(numbers):
        return np.zeros(0, dtype=np.int64)
    low = int(numbers.min())
    if int(numbers.max()) - low < DENSE * len(numbers):
        return np.asarray(np.bincount(numbers - low)[numbers - low])
    order = stable_order(numbers)
    first = np.flatnonzero(np.diff(numbers[order], prepend=numbers[order[:1]] - 1))
    counts = np.diff(first, append=len(numbers))
    found = np.empty(len(numbers), dtype=np.int64)
    found[order] = np.repeat(counts, counts)
    return found
