"""The timeline of a run as Chrome trace events: a track for each role, ring slot and unit, arrows, and counters.

The rules are those of the Trace Event Format: complete events (``X``) of one track nest and do not overlap otherwise;
a flow (``s``, ``t``, ``f`` of one id) is bound to the event of its track in which its time lies; counters (``C``)
belong to a process. Times are microseconds. Begin and end are rounded to whole nanoseconds, as Perfetto keeps them,
so that what nests still does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count
from typing import Any

from .engine import NS
from .log import Move, Span, Timeline
from .prediction import Prediction
from .trace_slots import SlotUse, slot_uses
from .trace_text import title

Event = dict[str, Any]
PROCESS, MEASURED = 1, 2  # numbers of processes: what is simulated, and what is measured
TRACKS = 3  # and of the first track: Perfetto calls a thread that has the number of its process the main one


def chrome(p: Prediction, timeline: Timeline, measured: Iterable[Span] = (), device: str = "") -> dict[str, Any]:
    """All events of a run, as the JSON object format has them; spans that a *device* measured are another process."""
    tracks = _Tracks(PROCESS)
    uses = slot_uses(timeline)
    places = _Places(timeline.spans)
    teams = [tracks.slice(places.track(s.who), s.what, s.start, s.end) for s in timeline.spans]
    roles = _lives(timeline.spans, lambda s: s.who).items() if places.shared else ()
    whole = [tracks.slice(places.track(who), who.partition(", ")[0], *life) for who, life in roles]
    slots = [tracks.slice(places.track(u.track), w, a, b) for u in uses for w, a, b in u.states]
    units = [tracks.slice(s.who, s.what, s.start, s.end) for s in _merged(timeline.services)]
    slices = sorted((*whole, *teams, *slots, *units), key=lambda e: (e["ts"], -e["dur"]))
    arrows = _flows(tracks, uses, timeline, places)
    events = [*tracks.named(f"simulated: {title(p)}"), *slices, *arrows, *_counters(timeline.moves)]
    about = {"kernel": p.kernel, "digest": p.digest, "machine": p.machine, "sizes": dict(p.sizes)}
    return {"traceEvents": [*events, *_measured(measured, device)], "displayTimeUnit": "ns", "otherData": about}


def _measured(spans: Iterable[Span], device: str) -> list[Event]:
    """Spans of a track that overlap, though neither lies inside the other, are on tracks beside each other."""
    tracks, inside = _Tracks(MEASURED), dict[str, list[int]]()  # ends of those around, of each track
    slices = []
    for s in sorted(spans, key=lambda s: (s.start, -s.end)):
        for k in count(1):
            name = s.who if k == 1 else f"{s.who} ({k})"
            around = inside.setdefault(name, [])
            while around and around[-1] <= s.start:
                around.pop()
            if not around or s.end <= around[-1]:
                break
        around.append(s.end)
        slices.append(tracks.slice(name, s.what, s.start, s.end))
    return [*tracks.named(f"measured: {device}"), *slices] if slices else []


class _Tracks:
    """Numbers of the tracks of a process, in the order in which they are first asked for."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._ids: dict[str, int] = {}

    def of(self, name: str) -> int:
        return self._ids.setdefault(name, TRACKS + len(self._ids))

    def slice(self, track: str, name: str, start: int, end: int) -> Event:
        first, last = round(start / NS), round(end / NS)
        at = {"ts": first / 1000, "dur": (last - first) / 1000}
        return {"ph": "X", "name": name, "pid": self.pid, "tid": self.of(track), **at}

    def named(self, process: str) -> Iterator[Event]:
        """The names of the process and its tracks, and their order."""
        for what, tid, told in (("process", 0, process), *(("thread", tid, n) for n, tid in self._ids.items())):
            order = tid if what == "thread" else self.pid
            yield {"ph": "M", "name": f"{what}_name", "pid": self.pid, "tid": tid, "args": {"name": told}}
            args = {"sort_index": order}
            yield {"ph": "M", "name": f"{what}_sort_index", "pid": self.pid, "tid": tid, "args": args}


