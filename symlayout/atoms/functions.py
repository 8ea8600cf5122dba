"""The functions of ``Map``, a row each: functions of elements of registers, typed by the registers.

Arithmetic on floats is exact and rounded once, to nearest even, to the type of the result; integers wrap. So it is in
a run of the approximate functions too (``.approx``), of which hardware may give another number: how far from the exact
value, ``errors`` says for each type. A packed function (``.x2``) has the values of the one without that word, and
computes two elements of 16 bits by one instruction.

    >>> half, single = DType.of("bf16"), DType.of("f32")
    >>> x = np.array([[1.00390625, 3.0]], dtype=np.float32)
    >>> map_function("convert").result([(single, x)], half, 2)
    array([[1, 3]], dtype=bfloat16)
    >>> row, given = map_function("ex2.approx"), [(single, np.array([[3.0]]))]
    >>> print(row.result(given, single, 1), row.errors["f32"], row.error_bound(given, single, 1), sep="; ")
    [[8.]]; at most 2 ulp; [[1.90734863e-06]]
    >>> least, chosen = map_function("lt"), map_function("select")
    >>> a, b = (np.array([x], np.float32) for x in ((1, 5, np.nan), (2, 2, 2)))
    >>> print(less := least.result([(single, a), (single, b)], single, 3))
    [[1. 0. 0.]]
    >>> print(chosen.result([(single, less), (single, a), (single, b)], single, 3))
    [[1. 2. 2.]]
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import ml_dtypes
import numpy as np

from ..dtype import DType
from ..errors import LayoutError

Numbers = np.ndarray[Any, Any]

NAN_16 = 0x7FFF  # PTX ISA, cvt: the canonical NaN of f16 and bf16
Typed = tuple[DType, Numbers]

AMPERE, HOPPER = (8, 0), (9, 0)
PACKED = "x2"  # the word of functions of two elements at once
PACKED_TYPES = ("f16", "bf16")


@dataclass(frozen=True)
class Error:
    """The most that a result differs from the exact value: the sum of what is stated, *ulps* counted in its type.

    >>> print(Error(relative=2.0**-11), Error(absolute=2.0**-8), Error(relative=2.0**-22, absolute=2.0**-22), sep="; ")
    at most 2^-11 of the value; at most 2^-8; at most 2^-22 of the value plus 2^-22
    """

    relative: float = 0.0
    absolute: float = 0.0
    ulps: int = 0

    def bound(self, exact: Numbers, dtype: DType) -> Numbers:
        """The bound for exact values, as float64; an ulp of what the type does not hold is that of its last number."""
        kind = dtype.numpy()
        with np.errstate(all="ignore"):
            last = np.nextafter(kind.type(np.inf), kind.type(0))
            near = np.minimum(np.abs(exact), np.nextafter(last, kind.type(0)).astype(np.float64)).astype(kind)
            ulp = np.nextafter(near, last).astype(np.float64) - near.astype(np.float64)
            found = self.relative * np.abs(exact) + self.absolute
            return found + self.ulps * ulp if self.ulps else found

    def __str__(self) -> str:
        powers = [f"2^{math.log2(x):.5g}" for x in (self.relative, self.absolute) if x]
        told = [f"{powers[0]} of the value"] if self.relative else []
        told += [powers[-1]] if self.absolute else []
        told += [f"{self.ulps} ulp"] if self.ulps else []
        return f"at most {' plus '.join(told)}"


@dataclass(frozen=True)
class MapFunction:
    """A function: how many elements of each source it takes (0: as many as there are results), and what it does.

    ``on`` gets float64 for floats and the result's type for integers; where *bits* count, numbers of the result's type
    as they are. Where *errors* are stated, or *types*, results are of these types alone. *flushed* are the types for
    which subnormal numbers count as 0 of their sign, in and out.
    """

    word: str
    counts: tuple[int, ...]
    on: Callable[..., Numbers]
    sentence: str
    types: tuple[str, ...] = ()
    errors: Mapping[str, Error] = field(default_factory=dict)
    flushed: tuple[str, ...] = ()
    source: str = ""  # document and section of what is stated of errors
    since: Mapping[str, tuple[int, int]] = field(default_factory=dict)  # compute capability by type; 8.0 of others
    bits: bool = False

    @property
    def packed(self) -> bool:
        """Whether it computes two elements at once."""
        return self.word.endswith(f".{PACKED}")

    @property
    def value(self) -> str:
        """The function whose values it has: ``add`` of ``add.x2``."""
        return self.word.removesuffix(f".{PACKED}")

    def has(self, out: DType) -> bool:
        """Whether there is such a function with results of a type, as far as it is stated."""
        return not (self.types or self.errors) or out.name in (*self.types, *self.errors)

    def error_bound(self, sources: list[Typed], out: DType, count: int) -> Numbers:
        """How far a result of hardware may be from that of ``result``, as float64: 0 where it is rounded once."""
        if out.name not in self.errors:
            return np.zeros(np.broadcast_shapes(*(x.shape for _, x in sources)))
        with np.errstate(all="ignore"):
            exact = self.exact(sources)
            near = converted(exact, out).astype(np.float64)
            rounding = np.where(np.isfinite(near), np.abs(near - exact), 0)
            bound = self.errors[out.name].bound(exact, out) + rounding
        return np.where(np.isfinite(exact), bound, 0.0)

    def exact(self, sources: list[Typed], out: DType | None = None) -> Numbers:
        """The value before it is rounded, as float64: what this does not hold is rounded to odd, unless it is *out*."""
        narrow = out is None or out.bits < 64
        with np.errstate(all="ignore"):
            return self.on(*(self._flushed(_wide(x, narrow), kind) for kind, x in sources))

    def _flushed(self, x: Numbers, kind: DType) -> Numbers:
        """Numbers with 0 of their sign in place of subnormal ones, if the function flushes them."""
        if kind.name not in self.flushed:
            return x
        least = float(ml_dtypes.finfo(kind.numpy()).smallest_normal)  # type: ignore[no-untyped-call]
        return np.where(np.abs(x) < least, np.copysign(0.0, x), x)

    def result(self, sources: list[Typed], out: DType, count: int) -> Numbers:
        """The elements of the result, a row for each thread.

        Raises LayoutError for an fma of 64 bits, whose product no type here holds, and for a type of which there is no
        such function.
        """
        if not self.has(out):
            of = ", ".join((*self.types, *self.errors))
            raise LayoutError(f"expected {self.word} of {of}, got {out}")
        if self.bits:
            with np.errstate(all="ignore"):
                kind = out.numpy()
                same = (x if x.dtype == kind else converted(x.astype(np.float64), out) for _, x in sources)
                return np.asarray(self.on(*same)).astype(kind)
        if self.value == "fma" and out.bits == 64 and out.kind == "float":
            raise LayoutError("expected an fma of at most 32 bits, got f64")
        if out.kind == "float" or any(kind.kind == "float" for kind, _ in sources):
            with np.errstate(all="ignore"):
                return converted(self._flushed(self.exact(sources, out), out), out)
        with np.errstate(all="ignore"):
            return self.on(*(x.astype(out.numpy()) for _, x in sources)).astype(out.numpy())


def converted(x: Numbers, out: DType) -> Numbers:
    """float64 numbers in another type: to integers towards zero and saturated, NaN to 0; to 8-bit floats saturated.

    PTX ISA, cvt: ``.rzi`` to integers, ``.rn.satfinite`` to e4m3 and e5m2, ``.rn`` to the others, whose NaN of 16 bits
    is the canonical one.
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
    found: Numbers = _odd(x).astype(kind) if out.bits < 32 else x.astype(kind)
    if out.bits == 16:
        found.view(np.uint16)[np.isnan(x)] = NAN_16
    return found


