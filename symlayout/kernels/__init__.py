"""Kernel families, one file each: a builder, a NumPy reference and sample sizes."""

from __future__ import annotations

from .tma_copy import tma_copy

__all__ = ["tma_copy"]
