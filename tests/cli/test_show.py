"""``symlayout show``: the size, the grid, the steps to a value, SVG, and bad input as one message."""

from __future__ import annotations

import random
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from symlayout import Layout, Swizzle
from symlayout.atoms import atom
from symlayout.cli import app
from tests.support.command import CliRunner
from tests.support.draw import Draw
from tests.support.plain import within

IMAGES = Path(__file__).parents[2] / "docs" / "images"
SVG = "{http://www.w3.org/2000/svg}"


def show(*args: object):
    """The result of a command; anything but an exit is an error of ours."""
    with within(20):
        result = CliRunner().invoke(app, ["show", *map(str, args)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def cells(text: str) -> list[list[str]]:
    """The table of a picture, without its header."""
    return [line.split("|")[1].split() for line in text.splitlines() if "|" in line][1:]


@pytest.mark.parametrize(
    "layout, lines",
    [
        ("(4,8):(8,1)", ["(4,8):(8,1)", "size 32, cosize 32, rank 2, depth 1"]),
        ("4", ["4:1", "size 4, cosize 4, rank 1, depth 0"]),
        ("((2,2),3):((1,6),2)", ["size 12, cosize 12, rank 2, depth 2"]),
        ("4:-1", ["4:-1", "size 4, cosize 4, rank 1, depth 0"]),
        ("(M,N):(N,1)", ["(M,N):(N,1)", "size M*N, cosize M*N, rank 2, depth 1"]),
        ("(4,8):(1@0,1@1)", ["(4,8):(1@0,1@1)", "size 32, cosize 32, rank 2, depth 1"]),
        ("Layout<Shape<_4,_8>,Stride<_8,_1>>", ["(4,8):(8,1)"]),
        ("Sw<1,0,1>", ["Sw<1,0,1> o 0 o 4:1"]),
        ("Sw<0,0,0>", ["size 1, cosize 1, rank 1, depth 0"]),
        ("Sw<3,4,3> o 0 o (8,8):(8,1)", ["size 64, cosize 64, rank 2, depth 1"]),
        ("()", ["size 1, cosize 1, rank 0, depth 1"]),
        ("4:99999999999999999999", ["size 4, cosize 299999999999999999998, rank 1, depth 0"]),
    ],
)
def test_the_head_says_what_it_is(layout, lines):
    result = show(layout)

    assert result.exit_code == 0
    assert [line for line in lines if line not in result.stdout.splitlines()] == []


def test_the_grid_is_the_function():
    draw = Draw(6)
    for _ in range(25):
        layout = draw.layout(modes=3, extent=5, points=120)
        if len(layout) < 2:
            continue
        m = Layout(layout.shape[0]).size()
        expected = [[str(layout(i + m * j)) for j in range(layout.size() // m)] for i in range(m)]
        found = cells(show(layout).stdout)
        assert [row[: len(seen)] for row, seen in zip(expected, found, strict=True)] == found


def test_a_tile_shows_owners():
    result = show("((4,8),(2,2)):((32,1),(16,8))", "--tile", "16x8")

    assert cells(result.stdout)[0] == [f"T{t}V{v}" for t in range(4) for v in range(2)]
    assert cells(show("((4,8),(2,2)):((32,1),(16,8))", "--tile", "(16,8)").stdout) == cells(result.stdout)


@pytest.mark.parametrize(
    "layout, at, last",
    [
        ("(4,8):(8,1)", "(3,5)", "inner product         3*8 + 5*1 = 29"),
        ("(4,8):(8,1)", "7", "inner product         3*8 + 1*1 = 25"),
        ("((2,2),3):((1,6),2)", "((1,1),2)", "inner product         1*1 + 1*6 + 2*2 = 11"),
        ("(M,N):(N,1)", "(1,2)", "inner product         1*N + 2*1 = N + 2"),
        ("Sw<1,0,1> o 0 o 4:1", "2", "                      2 -> 3"),
        ("(4,8):(1@0,1@1)", "(3,5)", "as a coordinate       (3,5)"),
    ],
)
def test_the_steps_lead_to_the_value(layout, at, last):
    result = show(layout, "--at", at)

    assert result.exit_code == 0
    assert last.strip() in result.stdout
    assert not cells(result.stdout)


def test_the_steps_end_in_the_value():
    r = random.Random(2)
    for _ in range(20):
        sw = Swizzle(r.randint(0, 2), r.randint(0, 2), r.choice((2, 3, -2)))
        i = r.randrange(64)
        lines = show(f"{sw} o {r.choice((0, 4))} o (8,8):(8,1)", "--at", i).stdout.splitlines()
        inner = 8 * (i % 8) + i // 8
        assert str(inner) in "".join(lines)
        assert lines[-1].split()[-1].isdigit()


@pytest.mark.parametrize(
    "args",
    [
        ["(4,8):(8,1)"],
        ["(4,8):(1@0,1@1)"],
        ["Sw<3,3,3> o 0 o (8,64):(64,1)"],
        ["((4,8),(2,2)):((32,1),(16,8))", "--tile", "16,8"],
        ["(2,2):(1,3)", "--tile", "4,4"],
        ["4:-1"],
        ["1:0"],
        ["(300,200)"],
        ["(4,8):(8,1)", "--at", "3"],
    ],
    ids=" ".join,
)
def test_a_picture_is_well_formed(tmp_path, args):
    file = tmp_path / "picture.svg"

    result = show(*args, "--svg", file)
    root = ElementTree.fromstring(file.read_text(encoding="utf-8"))

    assert result.exit_code == 0
    assert f"wrote {file}" in result.stdout
    assert root.tag == f"{SVG}svg"
    assert float(root.get("width")) > 0
    texts = ["".join(t.itertext()) for t in root.iter(f"{SVG}text")]
    grid = cells(show(*args[:3] if "--tile" in args else args[:1]).stdout)
    assert set(grid[0]) <= set(texts) | {"."}


BAD = [
    ("", [], "expected a layout, got"),
    ("(4,8):(8,1", [], "expected ',' or ')' in a tuple, got the end of the text"),
    ("(4,8):(8)", [], "expected a stride congruent to the shape (4,8), got (8,)"),
    ("(0,4)", [], "expected extents of at least 1, got 0"),
    ("(4,-8)", [], "expected"),
    ("(4,8):(8,1) x", [], "expected"),
    ("(4,8)::", [], "expected"),
    ("4.5", [], "expected"),
    ("Sw<3,3,1>", [], "expected 0 <= bits <= |shift|"),
    ("Sw<3,3>", [], "expected"),
    ("(4,8):(8,1)", ["--at", "(1,2,3)"], "expected a coordinate for the shape (4,8) (rank 2), got (1,2,3)"),
    ("(4,8):(8,1)", ["--at", "-1"], "expected an index of at least 0, got -1"),
    ("(4,8):(8,1)", ["--at", "foo("], "expected"),
    ("(4,8):(8,1)", ["--at", "((1,2),3)"], "expected"),
    ("(4,8):(8,1)", ["--at", "(3,_,_)"], "expected"),
    ("(4,8):(8,1)", ["--at", "((3,_),_)"], "expected"),
    ("(4,8):(8,1)", ["--at", "(3,_)", "--tile", "4,8"], "expected a coordinate of numbers with --tile, got (3,_)"),
    ("(4,8):(8,1)", ["--tile", "0,4"], "expected a tile of two extents such as 64,64, got '0,4'"),
    ("(4,8):(8,1)", ["--tile", "a"], "expected a tile of two extents such as 64,64, got 'a'"),
    ("(4,8):(8,1)", ["--tile", "4"], "expected a tile of two extents such as 64,64, got '4'"),
    ("(4,8):(8,1)", ["--tile", "4,4,4"], "expected a tile of two extents such as 64,64, got '4,4,4'"),
    ("(4,8):(8,1)", ["--tile=-4,8"], "expected a tile of two extents such as 64,64, got '-4,8'"),
    ("(4,8):(8,1)", ["--tile", "()"], "expected a tile of two extents such as 64,64, got '()'"),
    ("(4,8):(8,1)", ["--tile", "2,2"], "expected values inside the 2 x 2 tile, got 8 at thread 1, value 0"),
    ("(4,8,2):(8,1,1)", ["--tile", "4x8"], "expected a (thread, value) layout of numbers"),
    ("(M,N):(N,1)", ["--svg", "{tmp}/a.svg"], "expected a layout of numbers with at most 2^20 elements to draw"),
    ("(M,N):(N,1)", ["--tile", "4,8"], "expected a (thread, value) layout of numbers"),
    ("(1048576,2)", ["--svg", "{tmp}/a.svg"], "expected a layout of numbers with at most 2^20 elements to draw"),
    ("(1048576,2):(0,1)", ["--tile", "4,8"], "expected a (thread, value) layout of numbers with at most 2^20 elements"),
    ("(4,8):(8,1)", ["--svg", "{tmp}/none/a.svg"], "expected a file in a folder that exists, got {tmp}/none/a.svg"),
    ("mma.m16n8k16.bf61", [], "expected an atom (of ld, st, cp, red, tma, bulk, ldmatrix, stmatrix, mma, wgmma), got"),
    ("mma.m16n8k16.bf61", [], "did you mean mma.m16n8k16.bf16?"),
    ("ld.global.4", [], "expected a matrix instruction (mma, wgmma, ldmatrix, stmatrix) to draw, got ld.global.4"),
    ("ldmatrix.x4", ["--tile", "4,8"], "expected --at and --tile with a layout, got the instruction ldmatrix.x4"),
    ("(4,8):(8,1)", ["--svg", "{tmp}"], "expected a file in a folder that exists, got {tmp}"),
]


@pytest.mark.parametrize("layout, options, message", BAD)
def test_bad_input_is_one_message(tmp_path, layout, options, message):
    result = show(layout, *(o.format(tmp=tmp_path) for o in options))

    assert result.exit_code == 2
    assert result.stderr.count("error: ") == 1
    assert message.format(tmp=tmp_path) in result.stderr
    assert "[Errno" not in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize(
    "layout, at, lines",
    [
        ("(4,8):(8,1)", "_", ["the slice at _, 0 further on", "(4,8):(8,1)"]),
        ("(4,8):(8,1)", "(3,_)", ["the slice at (3,_), 24 further on", "(8,):(1,)"]),
        ("(4,8):(8,1)", "(_,5)", ["the slice at (_,5), 5 further on", "(4,):(8,)"]),
        ("((2,2),3):((1,6),2)", "((1,_),2)", ["the slice at ((1,_),2), 5 further on", "(2,):(6,)"]),
        ("(M,N):(N,1)", "(3,_)", ["the slice at (3,_), 3*N further on", "(N,):(1,)"]),
        ("(4,8):(1@0,1@1)", "(3,_)", ["the slice at (3,_), 3@0 further on", "(8,):(1@1,)"]),
        ("Sw<1,0,1> o 0 o (4,8):(8,1)", "(3,_)", ["the slice at (3,_)", "Sw<1,0,1> o 24 o (8,):(1,)"]),
    ],
)
def test_an_underscore_slices(layout, at, lines):
    result = show(layout, "--at", at)

    assert result.exit_code == 0
    assert [line for line in lines if line not in result.stdout.splitlines()] == []


def test_a_slice_is_drawn(tmp_path):
    result = show("(4,8):(8,1)", "--at", "(_,5)", "--svg", tmp_path / "a.svg")

    root = ElementTree.fromstring((tmp_path / "a.svg").read_text(encoding="utf-8"))
    assert cells(result.stdout) == [["0", "8", "16", "24"]]
    assert {"0", "8", "16", "24"} <= {"".join(t.itertext()) for t in root.iter(f"{SVG}text")}


@pytest.mark.parametrize("args", [[], ["--tile", "4,4"], ["4", "8"], ["4", "--nothing"]], ids=str)
def test_wrong_usage(args):
    assert CliRunner().invoke(app, ["show", *args]).exit_code == 2


@pytest.mark.parametrize("word", ["mma.m16n8k16.bf16", "ldmatrix.x4"])
def test_an_instruction_is_drawn_as_on_the_page(tmp_path, word):
    result = show(word, "--svg", tmp_path / "a.svg")
    drawn = (tmp_path / "a.svg").read_text(encoding="utf-8")

    assert result.exit_code == 0
    assert drawn == (IMAGES / f"{word.replace('.', '_')}.svg").read_text(encoding="utf-8")
    ElementTree.fromstring(drawn)


@pytest.mark.parametrize("word", ["mma.m16n8k8.tf32", "wgmma.m64n64k16.bf16.rs", "stmatrix.x2.trans"])
def test_an_instruction_shows_who_has_each_element(word):
    """Of each operand the owners in its tile, B turned: those of the table by its own arithmetic."""
    parts = show(word).stdout.split("\n\n")[1:]

    for part, table in zip(parts, atom(word).tables, strict=True):
        seen = cells(part)
        for t in range(table.tv[0].size()):
            for v in range(table.tv[1].size()):
                column, row = divmod(table.tv(t, v), table.tile[0])
                i, j = (column, row) if table.operand == "B" else (row, column)
                if i < 64 and j < len(seen[i]) and table.copies == 1:
                    assert seen[i][j] == f"T{t}V{v}"
