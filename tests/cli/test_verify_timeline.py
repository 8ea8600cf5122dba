"""``symlayout verify --timeline``: what is simulated at the sizes is a file that Perfetto opens."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from gpu import running
from gpu.errors import NoCompilerError
from symlayout.cli import app
from tests.support.chrome_events import broken
from tests.support.plain import within


def run(*args: object):
    """The result of a command; anything but an exit is an error of ours."""
    with within(60):
        result = CliRunner().invoke(app, ["verify", *map(str, args)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


@pytest.fixture
def no_compiler(monkeypatch):
    """It ends behind the simulation, as on a machine without a compiler."""

    def missing(*_, **__):
        raise NoCompilerError("none here")

    monkeypatch.setattr(running, "compile", missing)


def test_the_simulation_is_written(tmp_path, no_compiler):
    result = run("vector_copy", "N=65536", "--timeline", tmp_path / "t.json")

    assert result.exit_code == 4  # no compiler
    assert "simulated " in result.output
    assert "us on NVIDIA H200, p10-p90 " in result.output
    trace = json.loads((tmp_path / "t.json").read_text())
    assert broken(trace) == []
    assert trace["otherData"]["sizes"] == {"N": 65536}


def test_the_answer_as_json_has_the_prediction(tmp_path, no_compiler):
    result = run("tma_copy", "M=64", "N=64", "slots=2", "--timeline", tmp_path / "t.json", "--format", "json")

    row = json.loads(result.output)["simulated"]
    assert row["kernel"] == "tma_copy"
    assert (tmp_path / "t.json").exists()


@pytest.mark.parametrize(
    "args, message",
    [
        (("N=65536", "--timeline", "t.html"), "expected a file that ends with .json or .json.gz for a timeline"),
        (("--timeline", "t.json"), "expected sizes of vector_copy with --timeline, such as N=4096, got none"),
        (("N=65536", "--timeline", "no/such/t.json"), "expected a file in a folder that exists"),
    ],
)
def test_bad_input_is_one_message(args, message):
    result = run("vector_copy", *args)

    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())
