"""``symlayout verify --timeline``: what is simulated at the sizes is a file that Perfetto opens."""

from __future__ import annotations

import gzip
import json
import sys
from dataclasses import replace

import pytest

from gpu import running
from gpu.codegen.stamps import Place
from gpu.conditions import Conditions
from gpu.errors import NoCompilerError
from gpu.measuring import Measurement, Timed, Times
from gpu.stamps import Stamp, Stamps, read
from simulator import simulate
from symlayout import dim
from symlayout.cli import app
from symlayout.cli.timelines import beside
from symlayout.kernels import bulk_copy
from tests.gpu.test_stamps import BOUND, PLAN, filled
from tests.support.chrome_events import broken
from tests.support.command import CliRunner
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


def measurement(stamps: Stamps) -> Measurement:
    """What a child process gives back: times of 3 us, and the stamps of that launch."""
    times = Times((2.9e-6, 3e-6, 3.1e-6))
    timed = Timed("bulk_copy", times, times)
    quiet = Conditions()
    return Measurement("k", "d", "Stand-in H200", 4096, 0, timed, (), timed, 4096, quiet, quiet, stamps)


def test_stamps_of_a_run_stand_beside_the_simulation(tmp_path):
    """The same roles under the same names, in two processes; of the CTAs that the timeline shows."""
    bound = bulk_copy(dim("N", multiple_of=4), chunk=64, slots=2, blocks=2).bind(N=320)
    waits = Place("producer", 0, 1, "wait", "mbarrier empty", "free", "wait empty[i]", 0)
    stamps = [Stamp(cta, 0, waits, k, 100.0 * k, 100.0 * k + 50) for cta in (0, 1, 77) for k in range(3)]
    trace = simulate(bound, timeline=True)
    speed = measurement(Stamps("bulk_copy", "d", "Stand-in H200", (), 78, 64, tuple(stamps)))
    lines = list(beside(trace, speed, tmp_path / "t.json"))
    both = json.loads((tmp_path / "t.json").read_text())

    assert broken(both) == []
    assert lines[0].startswith("measured, L2 warm: 3.00 us, p10-p90 2.92 .. 3.08 us; the prediction is ")
    names = {(e["pid"], e["args"]["name"]) for e in both["traceEvents"] if e["name"] == "thread_name"}
    shown = {s.who.partition(", ")[0] for s in trace.timeline.spans}
    assert {(pid, n) for pid, n in names if pid == 2} == {(2, f"{cta}, role producer") for cta in shown}
    assert (1, "CTA 0, role producer") in names


@pytest.mark.parametrize(
    "device, machine", [("NVIDIA H200", "NVIDIA H200"), ("NVIDIA H100 80GB HBM3", "NVIDIA H100 SXM")]
)
def test_the_command_writes_both_processes(tmp_path, monkeypatch, device, machine):
    """With what a device would have written into the memory of stamps, read as the command reads it."""
    stamps = read(BOUND, PLAN, filled(), device)
    verifying = sys.modules["symlayout.cli.verify"]
    monkeypatch.setattr(verifying, "_compiled", lambda *_: None)
    monkeypatch.setattr(verifying, "_ran", lambda *_, **__: replace(measurement(stamps), device=device))
    result = run("bulk_copy", "N=320", "chunk=64", "slots=2", "blocks=2", "--timeline", tmp_path / "t.json.gz")

    assert result.exit_code == 0
    told = " ".join(result.output.split())
    assert ("simulated again on NVIDIA H100 SXM" in told) == (machine != "NVIDIA H200")
    assert "measured, L2 warm: 3.00 us" in told
    both = json.loads(gzip.decompress((tmp_path / "t.json.gz").read_bytes()))
    assert broken(both) == []
    processes = {e["pid"]: e["args"]["name"] for e in both["traceEvents"] if e["name"] == "process_name"}
    assert processes == {1: f"simulated: bulk_copy(N = 320) on {machine}", 2: f"measured: {device}"}
    roles = {
        pid: {e["args"]["name"] for e in both["traceEvents"] if e["name"] == "thread_name" and e["pid"] == pid}
        for pid in (1, 2)
    }
    assert {"CTA 0, role producer", "CTA 0, role consumer"} <= roles[1] & roles[2]
    measured = [e for e in both["traceEvents"] if e["pid"] == 2 and e["ph"] == "X"]
    assert len(measured) == len(stamps.of(cta=0))


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
