"""The operations of a CTA at sizes, one after another, and what each of them touches: where refutations are seen.

>>> from symlayout import dim
>>> from symlayout.kernels import cp_async_copy
>>> from symlayout.kernel.sites import sites
>>> from checkers.orders.ways import Ways
>>> k = cp_async_copy(dim("N"), stages=2, threads=32, blocks=1)
>>> ways = Ways(k, sites(k))
>>> events = Runs(ways, Footprints(k, ways)).run({"N": 128}, frozenset({0}))
>>> [str(e.site) for e in events][2:5]
['wait_group cp.async 0', 'barrier 0', 'commit cp.async']
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from symlayout.atoms import MatrixCopy, MemorySpace
from symlayout.errors import ExpressionError
from symlayout.expr import Symbol, evaluate
from symlayout.expr.compiled import value
from symlayout.facts import Facts
from symlayout.kernel import Kernel
from symlayout.kernel.sites import Site, about_thread, leader, warps_of
from symlayout.kernel.touched import elements_of
from symlayout.kernel.unrolled import InTurn, Threads, unrolled
from symlayout.ops import WARP, Copy, Elect, If, Role, rewritten

from .footprints import LANE, Footprints, Touched, by_element
from .shared_accesses import Access
from .ways import Ways

EVENTS = 3000  # of a run
STARTS, FURTHER = 8, 600  # executions of an access that a search looks at, and operations behind each
TRIES = 12  # searches for a refutation that find none
DATA = (0, 1, 2, 5)  # steps from the least value that a contract allows
SCALES = (1, 8, 64, 512, 4096, 1 << 15, 1 << 18, 1 << 21)


@dataclass(frozen=True, eq=False)
class Event:
    """One execution of an operation, with the values of sizes, block and loop indices."""

    site: Site
    env: dict[str, Any]

    @property
    def at(self) -> str:
        """``i = 2, j = 0``."""
        return ", ".join(f"{x.index.name} = {self.env[x.index.name]}" for x in self.site.loops)


def sizes_of(kernel: Kernel) -> Iterator[dict[str, int]]:
    """A few sizes that meet the assumptions, small ones first."""
    if not kernel.dims:
        yield {}
        return
    facts = Facts.about(*kernel.dims, given=kernel.given)
    tried = [{s: at[s] for s in kernel.dims} for at in facts.points if all(s in at for s in kernel.dims)]
    for n in SCALES:
        tried.append({s: -(-n // s.multiple) * s.multiple for s in kernel.dims})
        tried.append(dict.fromkeys(kernel.dims, 64 * n))
    seen = []
    for env in sorted(tried, key=lambda e: max(e.values())):
        if env not in seen and facts.admits(env):
            seen.append(env)
            yield {s.name: n for s, n in env.items()}


def with_data(kernel: Kernel, sizes: dict[str, int]) -> Iterator[dict[str, int]]:
    """Sizes with values for what threads read from memory, of each the same wherever it is read: data may be so."""
    for step in DATA if kernel.opaque else (0,):
        env = dict(sizes)
        with suppress(ExpressionError):  # a contract without an end
            if all(_put(s, step, env) for s in kernel.opaque):
                yield env


def _put(s: Symbol, step: int, env: dict[str, int]) -> bool:
    """Put a value for a symbol, some steps from the least; whether it keeps the contract."""
    env[s.name] = -(-evaluate(s.lower, env) // s.multiple) * s.multiple + step * s.multiple
    return env[s.name] <= evaluate(s.upper, env)


class Runs:
    """The runs of a kernel at a few sizes, each made once."""

    def __init__(self, ways: Ways, footprints: Footprints) -> None:
        self.ways, self.footprints = ways, footprints
        self.sizes = [env for at in sizes_of(ways.kernel) for env in with_data(ways.kernel, at)]
        self.tries = TRIES
        self._runs: dict[Any, list[Event] | None] = {}
        self._touched: dict[Any, Touched | None] = {}

    def of(self, *teams: frozenset[int]) -> Iterator[tuple[Any, ...]]:
        """(sizes, a run of each team) where a search looks, each course of operations once.

        None after too many searches that came to their end.
        """
        seen = set()
        for sizes in self.sizes if self.tries else ():
            found = [self.run(sizes, warps) for warps in teams]
            known = [events for events in found if events is not None]
            if len(known) < len(found):
                continue
            course = tuple(e.site.places for events in known for e in events)
            if course not in seen:
                seen.add(course)
                yield sizes, *found
        self.tries = max(0, self.tries - 1)

    def run(self, sizes: dict[str, int], warps: frozenset[int]) -> list[Event] | None:
        """The operations of the threads of some warps of CTA 0, up to EVENTS of them; conditions on threads aside.

        None where an expression has no value at these sizes.
        """
        key = (*sorted(sizes.items()), warps)
        if key not in self._runs:
            env: dict[str, Any] = {**sizes, **{b.name: 0 for b in self.ways.kernel.block}}
            self._runs[key] = _first(_events(self.ways, env, warps), EVENTS)
        return self._runs[key]

    def touched(self, a: Access, event: Event) -> Touched | None:
        """The footprint of an access in one execution; None if no thread makes it or it is not known."""
        key = (a, id(event))
        if key not in self._touched:
            self._touched[key] = touched_at(self.footprints, a, event.env)
        return self._touched[key]


def _first(events: Iterator[Event], most: int) -> list[Event] | None:
    try:
        return list(itertools.islice(events, most))
    except (ZeroDivisionError, KeyError, ExpressionError):
        return None


def told(sizes: dict[str, int], *events: Event) -> str:
    """``for N = 8: at i = 0 then at i = 1``."""
    where = " then ".join(f"at {e.at}" if e.at else "at the only iteration" for e in events)
    return f"for {', '.join(f'{k} = {v}' for k, v in sizes.items())}: {where}" if sizes else where


@dataclass(frozen=True)
class _Warps(InTurn):
    """Some warps of a CTA, conditions on threads aside."""

    env: dict[str, Any]
    warps: frozenset[int]
    anyone: bool = True

    def entered(self, op: Role | If | Elect) -> _Warps:
        if isinstance(op, Role):
            return replace(self, anyone=bool(warps_of(op) & self.warps))
        facts = [f for f in op.condition if not about_thread(f)] if isinstance(op, If) else []
        return replace(self, anyone=all(f.at(self.env) for f in facts))


def _events(ways: Ways, env: dict[str, Any], warps: frozenset[int]) -> Iterator[Event]:
    for places, op, here in unrolled(ways.kernel.body, _Warps(env, warps)):
        if not op.body:
            yield Event(ways.sites[places], here.env)


def touched_at(footprints: Footprints, a: Access, env: dict[str, Any]) -> Touched | None:
    """The footprint of an access in one execution, by the threads that make it; None if it is not known."""
    kernel, site = footprints.kernel, a.site
    op = (
        rewritten(site.op, lambda x: x.subs(env))
        if isinstance(site.op, Copy) and site.op.bytes is not None
        else site.op
    )
    width = elements_of(kernel, op, a.ref) if a.matrix is None else 1
    if width is None:
        return None
    threads, first, elected = active(site, env, kernel.threads)
    row = site.op.row
    if isinstance(row, MatrixCopy) and kernel.tensor(a.tensor).space is MemorySpace.SHARED:
        threads = threads[threads % 32 < row.row_lanes]
    if not len(threads):
        return None
    starts = np.broadcast_to(value(a.ref.offset, {**env, "thread": threads}), threads.shape)
    if a.matrix is not None:
        return footprints.operand(a, np.unique(starts))
    return by_element(starts[:, None], (LANE * (threads + first) + elected)[:, None], width, site.op)


def active(site: Site, env: dict[str, Any], count: int) -> tuple[Any, int, int]:
    """(threads within the role that execute an operation, the role's first thread, 1 where elect.sync chose them)."""
    here, elected = Threads(env, np.arange(count)), 0
    for x in site.around:
        if isinstance(x, Elect) and here.anyone:
            elected = int(not leader(x))
        if isinstance(x, Role):
            first = WARP * x.first_warp
            here = Threads(env, first + np.arange(x.threads), first)
        elif isinstance(x, If | Elect):
            here = here.entered(x)
    return here.lanes - here.base, here.base, elected
