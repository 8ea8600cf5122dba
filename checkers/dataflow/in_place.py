"""Tensors that a kernel reads before it writes them: what is loaded is what they held when the kernel began.

>>> from symlayout.kernel import Builder
>>> from symlayout.layout import Layout
>>> k = Builder("doubled", grid=(1,), threads=32)
>>> x, r = k.global_tensor("x", "f32", Layout(32)), k.registers("r", "f32", 1)
>>> k.copy("ld.global.4", x(k.thread), r())
>>> k.map("add", (r(), r()), r())
>>> k.copy("st.global.4", r(), x(k.thread))
>>> read_first(k.kernel())
frozenset({'x'})

All loads stand before all stores in the program, and no loop is around a load and a store. Then no store comes before a
load of the same thread. Of other threads ``GlobalOrder`` proves the order, which barriers of the whole CTA, warp or
cluster make: threads come to them in the order of the program, so that a store behind a load is over after it. What
would tell some threads of another order is not looked at: with roles, mbarriers or barriers of a part there is none.
"""

from __future__ import annotations

from collections.abc import Iterable

from symlayout.atoms import MemorySpace, Proxy
from symlayout.kernel import Kernel
from symlayout.kernel.sites import Site, sites
from symlayout.kernel.touched import written
from symlayout.ops import Barrier, BarrierArrive, Copy, For, Op, Role, Wait


def read_first(kernel: Kernel) -> frozenset[str]:
    """The tensors in global memory that are written, after every load of them."""
    every = list(sites(kernel))
    if any(_parts(s.op) for s in every):
        return frozenset()
    stores = [(name, s) for s in every if (name := written(kernel, s.op))]
    loads = [(name, s) for s in every for name in _read(kernel, s.op)]
    late = {b for a, load in loads for b, store in stores if a == b and not _before(load, store)}
    return frozenset(name for name, _ in stores) - late


def _parts(op: Op) -> bool:
    """Whether an operation lets threads go on in an order other than that of the program."""
    return isinstance(op, Role | Wait | BarrierArrive) or (isinstance(op, Barrier) and op.threads != 0)


def _read(kernel: Kernel, op: Op) -> Iterable[str]:
    """The tensors in global memory that an operation reads."""
    for t in op.touches():
        name = kernel.touched(t)
        if not t.changes and kernel.tensor(name).space is MemorySpace.GLOBAL:
            yield name


def _before(load: Site, store: Site) -> bool:
    """Whether a load is over before any iteration of a store begins, of the same thread."""
    op = load.op
    at_once = isinstance(op, Copy) and not op.completion and all(t.proxy is Proxy.GENERIC for t in op.touches())
    around = [a for a, b in zip(load.around, store.around, strict=False) if a is b]
    return at_once and load.places < store.places and not any(isinstance(a, For) for a in around)
