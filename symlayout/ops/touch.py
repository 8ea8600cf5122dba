"""The effect of an operation on one of its places. Provers, runs and printers read it here, so none of them needs a
case for each operation.

>>> from symlayout.ops import Copy, Ref, Slot, Box
>>> for t in Copy("tma.load", Box("map", (0, 8)), Ref("tile"), Slot("full")).touches():
...     print(t)
read of map(0,8) in global memory through the async proxy, over with its mbarrier
write of tile in shared memory through the async proxy, over with its mbarrier
>>> for t in Copy("ld.global.16", Ref("x", 4), Ref("r")).touches():
...     print(t)
read of 16 bytes at x[4] in global memory
write of 16 bytes at r in register memory
"""

from __future__ import annotations

from dataclasses import dataclass

from ..atoms.access import AccessKind, Completion, MemorySpace, Proxy, Reduction
from ..expr import Int
from .operands import Box, Matrix, Ref


@dataclass(frozen=True)
class Touch:
    """A place that an operation reads, writes or combines values with, and when that is over.

    Each thread that executes it touches so many *elements* of the tensor from the place on, or so many *bytes*; where
    neither is said, the *box* of the copy or the *matrix* says how much.
    """

    operand: Ref | Box
    kind: AccessKind
    space: MemorySpace | None = None  # in which it has to be; None where it may be in several
    proxy: Proxy = Proxy.GENERIC
    completion: Completion = Completion.AT_ONCE
    reduction: Reduction | None = None
    elements: int | None = None
    bytes: Int | None = None
    box: Box | None = None
    matrix: Matrix | None = None

    @property
    def changes(self) -> bool:
        """Whether the place may hold another value afterwards."""
        return self.kind.changes

    def __str__(self) -> str:
        much = f"{self.elements} elements at " if self.elements is not None else ""
        much = f"{self.bytes} bytes at " if self.bytes is not None else much
        where = f" in {self.space} memory" if self.space else ""
        by = f" through the {self.proxy} proxy" if self.proxy is not Proxy.GENERIC else ""
        on = "its mbarrier" if self.completion is Completion.MBARRIER else f"its {self.completion} group"
        end = f", over with {on}" if self.completion else ""
        what = f"{self.kind} by {self.reduction}" if self.reduction else f"{self.kind}"
        return f"{what} of {much}{self.operand}{where}{by}{end}"
