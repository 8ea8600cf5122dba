"""Every example of a docstring is run, with the public names of symlayout and checkers at hand: they are what users copy."""

from __future__ import annotations

import doctest
import importlib
import linecache
from pathlib import Path

import pytest

import checkers
import symlayout

ROOT = Path(__file__).resolve().parents[1]
PUBLIC = {name: getattr(package, name) for package in (symlayout, checkers) for name in package.__all__}


def modules() -> list[str]:
    """The modules of all packages that have examples."""
    found = []
    for package in ("symlayout", "checkers", "simulator", "gpu"):
        for file in sorted((ROOT / package).rglob("*.py")):
            if ">>> " in file.read_text(encoding="utf-8"):
                found.append(".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"))
    return found


@pytest.mark.parametrize("name", modules())
def test_the_examples_of_a_module_run(name):
    module = importlib.import_module(name)
    linecache.clearcache()  # doctest asks for the time of each file in it, for every docstring

    found = doctest.testmod(module, globs={**PUBLIC, **vars(module)}, optionflags=doctest.NORMALIZE_WHITESPACE)

    assert found.attempted
    assert not found.failed
