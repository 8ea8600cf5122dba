"""Times that a kernel takes of itself on a device: what each role waits for, issues and releases, by iteration.

>>> import gpu
>>> with gpu.Device():                                                             # doctest: +SKIP
...     stamps = gpu.stamped(bound, {"src": src})
...     print(stamps)
tma_copy(M = 4096, N = 4096) on NVIDIA H200: 132 CTAs, 3967 stamps
role      operation                                 stamps  median ns     p90   every ns
producer  wait of mbarrier empty, until it is free     992       1204    1530       1321
...
>>> stamps.save("stamps.json")                                                     # doctest: +SKIP

A stamp is a begin and an end in nanoseconds since the first warp started. Clocks of SMs become nanoseconds by
``%globaltimer`` at the start and the end of each warp, each CTA's at the rate of its own SM. That timer counts in steps
(32 ns on an H100), so two SMs agree to about such a step, and stamps of one SM to a cycle. Stamps take registers and
stores: what they measure is a little slower, and for a kernel whose registers are all in use it spills.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from simulator.log import Span
from symlayout.errors import LayoutError
from symlayout.kernel import Kernel

from .codegen.stamps import HEADER_WORDS, Place, StampPlan
from .device import Device, current_device
from .errors import RunError
from .running import Generated, run_unproved

ITERATIONS = 64  # of each place, that are kept
PROCESS = 2  # of Chrome trace events; what is simulated is process 1
SCHEMA = 1  # of ``Stamps.row``
PS = 1000  # in a nanosecond
CLOCK_BITS = 32  # of a stamp: 2 seconds
STEP_NS = 32  # of %globaltimer on an H100 and an H200
MANY_STEPS = 64  # of it, by which a clock is known to 3 %


@dataclass(frozen=True)
class Stamp:
    """One operation in one iteration: from when to when, in nanoseconds since the first warp of the launch started."""

    cta: int  # in order of x, then y, then z
    warp: int  # of the CTA
    place: Place
    iteration: int  # of all loops around
    begin_ns: float
    end_ns: float

    @property
    def ns(self) -> float:
        return self.end_ns - self.begin_ns

    @property
    def track(self) -> str:
        """Who stamped, by the names that a simulated timeline has: ``CTA 0, role producer``."""
        role = f", role {self.place.role}" if self.place.role else ""
        return f"CTA {self.cta}{role}" + (f", warp {self.warp}" if self.place.warps > 1 else "")


@dataclass(frozen=True)
class Stamps:
    """All stamps of a launch, by time. ``str`` is a table, ``chrome`` are trace events that Perfetto opens."""

    kernel: str
    digest: str
    device: str
    sizes: tuple[tuple[str, int], ...]
    ctas: int
    iterations: int  # that are kept of each place
    stamps: tuple[Stamp, ...]

    def of(self, role: str = "", what: str = "", cta: int | None = None) -> tuple[Stamp, ...]:
        """Those of a role, a kind of operation (issue, wait, release, barrier) and a CTA, as far as given."""
        return tuple(
            s for s in self.stamps if role in ("", s.place.role) and what in ("", s.place.what) and cta in (None, s.cta)
        )

    def __str__(self) -> str:
        at = ", ".join(f"{k} = {n}" for k, n in self.sizes)
        head = f"{self.kernel}({at}) on {self.device}: {self.ctas} CTAs, {len(self.stamps)} stamps"
        rows = [("role", "operation", "stamps", "median ns", "p90", "every ns"), *map(_texts, self.summary())]
        width = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        lines = ("  ".join(_cells(row, width)).rstrip() for row in rows)
        return "\n".join([head, *lines])

    def summary(self) -> tuple[dict[str, Any], ...]:
        """For each place its stamps: how many, the median and p90 of their times, and from one begin to the next."""
        return tuple(_summary(place, group) for place, group in self._by_place().items())

    def _by_place(self) -> dict[Place, list[Stamp]]:
        found: dict[Place, list[Stamp]] = {}
        for s in sorted(self.stamps, key=lambda s: s.place.words):
            found.setdefault(s.place, []).append(s)
        return found

    def row(self) -> dict[str, Any]:
        """The stamps as JSON, times in nanoseconds."""
        return {
            "schema": SCHEMA,
            **{k: getattr(self, k) for k in ("kernel", "digest", "device", "ctas", "iterations")},
            "sizes": dict(self.sizes),
            "places": list(self.summary()),
            "stamps": [
                {
                    **{"cta": s.cta, "warp": s.warp, "iteration": s.iteration, "role": s.place.role},
                    **{"what": s.place.what, "of": s.place.of, "ends": s.place.ends, "operation": s.place.operation},
                    **{"begin_ns": round(s.begin_ns, 1), "end_ns": round(s.end_ns, 1)},
                }
                for s in self.stamps
            ],
        }

    def chrome(self) -> dict[str, Any]:
        """Chrome trace events: a track for each role of each CTA, as process 2, beside a simulated process 1."""
        tracks = {name: i + 1 for i, name in enumerate(dict.fromkeys(s.track for s in self.stamps))}
        title = f"measured: {self.kernel} on {self.device}"
        events: list[dict[str, Any]] = [_meta("process_name", 0, {"name": title})]
        events.append(_meta("process_sort_index", 0, {"sort_index": PROCESS}))
        for name, tid in tracks.items():
            events.append(_meta("thread_name", tid, {"name": name}))
            events.append(_meta("thread_sort_index", tid, {"sort_index": tid}))
        for s in sorted(self.stamps, key=lambda s: (s.begin_ns, -s.ns)):
            events.append(
                {
                    **{"ph": "X", "name": f"{s.place.what}: {s.place.of}", "pid": PROCESS, "tid": tracks[s.track]},
                    **{"ts": round(s.begin_ns) / 1000, "dur": (round(s.end_ns) - round(s.begin_ns)) / 1000},
                    "args": {"iteration": s.iteration, "operation": s.place.operation, "ends": s.place.ends},
                }
            )
        about = {"kernel": self.kernel, "digest": self.digest, "device": self.device, "sizes": dict(self.sizes)}
        return {"traceEvents": events, "displayTimeUnit": "ns", "otherData": about}

    def spans(self) -> tuple[Span, ...]:
        """The stamps as a trace takes them beside its own spans: ``trace.chrome(stamps.spans(), stamps.device)``."""
        return tuple(
            Span(s.track, f"{s.place.what}: {s.place.of}", round(s.begin_ns * PS), round(s.end_ns * PS))
            for s in self.stamps
        )

    def save(self, path: str | Path) -> None:
        """Write the trace events to a file."""
        Path(path).write_text(json.dumps(self.chrome(), separators=(",", ":")), encoding="utf-8")


def stamped(
    bound: Kernel, inputs: Mapping[str, Any], device: Device | None = None, iterations: int = ITERATIONS
) -> Stamps:
    """Run a bound kernel on NumPy arrays, and let it take times of itself: *iterations* of each operation are kept.

    Its machine code is another than that of ``run``, so it is compiled first. Raises RunError for a launch of more than
    2 seconds, and all that ``run_unproved`` raises.
    """
    on = device or current_device()
    return _taken(bound, iterations, on, lambda code, words: run_unproved(bound, {**inputs, **words}, on, code))


def launched(
    bound: Kernel, arrays: Mapping[str, Any], device: Device | None = None, iterations: int = ITERATIONS
) -> Stamps:
    """The stamps of one launch with arrays on the device, as ``measure`` takes them."""
    on = device or current_device()
    return _taken(bound, iterations, on, lambda code, words: code.launch(bound, {**arrays, **words}, on).wait())


def _taken(bound: Kernel, iterations: int, on: Device, send: Callable[[Generated, Any], Any]) -> Stamps:
    code = Generated(bound, stamps=iterations)
    plan, [name] = code.source.stamps, [a.name for a in code.source.arguments if a.kind == "stamps"]
    assert plan is not None
    words = np.zeros(prod(int(n) for n in bound.grid) * plan.words_per_cta, np.uint64)
    send(code, {name: words})
    return read(bound, plan, words, on.facts.name)


def read(bound: Kernel, plan: StampPlan, words: np.ndarray[Any, Any], device: str) -> Stamps:
    """The stamps of a buffer that a launch of a bound kernel has filled. Raises RunError for other words."""
    ctas = prod(int(n) for n in bound.grid)
    if words.size != ctas * plan.words_per_cta:
        raise LayoutError(f"expected {ctas * plan.words_per_cta} words of stamps, got {words.size}")
    by_cta = words.reshape(ctas, plan.words_per_cta)
    warps = by_cta[:, : HEADER_WORDS * plan.warps].reshape(ctas, plan.warps, HEADER_WORDS).astype(np.int64)
    spent = warps[..., 3] - warps[..., 1]
    if (warps == 0).any() or (spent < 0).any() or spent.max() >> CLOCK_BITS:
        raise RunError(f"expected the start and the end of each warp within {1 << CLOCK_BITS} cycles, got others")
    usual, first = _ns_per_cycle(warps), int(warps[..., 0].min())
    rates = (_of_its_own(warps[cta], usual) for cta in range(ctas))
    found = tuple(s for cta, rate in enumerate(rates) for s in _of_cta(plan, cta, by_cta[cta], warps[cta], first, rate))
    origin = bound.origin or bound
    order = sorted(found, key=lambda s: (s.begin_ns, s.cta, s.warp, s.place.words))
    return Stamps(bound.name, origin.digest, device, bound.sizes, ctas, plan.iterations, tuple(order))


def _ns_per_cycle(warps: np.ndarray[Any, Any]) -> float:
    """Nanoseconds of a cycle, by the warps that ran longest: a step of the global timer is the least part of those."""
    ns, cycles = warps[..., 2] - warps[..., 0], warps[..., 3] - warps[..., 1]
    longest = cycles >= np.quantile(cycles, 0.5)
    total = float(cycles[longest].sum())
    return float(ns[longest].sum()) / total if total else 0.0


def _of_its_own(warps: np.ndarray[Any, Any], usual: float) -> float:
    """Nanoseconds of a cycle of one CTA's SM, by its longest warp, where that lived for many steps of the timer.

    Under tensor cores the clocks of an H200's SMs were up to a tenth apart within one launch.
    """
    longest = int(np.argmax(warps[:, 3] - warps[:, 1]))
    ns, cycles = int(warps[longest, 2] - warps[longest, 0]), int(warps[longest, 3] - warps[longest, 1])
    return ns / cycles if ns >= MANY_STEPS * STEP_NS and cycles else usual


def _of_cta(
    plan: StampPlan, cta: int, words: np.ndarray[Any, Any], warps: np.ndarray[Any, Any], first: int, rate: float
) -> Iterator[Stamp]:
    for place in plan.places:
        rows = words[place.words : place.words + place.warps * plan.iterations].reshape(place.warps, plan.iterations)
        for w, row in enumerate(rows):
            warp = place.first_warp + w
            ns, clock = int(warps[warp, 0]) - first, int(warps[warp, 1])
            for i in np.flatnonzero(row):
                pair = int(row[i])
                begin, end = ((x - clock) % (1 << CLOCK_BITS) for x in (pair % (1 << CLOCK_BITS), pair >> CLOCK_BITS))
                yield Stamp(cta, warp, place, int(i), ns + begin * rate, ns + end * rate)


def _summary(place: Place, group: list[Stamp]) -> dict[str, Any]:
    times = [s.ns for s in group]
    begins: dict[tuple[int, int], list[Stamp]] = {}
    for s in group:
        begins.setdefault((s.cta, s.warp), []).append(s)
    steps = [
        b.begin_ns - a.begin_ns
        for rows in begins.values()
        for a, b in itertools.pairwise(rows)
        if b.iteration == a.iteration + 1
    ]
    return {
        **{"role": place.role, "what": place.what, "of": place.of, "ends": place.ends, "stamps": len(group)},
        **{"median_ns": float(np.median(times)), "p90_ns": float(np.percentile(times, 90))},
        "every_ns": float(np.median(steps)) if steps else None,
    }


def _cells(row: tuple[str, ...], width: list[int]) -> Iterator[str]:
    """The cells of a row: words to the left, numbers to the right."""
    for i, (x, w) in enumerate(zip(row, width, strict=True)):
        yield f"{x:<{w}}" if i < 2 else f"{x:>{w}}"


def _texts(row: Mapping[str, Any]) -> tuple[str, ...]:
    until = {"land": ", until bytes land", "free": ", until it is free"}.get(row["ends"], "")
    every = "" if row["every_ns"] is None else f"{row['every_ns']:.0f}"
    numbers = (str(row["stamps"]), f"{row['median_ns']:.0f}", f"{row['p90_ns']:.0f}", every)
    return (row["role"], f"{row['what']} of {row['of']}{until}", *numbers)


def _meta(name: str, tid: int, args: Mapping[str, Any]) -> dict[str, Any]:
    return {"ph": "M", "name": name, "pid": PROCESS, "tid": tid, "args": dict(args)}


__all__ = ["ITERATIONS", "Stamp", "Stamps", "read", "stamped"]
