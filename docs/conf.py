"""Sphinx: ``python -m sphinx -W docs build/docs`` with the ``docs`` extra makes these pages and the API reference."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import symlayout

project = "symlayout"
author = "the symlayout contributors"
release = version = symlayout.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary"]
html_theme = "furo"
templates_path = ["_templates"]
myst_heading_anchors = 3
autosummary_generate = True
autosummary_ignore_module_all = True
autodoc_default_options = {"members": True, "ignore-module-all": True, "show-inheritance": True}
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
python_use_unqualified_type_names = True
suppress_warnings = [
    "ref.python"
]  # names of types in signatures are short, and rooms may use one twice: Outcome, Facts

INLINE = re.compile(r"``.+?``|(?<![\w*])\*[A-Za-z_]\w*\*(?![\w*])|[\\*`|_]")
BULLET = re.compile(r"(- |\d+\. )")


def as_rst(lines: list[str]) -> list[str]:
    """A docstring as reStructuredText: our rules for docstrings are simpler than Sphinx's.

    Text is plain but for ``code`` and *parameters*. What is indented, and no example with ``>>>``, is shown as it is.
    """
    out: list[str] = []
    for paragraph in _paragraphs(lines):
        first = paragraph[0]
        if first.lstrip().startswith(">>>"):
            out += paragraph
        elif first.startswith(" "):
            out += ["::", "", *(f"    {line}" for line in paragraph)]
        elif any(line.startswith(" ") for line in paragraph) and not BULLET.match(first):
            cut = next(i for i, line in enumerate(paragraph) if line.startswith(" "))
            out += [*map(_escaped, paragraph[:cut]), "", "::", "", *(f"    {line}" for line in paragraph[cut:])]
        else:
            out += map(_escaped, paragraph)
        out.append("")
    return out


def _paragraphs(lines: list[str]) -> Iterator[list[str]]:
    """Runs of lines that are not blank; an indented run goes on over blank lines, and an example starts a new one."""
    current: list[str] = []
    for line in lines:
        starts = line.lstrip().startswith(">>>") and bool(current) and ">>>" not in current[0]
        if (not line.strip() or starts) and current:
            yield current
            current = []
        if line.strip():
            current.append(line.rstrip())
    if current:
        yield current


def _escaped(line: str) -> str:
    return INLINE.sub(lambda m: m[0] if len(m[0]) > 1 else f"\\{m[0]}", line)


def setup(app: Any) -> None:
    """Docstrings are read by our own rules."""

    def read(app: Any, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
        lines[:] = as_rst(lines)

    app.connect("autodoc-process-docstring", read)
