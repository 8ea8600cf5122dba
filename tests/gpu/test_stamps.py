"""Times that a kernel takes of itself: the text with stamps, the buffer, and what is read from it, on the stand-in."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

import gpu
import simulator
from gpu import measuring, running
from gpu.codegen import emit
from gpu.codegen.stamps import HEADER_WORDS
from gpu.cubin import Cubin
from gpu.errors import LaunchError, RunError
from gpu.stamps import PROCESS, launched, read
from symlayout import Layout, LayoutError, dim, dims
from symlayout.kernel import Builder
from symlayout.kernels import bulk_copy, gemm, tma_transpose
from symlayout.ops import BarrierArrive
from tests.support import cuda_stand_in as stand_in
from tests.support.kernel_families import FAMILIES

# tests/gpu/data/bulk_copy_stamped.cubin is gpu.compile of emit(KERNEL, stamps=8).
DATA = Path(__file__).parent / "data"
KERNEL = bulk_copy(dim("N", multiple_of=4), chunk=64, slots=2, blocks=2)
BOUND = KERNEL.bind(N=320)  # 3 chunks for CTA 0, 2 for CTA 1
KEPT = 8
PLAN = emit(KERNEL, stamps=KEPT).stamps
SRC = np.arange(320, dtype=np.float32)
START_NS, START_CLOCK, CYCLES_PER_NS, SPENT_NS = 10**15, (1 << 32) - 300, 2, 1000  # a clock that passes 2^32 soon

ALL = {**{f.word: f.build for f in FAMILIES}, "gemm": lambda: gemm(*dims("M N K", at_most=1 << 20), cluster=2)}


def stamp(cta, warp, k, i):
    """The begin and the end of iteration i of place k, in nanoseconds since the launch: all differ."""
    begin = 10 * i + 100 * k + cta
    return begin, begin + 5 + k


def filled(ctas=2, plan=PLAN, iterations=lambda cta, place: 1 if place.of == "bulk groups" else 3 - cta):
    """A buffer as a device would fill it."""
    words = np.zeros((ctas, plan.words_per_cta), np.uint64)
    for cta in range(ctas):
        for warp in range(plan.warps):
            clocks = START_CLOCK, START_CLOCK + CYCLES_PER_NS * SPENT_NS
            words[cta, HEADER_WORDS * warp : HEADER_WORDS * (warp + 1)] = (
                *(START_NS, clocks[0]),
                *(START_NS + SPENT_NS, clocks[1]),
            )
        for k, place in enumerate(plan.places):
            for w in range(place.warps):
                for i in range(iterations(cta, place)):
                    begin, end = ((START_CLOCK + CYCLES_PER_NS * ns) % (1 << 32) for ns in stamp(cta, w, k, i))
                    words[cta, place.words + w * plan.iterations + i] = end << 32 | begin
    return words.reshape(-1)


# -- the text -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("word", ALL)
def test_without_stamps_no_byte_of_a_text_changes_and_with_them_it_is_the_same_but_for_them(word):
    kernel = ALL[word]()
    plain, taking = emit(kernel), emit(kernel, stamps=16)

    assert "stamp" not in plain.text
    assert "clock" not in plain.text
    assert plain.stamps is None
    assert (taking.digest, taking.arguments[:-1]) == (plain.digest, plain.arguments)
    assert str(taking.arguments[-1]) == "uint64_t* stamps"
    assert bare(taking.text) == bare(plain.text)
    assert len(re.findall(r"\bstamp\(log", taking.text)) == len(taking.stamps.places)


STAMPS = r"const uint32_t begin = clock_now\(\);|\bstamp(_warp)?\(log [^;]*;|uint64_t\* const log = [^;]*;|, uint64_t\* stamps"


def bare(text):
    """A function without its stamps, and without the white space and braces that come with them."""
    body = text[text.index('extern "C" __global__') :]
    return re.sub(r"[\s{}]+", "", re.sub(STAMPS, "", re.sub(r"\s+", " ", body)))


def test_places_are_by_role():
    told = [str(place) for place in emit(tma_transpose(*dims("M N")), stamps=4).stamps.places]

    assert "consumer: wait of mbarrier full, until bytes land" in told
    assert "producer: wait of mbarrier empty, until it is free" in told
    assert "producer: issue of src_map" in told
    assert "consumer: issue of dst_map" in told
    assert "consumer: release of mbarrier empty" in told


def test_an_arrival_at_a_named_barrier_is_a_release():
    k = Builder("arrives", grid=(1,), threads=64)
    with k.role("first", 1):
        k.add(BarrierArrive(1, 64))
    with k.role("second", 1):
        k.sync(1, 64)

    assert [str(place) for place in emit(k.kernel(), stamps=1).stamps.places] == [
        "first: release of barrier 1",
        "second: barrier of 64 threads",
    ]


def test_an_iteration_counts_that_of_all_loops():
    text = emit(gemm(*dims("M N K", at_most=1 << 20)), stamps=4).text

    assert re.search(r"stamp\(log \+ \d+ [^;,]*, uint32_t\(wave\) \* uint32_t\(\w+\) \+ i, 4, begin\);", text)


def test_rows_of_places_do_not_overlap():
    plan = emit(gemm(*dims("M N K", at_most=1 << 20)), stamps=4).stamps
    ends = [p.words + p.warps * plan.iterations for p in plan.places]

    assert [p.words for p in plan.places] == [HEADER_WORDS * plan.warps, *ends[:-1]]
    assert ends[-1] == plan.words_per_cta


@pytest.mark.parametrize("n", [0, -1, True, 2.5])
def test_a_number_of_iterations_is_one(n):
    with pytest.raises(LayoutError, match="expected at least 1 iteration to keep stamps of"):
        emit(KERNEL, stamps=n)


def test_a_name_that_is_taken_is_not_taken_again():
    k = Builder("named", grid=(1,), threads=32)
    x = k.global_tensor("stamps", "f32", Layout(32))
    r = k.registers("log", "f32", 1)
    k.copy("ld.global.4", x(k.thread), r())
    k.sync()

    assert "uint64_t* const log1 = stamps1 + " in emit(k.kernel(), stamps=1).text


# -- reading ------------------------------------------------------------------------------------------------------


def test_stamps_are_read_as_they_were_written():
    found = read(BOUND, PLAN, filled(), "a device")
    places = list(PLAN.places)

    assert len(found.stamps) == sum(p.warps * (2 if p.of == "bulk groups" else 5) for p in places)
    for s in found.stamps:
        begin, end = stamp(s.cta, s.warp - s.place.first_warp, places.index(s.place), s.iteration)
        assert (s.begin_ns, s.end_ns) == pytest.approx((begin, end), abs=1e-6)
    assert [s.begin_ns for s in found.stamps] == sorted(s.begin_ns for s in found.stamps)
    assert found.digest == KERNEL.digest


def test_stamps_are_found_by_role_and_kind():
    found = read(BOUND, PLAN, filled(), "a device")

    assert {s.place.role for s in found.of("producer")} == {"producer"}
    assert {s.track for s in found.of("consumer", cta=1)} == {"CTA 1, role consumer"}
    assert len(found.of("consumer", "release")) == 5


def test_the_table_and_the_events():
    found = read(BOUND, PLAN, filled(), "a device")
    events = found.chrome()["traceEvents"]
    slices = [e for e in events if e["ph"] == "X"]

    assert str(found).splitlines()[0] == f"bulk_copy(N = 320) on a device: 2 CTAs, {len(found.stamps)} stamps"
    assert re.search(r"^producer +wait of mbarrier empty, until it is free +5 +\d+ +\d+ +10$", str(found), re.M)
    assert {e["pid"] for e in events} == {PROCESS}
    assert len(slices) == len(found.stamps)
    assert all(e["dur"] >= 0 and "iteration" in e["args"] for e in slices)
    assert {e["args"]["name"] for e in events if e["name"] == "thread_name"} >= {"CTA 0, role producer"}


def test_spans_stand_beside_a_simulated_timeline():
    found = read(BOUND, PLAN, filled(), "a device")
    trace = simulator.simulate(BOUND, timeline=True)
    events = trace.chrome(found.spans(), found.device)["traceEvents"]
    tracks = {(e["pid"], e["args"]["name"]) for e in events if e["name"] == "thread_name"}

    assert {(1, "CTA 0, role producer"), (2, "CTA 0, role producer")} <= tracks
    assert sum(e["ph"] == "X" and e["pid"] == 2 for e in events) == len(found.stamps)


def test_rows_and_files_are_json(tmp_path):
    found = read(BOUND, PLAN, filled(), "a device")
    found.save(tmp_path / "stamps.json")

    assert json.loads((tmp_path / "stamps.json").read_text())["otherData"]["sizes"] == {"N": 320}
    assert json.loads(json.dumps(found.row()))["stamps"][0]["role"] in ("producer", "consumer", "")


def test_words_that_are_no_stamps_are_refused():
    with pytest.raises(RunError, match="expected the start and the end of each warp"):
        read(BOUND, PLAN, np.zeros(2 * PLAN.words_per_cta, np.uint64), "a device")
    with pytest.raises(LayoutError, match="words of stamps, got 3"):
        read(BOUND, PLAN, np.zeros(3, np.uint64), "a device")


# -- a launch -----------------------------------------------------------------------------------------------------


@pytest.fixture
def machine(monkeypatch):
    """A stand-in on which bulk_copy copies, and stamps."""
    machine = stand_in.install(monkeypatch)
    data = (DATA / "bulk_copy_stamped.cubin").read_bytes()
    monkeypatch.setattr(running, "compile", lambda *_, **__: Cubin(data))

    def copies(machine, pieces):
        source, to, n, stamps = (int.from_bytes(p, "little") for p in pieces)
        machine.bytes_at(to, 4 * n)[:] = bytes(machine.bytes_at(source, 4 * n))
        words = filled()
        machine.array_at(stamps, words.nbytes, np.uint64)[:] = words

    machine.kernels["bulk_copy"] = copies
    return machine


def test_a_kernel_takes_times_of_itself(machine):
    with gpu.Device(limit_s=0.3):
        found = gpu.stamped(BOUND, {"src": SRC}, iterations=KEPT)

    assert found.device == stand_in.NAME
    assert len(found.of("producer", "issue")) == 5
    assert found.iterations == KEPT


def test_a_measurement_takes_stamps_on_request(machine, monkeypatch):
    monkeypatch.setattr(measuring, "compile", lambda *_, **__: Cubin((DATA / "sweep.cubin").read_bytes()))
    with gpu.Device(limit_s=0.3) as device:
        given = {"src": device.upload(SRC), "dst": device.upload(np.zeros_like(SRC))}
        found = launched(BOUND, given, iterations=KEPT)

    assert len(found.of("consumer", "wait")) == 12


def test_a_stamped_launch_needs_its_buffer(machine):
    with gpu.Device(limit_s=0.3), pytest.raises(LaunchError, match="expected stamps among the arrays"):
        gpu.run_unproved(BOUND, {"src": SRC}, generated=gpu.Generated(BOUND, stamps=KEPT))