def _odd(x: Numbers) -> Numbers:
    """float32 rounded to odd: rounding such a number again, to at least two bits less, is rounding once."""
    near: Numbers = x.astype(np.float32)
    back, even = near.astype(np.float64), near.view(np.uint32) % 2 == 0
    towards = np.where(x > back, np.float32(np.inf), np.float32(-np.inf))
    return np.where((back != x) & even & np.isfinite(back), np.nextafter(near, towards), near)


def _fma(a: Numbers, b: Numbers, c: Numbers) -> Numbers:
    """a*b + c, rounded to odd: products of 24 bits are exact, and the error of a sum is known (Knuth's TwoSum)."""
    if a.dtype != np.float64:
        return a * b + c
    p = a * b
    return _odd_sum(p, c)


def _odd_sum(p: Numbers, c: Numbers) -> Numbers:
    """p + c in float64, rounded to odd."""
    s = p + c
    t = s - p
    error = (p - (s - t)) + (c - t)
    even = (error != 0) & np.isfinite(s) & (s.view(np.uint64) & 1 == 0)
    return np.where(even, np.nextafter(s, np.where(error > 0, np.inf, -np.inf)), s)


def _wide(x: Numbers, narrow: bool) -> Numbers:
    """Numbers as float64; integers of 64 bits are rounded to odd where they are made *narrow* next, so once in all."""
    if not narrow or x.dtype.kind not in "iu" or x.dtype.itemsize < 8:
        return x.astype(np.float64)
    low = x & x.dtype.type(0xFFFFFFFF)
    return _odd_sum((x - low).astype(np.float64), low.astype(np.float64))


