"""Random bits with every number among them that arithmetic would not leave as it is, for tensors that are only moved.

>>> from symlayout import bf16
>>> [hex(x) for x in odd(bf16)[:4]]
['0x7fc1', '0xffc1', '0x7f81', '0xff81']
"""

from __future__ import annotations

from typing import Any

import numpy as np

from symlayout.dtype import DType
from symlayout.kernel import Kernel
from symlayout.kernel.specification import Element, elements, entries
from symlayout.ops import LoadIndex
from symlayout.semantics.telling import hashed

Array = np.ndarray[Any, Any]

EVERY = 5  # of so many elements one is NaN with a payload, infinite, subnormal or a zero with a sign


def only_moved(kernel: Kernel) -> tuple[str, ...]:
    """The tensors whose elements go to outputs of their type as they are, and nowhere else."""
    moved: set[str] = set()
    other = {e.tensor for r in kernel.results for e in entries(r.value)}
    for r in kernel.results:
        same = isinstance(r.value, Element) and kernel.tensor(r.value.tensor).dtype == kernel.tensor(r.tensor).dtype
        (moved if same else other).update(e.tensor for e in elements(r.value))
    other |= {op.src.tensor for op in kernel.walk() if isinstance(op, LoadIndex)}
    return tuple(sorted(moved - other))


def special(dtype: DType, shape: tuple[int, ...], seed: int) -> Array:
    """Bits by a hash of their place; every fifth element of a float type is one of ``odd``."""
    place = np.arange(int(np.prod(shape)), dtype=np.uint64)
    held = hashed(hashed(place, seed), 0).astype(f"u{dtype.bytes}")
    if dtype.kind == "float":
        held[::EVERY] = np.resize(odd(dtype), len(held[::EVERY]))
    return held.view(dtype.numpy()).reshape(shape)


def odd(dtype: DType) -> Array:
    """Bits of both signs: quiet and signalling NaN, infinity, the least and the greatest subnormal, zero."""
    import ml_dtypes

    bits, mantissa = dtype.bits, int(ml_dtypes.finfo(dtype.numpy()).nmant)  # type: ignore[no-untyped-call]
    sign, exponent = 1 << bits - 1, (1 << bits - 1) - (1 << mantissa)
    quiet = 1 << mantissa - 1
    found = [exponent | quiet | 1, exponent | 1, exponent | quiet - 1, exponent, 1, (1 << mantissa) - 1, 0]
    return np.array([x | s for x in found for s in (0, sign)], f"u{dtype.bytes}")
