"""The commands of the pages and the examples run, and print what is recorded but for numbers.

``UPDATE_EXPECTED=1 python -m pytest tests/simulator/test_pages.py`` records the examples anew, and ``python
docs/simulator/refresh.py`` the pages: numbers change with the machine files and with the model.
"""

from __future__ import annotations

import importlib.util
import os
import re
import runpy
from pathlib import Path

import pytest

import simulator
from simulator.glossary import table
from simulator.memory import LATENCY
from simulator.sm import IN_FLIGHT, UNITS

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples" / "simulator"
EXAMPLES = sorted(FOLDER.glob("s*.py"))
RESOURCES = re.compile("|".join(map(re.escape, (*UNITS, IN_FLIGHT, LATENCY, "SM port", "L2", "DRAM"))))
HEADS = ("time ", "moved", "limited by", "resource", "time of each role", "note:", "measured:")

_spec = importlib.util.spec_from_file_location("refresh", ROOT / "docs/simulator/refresh.py")
assert _spec is not None
assert _spec.loader is not None
refresh = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(refresh)

COMMANDS = [
    (page.name, *found.groups())
    for page in sorted((ROOT / "docs/simulator").glob("*.md"))
    for found in refresh.BLOCK.finditer(page.read_text(encoding="utf-8"))
]


def words(text: str) -> str:
    """What is printed without numbers, names of resources, marks of a ranking and widths of columns."""
    text = RESOURCES.sub("R", re.sub(r"\d[\d.]*", "#", text))
    return re.sub(r"[ *]+|\blegal\b", " ", text).strip()


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda p: p.stem)
def test_an_example_prints_what_is_recorded_but_for_numbers(example, capsys):
    runpy.run_path(str(example), run_name="__main__")
    printed = capsys.readouterr().out
    recorded = FOLDER / "expected" / f"{example.stem}.txt"
    if os.environ.get("UPDATE_EXPECTED"):
        recorded.write_text(printed, encoding="utf-8")

    assert [words(x) for x in printed.splitlines()] == [words(x) for x in recorded.read_text().splitlines()]


def test_the_table_of_resources_is_that_of_the_glossary():
    page = (ROOT / "docs/simulator/reading.md").read_text(encoding="utf-8")

    assert page.count(table()) == 1, "python docs/simulator/refresh.py"
    assert refresh.with_table(page) == page


def test_each_example_is_in_the_table():
    table = (ROOT / "examples/README.md").read_text(encoding="utf-8")

    assert [e.name for e in EXAMPLES if f"](simulator/{e.name})" not in table] == []
    assert {e.stem for e in EXAMPLES} == {p.stem for p in (FOLDER / "expected").iterdir()}


@pytest.mark.parametrize("page, command, recorded", COMMANDS, ids=[f"{p}: {c[:40]}" for p, c, _ in COMMANDS])
def test_a_command_of_a_page_runs_and_has_the_tables_that_are_shown(page, command, recorded):
    arguments = command.split()
    if arguments[0] == "sweep":
        arguments += ["--prove", "none"]
    status, printed = refresh.output(arguments)

    assert status == 0
    assert recorded.strip(), f"python docs/simulator/refresh.py writes the output of {page}"
    shown, there = ([x for x in text.splitlines() if x.startswith(HEADS)] for text in (recorded, printed))
    assert [words(x) for x in there if not x.startswith("note")] == [
        words(x) for x in shown if not x.startswith("note")
    ]


def test_pictures_of_the_pages_are_there():
    pages = "".join(p.read_text(encoding="utf-8") for p in (ROOT / "docs/simulator").glob("*.md"))

    for picture in refresh.PICTURES:
        assert f"../images/{picture}" in pages
        assert (ROOT / "docs/images" / picture).read_text().startswith("<svg")


def test_the_pages_name_the_machines_and_the_numbers_that_there_are():
    text = (ROOT / "docs/simulator/reading.md").read_text(encoding="utf-8")

    for name in re.findall(r"--set (\w+)=", text):
        assert name in simulator.H200.numbers or name in ("slots", "tile")
