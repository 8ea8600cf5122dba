"""Distributions of CK Tile that several tests are about: the examples of its documents and of its GEMM policies."""

from __future__ import annotations

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
