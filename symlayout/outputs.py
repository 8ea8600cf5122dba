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
from pathlib import Path
from typing import Any
from urllib.parse import quote

from . import __version__
from .errors import CertificateError
from .found import Found
from .reader import short
from .report import SCHEMA, Outcome, Report, Verdict

SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
SARIF_RESULTS = 5000  # what GitHub keeps of a run
LEVELS = {Outcome.PROVED: "error", Outcome.REFUTED: "error", Outcome.VACUOUS: "warning", Outcome.UNKNOWN: "note"}
PLACE = re.compile(r"(?P<file>.+?):(?P<line>\d+)(?: (?P<name>.*))?", re.DOTALL)
UNPRINTABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # XML has no place for these


class Format(enum.StrEnum):
    """How a report is printed."""

    TEXT = "text"
    JSON = "json"
    JUNIT = "junit"
    SARIF = "sarif"


def rendered(format: Format, report: Report, errors: Iterable[Found] = ()) -> str:
    """The report and the places that gave no claim, as one text."""
    return WRITERS[format](report, list(errors))


@dataclass(frozen=True)
class Place:
    """Where a claim stands: a file with a line, or a name alone."""

    file: str
    line: int
    name: str

    @classmethod
    def of(cls, text: str) -> Place:
        """``kernels/claims.py:12 no_overlap`` taken apart."""
        found = PLACE.fullmatch(text)
        if found is None:
            return cls("", 0, text)
        return cls(found["file"], int(found["line"]), found["name"] or "")


def rule_of(claim: Any) -> str:
    """The stable name of a kind of claim, of an obligation or of the rule that is broken: ``in_bounds``."""
    if hasattr(claim, "rule"):
        return str(claim.rule.id)
    obligation: str = getattr(claim, "obligation", "")
    return obligation.replace(" ", "_") or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", type(claim).__name__).lower()


# -- text and JSON ----------------------------------------------------------------------------------------


def _text(report: Report, errors: list[Found]) -> str:
    out, shown = [], ""
    for v in report.verdicts:
        place = Place.of(v.place)
        file = place.file or place.name
        if file != shown:
            shown = file
            out.append(file)
        out += [f"  {line}" for line in v.lines()]
    out.append(report.summary())
    out += [f"error: {e.place}: {e.error}" for e in errors]
    return "\n".join(out) + "\n"


def _json(report: Report, errors: list[Found]) -> str:
    data = {
        "schema": SCHEMA,
        "verdicts": [v.to_json() for v in report.verdicts],
        "errors": [{"place": e.place, "message": e.error} for e in errors],
    }
    return json.dumps(data, indent=1) + "\n"


# -- JUnit ------------------------------------------------------------------------------------------------


def _junit(report: Report, errors: list[Found]) -> str:
    """One test case for each verdict, one suite for each file; a verdict other than expected is a failure."""
    suites: dict[str, ElementTree.Element] = {}
    root = ElementTree.Element("testsuites", name="symlayout")

    def case(place: Place, name: str, seconds: float = 0.0) -> ElementTree.Element:
        file = place.file or place.name or "claims"
        if file not in suites:
            suites[file] = ElementTree.SubElement(root, "testsuite", name=_plain(file))
        out = ElementTree.SubElement(suites[file], "testcase", classname=_plain(file), name=_plain(name))
        out.set("time", f"{seconds:.6f}")
        if place.line:
            out.set("file", _plain(file))
            out.set("line", str(place.line))
        return out

    for v in report.verdicts:
        place = Place.of(v.place)
        own_name = f"{place.name}: " if place.file and place.name not in ("", rule_of(v.claim)) else ""
        added = case(place, f"{own_name}{v.claim}", v.seconds)
        if not v.as_expected:
            headline, *_ = v.lines()
            failure = ElementTree.SubElement(added, "failure", type=v.outcome.value, message=_plain(headline))
            failure.text = _plain(str(v))
    for e in errors:
        headline, *_ = e.error.splitlines() or [""]
        problem = ElementTree.SubElement(case(Place.of(e.place), e.name or "claims"), "error", message=_plain(headline))
        problem.set("type", "bad input")
        problem.text = _plain(e.error)
    for element in (*suites.values(), root):
        cases = list(element.iter("testcase"))
        element.set("tests", str(len(cases)))
        element.set("failures", str(sum(c.find("failure") is not None for c in cases)))
        element.set("errors", str(sum(c.find("error") is not None for c in cases)))
        element.set("time", f"{sum(float(c.get('time', '0')) for c in cases):.6f}")
    ElementTree.indent(root, " ")
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _plain(text: str) -> str:
    return UNPRINTABLE.sub("?", text)


