"""``symlayout tensormaps``: how many calls a profile takes, why not the others, and where a recorded code differs."""

from __future__ import annotations

import gzip
import json

import pytest

from symlayout.cli import app
from symlayout.rules.tma import violations
from symlayout.tma.recorded import columns
from symlayout.tma.recorded_report import PROFILES, UNKNOWN_TO_ROWS, judged
from tests.support.command import CliRunner
from tests.support.plain import within

TILED = {
    **{"mode": "tiled", "dtype": 6, "rank": 2, "addr": 0, "dim": [1024, 1024], "stride": [2048], "box": [64, 128]},
    **{"estride": [1, 1], "interleave": 0, "swizzle": 3, "l2": 0, "oob": 0, "code": 0},
}
IM2COL = {
    **{"mode": "im2col", "dtype": 6, "rank": 4, "addr": 0, "dim": [64, 56, 56, 8], "stride": [128, 7168, 401408]},
    **{"estride": [1, 1, 1, 1], "interleave": 0, "swizzle": 3, "l2": 0, "oob": 0, "code": 0},
    **{"lower": [-1, -1], "upper": [-1, -1], "channels": 64, "pixels": 128},
}
ODD_STRIDE = {**TILED, "stride": [2002], "code": 1}
WIDE_BOX = {**TILED, "box": [64, 257], "code": 1}
OVERHANG = {**TILED, "dim": [1024, 100]}  # legal for the driver, not for CCCL
MIXED = [TILED, IM2COL, ODD_STRIDE, ODD_STRIDE, WIDE_BOX, OVERHANG]


def run(*args: object):
    """The result of a command; anything but an exit is an error of ours."""
    with within(20):
        result = CliRunner().invoke(app, ["tensormaps", *map(str, args)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def write(path, rows):
    """A file of these rows, gzipped where its name says so; text stays as it is."""
    lines = "".join(f"{r if isinstance(r, str) else json.dumps(r)}\n" for r in rows)
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "wt", encoding="utf-8") as f:
        f.write(lines)
    return path


@pytest.fixture(params=["calls.jsonl", "calls.jsonl.gz"])
def mixed(request, tmp_path):
    return write(tmp_path / request.param, MIXED)


def test_the_report_counts_and_shows_the_first_of_each_rule(mixed):
    result = run(mixed)

    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0] == f"{mixed}: 6 descriptors, 3 accepted by driver, 3 not"
    assert [" ".join(line.split()[:7]) for line in lines[1:3]] == [
        "stride_multiple_16 2 first in line 3: expected",
        "box_range 1 first in line 5: expected",
    ]
    assert "got 2002 (125*16 + 2) bytes" in lines[1]
    assert "agrees" not in result.stdout


def test_agreement_with_the_recorded_code(mixed):
    result = run(mixed, "--against", "code")

    assert result.exit_code == 0
    assert "agrees with code on 6 of 6" in result.stdout


def test_a_disagreement_is_shown_and_is_exit_status_1(mixed):
    result = run(mixed, "--against", "code", "--profile", "cccl")

    assert result.exit_code == 1
    assert "disagrees with code on 1 of 6" in result.stdout
    assert "  line 6: accepted (code 0), here refused by box_within_dim" in result.stdout.splitlines()


def test_both_ways_to_disagree(tmp_path):
    file = write(tmp_path / "calls.jsonl", [{**TILED, "code": 1}, {**ODD_STRIDE, "code": 0}])
    found = judged(file, against="code")

    assert [str(d) for d in found.first] == [
        "line 1: refused (code 1), here accepted",
        "line 2: accepted (code 0), here refused by stride_multiple_16",
    ]


def test_at_most_twenty_disagreements_are_listed(tmp_path):
    file = write(tmp_path / "calls.jsonl", [{**TILED, "code": 1}] * 33)
    result = run(file, "--against", "code")

    assert result.exit_code == 1
    assert sum(line.startswith("  line ") for line in result.stdout.splitlines()) == 20
    assert "  and 13 more" in result.stdout.splitlines()


def test_other_codes_say_nothing_about_the_parameters(tmp_path):
    """A context that failed before answers 700 or 715 to any call."""
    file = write(tmp_path / "calls.jsonl", [TILED, {**TILED, "code": 700}, {**ODD_STRIDE, "code": 10**30}])
    result = run(file, "--against", "code")

    assert result.exit_code == 0
    assert "agrees with code on 1 of 1; 2 with other codes are not compared" in result.stdout


def test_json(mixed):
    result = run(mixed, "--against", "code", "--profile", "cccl", "--format", "json")

    assert result.exit_code == 1
    found = json.loads(result.stdout)
    assert {k: found[k] for k in ("profile", "rows", "accepted", "refused")} == {
        **{"profile": "cccl", "rows": 6, "accepted": 2, "refused": 4},
    }
    assert [(r["id"], r["count"], r["line"]) for r in found["rules"]] == [
        ("stride_multiple_16", 2, 3),
        ("stride_unique", 2, 3),
        ("box_range", 1, 5),
        ("box_within_dim", 1, 6),
    ]
    assert found["against"]["disagreements"] == 1
    assert found["against"]["first"] == [{"line": 6, "code": 0, "rules": ["box_within_dim"]}]


@pytest.mark.parametrize("profile", PROFILES)
def test_chunks_do_not_show(tmp_path, profile):
    file = write(tmp_path / "calls.jsonl", ["", *MIXED, "", *MIXED, *MIXED])
    whole, pieces = (judged(file, profile, "code", chunk=n) for n in (1000, 4))

    assert whole.as_json() == pieces.as_json()
    assert whole.rows == 18


