"""Reports as files: text, JSON and back, JUnit XML for test dashboards, SARIF 2.1.0 for code scanning."""

from __future__ import annotations

import enum
import hashlib
import json
import re
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from .. import __version__
from ..errors import CertificateError, unread
from ..finding.found import Found
from ..finding.place import NOWHERE, Place
from ..text.reader import short
from .report import SCHEMA, Outcome, Report, Verdict, identifier, indented

SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
SARIF_RESULTS = 5000  # what GitHub keeps of a run
INPUT_ERROR = "input_error"
ANNOTATIONS = {"error": "error", "warning": "warning", "note": "notice"}
LEVELS = {Outcome.PROVED: "error", Outcome.REFUTED: "error", Outcome.VACUOUS: "warning", Outcome.UNKNOWN: "note"}
UNPRINTABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # XML has no place for these


class Format(enum.StrEnum):
    """The format of a report."""

    TEXT = "text"
    JSON = "json"
    JUNIT = "junit"
    SARIF = "sarif"
    GITHUB = "github"


def rendered(format: Format, report: Report, errors: Iterable[Found] = ()) -> str:
    """The report and the places that gave no claim, as one text."""
    return WRITERS[format](report, list(errors))


def rule_of(claim: Any) -> str:
    """The stable name of a kind of claim, of an obligation or of the rule that is broken: ``in_bounds``."""
    if hasattr(claim, "rule"):
        return str(claim.rule.id)
    obligation: str = getattr(claim, "obligation", "")
    return obligation.replace(" ", "_") or identifier(type(claim))


# -- text and JSON ----------------------------------------------------------------------------------------


def _text(report: Report, errors: list[Found]) -> str:
    out, shown = [], ""
    for v in report.verdicts:
        if v.place.group != shown:
            shown = v.place.group
            out.append(shown)
        head, *rest = v.lines()
        out.append(f"  {indented(v.place.where)}{head}")
        out += [f"  {indented(' ' if v.place.where else '')}{line}" for line in rest]
    out += [*report.size_lines(), *(f"assumed   {x}" for x in report.assumed)]
    out.append(report.summary())
    out += [f"error: {e.place}: {e.error}" for e in errors]
    return "\n".join(out) + "\n"


def _json(report: Report, errors: list[Found]) -> str:
    data = {
        "schema": SCHEMA,
        "sizes": list(report.sizes),
        "assumed": list(report.assumed),
        "verdicts": [v.to_json() for v in report.verdicts],
        "errors": [{"place": e.place.to_json(), "message": e.error} for e in errors],
    }
    return json.dumps(data, indent=1) + "\n"


# -- JUnit ------------------------------------------------------------------------------------------------


def _junit(report: Report, errors: list[Found]) -> str:
    """One test case for each verdict, one suite for each file; a verdict other than expected is a failure."""
    suites: dict[str, ElementTree.Element] = {}
    root = ElementTree.Element("testsuites", name="symlayout")

    def case(place: Place, name: str, seconds: float = 0.0) -> ElementTree.Element:
        file = place.group or "claims"
        if file not in suites:
            suites[file] = ElementTree.SubElement(root, "testsuite", name=_plain(file))
        out = ElementTree.SubElement(suites[file], "testcase", classname=_plain(file), name=_plain(name))
        out.set("time", f"{seconds:.6f}")
        if place.line:
            out.set("file", _plain(file))
            out.set("line", str(place.line))
        if place.column:
            out.set("column", str(place.column))
        return out

    for v in report.verdicts:
        own_name = f"{v.place.name}: " if v.place.file and v.place.name not in ("", rule_of(v.claim)) else ""
        added = case(v.place, f"{own_name}{v.sentence}", v.seconds)
        _properties(added, {"assumptions": "; ".join(v.assumptions)})
        if not v.as_expected:
            headline, *_ = v.lines()
            failure = ElementTree.SubElement(added, "failure", type=v.outcome.value, message=_plain(headline))
            failure.text = _plain(str(v))
    for e in errors:
        headline, *_ = e.error.splitlines() or [""]
        problem = ElementTree.SubElement(case(e.place, e.place.name or "claims"), "error", message=_plain(headline))
        problem.set("type", "bad input")
        problem.text = _plain(e.error)
    for suite in suites.values():
        _properties(suite, {"sizes": "; ".join(report.sizes), "assumed": "; ".join(report.assumed)})
    for element in (*suites.values(), root):
        cases = list(element.iter("testcase"))
        element.set("tests", str(len(cases)))
        element.set("failures", str(sum(c.find("failure") is not None for c in cases)))
        element.set("errors", str(sum(c.find("error") is not None for c in cases)))
        element.set("time", f"{sum(float(c.get('time', '0')) for c in cases):.6f}")
    ElementTree.indent(root, " ")
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _properties(element: ElementTree.Element, known: Mapping[str, str]) -> None:
    """Assumptions as properties of a suite or a case, which come first in it; nothing if there are none."""
    told = {name: text for name, text in known.items() if text}
    if told:
        properties = ElementTree.Element("properties")
        element.insert(0, properties)
        for name, text in told.items():
            ElementTree.SubElement(properties, "property", name=name, value=_plain(text))


