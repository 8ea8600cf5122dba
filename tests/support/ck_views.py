"""Views and descriptors of CK Tile that several tests are about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from symlayout import dim, dims
from symlayout.ck_tile import (
    TensorDescriptor,
    TensorView,
    make_embed_transform,
    make_merge_transform,
    make_naive_tensor_descriptor,
    make_naive_tensor_descriptor_packed,
    make_naive_tensor_view,
    make_pad_transform,
    make_pass_through_transform,
    make_unmerge_transform,
    make_xor_transform,
    pad_tensor_view,
    transform_tensor_descriptor,
)

BOTH = ((0,), (1,))


def padded_gemm(tile: tuple[int, int] = (128, 64), pads: tuple[bool, bool] = (True, True)) -> TensorView:
    """A row-major M x K operand with row stride lda, padded to whole tiles."""
    M, K = dims("M K")
    lda = dim("lda", at_least=K)
    return pad_tensor_view(make_naive_tensor_view(None, (M, K), (lda, 1), dtype="bf16"), tile, pads)


def im2col() -> TensorDescriptor:
    """The implicit-GEMM operand of a convolution: pad, embed, merge; every size a symbol."""
    N, H, W, C, Y, X, Ho, Wo = dims("N H W C Y X Ho Wo")
    stride, dilation = dims("sh sw"), dims("dh dw")
    pads = dim("ph", at_least=0), dim("pw", at_least=0)
    passed = make_pass_through_transform
    d: Any = make_naive_tensor_descriptor((N, H, W, C), (H * W * C, W * C, C, 1))
    padded = make_pad_transform(H, pads[0], pads[0]), make_pad_transform(W, pads[1], pads[1])
    each = ((0,), (1,), (2,), (3,))
    d = transform_tensor_descriptor(d, (passed(N), *padded, passed(C)), each, each)
    taps = (
        make_embed_transform((Y, Ho), (dilation[0], stride[0])),
        make_embed_transform((X, Wo), (dilation[1], stride[1])),
    )
    d = transform_tensor_descriptor(d, (passed(N), *taps, passed(C)), each, ((0,), (1, 2), (3, 4), (5,)))
    merges = make_merge_transform((N, Ho, Wo)), make_merge_transform((Y, X, C))
    return transform_tensor_descriptor(d, merges, ((0, 2, 4), (1, 3, 5)), BOTH)


def predicate_of_im2col(m: Any, k: Any) -> tuple[Any, ...]:
    """The predicate of implicit GEMM, as a kernel computes it."""
    H, W, C, X, Ho, Wo, sh, sw, dh, dw = dims("H W C X Ho Wo sh sw dh dw")
    row = m // Wo % Ho * sh + k // (X * C) * dh - dim("ph", at_least=0)
    column = m % Wo * sw + k // C % X * dw - dim("pw", at_least=0)
    return row >= 0, row < H, column >= 0, column < W


def lds_tile(M: int, K: int, q: int, element_bytes: int = 2, order: str = "K0 LL") -> TensorDescriptor:
    """The row-major A tile of upstream's universal GEMM policy: naive, xor, unmerge, two merges.

    *order* is that of the split of a chunk: that of the policies, or "LL K0", that of the document on index swapping.
    """
    k0, rows = K // q, max(1, 128 // K // element_bytes)
    passed = make_pass_through_transform
    d = make_naive_tensor_descriptor((k0 * rows, M // rows, q), (q, K * rows, 1), q, 1)
    d = transform_tensor_descriptor(
        d, (make_xor_transform((M // rows, k0 * rows)), passed(q)), ((1, 0), (2,)), ((1, 0), (2,))
    )
    split, places = ((k0, rows), (0, 2)) if order == "K0 LL" else ((rows, k0), (2, 0))
    d = transform_tensor_descriptor(
        d, (make_unmerge_transform(split), passed(M // rows), passed(q)), ((0,), (1,), (2,)), (places, (1,), (3,))
    )
    return transform_tensor_descriptor(
        d, (make_merge_transform((M // rows, rows)), make_merge_transform((k0, q))), ((1, 2), (0, 3)), BOTH
    )


@dataclass(frozen=True)
class Columns:
    """A column-major tile of upstream's universal GEMM policy: M x K, *pack* elements of K beside one another.

    ``threads`` are those along M, of a block of 256; a warp multiplies 32 rows. Sizes are in elements.
    """

    M: int
    K: int
    pack: int
    threads: int
    element_bytes: int = 2

    @property
    def factors(self) -> tuple[int, int, int, int, int, int]:
        """(K threads that write, K0 of each, K threads that read in one place, rows of a thread, fold, pair)."""
        steps, rows, line = self.K // self.pack, self.M // self.threads, 128
        write, read = 256 // self.threads, 64 // 32
        fold = max(1, line // (self.pack * self.threads * self.element_bytes))
        times = fold * (steps // write) // (steps // read)
        pair = min(self.threads, max(1, line // (self.pack * 32 * self.element_bytes)))
        return write, steps // write, read // times if times > 1 else read, rows, fold, pair

    def descriptor(self) -> TensorDescriptor:
        """Six packed dimensions, an xor of two, two unmerges, two merges."""
        write, k0, read, rows, fold, pair = self.factors
        outer, across = write // fold // read, self.threads // pair
        keep = make_pass_through_transform
        d: Any = make_naive_tensor_descriptor_packed((outer, k0, read * rows, fold * across, pair, self.pack))
        same = ((0,), (1,), (2, 3), (4,), (5,))
        xor = make_xor_transform((read * rows, fold * across))
        d = transform_tensor_descriptor(d, (keep(outer), keep(k0), xor, keep(pair), keep(self.pack)), same, same)
        split = make_unmerge_transform((read, rows)), make_unmerge_transform((fold, across))
        d = transform_tensor_descriptor(
            d,
            (keep(outer), keep(k0), *split, keep(pair), keep(self.pack)),
            ((0,), (1,), (2,), (3,), (4,), (5,)),
            ((1,), (2,), (0, 3), (4, 5), (6,), (7,)),
        )
        merges = make_merge_transform((read, outer, fold, k0, self.pack)), make_merge_transform((across, pair, rows))
        return transform_tensor_descriptor(d, merges, ((0, 1, 4, 2, 7), (5, 6, 3)), ((1,), (0,)))

    def offset(self, m: int, k: int) -> int:
        """The same by digits."""
        write, k0, read, rows, fold, pair = self.factors
        outer, across = write // fold // read, self.threads // pair
        m, row = divmod(m, rows)
        m, two = divmod(m, pair)
        k, inside = divmod(k, self.pack)
        k, step = divmod(k, k0)
        k, c = divmod(k, fold)
        a, b = divmod(k, outer)
        x, width = a * rows + row, fold * across
        place = (c * across + m) ^ (x % width)
        return ((((b * k0 + step) * read * rows + x) * width + place) * pair + two) * self.pack + inside
