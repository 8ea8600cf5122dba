"""The functions of ``Map``, a row each: functions of elements of registers, typed by the registers.

Arithmetic on floats is exact and rounded once, to nearest even, to the type of the result; integers wrap.

    >>> half, single = DType.of("bf16"), DType.of("f32")
    >>> x = np.array([[1.00390625, 3.0]], dtype=np.float32)
    >>> map_function("convert").result([(single, x)], half, 2)
    array([[1, 3]], dtype=bfloat16)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from ..dtype import DType
from ..errors import LayoutError

Numbers = np.ndarray[Any, Any]
Typed = tuple[DType, Numbers]


@dataclass(frozen=True)
class MapFunction:
    """A function: how many elements of each source it takes (0: as many as there are results), and what it does.

    ``on`` gets float64 for floats and the result's type for integers.
    """

    word: str
    counts: tuple[int, ...]
    on: Callable[..., Numbers]
    sentence: str

    def result(self, sources: list[Typed], out: DType, count: int) -> Numbers:
        """The elements of the result, a row for each thread.

        Raises LayoutError for an fma of 64 bits, whose product no type here holds.
        """
        if self.word == "fma" and out.bits == 64 and out.kind == "float":
            raise LayoutError("expected an fma of at most 32 bits, got f64")
        if out.kind == "float" or any(kind.kind == "float" for kind, _ in sources):
            with np.errstate(all="ignore"):
                return converted(self.on(*(x.astype(np.float64) for _, x in sources)), out)
        with np.errstate(all="ignore"):
            return self.on(*(x.astype(out.numpy()) for _, x in sources)).astype(out.numpy())


def converted(x: Numbers, out: DType) -> Numbers:
    """float64 numbers in another type: to integers towards zero and saturated, NaN to 0; to 8-bit floats saturated.

    PTX ISA, cvt: ``.rzi`` to integers, ``.rn.satfinite`` to e4m3 and e5m2, ``.rn`` to the others.
    """
    kind = out.numpy()
    if out.kind in ("int", "uint"):
        limits = np.iinfo(kind)
        top = float(limits.max)
        whole = np.trunc(np.nan_to_num(x, nan=0.0, posinf=top, neginf=float(limits.min)))
        inside = np.where(whole >= top, 0.0, np.maximum(whole, float(limits.min)))
        return np.where(whole >= top, limits.max, inside.astype(kind)).astype(kind)
    if out.bits == 8:
        limit = float(ml_dtypes.finfo(kind).max)  # type: ignore[no-untyped-call]
        x = np.where(np.isnan(x), x, np.clip(x, -limit, limit))
    return _odd(x).astype(kind) if out.bits < 32 else x.astype(kind)


def _odd(x: Numbers) -> Numbers:
    """float32 rounded to odd: rounding such a number again, to at least two bits less, is rounding once."""
    near: Numbers = x.astype(np.float32)
    back, even = near.astype(np.float64), near.view(np.uint32) % 2 == 0
    towards = np.where(x > back, np.float32(np.inf), np.float32(-np.inf))
    return np.where((back != x) & even & np.isfinite(back), np.nextafter(near, towards), near)


def _fma(a: Numbers, b: Numbers, c: Numbers) -> Numbers:
    """a*b + c, rounded to odd: products of 24 bits are exact, the sum's error is known (Knuth's TwoSum)."""
    if a.dtype != np.float64:
        return a * b + c
    p = a * b
    s = p + c
    t = s - p
    error = (p - (s - t)) + (c - t)
    even = (error != 0) & np.isfinite(s) & (s.view(np.uint64) & 1 == 0)
    return np.where(even, np.nextafter(s, np.where(error > 0, np.inf, -np.inf)), s)


def _relu(x: Numbers) -> Numbers:
    return np.where(x > 0, x, np.zeros_like(x))


ROWS = (
    MapFunction("convert", (0,), lambda x: x, "the number in the type of the result"),
    MapFunction("add", (0, 0), lambda a, b: a + b, "a + b"),
    MapFunction("sub", (0, 0), lambda a, b: a - b, "a - b"),
    MapFunction("mul", (0, 0), lambda a, b: a * b, "a * b"),
    MapFunction("fma", (0, 0, 0), _fma, "a*b + c, rounded once"),
    MapFunction("scale", (0, 1), lambda a, s: a * s, "a * s, for one s"),
    MapFunction("min", (0, 0), np.fmin, "the lesser; the number of a number and a NaN"),
    MapFunction("max", (0, 0), np.fmax, "the greater; the number of a number and a NaN"),
    MapFunction("neg", (0,), lambda x: -x, "-x"),
    MapFunction("relu", (0,), _relu, "x where x > 0, else 0; 0 for NaN"),
)

FUNCTIONS: Mapping[str, MapFunction] = {row.word: row for row in ROWS}


def map_function(word: str) -> MapFunction:
    """The row of a function. Raises LayoutError for a word that has none."""
    if word not in FUNCTIONS:
        raise LayoutError(f"expected a function ({', '.join(FUNCTIONS)}), got {word!r}")
    return FUNCTIONS[word]
