"""What the CTAs of a grid move to and from L2 and DRAM, request by request."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from symlayout.kernel import Kernel

from .cache import Cache
from .gpcs import answered, neighbours
from .reuse import windows
from .runs import READS, Runs, fetch_factor, outside_bytes, outside_rows, rows_of, run_lengths, runs_of, straight
from .settling import coarse
from .sharers import places, readers
from .sorting import alike, stable_order
from .steps import Part, Walk

if TYPE_CHECKING:
    from .points import Array

MOMENTS = 1000  # of a request: in these times are whole numbers
LINE, LATE = 128, 0.5  # a request waits for DRAM if it misses half a line or more
FOURTHS = 4  # of the bytes of a request, by which SMs that ask for as many are told apart


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
    busiest: int = 0  # SMs of a GPC that load, of that with the most of them; 0 where all SMs are at work

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
    key = "asked", group.tobytes(), gpcs.tobytes(), at_once, size, cache.neighbours, cache.shared
    if key not in walk.known:  # on another machine it is the same
        walk.known[key] = _asked(kernel, walk, group, nth, gpcs, at_once, size, cache)
    asked: Asked = walk.known[key]
    requests, slower, busiest = {}, 1.0, 0
    if asked.parts:
        found = _sources(cache, asked)
        each = (np.split(x, np.cumsum([len(x) for x in asked.time])[:-1]) for x in found)
        of_parts = zip(asked.parts, asked.runs, asked.rows, asked.fetched, *each, strict=True)
        for (name, part), runs, rows, fetched, missed, late, answered in of_parts:
            dram = _capped(kernel, cache, part, part.columns["bytes"] * missed * fetched)
            l2 = part.columns["bytes"] * answered
            lost = missed * runs.lost(cache, part) if runs else 0.0
            assert part.moved is not None
            asks = rows * answered * (cache.part_request if part.moved.in_parts else 1.0)
            requests[name] = Requests(name, part, l2, asks, dram, dram + lost, late)
        if all((nth[part.cta] < at_once).all() for _, part in asked.parts):  # who moves has a place
            loaded = _loaded(requests, group, groups)
            by_gpc = np.bincount(gpcs, weights=loaded)
            slower = max(1.0, float(by_gpc.max() / max(1.0, by_gpc.sum())) * cache.each_of_gpc / cache.each)
            busiest = int(np.bincount(gpcs, weights=loaded > 0).max()) * size
        several = _again(kernel, [part for _, part in asked.parts])
        for r in requests.values():
            beyond = outside_bytes(r.part)
            if r.part.columns["tensor"] in several:
                r.l2 = r.l2 + beyond * (cache.each_outside / (slower * cache.each))
            else:  # they cost as much as those inside
                r.l2, r.asked = r.l2 + beyond, r.asked + outside_rows(r.part)
    signs = np.zeros((groups, 1 + len(walk.lengths)), dtype=np.int64)
    lengths = [np.ones(len(group), dtype=np.int64), *walk.lengths]
    np.add.at(signs, group, np.stack(lengths, axis=1))
    return Traffic(requests, group, signs, _sizes(requests, group, groups), slower, busiest)


def _again(kernel: Kernel, parts: list[Part]) -> set[str]:
    """The tensors of which more is loaded than there is: boxes by several SMs."""
    loaded: dict[str, float] = {}
    for part in parts:
        if part.row.unit in READS:
            name = part.columns["tensor"]
            loaded[name] = loaded.get(name, 0.0) + float(part.columns["bytes"].sum())
    return {name for name, nbytes in loaded.items() if nbytes > int(kernel.tensor(name).bytes)}


def _loaded(requests: dict[tuple[int, tuple[int, ...]], Requests], group: Array, groups: int) -> Array:
    """The bytes that L2 is asked for by each group."""
    found = np.zeros(groups)
    for r in requests.values():
        if r.part.row.unit in READS:
            found += np.bincount(group[r.part.cta], weights=r.l2, minlength=groups)
    return found


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
    peers: Array  # how many of these are of one cluster; without clusters, of CTAs that are answered together
    alike: Array  # and of one GPC
    more: float = 1.0  # places in L2 that all bytes take, for each byte

    @cached_property
    def fetched(self) -> list[Any]:
        """What L2 takes from DRAM where it misses, as a multiple of the bytes that each part asks for."""
        return [fetch_factor(part) for _, part in self.parts]

    @cached_property
    def runs(self) -> list[Runs | None]:
        """The runs of each part in DRAM; None where they cost nothing."""
        parts = [part for _, part in self.parts]
        return [runs_of(*facts) for facts in zip(parts, run_lengths(parts), self.time, straight(parts), strict=True)]

    @cached_property
    def rows(self) -> list[Array]:
        """The requests of L2 that each part makes at least: one for each row of a box."""
        return [rows_of(part) for _, part in self.parts]


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
        more = fetch_factor(part)
        key.append(np.where(more > 1, moved.at - moved.at % max(1, moved.fetched), moved.at))
        sizes.append(part.columns["bytes"] * more)
        load.append(np.full(len(cta), part.row.unit in READS))
        gpc.append(around[group[cta]])
    nothing = np.zeros(0, dtype=np.int64)
    if not parts:
        return Asked(parts, time, *(nothing,) * 6)
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
    here = peers = alike(together * (int(near.max()) + 1) + near)
    if size > 1:
        clusters = np.concatenate([part.cta for _, part in parts]) // size
        peers = alike(together * (int(clusters.max()) + 1) + clusters)
        several = [getattr(part.op, "multicast", None) is not None for _, part in parts]
        alone = np.repeat(several, [len(part.cta) for _, part in parts])  # loads for several CTAs (M42)
        here[alone] = peers[alone] = 1
    return Asked(parts, time, nbytes, loads, window, together, peers, here, more)


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
    fresh = np.isinf(asked.window)
    first = _first(cache.at_first(asked.more), asked, fresh & asked.load)
    missed = 1.0 - np.where(fresh, first, cache.there(asked.window))
    late = missed * asked.nbytes > LATE * LINE
    late = np.bincount(asked.group, weights=late).astype(bool)[asked.group]
    of_l2 = answered(asked.peers, cache.merged) * answered(asked.alike / asked.peers, cache.of_clusters)
    back = 1.0 - _first(1.0 - cache.written_back, asked, ~asked.load) if cache.warm else cache.written_back
    return np.where(asked.load, missed, back), late & asked.load, np.where(asked.load, of_l2, 1.0)


def _first(there: float, asked: Asked, those: Array) -> Any:
    """Whether the bytes of some requests are there at the start: of none of the first ones, and of all that follow.

    A part of each would make each wait for DRAM, which products about as large as L2 do not.
    """
    if there in (0.0, 1.0):
        return there
    found = np.ones(len(those))
    some = np.flatnonzero(those)
    order = some[stable_order(np.concatenate(asked.time)[some])]
    bytes_before = np.cumsum(asked.nbytes[order]) - asked.nbytes[order]
    found[order[bytes_before < (1.0 - there) * asked.nbytes[order].sum()]] = 0.0
    return found


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
