"""The tensor copies of a bf16 GEMM on Hopper, C (M,N) = A (M,K) B (N,K)^T, proved for all M, N, K.

CTA tiles of 128x128, four stages of 64 along K in 128B swizzle, a TMA store of C in two halves. For each operand: the
driver accepts the tensor map, no block's copy faults or leaves its buffer, the barrier awaits the bytes that arrive,
and the layout by which wgmma reads the tile matches the bytes that the copy wrote. Under 8 | K and 8 | N everything
holds; the claims at the end leave one of the conditions away, or make one usual mistake each.
"""

from checkers import SameBytes, TensorMapValid, TmaCopySafe
from symlayout import (
    ComposedLayout,
    Layout,
    Swizzle,
    ceil_div,
    dims,
    index,
    local_tile,
    make_tma_copy,
    tile_to_shape,
)

M, N, K = dims("M N K")
BM, BN, BK, STAGES = 128, 128, 64, 4
ALIGNED = (K.multiple_of(8), N.multiple_of(8))

SW128_K = ComposedLayout(Swizzle(3, 3, 3), 0, Layout((8, 64), (64, 1)))  # GMMA's K-major atom for 16-bit elements
SMEM_A = tile_to_shape(SW128_K, (BM, BK))
SMEM_C = tile_to_shape(SW128_K, (BM, 64))

COPY_A = make_tma_copy(Layout((M, K), (K, 1)), SMEM_A, dtype="bf16")
COPY_B = make_tma_copy(Layout((N, K), (K, 1)), tile_to_shape(SW128_K, (BN, BK)), dtype="bf16")
COPY_C = make_tma_copy(Layout((M, N), (N, 1)), SMEM_C, dtype="bf16")

bm, bn = index("bm", ceil_div(M, BM)), index("bn", ceil_div(N, BN))
k, stage, half = index("k", ceil_div(K, BK)), index("stage", STAGES), index("half", 2)
BYTES = COPY_A.bytes_per_instruction  # 16384, of A as of B


def start(copy, tile, at, step):
    """The coordinates of the instruction for one step of the tiles at *at* in the coordinate tensor."""
    tiles = copy.get_slice().partition_S(local_tile(copy.get_tma_tensor(), tile, at))
    return copy.coordinates(tiles((None, 0), 0, 0, step))


A_START, B_START = start(COPY_A, (BM, BK), (bm, None), k), start(COPY_B, (BN, BK), (bn, None), k)
C_START = start(COPY_C, (BM, 64), (bm, None), 2 * bn + half)  # (64*(2*bn + half), 128*bm)
LOADS = {"shared_bytes": 2 * STAGES * BYTES, "barrier_bytes": 2 * BYTES, "copies": 2, "given": ALIGNED}

a_map, b_map, c_map = (TensorMapValid(x, given=ALIGNED) for x in (COPY_A, COPY_B, COPY_C))
a_loads = TmaCopySafe(COPY_A, A_START, BYTES * stage, name="A", **LOADS)
b_loads = TmaCopySafe(COPY_B, B_START, BYTES * (STAGES + stage), name="B", **LOADS)
c_stores = TmaCopySafe(COPY_C, C_START, 16384 * half, "store", shared_bytes=32768, name="C", given=ALIGNED)
a_lands = SameBytes(COPY_A, SMEM_A)
c_lands = SameBytes(COPY_C, SMEM_C)

any_k = TensorMapValid(COPY_A, name="A", expect="refuted")  # holds if K % 8 == 0
any_n = TmaCopySafe(COPY_C, C_START, direction="store", name="C", expect="refuted")  # the columns next to C
half_armed = TmaCopySafe(COPY_A, A_START, barrier_bytes=BYTES // 2, name="A", expect="refuted")
stages_of_8k = TmaCopySafe(COPY_A, A_START, BYTES // 2 * stage, shared_bytes=STAGES * BYTES // 2, expect="refuted")
unaligned = SameBytes(COPY_A, SMEM_A, base_multiple_of=128, expect="refuted")  # 1024 is the swizzle's repeat
unswizzled = SameBytes(COPY_A, Layout((BM, BK), (BK, 1)), expect="refuted")
