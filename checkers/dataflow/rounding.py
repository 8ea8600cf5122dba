"""Inclusions of number types: a conversion to a type with all numbers of the source rounds nothing."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from symlayout.dtype import DType, bf16, e4m3, e5m2, f16, f32, f64, tf32
from symlayout.ops.data import number_text

from .contents import Constant

FLOATS = (e5m2, e4m3, f16, bf16, f32, f64)


def exact(a: DType, b: DType) -> bool:
    """Whether each number of *a* is one of *b*.

    >>> exact(bf16, f32), exact(f16, bf16), exact(DType.of("i8"), bf16), exact(DType.of("u16"), f16)
    (True, False, True, False)
    """
    if a == b or (a == tf32 and b in (f32, f64)):
        return True
    if a.kind in ("int", "uint") and b.kind in ("int", "uint"):
        low, high = np.iinfo(a.numpy()), np.iinfo(b.numpy())
        return high.min <= low.min and low.max <= high.max
    if b not in FLOATS:
        return False
    to = ml_dtypes.finfo(b.numpy())  # type: ignore[no-untyped-call]
    if a.kind in ("int", "uint"):
        digits = a.bits - (a.kind == "int")
        return bool(digits <= to.nmant + 1 and 2.0**digits <= float(to.max))
    if a not in FLOATS:
        return False
    of = ml_dtypes.finfo(a.numpy())  # type: ignore[no-untyped-call]
    fine = float(of.smallest_subnormal) >= float(to.smallest_subnormal) and float(of.max) <= float(to.max)
    return bool(of.nmant <= to.nmant and fine and (a != e5m2 or b != e4m3))


def is_number(held: Constant, value: float) -> bool:
    """Whether a constant in registers of a type is a number that the type has, bit for bit.

    >>> one = Constant(1.5, bf16)
    >>> is_number(one, 1.5), is_number(one, 1.25)
    (True, False)
    >>> is_number(Constant(0.1, bf16), 0.1), is_number(Constant(0.0, bf16), -0.0)
    (False, False)
    """
    with np.errstate(all="ignore"):
        there = np.asarray(held.value).astype(held.dtype.numpy()).astype(np.float64)
    same = number_text(float(held.value)) == number_text(float(value))
    return same and (float(there) == float(value) or (np.isnan(there).item() and value != value))
