"""The rules of the Trace Event Format for the events that we write, as sentences about what breaks them.

Source: Trace Event Format (the document that Perfetto and chrome://tracing refer to), sections on complete events,
counters, flow events and metadata; and how Perfetto reads it, ``trace_processor/importers/json``.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

KEYS = {  # of each phase: what an event must have
    "M": {"name", "pid", "tid", "args"},
    "X": {"name", "pid", "tid", "ts", "dur"},
    "C": {"name", "pid", "ts", "args"},
    "s": {"name", "cat", "id", "pid", "tid", "ts"},
    "t": {"name", "cat", "id", "pid", "tid", "ts"},
    "f": {"name", "cat", "id", "pid", "tid", "ts", "bp"},
}
METADATA = {  # and of which type its argument is
    "process_name": ("name", str),
    "process_sort_index": ("sort_index", int),
    "thread_name": ("name", str),
    "thread_sort_index": ("sort_index", int),
}
KNOWN = {"ph", "name", "cat", "id", "pid", "tid", "ts", "dur", "tdur", "tts", "bp", "args", "s", "cname"}  # keys
OBJECT = {"traceEvents", "displayTimeUnit", "otherData"}  # of the JSON object format, that we write


def broken(trace: dict[str, Any]) -> list[str]:
    """What is wrong with a trace, a sentence each; the times are compared in whole nanoseconds."""
    events = trace["traceEvents"]
    wrong = [f"{e} has no phase that is known" for e in events if e.get("ph") not in KEYS]
    wrong += [f"{e} lacks {KEYS[e['ph']] - set(e)}" for e in events if not wrong and KEYS[e["ph"]] - set(e)]
    wrong += [f"{e} has {set(e) - KNOWN}" for e in events if set(e) - KNOWN]
    wrong += [f"the object has {set(trace) - OBJECT}" for _ in [0] if set(trace) - OBJECT]
    if trace.get("displayTimeUnit") not in ("ms", "ns"):
        wrong.append(f"times are shown in {trace.get('displayTimeUnit')}")
    try:
        json.dumps(trace, allow_nan=False)
    except ValueError as e:
        wrong.append(f"it is no JSON: {e}")
    if wrong:
        return wrong
    checks = (_values, _order, _nesting, _tracks, _arrows, _counters)
    return [sentence for check in checks for sentence in check(events)]


def _ns(us: float) -> int:
    return round(us * 1000)


def _values(events: list[dict[str, Any]]) -> Iterator[str]:
    for e in events:
        for key in ("ts", "dur"):
            if not isinstance(e.get(key, 0), int | float) or e.get(key, 0) < 0:
                yield f"{e} has no {key} of at least 0"
        for key in ("pid", "tid"):
            if type(e.get(key, 0)) is not int:
                yield f"{e} has no whole number as {key}"
        if e["ph"] == "M":
            key, kind = METADATA.get(e["name"], ("", object))
            if not key or set(e["args"]) != {key} or type(e["args"][key]) is not kind:
                yield f"{e} is no metadata that is known"
        if e["ph"] == "X" and not e["name"]:
            yield f"{e} has no name"


def _order(events: list[dict[str, Any]]) -> Iterator[str]:
    """Times of a track do not go back: readers may take events as they come."""
    last: dict[tuple[Any, ...], float] = {}
    for e in events:
        if e["ph"] in "XC":
            track = e["pid"], *((e["tid"],) if e["ph"] == "X" else ("counter", e["name"]))
            if e["ts"] < last.get(track, 0):
                yield f"{e} comes behind {last[track]} us on track {track}"
            last[track] = e["ts"]


def _slices(events: list[dict[str, Any]]) -> dict[tuple[int, int], list[tuple[int, int]]]:
    found = defaultdict(list)
    for e in events:
        if e["ph"] == "X":
            found[e["pid"], e["tid"]].append((_ns(e["ts"]), _ns(e["ts"]) + _ns(e["dur"])))
    return found


def _nesting(events: list[dict[str, Any]]) -> Iterator[str]:
    for track, slices in _slices(events).items():
        stack: list[tuple[int, int]] = []
        for start, end in sorted(slices, key=lambda s: (s[0], -s[1])):
            while stack and stack[-1][1] <= start:
                stack.pop()
            if stack and end > stack[-1][1]:
                yield f"{start}..{end} ns overlaps {stack[-1]} on track {track}"
            stack.append((start, end))


def _tracks(events: list[dict[str, Any]]) -> Iterator[str]:
    named = Counter((e["pid"], e["tid"]) for e in events if e["name"] == "thread_name")
    processes = Counter(e["pid"] for e in events if e["name"] == "process_name")
    for track in _slices(events):
        if track not in named or track[0] not in processes:
            yield f"track {track} has no name"
    for what, count in (*named.items(), *processes.items()):
        if count > 1:
            yield f"{what} has {count} names"
    told = Counter((e["pid"], e["args"]["name"]) for e in events if e["name"] == "thread_name")
    yield from (f"{count} tracks have the name {name}" for name, count in told.items() if count > 1)


def _arrows(events: list[dict[str, Any]]) -> Iterator[str]:
    slices = _slices(events)
    flows = defaultdict(list)
    for e in events:
        if e["ph"] in "stf":
            flows[e["cat"], e["id"]].append(e)
    for flow, points in flows.items():
        phases = "".join(e["ph"] for e in points)
        if phases[0] != "s" or phases[-1] != "f" or set(phases[1:-1]) - {"t"} or len(phases) < 2:
            yield f"flow {flow} goes {phases}"
        times = [_ns(e["ts"]) for e in points]
        if times != sorted(times):
            yield f"flow {flow} goes back in time: {times}"
        for e in points:
            at = _ns(e["ts"])
            if not any(start <= at <= end for start, end in slices[e["pid"], e["tid"]]):
                yield f"flow {flow} is bound to nothing at {at} ns on track {e['tid']}"


def _counters(events: list[dict[str, Any]]) -> Iterator[str]:
    series: dict[Any, set[str]] = {}
    for e in events:
        if e["ph"] == "C" and series.setdefault((e["pid"], e["name"]), set(e["args"])) != set(e["args"]):
            yield f"{e} has other series than those before"
        if e["ph"] == "C" and not all(isinstance(x, int | float) and x >= 0 for x in e["args"].values()):
            yield f"{e} has no numbers"
