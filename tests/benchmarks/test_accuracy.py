"""Points of accuracy: what is drawn, the report, and stored rounds replayed, whose errors may not grow."""

from __future__ import annotations

import json
import statistics
import sys
from pathlib import Path

import pytest

import simulator
from benchmarks import accuracy_again
from benchmarks.accuracy import config_of, digest, predicted
from benchmarks.accuracy_points import GROUPS, Config, draw, read
from benchmarks.accuracy_report import Point, kendall, points, report, spaces, summary
from benchmarks.accuracy_tables import choices, classes
from simulator import H200

LAST, LAST_SPACES = (
    ("round9", "round11", "round14", "round15", "round16", "round17", "round18"),
    ("spaces8", "spaces10", "spaces13", "spaces16", "spaces17"),
)  # whose tables the page has; the latter of an H200
QUICK_S, RUNS = 0.08, 10  # of a prediction, when it was stored, and of one with its range
FEW = 25  # points of a round that are predicted again
DIVIDES, COUNTS = "divides", "counts"  # how the text that was measured finds the slot of a ring
REPLAYED = (  # the mean error of those points
    pytest.param("round2_h200", "h200", 0.085, DIVIDES, marks=pytest.mark.campaign),
    pytest.param("round3_h200", "h200", 0.075, DIVIDES, marks=pytest.mark.campaign),
    pytest.param("round3_h100", "h100_sxm", 0.075, DIVIDES, marks=pytest.mark.campaign),
    pytest.param("round4_h200", "h200", 0.05, COUNTS, marks=pytest.mark.campaign),
    pytest.param("round4_h100", "h100_sxm", 0.05, COUNTS, marks=pytest.mark.campaign),
    ("round6_h200", "h200", 0.04, COUNTS),
    ("round6_h100", "h100_sxm", 0.055, COUNTS),
    *(("round8_h200", "h200", 0.035, COUNTS), ("round8_h100", "h100_sxm", 0.03, COUNTS)),
    *(("round10_h200", "h200", 0.04, COUNTS), ("round14_h200", "h200", 0.04, COUNTS)),
    *(("round17_h200", "h200", 0.045, COUNTS), ("round18_h200", "h200", 0.04, COUNTS)),
)
RESULTS = Path(__file__).parents[2] / "benchmarks/results/accuracy"


def rows(name):
    return [json.loads(line) for line in (RESULTS / name).read_text().splitlines()]


def test_points_are_those_of_the_seed():
    found = draw(5, 3)

    assert found == draw(5, 3) != draw(6, 3)
    assert [c.group for c in found] == [g for g in GROUPS for _ in range(3)]
    assert {c.cache for c in found} == {"warm", "dram"}


def test_points_of_a_file(tmp_path):
    (tmp_path / "p.toml").write_text(
        '[[point]]\nfamily = "tma_copy"\ncache = "warm"\noptions = {tile = [8, 64], slots = 2}\ndims = {M = 64, N = 128}\n'
    )
    [config] = read(tmp_path / "p.toml")

    assert config == Config("tma_copy", "tma_copy", {"tile": [8, 64], "slots": 2}, {"M": 64, "N": 128}, "warm")
    row = predicted(config, H200)
    assert row["seconds"] > H200["launch"].value * 1e-9
    assert config_of(row) == config


def test_a_refusal_is_a_miss():
    mine = [Point("g", "w", 2.0, 1.0, None, 2.0, None), Point("g", "w", 2.0, None, None, 2.0, None)]

    assert summary(mine)["mean"] == 0.5
    assert summary(mine)["mean_with_refusals"] == 0.75


def test_the_hash_is_that_of_the_numbers():
    assert digest(H200) == digest(H200.replacing())
    assert digest(H200) != digest(H200.replacing(launch=1))


def test_a_space_of_schedules_has_its_regret():
    every = [Point("g", "w", m, p, None, 1.0, None) for p, m in zip(range(1, 11), (3, 2, *range(4, 12)), strict=True)]
    [space] = spaces(every)

    assert (space.regret, space.regret_of_eight, space.spread) == (0.5, 0.0, 5.5)
    assert kendall([1, 2, 3], [3, 2, 1]) == -1