def _lesser(a: Numbers, b: Numbers) -> Numbers:
    """PTX ISA, min and max: -0 is less than 0."""
    return np.where(a == b, np.where(np.signbit(a), a, b), np.fmin(a, b))


def _greater(a: Numbers, b: Numbers) -> Numbers:
    return np.where(a == b, np.where(np.signbit(a), b, a), np.fmax(a, b))


def _relu(x: Numbers) -> Numbers:
    return np.where(x > 0, x, np.zeros_like(x))


ROWS = (
    MapFunction("convert", (0,), lambda x: x, "the number in the type of the result"),
    MapFunction("add", (0, 0), lambda a, b: a + b, "a + b"),
    MapFunction("sub", (0, 0), lambda a, b: a - b, "a - b"),
    MapFunction("mul", (0, 0), lambda a, b: a * b, "a * b"),
    MapFunction("fma", (0, 0, 0), _fma, "a*b + c, rounded once"),
    MapFunction("scale", (0, 1), lambda a, s: a * s, "a * s, for one s"),
    MapFunction("min", (0, 0), _lesser, "the lesser, -0 of zeros; the number of a number and a NaN"),
    MapFunction("max", (0, 0), _greater, "the greater, 0 of zeros; the number of a number and a NaN"),
    MapFunction("neg", (0,), lambda x: -x, "-x"),
    MapFunction("relu", (0,), _relu, "x where x > 0, else 0; 0 for NaN"),
)

# Rounded once, as IEEE 754 has them (PTX ISA, div.rn, rcp.rn, sqrt.rn): float64 holds twice the digits of f32 and more.
IEEE = (
    MapFunction("div", (0, 0), lambda a, b: a / b, "a / b, rounded once", types=("f32", "f64")),
    MapFunction("rcp", (0,), lambda x: 1 / x, "1 / x, rounded once", types=("f32", "f64")),
    MapFunction("sqrt", (0,), np.sqrt, "the square root, rounded once", types=("f32", "f64")),
)
APPROXIMATE = (
    MapFunction(
        *("ex2.approx", (0,), np.exp2, "2 to the power x"),
        errors={
            "f32": Error(ulps=2),
            # PTX states the relative part; a subnormal result of an H200 is up to one step of these off besides.
            "f16": Error(relative=2.0**-9.9, absolute=2.0**-24),
            "bf16": Error(relative=2.0**-7),
        },
        flushed=("bf16",),
        source="PTX ISA, ex2",
        since={"bf16": HOPPER},
    ),
    MapFunction(
        *("lg2.approx", (0,), np.log2, "the logarithm to base 2"),
        errors={"f32": Error(relative=2.0**-22, absolute=2.0**-22)},  # the one or the other, by the range of x
        source="PTX ISA, lg2",
    ),
    MapFunction(*("rcp.approx", (0,), lambda x: 1 / x, "1 / x"), errors={"f32": Error(ulps=1)}, source="PTX ISA, rcp"),
    MapFunction(
        *("rsqrt.approx", (0,), lambda x: 1 / np.sqrt(x), "1 / the square root"),
        errors={"f32": Error(relative=2.0**-22.9)},
        source="PTX ISA, rsqrt",
    ),
    MapFunction(
        *("sqrt.approx", (0,), np.sqrt, "the square root"),
        errors={"f32": Error(relative=2.0**-23)},
        source="PTX ISA, sqrt",
    ),
    MapFunction(
        *("tanh.approx", (0,), np.tanh, "the hyperbolic tangent"),
        errors={
            "f32": Error(relative=2.0**-11),
            "f16": Error(absolute=2.0**-10.987),
            "bf16": Error(absolute=2.0**-8),
        },
        source="PTX ISA, tanh",
        since={"bf16": HOPPER},
    ),
)


