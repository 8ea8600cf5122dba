"""Symbolic layouts of GPU kernels: one value to prove, to simulate and to run.

    >>> M, N = dims("M N")
    >>> print(zipped_divide(Layout((M, N), (N, 1)), (64, 64)))
    ((64,64),(ceil(M/64),ceil(N/64))):((N,1),(64*N,64))

The names and results are CuTe's; ``None`` is its underscore.
"""

from __future__ import annotations

from typing import Any

from . import members_at_use  # noqa: F401  # it defines members of layouts
from .address_map import AddressMap
from .algebra import coalesce, filter, filter_zeros, nullspace
from .arch import SM90
from .basis import (
    ArithmeticTuple,
    ArithmeticTupleIterator,
    E,
    ScaledBasis,
    as_tuple,
    basis_get,
    basis_value,
    in_words,
    make_basis_like,
    make_inttuple_iter,
)
from .codomain import coprofile, coshape
from .common_layouts import max_alignment, max_common_layout, max_common_vector
from .complement import complement
from .composition import composition, slice_and_offset
from .cute_names import (
    Integer,
    LayoutBase,
    leading_dim,
    make_composed_layout,
    make_layout_tv,
    shiftl,
    shiftr,
)
from .dlpack import DLTensor
from .dtype import DType, bf16, e4m3, e5m2, f16, f32, f64, i8, i32, tf32, u8, u16, u32
from .errors import (
    AssumptionError,
    CertificateError,
    ClaimError,
    ExpressionError,
    InexactError,
    InternalError,
    LayoutError,
    NotationError,
    SymlayoutError,
    UndecidedError,
)
from .expr import Expr, Fact, Symbol, dim, dims, eq, evaluate, index, maximum, minimum, truth
from .facts import Facts
from .int_tuple import has_none, is_int, is_tuple
from .interop import of
from .inverses import left_inverse, right_inverse
from .layout import ComposedLayout, Layout, cosize, is_layout
from .making import LayoutLeft, LayoutRight, make_identity_layout, make_layout
from .modes import append, flatten_layout, group, prepend, replace, select, take, zip_modes
from .obligations import Obligation, Obligations
from .ordered_layouts import domain_distribute, make_fragment_like, make_layout_like, make_ordered_layout
from .recast import bytes_of, downcast, recast, recast_layout, upcast
from .swizzle import Swizzle, make_swizzle
from .tensor import (
    Tensor,
    domain_offset,
    inner_partition,
    local_partition,
    local_tile,
    make_coord_tensor,
    make_identity_tensor,
    make_tensor,
    outer_partition,
)
from .tiling import (
    blocked_product,
    flat_divide,
    flat_product,
    hier_unzip,
    logical_divide,
    logical_product,
    raked_product,
    tile_to_shape,
    tiled_divide,
    tiled_product,
    zip2_by,
    zipped_divide,
    zipped_product,
)
from .tma import Im2col, TensorMap, TmaInterleaveLayout, TmaL2FetchSize, TmaOobFill, TmaSwizzle, TmaType
from .tma.from_dlpack import make_tma_descriptor
from .tma.tiled_copy import TmaCopy, create_tma_multicast_mask, make_tma_copy, tma_partition
from .tuple_functions import (
    ceil_div,
    colex_less,
    compatible,
    congruent,
    crd2crd,
    crd2idx,
    depth,
    dice,
    elem_all_leq,
    elem_geq,
    elem_gtr,
    elem_leq,
    elem_less,
    elem_scale,
    evenly_divides,
    flatten,
    get,
    idx2crd,
    inner_product,
    lex_less,
    prefix_product,
    product,
    product_each,
    product_like,
    rank,
    round_up,
    shape_div,
    signum,
    size,
    slice_,
    tuple_max,
    unflatten,
    weakly_congruent,
)

__version__ = "0.1.0"

_LAZY = {"prove": "checkers", "simulate": "simulator", "run": "gpu"}


