"""The forms of an answer: tables, JSON, Chrome trace events by the rules of their format, text, a picture, a page."""

from __future__ import annotations

import gzip
import itertools
import json
import xml.etree.ElementTree as ET
from html import escape
from html.parser import HTMLParser

import pytest

from simulator import H200, SimulationError, Trace, simulate
from simulator.glossary import meaning
from simulator.log import Span
from simulator.trace_events import chrome
from simulator.trace_slots import slot_uses
from symlayout.kernel import Builder
from symlayout.kernels import bulk_copy, cp_async_copy, gemm, row_sum, tma_copy, tma_transpose, vector_copy
from symlayout.ops import WaitGroup
from tests.support.chrome_events import broken

KERNELS = {
    "bulk_copy": bulk_copy(1 << 16, chunk=256, slots=3, blocks=2),
    "tma_copy": tma_copy(264, 256, slots=2, blocks=4),
    "tma_transpose": tma_transpose(512, 512),
    "gemm": gemm(256, 512, 256, stages=2, cluster=1),
    "gemm in clusters": gemm(512, 512, 512, stages=2, cluster=2),
    "cp_async_copy": cp_async_copy(1 << 15),
    "vector_copy": vector_copy(1 << 15),
    "row_sum": row_sum(64, 512, 512),
}


@pytest.fixture(scope="module", params=KERNELS)
def trace(request) -> Trace:
    return simulate(KERNELS[request.param].bind(), timeline=True)


def test_events_keep_the_rules_of_their_format(trace):
    assert broken(trace.chrome()) == []


@pytest.mark.parametrize(
    "event, finding",
    [
        ({"ph": "X", "name": "late", "pid": 1, "tid": 3, "ts": 0.1, "dur": 0.3}, "overlaps"),
        ({"ph": "X", "name": "lost", "pid": 1, "tid": 99, "ts": 0, "dur": 1}, "track (1, 99) has no name"),
        ({"ph": "X", "name": "bare", "pid": 1, "tid": 3}, "lacks"),
        ({"ph": "s", "name": "a", "cat": "a", "id": 99, "pid": 1, "tid": 3, "ts": 0}, "flow ('a', 99) goes s"),
        ({"ph": "Z", "name": "odd", "pid": 1, "tid": 3, "ts": 0}, "has no phase that is known"),
        ({"ph": "X", "name": "odd", "pid": 1, "tid": 3, "ts": 1e6, "dur": 1, "colour": "red"}, "has {'colour'}"),
        ({"ph": "X", "name": "odd", "pid": 1, "tid": "1", "ts": 1e6, "dur": 1}, "no whole number as tid"),
        ({"ph": "X", "name": "odd", "pid": 1, "tid": 3, "ts": float("nan"), "dur": 1}, "it is no JSON"),
        ({"ph": "X", "name": "back", "pid": 1, "tid": 3, "ts": 0, "dur": 0}, "comes behind"),
        ({"ph": "M", "name": "thread_name", "pid": 1, "tid": 3, "args": {"name": "other"}}, "(1, 3) has 2 names"),
        ({"ph": "M", "name": "thread_name", "pid": 1, "tid": 98, "args": {"name": "DRAM"}}, "2 tracks have the name"),
        ({"ph": "M", "name": "thread_sort_index", "pid": 1, "tid": 3, "args": {"name": 3}}, "is no metadata"),
        ({"ph": "C", "name": "bytes in flight", "pid": 1, "ts": 1e6, "args": {"read": 1}}, "has other series"),
    ],
)
def test_broken_events_are_found(event, finding):
    events = simulate(KERNELS["tma_copy"].bind(), what_if=False, uncertainty=False, timeline=True).chrome()
    events["traceEvents"].append(event)

    assert any(finding in sentence for sentence in broken(events))


def test_each_role_slot_and_unit_has_a_track():
    trace = simulate(KERNELS["tma_copy"].bind(), what_if=False, uncertainty=False, timeline=True)
    names = {e["args"]["name"] for e in trace.chrome()["traceEvents"] if e["name"] == "thread_name"}

    assert {"CTA 0, role producer", "CTA 0, role consumer", "CTA 0, ring[0]", "CTA 0, ring[1]"} <= names
    assert {"TMA front end", "SM port", "L2", "DRAM", "shared memory"} <= names


