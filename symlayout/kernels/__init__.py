"""Kernel families, one file each: a builder, a NumPy reference and sample sizes."""

from __future__ import annotations

from .cp_async_copy import cp_async_copy
from .gemm import gemm
from .tma_copy import tma_copy
from .tma_transpose import tma_transpose
from .vector_copy import vector_copy

__all__ = ["cp_async_copy", "gemm", "tma_copy", "tma_transpose", "vector_copy"]
