"""What is said of an element that is not as it should be: its place, both numbers with their bits, and who wrote it."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from checkers.claim import TooLarge
from checkers.coverage.writes import writer_at
from symlayout.int_tuple import text, unflatten
from symlayout.kernel import Kernel, KernelTensor
from symlayout.semantics.execute import as_bytes
from symlayout.semantics.machine import Machine

Array = np.ndarray[Any, Any]


def difference(
    bound: Kernel, machine: Machine | None, got: Mapping[str, Array], wanted: Mapping[str, Array], source: str
) -> str:
    """The first element that is not as it should be, and who wrote it; "" where every byte is."""
    for name, want in wanted.items():
        x, tensor = got[name], bound.tensor(name)
        if np.array_equal(_flat(x), _flat(want)):
            continue
        wrong = (as_bytes(x) != as_bytes(want)).any(axis=-1)
        at = tuple(int(i) for i in np.unravel_index(int(np.argmax(wrong)), wrong.shape))
        counted = f"{np.count_nonzero(wrong)} of {wrong.size} elements"
        return f"{name} differs from the {source} in {counted}, " + first(bound, machine, tensor, at, want[at], x[at])
    return ""


def out_of_range(
    bound: Kernel, machine: Machine | None, got: Mapping[str, Array], ranges: Mapping[str, tuple[Array, Array]], of: str
) -> str:
    """The first element that is not in the range of what hardware may compute, and who wrote it; "" where all are."""
    for name, (low, high) in ranges.items():
        x, tensor = got[name], bound.tensor(name)
        with np.errstate(invalid="ignore"):
            wrong = ~((low <= x) & (x <= high) | np.isnan(low) & np.isnan(x))
        if wrong.any():
            at = tuple(int(i) for i in np.unravel_index(int(np.argmax(wrong)), wrong.shape))
            counted = f"{np.count_nonzero(wrong)} of {wrong.size} elements"
            wanted = f"{_shown(low[at])} .. {_shown(high[at])}"
            return f"{name} is out of {of} in {counted}, {_place(bound, machine, tensor, at, wanted, x[at])}"
    return ""


def first(
    bound: Kernel, machine: Machine | None, tensor: KernelTensor, at: tuple[int, ...], wanted: Any, got: Any
) -> str:
    """The first wrong element: coordinate, offset, both numbers, and the operation that wrote it."""
    return _place(bound, machine, tensor, at, _shown(wanted), got)


def _place(
    bound: Kernel, machine: Machine | None, tensor: KernelTensor, at: tuple[int, ...], wanted: str, got: Any
) -> str:
    offset = int(tensor.layout(unflatten(at, tensor.layout.shape)))
    return (
        f"first at {text(at)}, offset {offset}: expected {wanted}, got {_shown(got)}, "
        f"{_writer(bound, machine, tensor, at)}"
    )


def _flat(x: Array) -> Array:
    return np.ascontiguousarray(x).reshape(-1).view(np.uint8)


def _shown(x: Any) -> str:
    """A number and its bits."""
    return f"{x} ({np.asarray(x).tobytes()[::-1].hex()})"


def _writer(bound: Kernel, machine: Machine | None, tensor: KernelTensor, at: tuple[int, ...]) -> str:
    """The operation that wrote an element: as the untimed run knows it, else the one whose box covers it."""
    if machine is not None:
        return machine.memory[tensor.name].written_by(at)
    with contextlib.suppress(TooLarge):
        found = writer_at(bound, tensor.name, int(tensor.layout(unflatten(at, tensor.layout.shape))))
        return f"written by {found}" if found else "which no operation writes"
    stores = [str(op) for op in bound.walk() if any(bound.touched(t) == tensor.name for t in op.changes())]
    return f"which {' or '.join(dict.fromkeys(stores)) or 'no operation'} writes"