@pytest.mark.parametrize("profile", PROFILES)
def test_columns_and_single_calls_agree(tmp_path, profile):
    table = columns(MIXED)
    for i, row in enumerate(MIXED):
        alone = {v.rule.id for v in violations(table.row(i), profile)} - set(UNKNOWN_TO_ROWS)

        assert alone == set(judged(write(tmp_path / "one.jsonl", [row]), profile).reasons)


def test_hardware_asks_for_room(tmp_path):
    """Rows of 16 bytes that each take 128: 1 MiB where the driver sees 128 KiB."""
    narrow = {**TILED, "rank": 3, "dim": [64, 256, 32], "stride": [128, 32768], "box": [8, 256, 32], "estride": [1] * 3}
    file = write(tmp_path / "calls.jsonl", [narrow])

    assert judged(file, "driver").accepted == 1
    assert set(judged(file, "hardware").reasons) == {"landed_fits_smem"}


BAD_LINES = [
    ("{", "expected a JSON object, got '{'"),
    ("[1, 2]", "expected a JSON object, got [1, 2]"),
    ("7", "expected a JSON object, got 7"),
    ({**TILED, "rank": 3}, "expected 3 entries of dim for rank 3, got 2"),
    ({**TILED, "stride": []}, "expected 1 entries of stride for rank 2, got 0"),
    ({k: v for k, v in TILED.items() if k != "box"}, "expected 2 entries of box for rank 2, got 0"),
    ({k: v for k, v in IM2COL.items() if k != "upper"}, "expected 2 entries of upper for rank 4, got 0"),
    ({k: v for k, v in TILED.items() if k != "dtype"}, "expected an integer as dtype, got nothing"),
    ({**TILED, "swizzle": "128B"}, 'expected an integer as swizzle, got "128B"'),
    ({**TILED, "rank": True}, "expected an integer as rank, got true"),
    ({**TILED, "addr": 16.0}, "expected an integer as addr, got 16.0"),
    ({**TILED, "dim": 1024}, "expected a list of integers as dim, got 1024"),
    ({**TILED, "box": [64, "x"]}, 'expected integers in box, got "x"'),
    ({**TILED, "stride": None}, "expected a list of integers as stride, got nothing"),
    ({**TILED, "mode": "im2row"}, "expected a mode of tiled or im2col, got im2row"),
    ("[" * 100_000, "expected a JSON object"),
    (f'{{"dtype": {"9" * 5000}}}', 'expected a JSON object, got \'{"dtype": 99'),
]


@pytest.mark.parametrize("bad, message", BAD_LINES)
def test_a_bad_line_is_named(tmp_path, bad, message):
    file = write(tmp_path / "calls.jsonl", [TILED, "", bad, TILED])
    result = run(file)

    assert result.exit_code == 2
    assert f"{file}:3: {message}" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("bad, got", [(None, "nothing"), ("0", '"0"'), (True, "true"), (0.0, "0.0")])
def test_a_recorded_code_is_a_number(tmp_path, bad, got):
    file = write(tmp_path / "calls.jsonl", [TILED, {**TILED, "code": bad}])
    result = run(file, "--against", "code")

    assert result.exit_code == 2
    assert f"{file}:2: expected an integer as code, got {got}" in result.stderr
    assert run(file).exit_code == 0


def test_files_that_cannot_be_read(tmp_path):
    cut = write(tmp_path / "cut.jsonl.gz", [TILED] * 500)
    cut.write_bytes(cut.read_bytes()[:-40])
    plain = tmp_path / "plain.jsonl.gz"
    plain.write_text("{}")
    latin = tmp_path / "latin.jsonl"
    latin.write_bytes(b'{"mode": "\xff"}\n')
    empty = write(tmp_path / "empty.jsonl", ["", "  "])

    for file in (cut, plain, latin, empty, tmp_path / "none.jsonl", tmp_path):
        result = run(file)
        assert result.exit_code == 2, file
        assert f"{file}" in result.stderr
        assert "expected" in result.stderr
        assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    "name, got",
    [
        ("none.jsonl", "one that does not exist"),
        ("none.jsonl.gz", "one that does not exist"),
        ("", "a directory"),
        ("at.jsonl/x", "not a directory"),
    ],
)
def test_a_file_that_is_none_has_no_line(tmp_path, name, got):
    write(tmp_path / "at.jsonl", [TILED])

    assert run(tmp_path / name).stderr == f"error: {tmp_path / name}: expected a file of JSON lines, got {got}\n"


def test_a_byte_order_mark_is_no_part_of_the_first_line(tmp_path):
    file = tmp_path / "mark.jsonl"
    file.write_text(json.dumps(TILED) + "\n", encoding="utf-8-sig")

    assert judged(file).accepted == 1


def test_numbers_past_64_bits_are_refused_not_misread(tmp_path):
    file = write(tmp_path / "calls.jsonl", [{**TILED, "dim": [2**64 + 1024, 1024]}, {**TILED, "addr": -(2**70)}])
    found = judged(file)

    assert found.accepted == 0
    assert set(found.reasons) == {"global_dim_range", "global_address_alignment"}


def test_wrong_usage():
    assert run("x.jsonl", "--profile", "cuda").exit_code == 2
    assert run().exit_code == 2
