"""What the CTAs of a grid move to and from L2 and DRAM, request by request."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from symlayout.atoms.access import MemorySpace
from symlayout.kernel import Kernel

from .footprints import Moved
from .gpcs import neighbours
from .machine import Machine
from .reuse import windows
from .settling import coarse
from .sharers import places, readers
from .sorting import alike, among, stable_order
from .steps import Part, Walk
from .timing_classes import Unit

if TYPE_CHECKING:
    from .points import Array

READS = (Unit.LOAD, Unit.CP_ASYNC, Unit.TMA_LOAD)
KEYS, BITS = 44, 62  # bits of an address in a tensor, and of a number that a time and an address fit
MOMENTS = 1000  # of a request: in these times are whole numbers
LINE, LATE = 128, 0.5  # a request waits for DRAM if it misses half a line or more
# Of windows that are larger than L2 a part m is missed. If what is missed takes places by lot, a line that was there is
# there again with exp(-m x), where x is the window in capacities: so m = 1 - exp(-m x), and x = -log(1 - m) / m.
MISSED = np.linspace(0, 1, 1001)
WINDOWS = np.concatenate([[1.0], -np.log1p(-MISSED[1:-1]) / MISSED[1:-1], [8.0]])  # of so many nothing is left
FOURTHS = 4  # of the bytes of a request, by which SMs that ask for as many are told apart
READ_RUN, LONE_RUN = 128, 256  # bytes from which on a run costs DRAM nothing more (M6, rows of boxes)


@dataclass(frozen=True)
class Cache:
    """What L2 does for a kernel: whether all tensors fit, what it holds, and what it has at first."""

    capacity: int  # up to which a window is there as a whole
    footprint: int  # of all tensors
    warm: bool
    read_run: float = 0.0  # bytes of time that a separate run of a read costs DRAM, and one of a write
    write_run: float = 0.0
    lone_read: float = 0.0  # of a run of 128 bytes behind which nobody moves more at about the time
    lone_write: float = 0.0
    merged: float = 0.0  # the part of requests for the same bytes from a GPC at a time that L2 answers together
    neighbours: int = 1  # CTAs in a row of a GPC that are answered together
    of_clusters: float = 0.0  # the same part of clusters of a GPC
    shared: float = 1.0  # what it holds of bytes that SMs of both halves load, as a part of the capacity
    each: float = (
        1.0  # the time of L2 for a byte, that of the way to a GPC, and that of a byte of a box outside its tensor
    )
    each_of_gpc: float = 0.0
    each_outside: float = 0.0

    @classmethod
    def of(cls, kernel: Kernel, machine: Machine, warm: bool) -> Cache:
        footprint = sum(int(t.bytes) for t in kernel.tensors if t.space is MemorySpace.GLOBAL)
        runs = (
            *(machine.count("dram_read_run_bytes"), machine.count("dram_run_bytes")),
            *(machine.count("dram_lone_read_bytes"), machine.count("dram_lone_run_bytes")),
        )
        rates = (machine.exact(x) for x in ("l2_rate", "gpc_rate", "l2_outside_rate"))
        alone = machine.share("l2_merged"), machine.count("l2_reach")
        pieces = machine.share("l2_cluster_merged"), machine.share("l2_shared")
        return cls(machine.count("l2_bytes"), footprint, warm, *runs, *alone, *pieces, *rates)

    def there(self, window: Any) -> Any:
        """The part of a window of distinct bytes that is still there at its end."""
        return 1.0 - np.interp(np.asarray(window) / self.capacity, WINDOWS, MISSED)

    def at_first(self, more: float = 1.0) -> float:
        """The part of the tensors that is there at the start: after another launch, all of them were used since.

        They take so many times *more* places than bytes that SMs of one half load each.
        """
        return float(self.there(more * self.footprint)) if self.warm else 0.0

    @property
    def written_back(self) -> float:
        """The part of what is written that goes on to DRAM in the course of the kernel."""
        return 1.0 - float(self.there(self.footprint))


@dataclass(eq=False)
class Requests:
    """The executions of a copy by a team in all CTAs: what they move, and from where."""

    key: tuple[int, tuple[int, ...]]  # of the part: its team, and the places of its operation
    part: Part
    l2: Array  # bytes that L2 is asked for
    asked: Array  # requests for these: rows of boxes
    dram: Array  # bytes
    busy: Array  # bytes that DRAM could move in the time that it takes
    late: Array  # whether DRAM has them


@dataclass(eq=False)
class Traffic:
    """All requests of a grid. CTAs have numbers cluster by cluster; *group* says who runs each."""

    requests: dict[tuple[int, tuple[int, ...]], Requests]
    group: Array
    signs: Array  # for each group: its clusters, and the requests of each team
    sizes: Array  # for each group: the bytes of its requests on average, in fourths of the most
    slower: float = 1.0  # how many times longer L2 takes where one GPC loads more than the others

    @property
    def bytes(self) -> int:
        return int(sum(r.part.columns["bytes"].sum() for r in self.requests.values()))

    @property
    def dram_bytes(self) -> int:
        return round(sum(float(r.dram.sum()) for r in self.requests.values()))

    def moving(self, size: int) -> Array:
        """For each cluster of so many CTAs, whether it moves anything."""
        found = np.zeros(len(self.group) // size, dtype=bool)
        for r in self.requests.values():
            found[r.part.cta // size] = True
        return found

    def put(self, walk: Walk, members: Array, chosen: int) -> None:
        """Let the n-th request of a group in detail be that of all *members*: those that have as many."""
        known: dict[int, tuple[Array, Array, Array]] = {}  # of each scope, by identity
        for key, part in walk.keyed():
            found = self.requests.get(key)
            if found is None:
                continue
            scope = found.part.scope
            if id(scope) not in known:
                known[id(scope)] = self._in_turn(scope.cta, members, chosen)
            inside, nth, own = known[id(scope)]
            n = len(own)
            part.columns["late"] = found.late[own]
            for name, x in (("l2_bytes", found.l2), ("l2_requests", found.asked), ("dram_bytes", found.busy)):
                each = np.bincount(nth, weights=x[inside], minlength=n)
                here = coarse(each[:n]) if name == "dram_bytes" else each[:n]  # what misses changes little by little
                part.columns[name] = here * (each.sum() / max(here.sum(), 1))  # the bytes of all, none left out

    def _in_turn(self, cta: Array, members: Array, chosen: int) -> tuple[Array, Array, Array]:
        """The requests of some groups in their order, the how many-th of its group each is, and those of one group."""
        group = self.group[cta]
        inside = np.flatnonzero(np.isin(group, members)) if len(members) < len(self.signs) else np.arange(len(cta))
        inside = inside[stable_order(group[inside] * len(self.group) + cta[inside])]
        counts = np.bincount(group[inside], minlength=chosen + 1)
        before = np.cumsum(counts) - counts
        nth = np.arange(len(inside)) - np.repeat(before, counts)
        return inside, nth, inside[before[chosen] : before[chosen] + counts[chosen]]


def traffic_of(
    kernel: Kernel, cache: Cache, walk: Walk, group: Array, nth: Array, gpcs: Array, at_once: int, size: int
) -> Traffic:
    """The traffic of all CTAs, which are in *walk*: each is the *nth* of its group, and each group is in a GPC."""
    groups = len(gpcs)
    key = "asked", len(group), gpcs.tobytes(), at_once, size, cache.neighbours, cache.shared
    if key not in walk.known:  # on another machine it is the same
        walk.known[key] = _asked(kernel, walk, group, nth, gpcs, at_once, size, cache)
    asked: Asked = walk.known[key]
    requests, slower = {}, 1.0
    if asked.parts:
        found = _sources(cache, asked)
        each = (np.split(x, np.cumsum([len(x) for x in asked.time])[:-1]) for x in found)
        of_parts = zip(asked.parts, asked.runs, asked.rows, asked.fetched, *each, strict=True)
        for (name, part), runs, rows, fetched, missed, late, answered in of_parts:
            dram = _capped(kernel, cache, part, part.columns["bytes"] * missed * fetched)
            l2 = part.columns["bytes"] * answered
            lost = missed * runs.lost(cache, part) if runs else 0.0
            requests[name] = Requests(name, part, l2, rows * answered, dram, dram + lost, late)
        if nth.max() < at_once:  # all have their place from the start
            slower = max(1.0, _fullest(requests, group, gpcs) * cache.each_of_gpc / cache.each)
        for r in requests.values():
            r.l2 = r.l2 + _outside(r.part) * (cache.each_outside / (slower * cache.each))
    signs = np.zeros((groups, 1 + len(walk.lengths)), dtype=np.int64)
    lengths = [np.ones(len(group), dtype=np.int64), *walk.lengths]
    np.add.at(signs, group, np.stack(lengths, axis=1))
    return Traffic(requests, group, signs, _sizes(requests, group, groups), slower)


def _fullest(requests: dict[tuple[int, tuple[int, ...]], Requests], group: Array, gpcs: Array) -> float:
    """The part of what L2 is asked for that SMs of one GPC load, of the one that loads the most."""
    by_gpc = np.zeros(int(gpcs.max()) + 1)
    for r in requests.values():
        if r.part.row.unit in READS:
            by_gpc += np.bincount(gpcs[group[r.part.cta]], weights=r.l2, minlength=len(by_gpc))
    return float(by_gpc.max() / max(1.0, by_gpc.sum()))


def _sizes(requests: dict[tuple[int, tuple[int, ...]], Requests], group: Array, groups: int) -> Array:
    """The bytes of the requests of each group on average, in fourths of the most; of one without any, the most."""
    count, nbytes = np.zeros(groups), np.zeros(groups)
    for r in requests.values():
        count += np.bincount(group[r.part.cta], minlength=groups)
        nbytes += np.bincount(group[r.part.cta], weights=r.part.columns["bytes"], minlength=groups)
    each = nbytes / np.maximum(count, 1)
    most = max(float(each.max()), 1.0)
    return np.where(count > 0, np.rint(FOURTHS * each / most), FOURTHS).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Asked:
    """What all CTAs ask for: for each request its time, and what was asked for since the last one for its bytes."""

    parts: list[tuple[tuple[int, tuple[int, ...]], Part]]
    time: list[Array]  # of each part
    nbytes: Array
    load: Array
    window: Array  # distinct bytes since then, see ``reuse``
    group: Array  # the same for those that ask for the same bytes in a step
    alike: Array  # how many of these are answered at one place
    clusters: bool = False  # of CTAs that ask
    more: float = 1.0  # places in L2 that all bytes take, for each byte

    @cached_property
    def fetched(self) -> list[Any]:
        """What L2 takes from DRAM where it misses, as a multiple of the bytes that each part asks for."""
        return [_fetched(part) for _, part in self.parts]

    @cached_property
    def runs(self) -> list[Runs | None]:
        """The runs of each part in DRAM; None where they cost nothing."""
        lengths = _lengths([part for _, part in self.parts])
        return [_runs(part, n, at) for (_, part), n, at in zip(self.parts, lengths, self.time, strict=True)]

    @cached_property
    def rows(self) -> list[Array]:
        """The requests of L2 that each part makes at least: one for each row of a box."""
        return [_rows_of(part) for _, part in self.parts]


def _asked(
    kernel: Kernel, walk: Walk, group: Array, nth: Array, gpcs: Array, at_once: int, size: int, cache: Cache
) -> Asked:
    lengths = np.stack(walk.lengths)
    longest = np.maximum(lengths.max(axis=0), 1)
    start = _starts(longest, group, nth, np.arange(len(group)) % size, at_once)
    numbers = {t.name: k for k, t in enumerate(kernel.tensors)}
    parts = list(walk.keyed())
    time, key, sizes, load, gpc = [], [], [], [], []
    around = neighbours(gpcs, cache.neighbours if size == 1 else len(gpcs))
    for (team, _), part in parts:
        moved, cta = part.moved, part.cta
        assert moved is not None
        assert moved.at is not None
        place = np.rint(MOMENTS * part.place * (longest[cta] / lengths[team][cta])).astype(np.int64)
        time.append(MOMENTS * start[cta] + place)
        more = _fetched(part)
        key.append(np.where(more > 1, moved.at - moved.at % max(1, moved.fetched), moved.at))
        sizes.append(part.columns["bytes"] * more)
        load.append(np.full(len(cta), part.row.unit in READS))
        gpc.append(around[group[cta]])
    nothing = np.zeros(0, dtype=np.int64)
    if not parts:
        return Asked(parts, time, *(nothing,) * 5)
    nbytes, near = np.concatenate([p.columns["bytes"] for _, p in parts]), np.concatenate(gpc)
    span = 1 + max(int(x.max(initial=0)) for x in key)
    keys = [x + numbers[part.columns["tensor"]] * span for x, (_, part) in zip(key, parts, strict=True)]
    every, loads, held = np.concatenate(keys), np.concatenate(load), np.concatenate(sizes)
    of = {part.columns["tensor"] for _, part in parts if part.row.unit in READS}
    more = 1.0
    if held[loads].sum() > sum(int(t.bytes) for t in kernel.tensors if t.name in of):  # some bytes are loaded again
        gpcs = readers(every[loads], near[loads], every)
        _, first = np.unique(every, return_index=True)
        bytes_held, held = float(held[first].sum()), held * places(gpcs, cache.shared)
        more = float(held[first].sum()) / max(bytes_held, 1.0)
    window, together = windows(np.concatenate(time), every, held)
    here = alike(together * (int(near.max()) + 1) + near)
    if size > 1:  # loads for several CTAs are answered by themselves (M42)
        several = [getattr(part.op, "multicast", None) is not None for _, part in parts]
        here[np.repeat(several, [len(part.cta) for _, part in parts])] = 1
    return Asked(parts, time, nbytes, loads, window, together, here, size > 1, more)


def _outside(part: Part) -> Any:
    """The bytes of boxes that lie outside of their tensor, which arrive as zeros."""
    assert part.moved is not None
    return np.maximum(0, part.moved.shared_bytes - part.moved.bytes) if part.row.unit is Unit.TMA_LOAD else 0


def _fetched(part: Part) -> Any:
    """What L2 takes from DRAM for each execution of a load, as a multiple of its bytes."""
    assert part.moved is not None
    assert part.moved.run_bytes is not None
    if part.row.unit not in READS or not part.moved.fetched:
        return 1.0
    return np.maximum(1.0, part.moved.fetched / np.maximum(part.moved.run_bytes, 1))


def _starts(lengths: Array, group: Array, nth: Array, rank: Array, at_once: int) -> Array:
    """When each CTA starts, in requests of those before it at the same place of its SM."""
    order = np.lexsort((nth, nth % at_once, rank, group))
    before = np.cumsum(lengths[order]) - lengths[order]
    place = np.stack([group, rank, nth % at_once])[:, order]
    fresh = np.ones(len(order), dtype=bool)
    fresh[1:] = (place[:, 1:] != place[:, :-1]).any(axis=0)
    out = np.empty(len(order), dtype=np.int64)
    out[order] = before - before[np.flatnonzero(fresh)][np.cumsum(fresh) - 1]
    return out


def _sources(cache: Cache, asked: Asked) -> tuple[Array, Array, Array]:
    """(the part of its bytes that DRAM moves, whether it has to be waited for, the part that L2 is asked for).

    Who asks in the same step for what another misses waits for DRAM too, which is asked once. Of those who ask for the
    same bytes in a step from one GPC some are answered together.
    """
    missed = 1.0 - np.where(np.isinf(asked.window), cache.at_first(asked.more), cache.there(asked.window))
    late = missed * asked.nbytes > LATE * LINE
    late = np.bincount(asked.group, weights=late).astype(bool)[asked.group]
    merged = cache.of_clusters if asked.clusters else cache.merged
    answered = 1.0 - merged * (1.0 - 1.0 / asked.alike)
    return np.where(asked.load, missed, cache.written_back), late & asked.load, np.where(asked.load, answered, 1.0)


def _lengths(parts: list[Part]) -> list[Any]:
    """How many bytes lie together that each part moves with others: boxes side by side go out one after another."""
    lengths = []
    for part in parts:
        assert part.moved is not None
        alike = [x.moved for x in parts if x.scope is part.scope and x.row is part.row and x.moved is not None]
        every = [x for x in alike if x.tensor == part.moved.tensor]
        lengths.append(_length(part.moved, every) if len(every) > 1 else part.moved.run_bytes)
    return lengths


def _length(one: Moved, every: list[Moved]) -> Any:
    """The bytes of a row of a box and of those that lie before and behind it."""
    assert one.at is not None
    assert one.run_bytes is not None
    first, end = one.at, one.at + one.run_bytes
    rows = [(x.at, x.run_bytes) for x in every if x.at is not None and x.run_bytes is not None and len(x.at)]
    rows.sort(key=lambda row: int(row[0][0]))
    for at, nbytes in rows:
        end = np.where(at == end, end + nbytes, end)
    for at, nbytes in reversed(rows):
        first = np.where(at + nbytes == first, at, first)
    return end - first


def _rows_of(part: Part) -> Array:
    """The rows of boxes that each execution of a copy moves, where they have bytes inside of their tensor."""
    assert part.moved is not None
    assert part.moved.run_bytes is not None
    return np.asarray(part.columns["bytes"] / np.maximum(part.moved.run_bytes, 1))


@dataclass(frozen=True, eq=False)
class Runs:
    """How the bytes of each execution of a copy lie in DRAM, and which of them are moved at about the time."""

    length: Any  # bytes that lie together
    together: Array  # runs of so many bytes
    alone: Array  # whether nobody moves what lies behind them

    def lost(self, cache: Cache, part: Part) -> Array:
        """Bytes of time that DRAM loses by runs that are short: fewer where what lies behind is moved as well."""
        reads = part.row.unit in READS
        lone = (cache.lone_read if reads else cache.lone_write) / (LONE_RUN - READ_RUN)
        alone = np.where(self.alone, lone * (LONE_RUN - self.length) * self.together, 0.0)
        if reads:
            return np.maximum(alone, np.where(self.length < READ_RUN, cache.read_run * self.together, 0.0))
        assert part.moved is not None
        assert part.moved.run_bytes is not None
        assert part.moved.runs is not None
        return np.maximum(alone, np.where(part.moved.run_bytes < LONE_RUN, cache.write_run * part.moved.runs, 0.0))


def _runs(part: Part, length: Any, time: Array) -> Runs | None:
    """How the bytes of a part lie in DRAM; None where none of its runs is short."""
    moved = part.moved
    assert moved is not None
    assert moved.run_bytes is not None
    assert moved.runs is not None
    assert moved.at is not None
    apart = moved.run_bytes != moved.pitch  # rows that fill their tensor lie together
    fetched = part.row.unit in READS and moved.fetched >= LONE_RUN
    if fetched or not (apart & (moved.run_bytes < LONE_RUN)).any():
        return None
    here = _together(time, moved.at, int(np.max(length, initial=0)))
    alone = np.broadcast_to(apart & (length < LONE_RUN), len(here)).copy()
    alone[:-1] &= (part.cta[1:] != part.cta[:-1]) | (moved.at[1:] != (moved.at + length)[:-1])  # nor this CTA next
    alone[alone] = ~among((here + length)[alone], here)
    together = moved.runs * moved.run_bytes / np.maximum(length, 1)  # rows of all boxes side by side
    return Runs(length, together, alone)


def _together(time: Array, at: Array, most: int) -> Array:
    """A number for each time and place, such that places up to *most* bytes apart at a time are as far apart in it."""
    span = int(at.max(initial=0)) + most + 1
    if int(time.max(initial=0)) * span < 1 << BITS:
        return np.asarray(time * span + at)
    _, step = np.unique(time, return_inverse=True)
    return np.asarray((step.reshape(-1) << KEYS) + at)


def _capped(kernel: Kernel, cache: Cache, part: Part, dram: Array) -> Array:
    """Tiles that overlap miss their common bytes once: where all tensors fit, no more than there are."""
    if cache.written_back > 0 or part.row.unit not in READS or not dram.any():
        return dram
    return dram * min(1.0, int(kernel.tensor(part.columns["tensor"]).bytes) / float(dram.sum()))


def spread(kernel: Kernel, cache: Cache, walk: Walk, scale: float) -> tuple[int, int]:
    """Let the requests of a few CTAs be those of *scale* times as many; (bytes, bytes of DRAM) of all.

    Bytes that are read more often than there are miss once: which reads these are is spread evenly.
    """
    asked: dict[str, float] = {}
    for _, part in walk.keyed():
        if part.row.unit in READS:
            name = part.columns["tensor"]
            asked[name] = asked.get(name, 0.0) + scale * float(part.columns["bytes"].sum())
    total = dram_total = 0.0
    for _, part in walk.keyed():
        nbytes = part.columns["bytes"] * scale
        if part.row.unit in READS:
            name = part.columns["tensor"]
            rate = (1.0 - cache.at_first()) * min(1.0, int(kernel.tensor(name).bytes) / max(asked[name], 1))
            n = np.arange(len(nbytes))
            late = np.floor((n + 1) * rate + 1e-9) > np.floor(n * rate + 1e-9)
            dram = nbytes * late
        else:
            late, dram = np.zeros(len(nbytes), dtype=bool), nbytes * cache.written_back
        part.columns |= {"l2_bytes": nbytes, "l2_requests": 0.0, "dram_bytes": dram, "late": late}
        total, dram_total = total + float(nbytes.sum()), dram_total + float(dram.sum())
    return round(total), round(dram_total)


def own(walk: Walk, traffic: Traffic) -> None:
    """Let the requests of all CTAs be their own."""
    for key, part in walk.keyed():
        found: Requests | None = traffic.requests.get(key)
        if found is not None:
            part.columns |= {"l2_bytes": found.l2, "l2_requests": found.asked}
            part.columns |= {"dram_bytes": found.busy, "late": found.late}
