"""What operations do to the tensors of a kernel: who touches them, how, and when that is over.

>>> from symlayout import dim
>>> from symlayout.kernels import cp_async_copy
>>> for a in accesses(cp_async_copy(dim("N"), stages=3, threads=64), "shared"):
...     print(a.kind, a.proxy, a.group or "at once", a.tensor)
write generic cp.async tile
write generic cp.async tile
read generic at once tile
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from symlayout.atoms import ATOMS, MatrixCopy
from symlayout.kernel import Kernel
from symlayout.kernel.sites import Site, Team, everyone, sites, warps_of
from symlayout.ops import Copy, Matrix, Mma, Op, Ref, Role

from ..rings.programs import sources, targets


@dataclass(frozen=True, eq=False)
class Access:
    """An operation reads or writes a tensor, through a proxy; asynchronous ones end with their *group*."""

    site: Site
    ref: Ref
    kind: str  # "read" or "write"
    proxy: str
    group: str  # "" where it is over when the operation is
    matrix: Matrix | None = None  # of an operand of wgmma

    @property
    def tensor(self) -> str:
        return self.ref.tensor

    @cached_property
    def team(self) -> Team:
        return everyone(self.site)

    def __str__(self) -> str:
        return str(self.site)


def accesses(kernel: Kernel, space: str, every: Iterable[Site] | None = None) -> Iterator[Access]:
    """The accesses to tensors in a memory space, in order; fills by copies that complete on mbarriers are rings'."""
    names = {t.name for t in kernel.tensors if t.space == space}
    for s in sites(kernel) if every is None else every:
        if completion(s.op) != "mbarrier":
            yield from (a for a in _of(s, names))


def _of(s: Site, names: set[str]) -> Iterator[Access]:
    op, group = s.op, completion(s.op)
    matrices = {x.start: x for x in (op.a, op.b) if isinstance(x, Matrix)} if isinstance(op, Mma) else {}
    for ref in dict.fromkeys(sources(op)):
        if ref.tensor in names:
            yield Access(s, ref, "read", proxy(op), group if group != "cp.async" else "", matrices.get(ref))
    for ref in targets(op):
        if ref.tensor in names:
            yield Access(s, ref, "write", "generic", group if group != "bulk" else "")


def completion(op: Op) -> str:
    """What an operation completes on: "", "mbarrier" or a group."""
    return ATOMS[op.atom].completion if isinstance(op, Copy | Mma) and op.atom in ATOMS else ""


def proxy(op: Op) -> str:
    """The proxy through which an operation reads shared memory."""
    return ATOMS[op.atom].proxy if isinstance(op, Copy | Mma) and op.atom in ATOMS else "generic"


def whole_warps(op: Op) -> bool:
    """Whether the lanes of a warp copy together, and none of them by itself."""
    return isinstance(op, Copy) and isinstance(ATOMS.get(op.atom), MatrixCopy)


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
    return next((a for a in s.around if isinstance(a, Role)), None)
