"""A kernel of tile windows: a padded GEMM view is loaded and stored by the tiles and threads of CK's policy.

The A operand of 128 x 32 tiles in bf16, of any M and K and any row stride. The window loads become copies of the
kernel, vector by vector: one validity, that of the first element, holds for each vector, and what lies outside is 0.
A view that is padded in one dimension alone is refuted, and a row that 8 does not divide.
"""

import ml_dtypes
import numpy as np

from checkers import DistributionCovers, GuaranteedVectorLength, MaskIsExactly, NoInvalidAccess, claims_of
from symlayout import ceil_div, dim
from symlayout.ck_tile import (
    kernel_view,
    load_tile,
    make_naive_tensor_view,
    make_static_tile_distribution,
    make_tile_window,
    pad_tensor_view,
    store_tile,
    tile_distribution_encoding,
)
from symlayout.kernel import Builder
from symlayout.results import element

TILE = (128, 32)
M, K = dim("M"), dim("K", at_most=32 * 65535)  # of a grid whose y axis has 65535 CTAs at most
lda = dim("lda", at_least=K)

# upstream's policy for 256 threads and vectors of 8: warps and lanes over rows, four lanes to a row
DRAM = make_static_tile_distribution(
    tile_distribution_encoding((1,), ((2, 4, 16), (4, 8)), ((1,), (1, 2)), ((1,), (2, 0)), (1, 2), (0, 1))
)


def matrix(stride, pads=(True, True)):
    """An M x K view with rows *stride* apart, padded to whole tiles."""
    return pad_tensor_view(make_naive_tensor_view(None, (M, K), (stride, 1), 8, 1, dtype="bf16"), TILE, pads)


def build(pads=(True, True)):
    """(kernel, window it loads): each CTA moves a tile."""
    k = Builder("padded_copy", M, K, lda, grid=(ceil_div(M, 128), ceil_div(K, 32)), threads=256)
    a, b = kernel_view(k, "a", matrix(lda, pads)), kernel_view(k, "b", matrix(K))
    source, target = (make_tile_window(v, TILE, (128 * k.block[0], 32 * k.block[1]), DRAM) for v in (a, b))
    store_tile(target, load_tile(source))
    k.result("b", lambda m, n: element("a", m, n))
    return k.kernel(K.multiple_of(8), lda.multiple_of(8), reference=lambda a: {"b": a.copy()}), source.window


KERNEL, WINDOW = build()
copy_is_right = claims_of(KERNEL)

# The same of the window alone, as CK's compiler sees it.
stays_inside = NoInvalidAccess(WINDOW.access, WINDOW.buffer.size)
masks_exactly = MaskIsExactly(
    WINDOW.access,
    lambda bm, bk, warp, lane, y0, y1: (
        128 * bm + 64 * y0 + 16 * warp + lane // 4 < M,
        32 * bk + 8 * (lane % 4) + y1 < K,
    ),
)
vectors = GuaranteedVectorLength(WINDOW.access, 8, -1, 1, given=K.multiple_of(8))
vectors_of_any_row = GuaranteedVectorLength(WINDOW.access, 8, -1, 1, expect="refuted")
every_element_has_a_holder = DistributionCovers(DRAM)

rows_overhang = NoInvalidAccess(build((False, True))[1].access, WINDOW.buffer.size, expect="refuted")


def main() -> None:
    """The kernel, and what its untimed run leaves."""
    from symlayout.semantics import expect_reference

    print(KERNEL.text())
    a = np.arange(150 * 40, dtype=np.float32).reshape(150, 40).astype(ml_dtypes.bfloat16)
    expect_reference(KERNEL.bind(M=150, K=40, lda=40), {"a": a}, order="lazy")
    print("150 x 40 in 2 x 2 tiles: equal")


if __name__ == "__main__":
    main()
