"""The operations that write a tensor in global memory, each as boxes that start where its indices say.

    >>> from symlayout import dim
    >>> from symlayout.kernels import vector_copy
    >>> for s in stores(vector_copy(dim("N")), "dst"):
    ...     print(s)
    boxes of (4) from (512*block_x + 4*thread) on, for block_x < ceil(N/512), thread < 128
    boxes of (1) from (512*block_x + j + 4*thread) on, for block_x < ceil(N/512), j < 4, thread < 128

Blocks and loops are *steps*. Threads, or the warps that elect one thread each, are *lanes*.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from symlayout.expr import Expr, Fact, Int, Symbol, digit, divides, index, substitute
from symlayout.facts import Facts, symbols_in
from symlayout.int_tuple import text
from symlayout.kernel import THREAD, Kernel, KernelMap
from symlayout.kernel.clusters import cluster_of, rank_of
from symlayout.kernel.sites import Site, about_thread, active_lanes, sites
from symlayout.kernel.touched import elements_of, written
from symlayout.ops import WARP, Box, Copy, Elect, For, If, Op, Ref, Role

from ..bulk_sizes import arguments, elements_moved, most_moved
from .whole_tiles import trips


class Open(Exception):
    """The reason why the stores of a tensor cannot be distinguished, or cannot be counted."""


@dataclass(frozen=True)
class Store:
    """Boxes of *width* from *start* on, in coordinates of a tensor map or in elements of memory.

    There is one for each value of the *steps* and *lanes*, rows of (index, extent), at which the facts hold. *chosen*
    are facts about lanes and numbers, *reached* bound the loops, *guards* are the conditions around.
    """

    site: Site
    start: tuple[Int, ...]
    width: tuple[int, ...]
    steps: tuple[tuple[Symbol, Int], ...]
    lanes: tuple[tuple[Symbol, int], ...]
    chosen: tuple[Fact, ...] = ()
    reached: tuple[Fact, ...] = ()
    guards: tuple[Fact, ...] = ()

    def __str__(self) -> str:
        box = ", ".join(f"{i} < {n}" for i, n in (*self.steps, *self.lanes))
        return f"boxes of {listed(self.width)} from {listed(self.start)} on{box and f', for {box}'}"


def listed(xs: Iterable[Any]) -> str:
    """Integers and expressions in parentheses: ``(64,16)``, and ``(4)`` for one."""
    return f"({','.join(map(text, xs))})"


# -- what is written ------------------------------------------------------------------------------------


def outputs(kernel: Kernel) -> tuple[str, ...]:
    """The tensors in global memory that operations write, in the order of their declaration."""
    found = {written(kernel, op) for op in kernel.walk()}
    return tuple(t.name for t in kernel.tensors if t.name in found)


def reduced(kernel: Kernel) -> tuple[str, ...]:
    """Outputs that reductions update; several values may be combined with one element."""
    found = {written(kernel, op) for op in kernel.walk() if op.reduction is not None}
    return tuple(name for name in outputs(kernel) if name in found)


def writers(kernel: Kernel, name: str) -> tuple[Site, ...]:
    """The sites of the operations that write a tensor."""
    return tuple(s for s in sites(kernel) if written(kernel, s.op) == name)


def map_of(kernel: Kernel, op: Op) -> KernelMap | None:
    """The tensor map through which an operation writes, if it does."""
    boxed = (t.operand for t in op.changes() if isinstance(t.operand, Box))
    return next((kernel.map(box.tensor_map) for box in boxed), None)


def boxes(kernel: Kernel, op: Op) -> tuple[tuple[Int, ...], tuple[int, ...]]:
    """(start, width) of the run that one execution writes. Raises Open where numbers do not say."""
    (ref,) = (t.operand for t in op.changes())
    if isinstance(ref, Box):
        return box_of(kernel, ref)
    width = elements_of(kernel, op, ref)
    if width is None and isinstance(op, Copy):
        width = _up_to_the_end(kernel, op, ref)
    if width is None:
        raise Open(f"how many elements {op} writes")
    return (ref.offset,), (width,)


def box_of(kernel: Kernel, box: Box) -> tuple[tuple[Int, ...], tuple[int, ...]]:
    """(start, width) of a box of a tensor map. Raises Open where it is not tiled, or of no known size."""
    through = kernel.map(box.tensor_map)
    m = through.tensor_map
    if m.is_im2col or m.interleave or any(e != 1 for e in m.element_stride):
        raise Open(f"which elements of {through.tensor} {through.name} is about: it is not tiled, element by element")
    if not all(type(n) is int for n in m.box_dim):
        raise Open(f"how large the boxes of {through.name} are")
    return box.coordinate, tuple(n for n in m.box_dim if type(n) is int)


def _up_to_the_end(kernel: Kernel, op: Copy, ref: Ref) -> int | None:
    """The elements of a bulk store that stops at the end of its tensor, or there: what is behind is not stored."""
    moved, whole = elements_moved(kernel, op, ref), most_moved(kernel, op, ref)
    if moved is None or whole is None:
        return None
    end = kernel.tensor(ref.tensor).layout.cosize() - ref.offset
    return whole if all(x in (whole, end) for x in arguments(moved)) else None


# -- who writes it --------------------------------------------------------------------------------------


def stores(kernel: Kernel, name: str) -> tuple[Store, ...]:
    """The stores to a tensor. Raises Open for operations whose executions are not a box of indices."""
    return tuple(_store(kernel, s) for s in writers(kernel, name))


def _store(kernel: Kernel, site: Site) -> Store:
    return store_at(kernel, site, *boxes(kernel, site.op))


def store_at(kernel: Kernel, site: Site, start: tuple[Int, ...], width: tuple[int, ...]) -> Store:
    """The elements that an operation touches at its site, from these places on. Raises Open, see ``stores``."""
    who = _Executions(kernel, site)
    for a in site.around:
        who.enter(a)
    return who.store(start, width)


@dataclass
class _Executions:
    """By which indices an operation is executed, while the operations around it are entered one by one."""

    kernel: Kernel
    site: Site
    threads: int = 0
    steps: list[tuple[Symbol, Int]] = field(default_factory=list)
    lanes: list[tuple[Symbol, int]] = field(default_factory=list)
    env: dict[Any, Any] = field(default_factory=dict)
    blocks: list[Symbol] = field(default_factory=list)
    chosen: list[Fact] = field(default_factory=list)
    reached: list[Fact] = field(default_factory=list)
    guards: list[Fact] = field(default_factory=list)
    elected: tuple[int, int] | None = None  # (first warp, warps); one thread of each is active

    def __post_init__(self) -> None:
        self.threads = self.kernel.threads
        clusters = (*self.kernel.cluster, *(1,) * len(self.kernel.grid))
        for b, n, c in zip(self.kernel.block, self.kernel.grid, clusters, strict=False):
            whole = divides(c, n)
            if c == 1 or whole is None:
                self._block(b, n)
                continue
            rank, first = rank_of(b, c), cluster_of(b, whole)
            self._block(first, whole)
            self.lanes.append((rank, c))
            self.blocks.append(rank)
            self.env[b] = c * first + rank

    def _block(self, b: Symbol, n: Int) -> None:
        self.blocks.append(b)
        if type(n) is int and n == 1:
            self.env[b] = 0
        else:
            self.steps.append((b, n))

    def enter(self, op: Op) -> None:
        if isinstance(op, Role):
            if (
                self.threads < self.kernel.threads
                or self.elected
                or any(map(about_thread, (*self.chosen, *self.guards)))
            ):
                raise Open(f"who takes {op} inside a role, an election or a condition about threads")
            if WARP * op.first_warp + op.threads > self.kernel.threads:
                raise Open(f"who takes {op} of {self.kernel.threads} threads")
            self.threads = op.threads
        elif isinstance(op, Elect):
            self._elect(op.each_warp)
        elif isinstance(op, If):
            for f in op.condition:
                alone = self.elected is None and all(s.name == THREAD for s in f.symbols)
                (self.chosen if alone and f.symbols else self.guards).append(f)
        elif isinstance(op, For):
            self._loop(op)

    def _elect(self, each_warp: bool) -> None:
        if any(map(about_thread, self.guards)):
            raise Open(f"whom the election around {self.site} finds: a condition there is about threads and sizes")
        if self.elected is None:
            warps = [w for w in range(self.threads // WARP) if active_lanes(self.chosen, WARP * w)]
            if not warps or warps != list(range(warps[0], warps[-1] + 1)):
                raise Open(f"the warps of {self.site}: they are not in a row")
            self.elected, self.chosen = (warps[0], len(warps)), []
        if not each_warp:
            self.elected = (self.elected[0], 1)

    def _loop(self, loop: For) -> None:
        n: Any = loop.extent.subs(self.env) if isinstance(loop.extent, Expr) else loop.extent
        inside = symbols_in((n,)) & set(self.blocks)
        if not symbols_in((n,)) <= {*self.kernel.dims, *self.blocks}:
            raise Open(f"the trip count of {loop}: {n}")
        if not inside:
            i = loop.index.ranged(0, n - 1)
            self.steps.append((i, n))
            self.env[loop.index] = i
            return
        found = trips(loop.index, n, self.blocks, self.kernel.given)
        if found is None:
            raise Open(f"an upper bound on the trip count of {loop}: {n}")
        i, bound, reached = found
        self.steps.append((i, bound))
        self.env[loop.index] = i
        self.reached += reached

    def store(self, start: tuple[Int, ...], width: tuple[int, ...]) -> Store:
        """The store of these boxes, in indices of its own."""
        anyone = digit("any_lane", WARP)
        if self.elected is None:
            here: Any = index(THREAD, self.threads)
            self.lanes.append((here, self.threads))
        else:
            first, warps = self.elected
            warp: Any = digit("warp", warps) if warps > 1 else 0
            here = WARP * (first + warp) + anyone
            self.lanes += [(warp, warps)] if warps > 1 else []
        env = dict(self.env)
        for x in symbols_in((start, tuple(self.chosen), tuple(self.guards))):
            if x.name == THREAD:
                env[x] = here
        at: Any = tuple(substitute(x, env) for x in start)
        reached, guards = (tuple(f.subs(env) for f in fs) for fs in (self.reached, self.guards))
        facts = Facts.about(at, reached, guards, here, *(i for i, _ in self.steps), given=self.kernel.given)

        def put(f: Fact) -> Fact:
            return Fact(facts.resolved(f.expr), f.relation, f.modulus)

        ordered = [g for f in guards for g in _orders(put(f), facts)]
        mine = {i for i, _ in self.lanes}
        of_lanes = [g for g in ordered if g.symbols and mine.issuperset(g.symbols)]  # such as those about the rank
        out = Store(
            self.site,
            tuple(map(facts.resolved, at)),
            width,
            tuple(self.steps),
            tuple(self.lanes),
            (*(f.subs(env) for f in self.chosen), *of_lanes),
            tuple(map(put, reached)),
            tuple(g for g in ordered if g not in of_lanes),
        )
        used = symbols_in((out.start, out.chosen, out.reached, out.guards))
        if anyone in used:
            raise Open(f"which lane the election around {self.site} finds")
        unknown = used - {*self.kernel.dims, *(i for i, _ in (*self.steps, *self.lanes))}
        if unknown:
            raise Open(f"what {', '.join(sorted(map(str, unknown)))} is, where {self.site} stands")
        return out


def _orders(f: Fact, facts: Facts) -> Iterator[Fact]:
    """x == 0 as x >= 0 and x <= 0, what a range says left out."""
    if f.relation == "==":
        yield from (g for g in (Fact(f.expr, ">="), Fact(-f.expr, ">=")) if facts.holds(g) is not True)
    else:
        yield f
