"""What the CTAs of a grid move to and from L2 and DRAM, request by request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symlayout.atoms.access import MemorySpace
from symlayout.kernel import Kernel

from .machine import Machine
from .program import Part, Walk
from .reuse import misses
from .timing_classes import Unit

if TYPE_CHECKING:
    from .points import Array

READS = (Unit.LOAD, Unit.CP_ASYNC, Unit.TMA_LOAD)
KEYS = 44  # bits of an address in a tensor


@dataclass(frozen=True)
class Cache:
    """What L2 does for a kernel: whether all tensors fit, what it holds, and what it has at first."""

    capacity: int
    footprint: int
    warm: bool

    @classmethod
    def of(cls, kernel: Kernel, machine: Machine, warm: bool) -> Cache:
        footprint = sum(int(t.bytes) for t in kernel.tensors if t.space is MemorySpace.GLOBAL)
        return cls(machine.count("l2_bytes"), footprint, warm)

    @property
    def fits(self) -> bool:
        return self.footprint <= self.capacity

    @property
    def writes_back(self) -> bool:
        """Whether what is written goes on to DRAM in the course of the kernel."""
        return not self.fits

    @property
    def all_there(self) -> bool:
        return self.fits and self.warm


@dataclass(eq=False)
class Requests:
    """The executions of a copy by a team in all CTAs: what they move, and from where."""

    key: tuple[int, tuple[int, ...]]  # of the part: its team, and the places of its operation
    part: Part
    dram: Array  # bytes
    late: Array  # whether DRAM has them


@dataclass(eq=False)
class Traffic:
    """All requests of a grid. CTAs have numbers cluster by cluster; *group* says who runs each."""

    requests: dict[tuple[int, tuple[int, ...]], Requests]
    group: Array
    signs: Array  # for each group: its clusters, and the requests of each team

    @property
    def bytes(self) -> int:
        return int(sum(r.part.columns["bytes"].sum() for r in self.requests.values()))

    @property
    def dram_bytes(self) -> int:
        return round(sum(float(r.dram.sum()) for r in self.requests.values()))

    def put(self, walk: Walk, members: Array, chosen: int) -> None:
        """Let the n-th request of a group in detail be that of all *members*: those that have as many."""
        for key, part in walk.keyed():
            found = self.requests.get(key)
            if found is None:
                continue
            cta = found.part.cta
            group = self.group[cta]
            inside = np.flatnonzero(np.isin(group, members))
            inside = inside[np.lexsort((inside, cta[inside], group[inside]))]
            counts = np.bincount(group[inside])
            nth = np.arange(len(inside)) - np.repeat(np.cumsum(counts) - counts, counts)
            n = int(counts[chosen])
            part.columns["late"] = found.late[inside[group[inside] == chosen]]
            for name, x in (("l2_bytes", found.part.columns["bytes"]), ("dram_bytes", found.dram)):
                each = np.bincount(nth, weights=x[inside], minlength=n)
                part.columns[name] = each[:n] * (each.sum() / max(each[:n].sum(), 1))  # the bytes of all, none left out


def traffic_of(
    kernel: Kernel, cache: Cache, walk: Walk, group: Array, turn: Array, groups: int, at_once: int, size: int
) -> Traffic:
    """The traffic of all CTAs, which are in *walk*: each is the *turn*-th of its group."""
    lengths = np.stack(walk.lengths)
    longest = np.maximum(lengths.max(axis=0), 1)
    start = _starts(longest, group, turn, np.arange(len(group)) % size, at_once)
    numbers = {t.name: k for k, t in enumerate(kernel.tensors)}
    parts = list(walk.keyed())
    time, key, load = [], [], []
    for (team, _), part in parts:
        moved, cta = part.moved, part.cta
        assert moved is not None
        assert moved.at is not None
        time.append(start[cta] + np.round(part.place * (longest[cta] / lengths[team][cta]), 3))
        key.append(moved.at + (numbers[moved.tensor] << KEYS))
        load.append(np.full(len(cta), part.row.unit in READS))
    nbytes = [p.columns["bytes"] for _, p in parts]
    requests, cuts = {}, np.cumsum([len(x) for x in nbytes])[:-1]
    if parts:
        found = _sources(cache, *map(np.concatenate, (time, key, nbytes, load)))
        each = (np.split(x, cuts) for x in found)
        for (name, part), dram, late in zip(parts, *each, strict=True):
            requests[name] = Requests(name, part, _capped(kernel, cache, part, dram), late)
    signs = np.zeros((groups, 1 + len(lengths)), dtype=np.int64)
    np.add.at(signs, group, np.stack([np.ones(len(group), dtype=np.int64), *lengths], axis=1))
    return Traffic(requests, group, signs)


def _starts(lengths: Array, group: Array, turn: Array, rank: Array, at_once: int) -> Array:
    """When each CTA starts, in requests of those before it at the same place of its SM."""
    order = np.lexsort((turn, turn % at_once, rank, group))
    before = np.cumsum(lengths[order]) - lengths[order]
    place = np.stack([group, rank, turn % at_once])[:, order]
    fresh = np.ones(len(order), dtype=bool)
    fresh[1:] = (place[:, 1:] != place[:, :-1]).any(axis=0)
    out = np.empty(len(order), dtype=np.float64)
    out[order] = before - before[np.flatnonzero(fresh)][np.cumsum(fresh) - 1]
    return out


def _sources(cache: Cache, time: Array, key: Array, nbytes: Array, load: Array) -> tuple[Array, Array]:
    """(bytes of DRAM, whether it has to be waited for) of each request.

    Who asks in the same step for what another misses waits for DRAM too, which is asked once.
    """
    if cache.all_there:
        return np.zeros(len(time)), np.zeros(len(time), dtype=bool)
    missed = misses(time, key, nbytes, cache.capacity)
    late = missed.copy()
    order = np.lexsort((time, key))
    alike = np.zeros(len(order), dtype=bool)
    alike[1:] = (key[order][1:] == key[order][:-1]) & (time[order][1:] == time[order][:-1])
    run = np.cumsum(~alike) - 1
    late[order] = np.bincount(run, weights=missed[order]).astype(bool)[run]
    return np.where(load, nbytes * missed, nbytes * cache.writes_back).astype(np.float64), late & load


def _capped(kernel: Kernel, cache: Cache, part: Part, dram: Array) -> Array:
    """Tiles that overlap miss their common bytes once: where all tensors fit, no more than there are."""
    if not cache.fits or part.row.unit not in READS or not dram.any():
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
            rate = 0.0 if cache.all_there else min(1.0, int(kernel.tensor(name).bytes) / max(asked[name], 1))
            n = np.arange(len(nbytes))
            late = np.floor((n + 1) * rate + 1e-9) > np.floor(n * rate + 1e-9)
        else:
            late = np.full(len(nbytes), cache.writes_back)
        part.columns |= {"l2_bytes": nbytes, "dram_bytes": nbytes * late, "late": late}
        total, dram_total = total + float(nbytes.sum()), dram_total + float((nbytes * late).sum())
    return round(total), round(dram_total)


def own(walk: Walk, traffic: Traffic) -> None:
    """Let the requests of all CTAs be their own."""
    for key, part in walk.keyed():
        found: Requests | None = traffic.requests.get(key)
        if found is not None:
            nbytes = part.columns["bytes"].astype(np.float64)
            part.columns |= {"l2_bytes": nbytes, "dram_bytes": found.dram, "late": found.late}
