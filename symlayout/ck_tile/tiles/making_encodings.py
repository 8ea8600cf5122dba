"""Encodings from others: one inside another, a tile dimension reduced.

Source: ROCm/composable_kernel, include/ck_tile/core/tensor/tile_distribution_encoding.hpp.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import LayoutError
from ...int_tuple import text
from .encoding import Pair, TileDistributionEncoding


def make_embed_tile_distribution_encoding(
    outer: TileDistributionEncoding, inner: TileDistributionEncoding
) -> TileDistributionEncoding:
    """The tile of warps, *outer*, in each element of which is the tile of a warp, *inner*.

    Factors of a tile dimension are those of the outer, then those of the inner; so are R, P and Y.

    >>> outer = TileDistributionEncoding((2,), ((2, 2), (2,)), (((1, 1), (0, 0)),), ((1, 0), (2, 0)))
    >>> inner = TileDistributionEncoding((), ((32,), (2, 4)), (((2, 0), (1, 0)),), ((2, 1),))
    >>> print(make_embed_tile_distribution_encoding(outer, inner))
    R=[2] H=[(2,2,32),(2,2,4)] P0=[(1,1),(0,0)] P1=[(2,1),(1,2)] Y0=(1,0) Y1=(2,0) Y2=(2,2)

    Raises LayoutError for tiles of other ranks.
    """
    if len(outer.H) != len(inner.H):
        raise LayoutError(f"expected tiles of one rank, got {len(outer.H)} and {len(inner.H)} dimensions")
    before = (len(outer.R), *map(len, outer.H))

    def moved(pair: Pair) -> Pair:
        return pair[0], pair[1] + before[pair[0]]

    return TileDistributionEncoding(
        (*outer.R, *inner.R),
        tuple((*a, *b) for a, b in zip(outer.H, inner.H, strict=True)),
        (*outer.P, *(tuple(map(moved, p)) for p in inner.P)),
        (*outer.Y, *map(moved, inner.Y)),
    )


def make_reduce_tile_distribution_encoding(
    encoding: TileDistributionEncoding, reduce_dim_xs: Sequence[int]
) -> TileDistributionEncoding:
    """The encoding of what is left when tile dimensions are reduced: threads along them hold the same element.

    Factors of P become lengths of R behind those that are there, factors of Y go.

    >>> e = TileDistributionEncoding((), ((4, 2, 4), (32,)), (((1, 1), (2, 0)),), ((1, 0), (1, 2)))
    >>> print(make_reduce_tile_distribution_encoding(e, (1,)))
    R=[32] H=[(4,2,4)] P0=[(1,1),(0,0)] Y0=(1,0) Y1=(1,2)

    Raises LayoutError for dimensions that the tile does not have, and where none is left.
    """
    rank = len(encoding.H)
    reduced = sorted(set(reduce_dim_xs))
    if any(type(x) is not int or not 0 <= x < rank for x in reduced) or len(reduced) == rank:
        raise LayoutError(f"expected some of the dimensions 0 .. {rank - 1}, got {text(tuple(reduce_dim_xs))}")
    kept = [k for k in range(rank) if k not in reduced]
    majors = {0: 0, **{k + 1: i + 1 for i, k in enumerate(kept)}}
    by_p = {pair for p in encoding.P for pair in p}
    names: dict[Pair, Pair] = {(0, minor): (0, minor) for minor in range(len(encoding.R))}
    r = list(encoding.R)
    for k in reduced:
        for minor, n in enumerate(encoding.H[k]):
            if (k + 1, minor) in by_p:
                names[k + 1, minor] = (0, len(r))
                r.append(n)
    for k in kept:
        names.update({(k + 1, minor): (majors[k + 1], minor) for minor in range(len(encoding.H[k]))})
    return TileDistributionEncoding(
        tuple(r),
        tuple(encoding.H[k] for k in kept),
        tuple(tuple(names[pair] for pair in p) for p in encoding.P),
        tuple(names[y] for y in encoding.Y if y[0] - 1 in kept),
    )
