"""Operands of CK Tile kernels for all sizes: a padded GEMM operand, implicit GEMM, and swizzled tiles of LDS.

A padded view masks exactly what lies outside, its vectors straddle nothing where they divide the row, and the merge of
an implicit GEMM is proved by its digits. The tile of the universal GEMM policy at 96 x 48 has an xor over 6 chunks,
which is no power of two: 3600 of its 4608 offsets are different, and some lie past the end (ROCm/composable_kernel,
include/ck_tile/ops/gemm/pipeline/gemm_universal_pipeline_ag_bg_cr_policy.hpp).
"""

from checkers import (
    Bijective,
    GuaranteedVectorLength,
    Injective,
    LdsConflictDegree,
    MaskIsExactly,
    MovingEqualsMaking,
    NoInvalidAccess,
    VectorDoesNotStraddle,
)
from symlayout import dim, dims
from symlayout.address_map import AddressMap
from symlayout.banks import CDNA_READ_B128, Access
from symlayout.ck_tile import (
    layout_of,
    make_embed_transform,
    make_merge_transform,
    make_naive_tensor_descriptor,
    make_naive_tensor_view,
    make_pad_transform,
    make_pass_through_transform,
    make_unmerge_transform,
    make_xor_transform,
    pad_tensor_view,
    transform_tensor_descriptor,
)

M, K = dims("M K")
lda = dim("lda", at_least=K)
A = pad_tensor_view(make_naive_tensor_view(None, (M, K), (lda, 1), dtype="f16"), (128, 64), (True, True))
a_stays_inside = NoInvalidAccess(A)
a_masks_exactly = MaskIsExactly(A, lambda i, k: (i < M, k < K))
a_moves = MovingEqualsMaking(A)
vectors_of_a = GuaranteedVectorLength(A, 8, -1, 1, given=K.multiple_of(8))
vectors_of_any_k = VectorDoesNotStraddle(A, 8, expect="refuted")

# Implicit GEMM: pad the image, embed the taps, merge to (n*ho*wo, y*x*c).
N, H, W, C, Y, X, Ho, Wo = dims("N H W C Y X Ho Wo")
stride, dilation, pad = dim("stride"), dim("dilation"), dim("pad", at_least=0)
keep, each = make_pass_through_transform, ((0,), (1,), (2,), (3,))
IMAGE = make_naive_tensor_descriptor((N, H, W, C), (H * W * C, W * C, C, 1))
PADDED = transform_tensor_descriptor(
    IMAGE, (keep(N), make_pad_transform(H, pad, pad), make_pad_transform(W, pad, pad), keep(C)), each, each
)
TAPS = transform_tensor_descriptor(
    PADDED,
    (
        keep(N),
        make_embed_transform((Y, Ho), (dilation, stride)),
        make_embed_transform((X, Wo), (dilation, stride)),
        keep(C),
    ),
    each,
    ((0,), (1, 2), (3, 4), (5,)),
)
IM2COL = transform_tensor_descriptor(
    TAPS, (make_merge_transform((N, Ho, Wo)), make_merge_transform((Y, X, C))), ((0, 2, 4), (1, 3, 5)), ((0,), (1,))
)
im2col_stays_inside = NoInvalidAccess(IM2COL)
im2col_vectors = GuaranteedVectorLength(IM2COL, 8, -1, 1, given=C.multiple_of(8))
im2col_moves = MovingEqualsMaking(IM2COL)


def lds_tile(m, k, q, element_bytes=2):
    """The row-major A tile: chunks of q, xored with the row of a 128-byte line."""
    k0, rows = k // q, max(1, 128 // k // element_bytes)
    d = make_naive_tensor_descriptor((k0 * rows, m // rows, q), (q, k * rows, 1), q, 1)
    d = transform_tensor_descriptor(
        d, (make_xor_transform((m // rows, k0 * rows)), keep(q)), ((1, 0), (2,)), ((1, 0), (2,))
    )
    split = make_unmerge_transform((k0, rows)), keep(m // rows), keep(q)
    d = transform_tensor_descriptor(d, split, ((0,), (1,), (2,)), ((0, 2), (1,), (3,)))
    merges = make_merge_transform((m // rows, rows)), make_merge_transform((k0, q))
    return transform_tensor_descriptor(d, merges, ((1, 2), (0, 3)), ((0,), (1,)))


TILE = lds_tile(128, 64, 8)
tile_is_bijective = Bijective(TILE, onto=128 * 64)
tile_vectors = GuaranteedVectorLength(TILE)

READ = Access(16, lanes=64, groups=CDNA_READ_B128)  # ds_read_b128 of a wave of 64
read_of_a_fragment = LdsConflictDegree(
    AddressMap.over(lambda lane, step: TILE((lane % 32, 8 * (lane // 32) + 16 * step)), (64, 4)), 2, READ
)

ODD = lds_tile(96, 48, 8)
odd_tile_collides = Injective(ODD, expect="refuted")
odd_tile_overruns = NoInvalidAccess(ODD, expect="refuted")


def main() -> None:
    """The tiles in CuTe's words, and what the odd one does."""
    print("128 x 64:", layout_of(TILE))
    print("128 x 32:", layout_of(lds_tile(128, 32, 8)))
    offsets = [ODD((m, k)) for m in range(96) for k in range(48)]
    different = len(set(offsets))
    print(
        f"96 x 48: {different} different offsets of {len(offsets)}, the last {max(offsets)} in {ODD.element_space_size}"
    )


if __name__ == "__main__":
    main()
