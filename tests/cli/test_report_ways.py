"""The command on what it wrote and on words: certificates, diff, init, explain; CI files."""

from __future__ import annotations

import json
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

import pytest

from checkers import Computes, Equal, Holds, Injective, prove
from checkers.claim_fields import Reads, readings, subjects_of
from checkers.claim_text import KINDS, claim_from
from symlayout import Layout, eq
from symlayout.answers.outcome import Outcome
from symlayout.cli import app
from symlayout.errors import ClaimError, NotationError
from symlayout.finding.comments import SUFFIXES
from tests.cli.test_text_ways import GOOD, ROOT, M, N, Run, ld, write

# -- certificates ---------------------------------------------------------------------------------------------


@pytest.fixture
def report(tmp_path: Path) -> Path:
    write(tmp_path, {"a.toml": GOOD + '[[claim]]\nkind = "equal"\na = "Sw<3,3,3> o 0 o 4"\nb = "4"\n'})
    assert Run("prove", tmp_path / "a.toml", "--format", "json", "-o", tmp_path / "r.json").status == 0
    return tmp_path / "r.json"


def test_certificates_are_accepted_in_words(report: Path) -> None:
    run = Run("check-certificate", report)

    assert run.status == 0, run.out
    assert "accepted  (M,4):(4,1) is injective, where 1 <= M <= 2147483647" in run.out
    assert "for injective: (M,4):(4,1)" in run.out
    assert "1 proofs without a certificate" in run.out


def test_a_changed_certificate_is_rejected(report: Path, tmp_path: Path) -> None:
    certificate = json.loads(report.read_text())["verdicts"][0]["certificate"]
    certificate["claim"]["modes"][1][1] = 5  # the proof is about stride 1
    (tmp_path / "c.json").write_text(json.dumps([certificate]))
    (tmp_path / "odd.json").write_text(json.dumps({"claim": {"kind": "no"}, "proof": 0}))
    run = Run("check-certificate", report, tmp_path / "c.json", tmp_path / "odd.json")

    assert run.status == 1
    assert "rejected  (M,4):(4,5) is injective" in run.out
    assert (
        "rejected  a claim that cannot be read\n            expected a well-formed certificate, got KeyError" in run.out
    )


def test_a_certificate_states_its_whole_claim(report: Path, tmp_path: Path) -> None:
    """A report whose certificate was of other lanes, or of none, was accepted: the claim's words were not looked at."""
    run = Run("check-certificate", report)
    assert "states Injective of layout (M,4):(4,1), where 1 <= M <= 2147483647" in run.out
    data = json.loads(report.read_text())
    for slip, reason in (
        (lambda c: c["statement"]["layout"]["layout"].update(stride=[4, 5]), "are not those of the statement"),
        (lambda c: c["statement"]["sizes"].update(M=[0, 5, 1]), "an assumption that the statement does not make"),
        (lambda c: c.pop("statement"), "expected the statement of the claim in its certificate"),
    ):
        changed = json.loads(json.dumps(data))
        slip(changed["verdicts"][0]["certificate"])
        (tmp_path / "c.json").write_text(json.dumps(changed))
        run = Run("check-certificate", tmp_path / "c.json")
        assert run.status == 1
        assert reason in run.out


def test_a_malformed_file_outweighs_a_rejected_one(report: Path, tmp_path: Path) -> None:
    (tmp_path / "old.json").write_text('{"schema": 0, "verdicts": []}')
    run = Run("check-certificate", tmp_path / "old.json", tmp_path / "none.json", report)

    assert run.status == 2
    assert "old.json: expected schema 2, got 0" in run.err
    assert "none.json: expected a JSON file, got one that does not exist" in run.err
    assert "accepted" in run.out


def test_checking_needs_no_solver(report: Path) -> None:
    script = (
        "import sys\nfrom symlayout.cli import app\n"
        "try:\n    app(['check-certificate', sys.argv[1]])\nexcept SystemExit as e:\n    code = e.code\n"
        "print(code, sorted({'z3', 'sympy'} & set(sys.modules)))\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", script, str(report)], cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert run.stdout.splitlines()[-1] == "0 []"


# -- diff, explain, init --------------------------------------------------------------------------------------


def test_diff_of_equal_layouts() -> None:
    run = Run("diff", "(M,8):(8,1)", "(M,2,4):(8,4,1)", "--dim", "M,multiple_of=8")
    same = Run("diff", "(8,M):(1,8)", "(2,4,M):(1,2,8)", "--dim", "M", "--dim", "N(at_least=M)")

    assert run.status == 1
    assert "fails for M = 8: index 8: " in run.out
    assert same.status == 0
    assert "b  (2,4,M):(1,2,8)\n   size 8*M, shape (2,4,M), coalesced 8*M:1\n" in same.out
    assert "proved    equal" in same.out


def test_diff_under_facts() -> None:
    layouts = ("(M,4):(N,1)", "(M,4):(4,1)")

    assert Run("diff", *layouts).status == 1
    assert Run("diff", *layouts, "--given", "N == 4").status == 0
    assert Run("diff", *layouts, "--given", "N == 4 and N > 4").status == 3


@pytest.mark.parametrize(
    "args, message",
    [
        (("(4", "4"), "expected ',' or ')' in a tuple, got the end of the text\n(4\n  ^"),
        (("4", "Sw<3,4,3>"), "expected a Layout, ComposedLayout or AddressMap, got Swizzle(3, 4, 3)"),
        (("4", "4", "--dim", "M,x=3"), "expected one of at_least, at_most, below, multiple_of, each once, got 'x'"),
        (("4", "4", "--given", "M"), "expected a relation"),
        (("M", "M", "--dim", "M,below=4", "--dim", "M,below=5"), "expected each size declared once"),
    ],
)
def test_diff_of_what_is_no_layout(args: tuple[str, ...], message: str) -> None:
    run = Run("diff", *args)

    assert (run.status, run.out) == (2, "")
    assert message in run.err


