"""Implicit GEMM: the descriptor of pads, taps and merges against an im2col that NumPy writes out on the host."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from checkers import MaskIsExactly, prove
from symlayout.ck_tile import make_tensor_view
from tests.support.ck_views import im2col


def on_host(image, taps, strides, dilations, pads, out):
    """Rows (n, ho, wo), columns (y, x, c): zero outside of the image."""
    n, h, w, c = image.shape
    (y, x), (ho, wo) = taps, out
    found = np.zeros((n, ho, wo, y, x, c), dtype=image.dtype)
    for i, p, q, r, s in itertools.product(range(n), range(ho), range(wo), range(y), range(x)):
        row, column = p * strides[0] + r * dilations[0] - pads[0], q * strides[1] + s * dilations[1] - pads[1]
        if 0 <= row < h and 0 <= column < w:
            found[i, p, q, r, s] = image[i, row, column]
    return found.reshape(n * ho * wo, y * x * c)


@pytest.mark.parametrize(
    "sizes, taps, strides, dilations, pads",
    [
        ((2, 5, 4, 3), (3, 2), (1, 1), (1, 1), (0, 0)),
        ((1, 6, 7, 2), (3, 3), (2, 1), (1, 2), (1, 2)),
        ((2, 4, 4, 1), (2, 2), (2, 2), (1, 1), (1, 0)),
        ((1, 3, 3, 4), (1, 1), (1, 1), (1, 1), (2, 2)),
    ],
)
def test_the_view_reads_what_the_host_writes_out(sizes, taps, strides, dilations, pads):
    n, h, w, c = sizes
    out = tuple(
        (m + 2 * p - d * (t - 1) - 1) // s + 1
        for m, p, d, t, s in zip((h, w), pads, dilations, taps, strides, strict=True)
    )
    names = dict(zip(["N", "H", "W", "C", "Y", "X"], (*sizes, *taps), strict=True))
    names |= dict(
        zip(["Ho", "Wo", "sh", "sw", "dh", "dw", "ph", "pw"], (*out, *strides, *dilations, *pads), strict=True)
    )
    d = im2col().subs(names)
    image = np.arange(1, n * h * w * c + 1, dtype=np.int64).reshape(sizes)
    view = make_tensor_view(image.ravel(), d)

    assert d.static
    assert d.element_space_size == image.size
    assert np.array_equal(view.to_numpy(), on_host(image, taps, strides, dilations, pads, out))


def test_its_mask_is_that_of_the_image():
    numbers = dict(
        zip(
            ["N", "H", "W", "C", "Y", "X", "Ho", "Wo", "sh", "sw", "dh", "dw", "ph", "pw"],
            (1, 5, 4, 2, 3, 2, 3, 4, 2, 1, 1, 1, 1, 1),
            strict=True,
        )
    )
    d = im2col().subs(numbers)

    def inside(m, k):
        row, column = 2 * (m // 4) + k // 4 - 1, m % 4 + k // 2 % 2 - 1
        return row >= 0, row < 5, column >= 0, column < 4

    assert prove(MaskIsExactly(d, inside))
