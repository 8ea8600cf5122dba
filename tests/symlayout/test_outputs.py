"""Reports as files: SARIF that code scanning takes, JUnit that dashboards take, JSON and back."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from checkers import TensorMapValid, TmaCopySafe, prove
from symlayout import Layout
from symlayout.answers.formats import SARIF_RESULTS, Format, rendered, rule_of, step_summary, stored_in
from symlayout.answers.report import Outcome, Report, Verdict
from symlayout.cli import app
from symlayout.errors import CertificateError
from symlayout.finding.collect import Found
from symlayout.finding.place import Place
from symlayout.tma import TensorMap
from tests.support.command import CliRunner


@dataclass(frozen=True)
class InBounds:
    """Every offset lies inside."""

    text: str = "in bounds: 4:1 in [0, 4)"
    obligation: str = field(default="", kw_only=True)

    def __str__(self) -> str:
        return self.text


def placed(text: str) -> Place:
    """``file:line:column name``, the column left out or not; else a name alone."""
    found = re.fullmatch(r"(.+?):(\d+)(?::(\d+))? (.*)", text)
    return Place(found[1], int(found[2]), int(found[3] or 0), found[4]) if found else Place(name=text)


def verdict(outcome: str, place: str = "a.toml:3 in_bounds", text: str = "c", **parts: Any) -> Verdict:
    return Verdict(InBounds(text), Outcome(outcome), place=placed(place), **parts)


ERRORS = [Found(Place("b.toml", 7, 2), error="expected a table, got 4\n4\n^")]
MIXED = Report(
    (
        verdict("proved", seconds=0.25),
        verdict("refuted", text="known", expect="refuted"),
        verdict("unknown", text="open"),
        verdict("vacuous", text="empty"),
        verdict("refuted", "src/k one.cu:12 name", "wrong", reason="a\x1b[31m <b> & \x00"),
        verdict("proved", "pkg.mod:claims name", "too good", expect="refuted"),
    )
)


@pytest.mark.parametrize(
    "place, text, where",
    [
        (Place("a/b.toml", 12, 3, "the name"), "a/b.toml:12:3", "12:3"),
        (Place("a b.cu", 1), "a b.cu:1", "1"),
        (Place("C:\\x.py", name="n"), "C:\\x.py", ""),
        (Place(name="pkg.mod:claims"), "pkg.mod:claims", ""),
        (Place(), "", ""),
    ],
)
def test_places(place: Place, text: str, where: str) -> None:
    assert (str(place), place.where, bool(place)) == (text, where, bool(text))


def test_rules_are_the_kinds_and_the_obligations() -> None:
    assert rule_of(InBounds()) == "in_bounds"
    assert rule_of(InBounds(obligation="in domain")) == "in_domain"


# -- SARIF ----------------------------------------------------------------------------------------------------


def sarif(report: Report, errors: list[Found] | None = None) -> dict[str, Any]:
    data = json.loads(rendered(Format.SARIF, report, errors or []))
    assert data["version"] == "2.1.0"
    (run,) = data["runs"]
    assert run["tool"]["driver"]["name"] == "symlayout"
    return dict(run)


def test_sarif_has_what_is_not_as_expected_the_worst_first() -> None:
    run = sarif(MIXED)

    assert [(r["level"], r["message"]["text"].split()[1]) for r in run["results"]] == [
        ("error", "wrong"),
        ("error", "too"),
        ("warning", "empty"),
        ("note", "open"),
    ]
    assert [r["id"] for r in run["tool"]["driver"]["rules"]] == ["in_bounds"]
    assert {r["ruleId"] for r in run["results"]} == {"in_bounds"}
    assert run["tool"]["driver"]["rules"][0]["shortDescription"]["text"] == "Every offset lies inside."
    assert run["invocations"] == [{"executionSuccessful": True, "toolExecutionNotifications": []}]


def test_sarif_paths_start_at_the_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    (tmp_path / "repo" / "src").mkdir()
    monkeypatch.chdir(tmp_path / "repo" / "src")
    outside = tmp_path / "x.cu"
    places = ["k one.cu:12 n", f"{outside}:2 n", f"{tmp_path}/repo/src/../a.cu:3 n"]
    run = sarif(Report(tuple(verdict("refuted", p, str(i)) for i, p in enumerate(places))))

    found = [r["locations"][0]["physicalLocation"] for r in run["results"]]
    assert [(f["artifactLocation"]["uri"], f["region"]["startLine"]) for f in found] == [
        ("src/k%20one.cu", 12),
        (outside.as_uri(), 2),
        ("a.cu", 3),
    ]
    assert [f["artifactLocation"].get("uriBaseId") for f in found] == ["%SRCROOT%", None, "%SRCROOT%"]


def test_sarif_fingerprints_depend_on_rule_and_claim_alone() -> None:
    def prints(*verdicts: Verdict) -> list[str]:
        return [r["partialFingerprints"]["primaryLocationLineHash"] for r in sarif(Report(verdicts))["results"]]

    a, b, c = prints(
        verdict("refuted"), verdict("refuted", "other.toml:99 n", seconds=3.0), verdict("refuted", text="d")
    )

    assert a.endswith(":1")
    assert b == a.replace(":1", ":2")
    assert c.partition(":")[0] != a.partition(":")[0]
    assert prints(verdict("unknown", "a.toml:50 n")) == [a]


def test_sarif_says_what_could_not_be_read() -> None:
    (invocation,) = sarif(MIXED, ERRORS)["invocations"]
    (note,) = invocation["toolExecutionNotifications"]

    assert not invocation["executionSuccessful"]
    assert note["message"]["text"].startswith("b.toml:7:2: expected a table")
    assert note["locations"][0]["physicalLocation"]["region"] == {"startLine": 7, "startColumn": 2}


def test_sarif_shows_what_could_not_be_read_as_an_alert() -> None:
    """Code scanning shows results alone: a claim that could not be read was seen by nobody."""
    alert, *_ = sarif(MIXED, ERRORS)["results"]

    assert (alert["ruleId"], alert["level"]) == ("input_error", "error")
    assert alert["locations"][0]["physicalLocation"]["region"] == {"startLine": 7, "startColumn": 2}
    assert "input_error" in {r["id"] for r in sarif(MIXED, ERRORS)["tool"]["driver"]["rules"]}


def test_sarif_stays_below_what_code_scanning_keeps() -> None:
    wrong = [verdict("unknown", text=str(i)) for i in range(SARIF_RESULTS)]
    run = sarif(Report((*wrong, verdict("refuted", text="first"))))

    assert len(run["results"]) == SARIF_RESULTS
    assert "first" in run["results"][0]["message"]["text"]
    assert run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"] == "1 results are left out"


# -- GitHub ---------------------------------------------------------------------------------------------------


def test_github_reads_a_command_for_each_finding() -> None:
    report = Report((verdict("refuted", "src/k, one.cu:12:3 n", "wrong", reason="50 %\nof it"), verdict("proved")))

    lines = rendered(Format.GITHUB, report, ERRORS).splitlines()

    assert lines == [
        "::error file=b.toml,line=7,col=2,title=bad input::expected a table, got 4%0A4%0A^",
        "::error file=src/k%2C one.cu,line=12,col=3,title=refuted%3A wrong::refuted   wrong%0A          50 %25%0Aof it",
        "1 proved, 1 refuted",
    ]


def test_the_summary_of_a_job_is_a_table() -> None:
    said = step_summary(Report((verdict("refuted", "a.cu:2:5 n", "a|b <c>"), verdict("proved"))), ERRORS)

    assert said.splitlines()[0] == "**symlayout**: 1 proved, 1 refuted"
    assert "| <code>a.cu:2:5</code> | refuted | <code>refuted&nbsp;&nbsp; a&#124;b &lt;c&gt;</code> |" in said
    assert "| <code>b.toml:7:2</code> | bad input |" in said


# -- JUnit ----------------------------------------------------------------------------------------------------


def test_junit_has_a_case_for_each_verdict() -> None:
    root = ElementTree.fromstring(rendered(Format.JUNIT, MIXED, ERRORS))

    assert root.tag == "testsuites"
    assert (root.get("tests"), root.get("failures"), root.get("errors"), root.get("time")) == (
        "7",
        "4",
        "1",
        "0.250000",
    )
    assert [(s.get("name"), s.get("tests")) for s in root] == [
        ("a.toml", "4"),
        ("src/k one.cu", "1"),
        ("pkg.mod:claims name", "1"),
        ("b.toml", "1"),
    ]
    names = [c.get("name") for c in root.iter("testcase")]
    assert names == ["c", "known", "open", "empty", "name: wrong", "too good", "claims"]


def test_junit_failures_hold_the_verdict_in_text_that_xml_can_hold() -> None:
    root = ElementTree.fromstring(rendered(Format.JUNIT, MIXED))
    failures = {c.get("name"): c.find("failure") for c in root.iter("testcase")}
    wrong = failures["name: wrong"]

    assert failures["c"] is None
    assert failures["known"] is None
    assert wrong is not None
    assert (wrong.get("type"), wrong.get("message")) == ("refuted", "refuted   wrong")
    assert "a?[31m <b> & ?" in (wrong.text or "")


# -- text and JSON --------------------------------------------------------------------------------------------


def test_text_is_what_the_terminal_shows() -> None:
    assert rendered(
        Format.TEXT, Report((verdict("proved"), verdict("refuted", "b.cu:2:5 n", "d", reason="why"))), ERRORS
    ) == (
        "a.toml\n  3       proved    c\nb.cu\n  2:5     refuted   d\n                    why\n1 proved, 1 refuted\n"
        "error: b.toml:7:2: expected a table, got 4\n4\n^\n"
    )


CERTIFICATE = {"claim": {"kind": "injective", "modes": [[4, 1]]}, "proof": {}}


def test_json_reads_back(tmp_path: Path) -> None:
    report = Report((verdict("proved", certificate=CERTIFICATE, lemmas=("l",)), verdict("proved"), verdict("refuted")))
    (tmp_path / "r.json").write_text(rendered(Format.JSON, report, ERRORS))
    data = json.loads((tmp_path / "r.json").read_text())
    (found,), without = stored_in(tmp_path / "r.json")

    assert data["errors"] == [{"place": {"file": "b.toml", "line": 7, "column": 2}, "message": ERRORS[0].error}]
    assert (found.certificate, found.claim, found.lemmas, without) == (CERTIFICATE, "c", ("l",), 1)


def test_certificates_alone_and_in_lists(tmp_path: Path) -> None:
    (tmp_path / "one.json").write_text(json.dumps(CERTIFICATE))
    (tmp_path / "two.json").write_text(json.dumps([CERTIFICATE, CERTIFICATE]))

    assert len(stored_in(tmp_path / "one.json")[0]) == 1
    assert len(stored_in(tmp_path / "two.json")[0]) == 2


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "expected a JSON file, got something else at line 1, column 1: Expecting value"),
        ("{", "expected a JSON file, got something else at line 1, column 2"),
        ("[" * 100_000, "expected a JSON file, got "),
        ("4", "expected a certificate with claim and proof, got 4"),
        ("[]", "expected at least one certificate, got none"),
        ("{}", "expected a certificate with claim and proof, got {}"),
        ('[{"claim": {}}]', "expected a certificate with claim and proof"),
        ('{"schema": 99, "verdicts": []}', "expected schema 2, got 99"),
        ('{"schema": 99, "claim": {}, "proof": {}}', "expected schema 2, got 99"),
        ('{"verdicts": []}', "expected a report with its schema and a list of verdicts"),
        ('{"schema": 2, "verdicts": 3}', "expected a report with its schema and a list of verdicts"),
        ('{"schema": 2, "verdicts": [3]}', "expected a report with its schema and a list of verdicts"),
        ('{"schema": 2, "verdicts": [{"certificate": 3}]}', "expected a certificate with claim and proof, got 3"),
        ('{"schema": 2, "verdicts": [{"outcome": "proved"}]}', "expected at least one certificate, got none"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "r.json").write_text(text)
    with pytest.raises(CertificateError) as e:
        stored_in(tmp_path / "r.json")

    assert str(e.value).startswith(message)


def test_a_broken_rule_goes_by_its_own_name() -> None:
    """Each finding of a tensor map is a rule of its own, which ``symlayout explain`` knows."""
    a = TensorMap.over(Layout((64, 8), (1, 72)), "u8", (64, 300), swizzle=128)
    sarif = json.loads(rendered(Format.SARIF, prove(TensorMapValid(a), TmaCopySafe(a, (1, 0)))))
    [run] = sarif["runs"]
    names = ["stride_multiple_16", "box_range", "coord0_multiple_16"]

    assert [r["ruleId"] for r in run["results"]] == names
    rules = {r["id"]: r["help"]["text"] for r in run["tool"]["driver"]["rules"]}
    assert rules["box_range"] == "Each box dimension is 1 to 256 elements. `symlayout explain box_range` says more."
    assert all(CliRunner().invoke(app, ["explain", name]).exit_code == 0 for name in rules)