def test_explain_one_word_and_all() -> None:
    assert Run("explain", "T3").out.startswith("T3 Mixed radix\n  If in some order s_1 = 1")
    assert all(f"\n  {name}\n" in Run("explain").out for name in KINDS)
    unknown = Run("explain", "T98")
    assert (unknown.status, unknown.out) == (2, "")
    assert "expected a word that an answer uses, got 'T98'; did you mean T" in unknown.err
    assert Run("explain", "mbarrier tile_ready").out.startswith("mbarrier\n  A role waits")
    assert "NVIDIA H200: 4.32538e+07 bytes, measured" in Run("explain", "l2_again_bytes").out


def test_init_writes_files_that_pass(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "layouts"
    run = Run("init", folder)

    assert run.status == 0
    assert sorted(p.name for p in folder.iterdir()) == ["claims.toml", "test_claims.py"]
    for target in (folder, folder / "claims.toml", folder / "test_claims.py"):
        assert Run("prove", target).status == 0
    tests = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert "1 passed" in tests.stdout, tests.stdout + tests.stderr


def test_init_overwrites_nothing(tmp_path: Path) -> None:
    write(tmp_path, {"test_claims.py": "mine"})
    run = Run("init", tmp_path)

    assert run.status == 2
    assert "test_claims.py, which exist" in run.err
    assert [p.read_text() for p in tmp_path.iterdir()] == ["mine"]
    assert "expected a folder, got " in Run("init", tmp_path / "test_claims.py").err


def test_sizes_and_facts_read_as_in_python() -> None:
    """The same claim as text and as objects gets the same verdict, word for word."""
    text = claim_from("injective", {"layout": "(M,N):(1,ld)"}, given=["ld >= M", "N == 2*M"])
    objects = Injective(Layout((M, N), (1, ld)), given=[ld >= M, eq(N, 2 * M)])

    assert text == objects
    assert str(prove(text)) == str(prove(objects))


# -- CI files -------------------------------------------------------------------------------------------------

CI_FILES = (".github/actions/symlayout/action.yml", ".github/workflows/prove.yml", ".pre-commit-hooks.yaml")


@pytest.mark.parametrize("name", CI_FILES)
def test_commands_of_ci_files_exist(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    lines = [line.strip().removeprefix("entry: ") for line in text.splitlines()]
    commands = [line.split() for line in lines if line.startswith("symlayout ")]
    known = {c.name or c.callback.__name__: c for c in app.registered_commands}  # type: ignore[union-attr]

    assert commands or name.endswith("workflows/prove.yml")
    for _, command, *args in commands:
        shown = Run(command, "--help").out
        assert command in known
        assert all(a in shown for a in args if a.startswith("--"))


@pytest.mark.parametrize("name", CI_FILES)
def test_ci_files_are_yaml(name: str) -> None:
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    data = yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))

    if name.endswith("action.yml"):
        assert data["runs"]["using"] == "composite"
        assert all("shell" in step for step in data["runs"]["steps"] if "run" in step)
    elif name.endswith("hooks.yaml"):
        assert {"id", "name", "entry", "language"} <= set(data[0])
        assert all(re.search(data[0]["files"], f"a/b{suffix}") for suffix in (*SUFFIXES, ".toml"))
    else:
        (job,) = data["jobs"].values()
        assert job["steps"][-1]["uses"] == "./.github/actions/symlayout"


@pytest.mark.parametrize("name", CI_FILES)
def test_ci_files_have_no_tabs_and_even_indents(name: str) -> None:
    """What the readers of YAML agree on, also where PyYAML is not installed."""
    for line in (ROOT / name).read_text(encoding="utf-8").splitlines():
        indent = len(line) - len(line.lstrip(" "))
        assert "\t" not in line
        assert indent % 2 == 0, line
        assert line == line.rstrip()


def test_what_a_claim_is_about_are_its_fields_of_that_type() -> None:
    assert {k.name: subjects_of(k.made_by) for k in KINDS.values() if k.make is k.made_by} == {
        k.name: k.subjects for k in KINDS.values() if k.make is k.made_by
    }
    assert Equal(Layout(4), Layout((2, 2))).subjects() == (Layout(4), Layout((2, 2)))
    assert Holds(ld >= M).subjects() == ()


def test_what_text_cannot_give_is_no_field_of_a_kind() -> None:
    assert readings(Computes) == {"output": Reads.WORD}
    assert Computes not in {k.made_by for k in KINDS.values()}


def test_an_error_about_text_has_its_caret_as_data() -> None:
    with pytest.raises(NotationError) as caught:
        claim_from("injective", {"layout": "(M,8:(1,ld)"})

    e = caught.value
    assert (e.field, e.at, e.excerpt.splitlines()) == ("layout", 4, ["(M,8:(1,ld)", "    ^"])
    assert "\n" not in e.message
    assert str(e) == f"{e.message}\n{e.excerpt}"
    assert pickle.loads(pickle.dumps(e)).excerpt == e.excerpt


def test_expectations_are_outcomes() -> None:
    claim = Injective(Layout(4), expect="refuted")

    assert claim.expect is Outcome.REFUTED
    assert prove(claim).verdicts[0].expect is Outcome.REFUTED
    with pytest.raises(ClaimError, match="expected one of proved, refuted, unknown, vacuous as expect, got 'wrong'"):
        Injective(Layout(4), expect="wrong")
