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

No store of an element may come before a load of it. Three things suffice, for each load and each store:

- the load stands before the store in the program, and no loop is around both;
- it stands before it, and an element says in which iteration and by which thread it is touched (``homes``);
- the two touch no element in common, such as vectors and a tail.

Then no store comes before a load of the same thread. Of other threads ``GlobalOrder`` proves the order, which barriers
of the whole CTA, warp or cluster make: threads come to them in the order of the program, so that a store behind a load
is over after it. What would tell some threads of another order is not looked at: with roles, mbarriers or barriers of a
part there is none.
"""

from __future__ import annotations

from symlayout.atoms import Proxy
from symlayout.errors import SymlayoutError
from symlayout.expr import Fact
from symlayout.kernel import Kernel
from symlayout.kernel.sites import sites
from symlayout.kernel.touched import written
from symlayout.ops import Barrier, BarrierArrive, Copy, For, Op, Role, Wait

from ..coverage.store_sites import Open
from ..races.global_accesses import Access, accesses
from ..races.homes import home_of, never_meet


def read_first(kernel: Kernel, given: tuple[Fact, ...] = ()) -> frozenset[str]:
    """The tensors in global memory that are written, each element after every load of it."""
    every = list(sites(kernel))
    names = tuple({name for s in every if (name := written(kernel, s.op))})
    if not names or any(_parts(s.op) for s in every):
        return frozenset()
    touched = list(accesses(kernel, names))
    loads, stores = [a for a in touched if not a.changes], [a for a in touched if a.changes]
    pairs = ((a, b) for a in loads for b in stores if a.tensor == b.tensor)
    late = {a.tensor for a, b in pairs if not _before(kernel, a, b, (*kernel.given, *given))}
    return frozenset(names) - late


def _parts(op: Op) -> bool:
    """Whether an operation lets threads go on in an order other than that of the program."""
    return isinstance(op, Role | Wait | BarrierArrive) or (isinstance(op, Barrier) and op.threads != 0)


def _before(kernel: Kernel, load: Access, store: Access, given: tuple[Fact, ...]) -> bool:
    """Whether a load of an element is over before any store of it begins, of the same thread."""
    op = load.site.op
    if not isinstance(op, Copy) or load.ends or load.proxy is not Proxy.GENERIC or (op.cache and op.cache.nc):
        return False
    first, then = load.site, store.site
    around = [a for a, b in zip(first.around, then.around, strict=False) if a is b]
    ahead = first.places < then.places
    if ahead and not any(isinstance(a, For) for a in around):
        return True
    try:
        if never_meet(load.store, store.store, given):
            return True
        home = home_of(load.store, store.store, kernel.dims, lanes=True, loops=True) if ahead else None
        return home is not None and home.whole and home.apart(given)
    except (Open, SymlayoutError):
        return False
