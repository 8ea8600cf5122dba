"""Registers that wgmma uses: which of them threads have touched since their last ``fence wgmma``, and which are in use.

    >>> fences = RegisterFences(threads=2)
    >>> fences.fence(np.arange(2))
    >>> fences.touch("acc", 8, np.array([[0], [1]]), np.array([[0, 1], [4, 5]]))
    >>> fences.fence(np.array([0]))
    >>> fences.touched("acc", 8, np.array([[0], [1]]), np.arange(4, 8)).tolist()
    [[False, False, False, False], [True, True, False, False]]

Before the first fence all registers count as touched. Sums of consecutive wgmmas are not touched by them (PTX ISA,
wgmma.fence). What a wgmma under way uses may be neither read nor written (PTX ISA, wgmma.wait_group).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..atoms import Completion, MmaAtom
from ..errors import DisorderError
from ..int_tuple import size
from ..kernel import Kernel
from ..ops import Mma, Op, Ref, WaitGroup

Array = np.ndarray[Any, Any]


class RegisterFences:
    """The accesses of an agent's threads to their registers; rows are threads, columns bytes."""

    def __init__(self, threads: int) -> None:
        self.threads, self.bare = threads, np.ones(threads, dtype=bool)
        self._touched: dict[str, Array] = {}

    def touch(self, name: str, nbytes: int, lane: Array, at: Array) -> None:
        """Bytes of a tensor of *nbytes* are read or written."""
        self._of(name, nbytes)[lane, at] = True

    def fence(self, lane: Array) -> None:
        """These threads fence all of their registers."""
        self.bare[lane] = False
        for found in self._touched.values():
            found[lane] = False

    def touched(self, name: str, nbytes: int, lane: Array, at: Array) -> Array:
        """Whether bytes were touched since."""
        out: Array = self._of(name, nbytes)[lane, at] | self.bare[lane]
        return out

    def _of(self, name: str, nbytes: int) -> Array:
        if name not in self._touched:
            self._touched[name] = np.zeros((self.threads, nbytes), dtype=bool)
        return self._touched[name]


def is_wgmma(op: Op | None) -> bool:
    """Whether an operation is an asynchronous product of a warpgroup."""
    return op is not None and op.completion is Completion.WGMMA


def fenced(kernel: Kernel) -> bool:
    """Whether a kernel has registers that need fences."""
    return any(map(is_wgmma, kernel.walk()))


def touches(op: Op | None) -> bool:
    """Whether what an operation does to registers is an access of its own, and not that of a wgmma."""
    return not is_wgmma(op) and not isinstance(op, WaitGroup)


def registers_of(op: Mma) -> tuple[tuple[Ref, int], ...]:
    """The registers of a wgmma and how many elements of each a thread has: its sums, and A where it is in registers."""
    row = op.row
    assert isinstance(row, MmaAtom)
    sums = (op.acc, size(row.tv_c.shape[1]))
    return (sums, (op.a, size(row.tv_a.shape[1]))) if isinstance(op.a, Ref) else (sums,)


def expect_unused(name: str, writes: bool, lane: Array, at: Array, works: Iterable[Any]) -> None:
    """Raise LayoutError for registers that a wgmma under way uses; its sums are poison until then, so may be read."""
    for work in works:
        lanes = work.threads[~work.done] - work.agent.first
        here = np.isin(lane[:, 0], lanes)
        for i, (tensor, first, end) in enumerate(work.registers):
            if tensor == name and (writes or i) and ((at >= first) & (at < end))[here].any():
                does = "overwrites" if writes else "reads"
                said = f"{does} {name}, which {work.op} may still be using; expected a wait_group wgmma before"
                raise DisorderError(said, "order", name)
