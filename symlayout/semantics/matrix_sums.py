"""Sums of products by tensor cores: those of an H200 bit for bit, and a bound on the error of a sum.

    >>> from symlayout.atoms import atom
    >>> row = atom("mma.m16n8k16.f16")
    >>> a, b, c = np.zeros((16, 16), np.float16), np.ones((8, 16), np.float16), np.full((16, 8), 2.0**-26, np.float32)
    >>> a[0, :2] = 1, 2.0**-24
    >>> tensor_core_sums(row, a, b, c)[0, 0] - 1, accumulated(row, a, b, c)[0, 0] - 1
    (np.float32(0.0), np.float32(1.1920929e-07))

All terms are aligned to the largest exponent among them, cut off some bits behind it, added exactly, and the sum is
rounded once. The exponent of a product is the sum of those of its factors, and a subnormal factor has the exponent of
the smallest normal number. Measured on an H200, driver 580.159.04, every bit of the sums (docs/matrix_on_h200.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from ..atoms.access import Combines
from ..atoms.atom import MmaAtom
from ..dtype import DType, f16, f32, f64, tf32

Numbers = np.ndarray[Any, Any]
Sums: TypeAlias = "Callable[[MmaAtom, Numbers, Numbers, Numbers], Numbers]"  # c + a b^T of an instruction

DROPPED_BITS = np.uint32(0x1FFF)  # of an f32 register or word that is read as TF32
# Of normal numbers.
LEAST_EXPONENT = {"f16": -14, "bf16": -126, "tf32": -126, "e4m3": -6, "e5m2": -14, "f32": -126, "f64": -1022}
ZERO = -(1 << 14)  # the exponent of 0, below all others


@dataclass(frozen=True)
class Arithmetic:
    """*kept*: bits behind the largest exponent that terms keep; *bits* of the sum, towards zero; 0: nearest f16.

    *unit* is what each of any order of additions may lose, as a part of all absolute values together.
    """

    kept: int
    bits: int
    unit: float


SINGLE = Arithmetic(25, 24, 2.0**-23)
DOUBLE = Arithmetic(0, 53, 2.0**-52)  # f64: fused multiply-adds in some order, each rounded
HALF = Arithmetic(25, 0, 2.0**-10)
EIGHT = Arithmetic(13, 14, 2.0**-13)  # wgmma of 8-bit floats
EIGHT_HALF = Arithmetic(13, 0, 2.0**-10)


def arithmetic(row: MmaAtom) -> Arithmetic:
    """The rounding of an instruction whose sums are floats.

    Those of mma of 8-bit floats are made of sums of f16 products.
    """
    if row.dtype.bits == 8 and row.threads > 32:
        return EIGHT_HALF if row.acc_dtype is f16 else EIGHT
    return {f16: HALF, f64: DOUBLE}.get(row.acc_dtype, SINGLE)


def read_as(dtype: DType, held: Numbers) -> Numbers:
    """Numbers as a product reads them: of TF32 the low 13 bits do not count."""
    return (held.view(np.uint32) & ~DROPPED_BITS).view(np.float32) if dtype is tf32 else held


def accumulated(row: MmaAtom, a: Numbers, b: Numbers, c: Numbers) -> Numbers:
    """c + a b^T of matrices: in f64, where products are exact, rounded once; integers wrap. Of f64 each term rounds."""
    with np.errstate(over="ignore", invalid="ignore"):
        x, y = (read_as(kind, held).astype(np.float64) for kind, held in zip(row.types, (a, b), strict=False))
        products = x @ y.T
        if row.combines is Combines.XOR:  # 1 where one of two bits is
            products = x.sum(axis=1)[:, None] + y.sum(axis=1) - 2 * products
        if row.acc_dtype.kind == "int":
            return (products.astype(np.int64) + c).astype(np.uint32).view(np.int32)
        out: Numbers = (c.astype(np.float64) + products).astype(row.acc_dtype.numpy())
    return out


# -- how far from exact ---------------------------------------------------------------------------------


def aligned_magnitude(x: Any, dtype: Any) -> Numbers:
    """Absolute values, with that of the smallest normal number for subnormal ones: what others are aligned to.

    >>> aligned_magnitude(np.array([0.0, 2.0**-20, 1.5]), "f16") / 2.0**-14
    array([0.0000e+00, 1.0000e+00, 2.4576e+04])
    """
    with np.errstate(invalid="ignore"):
        size = np.abs(np.asarray(x).astype(np.float64))
    least = 2.0 ** LEAST_EXPONENT[DType.of(dtype).name]
    out: Numbers = np.where(size == 0, 0, np.maximum(size, least))
    return out


def error_bound(k: int, magnitude: Any, unit: float = SINGLE.unit, least: float = 2.0**-126) -> Numbers:
    """A bound on the error of sums of *k* products and a start; *magnitude* is the sum of ``aligned_magnitude``.

    No document says in which order a tensor core adds and which bits it drops. k additions in any order, each cut off
    to 24 bits, lose about k units of 2^-23 of the magnitude. Terms aligned to the largest and cut off there, and a
    sum cut off, lose k + 2. The bound is twice that, and covers subnormal terms that are dropped. What an H200 does
    (``tensor_core_sums``) loses less than (k + 1) / 4 + 1 units: 0.19 of the bound; of wgmma of 8-bit floats, whose
    unit is 2^-13, less than k + 2 units, which is half of it.
    """
    out: Numbers = 2 * (k + 2) * (unit * np.asarray(magnitude, dtype=np.float64) + least)
    return out


def product_bound(row: MmaAtom, a: Numbers, b: Numbers, c: Numbers) -> Numbers:
    """``error_bound`` of each of the sums c + a b^T; 0 for integers, infinite where one may overflow or is none."""
    if row.acc_dtype.kind == "int":
        return np.zeros(c.shape)
    x, y = (aligned_magnitude(read_as(kind, held), kind) for kind, held in zip(row.types, (a, b), strict=False))
    how, half = arithmetic(row), row.acc_dtype is f16
    with np.errstate(over="ignore", invalid="ignore"):
        magnitude = np.abs(c.astype(np.float64)) + x @ y.T
        least = 2.0 ** LEAST_EXPONENT[row.acc_dtype.name] * (2.0**-10 if half else 1)
        bound = error_bound(row.mnk[2], magnitude, how.unit, least)
        fits = magnitude + bound < float(np.finfo(row.acc_dtype.numpy()).max)
    return np.where(fits, bound, np.inf)


# -- what an H200 does ----------------------------------------------------------------------------------


def tensor_core_sums(row: MmaAtom, a: Numbers, b: Numbers, c: Numbers) -> Numbers:
    """c + a b^T as an H200 computes it, bit for bit; no document promises it.

    mma of 8-bit floats adds the f16 products of the elements of K whose index modulo 4 is 0 or 1, then those of the
    others, and then c in f32: that chip has no such instruction for a warp. NaN is 0x7FFFFFFF or 0x7FFF, 0 is
    positive. mma of f64 is a fused multiply-add for each k in order, of all four shapes.
    """
    if row.acc_dtype.kind == "int":
        return accumulated(row, a, b, c)
    if row.acc_dtype is f64:
        return _fused_in_order(a, b, c)
    x, y = read_as(row.dtype, a), read_as(row.dtype_b, b)
    if row.dtype.bits == 8 and row.threads == 32:
        first = np.arange(row.mnk[2]) % 4 < 2
        sums = np.zeros(c.shape)
        for part in (first, ~first):
            sums = _fused(SINGLE, (f16, f16), f32, x[:, part], y[:, part], sums)
        with np.errstate(over="ignore", invalid="ignore"):
            return _bits(row.acc_dtype, sums.astype(np.float32) + c)
    return _bits(row.acc_dtype, _fused(arithmetic(row), (row.dtype, row.dtype_b), row.acc_dtype, x, y, c))


def _fused_in_order(a: Numbers, b: Numbers, c: Numbers) -> Numbers:
    """c + a b^T of f64, k after k: each product is added exactly, and rounded with the sum."""
    out = c.astype(np.float64)
    for k in range(a.shape[1]):
        for i, j in np.ndindex(out.shape):
            out[i, j] = _fma(float(a[i, k]), float(b[j, k]), float(out[i, j]))
    return out


def _fma(x: float, y: float, z: float) -> float:
    """x*y + z, rounded once."""
    if not (math.isfinite(x) and math.isfinite(y)):
        return x * y + z
    if not math.isfinite(z):  # whatever the product is, which is finite before it is rounded
        return z
    exact = Fraction(x) * Fraction(y) + Fraction(z)
    try:
        return float(exact) if exact else x * y + z  # which has the sign of a zero
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def _bits(dtype: DType, sums: Numbers) -> Numbers:
    """Sums with the NaN that tensor cores write, and without -0."""
    with np.errstate(over="ignore"):
        out = sums.astype(dtype.numpy()) + dtype.numpy().type(0)
    words = out.view(np.uint16 if dtype is f16 else np.uint32)
    words[np.isnan(out)] = 0x7FFF if dtype is f16 else 0x7FFFFFFF
    return out


def _fused(how: Arithmetic, kinds: tuple[DType, DType], sums: DType, a: Numbers, b: Numbers, c: Numbers) -> Numbers:
    """Terms aligned, cut off, added and rounded, in f64."""
    with np.errstate(over="ignore", invalid="ignore"):
        x, y, c = (held.astype(np.float64) for held in (a, b, c))
        products = x[:, None, :] * y[None, :, :]
        exponents = _exponents(x, kinds[0])[:, None, :] + _exponents(y, kinds[1])[None, :, :]
        terms = np.concatenate([products, c[..., None]], axis=2)
        top = np.maximum(exponents.max(axis=2), _exponents(c, sums))
        cut = np.where(top > ZERO // 2, top, 0) - how.kept
        finite = np.isfinite(terms)
        total = np.trunc(np.ldexp(np.where(finite, terms, 0), -cut[..., None])).sum(axis=2)
        out = np.ldexp(total, cut)
        if how.bits:
            out = _towards_zero(out, how.bits)
            out = np.where(np.abs(out) >= 2.0**128, np.copysign(np.inf, out), out)
        return np.where(finite.all(axis=2), out, _not_finite(terms))


def _exponents(x: Numbers, dtype: DType) -> Numbers:
    """The exponents of leading bits, at least that of the smallest normal number."""
    found = np.frexp(np.where(np.isfinite(x), x, 0))[1] - 1
    out: Numbers = np.where(x == 0, ZERO, np.maximum(found, LEAST_EXPONENT[dtype.name]))
    return out


def _towards_zero(x: Numbers, bits: int) -> Numbers:
    """Cut off to so many bits, or to the smallest subnormal number of f32."""
    last = np.maximum(np.frexp(x)[1] - bits, LEAST_EXPONENT["f32"] - 23)
    out: Numbers = np.ldexp(np.trunc(np.ldexp(x, -last)), last)
    return out


def _not_finite(terms: Numbers) -> Numbers:
    """The sum of terms when some of them are infinite or NaN."""
    with np.errstate(invalid="ignore"):
        out: Numbers = np.where(np.isfinite(terms), 0, terms).sum(axis=2)
    return out
