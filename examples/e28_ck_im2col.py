"""A kernel that writes the columns of implicit GEMM: pad, embed and merge, loaded by tile windows.

Images of 28 x 28 x 64 in bf16, any number of them, a filter of 3 x 3 and a padding of 1. The window looks at the merged
indices alone; the mask of each vector is that of the image's pads, behind two merges. The same view with every size a
symbol is proved in ``e26_ck_gemm_and_im2col.py``.
"""

import numpy as np

from checkers import GuaranteedVectorLength, MovingEqualsMaking, NoInvalidAccess, claims_of
from symlayout import ceil_div, dim
from symlayout.ck_tile import (
    kernel_view,
    load_tile,
    make_embed_transform,
    make_merge_transform,
    make_naive_tensor_view,
    make_pad_transform,
    make_pass_through_transform,
    make_static_tile_distribution,
    make_tile_window,
    pad_tensor_view,
    store_tile,
    tile_distribution_encoding,
    transform_tensor_view,
)
from symlayout.kernel import Builder

N = dim("N", at_most=1 << 20)
H, W, C, Y, X, PAD = 28, 28, 64, 3, 3, 1
ROWS, COLUMNS, TILE = N * H * W, Y * X * C, (128, 32)
EACH = ((0,), (1,), (2,), (3,))

DRAM = make_static_tile_distribution(
    tile_distribution_encoding((1,), ((2, 4, 16), (4, 8)), ((1,), (1, 2)), ((1,), (2, 0)), (1, 2), (0, 1))
)


def image_as_matrix(skip=False):
    """The image as a matrix of (n, y, x) by (filter row, filter column, channel)."""
    keep = make_pass_through_transform
    view = make_naive_tensor_view(None, (N, H, W, C), (H * W * C, W * C, C, 1), 8, 1, dtype="bf16")
    padded = keep(N), make_pad_transform(H, PAD, PAD, skip), make_pad_transform(W, PAD, PAD, skip), keep(C)
    view = transform_tensor_view(view, padded, EACH, EACH)
    taps = keep(N), make_embed_transform((Y, H), (1, 1)), make_embed_transform((X, W), (1, 1)), keep(C)
    view = transform_tensor_view(view, taps, EACH, ((0,), (1, 2), (3, 4), (5,)))
    merges = make_merge_transform((N, H, W)), make_merge_transform((Y, X, C))
    return transform_tensor_view(view, merges, ((0, 2, 4), (1, 3, 5)), ((0,), (1,)))


def reference(image):
    """The columns by NumPy."""
    padded = np.pad(image, ((0, 0), (PAD, PAD), (PAD, PAD), (0, 0)))
    taps = [padded[:, y : y + H, x : x + W] for y in range(Y) for x in range(X)]
    return {"columns": np.stack(taps, axis=3).reshape(-1, COLUMNS)}


def build():
    """(kernel, window it loads)."""
    k = Builder("im2col", N, grid=(ceil_div(ROWS, 128), ceil_div(COLUMNS, 32)), threads=256)
    image = kernel_view(k, "image", pad_tensor_view(image_as_matrix(), TILE, (True, True)))
    columns = make_naive_tensor_view(None, (ROWS, COLUMNS), (COLUMNS, 1), 8, 1, dtype="bf16")
    columns = kernel_view(k, "columns", pad_tensor_view(columns, TILE, (True, True)))
    source, target = (make_tile_window(v, TILE, (128 * k.block[0], 32 * k.block[1]), DRAM) for v in (image, columns))
    store_tile(target, load_tile(source))
    return k.kernel(reference=reference), source.window


KERNEL, WINDOW = build()
columns_are_right = claims_of(KERNEL)
stays_inside = NoInvalidAccess(WINDOW.access, WINDOW.buffer.size)
vectors = GuaranteedVectorLength(WINDOW.access, 8, -1, 1)
moves = MovingEqualsMaking(WINDOW.view)
without_a_mask = NoInvalidAccess(image_as_matrix(skip=True), expect="refuted")


def main() -> None:
    """What the untimed run leaves, and how long the kernel takes by the machine file of an H200."""
    from simulator import H200, simulate
    from symlayout.semantics import expect_reference

    print(*KERNEL.text().splitlines()[-10:], sep="\n")
    image = np.arange(H * W * C, dtype=np.uint16).reshape(1, H, W, C).view(KERNEL.tensors[0].dtype.numpy())
    expect_reference(KERNEL.bind(N=1), {"image": image}, order="lazy")
    trace = simulate(KERNEL.bind(N=128), machine=H200, what_if=False, uncertainty=False)
    print(f"1 image: equal; 128 images: {trace.bytes / 1e6:.0f} MB moved, {trace.cycles} cycles predicted")


if __name__ == "__main__":
    main()
