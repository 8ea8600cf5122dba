"""The effects of operations on NumPy memory, byte for byte: the one definition for tests, provers and simulator."""

from __future__ import annotations

from ..rules.tma_copy import TensorCopy
from .bulk_bytes import bulk_copy
from .conversion import filled, loaded, round_to_tf32
from .execute import execute, expect_reference
from .footprint import Footprint, footprint
from .matrix import Product, error_bound, ldmatrix, mma, operand, stmatrix, wgmma
from .matrix_sums import aligned_magnitude, product_bound, tensor_core_sums
from .memory import Memory, byte_ranges
from .reduction import reduced
from .tensor_copies import Effect, phase_completes, tma_load, tma_multicast, tma_reduce, tma_store

__all__ = [
    "Effect",
    "Footprint",
    "Memory",
    "Product",
    "TensorCopy",
    "aligned_magnitude",
    "bulk_copy",
    "byte_ranges",
    "error_bound",
    "execute",
    "expect_reference",
    "filled",
    "footprint",
    "ldmatrix",
    "loaded",
    "mma",
    "operand",
    "phase_completes",
    "product_bound",
    "reduced",
    "round_to_tf32",
    "stmatrix",
    "tensor_core_sums",
    "tma_load",
    "tma_multicast",
    "tma_reduce",
    "tma_store",
    "wgmma",
]
