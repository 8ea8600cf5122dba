"""Distinct names, which a kernel needs before it is walked: names of indices, roles, and tensors in shared memory."""

from __future__ import annotations

from symlayout.atoms import MemorySpace
from symlayout.kernel import THREAD, Kernel
from symlayout.kernel.sites import sites
from symlayout.ops import For, Role

from ..overlaps import unsettled
from .state import Open


def names_of(kernel: Kernel) -> frozenset[str]:
    """The names of all sizes, indices and values of a kernel."""
    loops = {op.index.name for op in kernel.walk() if isinstance(op, For)}
    results = {s.name for r in kernel.results for s in r.coords}
    return frozenset({s.name for s in (*kernel.dims, *kernel.block, *kernel.opaque)} | loops | results | {THREAD})


def fresh(kernel: Kernel, name: str) -> str:
    """A name that nothing in the kernel has."""
    taken = names_of(kernel)
    while name in taken:
        name += "_"
    return name


def expect_distinct(kernel: Kernel) -> None:
    """Raise Open if one name has two meanings at once."""
    for s in sites(kernel):
        if isinstance(s.op, For) and any(s.op.index.name == outer.index.name for outer in s.loops):
            raise Open(f"a loop over {s.op.index} inside another of that name; expected a name of its own")
    roles = [op.name for op in kernel.body if isinstance(op, Role)]
    twice = next((name for name in roles if roles.count(name) > 1), None)
    if twice is not None:
        raise Open(f"two roles named {twice}; expected a name for each")
    taken = {THREAD, *(b.name for b in kernel.block)} & {s.name for s in (*kernel.dims, *kernel.opaque)}
    if taken:
        raise Open(f"a size named {min(taken)}, which stands for the index of a thread or block")


def overlaps(kernel: Kernel) -> dict[str, set[str]]:
    """For each tensor in shared memory the others that have bytes of it, and that may be in use at the same time."""
    out: dict[str, set[str]] = {t.name: set() for t in kernel.tensors if t.space is MemorySpace.SHARED}
    for a, b, _ in unsettled(kernel):
        out[a].add(b)
        out[b].add(a)
    return out
