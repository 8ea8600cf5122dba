"""Every example gives the verdicts that it expects, word for word as recorded in ``examples/expected``.

``UPDATE_EXPECTED=1 python -m pytest tests/test_examples.py`` records them anew.
"""

from __future__ import annotations

import functools
import os
import re
import runpy
from pathlib import Path

import pytest

from checkers import prove
from symlayout.answers.report import Outcome, Report
from symlayout.finding.collect import collect

FOLDER = Path(__file__).parents[1] / "examples"
EXAMPLES = sorted(FOLDER.glob("e*.py"))
SOLVER = re.compile(r"\b(z3|cvc5) \d[\w.]*")

each_example = pytest.mark.parametrize("example", EXAMPLES, ids=lambda p: p.stem)


@functools.cache
def report(example: Path) -> Report:
    found = list(collect(str(example), kernels=False))
    errors = [f"{f.place}: {f.error}" for f in found if f.error]
    assert not errors, "\n".join(errors)
    return prove([f.claim for f in found])


def recorded(example: Path) -> Path:
    return FOLDER / "expected" / f"{example.stem}.txt"


def text_of(example: Path) -> str:
    """The report without what differs between two installations: the version of the solver."""
    return SOLVER.sub(r"\1", str(report(example))) + "\n"


@each_example
def test_verdicts_read_as_recorded(example):
    if os.environ.get("UPDATE_EXPECTED"):
        recorded(example).parent.mkdir(exist_ok=True)
        recorded(example).write_text(text_of(example), encoding="utf-8")

    assert text_of(example) == recorded(example).read_text(encoding="utf-8")


@each_example
def test_verdicts_are_as_expected_and_decided(example):
    verdicts = report(example).verdicts

    assert [str(v) for v in verdicts if not v.as_expected] == []
    assert {v.outcome for v in verdicts} <= {Outcome.PROVED, Outcome.REFUTED}


@each_example
def test_readme_has_the_row(example):
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    row = re.compile(r"^\| \[`(\w+)\.py`\]\(\1\.py\) \| .+ \| (.+) \|$", re.MULTILINE)

    assert dict(row.findall(readme))[example.stem] == report(example).summary()


def test_each_recorded_file_has_its_example():
    assert len(EXAMPLES) >= 12
    assert {p.stem for p in (FOLDER / "expected").iterdir()} == {p.stem for p in EXAMPLES}


def printed_by(name, capsys):
    runpy.run_path(str(FOLDER / f"{name}.py"), run_name="__main__")
    return capsys.readouterr().out


def test_named_points_of_the_accumulator_are_printed(capsys):
    rows = [line.split() for line in printed_by("e01_wgmma_accumulator", capsys).splitlines()]

    assert [(point, m_n) for point, _, _, m_n in rows[1:7]] == [
        ("T1D0", "(0,2)"),
        ("T4D0", "(1,0)"),
        ("T32D0", "(16,0)"),
        ("T0D1", "(0,1)"),
        ("T0D2", "(8,0)"),
        ("T0D4", "(0,8)"),
    ]


def test_walk_of_the_grouped_raster_is_printed(capsys):
    rows = printed_by("e07_grouped_raster", capsys).splitlines()

    assert len(rows) == 10
    assert rows[0].split() == ["0", "8", "16", "24", "32", "40"]
    assert rows[9].split() == ["49", "51", "53", "55", "57", "59"]


def test_views_of_ck_tile_are_printed(capsys):
    rows = printed_by("e23_ck_tensor_views", capsys).splitlines()

    assert rows[0] == "buffer[5] is 5, tensor(1, 2) is 6"
    assert [row.split()[0] for row in rows[1:5]] == ["shape", "unmerge(3,", "buffer[6]", "value"]
    assert rows[5] == "after (2,1) = 99: [[0, 1, 2, 3], [4, 5, 6, 7], [8, 99, 10, 11]]"
    assert rows[6] == "the part at (2,3): 23 .. 67"
    assert rows[7].startswith("by pass_through: 0 .. 44; pass_through(5) is put on a dimension of length 10")
    assert rows[8] == "the vector at (4,0): [64, 65, 66, 67], doubled [128, 130, 132, 134]"
    assert rows[9] == "vector<4>(value) = vector<4>(tensor + 1290);"


def test_layouts_of_one_memory_are_printed(capsys):
    rows = printed_by("e24_ck_memory_layouts", capsys).splitlines()

    assert rows[3:] == [
        "row_major(1,2), col_major(2,1), transposed(2,1): 6 5 6",
        "memory of the matrix, column-major: [0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11]",
        "the memory of the document reads as [[0, 9, 7, 5], [3, 1, 10, 8], [6, 4, 2, 11]]",
    ]


def test_access_patterns_are_printed(capsys):
    rows = [row.split() for row in printed_by("e25_ck_access_patterns", capsys).splitlines()]

    assert [(row[0], row[-3:]) for row in rows[1:]] == [
        ("sequential", ["4", "1", "100%"]),
        ("stride", ["8", "2", "50%"]),
        ("stride", ["32", "8", "12%"]),
        ("column", ["32", "32", "12%"]),
        ("random", ["32", "32", "12%"]),
        ("32", ["16", "4", "100%"]),
    ]


def test_tiles_of_ck_tile_are_printed_as_layouts(capsys):
    rows = printed_by("e26_ck_gemm_and_im2col", capsys).splitlines()

    assert rows[0] == "128 x 64: Sw<3,3,3> o 0 o (128,(8,8)):(64,(1,8))"
    assert "3600 different offsets of 4608" in rows[2]
    assert "4623" in rows[2]


def test_operands_of_tma_copies_are_printed(capsys):
    rows = printed_by("e19_tma_copy", capsys).splitlines()

    assert rows[0].startswith("LOAD_A: TmaCopy of (128,64) in 1 instruction of 16384 bytes; TensorMap bf16 (K,M)")
    assert [row for row in rows if row.startswith("CTA")] == [
        "CTA 0: instruction (64*k, 128*m), mask 0b11",
        "CTA 1: instruction (64*k, 128*m + 64), mask 0b11",
    ]
    assert rows[-1] == "im2col at tap (2,1): (0, -1, -1, 0, 2, 1)"
