"""Rules as rows: what is legal, with its source, for constructors, provers, semantics and ``explain`` alike.

A new rule is a row of the table that its record has: ``tma`` and what it is made of, ``dlpack``, ``tma_copy``,
``tma_tile``, ``launch``. ``rule`` is what a row is; ``catalogue`` prints all of them.
"""

from __future__ import annotations

import functools
import importlib
from typing import Any

from .rule import (
    Between,
    MultipleOf,
    Rule,
    Violation,
    accepted,
    broken,
    facts,
    place_text,
    tables,
    violation,
    violations,
)

# The modules that hold rows.
TABLES = ("tma", "dlpack", "tma_copy", "tma_tile", "launch")


@tables.defines
@functools.cache
def rule_named(name: str) -> Any:
    """The row of an id. Raises KeyError for an id that no table has."""
    for table in TABLES:
        found = importlib.import_module(f".{table}", __name__).BY_ID.get(name)
        if found is not None:
            return found
    raise KeyError(name)


__all__ = [
    "Between",
    "MultipleOf",
    "Rule",
    "Violation",
    "accepted",
    "broken",
    "facts",
    "place_text",
    "rule_named",
    "violation",
    "violations",
]
