"""The rules of the Trace Event Format for the events that we write, as sentences about what breaks them.

Source: Trace Event Format (the document that Perfetto and chrome://tracing refer to), sections on complete events,
counters, flow events and metadata; and how Perfetto reads it, ``trace_processor/importers/json``.
"""

from __future__ import annotations

from collections import defaultdict
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
METADATA = {"process_name", "process_sort_index", "thread_name", "thread_sort_index"}


def broken(trace: dict[str, Any]) -> list[str]:
    """What is wrong with a trace, a sentence each; the times are compared in whole nanoseconds."""
    events = trace["traceEvents"]
    wrong = [f"{e} lacks {KEYS[e['ph']] - set(e)}" for e in events if KEYS[e["ph"]] - set(e)]
    if wrong:
        return wrong
    return [*_values(events), *_nesting(events), *_tracks(events), *_arrows(events), *_counters(events)]


def _ns(us: float) -> int:
    return round(us * 1000)


def _values(events: list[dict[str, Any]]) -> Iterator[str]:
    for e in events:
        for key in ("ts", "dur"):
            if not isinstance(e.get(key, 0), int | float) or e.get(key, 0) < 0:
                yield f"{e} has no {key} of at least 0"
        if e["ph"] == "M" and e["name"] not in METADATA:
            yield f"{e} is no metadata that is known"
        if e["ph"] == "X" and not e["name"]:
            yield f"{e} has no name"


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
    named = {(e["pid"], e["tid"]) for e in events if e["name"] == "thread_name"}
    processes = {e["pid"] for e in events if e["name"] == "process_name"}
    for track in _slices(events):
        if track not in named or track[0] not in processes:
            yield f"track {track} has no name"


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
    for e in events:
        if e["ph"] == "C" and not all(isinstance(x, int | float) and x >= 0 for x in e["args"].values()):
            yield f"{e} has no numbers"
