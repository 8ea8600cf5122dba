"""Names of a kernel that have no value where they are used, and those that get another one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from symlayout.expr import Symbol, index
from symlayout.facts import symbols_in
from symlayout.facts.scope import ranges_in_words
from symlayout.kernel import BLOCKS, THREAD, Kernel
from symlayout.kernel.sites import Site, as_written
from symlayout.kernel.specification import Element, Entry, elements, entries, sums
from symlayout.ops import Box, For, If, Let, LoadIndex, Matrix, Op, Ref, Role, Slot


@dataclass(frozen=True)
class Named:
    """The value of a name at a site, and the operation that defines it, if one does."""

    symbol: Symbol
    by: Op | None = None


def unknown_names(kernel: Kernel) -> Iterator[str]:
    """Names that have no value where they are used, or other values than there.

    >>> from symlayout.kernels import tma_copy
    >>> kernel = tma_copy(64, 256, tile=(16, 64))
    >>> list(unknown_names(kernel)), list(named_again(kernel))
    ([], [])
    """
    sizes = {s.name: Named(s) for s in kernel.dims}
    for what, about in _declared(kernel):
        yield from unknown(what, about, sizes)
    for r in kernel.results:
        folds = list(sums(r.value))
        own_names = {s.name: Named(s) for s in (*r.coords, *(x.index for x in folds))}
        named: list[Element | Entry] = [*elements(r.value), *entries(r.value)]
        about = tuple(x.at for x in named), tuple(x.extent for x in folds)
        yield from unknown(f"result {r}", about, {**sizes, **own_names})
    for site in as_written(kernel):
        yield from unknown(site.op, tuple(own(site.op)), _known_at(kernel, site))


def named_again(kernel: Kernel) -> Iterator[str]:
    """Operations that give a value to a name which has one."""
    for site in as_written(kernel):
        made = made_by(site.op)
        known = _known_at(kernel, site) if made else {}
        for s in made:
            if s.name in BLOCKS or (s.name in known and known[s.name].by != site.op):
                yield f"{site.op}: {s.name} has a value already"


def _known_at(kernel: Kernel, site: Site) -> dict[str, Named]:
    """The names that have a value at a site."""
    grid = {s.name: Named(s) for s in (*kernel.dims, *kernel.block)}
    threads = next((a.threads for a in reversed(site.around) if isinstance(a, Role)), kernel.threads)
    bound = {s.name: Named(s, b.op) for b in site.bindings for s in made_by(b.op)}
    return {**grid, THREAD: Named(index(THREAD, threads)), **bound}


def _declared(kernel: Kernel) -> Iterator[tuple[Any, Any]]:
    """Expressions outside of operations, which contain sizes alone."""
    yield "a size", tuple((s.lower, s.upper) for s in kernel.dims)
    yield "the grid", kernel.grid
    yield from ((f"given {f}", f) for f in kernel.given)
    yield from ((t, t.layout) for t in kernel.tensors)
    yield from ((m, tuple(vars(m.tensor_map).values())) for m in kernel.maps)


def unknown(where: Any, about: Any, known: Mapping[str, Named]) -> Iterator[str]:
    """Symbols in some expressions that have no value, or not the values that their own range says.

    A symbol is more than its name: provers take it to have all values of its range, and no others.
    """
    for s in sorted(symbols_in(about), key=lambda s: (s.name, str(s.args))):
        if s.name not in known:
            yield f"{where}: {s} has no value there"
        elif not _stands_for(s, known[s.name].symbol):
            mine, its = (ranges_in_words((x,))[0] for x in (s, known[s.name].symbol))
            yield f"{where}: expected {its}, as its values are, got {mine}"


def _stands_for(s: Symbol, value: Symbol) -> bool:
    """Whether a symbol is the value of its name; an index of all threads may stand for one of a role."""
    if value is s:
        return True
    if not isinstance(s.upper, int) or not isinstance(value.upper, int):
        return False
    return s.name == THREAD and s.lower == 0 and s.upper >= value.upper


def made_by(op: Op) -> tuple[Symbol, ...]:
    """The symbol to which an operation gives a value, if it does."""
    return (op.name,) if isinstance(op, Let | LoadIndex) else (op.index,) if isinstance(op, For) else ()


def own(op: Op) -> Iterator[Any]:
    """The expressions and facts of an operation itself, not of those inside it."""
    if isinstance(op, For):
        yield op.extent
    elif isinstance(op, If):
        yield op.condition
    elif isinstance(op, Let):
        yield op.value
    elif isinstance(op, LoadIndex):
        yield from (op.src.offset, op.name.lower, op.name.upper)
    elif not op.body:
        for _, x in op.operands():
            yield from _expressions(x)


def _expressions(x: Any) -> Iterator[Any]:
    if isinstance(x, tuple):
        for y in x:
            yield from _expressions(y)
    elif isinstance(x, Ref | Slot | Box | Matrix):
        for y in vars(x).values():
            yield from _expressions(y)
    elif hasattr(x, "symbols"):
        yield x
