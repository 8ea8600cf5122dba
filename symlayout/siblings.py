"""The sibling packages of this one, whose names are general words: a project may have a ``gpu`` of its own."""

from __future__ import annotations

import importlib
import importlib.util
from pathlib import Path
from types import ModuleType

NAMES = ("checkers", "simulator", "gpu")
HERE = Path(__file__).resolve().parents[1]


def sibling(name: str) -> ModuleType:
    """One of our packages. Raises ImportError with both paths where another of its name comes first on the path.

    >>> sibling("checkers").__name__
    'checkers'
    """
    expect_ours(name)
    return importlib.import_module(name)


def expect_ours(*names: str) -> None:
    """Raise ImportError with both paths for a package of ours that another of its name hides; nothing is imported."""
    for name in names or NAMES:
        spec = importlib.util.find_spec(name)
        places = [] if spec is None else [spec.origin, *(spec.submodule_search_locations or ())]
        found = [Path(p).resolve() for p in places if p and p != "namespace"]
        ours = HERE / name
        if not any(p == ours or ours in p.parents for p in found):
            got = found[-1] if found else "none"
            raise ImportError(
                f"expected the package {name} of symlayout at {ours}, got {got}, which comes first on the path; "
                f"rename yours, or run where it is not on the path"
            )
