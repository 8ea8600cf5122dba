"""The integers that a kernel reads from memory as indices: those of the inputs, or drawn within their contracts.

>>> from symlayout.kernels import gather_rows
>>> kernel = gather_rows(100, 64, 8).bind()
>>> Indices(kernel, {}).drawn, Indices(kernel, {"idx": np.zeros(64, np.int32)}).drawn
(('idx',), ())

A drawn value depends on the entry alone, so that who reads it twice finds it unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from symlayout.kernel import Kernel
from symlayout.ops import LoadIndex

from .engine import SimulationError

if TYPE_CHECKING:
    from .points import Array, Points

MULTIPLIER, SHIFT = 0x9E3779B97F4A7C15, np.uint64(31)  # Fibonacci hashing (Knuth, volume 3, section 6.4)


class Indices:
    """The values of ``load_index`` in a kernel. Raises SimulationError for inputs that do not fit."""

    def __init__(self, kernel: Kernel, inputs: Mapping[str, Any]) -> None:
        self.kernel = kernel
        self.tensors = {t.name: t for t in kernel.tensors}
        read = dict.fromkeys(op.src.tensor for op in kernel.walk() if isinstance(op, LoadIndex))
        self.drawn = tuple(name for name in read if name not in inputs)
        self.tables: dict[str, Array] = {}
        for name in read:
            if name in inputs:
                layout, x = self.tensors[name].layout, np.asarray(inputs[name])
                offsets = layout.offsets()
                if x.size != len(offsets) or x.dtype.kind not in "iu":
                    raise SimulationError(f"expected {len(offsets)} integers of {name}, got {x.size} of {x.dtype}")
                table = np.zeros(int(np.max(offsets, initial=0)) + 1, dtype=np.int64)
                table[offsets] = x.reshape(-1, order="F")
                self.tables[name] = table

    def read(self, op: LoadIndex, here: Points) -> Array:
        """The value for each row, or for each row and lane. Raises SimulationError where one breaks its contract."""
        at = np.asarray(here.of(op.src.offset))
        at = np.broadcast_to(at, (here.rows, at.shape[1] if at.ndim == 2 else 1))
        low, high = (np.asarray(here.of(x)) for x in (op.name.lower, op.name.upper))
        table = self.tables.get(op.src.tensor)
        if table is None:
            with np.errstate(over="ignore"):
                mixed = (at.astype(np.uint64) + np.uint64(1)) * np.uint64(MULTIPLIER) >> SHIFT
            return low + (mixed % (high - low + 1).astype(np.uint64)).astype(np.int64)
        if at.min(initial=0) < 0 or at.max(initial=0) >= len(table):
            raise SimulationError(f"expected entries 0 .. {len(table) - 1} of {op.src.tensor}, got {at.max()}")
        found = table[at]
        if ((found < low) | (found > high)).any():
            raise SimulationError(f"expected values that keep the contract of {op}, got others in the inputs")
        return found
