"""Copies between views of CK Tile, each with the elements of its source."""

from __future__ import annotations

import numpy as np

from symlayout.ck_tile import (
    TensorView,
    copy_views,
    make_naive_tensor_view_packed,
    pad_tensor_view,
    slice_tensor_view,
    transpose_tensor_view,
)
from tests.support.ck_views import lds_tile


def packed(*lengths, dtype="f32"):
    return make_naive_tensor_view_packed(None, lengths, dtype=dtype)


def numbers(n):
    return np.arange(n, dtype=np.float32)


def transposed():
    return copy_views(transpose_tensor_view(packed(6, 10)), packed(10, 6)), 60


def padded():
    return copy_views(pad_tensor_view(packed(6, 10), (8, 16), (True, True)), packed(8, 16), elements=2), 60


def sliced():
    return copy_views(slice_tensor_view(packed(10, 10), (2, 3), (7, 8)), packed(5, 5)), 100


def swizzled():
    view = packed(16, 32)
    return copy_views(view, TensorView(view.buffer, lds_tile(16, 32, 8)), elements=4), 512


def into_padding():
    """A destination with pads takes what its pads admit."""
    return copy_views(packed(8, 16), pad_tensor_view(packed(6, 10), (8, 16), (True, True)), elements=2), 128


KERNELS = {f.__name__: f for f in (transposed, padded, sliced, swizzled, into_padding)}
