"""Reports in the formats that programs read, held against their schemas."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

import checkers
from symlayout import Layout, dims
from symlayout.answers.formats import Format, rendered
from symlayout.answers.report import SCHEMA, Report
from symlayout.finding.found import Found
from symlayout.finding.place import Place
from symlayout.kernels import tma_copy

jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed")

ROOT = Path(__file__).parents[2]
M, N, LD = dims("M N ld")
CLAIMS = [
    checkers.Injective(Layout((M, N), (1, LD)), given=[LD >= M, N >= 2]),
    checkers.Injective(Layout((M, N), (1, LD))),
    checkers.Injective(Layout((M, N), (1, LD)), expect="refuted"),
    checkers.Bijective(Layout((4, 8), (8, 1)), onto=32),
    checkers.Injective(Layout((M, N), (1, M)), given=[M <= 0]),
]
PLACES = [Place("a b.cu", 3, 5, "rows"), Place("a.toml", 2, 1), Place("c.py"), Place(name="pkg.mod:claims"), Place()]
ERRORS = [Found(Place("b.toml", 7, 2), error="expected a table, got 4\n4\n^"), Found(Place(name="x:y"), error="no")]

# element: (elements inside, attributes); those of the JUnit of Ant and Jenkins, pytest's file and line, and a column
JUNIT = {
    "testsuites": (("testsuite",), ("name", "tests", "failures", "errors", "time")),
    "testsuite": (("properties", "testcase"), ("name", "tests", "failures", "errors", "time")),
    "testcase": (
        ("failure", "error", "properties", "system-out"),
        ("classname", "name", "time", "file", "line", "column"),
    ),
    "failure": ((), ("type", "message")),
    "error": ((), ("type", "message")),
    "properties": (("property",), ()),
    "property": ((), ("name", "value")),
    "system-out": ((), ()),
}


@pytest.fixture(scope="module")
def reports() -> list[Report]:
    """Of claims at all kinds of places, and of a kernel with what it assumes."""
    placed = Report(tuple(v.placed(p) for c, p in zip(CLAIMS, PLACES, strict=True) for v in checkers.prove(c).verdicts))
    kernel = tma_copy(M, N, dtype="f32", tile=(16, 64), slots=2, blocks=3)
    return [placed, checkers.prove(kernel), checkers.prove(kernel.assuming(N.multiple_of(4))), Report(())]


def validator(path: Path):
    schema = json.loads(path.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def test_json_of_the_command_and_of_a_report(reports):
    check = validator(ROOT / "docs" / "report.schema.json")

    for report in reports:
        check.validate(json.loads(report.to_json()))
        check.validate(json.loads(rendered(Format.JSON, report, ERRORS)))


def test_the_schema_refuses_what_is_no_report():
    check = validator(ROOT / "docs" / "report.schema.json")

    assert json.loads((ROOT / "docs" / "report.schema.json").read_text())["properties"]["schema"]["const"] == SCHEMA
    assert not check.is_valid({"schema": 1, "verdicts": []})
    assert not check.is_valid({"schema": SCHEMA, "verdicts": [{"claim": "x", "outcome": "true"}]})
    assert not check.is_valid({"schema": SCHEMA, "verdicts": [], "unheard": 1})


def test_sarif(reports):
    check = validator(ROOT / "tests" / "data" / "sarif_subset.schema.json")

    for report in reports:
        check.validate(json.loads(rendered(Format.SARIF, report, ERRORS)))
        check.validate(json.loads(rendered(Format.SARIF, report)))


def test_junit(reports):
    for report in reports:
        root = ElementTree.fromstring(rendered(Format.JUNIT, report, ERRORS))
        assert root.tag == "testsuites"
        for element in root.iter():
            inside, attributes = JUNIT[element.tag]
            assert {e.tag for e in element} <= set(inside)
            assert set(element.keys()) <= set(attributes)
