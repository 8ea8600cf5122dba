"""What operations do to tensors in global memory: who reads, writes or reduces which boxes, and when that is over.

>>> from symlayout import dims
>>> from symlayout.kernels import tma_reduce_add
>>> for a in accesses(tma_reduce_add(*dims("S M N")), ("dst", "src")):
...     print(a.kind, a.proxy, a.ends)
read async mbarrier
reduce.add async bulk
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from symlayout.atoms import ATOMS
from symlayout.expr import Int
from symlayout.kernel import Kernel
from symlayout.kernel.sites import Site, sites
from symlayout.ops import Box, Copy, Ref

from ..bulk_sizes import most_moved
from ..coverage.store_sites import Open, Store, box_of, store_at
from ..orders.footprints import elements_of
from ..orders.shared_accesses import completion, proxy
from ..rings.programs import sources, targets

REDUCE = "tma."


@dataclass(frozen=True, eq=False)
class Access:
    """An operation touches a tensor in global memory, or part of it through a tensor map."""

    kernel: Kernel
    site: Site
    operand: Ref | Box
    kind: str  # "read", "write", or a reduction such as "reduce.add"
    proxy: str  # "generic" or "async"
    ends: str  # what it completes on: "" where it is over when the operation is

    @property
    def tensor(self) -> str:
        return self.operand.tensor if isinstance(self.operand, Ref) else self.kernel.map(self.operand.tensor_map).tensor

    @property
    def changes(self) -> bool:
        return self.kind != "read"

    @cached_property
    def store(self) -> Store:
        """Its boxes by blocks, loops and lanes, as if it stored them. Raises Open where its executions are no box."""
        return store_at(self.kernel, self.site, *self.boxes)

    @property
    def boxes(self) -> tuple[tuple[Int, ...], tuple[int, ...]]:
        """(start, width) of one execution, or of more than it touches. Raises Open where numbers do not say."""
        if isinstance(self.operand, Box):
            return box_of(self.kernel, self.operand)
        op = self.site.op
        width = elements_of(self.kernel, op, self.operand)
        if width is None and isinstance(op, Copy):
            width = most_moved(self.kernel, op, self.operand)
        if width is None:
            raise Open(f"how many elements {op} touches")
        return (self.operand.offset,), (width,)

    def __str__(self) -> str:
        return str(self.site)


def accesses(kernel: Kernel, names: tuple[str, ...]) -> Iterator[Access]:
    """The accesses to some tensors in global memory, in the order of the program."""
    for s in sites(kernel):
        op = s.op
        ends, by = completion(op), "async" if proxy(op) == "async" else "generic"
        boxes = (op.src, op.dst) if isinstance(op, Copy) else ()
        read: list[Ref | Box] = [*dict.fromkeys(sources(op)), *(x for x in boxes[:1] if isinstance(x, Box))]
        changed: list[Ref | Box] = [*targets(op), *(x for x in boxes[1:] if isinstance(x, Box))]
        every = [Access(kernel, s, x, "read", by, ends) for x in read]
        every += [Access(kernel, s, x, _change(op), by, ends) for x in changed]
        yield from (a for a in every if a.tensor in names)


def _change(op: object) -> str:
    word = op.atom if isinstance(op, Copy) and op.atom in ATOMS else ""
    return word.removeprefix(REDUCE) if ".reduce." in word else "write"


def combined(kernel: Kernel, operand: Ref | Box, kind: str) -> str:
    """A reduction with the type as which it takes the elements, which its tensor map may say; "" for another access."""
    if not kind.startswith("reduce."):
        return ""
    if isinstance(operand, Box):
        return f"{kind} {kernel.map(operand.tensor_map).tensor_map.dtype}"
    return f"{kind} {kernel.tensor(operand.tensor).dtype}"


def conflict(a: Access, b: Access) -> bool:
    """Whether the order of two accesses to one element counts: one changes it, and they are not one reduction.

    Additions of floats and of integers to the same bytes are two reductions.
    """
    first, second = (combined(x.kernel, x.operand, x.kind) for x in (a, b))
    return (a.changes or b.changes) and (not first or first != second)
