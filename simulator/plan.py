"""Which SMs are simulated in detail: those of a kind do alike, and one of them stands for all.

>>> from symlayout.kernels import tma_copy
>>> kernel = tma_copy(8192, 8192, slots=4, blocks=132).bind()
>>> plan = plan_of(Programs(kernel), H200, Cache.of(kernel, H200, warm=False))
>>> for kind in plan.kinds:
...     print(kind.weight, len(kind.blocks), plan.at_once)
132 1 3
>>> print(*plan.notes, sep="; ")
one of 132 SMs stands for all, though 116 have less to do; up to 3 CTAs at once on an SM
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from symlayout.atoms.access import MemorySpace
from symlayout.int_tuple import product
from symlayout.kernel import Kernel
from symlayout.kernel.clusters import blocks_of
from symlayout.kernel.instructions import instructions, missing
from symlayout.ops import Copy, PrefetchL2, Role

from .cache import Cache
from .engine import SimulationError
from .footprints import fetched
from .gpcs import clusters_at_once, gpcs_of, groups_of
from .halves import ALIKE, NOTHING, Flow, Served, halves, parted_runs
from .idle import Idle
from .machine import H200, LackingError, Machine, Number
from .points import Array, TooManyRows
from .program import Programs
from .runs import READS
from .sm import Course
from .steps import Team, Walk
from .timing import Times
from .timing_classes import timing_class
from .traffic import Traffic, own, spread, traffic_of

MAX_STEPS = 1_000_000  # of the SMs in detail: about ten seconds
MAX_KINDS = 4
MAX_GRID = 1_000_000  # CTAs, or threads of all CTAs where these access memory one by one, that are looked at together
MAX_ALL = 100_000  # steps of all SMs, each in detail
# CTAs of each place, from which on those that are handed out last even out what memory serves unevenly. Stored points
# with 2 or fewer are as slow as rings that keep their part, M40's with 62 are not: a guess between.
EVEN = 4
MOSTLY_MISSED = 0.8  # of the loaded bytes: a launch that misses so many is taken to keep DRAM busy all the time

__all__ = ["H200", "Kind", "Plan", "plan_of"]


Courses = list[tuple[Course, ...]]


@dataclass(frozen=True, eq=False)
class Kind:
    """Groups of SMs that do alike, by one of them: the clusters that it runs, a CTA on each SM."""

    weight: int  # groups of SMs, each as many as a cluster has CTAs
    walk: Walk
    blocks: tuple[tuple[int, ...], ...]  # of its CTAs, cluster by cluster; none where another hands out its clusters
    share: float = 1.0  # of its work that these groups have on average
    begun: float = 1.0  # of as many clusters on each of them as here, those that there are


@dataclass(frozen=True, eq=False)
class Plan:
    """What is simulated in detail, and what moves in all."""

    kernel: Kernel
    kinds: tuple[Kind, ...]
    footprint: int  # bytes of all tensors
    at_once: int  # CTAs on an SM
    size: int  # CTAs of a cluster
    bytes: int
    dram_bytes: int
    notes: tuple[str, ...]
    apart: bool = False  # whether CTAs keep what they have at the start, so that those served first come far ahead
    shared: bool = False  # whether all SMs are in detail, and take clusters as they become free
    slower: float = 1.0  # how many times longer L2 takes where one GPC loads more than the others
    crowd: float = 1.0  # the part of the SMs of a GPC that are at work, of the GPC with the most of them
    flow: Flow = NOTHING  # what DRAM moves; nothing where CTAs do not keep what they have, or requests are unknown
    served: Served = ALIKE  # how its SMs fare, where that was found out
    turns: float = 0.0  # iterations of each CTA that loads from DRAM, where CTAs keep what they have
    idle: Idle | None = None  # clusters that find nothing to do, where some of them wait for a place
    alone: tuple[Plan, ...] = ()  # then the first of these by itself, and the first two one after the other
    _last: dict[str, Any] = field(default_factory=dict)

    def courses(self, machine: Machine) -> list[Courses]:
        """The clusters of each kind, with the steps of their CTAs as long as they take on a machine.

        The next call with another machine changes the times of these steps.
        """
        if self._last.get("machine") is not machine:
            times = Times(machine).of
            made = {id(kind): kind.walk.of(times) for kind in self.kinds if kind.blocks}
            if not self._last:
                self._last["courses"] = [self._clusters(kind, made.get(id(kind), [])) for kind in self.kinds]
            self._last["machine"] = machine
        return list(self._last["courses"])

    def _clusters(self, kind: Kind, teams: list[list[Team]]) -> Courses:
        rows = zip(kind.blocks, teams, strict=True)
        ctas = [Course(block, f"CTA {','.join(map(str, block))}", those) for block, those in rows]
        return [tuple(ctas[k : k + self.size]) for k in range(0, len(ctas), self.size)]


class Plans:
    """The plans of a kernel on machines: one for all that agree in the numbers that a plan asks for."""

    def __init__(self, programs: Programs, warm: bool, detail: str = "auto") -> None:
        self.programs, self.warm, self.detail = programs, warm, detail
        self._asked: dict[str, None] = {}
        self._known: dict[tuple[Any, ...], Plan] = {}
        self.served = ALIKE  # those of each plan
        self.runs = (0.0, 0.0)  # ``apart`` and ``parted`` of L2

    def of(self, machine: Machine) -> Plan:
        """The plan for a machine. Raises what ``plan_of`` does."""
        return replace(self._of(machine), served=self.served) if self.served.room else self._of(machine)

    def part(self, machine: Machine, served: Served) -> None:
        """From now on SMs fare so, and halves that part leave runs alone."""
        self.served = served
        found = halves(self._of(machine).flow, served, machine)
        self.runs = (found.apart if found else 0.0, parted_runs(found, machine))

    def _of(self, machine: Machine) -> Plan:
        key = (self.runs, *(machine.numbers.get(name) for name in self._asked))
        if not self._known or key not in self._known:
            noted = replace(machine, numbers=_Noted(machine.numbers, self._asked))
            apart, parted = self.runs
            cache = replace(Cache.of(self.programs.kernel, noted, self.warm), apart=apart, parted=parted)
            plan = plan_of(self.programs, noted, cache, self.detail)
            self._known[self.runs, *(machine.numbers.get(name) for name in self._asked)] = plan
            return plan
        return self._known[key]

    @property
    def asked(self) -> tuple[str, ...]:
        """The numbers of a machine that plans have asked for."""
        return tuple(self._asked)


class _Noted(Mapping[str, Number]):
    """Numbers, noting which are asked for."""

    def __init__(self, numbers: Mapping[str, Number], asked: dict[str, None]) -> None:
        self._numbers, self._asked = numbers, asked

    def __getitem__(self, key: str) -> Number:
        self._asked[key] = None
        return self._numbers[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)


def plan_of(programs: Programs, machine: Machine, cache: Cache, detail: str = "auto") -> Plan:
    """What to simulate of a kernel at sizes. Raises SimulationError where it does not fit the machine or the model."""
    kernel = programs.kernel
    grid, size = tuple(int(n) for n in kernel.grid), int(product(kernel.cluster))
    if min(grid) < 1:
        raise SimulationError(f"expected a grid of at least one CTA, got {grid} of {kernel.name}")
    if any(n % c for n, c in zip(grid, kernel.cluster, strict=False)):
        raise SimulationError(f"expected a grid of whole clusters of {kernel.cluster}, got {grid} of {kernel.name}")
    _expect_instructions(kernel, machine)
    at_once = _at_once(kernel, machine)
    clusters = int(product(grid)) // size
    groups = min(clusters, clusters_at_once(machine, size))
    if not groups:
        raise SimulationError(f"expected clusters that fit a GPC of {machine.name}, got {size} CTAs of {kernel.name}")
    grid_of = _Grid(kernel, grid, size, clusters, groups, at_once)
    cache = cache.of_grid(-(-clusters // groups), at_once)
    return _Chosen(programs, machine, cache, grid_of, detail).plan()


def _expect_instructions(kernel: Kernel, machine: Machine) -> None:
    """Raise LackingError for instructions that the machine's architecture does not have."""
    lacking = missing(kernel, machine.compute_capability)
    if lacking:
        have, least = (".".join(map(str, x)) for x in (machine.compute_capability, max(lacking.values())))
        raise LackingError(
            f"expected instructions that {machine.name} (compute capability {have}) has, got {', '.join(lacking)} of "
            f"{kernel.name}, which takes {least}"
        )
    if not machine.lacks:
        return
    words = dict.fromkeys(word for word, _ in instructions(kernel))
    if foreign := [word for word in words if word.startswith(machine.lacks)]:
        raise LackingError(
            f"expected instructions that {machine.name} has, got {', '.join(foreign)} of {kernel.name}: it has none of "
            f"{', '.join(machine.lacks)}"
        )


