"""Calibration: numbers from rows with known answers, refusals, files that come back as they were written."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from simulator import H200, SimulationError, load, machine
from simulator.cache import STAYING
from simulator.calibrate import calibrated, rows_of, toml
from simulator.calibration import NUMBERS
from simulator.fitting import level, line
from symlayout.cli import app
from tests.support.command import CliRunner

STORED = Path(__file__).parents[2] / "benchmarks/results/microbenchmarks"


def of(rows, number):
    """The answer of rows for a number."""
    return next(a for a in calibrated(rows, H200, "test").answers if a.number == number)


def ring(slots, ns, mode=1, **knobs):
    """A row of M4 whose launches took so many nanoseconds for 132 MB, or for twice that."""
    row = {"id": "M4", "kernel": "ring", "mode": mode, "sms": 132, "per_sm": 1, "bytes": 32000, "slots": slots}
    return {**row, "trips": 32, "grid": 132, "ns": [ns], "ghz": 1.98, **knobs}


def test_a_rate_is_that_of_the_rows():
    rows = [ring(slots, 32 * 132 * 32000 / 4600) for slots in (4, 6, 8, 12)]

    assert of(rows, "dram_rate").fit.value == pytest.approx(4600)
    assert calibrated(rows, H200, "test").machine["dram_rate"].grade == "measured"


def test_what_rows_do_not_tell_stays():
    found = calibrated([ring(4, 30000)], H200, "test")

    assert found.machine["l2_latency"] == H200.inherited("test")["l2_latency"]
    assert of([], "dram_rate").refused == "expected the rows of M4 that determine it, got 0"


def test_a_fit_whose_residuals_follow_a_pattern_is_refused():
    rows = [ring(4 + k, 32 * 132 * 32000 / (4000 + 100 * k)) for k in range(14)]
    found = calibrated(rows, H200, "test")

    assert [a.number for a in found.refused] == ["dram_rate"]
    assert "changes of sign in 14 residuals along slots" in found.refused[0].refused
    assert found.machine["dram_rate"] == H200.inherited("test")["dram_rate"]


def test_noise_is_no_pattern():
    values = [100 + 4 * (-1) ** k for k in range(14)]

    assert level(values, {"k": range(14)}).pattern == ""
    assert line(range(1, 15), [v * k for k, v in enumerate(values, 1)]).pattern == ""


def test_rows_that_brought_other_bytes_do_not_count():
    good, bad = ring(4, 100_000), {**ring(6, 1), "wrong": "sums of what came"}

    assert of([good, bad], "dram_rate").fit.points == 1


@pytest.mark.parametrize("card, name", [("h200", "h200"), ("h100", "h100_sxm")])
def test_the_machines_are_those_that_stored_rows_give(card, name):
    stored = machine(name)
    found = calibrated(rows_of(STORED / card)[1], stored, stored.name)

    assert found.machine == stored


@pytest.mark.parametrize("name, base", [("h200", ""), ("h100_sxm", ""), ("h100_sxm", "h200")])
def test_a_file_comes_back_as_it_was_written(tmp_path, name, base):
    (tmp_path / "m.toml").write_text(toml(machine(name), base))

    assert load(tmp_path / "m.toml") == machine(name)


AGAIN = {"l2_again_bytes", "l2_lost_bytes", "l2_written", "l2_moved", "launch_step"}
HALVES = {"dram_ahead", "dram_ahead_time", "dram_half"}
GENERATED = {"mbarrier_wake", "tensor_address", "dram_spread", "dram_place_latency", "dram_jitter", "dram_skew"}
# M44 to M48 and M50 to M55 have run on an H200 alone
UNMEASURED = {"h100": {"gpc_rate", "first_tpcs", "l2_outside_rate"} | AGAIN | HALVES | GENERATED}


@pytest.mark.parametrize("card", ["h200", "h100"])
def test_stored_rows_tell_every_number(card):
    _, rows = rows_of(STORED / card)
    answers = calibrated(rows, H200, "test").answers

    assert len(NUMBERS) == len(answers)
    assert {a.number for a in answers if a.refused} == UNMEASURED.get(card, set())


@pytest.mark.parametrize(
    "moved, number, why",
    [(False, "l2_again_bytes", "a rise inside of what is tried"), (True, "l2_moved", "a part above 0.5 ")],
)
def test_what_is_best_at_an_end_of_what_is_tried_is_no_fit(moved, number, why):
    """Launches over footprints that L2 nearly holds take ten times as long: the best is beyond what is tried."""
    near = range(int(0.95 * H200.count("l2_bytes")), int(1.9 * H200.count("l2_bytes")))
    rows = [r for r in rows_of(STORED / "h200")[1] if r["id"] in ("M4", "M7", "M46")]
    slow = [
        {**r, "ns": [10 * ns for ns in r["ns"]]}
        if r["id"] == "M46" and "ns" in r and (r["per_sm"] > STAYING) == moved and r["moved"] in near
        else r
        for r in rows
    ]

    assert of(rows, number).refused == ""
    assert why in of(slow, number).refused


def test_the_command_writes_a_machine(tmp_path):
    (tmp_path / "M4.jsonl.gz").write_bytes(
        gzip.compress("\n".join(map(json.dumps, [{"device": "card, 132 SMs"}, ring(4, 29391)])).encode())
    )
    result = CliRunner().invoke(app, ["calibrate", str(tmp_path), "-o", str(tmp_path / "m.toml")])

    assert result.exit_code == 0, result.output
    made = load(tmp_path / "m.toml")
    assert (made.name, made["dram_rate"].value) == ("card", 4599.0)
    assert "dram_rate" in result.output


@pytest.mark.parametrize("text, message", [("", "got none"), ("{", "a JSON object a line")])
def test_rows_that_are_none_are_refused(tmp_path, text, message):
    (tmp_path / "M4.jsonl").write_text(text)

    with pytest.raises(SimulationError, match=message):
        rows_of(tmp_path)
    assert CliRunner().invoke(app, ["calibrate", str(tmp_path)]).exit_code == 2
