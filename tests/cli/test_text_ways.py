"""The command on claims as text: TOML, comments, folders, reports."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from checkers import Claim, Injective
from checkers.claim_fields import Subject, Value
from checkers.claim_text import claim_from, kind_of
from symlayout import Layout, SymlayoutError, dims
from symlayout.cli import app
from symlayout.errors import ClaimError, InternalError
from symlayout.expr import Fact
from symlayout.finding.comments import PYTHON_SUFFIXES, SUFFIXES
from symlayout.text.notation import Declared, parse_fact
from tests.support.command import CliRunner

ROOT = Path(__file__).parents[2]
M, N, ld = dims("M N ld")


class Run:
    """What a command printed, and its exit status."""

    def __init__(self, *args: object) -> None:
        self.result = CliRunner().invoke(app, [str(a) for a in args])
        if self.result.exception is not None and not isinstance(self.result.exception, SystemExit):
            raise self.result.exception
        self.status, self.out, self.err = self.result.exit_code, self.result.stdout, self.result.stderr


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


# -- building -------------------------------------------------------------------------------------------------

BUILT = [
    ("bijective", {"layout": "(4,8):(8,1)", "onto": 32}, "bijective: (4,8):(8,1) onto 32"),
    ("bijective", {"layout": "(M,N):(N,1)", "onto": "M*N"}, "bijective: (M,N):(N,1) onto M*N"),
    ("bijective", {"layout": "(4,8):(1@0,1@1)", "onto": [4, "2*4"]}, "bijective: (4,8):(1@0,1@1) onto (4,8)"),
    ("injective", {"layout": 4}, "injective: 4:1"),
    ("injective", {"map": "(M,4):(4,1)"}, "injective: (M,4):(4,1)"),
    ("surjective", {"layout": "(4,4):(1,2)", "onto": "8"}, "surjective: (4,4):(1,2) onto 8"),
    ("equal", {"a": "(2,4)", "b": "8"}, "equal: (2,4):(1,2) and 8:1"),
    ("equal", {"map": "(2,4)", "and": "8"}, "equal: (2,4):(1,2) and 8:1"),
    (
        "equal",
        {"a": "4*i + j", "b": "j + i*4", "over": "(i, j) < (M, 4)"},
        "equal: (i,j) -> 4*i + j for i < M, j < 4 and (i,j) -> 4*i + j for i < M, j < 4",
    ),
    ("fits_in", {"layout": "4", "bits": "64", "signed": "false"}, "fits in uint64: 4:1 in elements"),
    ("fits in", {"layout": "4", "signed": True, "unit_bytes": 2}, "fits in int32: 4:1 in bytes (2 an element)"),
    (
        "conflict-free",
        {"access": "(8,8):(64,8)", "element_bytes": 2, "degree": 8},
        "conflict-free: (8,8):(64,8), 8 lanes of 16 bytes, at most 8-way",
    ),
    ("partition", {"layout": "(32,8):(0,1)", "onto": 8, "copies": 32}, "partition: (32,8):(0,1) covers 8 elements"),
    (
        "in_bounds",
        {"map": "128*t + r", "over": "(r, t) < (128, 8)", "when": "128*t + r < M", "extent": "M"},
        "in bounds: (r,t) -> r + 128*t for r < 128, t < 8 when M >= r + 128*t + 1 in [0, M)",
    ),
    (
        "in_bounds",
        {"layout": "((4,32),8):((1,4),128)", "over": "(r, t)", "when": "128*t + r < M", "extent": "M"},
        "in bounds: (r,t) -> r + 128*t for r < 128, t < 8 when",
    ),
    (
        "in_bounds",
        {"layout": "(128,8):(1,128)", "when": "(r, t) -> 128*t + r < M", "extent": "M"},
        "in bounds: (r,t) -> r + 128*t for r < 128, t < 8 when M >= r + 128*t + 1 in [0, M)",
    ),
    (
        "covers",
        {
            "map": "(b % 3, b // 3)",
            "over": {"b": 12},
            "domain": "(384, 256)",
            "tile": [128, 64],
            "by": "(i, j) -> i + 3*j",
        },
        "covers: (b) -> (b % 3,b//3) for b < 12 over (384,256) in tiles of (128,64)",
    ),
    ("aligned", {"layout": "M", "to_bytes": 4, "element_bytes": 4}, "aligned to 4 bytes: M:1 of 4-byte elements"),
    ("vectorizable", {"layout": "M", "elements": 8}, "vectorizable by 8: M:1"),
    ("holds", {"fact": "M*N >= M"}, "holds: M*N >= M"),
    ("holds", {"map": "M % 8 == 0"}, "holds: M % 8 == 0"),
]


@pytest.mark.parametrize("kind, fields, sentence", BUILT, ids=[s for _, _, s in BUILT])
def test_claims_from_text(kind: str, fields: dict[str, Any], sentence: str) -> None:
    assert str(claim_from(kind, fields)).startswith(sentence)


def test_claims_take_sizes_facts_and_expectations() -> None:
    m = dims("M", multiple_of=8)[0]
    claim = claim_from("injective", {"layout": "(M,4):(4,1)"}, [m], ["M <= 64", m >= 16], "refuted")

    assert claim == Injective(Layout((m, 4), (4, 1)), given=(m <= 64, m >= 16), expect="refuted")


def test_shared_facts_come_where_they_bear_on_a_size() -> None:
    shared = parse_fact("ld >= M, N % 8 == 0, ld <= 512, 1 <= 2")
    of_m = claim_from("injective", {"layout": "(M,4):(1,M)"}, shared=shared)
    of_n = claim_from("injective", {"layout": "N"}, shared=shared)

    assert of_m.given == (ld >= M, ld <= 512, Fact(1, ">="))
    assert of_n.given == (N.multiple_of(8), Fact(1, ">="))


def test_a_new_class_needs_no_row() -> None:
    @dataclass(frozen=True)
    class TwoWayMatch(Claim):
        """Both match."""

        left: Subject
        right: Subject
        tile: Value
        label: str = "x"
        strict: bool = False
        depth: int = 2

    kind = kind_of(TwoWayMatch)

    assert (kind.name, kind.subjects, kind.text) == ("two_way_match", ("left", "right"), "Both match.")
    assert [f.reads.name for f in kind.fields] == ["LAYOUT", "LAYOUT", "VALUE", "WORD", "TRUTH", "NUMBER"]
    assert [str(f) for f in kind.fields] == ["left", "right", "tile", "label = x", "strict = False", "depth = 2"]


REFUSED = [
    ("bijectve", {}, "expected a kind of claim (aligned, bijective, ", "got 'bijectve'; did you mean bijective?"),
    ("", {}, "expected a kind of claim", "got ''"),
    ("bijective", {"layout": "(4,8)"}, "expected 'onto VALUE' for bijective, got layout", ""),
    ("bijective", {}, "expected 'layout LAYOUT', 'onto VALUE' for bijective, got no field", ""),
    ("bijective", {"layout": "4", "ontoo": 4}, "expected fields of bijective (layout, onto, ", "did you mean onto?"),
    ("bijective", {"layout": "4", "and": "4"}, "expected fields of bijective", "got 'and'"),
    ("bijective", {"layout": "4", "map": "4"}, "expected layout of bijective once", "'map'"),
    ("bijective", {"layout": "(4,8", "onto": 4}, "layout: expected ',' or ')' in a tuple, got the end", "^"),
    ("bijective", {"layout": 4.5, "onto": 4}, "layout: expected text or a whole number, got 4.5", ""),
    ("bijective", {"layout": "4", "onto": True}, "onto: expected text or a whole number, got True", ""),
    (
        "bijective",
        {"layout": "4", "onto": "M >= 3"},
        "onto: expected a number, got the condition M >= 3; select(M >= 3, 1, 0)",
        "^",
    ),
    ("bijective", {"layout": "Sw<3,4,3>", "onto": 4}, "expected a Layout, ComposedLayout or AddressMap", ""),
    ("fits_in", {"layout": "4", "bits": "M"}, "bits: expected a number, got M", ""),
    ("fits_in", {"layout": "4", "bits": 0}, "expected 1 to 128 bits, got 0", ""),
    ("fits_in", {"layout": "4", "signed": "maybe"}, "signed: expected true or false, got 'maybe'", ""),
    ("injective", {"layout": "4", "when": "i < 4"}, "expected over, the coordinates of the predicate, ", "got none"),
    ("injective", {"map": "i", "over": "i < M, j < i"}, "over: expected extents that are the same", ""),
    ("injective", {"map": "i", "over": {"i j": 4}}, "over: expected '<' and an extent", ""),
    ("injective", {"map": "i", "over": {"i": 4.5}}, "over: expected text or a whole number, got 4.5", ""),
    ("injective", {"map": "i", "over": "i < 4", "when": "i <"}, "layout: when: expected an integer expression", ""),
    ("injective", {"layout": "(4,8)", "over": "i"}, "layout: expected a coordinate for each of the 2 modes, got i", ""),
    ("in_bounds", {"map": "i", "over": "i < M", "extent": "i"}, "expected i only where coordinates are known", ""),
    ("in_bounds", {"layout": "4", "extent": 4, "when": "i < 3"}, "when: expected a function such as (i, j) ->", ""),
    (
        "in_bounds",
        {"layout": "4", "extent": 4, "when": "in -> in < 3"},
        "when: expected names that Python does not",
        "",
    ),
    ("in_bounds", {"layout": "4", "extent": 4, "when": "i < 4 -> i < 3"}, "when: expected names of coordinates", ""),
    ("injective", {"map": "i", "over": "i < 0"}, "over: expected extents of at least 1, got 0", ""),
    ("holds", {"fact": "M"}, "fact: expected a relation", "^"),
    ("holds", {"fact": "M >= N >= 3"}, "fact: expected one fact, got 2: M >= N >= 3", ""),
]


@pytest.mark.parametrize("kind, fields, start, end", REFUSED, ids=[f"{r[2]} {r[3]}" for r in REFUSED])
def test_what_cannot_be_built_names_the_field_and_the_value(
    kind: str, fields: dict[str, Any], start: str, end: str
) -> None:
    with pytest.raises(SymlayoutError) as e:
        claim_from(kind, fields)

    assert not isinstance(e.value, InternalError)
    assert str(e.value).startswith(start)
    assert str(e.value).endswith(end)


def test_given_and_expect_are_checked_too() -> None:
    with pytest.raises(ClaimError, match="expected one of proved, refuted, unknown, vacuous as expect, got 'no'"):
        claim_from("injective", {"layout": "4"}, expect="no")
    with pytest.raises(SymlayoutError, match=r"expected one of the declared names \(M\), got 'N'"):
        claim_from("injective", {"layout": "M"}, Declared([M]), ["N >= 3"])
    with pytest.raises(ClaimError, match="expected i only where coordinates are known"):
        claim_from("injective", {"map": "i", "over": "i < M"}, given=["i <= M"])


# -- prove ----------------------------------------------------------------------------------------------------

GOOD = '[[claim]]\nkind = "injective"\nlayout = "(M,4):(4,1)"\nname = "rows"\n'
WRONG = '[[claim]]\nkind = "bijective"\nlayout = "(4,8)"\nonto = 31\n'
COMMENT = "int x; // symlayout: bijective (4,8):(8,1) onto 32\n"


def test_toml_and_comments_are_proved_where_they_stand(tmp_path: Path) -> None:
    write(tmp_path, {"a.toml": GOOD + WRONG, "b.cu": "\n" + COMMENT})
    run = Run("prove", tmp_path / "a.toml", tmp_path / "b.cu", "--format", "json")

    assert run.status == 1
    assert [(":".join(map(str, v["place"].values())), v["outcome"]) for v in json.loads(run.out)["verdicts"]] == [
        (f"{tmp_path}/a.toml:1:1:rows", "proved"),
        (f"{tmp_path}/a.toml:5:1:bijective", "refuted"),
        (f"{tmp_path}/b.cu:2:22:bijective", "proved"),
    ]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_kind_of_source_file(tmp_path: Path, suffix: str) -> None:
    mark = "#" if suffix in PYTHON_SUFFIXES else "//"
    write(tmp_path, {f"k{suffix}": f"{mark} symlayout: injective (4,8)\n"})

    assert Run("prove", tmp_path / f"k{suffix}").status == 0


def test_folders_are_searched_for_all_three(tmp_path: Path) -> None:
    python = "from checkers import Injective\nfrom symlayout import Layout\nx = Injective(Layout(4))\n"
    other = {
        "pyproject.toml": "[project]\nname = 'x'\n",
        "plain.cu": "// see symlayout: the manual\n",
        "note.txt": "// symlayout: nonsense\n",
        ".hidden/a.toml": WRONG,
        "_private/a.toml": WRONG,
        "env/pyvenv.cfg": "",
        "env/lib/a.toml": WRONG,
    }
    write(tmp_path, {"d/a.toml": GOOD, "d/b.cuh": COMMENT, "c.py": python, **other})
    run = Run("prove", tmp_path, "--format", "json")

    places = [Path(v["place"]["file"]).name for v in json.loads(run.out)["verdicts"]]
    assert (run.status, places) == (0, ["c.py", "a.toml", "b.cuh"])


def test_python_files_may_state_claims_both_ways(tmp_path: Path) -> None:
    objects = "from checkers import Injective\nfrom symlayout import Layout\nx = Injective(Layout(4))\n"
    write(
        tmp_path,
        {
            "both.py": objects + "# symlayout: injective 8\n",
            "kernel.py": "import no_such_module\n# symlayout: injective 8\n",
        },
    )

    assert Run("prove", tmp_path / "both.py").out.count("proved  ") == 2
    assert Run("prove", tmp_path / "kernel.py").status == 0  # it makes no claims, so it is not imported


@pytest.mark.parametrize(
    "files, messages",
    [
        (
            {"a.toml": "[[claim]]\nkind = 'bijectve'\n"},
            ["a.toml:2:1: expected a kind of claim (", "did you mean bijective?"],
        ),
        ({"a.toml": GOOD + "bits = 3\n"}, ["a.toml:5:1: expected fields of injective (layout, ", "got 'bits'"]),
        (
            {"a.toml": "[[claim]]\nkind = 'injective'\nlayout = '(4,8'\n"},
            ["a.toml:3:15: layout: expected ',' or ')'", "\n    ^"],
        ),
        ({"a.toml": "x = \n"}, ["a.toml:1:5: expected a TOML file, got "]),
        ({"a.toml": "[tool.x]\n"}, ["a.toml:1:1: expected one of dims, given, claim, got 'tool'"]),
        ({"a.cu": "// symlayout: bijectve 4 onto 4\n"}, ["a.cu:1:15: expected a kind", "bijectve 4 onto 4\n^"]),
        (
            {"a.cu": "// symlayout: bijective 4 unto 4\n"},
            ["a.cu:1:27: expected fields", "got 'unto'; did you mean onto?\nbijective 4 unto 4\n            ^"],
        ),
        (
            {"a.cu": "// symlayout: bijective (4,8 onto 4\n"},
            ["a.cu:1:30: layout: expected ',' or ')'", "(4,8 onto 4\n     ^"],
        ),
        ({"a.cu": "int x;\n"}, ["expected claims such as Bijective(layout, onto=64), got none"]),
        ({"a.txt": "x"}, ["expected a file with claims (.c, ", "a.txt"]),
    ],
)
def test_bad_input_is_one_message_with_its_place(tmp_path: Path, files: dict[str, str], messages: list[str]) -> None:
    write(tmp_path, files)
    run = Run("prove", *(tmp_path / name for name in files))

    assert run.status == 2
    assert run.err.count("error: ") == 1
    for m in messages:
        assert m in run.err
    assert "Traceback" not in run.out + run.err


def test_parts_that_do_not_fit_are_bad_input_and_leave_the_others(tmp_path: Path) -> None:
    wrong = "[[claim]]\nkind = 'surjective'\nlayout = '4'\nonto = [4, 8]\n"
    run = Run("prove", write(tmp_path, {"a.toml": wrong + GOOD}))

    assert run.status == 2
    assert f"{tmp_path}/a.toml:1:1: expected " in run.err
    assert "1 proved" in run.out


def test_a_folder_without_claims_is_bad_input(tmp_path: Path) -> None:
    run = Run("prove", write(tmp_path, {"a.toml": "[tool]\n", "a.cu": "int x;\n"}))

    assert run.status == 2
    assert "symlayout or checkers, TOML files with a [[claim]] table or comments with claims below" in run.err


def test_exit_status_is_the_first_that_applies(tmp_path: Path) -> None:
    vacuous = GOOD + 'given = "M < 0"\n'
    write(tmp_path, {"good.toml": GOOD, "wrong.toml": WRONG, "vacuous.toml": vacuous, "bad.toml": "x"})

    def status(*names: str) -> int:
        return Run("prove", *(tmp_path / f"{n}.toml" for n in names)).status

    assert status("good") == 0
    assert status("good", "vacuous") == 3
    assert status("vacuous", "wrong", "good") == 1
    assert status("vacuous", "wrong", "bad") == 2


def test_reports_go_to_a_file_and_text_to_the_terminal(tmp_path: Path) -> None:
    write(tmp_path, {"a.toml": GOOD + WRONG})
    texts = {}
    for name in ("text", "json", "junit", "sarif"):
        run = Run("prove", tmp_path / "a.toml", "--format", name, "-o", tmp_path / name)
        assert run.status == 1
        assert "proved    injective: (M,4):(4,1)" in run.out
        texts[name] = (tmp_path / name).read_text()

    assert texts["text"].startswith(
        f"{tmp_path}/a.toml\n  1:1     proved    injective: (M,4):(4,1)  [chain of strides, T2]\n"
    )
    assert len(json.loads(texts["json"])["verdicts"]) == 2
    assert ElementTree.fromstring(texts["junit"]).get("failures") == "1"
    (result,) = json.loads(texts["sarif"])["runs"][0]["results"]
    assert (result["ruleId"], result["locations"][0]["physicalLocation"]["region"]) == (
        "bijective",
        {"startLine": 5, "startColumn": 1},
    )


def test_machine_formats_print_nothing_else(tmp_path: Path) -> None:
    write(tmp_path, {"a.toml": GOOD, "b.toml": "x"})
    run = Run("prove", tmp_path / "a.toml", tmp_path / "b.toml", "--format", "sarif")

    assert run.status == 2
    assert json.loads(run.out)["runs"][0]["invocations"][0]["executionSuccessful"] is False


@pytest.mark.parametrize("where", ["none/r.json", "."])
def test_a_report_that_cannot_be_written_is_refused_before_the_proofs(tmp_path: Path, where: str) -> None:
    write(tmp_path, {"a.toml": GOOD})
    run = Run("prove", tmp_path / "a.toml", "-o", tmp_path / where)

    assert (run.status, run.out) == (2, "")
    assert "expected a file in a folder that exists, got " in run.err


def test_examples_as_text() -> None:
    run = Run("prove", ROOT / "examples" / "text")

    assert run.status == 0, run.out + run.err
    assert run.out.count("(as expected)") == 3


def test_blocks_of_the_guide(tmp_path: Path) -> None:
    """What docs/claims_as_text.md shows is accepted, and ends as it says."""
    page = (ROOT / "docs" / "claims_as_text.md").read_text(encoding="utf-8")
    toml, cpp = (re.search(rf"```{lang}\n(.*?)```", page, re.DOTALL) for lang in ("toml", "cpp"))
    assert toml is not None
    assert cpp is not None
    write(tmp_path, {"a.toml": toml[1], "b.cuh": cpp[1]})

    run = Run("prove", tmp_path)

    assert run.status == 0, run.out + run.err
    commands = set(re.findall(r"symlayout (\S+)", " ".join(re.findall(r"^\$ (.*)$", page, re.MULTILINE))))
    assert commands <= {c.name or c.callback.__name__ for c in app.registered_commands}  # type: ignore[union-attr]