ROUNDS = (
    *("round1_h200", "round2_h200", "round2_h100", "spaces_h200", "round3_h200", "round3_h100", "spaces3_h200"),
    *("round4_h200", "round4_h100", "spaces4_h200", "round5_h200", "round5_h100", "spaces5_h200"),
    *("round6_h200", "round6_h100", "round9_h200", "round9_h100", "spaces8_h200", "spaces8_h100"),
    *("round10_h200", "spaces9_h200", "round11_h200", "spaces10_h200"),
)
UNMEASURED = {"round3_h200": 4, "round3_h100": 4, "spaces3_h200": 14}  # told in the README
UNMEASURED |= {"round9_h100": 1, "round10_h200": 1, "round4_h200": 2, "round4_h100": 6, "spaces4_h200": 4}


@pytest.mark.parametrize("name", ROUNDS)
def test_a_stored_round_has_a_measurement_for_each_prediction(name):
    predictions, measurements = rows(f"{name}_points.jsonl"), rows(f"{name}_measured.jsonl")
    every = points(predictions[1:], measurements)

    assert len(every) == predictions[0]["points"] - UNMEASURED.get(name, 0)
    assert len(every) == sum("error" not in m for m in measurements)
    assert f"{len(every)} of {predictions[0]['points']} points measured" in report(predictions, measurements)


def test_the_predicted_best_schedule_is_nearly_the_best():
    every = points(rows("spaces_h200_points.jsonl")[1:], rows("spaces_h200_measured.jsonl"))

    for space in spaces(every):
        assert (space.schedules, space.spread > 4) == (30, True)
        assert space.regret <= 0.02
        assert space.regret_of_eight == 0


def test_the_page_of_results_has_the_tables_of_the_last_rounds():
    """The nearest microbenchmark aside, which takes seconds to find."""
    page = [_without_nearest(line) for line in (RESULTS / "README.md").read_text().splitlines()]

    for line in [line for name in LAST for line in classes(name, near=False)]:
        assert _without_nearest(line) in page
    for line in [line for works in LAST_SPACES for line in choices(works)]:
        assert _without_nearest(line) in page


def _without_nearest(line):
    cells = line.split(" | ")
    return cells[:6] + cells[7:-1] if len(cells) == 13 else cells[:-1] if len(cells) == 7 else cells


@pytest.mark.parametrize("name, machine, most, text", REPLAYED)
def test_predictions_of_stored_points_do_not_get_worse(name, machine, most, text, monkeypatch):
    """Those that are quick to predict, by the model and the numbers as they are now, of the text as it was then."""
    if text == DIVIDES:
        monkeypatch.setattr("simulator.arithmetic.cursors", lambda kernel: ())
    where = simulator.machine(machine)
    measured = {r["point"]: statistics.median(r["warm_s"]) for r in rows(f"{name}_measured.jsonl") if "warm_s" in r}
    every = [row for row in rows(f"{name}_points.jsonl")[1:] if row["point"] in measured]
    quick = [row for row in every if row.get("cpu_s", 9) < QUICK_S * (RUNS if "p10_s" in row else 1)]
    errors = []
    for row in quick[:: max(1, len(quick) // FEW)]:
        again = predicted(config_of(row), where, ranges=0)
        errors.append(abs(again.get("seconds", 0.0) / measured[row["point"]] - 1))

    assert len(errors) >= 25
    assert statistics.fmean(errors) <= most


def test_a_stored_round_is_predicted_again(capsys, monkeypatch):
    """The same numbers give about the same errors; a slow launch makes each prediction longer."""
    said = []
    for more in ([], ["--set", "launch=50000"]):
        few = ["round8_h200", "--groups", "bulk_copy", "--quick", "0.1", "--worst", "1"]
        monkeypatch.setattr(sys, "argv", ["accuracy_again", *few, *more])
        accuracy_again.main()
        said.append(capsys.readouterr().out.splitlines())

    biases = [float(lines[1].split()[1]) for lines in said]
    assert [lines[0] for lines in said] == [said[0][0]] * 2
    assert biases[1] > biases[0] + 20
    assert "point" in said[0][-1]
    assert "bulk_copy" in said[0][-1]


@pytest.mark.parametrize(
    "wrong, told",
    [(["round99_h200"], "got round99_h200"), (["round8_h200", "--set", "lunch=1"], "did you mean launch")],
)
def test_a_round_or_a_number_that_is_not_there_is_refused(wrong, told, capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["accuracy_again", *wrong])
    with pytest.raises(SystemExit) as refused:
        accuracy_again.main()

    assert refused.value.code == 2
    assert told in capsys.readouterr().err