def test_an_arrow_leads_from_the_issue_to_the_slot_to_the_wait_to_the_release():
    trace = simulate(KERNELS["tma_copy"].bind(), what_if=False, uncertainty=False, timeline=True)
    events = trace.chrome()["traceEvents"]
    names = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    first = [e for e in events if e.get("id") == 1 and e["ph"] in "stf"]

    told = [(e["ph"], names[e["tid"]]) for e in first]
    assert told == [
        ("s", "CTA 0, role producer"),
        ("t", "CTA 0, ring[0]"),
        ("t", "CTA 0, role consumer"),
        ("f", "CTA 0, role consumer"),
    ]
    at = [
        next(
            e["name"]
            for e in events
            if e["ph"] == "X" and e["tid"] == p["tid"] and e["ts"] <= p["ts"] < e["ts"] + e["dur"]
        )
        for p in (first[0], first[-1])
    ]
    assert at == ["tma.load full[0]", "arrive empty[0]"]


def test_ctas_that_follow_each_other_share_a_track():
    trace = simulate(vector_copy(132 * 128 * 4 * 40).bind(), what_if=False, uncertainty=False, timeline=True)
    events = trace.chrome()["traceEvents"]
    places = {e["tid"] for e in events if e["name"] == "thread_name" and e["args"]["name"].startswith("place ")}
    ctas = [e for e in events if e["ph"] == "X" and e["tid"] in places and e["name"].startswith("CTA ")]

    assert len(ctas) == 40
    assert 1 < len(places) < 40
    assert broken(trace.chrome()) == []


def test_what_a_device_measured_is_a_second_process():
    trace = simulate(KERNELS["tma_copy"].bind(), what_if=False, uncertainty=False, timeline=True)
    stamps = [Span("CTA 0, role producer", "tma.load full[0]", 1000 * k, 1000 * k + 700) for k in range(3)]
    both = trace.chrome(stamps, "NVIDIA H200")

    assert broken(both) == []
    processes = {e["pid"]: e["args"]["name"] for e in both["traceEvents"] if e["name"] == "process_name"}
    assert processes == {1: "simulated: tma_copy() on NVIDIA H200", 2: "measured: NVIDIA H200"}
    assert sum(e["pid"] == 2 and e["ph"] == "X" for e in both["traceEvents"]) == 3
    assert [e for e in both["traceEvents"] if e["pid"] == 1] == trace.chrome()["traceEvents"]


def test_measured_spans_that_overlap_are_on_tracks_beside_each_other():
    trace = simulate(KERNELS["tma_copy"].bind(), what_if=False, uncertainty=False, timeline=True)
    times = [
        (0, 100_000),
        (10_000, 50_000),
        (60_000, 130_000),
        (70_000, 90_000),
        (120_000, 140_000),
        (130_000, 150_000),
    ]
    both = trace.chrome([Span("CTA 0", f"span {k}", *at) for k, at in enumerate(times)], "a device")

    assert broken(both) == []
    events = [e for e in both["traceEvents"] if e["pid"] == 2]
    tracks = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    placed = {e["name"]: tracks[e["tid"]] for e in events if e["ph"] == "X"}
    beside = {"span 2", "span 5"}
    assert placed == {f"span {k}": "CTA 0 (2)" if f"span {k}" in beside else "CTA 0" for k in range(6)}


def test_counters_end_at_zero_and_hold_the_bytes_of_a_load():
    trace = simulate(KERNELS["tma_copy"].bind(), what_if=False, uncertainty=False, timeline=True)
    counters = [e["args"] for e in trace.chrome()["traceEvents"] if e["ph"] == "C"]

    assert counters[-1] == {"read": 0, "write": 0}
    assert max(c["read"] for c in counters) >= 4 * 64 * 16


def test_each_use_of_a_slot_goes_through_its_states():
    bound = bulk_copy(1 << 13, chunk=256, slots=3, blocks=2).bind()
    trace = simulate(bound, what_if=False, uncertainty=False, timeline=True)
    assert trace.timeline is not None
    uses = slot_uses(trace.timeline)

    assert len(uses) == 16  # chunks of the first CTA
    for use in uses:
        assert [word for word, _, _ in use.states] == ["filling", "full", "in use"]
        assert [a for _, a, _ in use.states][1:] == [b for _, _, b in use.states][:-1]
    for track in {u.track for u in uses}:
        mine = [u for u in uses if u.track == track]
        assert all(a.freed is not None and a.freed <= b.begin for a, b in itertools.pairwise(mine))


