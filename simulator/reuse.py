"""What L2 has: of every request of a grid, whether its bytes were there before, by the reuse of tiles between CTAs.

>>> time, key = np.arange(6), np.array([0, 1, 0, 2, 1, 0])
>>> windows(time, key, np.full(6, 100)).tolist()
[inf, inf, 200.0, inf, 275.0, 275.0]

A request hits if the window since the last request for the same bytes holds no more distinct bytes than L2 does. How
many distinct bytes a window of a length holds on average follows from the times of reuse alone (Xiang et al., HOTL,
ASPLOS 2013): that is a cache which replaces what was used longest ago.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from .points import Array

WINDOWS = 64  # lengths of windows that are looked at

__all__ = ["distinct", "windows"]


def windows(time: Array, key: Array, nbytes: Array) -> Array:
    """The distinct bytes in the window since the last request for the bytes of a key; infinite for the first."""
    n = len(time)
    order = np.lexsort((np.arange(n), time))
    _, ids = np.unique(key[order], return_inverse=True)
    ids, sizes = ids.reshape(-1), nbytes[order]
    by_key = np.argsort(ids, kind="stable")
    same = np.zeros(n, dtype=bool)
    same[1:] = ids[by_key][1:] == ids[by_key][:-1]
    since = np.zeros(n, dtype=np.int64)  # requests since the last one of the same key; 0 for the first
    since[by_key[same]] = by_key[same] - by_key[np.flatnonzero(same) - 1]
    lengths, held = distinct(since, by_key, same, sizes)
    out = np.empty(n)
    out[order] = np.where(since > 0, np.interp(since, lengths, held), np.inf)
    return out


def distinct(since: Array, by_key: Array, same: Array, sizes: Array) -> tuple[Array, Array]:
    """Lengths of windows, in requests, and the distinct bytes that one of them holds on average."""
    n = len(since)
    lengths = np.unique(np.geomspace(1, n, WINDOWS).astype(np.int64))
    starts = np.flatnonzero(~same)
    ends = np.append(starts[1:], n) - 1
    first, last = by_key[starts], by_key[ends]
    gaps = np.concatenate([since[since > 0] - 1, first, n - 1 - last])  # in which a key is not asked for
    weights = np.concatenate([sizes[since > 0], sizes[first], sizes[last]]).astype(np.float64)
    order = np.argsort(gaps, kind="stable")
    gaps, weights = gaps[order], weights[order]
    count = np.append(np.cumsum(weights[::-1])[::-1], 0.0)
    total = np.append(np.cumsum((weights * gaps)[::-1])[::-1], 0.0)
    at = np.searchsorted(gaps, lengths, side="left")  # gaps of at least the length leave the key out of a window
    absent = total[at] - (lengths - 1) * count[at]
    held = float(sizes[first].sum()) - absent / (n - lengths + 1)
    return lengths, np.maximum.accumulate(held)
