"""The public name of ``symlayout.tma.im2col``: copies that read a tensor as the matrix of a convolution."""

from .tma.im2col import make_im2col_tma_copy

__all__ = [
    "make_im2col_tma_copy",
]