def _packed(row: MapFunction) -> MapFunction:
    since = {"bf16": HOPPER} if row.word in ("add", "sub", "mul") else {}  # PTX ISA, add, sub, mul: of bf16x2
    sentence = f"{row.sentence}, two elements at once"
    types = () if row.errors else PACKED_TYPES
    errors = {name: error for name, error in row.errors.items() if name in PACKED_TYPES}
    return replace(
        row, word=f"{row.word}.{PACKED}", sentence=sentence, types=types, errors=errors, since={**row.since, **since}
    )


INTEGERS = ("i32", "u32", "i64", "u64", "i16", "u16", "i8", "u8")
WORDS = INTEGERS[:4]  # of which PTX has shifts
COMPARED = ("f32", "f16", "bf16", "f64", *INTEGERS)


def _compared(word: str, on: Callable[..., Numbers], sign: str) -> MapFunction:
    """1 where a comparison holds, else 0; of a NaN only ``ne`` does (PTX ISA, setp: lt to eq, and neu)."""
    return MapFunction(word, (0, 0), on, f"1 where a {sign} b, else 0", types=COMPARED, bits=True)


def _shifted(left: bool) -> Callable[..., Numbers]:
    """PTX ISA, shl and shr: amounts have no sign, and those of the type's bits or more shift all bits out."""

    def shifted(a: Numbers, b: Numbers) -> Numbers:
        kind = a.dtype
        bits, amount = 8 * kind.itemsize, b.astype(f"u{kind.itemsize}")
        near = np.minimum(amount, bits - 1).astype(kind)
        if left:
            return np.where(amount < bits, np.left_shift(a, near), kind.type(0))
        return np.where((amount < bits) | (kind.kind == "i"), np.right_shift(a, near), kind.type(0))

    return shifted


def _picked(c: Numbers, a: Numbers, b: Numbers) -> Numbers:
    return np.where(c != 0, a, b)


# Numbers are compared, picked and cut as they are: of what is picked every bit stays, that of a NaN too.
CHOICES = (
    _compared("eq", np.equal, "="),
    _compared("ne", np.not_equal, "!="),
    _compared("lt", np.less, "<"),
    _compared("le", np.less_equal, "<="),
    _compared("gt", np.greater, ">"),
    _compared("ge", np.greater_equal, ">="),
    MapFunction("select", (0, 0, 0), _picked, "a where c is not 0, else b", types=COMPARED, bits=True),
)
BITWISE = (
    MapFunction("and", (0, 0), np.bitwise_and, "the bits that a and b have", types=INTEGERS, bits=True),
    MapFunction("or", (0, 0), np.bitwise_or, "the bits that a or b has", types=INTEGERS, bits=True),
    MapFunction("xor", (0, 0), np.bitwise_xor, "the bits that one of a and b has", types=INTEGERS, bits=True),
    MapFunction("not", (0,), np.invert, "the bits that a has not", types=INTEGERS, bits=True),
    MapFunction("shl", (0, 0), _shifted(left=True), "a shifted left by b bits, zeros behind", types=WORDS, bits=True),
    MapFunction("shr", (0, 0), _shifted(left=False), "a shifted right by b bits", types=WORDS, bits=True),
)

PAIRS = tuple(
    _packed(row)
    for row in (*ROWS, *APPROXIMATE)
    if row.word in ("add", "sub", "mul", "fma", "min", "max", "neg", "ex2.approx", "tanh.approx")
)

FUNCTIONS: Mapping[str, MapFunction] = {
    row.word: row for row in (*ROWS, *IEEE, *CHOICES, *BITWISE, *APPROXIMATE, *PAIRS)
}


def map_function(word: str) -> MapFunction:
    """The row of a function. Raises LayoutError for a word that has none."""
    if word not in FUNCTIONS:
        raise LayoutError(f"expected a function ({', '.join(FUNCTIONS)}), got {word!r}")
    return FUNCTIONS[word]
