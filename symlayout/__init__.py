"""Symbolic layouts of GPU kernels: one value to prove, to simulate and to run.

    >>> M, N = dims("M N")
    >>> print(zipped_divide(Layout((M, N), (N, 1)), (64, 64)))
    ((64,64),(ceil(M/64),ceil(N/64))):((N,1),(64*N,64))

The names and results are CuTe's; ``None`` is its underscore.
"""

from __future__ import annotations

from typing import Any

from .algebra import (
    append,
    coalesce,
    complement,
    domain_distribute,
    filter,
    filter_zeros,
    flatten_layout,
    group,
    left_inverse,
    make_fragment_like,
    make_layout_like,
    make_ordered_layout,
    max_alignment,
    max_common_layout,
    max_common_vector,
    nullspace,
    prepend,
    replace,
    right_inverse,
    select,
    take,
    zip_modes,
)
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
from .composition import composition, slice_and_offset
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
from .expr import Expr, Fact, Symbol, dim, dims, eq, evaluate, index, maximum, minimum
from .facts import Facts
from .int_tuple import (
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
    has_none,
    idx2crd,
    inner_product,
    is_int,
    is_tuple,
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
from .layout import (
    ComposedLayout,
    Layout,
    LayoutLeft,
    LayoutRight,
    coprofile,
    coshape,
    cosize,
    is_layout,
    make_identity_layout,
    make_layout,
)
from .obligations import Obligation, Obligations
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

__version__ = "0.1.0"

_LAZY = {"prove": ("checkers", "prove")}


def __getattr__(name: str) -> Any:
    """``prove`` loads the package that does it on first use."""
    if name in _LAZY:
        import importlib

        module, attribute = _LAZY[name]
        return getattr(importlib.import_module(module), attribute)
    raise AttributeError(f"module 'symlayout' has no attribute {name!r}")


__all__ = [name for name, value in list(globals().items()) if not name.startswith("_") and name not in ("Any", "annotations") and getattr(value, "__module__", "").startswith("symlayout")]
