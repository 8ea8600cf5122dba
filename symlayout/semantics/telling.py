"""Inputs whose elements and sums identify where they come from: numbers by a formula of their place.

>>> from symlayout import dim
>>> from symlayout.kernels import axpby, vector_copy
>>> print(telling_inputs(vector_copy(dim("N")).bind(N=4))["src"])
[1001. 2002. 3003. 4004.]
>>> [(t.tensor.name, t.kind) for t in tellings(axpby(dim("N")))]
[('x', <Kind.REAL: 'real'>), ('y', <Kind.REAL: 'real'>)]
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import ml_dtypes
import numpy as np

from ..atoms import MemorySpace
from ..dtype import DType
from ..expr import Int
from ..kernel import Kernel, KernelTensor
from ..kernel.specification import Applied, Element, PackedDot, Total, Value, elements, sums
from ..ops import LoadIndex
from ..strides import as_modes

Array = np.ndarray[Any, Any]

EXACT = 1 << 24  # integers up to it are exact in f32
STRIDE = np.uint64(1001)  # multiples of this are not exact in bf16, and few in f16: rounding shows
FEW = np.array([-2.0, -1.0, 1.0, 2.0])  # sums of products of these are exact
WHOLE, HALF = 1000, 500  # so many integers are added, about 0
MULTIPLIER, SHIFT = 0x9E3779B97F4A7C15, 29  # of the hash of a place; bits from BITS on are used
SEED, NEXT_SEED = 1, 7919
BITS = 13
BITWISE = ("and", "or", "xor", "not", "shl", "shr")
FRACTION = 4  # bits behind the point, where a type has so many


class Kind(StrEnum):
    """What the elements of an input are."""

    INDEX = "index"  # within the contract of what is read from memory
    MOVED = "moved"  # any bits but those of a NaN
    FEW = "few"  # -2, -1, 1, 2
    WHOLE = "whole"  # integers about 0
    REAL = "real"  # of all digits
    FLAG = "flag"  # 0 or 1
    BITS = "bits"  # of an integer, any


@dataclass(frozen=True)
class Telling:
    """The numbers of one input: their kind, and what is added to their places. *low* to *high* are those of indices."""

    tensor: KernelTensor
    kind: Kind
    seed: int
    summed: bool
    low: Int = 0
    high: Int = 0


def tellings(kernel: Kernel) -> Iterator[Telling]:
    """The numbers of each tensor that is not only an output."""
    updated = {r.tensor for r in kernel.results if r.tensor in r.inputs}
    outputs = {r.tensor for r in kernel.results} - updated
    moved = {e.tensor for r in kernel.results if isinstance(r.value, Element) for e in elements(r.value)}
    summed = updated | {e.tensor for r in kernel.results for x in sums(r.value) for e in elements(x)}
    totals = (x for r in kernel.results for x in sums(r.value) if isinstance(x, Total))
    folded = updated | {e.tensor for x in totals for e in elements(x)}
    packed = (x for r in kernel.results for x in sums(r.value) if isinstance(x, PackedDot))
    words = {e.tensor for x in packed for e in elements(x)}
    within = {op.src.tensor: op.name for op in kernel.walk() if isinstance(op, LoadIndex)}
    known = dict(p for r in kernel.results for p in _picking(r.value))
    inputs = (t for t in kernel.tensors if t.space is MemorySpace.GLOBAL and t.name not in outputs)
    for i, t in enumerate(inputs):
        kind, low, high = Kind.FEW, 0, 0
        if t.name in within:
            kind, (low, high) = Kind.INDEX, within[t.name].args[1:3]
        elif t.name in moved:
            kind = Kind.MOVED
        elif t.name in words:
            kind = Kind.BITS
        elif t.name in known and t.name not in summed:
            kind = known[t.name]
        elif t.name in folded and t.dtype.numpy().itemsize >= 4:
            kind = Kind.WHOLE
        elif t.name not in summed and t.dtype.kind == "float":
            kind = Kind.REAL
        yield Telling(t, kind, NEXT_SEED * i + SEED, t.name in summed, low, high)


def _picking(value: Value) -> Iterator[tuple[str, Kind]]:
    """The inputs of functions that other numbers would not tell apart: of a choice by 0, of what is equal, of bits."""
    if not isinstance(value, Applied):
        return
    kind = {"select": Kind.FLAG, "eq": Kind.FEW, "ne": Kind.FEW}.get(value.function)
    first = value.args if value.function not in ("select", "shl", "shr") else value.args[:1]
    if value.function in BITWISE:
        kind = Kind.BITS
    yield from ((x.tensor, kind) for x in first if kind is not None and isinstance(x, Element))
    for x in value.args:
        yield from _picking(x)


def telling_scalars(kernel: Kernel) -> dict[str, Any]:
    """A number for each scalar parameter."""
    return {p.name: p.within[0] if p.within else 2 + i for i, p in enumerate(kernel.parameters)}


def telling_inputs(bound: Kernel, loud: int = 0) -> dict[str, Any]:
    """Arrays for the tensors that are not outputs, and scalars. Their elements and sums identify where they come from.

    Elements that are only moved get 1001, 2002, .., or in few bits a hash of their place; those that are summed small
    integers; those of other functions digits of all bits; tensors of indices what their contract allows. With *loud*,
    1 or -1 for their sign, elements that are summed are what types too narrow for the sums do not hold: the greatest
    integers of their type, fractions.
    """
    out = telling_scalars(bound)
    for t in tellings(bound):
        place = np.arange(int(t.tensor.layout.size()), dtype=np.uint64)
        if loud and t.summed and t.kind not in (Kind.INDEX, Kind.MOVED):
            held = _loud(t.tensor.dtype, hashed(place, t.seed), loud)
        else:
            held = numbers(t, place)
        out[t.tensor.name] = held.reshape(as_modes(t.tensor.layout.shape))
    return out


def hashed(place: Array, seed: int) -> Array:
    """A number of 64 bits for each place."""
    found: Array = (place + np.uint64(seed)) * np.uint64(MULTIPLIER)
    found ^= found >> np.uint64(SHIFT)
    return found


def numbers(t: Telling, place: Array) -> Array:
    """The elements at all places of an input, the last coordinate fastest."""
    kind, bits = np.dtype(t.tensor.dtype.numpy()), hashed(place, t.seed)
    if t.kind is Kind.INDEX:
        low, high = int(t.low), int(t.high)
        return (low + (bits >> np.uint64(BITS)).astype(np.int64) % (high - low + 1)).astype(kind)
    if t.kind is Kind.FLAG:
        return (bits >> np.uint64(BITS) & np.uint64(1)).astype(kind)
    if t.kind is Kind.MOVED and kind.itemsize >= 4 and STRIDE * place.size < EXACT:
        return (STRIDE * (place + np.uint64(1))).astype(kind)
    if t.kind in (Kind.MOVED, Kind.BITS):
        return _numbers((bits >> np.uint64(8)).astype(f"u{kind.itemsize}"), t.tensor.dtype)
    if t.kind is Kind.WHOLE:
        return ((bits >> np.uint64(BITS)).astype(np.int64) % WHOLE - (kind.kind != "u") * HALF).astype(kind)
    few = np.abs(FEW) if kind.kind == "u" else FEW
    held = few[bits >> np.uint64(BITS) & np.uint64(3)].astype(kind)
    if t.kind is Kind.REAL:
        return ((1 + (bits >> np.uint64(40)) / (1 << 24)) * held.astype(np.float64)).astype(kind)
    return held


def _loud(dtype: DType, bits: Array, sign: int) -> Array:
    """Elements whose sums leave types that are too narrow: the last of all integers, 17/16 and 17/8."""
    kind = np.dtype(dtype.numpy())
    odd = (bits >> np.uint64(BITS) & np.uint64(1)).astype(np.int64)
    if dtype.kind != "float":
        ends = np.iinfo(kind)
        return (ends.max - odd if sign > 0 or kind.kind == "u" else ends.min + odd).astype(kind)
    return (sign * (1 + 2.0 ** -fraction(dtype)) * (1 + odd)).astype(kind)


def fraction(dtype: DType) -> int:
    """The bits behind the point of loud elements."""
    return min(FRACTION, int(ml_dtypes.finfo(dtype.numpy()).nmant))  # type: ignore[no-untyped-call]


def _numbers(bits: Array, dtype: DType) -> Array:
    """Bits as numbers of a type. Conversions keep of a NaN only that it is one, so one of its bits is cleared."""
    out: Array = bits.view(dtype.numpy())
    if dtype.kind == "float":
        with np.errstate(invalid="ignore"):
            nan = np.isnan(out)
        bits[nan] &= ~bits.dtype.type(1 << (dtype.bits - 2))
    return out
