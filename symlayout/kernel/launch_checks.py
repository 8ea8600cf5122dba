"""Assumptions of proofs about a kernel's tensors in global memory, and their check at a launch.

>>> from symlayout import dim
>>> from symlayout.kernels import vector_copy
>>> kernel = vector_copy(dim("N"))
>>> for sentence in kernel.assumed:
...     print(sentence)
the base of src, dst is a multiple of 16 bytes
dst, which the kernel writes, shares no byte with src
>>> check_launch(kernel.bind(N=100), {"src": (0x1000, 400), "dst": (0x1100, 400)})
Traceback (most recent call last):
symlayout.errors.AssumptionError: expected src and dst apart, since vector_copy writes dst, got src at 0x1000 .. \
0x118f and dst at 0x1100 .. 0x128f: 144 bytes are of both; copy one of them

That a tensor is const needs no check of addresses: ``WellFormed`` shows that no operation writes it.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np

from ..atoms import MemorySpace
from ..errors import AssumptionError
from .declarations import KernelTensor
from .value import Kernel

Place: TypeAlias = "tuple[int, int]"  # address, bytes


def check_launch(kernel: Kernel, places: Mapping[str, Place]) -> None:
    """Raise AssumptionError unless tensors at these places, (address, bytes) by name, are as proofs assume them.

    The kernel is bound to sizes. All its tensors in global memory need a place of at least their bytes, at a multiple
    of their ``align_bytes``. A tensor that the kernel writes must share no byte with another, unless the two may
    alias and begin at one address. The error names tensor, address and what is expected, or the two that overlap.
    """
    every = {t.name: t for t in kernel.tensors if t.space is MemorySpace.GLOBAL}
    missing = [name for name in every if name not in places]
    unknown = [name for name in places if name not in every]
    if missing or unknown:
        raise AssumptionError(f"expected a place for each of {', '.join(every)}, got {', '.join(places) or 'none'}")
    for name, (address, nbytes) in places.items():
        _expect_aligned(every[name], address)
        wanted = int(every[name].bytes)
        if nbytes < wanted:
            raise AssumptionError(f"expected at least {wanted} bytes of {every[name]}, got {nbytes} at {address:#x}")
    check_apart(kernel, places)


def _expect_aligned(t: KernelTensor, address: int) -> None:
    if address % t.align_bytes:
        low = address & -address
        raise AssumptionError(
            f"expected {t.name} at a multiple of {t.align_bytes} bytes, got address {address:#x}, a multiple of {low}; "
            f"copy it, or state align_bytes={low} of the tensor and prove the kernel again"
        )


def check_apart(kernel: Kernel, places: Mapping[str, Place]) -> None:
    """Raise AssumptionError where a tensor that the kernel writes shares bytes with one that it may not alias."""
    for a, b in itertools.combinations(places, 2):
        (first, n), (second, m) = places[a], places[b]
        both = min(first + n, second + m) - max(first, second)
        changed = [x for x in (a, b) if x in kernel.written]
        if both <= 0 or not changed:
            continue
        at = f"{a} at {first:#x} .. {first + n - 1:#x} and {b} at {second:#x} .. {second + m - 1:#x}"
        if b not in kernel.aliases(a):
            why = f"since {kernel.name} writes {' and '.join(changed)}"
            raise AssumptionError(
                f"expected {a} and {b} apart, {why}, got {at}: {both} bytes are of both; copy one of them"
            )
        if first != second:
            raise AssumptionError(f"expected {a} and {b} at one address or apart, got {at}: {both} bytes are of both")


# -- arrays of NumPy ------------------------------------------------------------------------------------


def check_arrays(kernel: Kernel, arrays: Mapping[str, np.ndarray[Any, Any]]) -> None:
    """Raise AssumptionError for arrays that break the assumptions of their tensors, as far as that shows.

    A view counts from the start of the array that it looks into, as a view of a tensor does in an allocation.
    """
    for name, x in arrays.items():
        into = _span(x)[0] - _span(_owner(x))[0]
        t = kernel.tensor(name)
        if into % t.align_bytes:
            raise AssumptionError(
                f"expected {name} at a multiple of {t.align_bytes} bytes, got a view that begins {into} bytes into its "
                f"array; copy it, or state align_bytes={into & -into} of the tensor"
            )
    check_apart(kernel, {name: _span(x) for name, x in arrays.items()})


def _span(x: np.ndarray[Any, Any]) -> Place:
    """The address of the first byte, and how many bytes there are up to the last."""
    steps = [(n - 1) * step for n, step in zip(x.shape, x.strides, strict=True)]
    low = x.__array_interface__["data"][0] + sum(n for n in steps if n < 0)
    return low, sum(map(abs, steps)) + x.itemsize if x.size else 0


def _owner(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    while isinstance(x.base, np.ndarray):
        x = x.base
    return x
