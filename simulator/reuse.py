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
    fresh = _new(key[at])
    since = np.diff(by_key, prepend=0)  # requests since the last one of the same key; 0 for the first
    since[fresh] = 0
    sizes = nbytes[at]
    asked = np.bincount(since, weights=sizes)  # bytes that are asked for after so many requests
    table = np.full(len(asked), np.inf)
    gaps = np.flatnonzero(asked[1:]) + 1
    starts = np.flatnonzero(fresh)
    table[gaps] = np.interp(gaps, *distinct(gaps, asked[gaps], by_key, starts, sizes[starts]))
    window, group = np.empty(n), np.empty(n, dtype=np.int64)
    window[at] = table[since]
    group[at] = np.cumsum(fresh | _new(time[at])) - 1
    return window, group


def _new(numbers: Array) -> Array:
    """Whether each of some numbers differs from the one before; the first does."""
    found = np.ones(len(numbers), dtype=bool)
    np.not_equal(numbers[1:], numbers[:-1], out=found[1:])
    return found


def distinct(gaps: Array, asked: Array, by_key: Array, starts: Array, sizes: Array) -> tuple[Array, Array]:
    """Lengths of windows, in requests, and the distinct bytes that one of them holds on average.

    So many bytes are *asked* for again after each of some *gaps*, in order. Requests are in the order of their keys:
    *by_key* is the place of each in time, and that of a key *starts* there, for bytes of these *sizes*.
    """
    n = len(by_key)
    lengths = np.unique(np.geomspace(1, n, WINDOWS).astype(np.int64))
    last = np.append(starts[1:], n) - 1
    # requests in a row by which a key is not asked for, before its first one, behind its last one, and between
    without = np.concatenate([gaps - 1, by_key[starts], n - 1 - by_key[last]])
    weights = np.bincount(without, weights=np.concatenate([asked, sizes, sizes]))
    long = np.flatnonzero(weights)
    weights = weights[long]
    count, total = (np.append(np.cumsum(x[::-1])[::-1], 0.0) for x in (weights, weights * long))
    first = np.searchsorted(long, lengths)  # what is at least as long leaves the key out of a window
    absent = total[first] - (lengths - 1) * count[first]
    held = float(sizes.sum()) - absent / (n - lengths + 1)
    return lengths, np.maximum.accumulate(held)
