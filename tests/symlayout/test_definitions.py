"""Tables of functions that values call: each is full as soon as the module of its values is imported."""

from __future__ import annotations

import subprocess
import sys

import pytest

from symlayout.definitions import Definitions

TABLES = (
    ("symlayout.expr.arithmetic", "defined"),
    ("symlayout.members", "members"),
    ("symlayout.rules.rule", "tables"),
    ("symlayout.answers.report", "ways"),
)


@pytest.mark.parametrize("module, name", TABLES)
def test_a_table_is_full_once_its_module_is_imported(module, name):
    script = f"from {module} import {name} as t; print(*sorted({{*type(t).__annotations__}} - {{*vars(t)}}))"

    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)

    assert run.returncode == 0, run.stderr
    assert run.stdout.split() == []


def test_a_name_that_a_table_does_not_have_is_refused():
    class Table(Definitions):
        half: object

    def double(x):
        return 2 * x

    with pytest.raises(TypeError, match="expected one of half, got double"):
        Table().defines(double)
