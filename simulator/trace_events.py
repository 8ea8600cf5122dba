"""The timeline of a run as Chrome trace events: a track for each role, ring slot and unit, arrows, and counters.

The rules are those of the Trace Event Format: complete events (``X``) of one track nest and do not overlap otherwise;
a flow (``s``, ``t``, ``f`` of one id) is bound to the event of its track in which its time lies; counters (``C``)
belong to a process. Times are microseconds. Begin and end are rounded to whole nanoseconds, as Perfetto keeps them,
so that what nests still does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import count
from typing import Any

from .engine import NS
from .log import Move, Span, Timeline
from .prediction import Prediction
from .trace_slots import SlotUse, slot_uses
from .trace_text import title

Event = dict[str, Any]
PROCESS = 1  # of what is simulated; what is measured is another


def chrome(p: Prediction, timeline: Timeline) -> dict[str, Any]:
    """All events of a run, as the JSON object format has them."""
    tracks = _Tracks()
    uses = slot_uses(timeline)
    teams = [_slice(tracks.of(s.who), s.what, s.start, s.end) for s in timeline.spans]
    slots = [_slice(tracks.of(u.track), word, a, b) for u in uses for word, a, b in u.states]
    units = [_slice(tracks.of(s.who), s.what, s.start, s.end) for s in _merged(timeline.services)]
    events = [
        {"ph": "M", "name": "process_name", "pid": PROCESS, "tid": 0, "args": {"name": f"simulated: {title(p)}"}},
        {"ph": "M", "name": "process_sort_index", "pid": PROCESS, "tid": 0, "args": {"sort_index": PROCESS}},
        *tracks.named(),
        *sorted((*teams, *slots, *units), key=lambda e: (e["ts"], -e["dur"])),
        *_flows(tracks, uses, timeline),
        *_counters(timeline.moves),
    ]
    about = {"kernel": p.kernel, "digest": p.digest, "machine": p.machine, "sizes": dict(p.sizes)}
    return {"traceEvents": events, "displayTimeUnit": "ns", "otherData": about}


class _Tracks:
    """Numbers of tracks, in the order in which they are first asked for."""

    def __init__(self) -> None:
        self._ids: dict[str, int] = {}

    def of(self, name: str) -> int:
        return self._ids.setdefault(name, len(self._ids) + 1)

    def named(self) -> Iterator[Event]:
        for name, tid in self._ids.items():
            yield {"ph": "M", "name": "thread_name", "pid": PROCESS, "tid": tid, "args": {"name": name}}
            yield {"ph": "M", "name": "thread_sort_index", "pid": PROCESS, "tid": tid, "args": {"sort_index": tid}}


def _us(ps: int) -> float:
    return round(ps / NS) / 1000


def _slice(tid: int, name: str, start: int, end: int) -> Event:
    first, last = round(start / NS), round(end / NS)
    return {"ph": "X", "name": name, "pid": PROCESS, "tid": tid, "ts": first / 1000, "dur": (last - first) / 1000}


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


def _flows(tracks: _Tracks, uses: Iterable[SlotUse], timeline: Timeline) -> Iterator[Event]:
    """Arrows of each use of a slot: a copy is issued, its bytes land, the wait for them ends, the slot is released."""
    issued = {(s.who, s.end): (s.start + s.end) // 2 for s in timeline.spans}  # inside, since ends meet beginnings
    ids = count(1)
    for use in uses:
        slot = tracks.of(use.track)
        for e in use.landed:
            points = [(tracks.of(e.who), issued.get((e.who, e.since), e.since)), (slot, max(use.begin, e.time - NS))]
            if e.time == use.full:  # the last to land: what waits goes on
                points += _taken(tracks, use, issued)
            yield from _arrow(next(ids), points)


def _taken(tracks: _Tracks, use: SlotUse, issued: dict[tuple[str, int], int]) -> Iterator[tuple[int, int]]:
    for e in filter(None, (use.taken, use.released)):
        yield tracks.of(e.who), issued.get((e.who, e.time), e.time) if e is use.released else e.time


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


__all__ = ["PROCESS", "Event", "chrome"]
