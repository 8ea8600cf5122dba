"""The number of operations of a kind before another: an exact count or none, never an estimate.

A count walks from the root to an operation and adds what stands before it, an expression of sizes, block and loop
indices.

>>> from symlayout import dim
>>> from symlayout.kernels import cp_async_copy
>>> from symlayout.ops import Commit
>>> kernel = cp_async_copy(dim("N"), stages=2, threads=32, blocks=1)
>>> print(Counter(kernel, Facts.about(dim("N"))).total(lambda op: isinstance(op, Commit)))
max(0, ceil(N/128) - block_x) + 1
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any, ClassVar, TypeAlias, cast

from ..expr import Fact, Int, Symbol, maximum, terms_of
from ..facts import Facts, symbols_in
from ..ops import For, If, Op
from .sites import Site, about_thread, unsteady
from .value import Kernel
from .visitor import Handlers, Visitor

Wanted: TypeAlias = "Callable[[Op], bool]"


class Uncounted(Exception):
    """Operations whose number has no closed form: a condition or an extent decides it."""


class Counter(Visitor[Any]):
    """Counts operations of a kernel under some facts, which know the indices of the loops."""

    def __init__(self, kernel: Kernel, facts: Facts) -> None:
        self.kernel, self.facts = kernel.plain, facts
        self._unsteady = unsteady(self.kernel)
        self._wanted: Wanted = lambda op: False

    def total(self, wanted: Wanted) -> Int:
        """The number that a thread meets in its whole program. Raises Uncounted."""
        self._wanted = wanted
        return cast(Int, self._sum(self.run(self.kernel)))

    def before(self, site: Site, wanted: Wanted) -> Int:
        """The number that it has met when it reaches *site*, the operation there not counted. Raises Uncounted."""
        self._wanted = wanted
        total = self._sum(islice(self.run(self.kernel), site.places[0]))
        for a, place in zip(site.enclosing(), site.places[1:], strict=True):
            if isinstance(a.op, For):
                total = total + self._iterations(a, a.op.index)
            total = total + self._sum(islice(self.inside(a), place))
        return cast(Int, self.facts.resolved(total))

    def visit(self, site: Site) -> Any:
        return 1 if self._wanted(site.op) else super().visit(site)

    def _sum(self, counts: Iterable[Any]) -> Any:
        total: Any = 0
        for n in counts:
            total = total + n
        if self._unsteady & symbols_in((total,)):
            raise Uncounted("a number that depends on a value which differs between threads or iterations")
        return self.facts.resolved(total)

    def _loop(self, site: Site) -> Any:
        n = cast(For, site.op).extent
        return self._iterations(site, n if self.facts.le(0, n) is True else maximum(n, 0))

    def _condition(self, site: Site) -> Any:
        inside = self._sum(self.inside(site))
        if inside != 0 and not self._always(cast(If, site.op).condition):
            raise Uncounted(f"how often {site.op} holds")
        return inside

    def _always(self, condition: Iterable[Fact]) -> bool:
        return all(about_thread(f) or self.facts.holds(f) is True for f in condition)

    def _iterations(self, loop: Site, n: Any) -> Any:
        """The number in the first *n* iterations; a condition index >= c leaves out c of them."""
        index = cast(For, loop.op).index
        total: Any = 0
        for site in loop.inside():
            first = _from(site.op, index)
            each = self.visit(site) if first is None else self._sum(self.inside(site))
            if index in symbols_in((each,)):
                raise Uncounted(f"a number that changes with {index}")
            total = total + (n if not first else maximum(n - first, 0)) * each
        return self.facts.resolved(total)

    handlers: ClassVar[Handlers] = {For: _loop, If: _condition, Op: lambda self, site: self._sum(self.inside(site))}


def _from(op: Op, index: Symbol) -> int | None:
    """c where *op* is a condition index >= c."""
    if isinstance(op, If) and len(op.condition) == 1 and op.condition[0].relation == ">=":
        t = terms_of(op.condition[0].expr)
        if t.get((index,)) == 1 and set(t) <= {(index,), ()}:
            return max(0, -t.get((), 0))
    return None
