"""The script that measures how code is built, on a small tree of known numbers."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

from benchmarks import house

FILES = {
    "__init__.py": '"""A package."""\n',
    "a.py": """\
from typing import Any

from .b import g

# one comment


def f(x: Any, y: int, z):
    '''Say what f is.'''
    if isinstance(x, int) and y:
        return g(x)
    return None
""",
    "b.py": """\
class C:
    def method(self, x: int):
        from . import a  # the other line with a comment

        return a

    def _private(self):
        return 1


def g(x: int):
    return x
""",
    "broken.py": "def :\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    out = tmp_path / "package"
    out.mkdir()
    for name, text in FILES.items():
        (out / name).write_text(text, encoding="utf-8")
    return out


def test_a_small_tree_has_the_numbers_that_it_was_given(folder: Path) -> None:
    found = dict(zip(house.HEAD, house.row("small", folder), strict=True))

    assert found == {
        "": "small",
        "files": "3",  # without the one that is no Python
        "module lines p50 / p90 / max": "12 / 12 / 12",
        "function lines p50 / p90 / max": "4 / 4 / 4",
        "branches p90 / max": "2 / 2",
        "comments": "11.8 %",
        "docstrings": "25.0 %",  # f of f, C, C.method and g
        "annotated": "80.0 %",
        "bare Any": "25.0 %",
        "circles": "1 (2)",
        "isinstance": "1 (40.0)",
    }


def test_the_examples_of_the_script_hold() -> None:
    found = doctest.testmod(house)

    assert found.attempted >= 5
    assert not found.failed


def test_a_folder_without_python_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="expected a folder with Python files"):
        house.row("none", tmp_path)


def test_a_folder_may_have_a_name(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    assert house.main([f"theirs={folder}"]) == 0
    head, rule, row = capsys.readouterr().out.splitlines()

    assert head.count("|") == rule.count("|") == row.count("|")
    assert row.startswith("| theirs | 3 |")
