"""Slices of distributed tiles: a part of the tile that each thread has in a box of its own registers.

Sources: ROCm/composable_kernel, include/ck_tile/core/tensor/slice_tile.hpp and tile_distribution.hpp.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import overload

import numpy as np

from ...errors import LayoutError
from ...expr import integer
from ...int_tuple import text
from ...transforms.merge import row_major, total
from .distributed_tensor import StaticDistributedTensor, make_static_distributed_tensor
from .distribution import TileDistribution, numbers
from .tile_window import TileWindow

WHOLE = -1  # an end that is that of the dimension


@dataclass(frozen=True)
class SlicedDistribution:
    """A part of a tile: its distribution, and the box of Y of the whole tile that each thread has of it."""

    distribution: TileDistribution
    y_origins: tuple[int, ...]
    y_lengths: tuple[int, ...]


def slice_distribution_from_x(
    distribution: TileDistribution, slice_begins: Sequence[int], slice_ends: Sequence[int], mode: str = "exact"
) -> SlicedDistribution:
    """The part of a tile from *slice_begins* to before *slice_ends* (-1: to the end) as each thread has it.

    >>> from symlayout.ck_tile import TileDistributionEncoding
    >>> e = TileDistributionEncoding((), ((1, 4, 16), (4, 1, 4, 2, 4)), (((1, 1), (2, 1)), ((2, 3), (1, 2))),
    ...                              ((1, 0), (2, 0), (2, 2), (2, 4)))
    >>> found = slice_distribution_from_x(TileDistribution(e), (0, 48), (64, 64))
    >>> found.distribution.encoding.H, found.y_origins, found.y_lengths
    (((1, 4, 16), (1, 1, 2, 2, 4)), (0, 1, 2, 0), (1, 1, 2, 4))

    Raises LayoutError where the part is no box of Y that is the same for all threads: where it would split what lies
    on several of them, or begins between two registers.

    Upstream divides begin and length by the factors that threads own, and takes a box of that size among a thread's own
    registers: ``mode="ck"`` does so too. Where threads own a factor above one that is cut, that is another part of the
    tile than the one that was asked for.
    """
    if mode not in ("exact", "ck"):
        raise LayoutError(f'expected "exact" or "ck" as mode, got {mode!r}')
    lengths = numbers(distribution.lengths, str(distribution))
    begins, ends = _box(lengths, slice_begins, slice_ends)
    e = distribution.encoding
    cut = _own if mode == "ck" else _whole
    parts = [cut(distribution, k, b, n - b) for k, (b, n) in enumerate(zip(begins, ends, strict=True))]
    made = TileDistribution(replace(e, H=tuple(kept for kept, _ in parts)))
    origins = tuple(parts[major - 1][1][minor] for major, minor in e.Y)
    return SlicedDistribution(made, origins, numbers(made.encoding.y_lengths, str(made)))


def _box(lengths: Sequence[int], begins: Sequence[int], ends: Sequence[int]) -> tuple[list[int], list[int]]:
    """Begins and ends as numbers inside the tile."""
    if not len(begins) == len(ends) == len(lengths):
        raise LayoutError(
            f"expected a begin and an end for each of {len(lengths)} dimensions, "
            f"got {text(tuple(begins))} and {text(tuple(ends))}"
        )
    low, high = list(begins), [n if e == WHOLE else e for e, n in zip(ends, lengths, strict=True)]
    for b, e, n in zip(low, high, lengths, strict=True):
        if type(b) is not int or type(e) is not int or not 0 <= b < e <= n:
            raise LayoutError(f"expected a part of 0 .. {n}, got {b} .. {e}")
    return low, high


def _whole(d: TileDistribution, k: int, begin: int, length: int) -> tuple[tuple[int, ...], list[int]]:
    """(factors of the part, the digit at which each begins): whole ones from the fastest on, a part of one, then 1."""
    h, owned = numbers(d.encoding.H[k], str(d)), {pair for pair in d.encoding.Y if pair[0] == k + 1}
    kept: list[int] = []
    origins: list[int] = []
    left, weight = length, 1
    for minor in reversed(range(len(h))):
        n, mine = h[minor], (k + 1, minor) in owned
        take = n if left % n == 0 else left
        digit = begin // weight % n
        what = f"factor ({k + 1},{minor}) of H{k}, of length {n}"
        if take < n and not mine:
            raise LayoutError(f"expected a part of {length} that splits no threads, got {take} of {what}, which P owns")
        if take > n or (take < n and digit + take > n):
            raise LayoutError(f"expected a part that is a box of factors, got {left} of {what} from {digit} on")
        if take == n and digit:
            raise LayoutError(
                f"expected a part that begins at a multiple of {weight * n}, got {begin} of dimension {k}"
            )
        kept.insert(0, take)
        origins.insert(0, digit)
        left, weight = left // take if left % take == 0 else 0, weight * n
        left = 1 if take < n else left
    return tuple(kept), origins


def _own(d: TileDistribution, k: int, begin: int, length: int) -> tuple[tuple[int, ...], list[int]]:
    """The same by upstream's rule of 2025: what threads own stays, their own factors are cut from the fastest on."""
    h, owned = numbers(d.encoding.H[k], str(d)), {pair[1] for pair in d.encoding.Y if pair[0] == k + 1}
    threads = total([n for m, n in enumerate(h) if m not in owned])
    if length % threads or begin % threads:
        raise LayoutError(f"expected multiples of {threads}, which threads own of dimension {k}, got {begin}, {length}")
    own = [n if m in owned else 1 for m, n in enumerate(h)]
    kept, left = list(h), length // threads
    for m in sorted(owned, reverse=True):
        kept[m] = math.gcd(h[m], left)
        left //= kept[m]
    if left != 1:
        raise LayoutError(f"expected a length that divides what a thread has of dimension {k}, got {length}")
    return tuple(kept), [begin // threads // s % n for s, n in zip(row_major(own), own, strict=True)]


# -- of tensors and windows -----------------------------------------------------------------------------------


@overload
def get_slice_tile(
    tile: StaticDistributedTensor, slice_begins: Sequence[int], slice_ends: Sequence[int], mode: str = "exact"
) -> StaticDistributedTensor: ...
@overload
def get_slice_tile(
    tile: TileWindow, slice_begins: Sequence[int], slice_ends: Sequence[int], mode: str = "exact"
) -> TileWindow: ...
def get_slice_tile(
    tile: StaticDistributedTensor | TileWindow,
    slice_begins: Sequence[int],
    slice_ends: Sequence[int],
    mode: str = "exact",
) -> StaticDistributedTensor | TileWindow:
    """A part of a distributed tensor, copied; or a window on a part of a window, without a distribution.

    >>> from symlayout.ck_tile import *
    >>> view = make_naive_tensor_view_packed(range(100), (10, 10))
    >>> print(get_slice_tile(make_tile_window(view, (4, 4), (2, 3)), (1, 0), (3, 4)).origin)
    (3, 3)

    Upstream *replaces* the origin of a window by the begins, as ``mode="ck"`` does.
    """
    if isinstance(tile, TileWindow):
        begins, ends = _box(numbers(tile.lengths, "the lengths of a window"), slice_begins, slice_ends)
        moved = [b if mode == "ck" else integer(o) + b for o, b in zip(tile.origin, begins, strict=True)]
        lengths = tuple(e - b for b, e in zip(begins, ends, strict=True))
        return replace(tile, lengths=lengths, origin=tuple(moved), distribution=None)
    part = slice_distribution_from_x(tile.distribution, slice_begins, slice_ends, mode)
    out = make_static_distributed_tensor(tile.dtype, part.distribution)
    for p in tile.distribution.partitions():
        out.registers[p] = tile.get_y_sliced_thread_data(p, part.y_origins, part.y_lengths)
    return out


def set_slice_tile(
    dst_tile: StaticDistributedTensor,
    src_tile: StaticDistributedTensor,
    slice_begins: Sequence[int],
    slice_ends: Sequence[int],
    mode: str = "exact",
) -> None:
    """Write a part of a distributed tensor. Raises LayoutError where *src_tile* is not distributed as that part."""
    part = slice_distribution_from_x(dst_tile.distribution, slice_begins, slice_ends, mode)
    if src_tile.distribution != part.distribution:
        raise LayoutError(f"expected a tile of {part.distribution.encoding}, got {src_tile.distribution.encoding}")
    lengths = numbers(dst_tile.distribution.encoding.y_lengths, str(dst_tile.distribution))
    box = tuple(slice(o, o + n) for o, n in zip(part.y_origins, part.y_lengths, strict=True))
    for p in dst_tile.distribution.partitions():
        whole = np.reshape(dst_tile.registers[p], lengths)
        whole[box] = np.reshape(src_tile.registers[p], part.y_lengths)
        dst_tile.registers[p] = whole.reshape(-1)


__all__ = ["SlicedDistribution", "get_slice_tile", "set_slice_tile", "slice_distribution_from_x"]
