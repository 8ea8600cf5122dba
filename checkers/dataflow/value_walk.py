"""A walk through a kernel that follows each value from where it is loaded to where it is stored, for all sizes.

Sizes, block indices and loop indices stay symbols; threads and tiles are numbers. One iteration represents all
iterations of a loop whose trip count is a symbol. The state that earlier ones left is unknown at its start, except in
accumulators. If that is not enough, as in a pipeline of cp.async, each iteration is walked after a window of those
before it, and the first ones from the start. Roles follow one another: a tile that comes through a ring is what the
same use of it was filled with. That accesses are ordered as they stand here is not looked at: ``HappensBefore`` and
``RingProtocol`` say so.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from symlayout.atoms import MemorySpace
from symlayout.expr import Fact, Quotient, Symbol, dim, index, symbols_of
from symlayout.facts import opaque_atoms
from symlayout.kernel import THREAD, Kernel
from symlayout.kernel.sites import Site, sites, top
from symlayout.kernel.touched import written
from symlayout.kernel.visitor import Visitor
from symlayout.ops import Copy, Elect, For, If, Map, Mma, PeerCopy, Ref, Role

from ..clocks.decided import clocks
from ..rings.recognised import rings_of
from .contents import Origins, Words
from .distinct_names import expect_distinct, fresh, overlaps
from .folds import NEUTRAL
from .in_place import read_first
from .narrowed import narrowed
from .pipelines import Iterations, whole_sums
from .ring_tiles import RingTiles
from .state import Memo, Open, State, Team
from .sums import carried, closed
from .uses import Uses

UNROLLED = 64  # iterations of a loop that are walked one by one; one iteration represents those of a longer loop
RESIDUES = 16  # iterations of a period that are walked; offsets with a longer period are left open


class Walk(Visitor[None]):
    """The walk through the CTA of one rank of a cluster. *stored* is called with each store to global memory."""

    def __init__(
        self,
        kernel: Kernel,
        given: tuple[Fact, ...],
        windows: bool,
        stored: Callable[..., None],
        memo: Memo | None = None,
    ) -> None:
        self.memo = memo or Memo()  # which another walk of the same kernel may share
        source, kernel = kernel, kernel.plain.edited(lambda op: (replace(op),))  # each place has its own operation
        self.kernel, self.given, self.windows, self.stored = kernel, given, windows, stored
        expect_distinct(kernel)
        self.origins = Origins()
        every = list(sites(kernel))
        self.site: dict[int, Site] = {id(s.op): s for s in every}
        self.rings = rings_of(kernel)
        self.uses = Uses(kernel, given, self.rings, self.site, clocks(source, given))
        self.ring_of = {t: r for r in self.rings for t in r.tensors}
        self.roles_of = _roles_of(kernel, every)
        shared = (t.name for t in kernel.tensors if t.space is MemorySpace.SHARED and len(self.roles_of[t.name]) > 1)
        told = ((t, self.uses.clocks.told_ring(t)) for t in shared if t not in self.ring_of)
        self.told = {t: r for t, r in told if r is not None}
        self.ring_of |= self.told
        self.overlapping = overlaps(kernel)
        self.written = {name for s in every if (name := written(kernel, s.op))}
        self.read_first = read_first(kernel, given)
        self.entries: dict[Symbol, tuple[str, tuple[Any, ...]]] = {}  # what an index that is read is an entry of
        rings = self.rings, self.ring_of, self.uses
        self.tiles = RingTiles(kernel, *rings, self.origins, self.entries, self.overlapping)
        self.checking = True

    # -- ranks and roles ----------------------------------------------------------------------------

    def through(self) -> None:
        """Walk all roles, those that fill rings first. Raises Open for what is not followed."""
        ctas = math.prod(self.kernel.cluster)
        if ctas > 1 and (len(self.kernel.cluster) > 1 or len(self.kernel.grid) > 1):
            raise Open("clusters of several dimensions")
        peers = next((s.op for s in self.site.values() if isinstance(s.op, PeerCopy)), None)
        if peers is not None:
            raise Open(f"values that peers of a cluster bring are not followed: {peers}")
        filling = {s.role for s in self.site.values() if isinstance(s.op, Copy) and s.op.barrier is not None}
        filling |= {s.role for s in self.site.values() if any(r.tensor in self.told for r in s.op.targets)}
        for rank in range(ctas):
            self.tiles.forget()
            self.window = False
            for peer in range(ctas):
                self._body(lambda name: name in filling, self._block(peer), peer, rank)
            self.window = self.windows
            self._body(lambda name: name not in filling, self._block(rank), rank, rank)

    def _block(self, rank: int) -> dict[Symbol, Any]:
        """The block index as symbols: in a cluster, a multiple of its CTAs and the rank."""
        ctas = math.prod(self.kernel.cluster)
        if ctas == 1:
            return {}
        (block,) = self.kernel.block
        clusters = self.kernel.grid[0] // ctas
        first: Any = 0 if clusters == 1 else index(self.fresh("cluster"), clusters)
        return {block: ctas * first + rank}

    def fresh(self, name: str) -> str:
        """A name that nothing in the kernel has."""
        return fresh(self.kernel, name)

    def _body(self, wanted: Callable[[str], bool], env: dict[Symbol, Any], rank: int, at: int) -> None:
        """The roles of a kind, of the CTA of *rank* as far as that of rank *at* is concerned."""
        self.rank, self.at = rank, at
        state = State(self.kernel, self.given, self.origins, env, memo=self.memo)
        state.loops = tuple((b, env.get(b, b)) for b in self.kernel.block)
        every, self.state = list(top(self.kernel)), state
        if wanted(""):
            with state.inside(threads=self.kernel.threads, team=Team(np.arange(self.kernel.threads))):
                self.follow(s for s in every if not isinstance(s.op, Role))
        for s in every:
            role = s.op
            if isinstance(role, Role) and wanted(role.name):
                team = Team(np.arange(role.threads))
                with state.inside(role=role.name, threads=role.threads, team=team, registers={}):
                    self.follow(s.inside())

    # -- operations ---------------------------------------------------------------------------------

    def visit(self, site: Site) -> None:
        """The effect of an operation on the places of the walk, at its site."""
        self.handler(site)(self, self.state, site.op)

    def unhandled(self, site: Site) -> Exception:
        return Open(f"{type(site.op).__name__} is not followed: {site.op}")

    def follow(self, sites: Iterable[Site]) -> None:
        """Some operations, one after the other, while there are threads that execute them."""
        for site in sites:
            if not len(self.state.team.threads):
                return
            self.visit(site)

    # -- loops --------------------------------------------------------------------------------------

    def loop(self, state: State, op: For) -> None:
        """All iterations of a loop."""
        extent = state.normal(state.here(op.extent))
        parted = state.parted or not self._together(op.extent)
        if type(extent) is int and extent <= UNROLLED:
            factors = state.factors if state.factors is not None else {} if _multiplies(op) else None
            for i in range(extent):
                with state.inside(env={**state.env, op.index: i}, loops=(*state.loops, (op.index, i)), factors=factors):
                    self.follow(self.site[id(op)].inside())
            return
        changed = self._changed(op)
        period = self._period(state, op)
        window = period if self.window else 0
        with state.inside(parted=parted):
            kept = self._turns_of(state, op, extent, window, period)
        state.forget(changed - kept, f"it was left there by the last iteration of the loop over {op.index}")

    def _changed(self, op: For) -> set[str]:
        """The tensors that a loop writes, and those in the same bytes."""
        written = {r.tensor for inner in op.walk() for r in inner.targets}
        return written.union(*(self.overlapping.get(name, ()) for name in written))

    def _together(self, extent: Any) -> bool:
        """Whether all threads make the same number of iterations."""
        symbols = symbols_of(extent)
        return not any(s.name == THREAD or s in self.kernel.opaque for s in symbols)

    def _turns_of(self, state: State, op: For, extent: Any, window: int, period: int) -> set[str]:
        """The iterations of a loop, by one or some that represent all; the tensors that hold sums of all."""
        changed, sums = self._changed(op), accumulators(op)
        before = {k: w.copy() for k, w in state.registers.items()}
        done = [self._summed(state, op, i, extent, sums) for i in range(window)]
        state.forget(changed, f"it was left there by an earlier iteration of the loop over {op.index}")
        if window + period == 1:
            self._summed(state, op, index(op.index.name, extent), extent, sums)
            return closed(state, op.index, index(op.index.name, extent), before)
        number = dim(self.fresh(f"{op.index}_iteration"), at_least=0)
        checking = self.checking
        for i in range(window + period):
            self.checking = checking and i >= window
            there = self._summed(state, op, period * number + i, extent, sums)
            if i >= window:
                done.append(there)
        self.checking = checking
        some = Iterations(op.index, extent, number, period, window)
        return {name for name in sums if whole_sums(state, name, some, done, before.get(name))}

    def _summed(self, state: State, op: For, i: Any, extent: Any, sums: set[str]) -> tuple[Any, dict[str, Words]]:
        """One iteration: its number, and what the registers hold to which it adds."""
        for name in sums:
            carried(state, name, op.index)
        self._iteration(state, op, i, extent)
        return i, {name: state.held(self.kernel.tensor(name)).copy() for name in sums}

    def _iteration(self, state: State, op: For, i: Any, extent: Any) -> None:
        """One iteration, under the fact that there is one."""
        there = Fact(extent - 1 - i, ">=")
        known = isinstance(i, Symbol) and i.name == op.index.name  # facts that the range already states
        given = state.given if known or there.value else (*state.given, there)
        if there.value is False:
            return
        with state.inside(env={**state.env, op.index: i}, loops=(*state.loops, (op.index, i)), given=given):
            self.follow(self.site[id(op)].inside())

    def _period(self, state: State, op: For) -> int:
        """The period, in iterations, of the offsets in memory other than rings."""
        out = 1
        for inner in op.walk():
            for ref in (*inner.sources, *inner.targets):
                if self.kernel.tensor(ref.tensor).space is not MemorySpace.SHARED or ref.tensor in self.ring_of:
                    continue
                for a in opaque_atoms(state.here(ref.offset)):
                    if isinstance(a, Quotient) and type(a.args[1]) is int and op.index in a.symbols:
                        c = a.args[0].terms.get((op.index,), 0)
                        out = math.lcm(out, a.args[1] // math.gcd(a.args[1], c))
        if out > RESIDUES:
            raise Open(f"offsets that repeat after {out} iterations of the loop over {op.index}")
        return out

    # -- conditions ---------------------------------------------------------------------------------

    def condition(self, state: State, op: If) -> None:
        """The operations of a condition by the threads for which it may hold, under it."""
        with narrowed(state, op.condition):
            self.follow(self.site[id(op)].inside())

    def elect(self, state: State, op: Elect) -> None:
        """The operations of one thread of the first warp, or of one of each."""
        team = state.team
        if team.beside is not None:
            chosen = team if op.each_warp else Team(team.threads[:1], team.beside[:1])
            with state.inside(team=chosen):
                return self.follow(self.site[id(op)].inside())
        warps = [list(x) for _, x in itertools.groupby(state.team.threads.tolist(), lambda t: t // 32)]
        together = [np.array(w) for w in warps] if op.each_warp else [team.threads]
        if any(len(w) != 32 for w in warps) or not all(map(state.alike, together)):
            raise Open(f"an election among some lanes of a warp: {op}")
        rows = np.array(warps if op.each_warp else warps[:1])
        with state.inside(team=Team(rows[:, 0], rows)):
            self.follow(self.site[id(op)].inside())
        return None

    # -- indices ------------------------------------------------------------------------------------

    def entry(self, tensor: str, place: tuple[Any, ...], low: Any, high: Any) -> Symbol:
        """The name of an entry of a tensor of indices: one for each place."""
        known = ((s, at) for s, at in self.entries.items() if (s.lower, s.upper) == (low, high))
        found = next((s for s, at in known if at == (tensor, place)), None)
        if found is None:
            same = sum(1 for t, _ in self.entries.values() if t == tensor)
            found = dim(self.fresh(f"{tensor}_entry_{same}"), at_least=low, at_most=high)
            self.entries[found] = tensor, place
        return found


def _roles_of(kernel: Kernel, every: list[Site]) -> dict[str, set[str]]:
    """The roles that touch each tensor in shared memory or registers."""
    out: dict[str, set[str]] = {t.name: set() for t in kernel.tensors if t.space is not MemorySpace.GLOBAL}
    for s in every:
        for r in (*s.op.sources, *s.op.targets):
            if r.tensor in out:
                out[r.tensor].add(s.role)
    return out


def _multiplies(op: For) -> bool:
    """Whether a loop only multiplies, and writes none of what it multiplies."""
    every = [inner for inner in op.walk() if not isinstance(inner, For)]
    read = {x.tensor for inner in every if isinstance(inner, Mma) for x in (inner.a, inner.b) if isinstance(x, Ref)}
    return all(isinstance(inner, Mma) and inner.acc.tensor not in read for inner in every)


def accumulators(op: For) -> set[str]:
    """The registers to which each iteration of a loop may add."""
    out: set[str] = set()
    for inner in op.walk():
        adds = isinstance(inner, Map) and inner.dst in inner.srcs and inner.function in (*NEUTRAL, "fma")
        if adds or isinstance(inner, Mma):
            out |= {r.tensor for r in inner.targets}
    return out
