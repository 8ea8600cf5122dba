"""``symlayout sweep``: ranges and lists of values, the table, JSON, the prover, and bad input as one message."""

from __future__ import annotations

import importlib.util
import json

import pytest

from symlayout.cli import app
from symlayout.cli.sweep import axes_of
from symlayout.kernels.families import family
from tests.support.command import CliRunner
from tests.support.plain import within

HAS_DASK = importlib.util.find_spec("distributed") is not None  # the extra "cluster"
NO_CLUSTER = (
    "expected a Dask scheduler at tcp://127.0.0.1:1" if HAS_DASK else "expected Dask for tcp://127.0.0.1:1, got none"
)
SMALL = ("bulk_copy", "N=262144", "chunk=512,65536", "slots=1..3", "blocks=132", "--workers", "1")


def run(*args: object):
    """The result of a command; anything but an exit is an error of ours."""
    with within(30):
        result = CliRunner().invoke(app, ["sweep", *map(str, args)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_axes_are_ranges_lists_and_tuples():
    sizes, axes = axes_of(family("gemm"), ["M=256,512", "N=8", "K=8", "stages=2..6..2", "tile=128x128,64x256"])

    assert sizes == {"M": [256, 512], "N": [8], "K": [8]}
    assert axes == {"stages": [2, 4, 6], "tile": [(128, 128), (64, 256)]}


def test_the_table_ranks_and_says_what_is_excluded():
    result = run(*SMALL)

    assert result.exit_code == 0
    head, columns, first, *rest = result.output.splitlines()
    assert head == "bulk_copy on NVIDIA H200: 6 schedules, 3 kept"
    assert columns.split()[:3] == ["chunk", "slots", "us"]
    assert first.split()[:3] == ["*", "512", "3"]
    assert first.endswith("yes")  # proved
    assert rest[-1].startswith("excluded 3, such as N=262144 chunk=65536 slots=1 blocks=132: expected a CTA that fits")


def test_json_has_the_rows_in_order():
    found = json.loads(run(*SMALL, "--format", "json", "--prove", "none").output)

    assert (found["points"], len(found["rows"]), len(found["excluded"])) == (6, 3, 3)
    times = [r["seconds"] for r in found["rows"]]
    assert times == sorted(times)
    assert found["rows"][0]["pareto"]
    assert found["rows"][0]["legal"] == ""


def test_sizes_that_break_what_is_proved_are_excluded():
    """Rows of N f32 words are whole 16-byte units where 4 divides N; otherwise the tensor map is refused."""
    result = run("tma_copy", "M=64", "N=62,64", "slots=2", "--workers", "1", "--prove", "all")

    assert "1 kept" in result.output
    assert "excluded 1, such as M=64 N=62 slots=2" in result.output


def test_nothing_that_is_legal_is_status_1():
    assert run("bulk_copy", "N=262144", "chunk=65536", "--workers", "1").exit_code == 1


def test_a_sweep_resumes(tmp_path):
    first = run(*SMALL, "--prove", "none", "--resume", tmp_path / "rows.jsonl")
    second = run(*SMALL, "--prove", "none", "--resume", tmp_path / "rows.jsonl")

    assert "3 kept\n" in first.output
    assert "3 kept, 3 reused\n" in second.output


@pytest.mark.parametrize("text", ["my notes", "null\n", '{"options": {}, "sizes": {}, "seconds": "a"}\n', "\n"])
def test_a_file_of_something_else_is_refused_and_kept(tmp_path, text):
    (tmp_path / "notes").write_text(text)
    result = run(*SMALL, "--prove", "none", "--resume", tmp_path / "notes")

    assert (result.exit_code, (tmp_path / "notes").read_text()) == (2, text)
    assert "got line 1:" in " ".join(result.stderr.split())


def test_a_number_of_the_machine_may_be_set_and_values_come_once():
    slow, fast = (
        json.loads(
            run("bulk_copy", "N=65536,65536", *more, "--workers", "1", "--prove", "none", "--format", "json").output
        )
        for more in (("dram_rate=100",), ())
    )

    assert slow["points"] == 1
    assert slow["rows"][0]["seconds"] > 1.2 * fast["rows"][0]["seconds"]


@pytest.mark.parametrize(
    "args, message",
    [
        (("bulk_copi", "N=5"), "did you mean bulk_copy?"),
        (("mine.py:mine", "N=5"), "got 'mine.py:mine'; simulate takes a kernel of your own"),
        (("bulk_copy",), "expected all sizes of bulk_copy, got none for N"),
        (("bulk_copy", "N=5", "slotz=3"), "got 'slotz'"),
        (("bulk_copy", "N"), "expected NAME=VALUES such as stages=2..6"),
        (("bulk_copy", "N=5..2"), "expected a range such as 2..6 or 64..256..64, got '5..2'"),
        (("bulk_copy", "N=five"), "expected numbers for N, got 'five'"),
        (("bulk_copy", "N=5", "slots=two"), "expected an integer for slots of bulk_copy, got 'two'"),
        (("bulk_copy", "N=5", "N=6"), "expected the values of N once, separated by commas, got them twice"),
        (("bulk_copy", "N=1..9999", "slots=1..9999"), "expected at most 100000 points, got 99980001"),
        (("bulk_copy", "N=5", "--machine", "h300"), "expected a machine (a100, h100_sxm, h200, mi300x), got 'h300'"),
        (("bulk_copy", "N=5", "--workers", "0"), "expected at least 1 worker, or -1 for all cores, got 0"),
        (("bulk_copy", "N=5,6", "--scheduler", "tcp://127.0.0.1:1"), NO_CLUSTER),
        (("tma_copy", "M=5", "N=64", "tile=64"), "expected integers such as 64x64 for tile of tma_copy, got '64'"),
        (("bulk_copy", "N=5", "--resume", "/dev/full"), "got no regular file"),
        (("bulk_copy", "N=5", "--resume", "no/such/f"), "expected a file in a folder that exists"),
    ],
)
def test_bad_input_is_one_message(args, message):
    result = run(*args)

    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())
