"""Generated copies and transpositions, by one CTA out of L2 (M52) and in rows of launches from DRAM (M53), as measured."""

from __future__ import annotations

import gzip
import json
import statistics
from pathlib import Path

import pytest

from benchmarks.hardware.microbenchmarks.points_alone import Alone
from benchmarks.hardware.microbenchmarks.points_alone import kernel_of as alone
from benchmarks.hardware.microbenchmarks.points_outside import Outside
from benchmarks.hardware.microbenchmarks.points_outside import kernel_of as outside
from benchmarks.hardware.microbenchmarks.points_together import COLUMNS, Together
from benchmarks.hardware.microbenchmarks.points_together import kernel_of as together
from simulator import H200, simulate
from symlayout import dims
from symlayout.kernel import Builder
from symlayout.layout import Layout

STORED = Path(__file__).parents[2] / "benchmarks/results/microbenchmarks/h200"
ONLY = {"cache": "warm", "what_if": False, "uncertainty": False}
ALONE = ("family", "dtype", "rows", "columns", "swizzle", "slots")
TOGETHER = ("row_bytes", "slots", "bytes")


def rows_of(name):
    return list(map(json.loads, gzip.decompress((STORED / f"{name}.jsonl.gz").read_bytes()).splitlines()))


def errors_alone(wanted):
    """By what part an iteration of one CTA is predicted too long."""
    for r in rows_of("M52"):
        if "few_ns" in r and wanted(r):
            point = Alone(*(r[k] for k in ALONE))
            kernel, trips = alone(point), r["many"] - r["few"]
            few, many = (simulate(kernel.bind(**point.sizes(r[n])), **ONLY).time_ps / 1e3 for n in ("few", "many"))
            ns = statistics.median(r["many_ns"]) - statistics.median(r["few_ns"])
            yield (many - few) / trips / (ns / trips) - 1


def error_together(row_bytes, slots, nbytes):
    """By what part a copy of DRAM is predicted too long."""
    point = Together(row_bytes, slots, nbytes)
    [row] = [r for r in rows_of("M53") if all(r.get(k) == getattr(point, k) for k in TOGETHER)]
    bound = together(point, row["sms"]).bind(M=nbytes // (4 * COLUMNS), N=COLUMNS)
    return simulate(bound, **ONLY).seconds * 1e9 / statistics.median(row["ns"]) - 1


def test_copies_by_one_cta_take_as_long_as_measured():
    errors = list(errors_alone(lambda r: r["family"] != "tma_transpose"))

    assert len(errors) == 24
    assert statistics.mean(map(abs, errors)) < 0.015
    assert max(map(abs, errors)) < 0.05


@pytest.mark.parametrize("dtype, mean, worst", [("f32", 0.025, 0.07), ("bf16", 0.025, 0.07)])
def test_transpositions_by_one_cta_are_as_near_to_measurements_as_they_are(dtype, mean, worst):
    """Tiles of 64 rows of bf16 with a swizzle of 32 bytes took 15 to 20 % longer, as their steps had jumps."""
    few = 64 * 64, 64 * 128
    errors = list(errors_alone(lambda r: r["dtype"] == dtype and r["rows"] * r["columns"] in few and r["slots"] == 3))

    assert len(errors) >= 7
    assert statistics.mean(map(abs, errors)) < mean
    assert max(map(abs, errors)) < worst


SIZE = 311951360


@pytest.mark.parametrize("row_bytes", [256, 128, 64, 32])
@pytest.mark.parametrize("slots", [3, 4, 6])
def test_copies_in_a_row_take_as_long_as_measured(row_bytes, slots):
    """By three slots of 16 KB short rows cost nothing, by more 2 % where they are half as long; sectors take L2 longer."""
    assert error_together(row_bytes, slots, SIZE) == pytest.approx(0, abs=0.03)


@pytest.mark.parametrize("slots", [3, 6])
@pytest.mark.parametrize("times", [0.5, 1.5, 2, 3])
def test_copies_of_other_lengths_take_as_long_as_measured(slots, times):
    assert error_together(256, slots, round(times * SIZE)) == pytest.approx(0, abs=0.04)


@pytest.mark.parametrize("parts, cycles", [(4, 52), (2, 75)])
def test_stores_read_registers_that_the_next_load_writes(parts, cycles):
    """M25: warps of all schedulers load 16 bytes, and store them in parts of four or two bytes: until the next load."""
    kind = {4: "f32", 2: "bf16"}[parts]
    (n,) = dims("n")
    k = Builder("turn", n, grid=(1,), threads=128)
    held = 16 // parts
    tile, turned = (k.shared_tensor(name, kind, Layout(128 * held)) for name in ("tile", "turned"))
    x = k.registers("x", kind, held)
    with k.loop("i", n), k.loop("j", 8, unroll="full"):
        k.copy("ld.shared.16", tile(held * k.thread), x())
        with k.loop("q", held, unroll="full") as q:
            k.copy(f"st.shared.{parts}", x(q), turned(128 * q + k.thread))
    kernel = k.kernel()
    few, many = (simulate(kernel.bind(n=n), **ONLY).time_ps for n in (20, 120))

    assert (many - few) / 800 / 1000 * H200["sm_clock"].value == pytest.approx(cycles, rel=0.06)


@pytest.mark.parametrize("words", [8, 32, 64, 128])
def test_rows_outside_of_a_tensor_cost_copies_as_much_as_those_inside(words):
    """M54: launches of 2 to 22 us, with 8 to 128 of 128 rows inside."""
    found = [r for r in rows_of("M54") if r.get("words") == words]
    errors = []
    for r in found:
        point = Outside(*(r[k] for k in ("words", "slots", "per_sm", "inside")))
        bound = outside(point, r["sms"]).bind(**point.sizes(r["sms"]))
        errors.append(simulate(bound, **ONLY).seconds * 1e9 / statistics.median(r["ns"]) - 1)

    assert len(errors) == 8
    assert sorted(map(abs, errors))[-2] < 0.08
    assert max(map(abs, errors)) < 0.13
