"""Times of ``verify --no-device``: a row for each command, its steps, and a status where one does not end well."""

import json
import subprocess

from benchmarks import verify_times

STEPS = {"proved": {"seconds": 0.25}, "printed": {"seconds": 0.01}, "compiled": {"seconds": 1.5}}


def ends(monkeypatch, code, **said):
    given = []

    def ran(command, env, **_):
        given.append((command[3:], env))
        return subprocess.CompletedProcess(command, code, json.dumps(said), "")

    monkeypatch.setattr(verify_times.subprocess, "run", ran)
    return given


def test_a_row_has_the_seconds_of_each_step(monkeypatch, tmp_path, capsys):
    given = ends(monkeypatch, 0, **STEPS)

    assert verify_times.main(["--only", "axpby", "gemm", "--out", str(tmp_path / "rows.jsonl")]) == 0

    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    assert [r["steps"] for r in rows] == [{"proved": 0.25, "printed": 0.01, "compiled": 1.5}] * 2
    assert [command for command, _ in given] == [
        ["verify", n, "--no-device", "--format", "json"] for n in ("axpby", "gemm")
    ]
    assert "SYMLAYOUT_CUBINS" in given[0][1]
    assert "| `gemm` |" in capsys.readouterr().out


def test_a_command_that_fails_is_told_with_its_error(monkeypatch, capsys):
    ends(monkeypatch, 4, proved={"seconds": 0.25}, error="expected a compiler")

    assert verify_times.main(["--only", "axpby"]) == 4

    found = capsys.readouterr()
    assert "axpby: status 4: expected a compiler" in found.err
    assert "| 0.2 | - |" in found.out