# -- SARIF ------------------------------------------------------------------------------------------------


def _sarif(report: Report, errors: list[Found]) -> str:
    """Results for the verdicts that are not as expected, the worst first."""
    order = list(dict.fromkeys(LEVELS.values()))
    wrong = sorted((v for v in report.verdicts if not v.as_expected), key=lambda v: order.index(LEVELS[v.outcome]))
    rules = {rule_of(v.claim): _sentence(v.claim) for v in report.verdicts}
    notes = [_notification(e.place, e.error) for e in errors]
    if len(wrong) > SARIF_RESULTS:
        notes.append(_notification("", f"{len(wrong) - SARIF_RESULTS} results are left out"))
    seen: Counter[str] = Counter()
    driver = {
        "name": "symlayout",
        "semanticVersion": __version__,
        "rules": [_rule(name, text) for name, text in sorted(rules.items())],
    }
    run = {
        "tool": {"driver": driver},
        "invocations": [{"executionSuccessful": not errors, "toolExecutionNotifications": notes}],
        "results": [_result(v, seen) for v in wrong[:SARIF_RESULTS]],
        "columnKind": "unicodeCodePoints",
    }
    return json.dumps({"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1) + "\n"


def _rule(name: str, text: str) -> dict[str, Any]:
    said = {"text": text}
    help_ = {"text": f"{text} `symlayout explain {name}` says more."}
    return {"id": name, "shortDescription": said, "fullDescription": said, "help": help_}


def _result(v: Verdict, seen: Counter[str]) -> dict[str, Any]:
    rule = rule_of(v.claim)
    content = hashlib.sha256(f"{rule}\n{v.claim}".encode()).hexdigest()[:16]
    seen[content] += 1
    return {
        "ruleId": rule,
        "level": LEVELS[v.outcome],
        "message": {"text": str(v)},
        "partialFingerprints": {"primaryLocationLineHash": f"{content}:{seen[content]}"},
        **_location(v.place),
    }


def _location(text: str) -> dict[str, Any]:
    place = Place.of(text)
    names = {"logicalLocations": [{"fullyQualifiedName": place.name}]} if place.name else {}
    if not place.file:
        return {"locations": [names]} if names else {}
    physical = {"artifactLocation": _artifact(place.file), "region": {"startLine": place.line}}
    return {"locations": [{"physicalLocation": physical, **names}]}


def _artifact(file: str) -> dict[str, str]:
    """A file, relative to the root of its repository or to where we are, where it is below one of them."""
    path = Path(file).resolve()
    root = next((p for p in path.parents if (p / ".git").exists()), Path.cwd())
    if not path.is_relative_to(root):
        return {"uri": path.as_uri()}
    return {"uri": quote(path.relative_to(root).as_posix()), "uriBaseId": "%SRCROOT%"}


def _sentence(claim: Any) -> str:
    """What a kind of claim says, in one line."""
    if hasattr(claim, "rule"):
        return f"{claim.rule.sentence[:1].upper()}{claim.rule.sentence[1:]}."
    if getattr(claim, "obligation", ""):
        return "What a layout needs to be what its operations say."
    return ((type(claim).__doc__ or "").strip().splitlines() or [type(claim).__name__])[0]


def _notification(place: str, message: str) -> dict[str, Any]:
    shown = f"{place}: {message}" if place else message
    return {"level": "error" if place else "note", "message": {"text": shown}, **_location(place)}


WRITERS: Mapping[Format, Callable[[Report, list[Found]], str]] = {
    Format.TEXT: _text,
    Format.JSON: _json,
    Format.JUNIT: _junit,
    Format.SARIF: _sarif,
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
        raise CertificateError(f"expected a JSON file, got {e or type(e).__name__}") from None
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