def _plain(text: str) -> str:
    return UNPRINTABLE.sub("?", text)


# -- SARIF ------------------------------------------------------------------------------------------------


def _sarif(report: Report, errors: list[Found]) -> str:
    """Results for the verdicts that are not as expected, the worst first."""
    order = list(dict.fromkeys(LEVELS.values()))
    wrong = sorted((v for v in report.verdicts if not v.as_expected), key=lambda v: order.index(LEVELS[v.outcome]))
    rules = {rule_of(v.claim): _sentence(v.claim) for v in report.verdicts}
    rules |= {INPUT_ERROR: "A claim or a file of claims that cannot be read."} if errors else {}
    notes = [_notification(e.place, e.error) for e in errors]
    if len(wrong) > SARIF_RESULTS:
        notes.append(_notification(NOWHERE, f"{len(wrong) - SARIF_RESULTS} results are left out"))
    seen: Counter[str] = Counter()
    driver = {
        "name": "symlayout",
        "semanticVersion": __version__,
        "rules": [_rule(name, text) for name, text in sorted(rules.items())],
    }
    run = {
        "tool": {"driver": driver},
        "invocations": [{"executionSuccessful": not errors, "toolExecutionNotifications": notes}],
        "results": [*map(_input_error, errors), *(_result(v, seen) for v in wrong[:SARIF_RESULTS])],
        "columnKind": "unicodeCodePoints",
        "properties": {"sizes": list(report.sizes), "assumed": list(report.assumed)},
    }
    return json.dumps({"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1) + "\n"


def _rule(name: str, text: str) -> dict[str, Any]:
    said = {"text": text}
    help_ = {"text": f"{text} `symlayout explain {name}` says more."}
    return {"id": name, "shortDescription": said, "fullDescription": said, "help": help_}


def _input_error(e: Found) -> dict[str, Any]:
    """An alert for a place that gave no claim: code scanning shows no notifications."""
    content = hashlib.sha256(f"{INPUT_ERROR}\n{e.error}".encode()).hexdigest()[:16]
    return {
        "ruleId": INPUT_ERROR,
        "level": "error",
        "message": {"text": e.error or "no claim"},
        "partialFingerprints": {"primaryLocationLineHash": f"{content}:1"},
        **_location(e.place),
    }


def _result(v: Verdict, seen: Counter[str]) -> dict[str, Any]:
    rule = rule_of(v.claim)
    content = hashlib.sha256(f"{rule}\n{v.claim}".encode()).hexdigest()[:16]
    seen[content] += 1
    return {
        "ruleId": rule,
        "level": LEVELS[v.outcome],
        "message": {"text": str(v)},
        "partialFingerprints": {"primaryLocationLineHash": f"{content}:{seen[content]}"},
        "properties": {"assumptions": list(v.assumptions)},
        **_location(v.place),
    }


def _location(place: Place) -> dict[str, Any]:
    names = {"logicalLocations": [{"fullyQualifiedName": place.name}]} if place.name else {}
    if not place.file:
        return {"locations": [names]} if names else {}
    column = {"startColumn": place.column} if place.column else {}
    physical = {"artifactLocation": _artifact(place.file), "region": {"startLine": place.line or 1, **column}}
    return {"locations": [{"physicalLocation": physical, **names}]}


def _artifact(file: str) -> dict[str, str]:
    """A file, relative to the root of its repository or to where we are, where it is below one of them."""
    path = Path(file).resolve()
    root = next((p for p in path.parents if (p / ".git").exists()), Path.cwd())
    if not path.is_relative_to(root):
        return {"uri": path.as_uri()}
    return {"uri": quote(path.relative_to(root).as_posix()), "uriBaseId": "%SRCROOT%"}


def _sentence(claim: Any) -> str:
    """The sentence of a kind of claim, in one line."""
    if hasattr(claim, "rule"):
        return f"{claim.rule.sentence[:1].upper()}{claim.rule.sentence[1:]}."
    if getattr(claim, "obligation", ""):
        return "What a layout needs to be what its operations say."
    return ((type(claim).__doc__ or "").strip().splitlines() or [type(claim).__name__])[0]


def _notification(place: Place, message: str) -> dict[str, Any]:
    shown = f"{place}: {message}" if place else message
    return {"level": "error" if place else "note", "message": {"text": shown}, **_location(place)}


# -- GitHub's workflow commands -----------------------------------------------------------------------------


def _github(report: Report, errors: list[Found]) -> str:
    """A line for each verdict that is not as expected and for each error, which GitHub shows next to the code."""
    wrong = [v for v in report.verdicts if not v.as_expected]
    lines = [_command("error", e.place, "bad input", e.error) for e in errors]
    lines += [
        _command(ANNOTATIONS[LEVELS[v.outcome]], v.place, f"{v.outcome.value}: {v.sentence}", str(v)) for v in wrong
    ]
    return "\n".join([*lines, *report.size_lines(), report.summary()]) + "\n"


def _command(level: str, place: Place, title: str, message: str) -> str:
    """``::error file=a.cu,line=3,col=4,title=refuted::what fails``."""
    parts = {"file": place.file and unquote(_artifact(place.file)["uri"]), "line": place.line, "col": place.column}
    properties = [f"{k}={_escaped(str(v), ':,')}" for k, v in {**parts, "title": title}.items() if v]
    return f"::{level} {','.join(properties)}::{_escaped(message)}"


def _escaped(text: str, more: str = "") -> str:
    """Text in which the characters that end a command, or a property of one, are written as GitHub reads them."""
    return "".join(f"%{ord(c):02X}" if c in f"%\r\n{more}" else c for c in text)


def step_summary(report: Report, errors: Iterable[Found]) -> str:
    """The report as Markdown, for the summary of a job: the sum, and a row for all that is not as expected."""
    rows = [(e.place, "bad input", e.error) for e in errors]
    rows += [(v.place, v.outcome.value, str(v)) for v in report.verdicts if not v.as_expected]
    lines = [f"**symlayout**: {report.summary()}", ""]
    lines += [f"Sizes: {'; '.join(report.sizes)}.", ""] if report.sizes else []
    if rows:
        lines += ["| where | verdict | what |", "|---|---|---|"]
        lines += [f"| {_cell(str(p))} | {outcome} | {_cell(said)} |" for p, outcome, said in rows]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    """Text in a cell of a Markdown table, as it is."""
    for plain, written in (("|", "&#124;"), ("\n", "<br>"), ("  ", "&nbsp;&nbsp;")):
        text = escape(text).replace(plain, written) if plain == "|" else text.replace(plain, written)
    return f"<code>{text}</code>"


WRITERS: Mapping[Format, Callable[[Report, list[Found]], str]] = {
    Format.TEXT: _text,
    Format.JSON: _json,
    Format.JUNIT: _junit,
    Format.SARIF: _sarif,
    Format.GITHUB: _github,
}


# -- back from JSON ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Stored:
    """A certificate as a file holds it, with the sentence and the lemmas of its verdict where it has one."""

    certificate: Mapping[str, Any]
    claim: str = ""
    lemmas: tuple[str, ...] = ()


def stored_in(file: Path) -> tuple[list[Stored], int]:
    """The certificates of a JSON file, and how many proofs of a report in it have none.

    The file is a report of ``prove --format json``, one certificate or a list of them. Raises CertificateError
    for anything else.
    """
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as e:
        raise CertificateError(f"expected a JSON file, got {unread(e)}") from None
    if isinstance(data, dict) and data.get("schema", SCHEMA) != SCHEMA:
        raise CertificateError(f"expected schema {SCHEMA}, got {data['schema']!r}")
    if not isinstance(data, dict) or "verdicts" not in data:
        found = [Stored(_certificate(c)) for c in (data if isinstance(data, list) else [data])]
        without = 0
    else:
        verdicts = data["verdicts"]
        if "schema" not in data or not isinstance(verdicts, list) or not all(isinstance(v, dict) for v in verdicts):
            raise CertificateError("expected a report with its schema and a list of verdicts, got something else")
        found = [
            Stored(_certificate(v["certificate"]), str(v.get("claim", "")), tuple(map(str, v.get("lemmas") or ())))
            for v in verdicts
            if "certificate" in v
        ]
        without = sum(v.get("outcome") == Outcome.PROVED.value and "certificate" not in v for v in verdicts)
    if not found:
        raise CertificateError("expected at least one certificate, got none")
    return found, without


def _certificate(x: Any) -> Mapping[str, Any]:
    if isinstance(x, dict) and "claim" in x and "proof" in x:
        return x
    shown = json.dumps(x)
    raise CertificateError(f"expected a certificate with claim and proof, got {short(shown)}")
