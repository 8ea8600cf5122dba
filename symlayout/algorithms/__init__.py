"""The tensor algorithms of CuTe: on NumPy arrays, and how each is dispatched to an instruction.

>>> import numpy as np
>>> from symlayout import Layout, make_tensor
>>> a, b = np.arange(6.0), np.zeros(6)
>>> print(copy(make_tensor(a, Layout((2, 3))), make_tensor(b, Layout((2, 3), (3, 1)))), b)
copy, over at once [0. 2. 4. 1. 3. 5.]
"""

from __future__ import annotations

from .copies import axpby, clear, cooperative_copy, copy, copy_if, fill, for_each, prefetch, reduce, transform
from .dispatch import Choice, choose_copy
from .lowering import Inside
from .matrices import Chosen, choose_mma, choose_operand_copy
from .pointers import Pointer, make_fragment_like, make_gmem_ptr, make_rmem_ptr, make_smem_ptr
from .products import Dispatched, gemm
from .results import Issued
from .tiled_copy import (
    CopyAtom,
    TiledCopy,
    make_copy_atom,
    make_cotiled_copy,
    make_tiled_copy,
    make_tiled_copy_A,
    make_tiled_copy_B,
    make_tiled_copy_C,
    make_tiled_copy_D,
    make_tiled_copy_S,
    make_tiled_copy_tv,
)
from .tiled_mma import TiledMma, make_tiled_mma

__all__ = [
    "Choice",
    "Chosen",
    "CopyAtom",
    "Dispatched",
    "Inside",
    "Issued",
    "Pointer",
    "TiledCopy",
    "TiledMma",
    "axpby",
    "choose_copy",
    "choose_mma",
    "choose_operand_copy",
    "clear",
    "cooperative_copy",
    "copy",
    "copy_if",
    "fill",
    "for_each",
    "gemm",
    "make_copy_atom",
    "make_cotiled_copy",
    "make_fragment_like",
    "make_gmem_ptr",
    "make_rmem_ptr",
    "make_smem_ptr",
    "make_tiled_copy",
    "make_tiled_copy_A",
    "make_tiled_copy_B",
    "make_tiled_copy_C",
    "make_tiled_copy_D",
    "make_tiled_copy_S",
    "make_tiled_copy_tv",
    "make_tiled_mma",
    "prefetch",
    "reduce",
    "transform",
]