def __getattr__(name: str) -> Any:
    """``prove``, ``simulate``, ``run`` and the claims load the package that has them on first use."""
    package = _LAZY.get(name, "checkers" if name[:1].isupper() else "")
    if package:
        from .siblings import sibling

        found = sibling(package)
        if name in getattr(found, "__all__", ()):
            return getattr(found, name)
    raise AttributeError(f"module 'symlayout' has no attribute {name!r}")


__all__ = [
    "SM90",
    "AddressMap",
    "ArithmeticTuple",
    "ArithmeticTupleIterator",
    "AssumptionError",
    "CertificateError",
    "ClaimError",
    "ComposedLayout",
    "DLTensor",
    "DType",
    "E",
    "Expr",
    "ExpressionError",
    "Fact",
    "Facts",
    "Im2col",
    "InexactError",
    "Integer",
    "InternalError",
    "Layout",
    "LayoutBase",
    "LayoutError",
    "LayoutLeft",
    "LayoutRight",
    "NotationError",
    "Obligation",
    "Obligations",
    "ScaledBasis",
    "Swizzle",
    "Symbol",
    "SymlayoutError",
    "Tensor",
    "TensorMap",
    "TmaCopy",
    "TmaInterleaveLayout",
    "TmaL2FetchSize",
    "TmaOobFill",
    "TmaSwizzle",
    "TmaType",
    "UndecidedError",
    "append",
    "as_tuple",
    "basis_get",
    "basis_value",
    "bf16",
    "blocked_product",
    "bytes_of",
    "ceil_div",
    "coalesce",
    "colex_less",
    "compatible",
    "complement",
    "composition",
    "congruent",
    "coprofile",
    "coshape",
    "cosize",
    "crd2crd",
    "crd2idx",
    "create_tma_multicast_mask",
    "depth",
    "dice",
    "dim",
    "dims",
    "domain_distribute",
    "domain_offset",
    "downcast",
    "e4m3",
    "e5m2",
    "elem_all_leq",
    "elem_geq",
    "elem_gtr",
    "elem_leq",
    "elem_less",
    "elem_scale",
    "eq",
    "evaluate",
    "evenly_divides",
    "f16",
    "f32",
    "f64",
    "filter",
    "filter_zeros",
    "flat_divide",
    "flat_product",
    "flatten",
    "flatten_layout",
    "get",
    "group",
    "has_none",
    "hier_unzip",
    "i8",
    "i32",
    "idx2crd",
    "in_words",
    "index",
    "inner_partition",
    "inner_product",
    "is_int",
    "is_layout",
    "is_tuple",
    "leading_dim",
    "left_inverse",
    "lex_less",
    "local_partition",
    "local_tile",
    "logical_divide",
    "logical_product",
    "make_basis_like",
    "make_composed_layout",
    "make_coord_tensor",
    "make_fragment_like",
    "make_identity_layout",
    "make_identity_tensor",
    "make_inttuple_iter",
    "make_layout",
    "make_layout_like",
    "make_layout_tv",
    "make_ordered_layout",
    "make_swizzle",
    "make_tensor",
    "make_tma_copy",
    "make_tma_descriptor",
    "max_alignment",
    "max_common_layout",
    "max_common_vector",
    "maximum",
    "minimum",
    "nullspace",
    "of",
    "outer_partition",
    "prefix_product",
    "prepend",
    "product",
    "product_each",
    "product_like",
    "raked_product",
    "rank",
    "recast",
    "recast_layout",
    "replace",
    "right_inverse",
    "round_up",
    "select",
    "shape_div",
    "shiftl",
    "shiftr",
    "signum",
    "size",
    "slice_",
    "slice_and_offset",
    "take",
    "tf32",
    "tile_to_shape",
    "tiled_divide",
    "tiled_product",
    "tma_partition",
    "truth",
    "tuple_max",
    "u8",
    "u16",
    "u32",
    "unflatten",
    "upcast",
    "weakly_congruent",
    "zip2_by",
    "zip_modes",
    "zipped_divide",
    "zipped_product",
]
