"""Accesses of operations to the tensors of a kernel: the threads, the kind of access, and when it is over.

>>> from symlayout import dim
>>> from symlayout.kernels import cp_async_copy
>>> for a in accesses(cp_async_copy(dim("N"), stages=3, threads=64), MemorySpace.SHARED):
...     print(a.kind, a.proxy, a.group or "at once", a.tensor)
write generic cp.async tile
write generic cp.async tile
read generic at once tile
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from symlayout.atoms import AccessKind, Completion, MatrixCopy, MemorySpace, Proxy
from symlayout.kernel import Kernel
from symlayout.kernel.sites import Site, Team, everyone, sites, warps_of
from symlayout.ops import Matrix, Op, PeerCopy, Ref, Role


@dataclass(frozen=True, eq=False)
class Access:
    """An operation reads or writes a tensor, through a proxy; asynchronous ones end with their *group*."""

    site: Site
    ref: Ref
    kind: AccessKind
    proxy: Proxy
    group: Completion
    matrix: Matrix | None = None  # of an operand of wgmma

    @property
    def tensor(self) -> str:
        return self.ref.tensor

    @cached_property
    def team(self) -> Team:
        return everyone(self.site)

    def __str__(self) -> str:
        return str(self.site)


def accesses(kernel: Kernel, space: MemorySpace, every: Iterable[Site] | None = None) -> Iterator[Access]:
    """The accesses to tensors in a memory space, in order.

    Fills by copies that complete on mbarriers are rings', what touches the memory of a peer that of the clocks.
    """
    names = {t.name for t in kernel.tensors if t.space == space}
    for s in sites(kernel) if every is None else every:
        if isinstance(s.op, PeerCopy) and space is MemorySpace.SHARED:
            continue
        if s.op.completion is not Completion.MBARRIER or isinstance(s.op, PeerCopy):
            yield from accesses_of(s, names)


def accesses_of(s: Site, names: Collection[str]) -> Iterator[Access]:
    """The accesses of one operation to some tensors."""
    read = {t.operand: t for t in s.op.reads()}
    for t in (*read.values(), *s.op.changes()):
        if isinstance(t.operand, Ref) and t.operand.tensor in names:
            kind = AccessKind.WRITE if t.changes else AccessKind.READ
            yield Access(s, t.operand, kind, t.proxy, t.completion, t.matrix)


def whole_warps(op: Op) -> bool:
    """Whether the lanes of a warp copy together, and none of them by itself."""
    return isinstance(op.row, MatrixCopy)


def covers(w: Site, a: Access) -> bool:
    """Whether all threads of an access are among those of *w*."""
    return w.team is not None and w.team.includes(a.team) is True


def may_cover(w: Site, a: Access) -> bool:
    """Whether some thread of an access may be among those of *w*."""
    return bool(everyone(w).warps & a.team.warps)


def parallel(a: Site, b: Site) -> bool:
    """Whether two operations are of roles that share no warp, so that each comes when it will."""
    ra, rb = _role(a), _role(b)
    return ra is not None and rb is not None and ra is not rb and not warps_of(ra) & warps_of(rb)


def _role(s: Site) -> Any:
    return next((a for a in reversed(s.around) if isinstance(a, Role)), None)
