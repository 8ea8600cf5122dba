"""Distributions of CK Tile that several tests are about: the examples of its documents and of its GEMM policies."""

from __future__ import annotations

import contextlib
import random
from dataclasses import replace
from typing import Any

from symlayout import LayoutError
from symlayout.ck_tile import TileDistributionEncoding, make_embed_tile_distribution_encoding

# docs/conceptual/ck_tile/tile_distribution.rst: 2 x 2 elements a thread, 2 x 2 threads.
DOCUMENT = TileDistributionEncoding((), ((2, 2), (2, 2)), (((1, 0),), ((2, 0),)), ((1, 1), (2, 1)))

# The A tile of a GEMM from global memory: f16, 128 x 32, 256 threads
# (include/ck_tile/ops/gemm/pipeline/gemm_universal_pipeline_ag_bg_cr_policy.hpp).
GEMM_A = TileDistributionEncoding((1,), ((2, 4, 16), (4, 8)), (((1, 1),), ((1, 2), (2, 0))), ((1, 0), (2, 1)))

# A fragments that two warps share, of a 32 x 32 x 8 instruction.
OUTER = TileDistributionEncoding((2,), ((2, 2), (2,)), (((1, 1), (0, 0)),), ((1, 0), (2, 0)))
INNER = TileDistributionEncoding((), ((32,), (2, 4)), (((2, 0), (1, 0)),), ((2, 1),))
FRAGMENTS = make_embed_tile_distribution_encoding(OUTER, INNER)

# The accumulator of 32 x 32, of one warp.
ACCUMULATOR = TileDistributionEncoding((), ((4, 2, 4), (32,)), (((1, 1), (2, 0)),), ((1, 0), (1, 2)))

ALL = (DOCUMENT, GEMM_A, FRAGMENTS, ACCUMULATOR)


def mutants(e: TileDistributionEncoding) -> list[TileDistributionEncoding]:
    """Each mechanical change of one part of an encoding that still has a meaning: a length, a pair, an order, a loss."""
    out: list[TileDistributionEncoding] = []

    def add(**parts: Any) -> None:
        with contextlib.suppress(LayoutError):
            made = replace(e, **parts)
            if made != e and made not in out:
                out.append(made)

    pairs = [(0, m) for m in range(len(e.R))] + [(k + 1, m) for k, h in enumerate(e.H) for m in range(len(h))]
    for i in range(len(e.R)):
        add(R=_put(e.R, i, 2 * e.R[i]))
    for k, h in enumerate(e.H):
        for m, n in enumerate(h):
            add(H=_put(e.H, k, _put(h, m, 2 * n)))
            add(H=_put(e.H, k, _put(h, m, max(1, n // 2))))
        add(H=_put(e.H, k, tuple(reversed(h))))
    for i, p in enumerate(e.P):
        add(P=_put(e.P, i, tuple(reversed(p))))
        for j in range(len(p)):
            add(P=_put(e.P, i, (*p[:j], *p[j + 1 :])))
            for pair in pairs:
                add(P=_put(e.P, i, _put(p, j, pair)))
    add(P=tuple(reversed(e.P)))
    for i in range(len(e.Y)):
        add(Y=(*e.Y[:i], *e.Y[i + 1 :]))
        for pair in pairs:
            add(Y=_put(e.Y, i, pair))
    add(Y=tuple(reversed(e.Y)))
    return out


def _put(xs: tuple[Any, ...], i: int, x: Any) -> tuple[Any, ...]:
    return (*xs[:i], x, *xs[i + 1 :])


def random_encoding(rng: random.Random, exact: float = 0.5) -> TileDistributionEncoding:
    """A small encoding; of *exact* of them each factor has one owner, others own factors twice or not at all."""
    r = tuple(rng.choice((1, 2, 3)) for _ in range(rng.randint(0, 2)))
    h = tuple(tuple(rng.choice((1, 2, 3, 4)) for _ in range(rng.randint(1, 3))) for _ in range(rng.randint(1, 2)))
    ps: list[list[tuple[int, int]]] = [[] for _ in range(rng.randint(1, 2))]
    ys: list[tuple[int, int]] = []
    careless = rng.random() >= exact
    pairs = [(0, m) for m in range(len(r))] + [(k + 1, m) for k, f in enumerate(h) for m in range(len(f))]
    rng.shuffle(pairs)
    for pair in pairs:
        for _ in range(rng.choice((0, 1, 1, 1, 2)) if careless else 1):
            owner = rng.randint(0, len(ps))
            (ys if owner == len(ps) and pair[0] else ps[min(owner, len(ps) - 1)]).append(pair)
    return TileDistributionEncoding(r, h, tuple(map(tuple, ps)), tuple(ys))
