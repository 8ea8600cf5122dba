"""CuTe's tuple functions as users call them: integers of any library in, one clear error for what is none.

Inside the package :mod:`symlayout.int_tuple` and :mod:`symlayout.coordinates` are called directly, on values that were
checked when they came in.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from . import coordinates, int_tuple
from .basis import is_basis
from .errors import LayoutError
from .expr import Expr
from .int_tuple import checked
from .meter import ends

P = ParamSpec("P")
R = TypeVar("R")


def from_outside(f: Callable[P, R], underscore: bool = False) -> Callable[P, R]:
    """*f* with every argument read as nested tuples of integers; layouts and bases pass as they are.

    None is CuTe's underscore where coordinates are sliced, and no integer elsewhere.
    """

    @ends
    @functools.wraps(f)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        ours = tuple(map(taken, args))
        if not underscore and any(map(int_tuple.has_none, ours)):
            raise LayoutError(f"expected integers or nested tuples of them for {f.__name__}, got an underscore (None)")
        return f(*ours, **{k: taken(v) for k, v in kwargs.items()})

    return call


def taken(x: Any, depth: int = 0) -> Any:
    """An argument in our own integers and tuples."""
    if x is None or type(x) is int or isinstance(x, Expr) or is_basis(x):
        return x
    if isinstance(x, tuple | list):
        if depth >= int_tuple.MAX_DEPTH:
            return checked(x, "tuple", depth)  # raises, with the limit
        return tuple(taken(a, depth + 1) for a in x)
    return x if hasattr(x, "obligations") else checked(x, "tuple")


ceil_div = from_outside(int_tuple.ceil_div)
colex_less = from_outside(int_tuple.colex_less)
compatible = from_outside(int_tuple.compatible)
congruent = from_outside(int_tuple.congruent, underscore=True)
crd2crd = from_outside(coordinates.crd2crd)
crd2idx = from_outside(coordinates.crd2idx, underscore=True)
depth = from_outside(int_tuple.depth)
dice = from_outside(coordinates.dice, underscore=True)
elem_all_leq = from_outside(int_tuple.elem_all_leq)
elem_geq = from_outside(int_tuple.elem_geq)
elem_gtr = from_outside(int_tuple.elem_gtr)
elem_leq = from_outside(int_tuple.elem_leq)
elem_less = from_outside(int_tuple.elem_less)
elem_scale = from_outside(int_tuple.elem_scale)
evenly_divides = from_outside(int_tuple.evenly_divides)
flatten = from_outside(int_tuple.flatten)
get = from_outside(int_tuple.get)
idx2crd = from_outside(coordinates.idx2crd, underscore=True)
inner_product = from_outside(int_tuple.inner_product)
lex_less = from_outside(int_tuple.lex_less)
prefix_product = from_outside(int_tuple.prefix_product)
product = from_outside(int_tuple.product)
product_each = from_outside(int_tuple.product_each)
product_like = from_outside(int_tuple.product_like)
rank = from_outside(int_tuple.rank)
round_up = from_outside(int_tuple.round_up)
shape_div = from_outside(int_tuple.shape_div)
signum = from_outside(int_tuple.signum)
size = from_outside(int_tuple.size)
slice_ = from_outside(coordinates.slice_, underscore=True)
tuple_max = from_outside(int_tuple.tuple_max)
unflatten = from_outside(int_tuple.unflatten)
weakly_congruent = from_outside(int_tuple.weakly_congruent, underscore=True)
