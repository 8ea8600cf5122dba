"""``symlayout simulate``: the table, JSON, the timeline, other machines, and bad input as one message."""

from __future__ import annotations

import json

import pytest

from simulator import H200, simulate
from symlayout import dims
from symlayout.cli import app
from symlayout.kernels import tma_copy
from symlayout.kernels.families import family
from tests.support.command import CliRunner
from tests.support.plain import within

SIZES = ("M=1056", "N=1024")


def run(*args: object):
    """The result of a command; anything but an exit is an error of ours."""
    with within(20):
        result = CliRunner().invoke(app, ["simulate", *map(str, args)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_the_answer_is_that_of_the_function():
    result = run("tma_copy", "--dims", *SIZES, "--set", "slots=2", "--machine", "h200")

    assert result.exit_code == 0
    trace = simulate(tma_copy(*dims("M N"), slots=2).bind(M=1056, N=1024))
    named = simulate(family("tma_copy").build(slots=2).bind(M=1056, N=1024))
    assert result.output == f"{named.summary()}\n"
    assert f"time        {1e6 * trace.seconds:.2f} us, p10-p90 " in result.output
    assert f"limited by  {trace.limiting}" in result.output
    assert "tma_copy(M = 1056, N = 1024) on NVIDIA H200" in result.output


def test_json_has_the_numbers():
    result = run("tma_copy", *SIZES, "--format", "json", "--number", "dram_rate=100", "--cache", "cold")

    row = json.loads(result.output)
    trace = simulate(tma_copy(*dims("M N")).bind(M=1056, N=1024), H200.replacing(dram_rate=100))
    assert (row["seconds"], row["limiting"], row["sizes"]) == (trace.seconds, "DRAM", {"M": 1056, "N": 1024})
    assert row["p10_seconds"] < row["seconds"] < row["p90_seconds"]


def test_a_timeline_is_written(tmp_path):
    result = run("tma_copy", *SIZES, "-o", tmp_path / "t.json")

    assert result.exit_code == 0
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    assert {e["ph"] for e in events} == {"M", "X", "C", "s", "t", "f"}


def test_a_machine_of_a_file(tmp_path):
    (tmp_path / "slow.toml").write_text(
        'name = "slow"\n'
        + "".join(
            f'[{n.name}]\nvalue = {n.value / (10 if n.name == "dram_rate" else 1)}\nunit = "{n.unit}"\n'
            f'grade = "{n.grade}"\nsource = "test"\n'
            for n in H200.numbers.values()
        )
    )
    result = run("tma_copy", *SIZES, "--machine", tmp_path / "slow.toml")

    assert "on slow" in result.output
    assert "limited by  DRAM" in result.output


@pytest.mark.parametrize(
    "args, message",
    [
        (("tma_copy",), "expected sizes of tma_copy such as M=4096, got none for M, N"),
        (("tma_copy", "M=64"), "expected all sizes of tma_copy, got none for N"),
        (("tma_copi", *SIZES), "did you mean tma_copy?"),
        (("tma_copy", *SIZES, "--set", "slotz=2"), "got 'slotz'"),
        (("tma_copy", "M=64", "N=62"), "expected a tensor map that the driver takes, got src_map of tma_copy"),
        (("tma_copy", *SIZES, "--machine", "h300"), "expected a machine (a100, h100_sxm, h200, mi300x), got 'h300'"),
        (("tma_copy", *SIZES, "--machine", "none.toml"), "expected a machine as TOML in none.toml"),
        (("tma_copy", *SIZES, "--number", "dram=5"), "expected a number 'dram' of NVIDIA H200, got none"),
        (("tma_copy", *SIZES, "--number", "dram_rate=fast"), "expected NAME=NUMBER such as dram_rate=4100"),
        (("tma_copy", *SIZES, "--number", "dram_rate=-1"), "expected a number above 0 for dram_rate, got -1.0"),
        (("bulk_copy", "N=1001"), "expected a size of whole 16 bytes in bulk.load src[1024*block_x] -> ring"),
        (("bulk_copy", "N=1024", "chunk=6"), "of bulk_copy, got 24 bytes"),
        (("tma_copy", *SIZES, "tile=64"), "expected integers such as 64x64 for tile of tma_copy, got '64'"),
        (("tma_copy", "M=٣", "N=64"), "expected a number for M, got '٣'"),
        (("tma_copy", *SIZES, "blocks=999999999"), "expected at most 1000000 CTAs of the SMs in detail, got 7575758"),
        (("tma_copy", *SIZES, "--number", "sms=0.5"), "expected a whole number of sms of NVIDIA H200, got 0.5"),
        (("tma_copy", *SIZES, "-o", "no/such/folder/t.json"), "expected a file in a folder that exists"),
    ],
)
def test_bad_input_is_one_message(args, message):
    result = run(*args)

    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())