@dataclass(frozen=True)
class _Grid:
    """The clusters of a grid, and the groups of SMs that run them, each as many at once."""

    kernel: Kernel
    shape: tuple[int, ...]
    size: int
    clusters: int
    groups: int
    at_once: int

    def blocks(self, cluster: int) -> list[tuple[int, ...]]:
        """The block indices of the CTAs of a cluster, by rank; x is the fastest."""
        each = (*self.kernel.cluster, *(1,) * len(self.shape))[: len(self.shape)]
        corner, n = [], cluster
        for extent, c in zip(self.shape, each, strict=True):
            corner.append(n % (extent // c) * c)
            n //= extent // c
        return list(blocks_of(self.kernel, tuple(corner))) if self.size > 1 else [tuple(corner)]

    def every(self, clusters: Any) -> Iterator[tuple[int, ...]]:
        return itertools.chain.from_iterable(map(self.blocks, clusters))


def _at_once(kernel: Kernel, machine: Machine) -> int:
    """CTAs that an SM holds: by threads, by shared memory, and by registers where roles say how many they keep."""
    shared = kernel.shared_bytes + machine.count("shared_bytes_reserved")
    registers = sum(op.threads * op.registers for op in kernel.walk() if isinstance(op, Role))
    limits = (
        machine.count("registers_per_sm") // registers if registers else machine.count("ctas_per_sm"),
        machine.count("ctas_per_sm"),
        machine.count("threads_per_sm") // (-(-kernel.threads // 32) * 32),
        machine.count("shared_bytes_per_sm") // shared,
    )
    if min(limits) < 1:
        raise SimulationError(
            f"expected a CTA that fits an SM of {machine.name}, got {kernel.threads} threads, {registers} "
            f"registers and {kernel.shared_bytes} bytes of shared memory of {kernel.name}"
        )
    return min(limits)


def _outside(kernel: Kernel) -> Iterator[str]:
    """What the kernel uses that changes its time in ways which are not modelled."""
    every = list(kernel.walk())
    copies = [op for op in every if isinstance(op, Copy)]
    if any(op.cache is not None for op in copies):
        yield "cache policies"
    if any(isinstance(op, PrefetchL2) for op in every):
        yield "prefetches into L2"
    if any(op.reduction is not None for op in copies):
        yield "contention of reductions for the same bytes"
    maps = [m.tensor_map for m in kernel.maps]
    if any(m.l2_promotion and not fetched(m) for m in maps):
        yield "L2 promotion of tensor maps whose rows it does not divide"


def _loaded(kernel: Kernel) -> set[str]:
    """The tensors in shared memory that loads of global memory fill."""
    copies = (op for op in kernel.walk() if isinstance(op, Copy) and timing_class(op).unit in READS)
    targets = {kernel.touched(t) for op in copies for t in op.changes()}
    return {t.name for t in kernel.tensors if t.space is MemorySpace.SHARED and t.name in targets}


class _Chosen:
    """The choice of what is simulated in detail."""

    def __init__(self, programs: Programs, machine: Machine, cache: Cache, grid: _Grid, detail: str) -> None:
        self.programs, self.machine, self.cache, self.grid, self.detail = programs, machine, cache, grid, detail
        self.kernel = programs.kernel
        self.limit = MAX_STEPS
        few = grid.clusters if grid.clusters <= MAX_GRID else 0
        self.group = groups_of(machine, grid.size, grid.groups, few, grid.at_once)  # of each cluster of so few
        self.traffic = self._traffic()

    def _traffic(self) -> Traffic | None:
        """What all CTAs move, or None where they are too many to look at."""
        grid = self.grid
        every = grid.clusters * grid.size
        if every * (self.kernel.threads if self.programs.by_threads else 1) > MAX_GRID:
            return None
        try:
            walk = self.programs.requests(grid.every(range(grid.clusters)))
        except TooManyRows:
            return None
        group = np.repeat(self.group, grid.size)
        order = np.argsort(self.group, kind="stable")
        nth = np.empty(grid.clusters, dtype=np.int64)
        nth[order] = np.arange(grid.clusters) - np.searchsorted(self.group[order], self.group[order])
        gpcs = gpcs_of(self.machine, grid.size, grid.groups)
        return traffic_of(
            self.kernel, self.cache, walk, group, np.repeat(nth, grid.size), gpcs, grid.at_once, grid.size
        )

    def plan(self) -> Plan:
        grid, found = self.grid, self.traffic
        sms = grid.groups * grid.size
        if found is None and self.detail == "all":
            raise SimulationError(
                f"expected a grid that can be simulated CTA by CTA, of at most {MAX_GRID} CTAs (or threads, where each "
                f"accesses memory by itself), got {grid.clusters * grid.size} CTAs of {self.kernel.name}"
            )
        if found is None:
            walk, blocks = self._walk(range(0, grid.clusters, grid.groups))
            total, dram = spread(self.kernel, self.cache, walk, grid.clusters * grid.size / len(blocks))
            share = grid.clusters * grid.size / (grid.groups * len(blocks))
            kind = Kind(grid.groups, walk, blocks, share, share)
            return self._plan((kind,), total, dram, f"one of {sms} SMs stands for all")
        members = self._members(found)
        kinds = len(members)
        if self.detail == "all" or (kinds > MAX_KINDS and self.detail == "auto" and self._all_steps() <= MAX_ALL):
            return self._all(found)
        work = found.signs.sum(axis=1)
        most = int(work.argmax())
        if kinds > MAX_KINDS:
            members = np.array_split(np.argsort(work, kind="stable"), MAX_KINDS)
            told = f"{sms} SMs differ: {MAX_KINDS} stand for those with about as many requests"
        elif kinds > 1:
            shares = ", ".join(str(len(x) * grid.size) for x in members)
            told = f"{sms} SMs of {kinds} kinds are simulated by one of each: {shares}"
        else:
            fewer = int((work < work[most]).sum()) * grid.size
            told = f"one of {sms} SMs stands for all" + (f", though {fewer} have less to do" if fewer else "")
        others_end = bool((found.signs < found.signs[most]).any())
        out = []
        for group in members:
            chosen = int(group[np.argmax(work[group])])
            taken = self._taken(found, chosen, others_end)
            walk, blocks = self._walk(taken)
            found.put(walk, group, chosen)
            share = float(work[group].mean() / work[chosen])
            each = np.minimum(np.bincount(self.group, minlength=grid.groups)[group], len(taken))
            begun = float(each.mean()) * grid.size / len(blocks)
            out.append(Kind(len(group), walk, blocks, share, begun))
        places = grid.groups * grid.at_once
        nothing = np.flatnonzero(~found.moving(grid.size)).tolist()
        if not others_end or grid.clusters <= places or not 1 < len(nothing) < grid.clusters:
            return self._plan(tuple(out), found.bytes, found.dram_bytes, told)
        told = f"{told}; {len(nothing) * grid.size} CTAs find nothing to do, and pass through what places are free"
        idle = Idle(grid.clusters - len(nothing), grid.clusters, places)
        plan = self._plan(tuple(out), found.bytes, found.dram_bytes, told)
        return replace(plan, idle=idle, alone=(self._alone(nothing[:1]), self._alone(nothing[:2])))

    def _alone(self, clusters: Sequence[int]) -> Plan:
        """Some clusters that move nothing, one after another."""
        walk, blocks = self._walk(clusters)
        return replace(self._plan((Kind(1, walk, blocks),), 0, 0, ""), at_once=1)

    def _members(self, found: Traffic) -> list[Array]:
        """The groups of SMs that do alike: with requests of about as many bytes, and all of them no more than one has.

        Where no group has at least the requests of all others, those with as many of each kind do alike.
        """
        out: list[Array] = []
        for size in np.unique(found.sizes)[::-1]:
            those = np.flatnonzero(found.sizes == size)
            signs = found.signs[those]
            which = np.zeros(len(those), dtype=np.int64)
            if (signs > signs[signs.sum(axis=1).argmax()]).any():
                which = np.unique(signs, axis=0, return_inverse=True)[1].reshape(-1)
            out += [those[which == k] for k in range(int(which.max()) + 1)]
        return out

    def _own(self, group: int) -> list[int]:
        """The clusters that come to a group, if others take as long as those before."""
        return np.flatnonzero(self.group == group).tolist()

    def _taken(self, found: Traffic, group: int, others_end: bool) -> list[int]:
        """The clusters that a group runs: those that wait for a place, and move nothing, are taken by others.

        *others_end* says that some groups have less to do, which become free before.
        """
        moving = found.moving(self.grid.size)
        return [k for n, k in enumerate(self._own(group)) if n < self.grid.at_once or not others_end or moving[k]]

    def _all_steps(self) -> int:
        """About the steps of all CTAs, by those of the first and the last cluster."""
        grid = self.grid
        walk = self.programs.walk(grid.every({0, grid.clusters - 1}))
        return walk.steps * grid.clusters // len({0, grid.clusters - 1})

    def _all(self, found: Traffic) -> Plan:
        """Each SM in detail. Clusters are handed out as places become free."""
        grid = self.grid
        walk, blocks = self._walk(range(grid.clusters))
        own(walk, found)
        kinds = (Kind(1, walk, blocks), *(Kind(1, walk, ()) for _ in range(grid.groups - 1)))
        told = f"each of {grid.groups * grid.size} SMs is simulated"
        return self._plan(kinds, found.bytes, found.dram_bytes, told, shared=True)

    def _walk(self, clusters: Sequence[int]) -> tuple[Walk, tuple[tuple[int, ...], ...]]:
        """The steps of some clusters, and the blocks of their CTAs."""
        ctas = len(clusters) * self.grid.size
        if ctas > MAX_STEPS:
            raise SimulationError(
                f"expected at most {MAX_STEPS} CTAs of the SMs in detail, got {ctas} of {self.kernel.name}"
            )
        self._expect_left(ctas * self.programs.least, "or more ")  # before they are made
        blocks = tuple(self.grid.every(clusters))
        walk = self.programs.walk(blocks)
        self._expect_left(walk.steps, f"of CTAs up to {', '.join(map(str, blocks[-1]))} ")
        self.limit -= walk.steps
        return walk, blocks

    def _expect_left(self, steps: int, told: str) -> None:
        """Raise SimulationError for more steps than are left of those of the SMs in detail."""
        if steps > self.limit:
            got = f"{MAX_STEPS - self.limit + steps} {told}of {self.kernel.name}"
            raise SimulationError(f"expected at most {MAX_STEPS} steps of the SMs in detail, got {got}")

    def _plan(self, kinds: tuple[Kind, ...], total: int, dram: int, told: str, shared: bool = False) -> Plan:
        grid = self.grid
        note = f"{told}; {'one CTA' if grid.at_once == 1 else f'up to {grid.at_once} CTAs'} at once on an SM"
        drawn = self.programs.indices.drawn
        notes = (note, *(f"entries of {name} are drawn, since it is not among the inputs" for name in drawn))
        outside = ", ".join(_outside(self.kernel))
        notes = (*notes, *((f"not modelled in this kernel: {outside}",) if outside else ()))
        few = grid.clusters < EVEN * grid.groups * grid.at_once
        facts = self.cache.footprint, grid.at_once, grid.size, total, dram, notes, few, shared
        if self.traffic is None:
            return Plan(self.kernel, kinds, *facts)
        of_gpc = self.machine.count("sms") // self.machine.count("gpcs")
        crowd = min(1.0, self.traffic.busiest / of_gpc) if self.traffic.busiest else 1.0
        return Plan(
            self.kernel,
            kinds,
            *facts,
            self.traffic.slower,
            crowd,
            self._flow() if few and not shared and self.cache.warm else NOTHING,
            turns=self._turns() if few and not shared else 0.0,
        )

    def _turns(self) -> float:
        """The executions of a load by a CTA on average: of the one that is executed most often."""
        assert self.traffic is not None
        parts = (r.part for r in self.traffic.requests.values() if r.part.row.unit in READS)
        return max((len(x.cta) for x in parts), default=0) / (self.grid.clusters * self.grid.size)

    def _flow(self) -> Flow:
        """What DRAM moves, and the bytes of the loads into shared memory that all SMs have under way.

        Nothing for launches that find much of it in L2, where DRAM is not busy all the time (M46).
        """
        grid, read, written, loaded = self.grid, 0.0, 0.0, 0.0
        assert self.traffic is not None
        for r in self.traffic.requests.values():
            if r.part.row.unit in READS:
                read += float(r.busy.sum())
                loaded += float(r.part.columns["bytes"].sum())
            else:
                written += float(r.busy.sum())
        slots = sum(self.kernel.tensor(name).bytes for name in _loaded(self.kernel))
        if read < MOSTLY_MISSED * loaded:
            return NOTHING
        return Flow(read, written, slots * grid.size * min(grid.clusters, grid.groups * grid.at_once))
