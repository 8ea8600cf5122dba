"""Enumeration: the oracle of the other methods, and the source of minimal counterexamples.

Every function takes arrays of plain integers and returns the first position that breaks a property.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

POINTS = 1 << 22  # coordinates up to which a static claim is decided here


def first_collision(values: Array) -> tuple[int, int] | None:
    """The earliest i, with the least j < i, such that row i repeats row j."""
    flat = _ranked(values)
    order = np.argsort(flat, kind="stable")
    ordered = flat[order]
    same = np.flatnonzero(ordered[1:] == ordered[:-1])
    if not len(same):
        return None
    later = order[same + 1]
    i = int(later.min())
    j = int(np.flatnonzero(flat == flat[i])[0])
    return j, i


def repeats(values: Array) -> tuple[Array, Array]:
    """(the different rows in order, how often each occurs)."""
    _, first, times = np.unique(_ranked(values), return_index=True, return_counts=True)
    return values[first], times


def _ranked(values: Array) -> Array:
    """One integer a row, in the order of the rows."""
    if values.ndim == 1:
        return values
    if values.shape[1] == 1:
        return values[:, 0]
    if values.dtype == object:
        order = {row: i for i, row in enumerate(sorted(set(map(tuple, values))))}
        return np.array([order[tuple(row)] for row in values])
    rank, ranks = np.zeros(len(values), dtype=np.int64), 1
    for column in values.T if len(values) else ():
        entry, entries = _dense(column)
        if ranks * entries >= 2**62:
            rank, ranks = _numbered(rank)
        rank, ranks = rank * entries + entry, ranks * entries
    return rank


def _dense(column: Array) -> tuple[Array, int]:
    """(integers from 0, a bound below 2^32): equal where entries are equal."""
    low, high = int(column.min()), int(column.max())
    return (column - low, high - low + 1) if high - low < 2**31 else _numbered(column)


def _numbered(column: Array) -> tuple[Array, int]:
    found, inverse = np.unique(column, return_inverse=True)
    return np.asarray(inverse).reshape(-1), len(found)


def first_outside(values: Array, low: Any, high: Any) -> int | None:
    """The first row with an entry below *low* or above *high* (by column)."""
    wrong = (values < low) | (values > high)
    hits = np.flatnonzero(wrong.any(axis=1) if wrong.ndim > 1 else wrong)
    return int(hits[0]) if len(hits) else None


def first_missing(values: Array, extents: tuple[int, ...]) -> tuple[int, ...] | None:
    """The first point of the box (first coordinate fastest) that no row hits; rows outside are ignored."""
    holes = np.flatnonzero(~_hit(values, extents))
    return unravel(int(holes[0]), extents) if len(holes) else None


def first_unshared(a: Array, b: Array, extents: tuple[int, ...]) -> tuple[int, ...] | None:
    """The first point of the box (first coordinate fastest) that is a row of one array only."""
    apart = np.flatnonzero(_hit(a, extents) != _hit(b, extents))
    return unravel(int(apart[0]), extents) if len(apart) else None


def _hit(values: Array, extents: tuple[int, ...]) -> Array:
    """For each point of the box, in linear order, whether it is a row."""
    rows = values.reshape(len(values), len(extents))
    inside = np.ones(len(rows), dtype=bool)
    index = np.zeros(len(rows), dtype=np.int64)
    step = 1
    for column, n in zip(rows.T, extents, strict=True):
        ok = (column >= 0) & (column < n)
        inside &= ok
        index += np.where(ok, column, 0).astype(np.int64) * step
        step *= n
    hit = np.zeros(math.prod(extents), dtype=bool)
    hit[index[inside]] = True
    return hit


def first_difference(a: Array, b: Array) -> int | None:
    """The first row that differs."""
    wrong = a != b
    hits = np.flatnonzero(wrong.any(axis=1) if wrong.ndim > 1 else wrong)
    return int(hits[0]) if len(hits) else None


def counts(values: Array, total: int) -> Array:
    """The number of occurrences of each value of [0, total)."""
    return np.bincount(values, minlength=total)


def unravel(i: int, extents: tuple[int, ...]) -> tuple[int, ...]:
    """The coordinate of a linear index, first entry fastest."""
    out = []
    for n in extents:
        i, c = divmod(i, n)
        out.append(c)
    return tuple(out)
