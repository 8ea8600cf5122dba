"""Reductions into a global tensor: each combines a whole tile of a ring with a box of an output, once for each use.

That each element of the source is combined once is then that each is loaded once: ``UpdatedOnce``.
"""

from __future__ import annotations

import math

import numpy as np

from symlayout.expr import Expr, Symbol
from symlayout.facts import Facts, symbols_in
from symlayout.kernel import Kernel
from symlayout.kernel.counting import Counter
from symlayout.kernel.specification import Applied, Dot, Element, Result, Total
from symlayout.ops import Box, Copy, Op, Ref

from ..rings.recognised import RingParts
from .contents import Words
from .places import met, read, starts, write
from .state import Open, State
from .tensor_boxes import corner_of, landing, singles
from .value_walk import Walk


def combined(result: Result) -> Total | Dot | None:
    """The fold, or sum of products, with which a result combines what an output held before; None for another form.

    >>> from symlayout.results import applied, element, result, total
    >>> y = result("y", 8, lambda i: applied("add", element("y", i), total(4, lambda s: element("x", s, i))))
    >>> print(combined(y))
    sum over s < 4 of x(s,i)
    """
    value = result.value
    if not isinstance(value, Applied) or len(value.args) != 2:
        return None
    before, fold = value.args
    if before != Element(result.tensor, result.coords) or not isinstance(fold, Total | Dot):
        return None
    return fold if function_of(fold) == value.function else None


def function_of(fold: Total | Dot) -> str:
    """The function by which terms are joined: products are added."""
    return fold.function if isinstance(fold, Total) else "add"


def update(walk: Walk, state: State, op: Copy) -> None:
    """A tile is combined with a box of an output."""
    if not isinstance(op.src, Ref) or not isinstance(op.dst, Box) or op.src.tensor not in walk.ring_of:
        raise Open(f"a reduction of values that come through no ring: {op}")
    ring = walk.ring_of[op.src.tensor]
    if state.guards or len(singles(state)) != 1 or math.prod(walk.kernel.cluster) != 1:
        raise Open(f"a reduction under a condition, by several threads, or in a cluster: {op}")
    _expect_each_use(walk, state, op, ring)
    tensor, kernel_map = state.kernel.tensor(op.src.tensor), state.kernel.map(op.dst.tensor_map)
    tile = walk.tiles.filled(state, op, tensor.name)
    at, deltas = landing(state, kernel_map, tensor, int(starts(walk, state, op, tensor, op.src)[0]), len(tile.ids))
    if np.unique(at).size != at.size or np.count_nonzero(tile.ids) != at.size or not tile.ids[at].all():
        raise Open(f"expected all that fills a slot of {tensor.name} to be combined, got a part: {op}")
    corner = corner_of(state, kernel_map, op.dst.coordinate)
    if walk.checking:
        moved = deltas + np.array([c for _, c in corner])
        words: Words = met(state, tile[at][None])
        walk.stored(state, op, kernel_map.tensor, tuple(x for x, _ in corner), moved[None], words)


def parts_of(kernel: Kernel, op: Op) -> tuple[Symbol, ...]:
    """The block indices that choose no element of the output of a threads' reduction: each of their values makes a
    part of it.

    >>> from symlayout.ops import Copy, Ref
    >>> from symlayout.kernels import vector_copy
    >>> kernel = vector_copy(4096)
    >>> [str(b) for b in parts_of(kernel, Copy("tma.reduce.add", Ref("x"), Ref("dst", 4)))]
    ['block_x']
    """
    named = symbols_in(tuple(r.offset for r in op.targets))
    return tuple(b for b in kernel.block if b not in named)


def combine(walk: Walk, state: State, op: Copy) -> None:
    """Threads combine what is in their registers with elements of an output.

    That each element takes one such value of each part is ``UpdatedOnce``.
    """
    row, updates = op.row, [s for s in walk.site.values() if s.op.reduction is not None]
    if row is None or not isinstance(op.src, Ref) or not isinstance(op.dst, Ref):
        raise Open(f"{op.atom} is not followed")
    if len(updates) != 1 or math.prod(walk.kernel.cluster) != 1:
        raise Open(f"expected one operation that combines, and no cluster, got {len(updates)}: {op}")
    src, dst = (state.kernel.tensor(r.tensor).dtype for r in (op.src, op.dst))
    count, rest = divmod(8 * row.bytes, dst.bits)
    if src != dst or rest:
        raise Open(f"a reduction of {src} into {dst}: {op}")
    write(walk, state, op, op.dst, read(walk, state, op, op.src, count))


def _expect_each_use(walk: Walk, state: State, op: Copy, ring: RingParts) -> None:
    """Check that an operation occurs once in each use of a ring, and is the only one of its kind."""
    updates = [s for s in walk.site.values() if s.op.reduction is not None]
    site = walk.site[id(op)]
    if len(updates) != 1:
        raise Open(f"expected one operation that combines, got {len(updates)}")
    waits = {id(s.op) for s in walk.site.values() if s.role == site.role and _waits(s.op, ring.full)}
    loops = tuple(loop.index for loop in site.loops)
    before = Counter(walk.kernel, Facts.about((*walk.kernel.dims, *walk.kernel.block, *loops), given=walk.given))
    if state.normal(state.here(before.before(site, lambda x: x is op)) - walk.uses.use(state, op, ring)) != 0:
        raise Open(f"expected one {op} in each use of {ring.full}")
    whole = Counter(walk.kernel, Facts.about((*walk.kernel.dims, *walk.kernel.block), given=walk.given))
    if whole.facts.normal(whole.total(lambda x: x is op) - whole.total(lambda x: id(x) in waits)) != 0:
        raise Open(f"expected as many {op} as uses of {ring.full}")


def _waits(op: Op, barrier: str) -> bool:
    return op.waits_for(barrier)


def of_index(fold: Total) -> int:
    """The coordinate of the element that is the index of the fold. Raises Open where none or several are."""
    places = [d for d, x in enumerate(fold.element.at) if isinstance(x, Expr) and fold.index in x.symbols]
    if len(places) != 1 or fold.element.at[places[0]] is not fold.index:
        raise Open(f"{fold.element} is not one element for each {fold.index}")
    return places[0]