def test_the_timeline_as_text_changes_where_the_schedule_does():
    """Without the wait for a store's source a slot comes back earlier; the lines of the producer's first round stay."""
    kernel = bulk_copy(1 << 13, chunk=256, slots=3, blocks=2)
    early = kernel.edited(lambda op: () if isinstance(op, WaitGroup) and op.read else (op,))
    texts = [
        simulate(k.bind(), what_if=False, uncertainty=False, timeline=True).timeline_text() for k in (kernel, early)
    ]

    assert texts[0] == simulate(kernel.bind(), what_if=False, uncertainty=False, timeline=True).timeline_text()
    one, other = (t.splitlines() for t in texts)
    assert one[0] == "CTA 0, role producer"
    assert one[:14] == other[:14]
    assert sum("wait_group" in line for line in one) > sum("wait_group" in line for line in other)
    starts = simulate(kernel.bind(), what_if=False, uncertainty=False, timeline=True).timeline_text(starts=True)
    begin, duration, *words = starts.splitlines()[1].split()
    assert (float(begin) >= 0, duration, words) == (True, "0.5", ["init", "full"])


def test_the_tables_hold_at_80_columns(trace):
    wide = [line for line in trace.summary().splitlines() if len(line) > 80 and not line.startswith(("note", "moved"))]

    assert wide == []
    assert "if free" in trace.summary()
    assert "uncertain numbers" in trace.summary()


def test_the_row_is_json_with_the_same_numbers(trace):
    row = json.loads(json.dumps(trace.row()))

    assert row["seconds"] == trace.seconds
    assert row["p10_seconds"] <= row["seconds"] <= row["p90_seconds"]
    assert {s["role"] for s in row["stalls"]} == {s.role for s in trace.stalls}
    assert row["if_free"] == {name: trace.gain(name) for name in trace.what_if}


class Tags(HTMLParser):
    """The tags of a page, and the addresses that it loads."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.loads: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.seen.add(tag)
        self.loads += [value or "" for key, value in attrs if key in ("src", "href")]
        if tag not in ("meta", "rect", "path"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in ("rect", "path"):
            assert self.open.pop() == tag


def test_the_page_is_whole_and_loads_nothing(trace):
    tags = Tags()
    tags.feed(trace.html())

    assert tags.open == []
    assert {"svg", "table", "h1"} <= tags.seen
    assert "script" not in tags.seen
    assert tags.loads == []
    assert "prefers-color-scheme: dark" in trace.html()
    assert f'<td title="{escape(meaning("issuing"))}">issuing</td>' in trace.html()


def test_the_picture_is_xml_with_a_row_for_each_role(trace):
    root = ET.fromstring(trace.svg())
    texts = {e.text for e in root.iter("{http://www.w3.org/2000/svg}text")}

    assert {s.role.removeprefix("role ") for s in trace.stalls} <= texts
    width = float(root.get("width"))
    for e in root.iter("{http://www.w3.org/2000/svg}rect"):
        assert float(e.get("x", 0)) >= 0
        assert float(e.get("x", 0)) + float(e.get("width")) <= width + 0.01


def test_files_are_written_by_their_endings(tmp_path):
    trace = simulate(KERNELS["tma_copy"].bind(), what_if=False, uncertainty=False, timeline=True)
    for ending in ("json", "json.gz", "html", "svg", "txt"):
        trace.save(tmp_path / f"t.{ending}")

    plain = (tmp_path / "t.json").read_bytes()
    assert gzip.decompress((tmp_path / "t.json.gz").read_bytes()) == plain
    assert json.loads(plain) == trace.chrome()
    assert (tmp_path / "t.txt").read_text() == trace.timeline_text()
    with pytest.raises(SimulationError, match=r"expected a file that ends with .json, .json.gz, .* got .*t.pdf"):
        trace.save(tmp_path / "t.pdf")


def test_a_run_without_a_timeline_says_how_to_keep_one():
    with pytest.raises(SimulationError, match="expected a simulation of vector_copy with timeline=True"):
        simulate(vector_copy(512).bind(), what_if=False).chrome()


def test_a_kernel_without_rings_has_a_timeline():
    k = Builder("plain", grid=(1,), threads=32)
    x = k.registers("x", "f32", 1)
    k.fill(x(), 0.0, 1)
    trace = simulate(k.kernel(), H200, timeline=True)
    assert trace.timeline is not None

    assert broken(chrome(trace, trace.timeline)) == []
    assert "warps 0 .. 0" in trace.svg()
