"""Distributions as CuTe's thread-value layouts, and thread-value layouts as distributions where there is one.

    >>> from symlayout.ck_tile import TileDistribution, TileDistributionEncoding
    >>> e = TileDistributionEncoding((1,), ((2, 4, 16), (4, 8)), (((1, 1),), ((1, 2), (2, 0))), ((1, 0), (2, 1)))
    >>> tv = thread_value_layout(TileDistribution(e))
    >>> print(tv)
    ((4,16,4),(8,2)):((1024,1,16),(128,64))
    >>> print(distribution_of(tv, (128, 32)).encoding)
    R=[] H=[(2,4,16),(4,8)] P0=[(1,1)] P1=[(1,2),(2,0)] Y0=(1,0) Y1=(2,1)

A thread is warp * lanes + lane, a value the register D, an element of the tile its number with the first dimension
fastest, as CuTe counts. CuTe's first mode is the fastest, CK's last list entry: modes are the lists reversed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ...errors import LayoutError
from ...expr import Int
from ...int_tuple import is_one, leaves, text
from ...layout import Layout
from ...strides import as_modes
from ...transforms.merge import total
from .distribution import TileDistribution, make_static_tile_distribution
from .encoding import Pair, TileDistributionEncoding

WAVE = 64  # lanes of a wave of AMD CDNA (gfx9)


def thread_value_layout(distribution: TileDistribution) -> Layout:
    """(thread, value) -> element of the tile; every distribution in which each factor has one owner has one.

    >>> from symlayout.ck_tile import TileDistribution, TileDistributionEncoding
    >>> e = TileDistributionEncoding((2,), ((4, 8),), (((0, 0),), ((1, 0),)), ((1, 1),))
    >>> print(thread_value_layout(TileDistribution(e)))
    ((4,2),8):((8,0),1)

    A factor of R is a mode of stride 0 among the threads. Raises LayoutError with the faults of other encodings.
    """
    e = distribution.encoding
    faults = e.faults()
    if faults:
        raise LayoutError(f"expected each factor with one owner, got {e}: {'; '.join(faults)}")
    threads = [pair for p in reversed(e.P) for pair in reversed(p)]
    parts = [_mode(e, pairs) for pairs in (threads, [*reversed(e.Y)])]
    return Layout(tuple(s for s, _ in parts), tuple(d for _, d in parts))


def _mode(e: TileDistributionEncoding, pairs: Sequence[Pair]) -> tuple[Any, Any]:
    """(shape, stride) of some factors, the fastest first; factors of length 1 go."""
    found = [(e.length_of(pair), _stride(e, pair)) for pair in pairs if not is_one(e.length_of(pair))] or [(1, 0)]
    if len(found) == 1:
        return found[0]
    return tuple(n for n, _ in found), tuple(d for _, d in found)


def _stride(e: TileDistributionEncoding, pair: Pair) -> Any:
    """What a step of a factor adds to the number of the element."""
    return 0 if pair[0] == 0 else total(e.x_lengths[: pair[0] - 1]) * e.weight_of(pair)


# -- from layouts -----------------------------------------------------------------------------------------


class _Piece(NamedTuple):
    """*n* steps of a factor of tile dimension *k* (None: of R), each *weight* wide, owned by *owner* at *place*."""

    n: int
    k: int | None
    weight: int
    owner: str


def distribution_of(layout: Layout, tile: Sequence[int], wave_size: int = WAVE) -> TileDistribution:
    """The distribution that is the same function as a (thread, value) layout into a tile.

    >>> print(distribution_of(Layout(((4, 8), (2, 2)), ((16, 1), (8, 64))), (8, 16), wave_size=32).encoding)
    R=[] H=[(8),(2,4,2)] P0=[(1,0),(2,1)] Y0=(2,0) Y1=(2,2)

    It exists where no mode leaves its tile dimension or is cut by one, where the modes of each dimension are a chain
    (the smallest stride 1, each next the product of those before, all together the length), where only threads
    replicate, and where a mode may be cut at the wave. Raises LayoutError with the first reason where there is none:
    gaps, overlaps, a swizzle (put an xor into the view instead), symbolic sizes.
    """
    threads, values = _modes_of(layout)
    lengths = tuple(tile)
    if any(type(n) is not int or n < 1 for n in lengths) or not lengths:
        raise LayoutError(f"expected the lengths of a tile as numbers of at least 1, got {text(lengths)}")
    lanes, warps = _cut_at_wave(threads, wave_size)
    owners = (("P1", lanes), ("P0", warps)) if warps else (("P0", lanes),)
    pieces = [p for owner, modes in (*owners, ("Y", values)) for n, d in modes for p in _pieces(n, d, lengths, owner)]
    for p in pieces:
        if p.k is None and p.owner == "Y":
            raise LayoutError(f"expected values that are different elements, got {p.n} values of stride 0 in {layout}")
    chains = [_chain(k, n, [p for p in pieces if p.k == k]) for k, n in enumerate(lengths)]
    replicated = [p for p in reversed(pieces) if p.k is None]

    def pair(p: _Piece) -> Pair:
        if p.k is None:
            return 0, next(i for i, q in enumerate(replicated) if q is p)
        return p.k + 1, next(i for i, q in enumerate(chains[p.k]) if q is p)

    def owned(owner: str) -> tuple[Pair, ...]:
        return tuple(pair(p) for p in reversed(pieces) if p.owner == owner)

    return make_static_tile_distribution(
        TileDistributionEncoding(
            tuple(p.n for p in replicated),
            tuple(tuple(p.n for p in c) or (1,) for c in chains),
            tuple(owned(name) for name in sorted(name for name, _ in owners)),
            owned("Y"),
        )
    )


def _modes_of(layout: Any) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """(length, stride) of the modes of threads and of values, the fastest first, without those of length 1."""
    if not isinstance(layout, Layout):
        raise LayoutError(
            f"expected a plain layout of (thread, value), got {layout}; a swizzle is no distribution: "
            "put make_xor_transform into the descriptor of the view"
        )
    if not layout.static or layout.has_bases or len(as_modes(layout.shape)) != 2:
        raise LayoutError(f"expected a layout of (thread, value) with numbers as shape and strides, got {layout}")
    out: list[list[tuple[int, int]]] = []
    for s, d in zip(as_modes(layout.shape), as_modes(layout.stride), strict=True):
        modes = [(int(n), int(x)) for n, x in zip(leaves(s), leaves(d), strict=True) if n != 1]
        down = next((x for _, x in modes if x < 0), None)
        if down is not None:
            raise LayoutError(f"expected strides of at least 0, got {down} in {layout}")
        out.append(modes)
    return out[0], out[1]


def _cut_at_wave(modes: list[tuple[int, int]], wave: int) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """(modes of the lanes, modes of the warps); fewer threads than a wave are lanes all."""
    threads = total([n for n, _ in modes])
    if threads <= wave:
        return modes, []
    lanes: list[tuple[int, int]] = []
    done = 1
    for i, (n, d) in enumerate(modes):
        if done == wave:
            return lanes, modes[i:]
        room = wave // done
        if wave % done or (n > room and n % room):
            break
        if n > room:
            return [*lanes, (room, d)], [(n // room, room * d), *modes[i + 1 :]]
        lanes.append((n, d))
        done *= n
    raise LayoutError(f"expected thread modes that are cut at the wave of {wave}, got lengths {[n for n, _ in modes]}")


def _pieces(n: int, d: int, tile: Sequence[int], owner: str) -> list[_Piece]:
    """A mode in parts that each lie in one tile dimension, the fastest first."""
    if d == 0:
        return [_Piece(n, None, 0, owner)]
    k = next((k for k in range(len(tile)) if d < total(tile[: k + 1])), None)
    if k is None:
        raise LayoutError(f"expected strides below the {total(tile)} elements of the tile {text(tuple(tile))}, got {d}")
    size, length = total(tile[:k]), tile[k]
    weight, off = divmod(d, size)
    if off:
        raise LayoutError(
            f"expected strides that are multiples of {size} in dimension {k} of the tile {text(tuple(tile))}, got {d}"
        )
    if weight * (n - 1) < length:
        return [_Piece(n, k, weight, owner)]
    room = length // weight
    if length % weight or n % room:
        raise LayoutError(
            f"expected modes that stay in dimension {k} of length {length}, or fill it, got {n}:{d}, which leaves it"
        )
    return [_Piece(room, k, weight, owner), *_pieces(n // room, d * room, tile, owner)]


def _chain(k: int, length: int, pieces: list[_Piece]) -> list[_Piece]:
    """The factors of a dimension, the slowest first."""
    found = sorted(pieces, key=lambda p: p.weight)
    weight: Int = 1
    for p in found:
        if p.weight != weight:
            what = "a gap" if p.weight > weight else "an overlap"
            raise LayoutError(
                f"expected modes of dimension {k} that follow one another, got {what}: stride {p.weight} after "
                f"{weight} elements"
            )
        weight = weight * p.n
    if weight != length:
        raise LayoutError(f"expected modes that fill the {length} elements of dimension {k}, got {weight}")
    return found[::-1]


__all__ = ["distribution_of", "thread_value_layout"]
