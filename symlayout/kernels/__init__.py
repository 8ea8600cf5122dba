"""Kernel families, one file each: a builder, a NumPy reference and sample sizes.

A new family belongs here where every claim about it is proved; what it is made of belongs in ``symlayout.kernel``.
"""

from __future__ import annotations

from .axpby import axpby
from .bulk_copy import bulk_copy
from .clear import clear
from .copy_if import copy_if
from .cp_async_copy import cp_async_copy
from .fill import fill
from .gather_rows import gather_rows
from .gemm import gemm
from .gemm_mma import gemm_mma
from .gemm_simt import gemm_simt
from .row_sum import row_sum
from .tensor_axpby import tensor_axpby
from .tma_copy import tma_copy
from .tma_reduce_add import tma_reduce_add
from .tma_transpose import tma_transpose
from .vector_copy import vector_copy

__all__ = [
    "axpby",
    "bulk_copy",
    "clear",
    "copy_if",
    "cp_async_copy",
    "fill",
    "gather_rows",
    "gemm",
    "gemm_mma",
    "gemm_simt",
    "row_sum",
    "tensor_axpby",
    "tma_copy",
    "tma_reduce_add",
    "tma_transpose",
    "vector_copy",
]