class _Places:
    """The tracks of roles and slots: those of a CTA, or of a place on the SM where CTAs run one after another.

    A CTA takes the first place that is free.
    """

    def __init__(self, spans: Sequence[Span]) -> None:
        lives = _lives(spans, lambda s: s.who.partition(", ")[0])
        free: list[int] = []  # of each place, when it is free
        self.places: dict[str, int] = {}
        for cta, (first, last) in sorted(lives.items(), key=lambda x: (x[1], x[0])):
            place = next((k for k, end in enumerate(free) if end <= first), len(free))
            free[place : place + 1] = [last]
            self.places[cta] = place
        self.shared = len(free) < len(lives)

    def track(self, who: str) -> str:
        """The track of a role or slot of a CTA."""
        cta, _, part = who.partition(", ")
        return f"place {self.places[cta]}, {part}" if self.shared else who


def _lives(spans: Iterable[Span], key: Callable[[Span], str]) -> dict[str, tuple[int, int]]:
    """Begin and end of all spans of a key."""
    lives: dict[str, tuple[int, int]] = {}
    for s in spans:
        first, last = lives.get(key(s), (s.start, s.end))
        lives[key(s)] = min(first, s.start), max(last, s.end)
    return lives


def _us(ps: int) -> float:
    return round(ps / NS) / 1000


def _merged(services: Iterable[Span]) -> list[Span]:
    """Services of a unit for one process, one right after the other, as one."""
    last: dict[str, Span] = {}
    out: list[Span] = []
    for s in services:
        before = last.get(s.who)
        if before is not None and before.end == s.start and before.what == s.what:
            last[s.who] = Span(s.who, s.what, before.start, s.end)
            continue
        if before is not None:
            out.append(before)
        last[s.who] = s
    return [*out, *last.values()]


def _flows(tracks: _Tracks, uses: Iterable[SlotUse], timeline: Timeline, places: _Places) -> Iterator[Event]:
    """Arrows of each use of a slot: a copy is issued, its bytes land, the wait for them ends, the slot is released."""
    issued = {(s.who, s.end): (s.start + s.end) // 2 for s in timeline.spans}  # inside, since ends meet beginnings
    ids = count(1)
    for use in uses:
        for e in use.landed:
            points = [(e.who, issued.get((e.who, e.since), e.since)), (use.track, max(use.begin, e.time - NS))]
            if e.time == use.full:  # the last to land: what waits goes on
                taken, released = use.taken, use.released
                points += [(taken.who, taken.time)] if taken else []
                points += [(released.who, issued.get((released.who, released.time), released.time))] if released else []
            yield from _arrow(next(ids), [(tracks.of(places.track(who)), time) for who, time in points])


def _arrow(number: int, points: list[tuple[int, int]]) -> Iterator[Event]:
    for k, (tid, time) in enumerate(points):
        last = k == len(points) - 1
        event = {"ph": "s" if k == 0 else "f" if last else "t", "id": number, "name": "slot", "cat": "slot"}
        yield {**event, "pid": PROCESS, "tid": tid, "ts": _us(time), **({"bp": "e"} if last else {})}


def _counters(moves: Iterable[Move]) -> Iterator[Event]:
    """Bytes on their way from and to global memory, at each time at which they change."""
    changes: dict[int, Counter[str]] = {}
    for m in moves:
        changes.setdefault(round(m.start / NS), Counter())[m.what] += m.bytes
        changes.setdefault(round(m.end / NS), Counter())[m.what] -= m.bytes
    held = dict.fromkeys(("read", "write"), 0)
    for ns, change in sorted(changes.items()):
        for what, n in change.items():
            held[what] += n
        yield {"ph": "C", "name": "bytes in flight", "pid": PROCESS, "tid": 0, "ts": ns / 1000, "args": dict(held)}


__all__ = ["MEASURED", "PROCESS", "Event", "chrome"]
