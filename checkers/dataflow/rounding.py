"""Inclusions of number types: a conversion to a type with all numbers of the source rounds nothing."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from symlayout.dtype import DType, bf16, e4m3, e5m2, f16, f32, f64, tf32

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
