"""``symlayout simulate`` with baselines, measured times and kernels of the user's own; ``symlayout machines``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import simulator
from symlayout.cli import app
from tests.support.command import CliRunner
from tests.support.plain import within

ONE = ("slots=1", "blocks=132", "chunk=4096")
KERNEL = ("bulk_copy", "N=1048576", "--set", "slots=3", "blocks=132", "chunk=4096")
OWN = """
from symlayout import dim
from symlayout.kernels import vector_copy
mine = vector_copy(dim("N"), threads=256)
number = 5
"""


def run(*args: object):
    """The result of a command; anything but an exit is an error of ours."""
    with within(20):
        result = CliRunner().invoke(app, [*map(str, args)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_a_slower_schedule_fails_against_its_baseline(tmp_path):
    file = tmp_path / "baseline.json"
    first = run("simulate", *KERNEL, "--quick", "--baseline", file)
    again = run("simulate", *KERNEL, "--quick", "--baseline", file)
    slower = run("simulate", "bulk_copy", "N=1048576", *ONE, "--quick", "--baseline", file)
    allowed = run("simulate", "bulk_copy", "N=1048576", *ONE, "--baseline", file, "--quick", "--tolerance", "90%")
    accepted = run("simulate", "bulk_copy", "N=1048576", *ONE, "--baseline", file, "--quick", "--update-baseline")
    after = run("simulate", "bulk_copy", "N=1048576", *ONE, "--baseline", file, "--quick")

    assert [r.exit_code for r in (first, again, slower, allowed, accepted, after)] == [0, 0, 1, 0, 0, 0]
    assert "no baseline before" in first.output
    assert "+0.0 %" in again.output
    assert "expected at most 3 % more than the baseline in" in " ".join(slower.stderr.split())
    assert list(json.loads(file.read_text())["baselines"]) == ["bulk_copy(N = 1048576) on NVIDIA H200"]


def test_a_baseline_of_other_numbers_says_so(tmp_path):
    file = tmp_path / "baseline.json"
    run("simulate", *KERNEL, "--quick", "--baseline", file)
    other = run("simulate", *KERNEL, "dram_rate=4190", "--quick", "--baseline", file)

    assert "the numbers of the machine are others than those of the baseline" in other.output


def test_a_measured_time_stands_beside(tmp_path):
    predicted = json.loads(run("simulate", *KERNEL, "--format", "json").output)["seconds"]
    near = run("simulate", *KERNEL, "--measured", f"{1e6 * predicted * 1.001:.4f}us", "--measured", "1ms")

    assert "the prediction is -0.1 % from it, and lies inside the predicted p10-p90" in near.output
    assert "measured: 1000.00 us; the prediction is -99" in near.output


def test_measurements_of_a_device_stand_beside(tmp_path):
    times = {"warm": {"samples": [5e-6, 6e-6, 7e-6]}, "cold": {"samples": [8e-6] * 3}}
    rows = {
        "timed": {"name": "bulk_copy", **times},
        "peers": [{"name": "torch", **times}],
        "copy": {"name": "copy", **times},
    }
    (tmp_path / "m.json").write_text(json.dumps(rows))
    (tmp_path / "v.json").write_text(json.dumps({"measured": rows}))
    outputs = [run("simulate", *KERNEL, "--quick", "--measured", tmp_path / f).output for f in ("m.json", "v.json")]

    assert outputs[0] == outputs[1]
    assert "bulk_copy, L2 warm: 6.00 us, p10-p90 5.20 .. 6.80 us; the prediction is" in outputs[0]
    assert "torch, L2 cold: 8.00 us" in outputs[0]


def test_an_own_kernel_is_simulated(tmp_path, monkeypatch):
    (tmp_path / "own.py").write_text(OWN)
    result = run("simulate", f"{tmp_path / 'own.py'}:mine", "N=1048576")

    assert result.exit_code == 0
    assert "vector_copy(N = 1048576) on NVIDIA H200" in result.output


def test_an_own_kernel_may_have_its_sizes_and_the_name_of_a_module_of_python(tmp_path):
    (tmp_path / "copy.py").write_text(f"{OWN}small = mine.bind(N=1024)\n")
    result = run("simulate", f"{tmp_path / 'copy.py'}:small", "--quick")

    assert result.output.startswith("vector_copy(N = 1024) on NVIDIA H200\n")


STUCK = """
from symlayout.kernels import bulk_copy
from symlayout.ops import Arrive
mine = bulk_copy(1 << 20, chunk=256, slots=2, blocks=40).edited(lambda op: () if isinstance(op, Arrive) else (op,))
"""


def test_a_kernel_that_stops_says_who_waits_and_leaves_its_timeline(tmp_path):
    (tmp_path / "own.py").write_text(STUCK)
    files = [tmp_path / f"t.{ending}" for ending in ("json", "txt", "html", "svg")]
    result = run("simulate", f"{tmp_path / 'own.py'}:mine", *(x for file in files for x in ("-o", file)))
    events = json.loads(files[0].read_text())["traceEvents"]

    assert result.exit_code == 2
    waits = [
        f"{name}[0], in phase {n}: 1 of 1 arrivals pending, 0 bytes pending" for n, name in enumerate(("empty", "full"))
    ]
    who = [f"CTA 0, role {role} waits for {what}" for role, what in zip(("producer", "consumer"), waits, strict=True)]
    told = " ".join(result.stderr.split())
    assert f"{'; '.join(who)}; the timeline until then is in {files[0]}" in told
    found = [e["name"] for e in events if "does not come" in e.get("name", "")]
    assert found == [f"wait: {what}, which does not come" for what in waits]
    assert "wait: empty[0], in phase 0" in files[1].read_text()
    assert "<dt>stopped</dt><dd>no process can go on at" in files[2].read_text()


def test_a_number_of_the_machine_may_be_set():
    slow = json.loads(run("simulate", *KERNEL, "dram_rate=100", "--format", "json", "--quick").output)
    also = json.loads(run("simulate", *KERNEL, "--number", "dram_rate=100", "--format", "json", "--quick").output)

    assert slow["seconds"] == also["seconds"]
    assert slow["seconds"] > 2 * json.loads(run("simulate", *KERNEL, "--quick", "--format", "json").output)["seconds"]


@pytest.mark.parametrize(
    "args, message",
    [
        (
            ("--baseline", "b.json", "--tolerance", "much"),
            "expected a tolerance from 0 to 100 % such as 3% or 0.03, got 'much'",
        ),
        (("--measured", "fast"), "expected a time such as 130.5us or 2ms, got 'fast'"),
        (("--measured", "1e999s"), "expected a time such as 130.5us or 2ms, got '1e999s'"),
        (
            ("--measured", "none.json"),
            "expected a measurement of gpu.measure or symlayout verify --format json in none.json",
        ),
        (("-o", "t.pdf"), "expected a file that ends with .json, .json.gz, .html, .svg, .txt, got t.pdf"),
        (("--update-baseline",), "expected --baseline FILE with --update-baseline, got none"),
        (("--baseline", "no/such/b.json"), "expected a file in a folder that exists"),
        (("--set", "dram_rate=much"), "expected NAME=NUMBER such as dram_rate=4100, got 'dram_rate=much'"),
        (("--set", "dram_rate=-4"), "expected a number above 0 for dram_rate"),
        (("--set", "dram_rat=4"), "got 'dram_rat'; did you mean dram_rate?"),
        (("--set", "slotz=4"), "got 'slotz'; did you mean slots?"),
        (("--tolerance", "5%"), "expected --baseline FILE with --tolerance, got none"),
        (("--number", "dram_rat=4"), "got none; did you mean dram_rate?"),
        (("--set", "slots=4"), "expected one value of slots, got 3 and 4"),
        (("N=٣",), "expected one value of N, got 1048576 and ٣"),
        (("--baseline", "/dev/null"), "in /dev/null, got no regular file"),
    ],
)
def test_bad_input_is_one_message(args, message):
    result = run("simulate", *KERNEL, *args)

    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())


TIMES = ('"a"', "-1", "NaN", "Infinity", "true", "null")
WRONG = [f'{{"schema": 1, "baselines": {{"k": {{"seconds": {x}, "numbers": ""}}}}}}' for x in TIMES]


@pytest.mark.parametrize("text", ["", "[]", "5", "{", '{"schema": 7}', '{"schema": 1, "baselines": {"k": 5}}', *WRONG])
def test_a_file_without_baselines_is_refused(tmp_path, text):
    (tmp_path / "b.json").write_text(text)
    result = run("simulate", *KERNEL, "--quick", "--baseline", tmp_path / "b.json")

    assert result.exit_code == 2
    assert "expected baselines of symlayout simulate --baseline in" in " ".join(result.stderr.split())
    assert (tmp_path / "b.json").read_text() == text


@pytest.mark.parametrize(
    "more, name, message",
    [
        ("", "number", "expected a claim or a kernel at {file}:number, got 5"),
        ("", "min", "expected 'min' in {file}, got no such name; did you mean mine?"),
        ("def f(:\n", "mine", "{file}:7:7: expected a module that can be imported, got SyntaxError"),
        ("import none\n", "mine", "{file}:7:1: expected a module that can be imported, got ModuleNotFoundError"),
        ("vector_copy(8, threads=33)\n", "mine", "{file}:7:1: expected 32 to 1024 threads in whole warps, got 33"),
        ("raise KeyboardInterrupt\n", "mine", "got the end of the process, with status 130"),
        ("def f(x):\n    return mine\n", "f", "expected claims from {file}:f(), got TypeError"),
    ],
)
def test_what_is_no_kernel_is_refused(tmp_path, more, name, message):
    file = tmp_path / "own.py"
    file.write_text(OWN + "\n" + more)
    result = run("simulate", f"{file}:{name}", "N=1024")

    assert result.exit_code == 2
    assert message.format(file=file) in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("command", [("simulate",), ("sweep", "vector_bytes=4,8", "--workers", "1")])
def test_a_machine_that_lacks_a_number_is_named(tmp_path, command):
    row = 'value = 132\nunit = "count"\ngrade = "documented"\nsource = "data sheet"\n'
    (tmp_path / "bare.toml").write_text(f"[sms]\n{row}")
    result = run(command[0], "vector_copy", "N=1024", *command[1:], "--machine", tmp_path / "bare.toml")

    assert result.exit_code == 2
    assert "of bare, got none; add it to its file" in " ".join(result.stderr.split())


def test_machines_are_listed():
    lines = run("machines").output.splitlines()

    assert [line.split()[0] for line in lines] == list(simulator.machines())
    assert all(f" of {simulator.H200.name}" in line for line in lines if not line.startswith("h200"))
    assert not any(" measured," in line for line in lines if line.startswith(("a100", "mi300x")))


def test_the_numbers_of_a_machine_have_their_grades_and_sources():
    shown = run("machines", "h200").output
    data = json.loads(run("machines", "h200", "--format", "json").output)

    for n in simulator.H200.numbers.values():
        assert any(line.split()[:2] == [n.name, f"{n.value:g}"] and n.source in line for line in shown.splitlines())
    assert {n["name"] for n in data["numbers"]} == set(simulator.H200.numbers)


@pytest.mark.parametrize("name", ["h300", "none.toml", str(Path(__file__))])
def test_an_unknown_machine_is_refused(name):
    result = run("machines", name)

    assert result.exit_code == 2
    assert "expected a machine" in " ".join(result.stderr.split())
