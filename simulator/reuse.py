"""What L2 has: of every request of a grid, whether its bytes were there before, by the reuse of tiles between CTAs.

>>> time, key = np.arange(6), np.array([0, 1, 0, 2, 1, 0])
>>> windows(time, key, np.full(6, 100))[0].tolist()
[inf, inf, 200.0, inf, 275.0, 275.0]

A request hits if the window since the last request for the same bytes holds no more distinct bytes than L2 does. How
many distinct bytes a window of a length holds on average follows from the times of reuse alone (Xiang et al., HOTL,
ASPLOS 2013): that is a cache which replaces what was used longest ago.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .sorting import stable_order

if TYPE_CHECKING:
    from .points import Array

WINDOWS = 64  # lengths of windows that are looked at

__all__ = ["distinct", "windows"]


def windows(time: Array, key: Array, nbytes: Array) -> tuple[Array, Array]:
    """The distinct bytes in the window since the last request for the bytes of a key, infinite for the first; and for
    each request the number of the group of those that ask for the same bytes at the same time.

    Times and keys are whole numbers.
    """
    n = len(time)
    order = stable_order(time)
    by_key = stable_order(key[order])
    at = order[by_key]
    sorted_key, sorted_time = key[at], time[at]
    same = np.zeros(n, dtype=bool)
    same[1:] = sorted_key[1:] == sorted_key[:-1]
    alike = same.copy()
    alike[1:] &= sorted_time[1:] == sorted_time[:-1]
    gaps = np.zeros(n, dtype=np.int64)
    gaps[1:] = by_key[1:] - by_key[:-1]
    since = np.where(same, gaps, 0)  # requests since the last one of the same key; 0 for the first
    lengths, held = distinct(since, by_key, same, nbytes[at])
    window, group = np.empty(n), np.empty(n, dtype=np.int64)
    window[at] = np.where(same, np.interp(since, lengths, held), np.inf)
    group[at] = np.cumsum(~alike) - 1
    return window, group


def distinct(since: Array, by_key: Array, same: Array, sizes: Array) -> tuple[Array, Array]:
    """Lengths of windows, in requests, and the distinct bytes that one of them holds on average.

    All arrays are in the order of keys, and of time for each key; *by_key* is the place of each in time.
    """
    n = len(since)
    lengths = np.unique(np.geomspace(1, n, WINDOWS).astype(np.int64))
    starts = np.flatnonzero(~same)
    ends = np.append(starts[1:], n) - 1
    weights = np.zeros(n + 1)  # of gaps in which a key is not asked for, by their length
    for gaps, those in ((since[same] - 1, same), (by_key[starts], starts), (n - 1 - by_key[ends], ends)):
        weights += np.bincount(gaps, weights=sizes[those], minlength=n + 1)
    count = np.cumsum(weights[::-1])[::-1]
    total = np.cumsum((weights * np.arange(n + 1))[::-1])[::-1]
    absent = (
        total[lengths] - (lengths - 1) * count[lengths]
    )  # gaps of at least the length leave the key out of a window
    held = float(sizes[starts].sum()) - absent / (n - lengths + 1)
    return lengths, np.maximum.accumulate(held)
