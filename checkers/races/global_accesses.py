"""Accesses of operations to tensors in global memory: who reads, writes or reduces which boxes, and when that is over.

>>> from symlayout import dims
>>> from symlayout.kernels import tma_reduce_add
>>> for a in accesses(tma_reduce_add(*dims("S M N")), ("dst", "src")):
...     print(a.kind, a.proxy, a.ends)
read async mbarrier
reduce async bulk
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from symlayout.atoms import AccessKind, Completion, Proxy, Reduction
from symlayout.expr import Int
from symlayout.kernel import Kernel
from symlayout.kernel.sites import Site, sites
from symlayout.kernel.touched import elements_of
from symlayout.ops import Box, Copy, Ref, Touch

from ..bulk_sizes import most_moved
from ..coverage.store_sites import Open, Store, box_of, store_at


@dataclass(frozen=True, eq=False)
class Access:
    """An operation touches a tensor in global memory, or part of it through a tensor map."""

    kernel: Kernel
    site: Site
    touch: Touch

    @property
    def operand(self) -> Ref | Box:
        return self.touch.operand

    @property
    def kind(self) -> AccessKind:
        return self.touch.kind

    @property
    def proxy(self) -> Proxy:
        return self.touch.proxy

    @property
    def ends(self) -> Completion:
        """Its completion mechanism."""
        return self.touch.completion

    @property
    def tensor(self) -> str:
        return self.kernel.touched(self.touch)

    @property
    def changes(self) -> bool:
        return self.touch.changes

    @cached_property
    def reduction(self) -> Reduction | None:
        """The reduction that it is, with its type."""
        return typed(self.kernel, self.touch)

    @cached_property
    def store(self) -> Store:
        """Its boxes by blocks, loops and lanes, as if it stored them. Raises Open if its executions are not a box."""
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
        every = {(t.operand, t.kind): t for t in s.op.touches()}
        yield from (Access(kernel, s, t) for t in every.values() if kernel.touched(t) in names)


def typed(kernel: Kernel, touch: Touch) -> Reduction | None:
    """A reduction with the type as which it takes the elements, which its tensor map may say; None for no reduction."""
    found, x = touch.reduction, touch.operand
    if found is None or found.dtype is not None:
        return found
    return replace(
        found,
        dtype=kernel.map(x.tensor_map).tensor_map.dtype if isinstance(x, Box) else kernel.tensor(x.tensor).dtype,
    )


def conflict(a: Access, b: Access) -> bool:
    """Whether the order of two accesses to one element counts: one changes it, and they are not one reduction."""
    return (a.changes or b.changes) and (a.reduction is None or a.reduction != b.reduction)
