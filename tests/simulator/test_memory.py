"""L2 and DRAM: what waits for what, and what L2 holds."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path
from statistics import median
from types import SimpleNamespace

import numpy as np
import pytest

from simulator import H200, simulate
from simulator.cache import Cache
from simulator.dram import Dram, queues
from simulator.engine import NS, Engine
from simulator.memory import GlobalMemory
from simulator.traffic import _first
from symlayout.kernels import bulk_copy, tma_copy

M46, LONE = (
    Path(__file__).parents[2] / f"benchmarks/results/microbenchmarks/h200/{name}.jsonl.gz" for name in ("M46", "M51")
)
WRITTEN = 1 << 22  # bytes in 4 us: DRAM is busy with them for a quarter of the time


@pytest.mark.parametrize("piece", [4096, 65536])
def test_writes_make_reads_wait_however_small_they_are(piece):
    engine = Engine()
    dram = Dram(engine, H200)
    for k in range(WRITTEN // piece):
        engine.at(k * piece * 4000 * NS // WRITTEN, lambda: dram.write(piece))
    engine.run()
    whole = H200.exact("dram_write_wait")
    part = WRITTEN * H200.exact("dram_write_rate") / (4000 * NS)
    assert dram.waits(1000) == pytest.approx(part * whole / math.sqrt(1 - part), rel=0.1)  # as steps leave it


def test_queues_of_dram_grow_faster_than_it_is_busy():
    """M4, M35: by 1 / sqrt(1 - busy) for all lines of a ring, and less for a load that has few of its own."""
    dram = Dram(Engine(), H200)
    whole = H200.exact("dram_read_wait")
    rings = [dram.waits(10**9, ((busy, 0.0), queues(busy))) for busy in (0.36, 0.64, 0.84, 1.0)]

    assert rings == pytest.approx([0.45 * whole, 16 / 15 * whole, 2.1 * whole, whole / math.sqrt(0.08)], abs=NS)
    assert rings[2] / 2 > dram.waits(1, ((0.84, 0.0), queues(0.84)), alone=True) > 0.84 * whole / 2


def test_a_ring_settles_below_the_rate_of_dram():
    """M4: 16 KB of each SM in flight copy at four fifths of what 64 KB reach, whose bus has no gaps."""
    rates = []
    for slots in (2, 8):
        trace = simulate(bulk_copy(132 * 2048 * 200, chunk=2048, slots=slots, blocks=132).bind(), what_if=False)
        rates.append(trace.bytes / trace.seconds)

    assert rates[0] / rates[1] == pytest.approx(0.79, abs=0.05)


@pytest.mark.parametrize("x", [0.5, 1.0, 1.2, 2.0, 5.0, 20.0])
def test_what_is_missed_takes_places_by_lot(x):
    cache = Cache(capacity=1 << 20, footprint=0, warm=True)
    missed = 1 - float(cache.there(x * cache.capacity))

    assert missed == pytest.approx(0 if x <= 1 else 1 - math.exp(-missed * x), abs=0.002)


@pytest.mark.parametrize("ctas, part", [(1, 0.0), (4, 0.0), (8, 0.2)])
def test_a_launch_finds_less_where_many_ctas_of_an_sm_come_to_others(ctas, part):
    """M46: of 38 MB that eight CTAs of an SM load in turn some is missed; one to four find it on their SM again."""
    cache = Cache(38_000_000, 38_000_000, True, 38e6, again=43e6, lost=65e6, moved=0.86).of_grid(ctas, at_once=16)

    assert 1 - cache.at_first() == pytest.approx(part, abs=0.07)


def test_the_first_bytes_that_are_asked_for_are_missed_and_no_part_of_each():
    asked = SimpleNamespace(time=[np.array([3, 0]), np.array([1, 2, 4])], nbytes=np.array([100, 100, 200, 300, 100]))
    loads = np.array([True, True, True, True, False])

    assert _first(0.5, asked, loads).tolist() == [1, 0, 0, 0, 1]  # at times 0, 1 and 2: of 350 bytes the last begin
    assert _first(0.9, asked, loads).tolist() == [1, 0, 1, 1, 1]
    assert _first(1.0, asked, loads) == 1.0


@pytest.mark.parametrize("cache, again", [("warm", 1e9), ("warm", 33e6), ("cold", 33e6)])
def test_bytes_of_dram_are_those_that_a_launch_does_not_find(cache, again):
    """Of 38 MB that are read and written, the part that is missed between two footprints, of loads and of stores."""
    bound = bulk_copy(4_750_000, chunk=4096, slots=3, blocks=132).bind()
    where = H200.replacing(l2_again_bytes=int(again), l2_lost_bytes=int(2 * again), l2_written=1.0)
    trace = simulate(bound, where, cache=cache, what_if=False, uncertainty=False)
    part = 0.0 if again > 38e6 else math.sqrt((38e6 - again) / again)

    assert trace.dram_bytes == pytest.approx(38e6 * part if cache == "warm" else 19e6, rel=0.01, abs=1)


def test_a_row_of_half_a_sector_takes_twice_as_long_to_store():
    """M32: 1.0 cycles more for each row that one SM copies, where rows of a sector take 2.5."""
    times = []
    for words in (4, 8):
        bound = tma_copy(256 * 200, words, dtype="f32", tile=(256, words), slots=4, blocks=1).bind()
        times.append(simulate(bound, cache="warm", what_if=False, uncertainty=False).cycles)

    assert (times[0] - times[1]) / (256 * 200) == pytest.approx(1.0, abs=0.3)


@pytest.mark.parametrize("mb", [30, 43, 52, 61, 82, 134])
def test_copies_about_as_large_as_l2_take_as_long_as_measured(mb):
    """M46: launches in a row of a ring of one CTA of each SM. Its loop is a little slower than that of generated code."""
    rows = [json.loads(line) for line in gzip.decompress(M46.read_bytes()).splitlines()]
    rows = [r for r in rows if (r.get("kernel"), r.get("mode"), r.get("per_sm")) == ("ring", 3, 1)]
    row = min(rows, key=lambda r: abs(r["moved"] - mb * 1e6))
    kernel = bulk_copy(row["moved"] // 8, chunk=4096, slots=3, blocks=132).bind()
    trace = simulate(kernel, cache="warm", what_if=False, uncertainty=False)

    assert trace.seconds == pytest.approx(1e-9 * median(row["ns"]), rel=0.1)


def test_l2_keeps_what_comes_from_dram():
    """Reads that miss keep it busy longer than those that hit, and arrive as soon as DRAM has them."""
    busy = []
    for missed in (0.0, 1.0):
        memory = GlobalMemory(Engine(), H200)
        memory.read((), 0, l2_bytes=1 << 20, dram_bytes=missed * (1 << 20), late=False)
        busy.append(memory.l2.busy)
    assert busy[1] / busy[0] == pytest.approx(1 + H200.share("l2_fill"), rel=1e-4)


def test_what_one_load_waits_longer_for_dram_is_as_measured():
    """Of chunks and of boxes of 8 to 128 rows by eight CTAs, 220 to 440 ns more than for L2 (M51)."""
    with gzip.open(LONE, "rt", encoding="utf-8") as file:
        rows = [r for r in map(json.loads, file) if "few_ns" in r]
    each = {
        (r["rows"], r["row_bytes"], r["dram"]): (median(r["many_ns"]) - median(r["few_ns"])) / (r["many"] - r["few"])
        for r in rows
    }
    dram, near = Dram(Engine(), H200), H200.ps("dram_latency") / 1000
    for (n, nbytes, missed), ns in each.items():
        if missed and nbytes <= 16384:
            more, lines = ns - each[n, nbytes, False], -(-nbytes // 128)
            places = max(1, n) * -(-lines // 16)

            assert near + dram.later(max(1, n) * lines, places) / 1000 == pytest.approx(more, rel=0.11)


def test_the_last_of_many_places_is_late_by_the_logarithm_of_their_number():
    """Rows of a box, or 2 KB each of a chunk, wait apart; lines of one of them differ as Gaussian latencies do (M51)."""
    dram = Dram(Engine(), H200)
    spread, place = (H200.ps(name) for name in ("dram_spread", "dram_place_latency"))

    assert [dram.later(n, n) for n in (1, 2, 64)] == pytest.approx(
        [0, place * math.log(2), place * math.log(64)], abs=1
    )
    assert dram.later(16) == dram.later(32) == pytest.approx(spread * (2 * math.log(16)) ** 0.5, abs=1)
    assert dram.later(4 * 8, 4) == pytest.approx(dram.later(8) + place * math.log(4), abs=1)
