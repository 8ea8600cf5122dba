"""Columns of bits over F2, as integers: rank, echelon form, products."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def f2_rank(columns: Sequence[int]) -> int:
    """The rank over F2 of integers read as vectors of bits, negative ones in two's complement.

    >>> f2_rank((1, 2, 3))
    2
    """
    if columns and min(columns) > 0 and len(set(map(int.bit_length, columns))) == len(columns):
        return len(columns)  # all leading bits differ, as after every swizzle with shift > 0
    pivots: dict[int, int] = {}
    for v in columns:
        while v:
            low = v & -v
            other = pivots.get(low)
            if other is None:
                pivots[low] = v
                break
            v ^= other
    return len(pivots)


def echelon(columns: Sequence[int]) -> tuple[dict[int, int], tuple[int, ...], int]:
    """(lowest bit -> vector, kernel, width); above bit *width* a vector says which columns were added up."""
    width = bit_width(columns) + 1  # one more: the sign of a negative column is a bit too
    mask, kernel = (1 << width) - 1, []
    pivots: dict[int, int] = {}
    for j, c in enumerate(columns):
        word = c & mask | 1 << width + j
        low = word & -word
        while low in pivots:
            word ^= pivots[low]
            low = word & -word
        if low > mask:
            kernel.append(word >> width)
        else:
            pivots[low] = word
    return pivots, tuple(kernel), width


def fully_reduced(pivots: dict[int, int]) -> dict[int, int]:
    """The same span with each pivot bit in one vector only."""
    every, out = sum(pivots), dict[int, int]()
    for pivot in sorted(pivots, reverse=True):
        word = pivots[pivot]
        others = word & every ^ pivot
        while others:
            low = others & -others
            word ^= out[low]
            others ^= low
        out[pivot] = word
    return out


def product(columns: Sequence[int], x: int) -> int:
    """The matrix of these columns times a vector: the xor of the columns at the bits of x."""
    out = 0
    for c in columns:
        if x & 1:
            out ^= c
        x >>= 1
    return out


def disjoint(columns: Iterable[int]) -> bool:
    """Whether no two columns share a bit."""
    seen = 0
    for c in columns:
        if c & seen:
            return False
        seen |= c
    return True


def bit_width(values: Iterable[int]) -> int:
    """The bits that the longest of some values has."""
    return max(map(int.bit_length, values), default=0)
